"""The paper's own numbers and claims, read from ``paper.yaml`` beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

# Where the paper has several figures for one condition, the first of these that has one stands
# beside ours; float64 falls back to the float32 pilot, which is then marked as such.
_PREFERENCE = {
    "float64": ("local-f64", "kaggle-f64", "pilot-f32"),
    "float32": ("local-f32", "pilot-f32"),
}


@dataclass(frozen=True)
class Number:
    """One number of the paper.

    Attributes:
        value: the number, in percent or percentage points, or None where the paper only has words.
        text: the paper's words, where it gives no single number.
        low, high: its 95 % interval, or None where it prints none.
        learning_rate: the rate it calls best, or None.
        configuration: a key of ``Paper.configurations`` (machine and precision).
        place: section, table or figure of the paper.
    """

    value: float | None
    text: str | None
    low: float | None
    high: float | None
    learning_rate: float | None
    configuration: str
    place: str


@dataclass(frozen=True)
class Paper:
    """The paper's numbers; ``document`` is the whole of paper.yaml as plain dicts and lists."""

    document: dict[str, Any]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims: id, text, paper, place, optional registration, and ``ours``."""
        return self.document["claims"]

    @property
    def registrations(self) -> list[str]:
        """The registrations that test a claim, the weightiest claim first."""
        return [claim["registration"] for claim in self.claims if "registration" in claim]

    def claim_of(self, registration: str) -> dict[str, Any] | None:
        """The claim that a registration tests, or None."""
        found = (claim for claim in self.claims if claim.get("registration") == registration)
        return next(found, None)

    @property
    def remarks(self) -> list[str]:
        """Where the paper disagrees with itself or leaves a thing open, a sentence or two each."""
        return [remark["text"] for remark in self.document["remarks"]]

    @property
    def configurations(self) -> dict[str, str]:
        """What each configuration (machine and precision) was."""
        return self.document["configurations"]

    @property
    def headline(self) -> dict[str, Any]:
        """The equivalence test: gap_pp, delta_star_pp, margin_pp, n_seeds, recoveries, place."""
        return self.document["headline"]

    @property
    def horizon(self) -> dict[str, Any]:
        """The range of the LARS gap over adapt horizons: low_pp, high_pp, horizons_steps."""
        return self.document["horizon"]

    def recovery(
        self, learner: str, optimizer: str, precision: str, split: str, architecture: str = "rnn"
    ) -> Number | None:
        """The paper's held-out recovery (percent) of a condition, or None where it has none."""
        wanted = {
            "architecture": architecture,
            "learner": learner,
            "optimizer": optimizer,
            "split": split,
        }
        return self._preferred("recoveries", "recovery", "percent", precision, wanted)

    def gap(
        self, optimizer: str, precision: str, split: str, architecture: str = "rnn"
    ) -> Number | None:
        """The paper's gap (pp, full RTRL minus d=0) of an optimizer, or None."""
        wanted = {"optimizer": optimizer, "split": split, "architecture": architecture}
        return self._preferred("gaps", "gap", "pp", precision, wanted)

    def ratio_gap(self, optimizer: str) -> dict[str, Any] | None:
        """The row of the paper's ratio table (RNN, float64, 80/20): update_ratio, gap_pp."""
        rows = self.document["ratio_gap"]["rows"]
        return next((row for row in rows if row["optimizer"] == optimizer), None)

    def _preferred(
        self, section: str, name: str, unit: str, precision: str, wanted: dict[str, str]
    ) -> Number | None:
        rows = [{"architecture": "rnn"} | row for row in self.document[section]]
        rows = [row for row in rows if wanted.items() <= row.items()]
        for configuration in _PREFERENCE.get(precision, ()):
            for row in rows:
                if row["configuration"] == configuration:
                    return Number(
                        value=row.get(f"{name}_{unit}"),
                        text=row.get(f"{name}_text"),
                        low=row.get(f"low_{unit}"),
                        high=row.get(f"high_{unit}"),
                        learning_rate=row.get("learning_rate"),
                        configuration=configuration,
                        place=row["place"],
                    )
        return None


@cache
def load() -> Paper:
    """Read the paper's numbers from the package."""
    return Paper(yaml.safe_load((files(__package__) / "paper.yaml").read_text(encoding="utf-8")))
