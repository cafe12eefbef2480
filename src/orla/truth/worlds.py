"""Worlds of which the answer is known, and what is asked in each.

Source: docs/protocol.md, Truth controls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orla.results.estimands import ESTIMANDS

NETWORK = {"kind": "rnn", "hidden": 8}
FULL, IMMEDIATE, AGAIN = "rtrl", "immediate", "immediate-again"
OPTIMIZER = "adam"
RATES, GROWTH = (0.003, 0.01, 0.03), 2
# Small networks on short streams: a fast rate and few epochs bring them near their best.
PRETRAINING = {"learning_rate": 0.01, "window": 20, "max_epochs": 8, "patience": 2}
# What is judged: weights frozen after each of the last windows.
ESTIMAND_NAME = "stable"
ESTIMAND = ESTIMANDS[ESTIMAND_NAME]
MARGIN = 0.02  # in units of the target's variance, as registrations have it
# Models that are computed together; networks this small gain from large batches.
BATCH = 240

# Noise and a short stream scatter recovery by some points between pairs, as recordings do.
WINDOW = 40
_SHARED = {"kind": "mapping", "window": WINDOW, "noise": 0.5}

WORLDS: dict[str, dict[str, Any]] = {
    "instant": {**_SHARED, "turn": 0.35},
    "delayed": {**_SHARED, "shifted_share": 0.4, "turn": 0.2},
    "no-drift": {**_SHARED, "turn": 0.0},
    "far": {**_SHARED, "turn": 0.7},  # frozen networks are worse than the best constant
}
"""Name -> the task of every pair of a world, without the lengths of its parts, which a config says.
Each pair draws a stream of its own."""


@dataclass(frozen=True)
class Control:
    """A question to a world whose right answer is known.

    Attributes:
        world: a key of `WORLDS`.
        right: the outcomes that are right; `wrong`: those that are wrong; the rest is undecided.
        claim: as in a registration.
        planted: what one side's error is lowered by, in units of the target's variance; None where
            the two sides are two learners. With a number both sides are the immediate learner, from
            other networks.
        means: the control in words.
        halves: whether networks are divided into halves, not into even and odd ones.
    """

    world: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    means: str
    claim: Mapping[str, float] = field(default_factory=lambda: {"equivalent_within": MARGIN})
    planted: float | None = None
    halves: bool = False


CONTROLS: dict[str, Control] = {
    "a-a": Control(
        "instant",
        ("supported",),
        ("falsified",),
        "one learner under two names",
        planted=0.0,
        halves=True,
    ),
    "planted-0": Control(
        "instant", ("supported",), ("falsified",), "no gap planted, other networks", planted=0.0
    ),
    "planted-1": Control(
        "instant", (), ("supported", "falsified"), "a gap at the margin", planted=MARGIN
    ),
    "planted-2": Control(
        "instant", ("falsified",), ("supported",), "a gap of twice the margin", planted=2 * MARGIN
    ),
    "far-0": Control(
        "far",
        ("supported",),
        ("falsified",),
        "no gap, frozen networks worse than the best constant",
        planted=0.0,
    ),
    "far-2": Control(
        "far",
        ("falsified",),
        ("supported",),
        "a gap of twice the margin, frozen networks worse than the best constant",
        planted=2 * MARGIN,
    ),
    "instant": Control(
        "instant", ("supported",), ("falsified",), "targets that depend on the present input"
    ),
    "delayed": Control(
        "delayed",
        ("supported",),
        ("falsified",),
        "targets that a state must be learned for: the full gradient wins",
        {"more_than": 0.0},
    ),
    "no-drift": Control(
        "no-drift", ("untestable",), ("supported", "falsified"), "nothing to recover"
    ),
}
"""Name -> control; all but planted-1, whose gap is on the margin, are held to at most 5 % wrong."""
