"""The verdict on one registration, and the words it is shown with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

VERDICT_COLUMNS = [
    "registration",
    "title",
    "outcome",
    "words",
    "reason",
    "estimate",
    "low",
    "high",
    "threshold",
    "n",
    "p",
    "p_holm",
    "primary",
    "registered_on",
    "amended",
    "lock_sha256",
    "judged_sha256",
    "results_seen",
    "history",
    "limits",
]

_IN_SIMULATION = {"supported": "shown in simulation", "falsified": "not shown in simulation"}


@dataclass(frozen=True)
class Verdict:
    """The verdict on one registration.

    `outcome` is supported, falsified, inconclusive or untestable; `reason` gives the deciding
    criterion or the obstacles, and `meaning` the registration's own words for this outcome. The
    numbers are those of the deciding criterion, null where its row is missing; `threshold` is its
    region in words. `p` and `p_holm` are of the claim, null in a registration of version 1;
    `limits` says what the interval ranges over.
    """

    registration: str
    title: str
    outcome: str
    reason: str
    meaning: str
    estimate: float
    low: float
    high: float
    threshold: str
    n: int
    limits: str
    p: float = np.nan
    p_holm: float = np.nan
    primary: bool = False


def words(outcome: str, simulated: bool) -> str:
    """What is displayed for an outcome; on simulated data nothing is supported or falsified."""
    return _IN_SIMULATION.get(outcome, outcome) if simulated else outcome


def simulated(datasets: Mapping[str, Any], task: str, pair: str = "") -> bool:
    """Whether the data of a task, and pair if it is given, are simulated.

    Parameters
    ----------
    datasets
        TASK[/PAIR]/SPLIT -> data set, from a table's provenance. Where none is of this task, all
        are looked at.
    task, pair
        As a registration names them.
    """
    named = {name: name.split("/") for name in datasets}
    own = [
        datasets[name]
        for name, parts in named.items()
        if parts[0] == task and (not pair or pair in parts[1:])
    ]
    return any(each.get("simulated", False) for each in _each(own or datasets.values()))


def _each(datasets: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    for dataset in datasets:
        yield from dataset.get("mixed", [dataset])
