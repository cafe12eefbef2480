"""The trace: a sensitivity that decays, in the place of one that the network transports."""

from dataclasses import dataclass
from typing import Any

from orla.architectures.base import Parameters
from orla.architectures.stack import Stack
from orla.catalogue import option
from orla.derivatives import Derivatives
from orla.derivatives.sensitivity import Sensitivity, SensitivityOps
from orla.derivatives.stacked import DecayedStack
from orla.learners.base import Carry, Learner, Step
from orla.learners.rtrl import RTRL
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class _StepTrace(SensitivityLearner):
    """The trace, computed at each step."""

    decay: float = 0.0

    def transport(self, ops: SensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        return {name: self.decay * e for name, e in sensitivity.items()}


@dataclass(frozen=True)
class _StackTrace(RTRL):
    """The trace of a stack, computed once a block of steps."""

    decay: float = 0.0

    @property
    def derivatives(self) -> Derivatives:
        return DecayedStack(self.architecture, self.decay)


@dataclass(frozen=True)
class Trace(
    Learner,
    name="trace",
    label="trace",
    order=50,
    source="docs/protocol.md, trace(decay); Murray 2019 and Bellec et al. 2020 for the family",
    time="O(n^2); O(n^3) where units are not independent",
    memory="O(n^2); O(n^3) where units are not independent",
):
    """e_t = decay e_{t-1} + D_t, gradient (dL/dh_t) e_t; decay 0 is immediate.

    Of a stack e is computed once a block of steps, as exact RTRL's sensitivity is, with decay in
    the place of J.
    """

    decay: float = option(0.9, "Factor of the previous trace.", least=0, most=1)

    @property
    def _rule(self) -> Learner:
        """The learner that computes the trace of this network."""
        a = self.architecture
        by_blocks = isinstance(a, Stack) and a.linear_gates
        return (_StackTrace if by_blocks else _StepTrace)(a, decay=self.decay)

    @property
    def block_length(self) -> int:
        return self._rule.block_length

    def init(self, params: Parameters) -> Carry:
        return self._rule.init(params)

    def buffers(self, params: Parameters) -> dict[str, Any]:
        return self._rule.buffers(params)

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        return self._rule.gradient(carry, params, step)

    def rebuild_buffers(self, carry: Carry, buffers: dict[str, Any]) -> None:
        self._rule.rebuild_buffers(carry, buffers)

    def buffer_rebuild_bytes(self, params: Parameters, buffers_bytes: int, local_bytes: int) -> int:
        return self._rule.buffer_rebuild_bytes(params, buffers_bytes, local_bytes)
