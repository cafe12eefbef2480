"""The chapters of the page; tables and figures declare theirs, unknown ones come last."""

from typing import NamedTuple


class Chapter(NamedTuple):
    """A chapter's heading, and what it answers in one sentence."""

    title: str
    sentence: str = ""


# The chapter whose table is shown as cards.
CARDS = "verdicts"
# In the order of the page.
CHAPTERS = {
    "sessions": Chapter(
        "The sessions",
        "What is in the two recordings, and whether there is a drift to follow at all.",
    ),
    "cadence": Chapter(
        "Gradient or cadence?",
        "What the full gradient adds at one cadence, and what updating once a window adds.",
    ),
    CARDS: Chapter(
        "Verdicts",
        "Each hypothesis was registered, with its threshold, before the results it is judged by.",
    ),
    "by_pair": Chapter(
        "Over pairs of sessions",
        "What holds for pairs of sessions, the unit of every statement about drift.",
    ),
    "choices": Chapter(
        "Every choice", "Which of the choices that a reader might have made decide the answer."
    ),
    "trust": Chapter(
        "Does the instrument tell?",
        "How often the same rules are right where the answer is known, and what they could miss.",
    ),
    "drift": Chapter(
        "Adaptation to the drift",
        "How much of the drift's error each learner undoes, and which learner undoes more.",
    ),
    "horizon": Chapter(
        "How long one adapts", "Whether a gap depends on the step at which adaptation stops."
    ),
    "ratio": Chapter(
        "Updates of recurrent and output weights",
        "Whether the gap follows the ratio in which an optimizer moves the two.",
    ),
    "mechanism": Chapter(
        "Why dropping the past can cost nothing",
        "How the past gradient is built, and whether its structure decides what it is worth.",
    ),
    "breadth": Chapter(
        "Tasks, learners, architectures",
        "Whether what holds for one task, network and optimizer holds for others.",
    ),
    "streams": Chapter(
        "Tabular streams",
        "Whether networks that learn row by row are a match for River's models, and whether "
        "recurrence helps there at all.",
    ),
    "vision": Chapter(
        "Test-time adaptation in vision",
        "Whether Adam adapts a network to corrupted images better than SGD does.",
    ),
    "language": Chapter(
        "Language models",
        "How much of a shift's loss online LoRA undoes, over two denominators and with weights "
        "frozen.",
    ),
    "precision": Chapter(
        "Numbers and instructions",
        "What the numbers' format and the processor's instructions do to a gap and to its rates.",
    ),
    "rates": Chapter(
        "Learning rates",
        "How much hangs on the rate, and what choosing it on the held-out part would add.",
    ),
}


def chapter(name: str) -> Chapter:
    """A chapter by its name; an unknown one is headed by its name."""
    return CHAPTERS.get(name) or Chapter(name.replace("_", " ").capitalize() or "Further results")


def chapter_sort_key(name: str) -> tuple[int, str]:
    """What chapters are sorted by."""
    order = list(CHAPTERS)
    return order.index(name) if name in order else len(order), name
