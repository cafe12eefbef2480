"""What a comparison is about: which columns of the table of models each estimand reads."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimand:
    """One way of scoring a model, and the choice of the rate that belongs to it: columns.

    Attributes:
        selected: marks the models at the chosen rate, which `validation`, an error, chooses.
        recovery, error, r2: the score (%), the error behind it, and mean R2 over outputs or "".
        frozen, constant: errors of the network that does not adapt and of the best constant
            outputs (or ""), on the same steps.
        edge: says whether the chosen rate lies on the edge of its grid.
    """

    selected: str
    validation: str
    recovery: str
    error: str
    r2: str = ""
    frozen: str = "frozen_heldout_error"
    edge: str = "edge"
    constant: str = "constant_error"


_SELECTION = ("selected", "validation_rolling_error")
ESTIMANDS: dict[str, Estimand] = {
    "heldout": Estimand(*_SELECTION, "recovery_heldout_percent", "heldout_error", "r2_mean"),
    "stable": Estimand(
        *(*_SELECTION, "recovery_stable_percent", "heldout_stable_error", "stable_r2_mean"),
    ),
    "adapt": Estimand(
        *("selected_on_adapt", "adapt_error", "recovery_adapt_percent", "adapt_error"),
        frozen="frozen_adapt_error",
        edge="edge_on_adapt",
        constant="",
    ),
}
"""Name -> estimand: weights frozen at the end of the adapt part, after each of its last windows,
and never (docs/protocol.md, Estimands and Statistics)."""

ESTIMAND_WORDS = {
    "stable": "mean of the last freezing points",
    "heldout": "frozen once, at the end",
    "adapt": "over the adapt part, while learning",
}
"""Name -> how a reader calls it, the preferred one first."""

AT_END = ESTIMANDS["heldout"]
"""The estimand of summaries: weights frozen once, at the end."""

TEXT = 'Which recovery: "heldout", "stable" or "adapt" (docs/protocol.md).'
"""What the column `estimand` of a table holds."""
