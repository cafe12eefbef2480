"""Structure of the past gradient over windows: its directions, and its size by coordinate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.probes import directions
from orla.probes.base import Probe, State, Update
from orla.probes.directions import IMMEDIATE, PAST, UPDATE, Windows

_WEIGHTS = "ratio of the weights' norms"
_CONCENTRATION = {
    "top1_past": "largest singular value of G_past over the sum of all",
    "top1_immediate": "the same of G_imm",
    "top1_gap": "top1_past minus top1_immediate",
    "energy1_past": "square of the largest singular value of G_past over the sum of squares",
    "energy1_immediate": "the same of G_imm",
    "energy1_gap": "energy1_past minus energy1_immediate",
}
_CUMULATIVE = "_cumulative"


@dataclass(frozen=True)
class PastStructure(
    Probe,
    name="past_structure",
    label="structure of g_past",
    kept="window",
    columns={
        **_CONCENTRATION,
        **{
            f"{n}{_CUMULATIVE}": f"{n}, columns: sums of all windows so far" for n in _CONCENTRATION
        },
        "whh_share": "squared norm on W_hh of u_1, the first left singular vector of G_past",
        "whh_share_null": "numbers in W_hh over those in all parameters: what the paper calls the "
        "null of that share",
        "wout_share": "squared norm of u_1 on W_out",
        "weight_ratio": "mean over windows of the norm of W_hh over that of W_out, at their end",
        "turn_cosine": "mean of the cosine of g_past of a window and of the next",
        "window_cosine": "mean over windows of the cosine of g_imm and g_past",
        "update_along_past": "mean over windows of the cosine of g_past and the update reversed, "
        "over the parameters in which there is a g_past",
        "dominance": "median over `weights` and windows of |g_past| / |g_imm|",
        "past_wins_share": "share of `weights` and windows in which |g_past| > |g_imm|",
        "past_sign_sd": "standard deviation over windows of the mean sign of g_past on `weights`",
        "past_sign_sd_coordinates": "mean over `weights` of the standard deviation over windows of "
        "the sign of g_past",
        "sign_differs_share": "share of `weights` and windows in which g_full and g_imm differ in "
        "sign",
    },
    profiles={
        "singular_past": "singular values of G_past over their sum, the largest first",
        "singular_immediate": "singular values of G_imm over their sum, likewise",
        "turn_cosine": "cosine of g_past of this window and of the next, window by window",
        "u1_map": "u_1 on W_hh, row by row; its largest number is positive",
    },
):
    """G_past and G_imm, a column a window (paper, Section 3, tab:m8_structure, tab:v103_substrate).

    g_past = g_full - g_imm, over all parameters; one of the two is the learner's own gradient or an
    observer's, by name. Gradients are summed over the updates of a window, so that learners of both
    cadences give columns alike. Every learner has the exact gradient of the readout, so g_past is 0
    there, and so is u_1: its share on W_out is 0 whatever was measured.

    The paper does not define the spread of signs of tab:v103_substrate; both readings are here. A
    model with a window that is not finite has none of these numbers, as has a run without a window.
    Coordinates where both gradients are 0 are left out of the median.
    """

    immediate: str = option(text="The observer with the immediate gradient; own for the learner's.")
    full: str = option("own", "The observer with the full gradient; own likewise.")
    window: int = option(200, "Steps of a window, over which gradients are summed.", least=1)
    weights: str = option("W_hh", "Parameters that are compared by coordinate, joined by +.")
    # Ends the columns of another reading of the gradients, and begins its series.
    reading: ClassVar[str] = ""

    def observers(self) -> tuple[str, ...]:
        return tuple(name for name in (self.full, self.immediate) if name != "own")

    def init(self, params: Parameters) -> State:
        kinds = (PAST, IMMEDIATE, UPDATE)
        sums = {kind + n: torch.zeros_like(p) for n, p in params.items() for kind in kinds}
        sums[_WEIGHTS] = torch.zeros_like(next(iter(params.values())).flatten()[0])
        return {self.reading + name: value for name, value in sums.items()}

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        full, imm = update.by_name[self.full], update.by_name[self.immediate]
        sums = {name.removeprefix(self.reading): value for name, value in state.items()}
        sums[_WEIGHTS] = _weight_norm(update.params, "W_hh") / _weight_norm(update.params, "W_out")
        for name in update.params:
            if name in full and name in imm:
                sums[PAST + name] = sums[PAST + name] + (full[name] - imm[name])
                sums[IMMEDIATE + name] = sums[IMMEDIATE + name] + imm[name]
            if name in update.updates:
                sums[UPDATE + name] = sums[UPDATE + name] + update.updates[name]
        return {self.reading + name: value for name, value in sums.items()}, {}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = self._rows_by_model(series, self._model_columns)
        for row, weights in zip(rows, series[self.reading + _WEIGHTS], strict=True):
            if row:
                row["weight_ratio"] = directions.summary_or_nan(weights)
        base_names = {name: name.removesuffix(self.reading) for name in self.part.more["columns"]}
        return {
            name: np.array([row.get(n, np.nan) for row in rows]) for name, n in base_names.items()
        }

    def profile(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = self._rows_by_model(series, _model_profile)
        longest = {n: max(len(row.get(n, ())) for row in rows) for n in self.part.more["profiles"]}
        return {
            name: np.array([row.get(name, np.full(length, np.nan)) for row in rows])
            for name, length in longest.items()
        }

    def _rows_by_model(
        self, series: Mapping[str, np.ndarray], measure: Callable[[Windows], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """What each model has; {} where it has no window or numbers that are not finite."""
        models = directions.windows_by_model(series, self.reading)
        return [measure(model) if model.usable else {} for model in models]

    def _model_columns(self, model: Windows) -> dict[str, float]:
        """The columns of one model, the ratio of its weights apart."""
        past, immediate = model.past_gradients, model.immediate_gradients
        cumulative = directions.concentration(past.cumsum(0), immediate.cumsum(0))
        row = {
            **directions.concentration(past, immediate),
            **{name + _CUMULATIVE: value for name, value in cumulative.items()},
            "turn_cosine": directions.summary_or_nan(directions.row_cosines(past[:-1], past[1:])),
            "window_cosine": directions.summary_or_nan(directions.row_cosines(immediate, past)),
            "update_along_past": _past_update_cosine(past, model.update),
            "whh_share": model.u1_parameter_share("W_hh"),
            "wout_share": model.u1_parameter_share("W_out"),
        }
        if model.parameter_mask("W_hh").any():
            row["whh_share_null"] = float(model.parameter_mask("W_hh").mean())
        masks = [model.parameter_mask(name) for name in self.weights.split("+")]
        if (some := np.any(masks, axis=0)).any():
            row |= directions.size_and_sign_statistics(past[:, some], immediate[:, some])
        return row


def _past_update_cosine(past: np.ndarray, update: np.ndarray) -> float:
    """Mean cosine of the windows' g_past and updates reversed, where there is a g_past."""
    some = past.any(0)
    return directions.summary_or_nan(directions.row_cosines(past[:, some], -update[:, some]))


def _weight_norm(params: Parameters, weight: str) -> Tensor:
    """Norm of W_hh, say: of W_hh.0, W_hh.1, ... together in a stack; NaN where there is none."""
    squares = [(p * p).sum() for name, p in params.items() if name.partition(".")[0] == weight]
    none = next(iter(params.values())).new_full((), torch.nan)
    return torch.stack(squares).sum().sqrt() if squares else none


def _model_profile(model: Windows) -> dict[str, np.ndarray]:
    """The profiles of one model."""
    return {
        "singular_past": directions.singular_values_over_sum(model.past_gradients),
        "singular_immediate": directions.singular_values_over_sum(model.immediate_gradients),
        "turn_cosine": directions.row_cosines(model.past_gradients[:-1], model.past_gradients[1:]),
        "u1_map": model.u1[model.parameter_mask("W_hh")],
    }


@dataclass(frozen=True)
class LastStructure(
    PastStructure,
    name="last_structure",
    label="structure of g_past, last step's loss",
    kept="window",
    columns={
        **{f"{n}_last": f"{n} of the last step's loss of each window" for n in _CONCENTRATION},
        "window_cosine_last": "mean over windows of the cosine of g_imm and g_past of that loss",
    },
):
    """The same of the gradients of each window's last loss alone, and their cosine.

    The paper measures its cosine of AR(1) "at the end of a 200-step TBPTT window" (appendix "Input
    decorrelation"). Both gradients are of learners whose option ``errors`` is last.
    """

    reading: ClassVar[str] = "_last"


@dataclass(frozen=True)
class ShuffledStructure(
    PastStructure,
    name="shuffled_structure",
    label="structure of g_past, errors shuffled",
    kept="window",
    columns={"whh_share_shuffled": "whh_share where dL/dh_t is shuffled in time in each window"},
):
    """The null of `whh_share`: errors as large, that have nothing to do with the inputs.

    Row i of the gradient by (W_ih, W_hh, b_h) is a sum over steps of dL/da_i (x, h, 1), so the
    sizes of x and h fix about how much of it lies on W_hh, whatever the errors. Both gradients are
    of learners whose option ``errors`` is shuffled.
    """

    reading: ClassVar[str] = "_shuffled"
