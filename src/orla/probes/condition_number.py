"""Condition number of the recurrent parameters' Jacobian."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import jacrev

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import option
from orla.probes.base import Probe, State, Update, nan_means


@dataclass(frozen=True)
class ConditionNumber(
    Probe,
    name="condition_number",
    label="condition number of dh/dθ",
    stride="stride",
    columns={
        "condition_number": "mean over looks of the largest singular value of dh/dtheta over the "
        "smallest that is not 0",
        "condition_rank": "mean over looks of the share of its singular values that are not 0",
        "sensitivity_condition": "condition_number of exact RTRL's sensitivity, which holds all of "
        "the past; NaN under other learners",
        "sensitivity_rank": "condition_rank of that sensitivity",
    },
):
    """cond(D_t) and cond(P_{t-1}) of dh/dtheta_rec (paper, fig:grad_ratio and v90).

    D_t = dh_t/dtheta_rec with h_{t-1} held fixed; P_t = J_t P_{t-1} + D_t, as exact RTRL has it.

    The paper has the "condition number of the recurrent parameter Jacobian dh/dtheta_rec, measured
    after training", "on held-out inputs (averaged across post-convergence timesteps)", and says
    neither whether h_{t-1} is held fixed nor what h is of a network with several states. D_t is one
    step's Jacobian, h_{t-1} fixed: for tanh units its singular values are then
    (1 - h_u^2) ||(x, h_{t-1}, 1)||, whose ratio does not depend on the spectrum of W_hh, which is
    what the paper found of its own numbers ("in [2.5, 7.0]" under every spectrum); so a spectrum
    that is imposed on W_hh can move P alone. h is what the
    readout sees, the first `hidden` numbers of the state. It is measured along the adaptation, at
    the weights and the state of every `stride`-th step, and averaged over these steps.

    A singular value is 0 where it is below the largest times the float's spacing at 1 times the
    longer side of D_t, as numpy.linalg.matrix_rank has it: a saturated unit does not make the
    number infinite but is missed in `condition_rank`. NaN for a D_t that is 0 or not finite.
    """

    stride: int = option(1000, "Steps between two measurements.", least=1)

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        return state, {}

    def measure_network(
        self,
        architecture: Architecture,
        params: Parameters,
        state: Tensor,
        x: Tensor,
        sensitivity: Parameters,
    ) -> dict[str, Tensor]:
        def h(recurrent: Parameters) -> Tensor:
            return architecture.step(params | recurrent, state, x)[: architecture.hidden]

        none = {"none": state.new_zeros(architecture.hidden, 1)}
        matrices = jacrev(h)(architecture.recurrent_params(params)), sensitivity or none
        numbers = [value for blocks in matrices for value in _condition_and_rank_share(blocks)]
        return dict(zip(self.part.more["columns"], numbers, strict=True))

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: nan_means(series[name]) for name in self.part.more["columns"]}


def _condition_and_rank_share(column_blocks: Parameters) -> tuple[Tensor, Tensor]:
    """Condition number and rank share of the matrix (rows, ...) of these blocks of columns."""
    D = torch.cat([block.flatten(1) for block in column_blocks.values()], 1)
    D, eps = D.double(), torch.finfo(D.dtype).eps
    finite = D.isfinite().all()
    values = torch.linalg.svdvals(torch.where(finite, D, 0.0))  # refuses what is not finite
    largest = values.max()
    nonzero = values > largest * max(D.shape) * eps
    number = largest / torch.where(nonzero, values, torch.inf).min()
    valid = finite & (largest > 0)
    rank = torch.where(valid, nonzero.double().mean(), torch.nan)
    return torch.where(valid, number, torch.nan), rank
