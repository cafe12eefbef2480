"""Sentences about a verdict beside its outcome: numbers, limits, code, and simulation."""

from collections.abc import Mapping
from typing import Any

from orla.prereg.registration import Registration
from orla.prereg.rows import Evidence, value_text
from orla.prereg.rules import Ps
from orla.results.estimands import ESTIMAND_WORDS

IN_SIMULATION = {"supported": "shown in simulation", "falsified": "not shown in simulation"}
"""Outcome -> what is displayed for it on simulated data."""

NO_PAIR_LEFT_OUT = "; not judged without one pair, because it is no mean of the pairs' values"


def is_simulated(datasets: Mapping[str, Any], task: str, pair: str = "") -> bool:
    """Whether the data of a task, and pair if it is given, are simulated.

    `datasets` are TASK[/PAIR]/SPLIT -> data set; where none is of this task, all are looked at.
    """
    of_task = [
        data
        for name, data in datasets.items()
        if name.split("/")[0] == task and (not pair or pair in name.split("/")[1:])
    ]
    each = (one for data in of_task or datasets.values() for one in data.get("mixed", [data]))
    return any(one.get("simulated", False) for one in each)


def retired_count_sentence(registration: Registration, n_retired: int) -> str:
    """That amended registrations which are not for the study count in its family."""
    if registration.primary or not n_retired:
        return ""
    return (
        f"; its family counts {n_retired} amended registrations that are no longer for this study"
    )


def binding_sentence(registration: Registration, binding: Mapping[str, Any] | None) -> str:
    """What a verdict says of the results that were read and of the code."""
    binds = registration.binds
    if binding is None or "parts" not in binds:
        return ""
    lock_folders, read_folder = " and ".join(binds["results"]), binding.get("results", "no folder")
    text = f"; read from {read_folder}; the lock looked for earlier results in {lock_folders}"
    if binding.get("syntax_sha256") != binds["syntax_sha256"]:
        text += "; code edited since the lock, behaves the same on what was bound"
    return text


def estimate_sentence(evidence: Evidence, ps: Ps) -> str:
    """What an estimate is, and what was shown of it."""
    registration, estimate = evidence.registration, evidence.estimate
    scale = f" {registration.scale}" if registration.scale else ""
    shown = registration.rule.words(ps, registration.scale, in_family=not registration.primary)
    name = registration.measure
    name += f" ({words})" if (words := ESTIMAND_WORDS.get(registration.estimand)) else ""
    units = f"{registration.unit}s"
    if registration.quantity and not registration.by_pairs:
        units += " and their choice of rates"
    mean, low, high = map(value_text, (estimate.mean, estimate.low, estimate.high))
    sentence = (
        f"{name} is {mean}{scale}, {registration.query.interval} over {evidence.n} {units} "
        f"[{low}, {high}]{scale}, n = {evidence.n}: {shown}"
    )
    return "; ".join([sentence, *evidence.notes])


def outcome_with_variant_text(outcome: str, variant: str, evidence: Evidence) -> str:
    """The outcome with a variant of the estimate, in words, and that variant's estimate."""
    other = evidence.variants[variant]
    mean, low, high = map(value_text, (other.mean, other.low, other.high))
    return f"{outcome} {variant} ({mean} [{low}, {high}])"


def limits_sentence(registration: Registration) -> str:
    """What an interval does not range over."""
    task, by_pairs, rates = registration.task, registration.by_pairs, "the choice of rates"
    sample = f" over pairs of sessions of {task}" if by_pairs else " over seeds"
    if registration.quantity:
        sample += f", with {rates} in its scatter"
    elif by_pairs:
        scatter = f"whose scatter holds that of seeds and of {rates}"
        sample += f", {scatter}, for this network, optimizer and split alone"
    else:
        sample += f" of the pair {registration.pair} of {task}"
    return sample if by_pairs else f"{sample}: it holds none of the variation between pairs"
