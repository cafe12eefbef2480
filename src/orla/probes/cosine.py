"""How far gradients on one trajectory agree: cosines, the past's share, and what was routed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.probes.base import Probe, State, Update, medians, nan_means


@dataclass(frozen=True)
class Cosine(
    Probe,
    name="cosine",
    label="cosine with {against}",
    observed={
        "cosine": "Mean over updates of the cosine of its gradient and that of `against`.",
        "positive_share": "Share of updates in which that cosine is above 0.",
        "norm_ratio": "Median over updates of its gradient's norm over that of `against`.",
    },
):
    """cos(g, g_against) and ||g|| / ||g_against||, of all observers' gradients g and the learner's.

    Over the recurrent parameters alone: the readout's gradient is the same for every learner. A
    parameter that a learner does not change counts as zeros. An update in which a gradient is 0,
    such as one of a step that is not scored, has no cosine, and one in which g_against is 0 has no
    ratio; both are left out.
    """

    against: str = option(
        "own", "The observer whose gradient the others are compared with; own for the learner's."
    )

    @property
    def reference(self) -> str:
        return self.against

    def observers(self) -> tuple[str, ...]:
        return () if self.against == "own" else (self.against,)

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        gradients = {"own": update.learner, **update.observers}
        reference, (cosine, ratio) = gradients[self.against], self._series_prefixes
        size, measurements = _recurrent_inner_product(reference, reference, update).sqrt(), {}
        for name, gradient in gradients.items():
            length = _recurrent_inner_product(gradient, gradient, update).sqrt()
            product = _recurrent_inner_product(gradient, reference, update)
            measurements[cosine + name] = product / (length * size)
            measurements[ratio + name] = length / size
        return state, measurements

    def by_observer(self, series: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
        prefixes = first, _ = self._series_prefixes
        names = [n.removeprefix(first) for n in series if n.startswith(first)]
        return {name: _observer_columns(*(series[p + name] for p in prefixes)) for name in names}

    @property
    def _series_prefixes(self) -> tuple[str, str]:
        """Begin the names of the two series, which the observer's ends."""
        return f"cosine with {self.against} of ", f"norm against {self.against} of "


def _recurrent_inner_product(a: Parameters, b: Parameters, update: Update) -> Tensor:
    """Inner product over the recurrent parameters that both have ()."""
    names = [name for name in update.recurrent if name in a and name in b]
    products = (a[name] * b[name] for name in names)
    # Not flattened, because the compiler would copy the tensors into another layout.
    return sum((p.sum(tuple(range(p.dim()))) for p in products), update.state.new_zeros(()))


def _observer_columns(cosine: np.ndarray, ratio: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of one observer from its cosines and ratios (models, updates)."""
    cosine, ratio = (np.where(np.isfinite(v), v, np.nan) for v in (cosine, ratio))
    positive = np.where(np.isnan(cosine), np.nan, cosine > 0)
    means = {"cosine": nan_means(cosine), "positive_share": nan_means(positive)}
    return means | {"norm_ratio": medians(ratio)}


@dataclass(frozen=True)
class PastGradient(
    Probe,
    name="past_gradient",
    label="past gradient",
    columns={
        "past_cosine": "mean of the cosine of g_imm and g_past over the updates that have one",
        "past_ratio": "mean of ||g_past|| / ||g_imm|| over the updates that have one",
    },
):
    """Cosine and norm ratio of g_imm and g_past = g_full - g_imm (paper, Section 3, tab:cosine).

    One of the two is the learner's own gradient or an observer's, by name. An update in which g_imm
    is 0 has neither; one in which g_past is 0, such as the first, has no cosine.
    """

    full: str = option(text="The observer with the full gradient; own for the learner's.")
    immediate: str = option("own", "The observer with the immediate gradient; own likewise.")

    def observers(self) -> tuple[str, ...]:
        return tuple(name for name in (self.full, self.immediate) if name != "own")

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        full, imm = update.by_name[self.full], update.by_name[self.immediate]
        names = [name for name in update.params if name in full and name in imm]
        past = torch.cat([(full[name] - imm[name]).reshape(-1) for name in names])
        immediate = torch.cat([imm[name].reshape(-1) for name in names])
        norms = torch.sqrt((past * past).sum()), torch.sqrt((immediate * immediate).sum())
        return state, {
            "past_cosine": (past * immediate).sum() / (norms[0] * norms[1]),
            "past_ratio": norms[0] / norms[1],
        }

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        finite = {n: np.where(np.isfinite(v), v, np.nan) for n, v in series.items()}
        return {name: nan_means(finite[name]) for name in self.part.more["columns"]}


@dataclass(frozen=True)
class Routed(
    Probe,
    name="routed",
    label="routed updates",
    columns={
        "routed_share": "share of updates whose gradient, after all interventions, is not that of "
        "`immediate`",
    },
):
    """Whether an intervention such as `route` took the full gradient: any number differs.

    An update in which g_past is 0 counts as not routed. With a share of 0 or of 1 the intervention
    did nothing that one of the two learners does not do.
    """

    immediate: str = option(text="The observer with the immediate gradient.")

    def observers(self) -> tuple[str, ...]:
        return (self.immediate,)

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        gradient, imm = update.gradients, update.observers[self.immediate]
        differs = [(gradient[name] != imm[name]).any() for name in gradient if name in imm]
        return state, {"routed_share": torch.stack(differs).any().to(update.state.dtype)}
