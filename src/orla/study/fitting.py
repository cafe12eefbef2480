"""Whether the parts of every condition take one another, asked before anything runs.

The parts answer themselves, in their own words: they are made as a job makes them, and where one of
them is from outside of the package, go through one update. That takes PyTorch, so what was found to
fit is kept: of the configs in this repository in a file, of others in the cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from orla import catalogue
from orla.catalogue.written import written
from orla.errors import OrlaError
from orla.programs import store
from orla.study.condition import Condition, chain
from orla.study.plan import Plan

# JSON of {key of a block: {name: the part as kind and options}}, or of "frozen", which goes with
# networks: the parameters that pretraining is to leave as they are.
Question = str
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

    A parameter that pretraining is to leave as it is, and that a network has not, is refused too.

    Raises:
        OrlaError: On the first such part: its place in the config, and what it says.
    """
    fitting = set(written("fits"))
    asked = {q: c for q, c in questions(plan).items() if digest(q) not in fitting}
    if not asked:
        return
    answers = store.remembered("fits", list(asked), lambda: [answer(q) for q in asked])
    for condition, refusal in zip(asked.values(), answers, strict=True):
        if refusal:
            raise OrlaError(f"config: {_told(plan, condition, *refusal)}")


def digest(question: Question) -> str:
    """The name of a question in the file of those that were answered."""
    return hashlib.sha256(question.encode()).hexdigest()[:16]


def questions(plan: Plan) -> dict[Question, Condition]:
    """What is to be asked of a plan's parts, each with the first condition that asks it.

    Parts of one question have to take one another; others are asked one by one.
    """
    asked: dict[Question, Condition] = {}
    for c in plan.conditions:
        loop = {
            "networks": (c.architecture,),
            "learners": (c.learner,),
            "observers": c.observers,
            "interventions": c.interventions,
            "probes": c.probes,
        }
        for named in (loop, {"optimizers": (c.optimizer,)}, {"starts": (c.start,)}):
            specs = {k: {n: plan.spec(_KINDS[k], n) for n in named[k]} for k in named}
            asked.setdefault(json.dumps(specs, sort_keys=True), c)
        frozen = plan.pretraining(c.architecture).get("frozen")
        if frozen and plan.takes_pretrained(c):
            network = {c.architecture: plan.spec("architecture", c.architecture)}
            asked.setdefault(json.dumps({"networks": network, "frozen": frozen}, sort_keys=True), c)
    return asked


def answer(question: Question) -> Refusal | None:
    """The first refusal; None where there is none."""
    asked: dict[str, Any] = json.loads(question)
    made: dict[str, dict[str, Any]] = {}
    for key, kind in _KINDS.items():
        for name, spec in asked.get(key, {}).items():
            try:
                made.setdefault(key, {})[name] = _made(kind, spec, made)
                if "frozen" in asked:
                    _check_frozen(made[key][name], asked["frozen"])
            except OrlaError as error:
                return "frozen" if "frozen" in asked else key, name, str(error)
    try:
        _join(asked, made)
    except OrlaError as error:
        return "", "", str(error)
    return None


def _check_frozen(network: Any, frozen: list[str]) -> None:
    from orla.study import pretraining

    pretraining.check_frozen(network, frozen)


def _made(kind: str, spec: Mapping[str, Any], made: Mapping[str, Mapping[str, Any]]) -> Any:
    from orla.engine.network import network_of

    if kind == "architecture":
        # The data tell how many inputs and outputs there are; an axis of one would broadcast.
        return network_of(spec, 3, 2)
    if kind == "learner":
        [network] = made["networks"].values()
        return catalogue.make(kind, spec, architecture=network)
    return catalogue.make(kind, spec)


def _join(asked: Mapping[str, Any], made: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a loop of the parts, as any optimizer would have it, and try those from outside."""
    from orla.engine.loop import Loop
    from orla.losses.squared_error import SquaredError
    from orla.optimizers.sgd import SGD
    from orla.study import trial

    specs = [(kind, spec) for key, kind in _KINDS.items() for spec in asked.get(key, {}).values()]
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
    if key == "frozen":
        return f"the network {name}: {why}"
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
