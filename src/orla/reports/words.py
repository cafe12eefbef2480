"""How the study's short names are written for a reader, and the order they are listed in."""

from __future__ import annotations

import pandas as pd

ARCHITECTURES = {"rnn": "RNN", "lstm": "LSTM"}
LEARNERS = {
    "immediate": "immediate, per step",
    "rtrl": "full (RTRL), per step",
    "immediate-200": "immediate, per window",
    "tbptt-200-200": "full (TBPTT 200), per window",
    "last-layer": "last layer, per step",
}
# The paper's order: rising update-magnitude ratio.
OPTIMIZERS = {"sgd": "SGD", "adafactor": "Adafactor", "adam": "Adam", "lars": "LARS"}
PRECISIONS = {"float64": "float64", "float32": "float32"}
SPLITS = {"80-20": "80/20", "50-50": "50/50"}
COMPARISONS = {
    "per_step": "full − immediate, per step",
    "per_window": "full − immediate, per window",
    "paper": "paper's diagonal: full per window − immediate per step",
    "cadence_immediate": "per window − per step, immediate",
    "cadence_full": "per window − per step, full",
    "floor": "immediate − last layer",
}
# A verdict is told by word and sign, never by colour alone.
OUTCOME_SIGNS = {"supported": "✓", "falsified": "✗", "inconclusive": "~", "untestable": "?"}

_WORDS = {
    "architecture": ARCHITECTURES,
    "learner": LEARNERS,
    "optimizer": OPTIMIZERS,
    "precision": PRECISIONS,
    "split": SPLITS,
    "comparison": COMPARISONS,
}


def name(kind: str, slug: str) -> str:
    """The reader's name of a slug; a slug we have no name for is its own name.

    Args:
        kind: architecture, learner, optimizer, precision, split or comparison.
        slug: the short name that tables and paths use.
    """
    return _WORDS[kind].get(slug, slug)


def present(frame: pd.DataFrame, kind: str) -> list[str]:
    """The slugs of a kind that a table has, in the house's order, unknown ones last."""
    known = list(_WORDS[kind])
    found = frame[kind].unique().tolist() if kind in frame else []
    return sorted(found, key=lambda s: (known.index(s) if s in known else len(known), s))


def arrange(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows into the house's order (architecture, precision, split, learner, optimizer)."""
    kinds = [
        kind
        for kind in ("architecture", "precision", "split", "learner", "comparison", "optimizer")
        if kind in frame
    ]
    ranks = {kind: {slug: i for i, slug in enumerate(present(frame, kind))} for kind in kinds}
    return frame.sort_values(
        kinds, key=lambda column: column.map(ranks[column.name]), kind="stable"
    ).reset_index(drop=True)


def condition(row: pd.Series | dict) -> str:
    """Architecture, precision and split of a row, as a panel's title."""
    kinds = ("architecture", "precision", "split")
    return ", ".join(name(kind, row[kind]) for kind in kinds)


def simulated_prefix(dataset: dict) -> str:
    """What every caption opens with where the sessions are simulated, else nothing."""
    return "SIMULATED sessions, no recording. " if dataset.get("simulated") else ""
