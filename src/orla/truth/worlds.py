"""Worlds of which the answer is known, and what is asked in each (protocol, Truth controls)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orla.prereg.rules import EquivalentWithin, MeanRule, MoreThan
from orla.results.estimands import ESTIMANDS

NETWORK = {"kind": "rnn", "hidden": 8}
FULL, IMMEDIATE, AGAIN = "rtrl", "immediate", "immediate-again"
OPTIMIZER = "adam"
CONDITION = {
    "architecture": NETWORK["kind"],
    "optimizer": OPTIMIZER,
    "precision": "float64",
    "split": "shift",
}
RATES, GROWTH = (0.003, 0.01, 0.03), 2
# Small networks on short streams: a fast rate and few epochs bring them near their best.
PRETRAINING = {"learning_rate": 0.01, "window": 20, "max_epochs": 8, "patience": 2}
# What is judged: weights frozen after each of the last windows.
ESTIMAND_NAME = "stable"
ESTIMAND = ESTIMANDS[ESTIMAND_NAME]
MARGIN = 0.02  # in units of the target's variance, as registrations have it
_WITHIN = EquivalentWithin(MARGIN)
# Models that are computed together; networks this small gain from large batches.
BATCH = 240

# Noise and a short stream scatter recovery by some points between pairs, as recordings do.
WINDOW = 40
_TASK = "mapping"
_SHARED = {"kind": _TASK, "window": WINDOW, "noise": 0.5}

WORLDS: dict[str, dict[str, Any]] = {
    "instant": {**_SHARED, "turn": 0.35},
    "delayed": {**_SHARED, "shifted_share": 0.4, "turn": 0.2},
    "no-drift": {**_SHARED, "turn": 0.0},
    "far": {**_SHARED, "turn": 0.7},  # frozen networks are worse than the best constant
}
"""Name -> the task of every pair of a world, without the lengths of its parts, which a config says.
Each pair draws a stream of its own."""

PARTS = [
    *(("task", _TASK), ("architecture", NETWORK["kind"]), ("loss", "squared_error")),
    *(("learner", FULL), ("learner", IMMEDIATE), ("optimizer", OPTIMIZER)),
]
"""Parts, as (kind, name), that made-up studies are computed by."""


@dataclass(frozen=True)
class Control:
    """A question to a world (a key of `WORLDS`) whose right answer is known.

    Attributes:
        means: the control in words.
        planted_gap: what one side's error is lowered by, in units of the target's variance; None
            where the two sides are two learners. With a number both sides are the immediate
            learner, from other networks.
        right, wrong: the outcomes that are so; the rest is undecided.
        rule: what is claimed.
        halves: whether networks are divided into halves, not into even and odd ones.
    """

    world: str
    means: str
    planted_gap: float | None = None
    right: tuple[str, ...] = ("supported",)
    wrong: tuple[str, ...] = ("falsified",)
    rule: MeanRule = _WITHIN
    halves: bool = False


_FAR = "frozen networks worse than the best constant"
_TWICE = {"right": ("falsified",), "wrong": ("supported",)}
_NEITHER = {"wrong": ("supported", "falsified")}
CONTROLS: dict[str, Control] = {
    "a-a": Control("instant", "one learner under two names", 0.0, halves=True),
    "planted-0": Control("instant", "no gap planted, other networks", 0.0),
    "planted-1": Control("instant", "a gap at the margin", MARGIN, right=(), **_NEITHER),
    "planted-2": Control("instant", "a gap of twice the margin", 2 * MARGIN, **_TWICE),
    "far-0": Control("far", f"no gap, {_FAR}", 0.0),
    "far-2": Control("far", f"a gap of twice the margin, {_FAR}", 2 * MARGIN, **_TWICE),
    "instant": Control("instant", "targets that depend on the present input"),
    "delayed": Control(
        "delayed",
        "targets that a state must be learned for: the full gradient wins",
        rule=MoreThan(0.0),
    ),
    "no-drift": Control("no-drift", "nothing to recover", right=("untestable",), **_NEITHER),
}
"""Name -> control; all but planted-1, whose gap is on the margin, are held to at most 5 % wrong."""
