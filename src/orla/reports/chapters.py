"""The chapters of the page; tables and figures declare theirs, unknown ones come last."""

from __future__ import annotations

from typing import NamedTuple


class Chapter(NamedTuple):
    """A chapter's heading, what it answers in one sentence, and its place."""

    title: str
    sentence: str
    order: float


# The chapter whose table is shown as cards.
CARDS = "verdicts"
CHAPTERS = {
    CARDS: Chapter(
        "Verdicts",
        "Each hypothesis was registered, with its threshold, before the results it is judged by.",
        10,
    ),
    "cadence": Chapter(
        "Gradient or cadence?",
        "What the full gradient adds at one cadence, and what updating once a window adds.",
        5,
    ),
    "by_pair": Chapter(
        "Over pairs of sessions",
        "What holds for pairs of sessions, the unit of every statement about drift.",
        15,
    ),
    "choices": Chapter(
        "Every choice",
        "Which of the choices that a reader might have made decide the answer.",
        17,
    ),
    "trust": Chapter(
        "Does the instrument tell?",
        "How often the same rules are right where the answer is known, and what they could miss.",
        18,
    ),
    "drift": Chapter(
        "Adaptation to the drift",
        "How much of the drift's error each learner undoes, and which learner undoes more.",
        20,
    ),
    "horizon": Chapter(
        "How long one adapts",
        "Whether a gap depends on the step at which adaptation stops.",
        30,
    ),
    "ratio": Chapter(
        "Updates of recurrent and output weights",
        "Whether the gap follows the ratio in which an optimizer moves the two.",
        40,
    ),
    "mechanism": Chapter(
        "Why dropping the past can cost nothing",
        "How the past gradient is built, and whether its structure decides what it is worth.",
        42,
    ),
    "breadth": Chapter(
        "Tasks, learners, architectures",
        "Whether what holds for one task, network and optimizer holds for others.",
        45,
    ),
    "rates": Chapter(
        "Learning rates",
        "How much hangs on the rate, and what choosing it on the held-out part would add.",
        50,
    ),
}


def chapter(name: str) -> Chapter:
    """A chapter by its name; one that is not registered is headed by its name, at the end."""
    heading = name.replace("_", " ").capitalize() or "Further results"
    return CHAPTERS.get(name, Chapter(heading, "", 1000))


def place(name: str) -> tuple[float, str]:
    """What chapters are sorted by."""
    return chapter(name).order, name
