"""Whether the parts of every condition take one another, asked before anything runs.

The parts answer themselves, in their own words: they are made as a job makes them, and where one of
them is from outside of the package, go through one update. Their answers are kept, so that PyTorch
is imported for a new question alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orla import catalogue
from orla.errors import OrlaError
from orla.programs import store
from orla.study.condition import Condition, chain
from orla.study.plan import Plan

# Key of a block -> parts by name, each as {kind, options}.
Question = Mapping[str, Mapping[str, Mapping[str, Any]]]
# Key and name of the part that refuses, "" where all are good one by one; and what it says.
Refusal = tuple[str, str, str]

# Key of a block -> kind of its parts. A learner is asked about its network, which comes first.
_KINDS = {
    "networks": "architecture",
    "learners": "learner",
    "observers": "learner",
    "interventions": "intervention",
    "probes": "probe",
    "optimizers": "optimizer",
    "starts": "start",
}


def check_fit(plan: Plan) -> None:
    """Refuse a condition of which a part does not take another one, or its own options.

    Raises:
        OrlaError: On the first such part: its place in the config, and what it says.
    """
    asked: dict[str, Condition] = {}
    for condition in plan.conditions:
        for question in _questions(plan, condition):
            asked.setdefault(json.dumps(question, sort_keys=True), condition)
    questions = [json.loads(question) for question in asked]
    answers = store.remembered("fits", questions, lambda: [_answer(q) for q in questions])
    for condition, refusal in zip(asked.values(), answers, strict=True):
        if refusal:
            raise OrlaError(f"config: {_told(plan, condition, *refusal)}")


def check_frozen(plan: Plan) -> None:
    """Refuse a parameter that pretraining is to leave as it is, and that a network has not.

    Raises:
        OrlaError: On the first network: its name, and what pretraining would say.
    """
    asked: dict[str, dict[str, Any]] = {}
    for c in plan.conditions:
        frozen = plan.pretraining(c.architecture).get("frozen")
        if frozen and plan.takes_pretrained(c):
            network = plan.spec("architecture", c.architecture)
            asked[c.architecture] = {"frozen": frozen, "network": network}
    if not asked:
        return
    questions = list(asked.values())
    answers = store.remembered("fits", questions, lambda: [_frozen(q) for q in questions])
    for name, said in zip(asked, answers, strict=True):
        if said:
            raise OrlaError(f"config: the network {name}: {said}")


def _frozen(question: Mapping[str, Any]) -> str:
    """What pretraining says of the parameters; "" where it takes them."""
    from orla.engine.network import network_of
    from orla.study import pretraining

    try:
        pretraining.check_frozen(network_of(question["network"], 1, 1), question["frozen"])
    except OrlaError as error:
        return str(error)
    return ""


def _questions(plan: Plan, c: Condition) -> list[Question]:
    """Those of a condition: parts that have to take one another, and others one by one."""
    of_loop = {
        "networks": (c.architecture,),
        "learners": (c.learner,),
        "observers": c.observers,
        "interventions": c.interventions,
        "probes": c.probes,
    }
    return [
        {key: {name: plan.spec(_KINDS[key], name) for name in names} for key, names in one.items()}
        for one in (of_loop, {"optimizers": (c.optimizer,)}, {"starts": (c.start,)})
    ]


def _answer(question: Question) -> Refusal | None:
    """The first refusal; None where there is none."""
    made: dict[str, dict[str, Any]] = {}
    for key, kind in _KINDS.items():
        for name, spec in question.get(key, {}).items():
            try:
                made.setdefault(key, {})[name] = _made(kind, spec, made)
            except OrlaError as error:
                return key, name, str(error)
    try:
        _join(question, made)
    except OrlaError as error:
        return "", "", str(error)
    return None


def _made(kind: str, spec: Mapping[str, Any], made: Mapping[str, Mapping[str, Any]]) -> Any:
    from orla.engine.network import network_of

    if kind == "architecture":
        # The data tell how many inputs and outputs there are; an axis of one would broadcast.
        return network_of(spec, 3, 2)
    if kind == "learner":
        [network] = made["networks"].values()
        return catalogue.make(kind, spec, architecture=network)
    return catalogue.make(kind, spec)


def _join(question: Question, made: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a loop of the parts, as any optimizer would have it, and try those from outside."""
    from orla.engine.loop import Loop
    from orla.losses.squared_error import SquaredError
    from orla.optimizers.sgd import SGD
    from orla.study import trial

    specs = [(_KINDS[key], spec) for key, named in question.items() for spec in named.values()]
    outside = [part for kind, spec in specs for part in trial.from_outside(kind, spec)]
    loops = [
        Loop(
            learner,
            SGD(),
            SquaredError(),
            observers=made.get("observers", {}),
            interventions=list(made.get("interventions", {}).values()),
            probes=list(made.get("probes", {}).values()),
            segment=learner.stride,
        )
        for learner in made.get("learners", {}).values()
    ]
    if not outside:
        return
    tries = {"optimizers": trial.try_optimizer, "starts": trial.try_start}
    with trial.in_one_line(outside):
        for loop in loops:
            trial.try_loop(loop)
        for key, tried in tries.items():
            for part in made.get(key, {}).values():
                tried(part)


def _told(plan: Plan, condition: Condition, key: str, name: str, why: str) -> str:
    """A refusal after its place: the first block that names the part for the condition."""
    blocks = plan.mentions[condition]
    if not key:
        return f'"conditions[{blocks[0]}]": {why}'
    place = f"conditions[{blocks[0]}].{key}" if key != "probes" else "probes_of_all"
    for i in reversed(blocks):
        named = plan.config["conditions"][i].get(key, ())
        if name in {*named, *(one for several in named for one in chain(several))}:
            place = f"conditions[{i}].{key}"
    if _KINDS[key] == "learner":
        name += f" on the network {condition.architecture}"
    return f'"{place}" has {name}: {why}'
