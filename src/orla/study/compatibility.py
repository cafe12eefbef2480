"""Compatibility of the parts of every condition, checked before anything runs.

Each combination is tried and answers in its own words (`study.trial`). That takes PyTorch, so the
answers are kept: of the configs in this repository in a file, of others in the cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from orla.catalogue.entries import packaged_declarations
from orla.errors import OrlaError
from orla.programs import store
from orla.study.condition import Condition, split_chain
from orla.study.declarations import PART_LISTS
from orla.study.plan import Plan

# JSON of {list of a block: {name: the part as kind and options}}, or of "frozen", which goes with
# networks: the parameters that pretraining is to leave as they are.
PartCombination = str
# List and name of the part that refuses, "" where all are good one by one; and what it says.
Refusal = tuple[str, str, str]


def check_compatibility(plan: Plan) -> None:
    """Refuse a part that does not take another one or its options; the place is the config's."""
    fits = set(packaged_declarations("fits"))
    combinations = collect_combinations(plan)
    untried = {p: c for p, c in combinations.items() if combination_digest(p) not in fits}
    if not untried:
        return
    refusals = store.cached_result("fits", list(untried), lambda: find_refusals(untried))
    for condition, refusal in zip(untried.values(), refusals, strict=True):
        if refusal:
            raise OrlaError(f"config: {_refusal_text(plan, condition, *refusal)}")


def find_refusals(combinations: Iterable[PartCombination]) -> list[Refusal | None]:
    """The first refusal of each combination; None where there is none."""
    from orla.study import trial

    return [trial.find_refusal(json.loads(each)) for each in combinations]


def combination_digest(combination: PartCombination) -> str:
    """A combination's name in the packaged file of those that fit."""
    return hashlib.sha256(combination.encode()).hexdigest()[:16]


def collect_combinations(plan: Plan) -> dict[PartCombination, Condition]:
    """The combinations of parts of a plan, each with the first condition that has it."""
    first_conditions: dict[PartCombination, Condition] = {}
    for c in plan.conditions:
        network = {"networks": (c.architecture,)}
        loop = network | {"learners": (c.learner,), "observers": c.observers}
        loop |= {"interventions": c.interventions, "probes": c.probes}
        groups = [(loop, {}), ({"optimizers": (c.optimizer,)}, {}), ({"starts": (c.start,)}, {})]
        frozen_names = plan.pretraining_settings(c.architecture).get("frozen")
        if frozen_names and plan.takes_pretrained(c):
            groups.append((network, {"frozen": frozen_names}))
        for lists, more in groups:
            combination = dict(more)
            for key, names in lists.items():
                combination[key] = {name: plan.spec(PART_LISTS[key], name) for name in names}
            first_conditions.setdefault(json.dumps(combination, sort_keys=True), c)
    return first_conditions


def _refusal_text(plan: Plan, condition: Condition, key: str, name: str, why: str) -> str:
    """A refusal in words, with its place in the config."""
    blocks = plan.blocks_by_condition[condition]
    if key == "frozen":
        return f"the network {name}: {why}"
    if not key:
        return f'"conditions[{blocks[0]}]": {why}'
    place = f"conditions[{blocks[0]}].{key}" if key != "probes" else "probes_of_all"
    for i in reversed(blocks):
        names = plan.config["conditions"][i].get(key, ())
        if name in {*names, *(link for several in names for link in split_chain(several))}:
            place = f"conditions[{i}].{key}"
    if PART_LISTS[key] == "learner":
        name += f" on the network {condition.architecture}"
    return f'"{place}" has {name}: {why}'
