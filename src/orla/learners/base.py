"""The base class of learners: rules that compute a gradient from a stream."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part
from orla.derivatives import Derivatives, derivatives

Carry = dict[str, Any]

# One step of the network, or a window of steps (then every entry has a first axis of steps):
# "stream": inputs and targets; "before" (models, state_size): the state before the step; "tape":
# what the derivatives of the step need; "cotangent" (models, state_size): dL/dh; for a learner
# with random numbers "noise" (models, numbers); and for one that reads it "outputs_cotangent"
# (models, n_out): dL/dy.
Step = dict[str, Any]


@dataclass(frozen=True)
class Learner(Part, ABC):
    """A pure pair `init(params) -> carry`, `gradient(carry, params, step) -> (carry, gradient)`.

    The loop runs the network forward and computes dL/dh_t and the readout's gradient; the learner
    computes that of the recurrent parameters alone. Models are the first axis of all tensors.

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

    # Steps after which `rebuild_buffers` is called; 0 for never. `stride` is 1 where it is not 0.
    block_length: ClassVar[int] = 0
    # Whether `gradient` reads "outputs_cotangent".
    reads_outputs: ClassVar[bool] = False
    # Whether the gradient of a window, the readout's too, is that of its last error alone.
    last_error_alone: ClassVar[bool] = False
    # Random numbers, uniform on [0, 1), that each model gets at each step.
    noise_size: ClassVar[int] = 0
    # Standard normal numbers that each model gets once, as "fixed_noise" in `buffers`.
    fixed_noise_size: ClassVar[int] = 0

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
        """Whether `gradient` loops over steps; it is then compiled apart from the update."""
        return self.stride > 1

    @property
    def needs_previous_state(self) -> bool:
        """Whether `gradient` reads "before"; for a window of steps it is kept only then."""
        return self.stride == 1

    @property
    def derivatives(self) -> Derivatives:
        """Structured derivatives where the architecture has them, automatic ones elsewhere."""
        return derivatives(self.architecture)

    def init(self, params: Parameters) -> Carry:
        """The carry before the first step."""
        return {}

    def buffers(self, params: Parameters) -> dict[str, Any]:
        """What `gradient` reads and only `rebuild_buffers` changes, added to the carry."""
        return {}

    @abstractmethod
    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        """The next carry, without the buffers, and the gradient of the summed errors.

        `step` is a window of `stride` steps where that is more than 1. Parameters that the learner
        does not change are absent from the gradient.
        """

    def rebuild_buffers(self, carry: Carry, buffers: dict[str, Any]) -> None:
        """Called after every `block_length` steps; changes `buffers` in place."""

    def buffer_rebuild_bytes(self, params: Parameters, buffers_bytes: int, local_bytes: int) -> int:
        """What `rebuild_buffers` takes of one model beside the carry and the buffers."""
        return 0

    def sensitivity(self, carry: Carry, params: Parameters) -> Parameters:
        """dh/dtheta of the present h, (models, hidden, *shape) each; {} where it is not carried."""
        return {}


def network_name(architecture: Architecture) -> str:
    """What a message calls a network."""
    return architecture.part.name if architecture.part else type(architecture).__name__
