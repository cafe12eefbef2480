"""The base class of learners: rules that compute a gradient from a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part
from orla.derivatives import Derivatives, derivatives

Carry = dict[str, Any]

# One step of the network, or a window of steps (then every entry has a first axis of steps):
# "moment": inputs and targets; "before" (models, state_size): the state before the step; "tape":
# what the derivatives of the step need; "cotangent" (models, state_size): dL/dh; for a learner
# with random numbers "noise" (models, numbers); and for one that reads it "on_outputs" (models,
# n_out): dL/dy.
Step = dict[str, Any]


@dataclass(frozen=True)
class Learner(Part, ABC):
    """A pure pair `init(params) -> carry`, `gradient(carry, params, step) -> (carry, gradient)`.

    The loop runs the network forward and computes dL/dh_t and the readout's exact gradient. The
    learner computes the gradient of the recurrent parameters alone, so that several learners can
    observe one trajectory. All tensors have the models on their first axis.

    Class statement:
        stride: Name of the option with the steps between two updates; "" for an update each step.
        exactness: "exact", "unbiased" or "biased", against exact RTRL.
        source: The paper that the rule comes from.
        time, memory: Of a step, beside the network's own: O(...), with n units.
    """

    kind: ClassVar[str] = "learner"
    declares: ClassVar[Mapping[str, Any]] = {
        "stride": "",
        "exactness": "biased",
        "source": "",
        "time": "",
        "memory": "",
    }

    architecture: Architecture

    @property
    def stride(self) -> int:
        """Steps of the stream between two updates."""
        return getattr(self, self.part.more["stride"]) if self.part.more["stride"] else 1

    @property
    def reach(self) -> int:
        """Steps that `gradient` goes back through at most; the memory model counts their tapes."""
        return self.stride

    @property
    def loops(self) -> bool:
        """Whether `gradient` loops over steps.

        True: it is compiled separately. False: step and update compile together.
        """
        return self.stride > 1

    @property
    def block_length(self) -> int:
        """Steps after which `end_block` is called; 0 for never. `stride` is 1 where it is not 0."""
        return 0

    @property
    def reads_before(self) -> bool:
        """Whether `gradient` reads "before"; for a window of steps it is kept only then."""
        return self.stride == 1

    @property
    def reads_outputs(self) -> bool:
        """Whether `gradient` reads "on_outputs"."""
        return False

    @property
    def last_alone(self) -> bool:
        """Whether the gradient of a window, the readout's too, is that of its last error alone."""
        return False

    @property
    def noise(self) -> int:
        """Random numbers, uniform on [0, 1), that each model gets at each step."""
        return 0

    @property
    def fixed_noise(self) -> int:
        """Random numbers, standard normal, that each model gets once, before the first step.

        The loop adds them to the `buffers`, as "fixed_noise" (models, numbers).
        """
        return 0

    @property
    def derivatives(self) -> Derivatives:
        """Structured derivatives where the architecture has them, automatic ones elsewhere."""
        return derivatives(self.architecture)

    def init(self, params: Parameters) -> Carry:
        """The carry before the first step."""
        return {}

    def buffers(self, params: Parameters) -> dict[str, Any]:
        """What `gradient` reads and `end_block` alone changes, before the first step.

        The loop adds it to the carry that `gradient` gets.
        """
        return {}

    @abstractmethod
    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        """The gradient of the recurrent parameters.

        Args:
            carry: From `init` or the previous step, joined with the `buffers`.
            params: Parameters, each (models, ...).
            step: The step, or where `stride` is more than 1 the window of `stride` steps.

        Returns:
            The next carry (without the buffers), and the gradient of the summed errors; parameters
            that the learner does not change are absent.
        """

    def end_block(self, carry: Carry, buffers: dict[str, Any]) -> None:
        """Called after every `block_length` steps; changes `buffers` in place."""

    def end_block_bytes(self, params: Parameters, buffers_bytes: int, local_bytes: int) -> int:
        """What `end_block` takes of one model beside the carry and the buffers.

        Args:
            params: The model's.
            buffers_bytes: Bytes of its buffers.
            local_bytes: Bytes of the local terms of one step, pulled back from one cotangent.
        """
        return 0

    def sensitivity(self, carry: Carry, params: Parameters) -> Parameters:
        """dh/dtheta of the present h by the recurrent parameters, (models, hidden, *shape) each.

        h: the first `hidden` numbers of the state. `carry` is joined with the buffers, as that of
        `gradient`. {} of a learner that does not carry it.
        """
        return {}
