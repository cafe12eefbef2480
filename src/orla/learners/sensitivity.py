"""Learners that carry a sensitivity from step to step, and what each of them keeps of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.architectures.elementwise import ElementWise
from orla.catalogue import Mark, option
from orla.derivatives.base import axis_of_models
from orla.derivatives.sensitivity import (
    DenseSensitivityOps,
    ElementSensitivityOps,
    Sensitivity,
    SensitivityOps,
    UnitSensitivityOps,
    can_use_unit_sensitivity,
)
from orla.errors import OrlaError
from orla.learners.base import Carry, Learner, Step, network_name
from orla.programs.scan import match_layout_in_program, materialize


@dataclass(frozen=True)
class SensitivityLearner(Learner):
    """One update a step; the gradient is (dL/dh_t) e_t, with e_t from `advance`.

    dense: True: e holds the derivative of every number of the state by every parameter. False:
        where the units of a network are independent, only that of a unit by its own parameters.
    """

    dense: ClassVar[bool] = False

    def transport(self, ops: SensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        """What e_{t-1} becomes at t: all of (dh_t/dh_{t-1}) e_{t-1}."""
        return ops.transport(ops.jacobian(), sensitivity)

    def advance(self, ops: SensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        """e_t: what e_{t-1} becomes, and D_t."""
        past, direct = self.transport(ops, sensitivity), ops.direct()
        return {name: e + direct[name] for name, e in past.items()}

    def learning_signal(self, carry: Carry, step: Step) -> Tensor:
        """What e_t is contracted with (models, state_size): dL/dh_t."""
        return step["cotangent"]

    def apply_mask(self, sensitivity: Sensitivity, carry: Carry) -> Sensitivity:
        """The entries of e_t that are contracted and carried on; here all."""
        return sensitivity

    @property
    def _ops_class(self) -> type[SensitivityOps]:
        own = can_use_unit_sensitivity(self.architecture) and not self.dense
        return UnitSensitivityOps if own else DenseSensitivityOps

    def init(self, params: Parameters) -> Carry:
        def zeros(params: Parameters) -> Sensitivity:
            state = self.architecture.initial_state(params)
            x = state.new_zeros(self.architecture.n_in)
            return self._ops_class(self.architecture, params, state, x, {}).zeros()

        sensitivity = vmap(zeros)(params)
        return {"sensitivity": {name: _rows_innermost(e) for name, e in sensitivity.items()}}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        arguments = params, step["before"], step["stream"]["x"], step["tape"]
        axes = 0, 0, axis_of_models(step["stream"]), 0

        def advance(sensitivity: Sensitivity, *arguments: Any) -> Sensitivity:
            ops = self._ops_class(self.architecture, *arguments)
            if "keep" in ops.tape:  # nothing is carried over the start of a trial
                sensitivity = {name: ops.tape["keep"] * e for name, e in sensitivity.items()}
            return self.apply_mask(self.advance(ops, sensitivity), carry)

        def contract(sensitivity: Sensitivity, signal: Tensor, *arguments: Any) -> Parameters:
            return self._ops_class(self.architecture, *arguments).contract(signal, sensitivity)

        old = carry["sensitivity"]
        new = vmap(advance, in_dims=(0, *axes))(old, *arguments)
        new = {name: match_layout_in_program(e, old[name]) for name, e in new.items()}
        signal = materialize(self.learning_signal(carry, step))
        gradient = vmap(contract, in_dims=(0, 0, *axes))(new, signal, *arguments)
        return {"sensitivity": new}, gradient


def _rows_innermost(e: Tensor) -> Tensor:
    """A copy of `e`; a matrix parameter's is column-major, as the parameters are."""
    return e.mT.contiguous().mT if e.dim() >= 4 else e.clone()


@dataclass(frozen=True)
class DRTRL(
    SensitivityLearner,
    name="d_rtrl",
    label="D-RTRL",
    order=47,
    mark=Mark("#c2185b", "h", (0, (6, 1.5))),
    source="Wang et al. 2026, Nature Communications, doi 10.1038/s41467-026-68453-w",
    time="O(n^2), O(n^3) where units are not independent",
    memory="O(n^2), O(n^3) where units are not independent",
):
    """e_t = diag(J_t) e_{t-1} + D_t, gradient (dL/dh_t) e_t, for any network (Wang et al. 2026).

    diag(J_t) holds the derivatives of each unit's state by its own previous one, its weight on
    itself included; where a unit has several numbers of state, such as the h and c of an LSTM, they
    are the block of these. Where the state is blocks of `hidden` numbers, number u of each block is
    unit u's; in any other state each number is a unit.

    In the authors' package braintrace this is D_RTRL with recurrence_scope "coupled". Its default
    scope, "diagonal", leaves out W_hh altogether, which is e-prop with exact feedback here.
    """

    @property
    def _ops_class(self) -> type[SensitivityOps]:
        elementwise = isinstance(self.architecture, ElementWise)
        return ElementSensitivityOps if elementwise else super()._ops_class

    def transport(self, ops: SensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        return ops.transport_within_units(ops.jacobian_within_units(), sensitivity)


@dataclass(frozen=True)
class Diagonal(
    SensitivityLearner,
    name="diagonal",
    label="element-wise RTRL",
    order=22,
    mark=Mark("#7a2048", "*", "-"),
    exactness="exact",
    source="Zucchet et al. 2023, Online learning of long-range dependencies, NeurIPS",
    time="O(k p), p parameters, k complex numbers a unit",
    memory="O(k p), p parameters, k complex numbers a unit",
):
    """Exact RTRL at the cost of the parameters (Zucchet et al. 2023), one update a step.

    For h_t = lambda h_{t-1} + u(x_t), element by element and complex, the sensitivity of a number
    by the parameters of its own unit is e_t = lambda e_{t-1} + D_t: for lambda itself
    e_t = lambda e_{t-1} + h_{t-1}, for B in u = B x it is e_t = lambda e_{t-1} + x_t. No number
    depends on the past of another one, so that nothing is left out. The gradient is (dL/dh_t) e_t,
    with what `feedthrough_input`, which has no past, adds.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.architecture, ElementWise):
            raise OrlaError(
                f"{self.part.name}: the recurrence of the network"
                f" {network_name(self.architecture)} is not element-wise (its class is no"
                " ElementWise), so that this would not be exact; take rtrl, which is exact for"
                " every network"
            )

    @property
    def _ops_class(self) -> type[SensitivityOps]:
        return ElementSensitivityOps


@dataclass(frozen=True)
class SnAp(
    SensitivityLearner,
    name="snap",
    label="SnAp-{steps}",
    order=45,
    mark=Mark("#6a4c93", "P", (0, (1, 1))),
    short=("steps",),
    source="Menick et al. 2021, section 3",
    time="steps 1: O(n^2), or O(n^4) where units are not independent; more: O(n^4)",
    memory="steps 1: O(n^2), or O(n^3) where units are not independent; more: O(n^3)",
):
    """SnAp-n: e_t = M (J_t e_{t-1} + D_t), where M keeps what is reached within n = `steps` steps.

    M is 1 at (number i of the state, parameter j) where the parameter reaches that number within n
    steps: M_1 is the pattern of D, and M_n that of J M_{n-1} + D (Menick et al. 2021). The gradient
    is (dL/dh_t) e_t. The patterns are those that the architecture declares.

    With one step and independent units, e is as large as the parameters. Else it is dense, zeros
    included: as large as exact RTRL's, and each step takes a product of J with all of it. Where a
    dense W_hh joins all units, as in the RNN and the LSTM, two steps reach everything: SnAp-2 is
    exact RTRL there, and `rtrl` computes the same faster.
    """

    steps: int = option(1, "Steps within which a parameter reaches what is kept.", least=1)

    def __post_init__(self) -> None:
        if self.architecture.pattern() is None:
            raise OrlaError(
                f"snap-{self.steps}: {type(self.architecture).__name__} does not say which numbers"
                " of its state depend on which; declare its `pattern` (of LinearGates with"
                " independent units its `unit_pattern`), or take another learner"
            )

    @property
    def dense(self) -> bool:
        """Whether e has an entry for every number of the state and every parameter."""
        return self.steps > 1 or not can_use_unit_sensitivity(self.architecture)

    def mask(self) -> Sensitivity:
        """M, of a shape that broadcasts to e of one model; True where it is 1."""
        pattern = self.architecture.pattern()
        if not self.dense:
            hidden = self.architecture.hidden
            by_unit = pattern.by_parameter["b_h"].unflatten(1, (-1, hidden))
            diagonal = torch.diagonal(by_unit.unflatten(0, (-1, hidden)), dim1=1, dim2=3)
            return {"e": diagonal.flatten(1)[:, :, None]}
        by_state, masks = pattern.by_state.double(), pattern.by_parameter
        for _ in range(self.steps - 1):  # and where J times what is kept is not zero
            masks = {
                name: mask | (torch.tensordot(by_state, mask.double(), 1) > 0)
                for name, mask in masks.items()
            }
        return masks

    def buffers(self, params: Parameters) -> dict[str, Any]:
        masks = self.mask()
        if all(mask.all() for mask in masks.values()):
            return {}
        device = next(iter(params.values())).device
        return {"kept": {name: mask.to(device) for name, mask in masks.items()}}

    def apply_mask(self, sensitivity: Sensitivity, carry: Carry) -> Sensitivity:
        if "kept" not in carry:  # everything is
            return sensitivity
        return {name: torch.where(carry["kept"][name], e, 0.0) for name, e in sensitivity.items()}
