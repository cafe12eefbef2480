"""A linear mapping from recent inputs to a target, which changes once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.tasks.shift import Shift
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Mapping(Shift, name="mapping", label="linear mapping of recent inputs", order=60):
    """A target that is a linear mapping of the present input and of one some steps ago.

    y_t = sqrt(1 - s) M x_t + sqrt(s) D x_{t-k} + noise, with white inputs, M and D of unit rows,
    drawn for each stream. At the shift M turns by `turn` towards an independent draw, and the share
    s may change. With s = 0 the target depends on the present input alone; with s > 0 a network
    must hold inputs in its state. It is made for truth controls: it is known whether a gradient
    through time is needed.
    """

    inputs: int = option(3, "Inputs of a network.", least=1)
    outputs: int = option(2, "Outputs of a network.", least=1)
    delay: int = option(2, "Steps k from an input to the target that it decides.", least=1)
    share: float = option(0.0, "Share s of the delayed input in pretraining.", least=0, most=1)
    shifted_share: float = option(0.0, "The same after the shift.", least=0, most=1)
    turn: float = option(0.5, "Share of M that is new after the shift.", least=0, most=1)
    noise: float = option(0.3, "Standard deviation of the target's noise.", least=0)
    networks: int = option(1, "Consecutive seeds that share a stream, as one pair's do.", least=1)

    def streams(self, draws: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        branches = zip(*map(self._pair, draws), strict=True)
        arrays = (zip(*branch, strict=True) for branch in branches)
        return tuple(Stream(np.stack(X), np.stack(Y)) for X, Y in arrays)

    def _draws(self, seed: int) -> np.random.Generator:
        return super()._draws(seed // self.networks)

    def _pair(self, draw: np.random.Generator) -> tuple[tuple[np.ndarray, ...], ...]:
        # Each has random numbers of its own, so that a longer part only adds to them.
        mappings, inputs, *noises = draw.spawn(4)
        shape = (self.outputs, self.inputs)
        before, new, past_mapping = (_unit(mappings.standard_normal(shape)) for _ in range(3))
        after = _unit((1 - self.turn) * before + self.turn * new)
        steps = self.pretraining + self.after
        x = inputs.standard_normal((self.delay + steps, self.inputs))

        def target(mapping: np.ndarray, share: float, draw: np.random.Generator) -> np.ndarray:
            present, past = x[self.delay :] @ mapping.T, x[:steps] @ past_mapping.T
            noise = self.noise * draw.standard_normal((steps, self.outputs))
            return np.sqrt(1 - share) * present + np.sqrt(share) * past + noise

        stationary = x[self.delay :], target(before, self.share, noises[0])
        shift = x[self.delay :], target(after, self.shifted_share, noises[1])
        return stationary, tuple(array[self.pretraining :] for array in shift)

    def describe(self) -> dict[str, Any]:
        shares = f"{self.share:g} then {self.shifted_share:g}"
        text = f"M x_t and D x_(t-{self.delay}), share {shares}, noise {self.noise:g}"
        return {"n_out": self.outputs, "source": text}


def _unit(mapping: np.ndarray) -> np.ndarray:
    return mapping / np.linalg.norm(mapping, axis=1, keepdims=True)
