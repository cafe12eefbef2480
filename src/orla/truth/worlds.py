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
# Models that are computed together; networks this small gain from large batches.
BATCH = 240

# Noise and a short stream scatter recovery by some points between pairs, as recordings do.
WINDOW = 40
_SHARED = {"kind": "mapping", "window": WINDOW, "noise": 0.5}

WORLDS: dict[str, dict[str, Any]] = {
    "instant": {**_SHARED, "turn": 0.35},
    "delayed": {**_SHARED, "shifted_share": 0.4, "turn": 0.2},
    "no-drift": {**_SHARED, "turn": 0.0},
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
        planted_pp: recovery that is added to one side (pp); None where the two sides are two
            learners. With a number both sides are the immediate learner, from other networks.
        means: the control in words.
        halves: whether networks are divided into halves, not into even and odd ones.
    """

    world: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    means: str
    claim: Mapping[str, float] = field(default_factory=lambda: {"equivalent_within": 3.0})
    planted_pp: float | None = None
    halves: bool = False


CONTROLS: dict[str, Control] = {
    "a-a": Control(
        "instant",
        ("supported",),
        ("falsified",),
        "one learner under two names",
        planted_pp=0.0,
        halves=True,
    ),
    "planted-0": Control(
        "instant", ("supported",), ("falsified",), "no gap planted, other networks", planted_pp=0.0
    ),
    "planted-3": Control(
        "instant", (), ("supported", "falsified"), "a gap at the margin", planted_pp=3.0
    ),
    "planted-6": Control(
        "instant", ("falsified",), ("supported",), "a gap of twice the margin", planted_pp=6.0
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
"""Name -> control; the first three and planted-6 are held to at most 5 % wrong verdicts."""
