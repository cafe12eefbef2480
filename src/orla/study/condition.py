"""One condition: its key columns and its paths; and the conditions that one job adapts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orla.study.keys import DEFAULTS, KEYS

# Values of a condition whose block names none; they are left out of its path.
SILENT = {"precision": "float64", **DEFAULTS}
# About as much as a job adapts, in models, so that the jobs of a study end together.
_MODELS_A_JOB = 500


@dataclass(frozen=True)
class Condition:
    """One row of a table, with seeds 0 to `seeds` - 1; `domain` is its task's and pair's folder."""

    task: str
    pair: str
    architecture: str
    learner: str
    optimizer: str
    precision: str
    split: str
    intervention: str
    start: str
    observers: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    seeds: int = 1
    domain: str = ""

    @property
    def keys(self) -> dict[str, str]:
        """The values of its key columns, `KEYS`."""
        return {name: getattr(self, name) for name in KEYS}

    @property
    def path(self) -> str:
        """``TASK[/PAIR]/sweeps/NETWORK/LEARNER/OPTIMIZER/SPLIT``, then what is not the default."""
        more = [self.keys[key] for key, default in SILENT.items() if self.keys[key] != default]
        parts = (self.domain, "sweeps", self.architecture, self.learner, self.optimizer, self.split)
        return "/".join((*parts, *more))

    @property
    def networks_path(self) -> str:
        """The path of the networks that it starts from."""
        return f"{self.domain}/pretraining/{self.architecture}/{self.precision}"

    @property
    def interventions(self) -> tuple[str, ...]:
        return split_chain(self.intervention)


def split_chain(name: str) -> tuple[str, ...]:
    """The names of the interventions of a chain, FIRST+SECOND; () for none."""
    return () if name == DEFAULTS["intervention"] else tuple(name.split("+"))


@dataclass(frozen=True)
class ConditionGroup:
    """Conditions that one job adapts; `path` is that of their result, without a suffix."""

    chapter: str
    path: str
    conditions: tuple[Condition, ...]


def group_conditions(
    chapters: Mapping[Condition, str], costs: Mapping[Condition, int]
) -> Iterable[ConditionGroup]:
    """Every condition in one group of its `chapters`, groups of about equal `costs` in models."""
    groups: dict[tuple[str, str], list[Condition]] = {}
    for c, chapter in chapters.items():
        stem = f"{c.domain}/adaptation/{c.architecture}/{c.precision}/{c.split}-{chapter}"
        groups.setdefault((chapter, stem), []).append(c)
    for (chapter, stem), group in groups.items():
        # The costliest first, each to the part of least cost.
        loads = [0] * -(-sum(costs[c] for c in group) // _MODELS_A_JOB)
        place: dict[Condition, int] = {}
        for c in sorted(group, key=costs.__getitem__, reverse=True):
            place[c] = loads.index(min(loads))
            loads[place[c]] += costs[c]
        for i in sorted({*place.values()}):
            yield ConditionGroup(chapter, f"{stem}-{i}", tuple(c for c in group if place[c] == i))
