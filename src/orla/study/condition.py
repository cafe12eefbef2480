"""One condition: its key columns, its paths, and what it is measured by."""

from __future__ import annotations

from dataclasses import dataclass

from orla.study.keys import DEFAULTS, KEYS

# Values of a condition whose block names none; they are left out of its path.
SILENT = {"precision": "float64", **DEFAULTS}


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
        """The condition's key columns."""
        return {name: getattr(self, name) for name in KEYS}

    @property
    def path(self) -> str:
        """``TASK[/PAIR]/sweeps/NETWORK/LEARNER/OPTIMIZER/SPLIT``, then what is not the default."""
        more = [self.keys[key] for key, default in SILENT.items() if self.keys[key] != default]
        parts = (self.domain, "sweeps", self.architecture, self.learner, self.optimizer, self.split)
        return "/".join((*parts, *more))

    @property
    def networks(self) -> str:
        """The path of the networks that it starts from."""
        return f"{self.domain}/pretraining/{self.architecture}/{self.precision}"

    @property
    def interventions(self) -> tuple[str, ...]:
        """The chain of interventions, the first one first."""
        return chain(self.intervention)


def chain(name: str) -> tuple[str, ...]:
    """The interventions of a chain, FIRST+SECOND, the first one first."""
    return () if name == DEFAULTS["intervention"] else tuple(name.split("+"))
