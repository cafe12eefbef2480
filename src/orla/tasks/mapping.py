"""A linear mapping from recent inputs to a target, which changes once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.tasks.shift import Shift
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Mapping(
    Shift, name="mapping", label="linear mapping, {delay} to {shifted_delay} steps", order=60
):
    """A target that is a linear mapping of the inputs some steps ago, plus noise.

    y_t = M x_{t-k} + noise, with white inputs and M of unit rows, drawn for each stream. At the
    shift M turns by `turn` towards an independent draw, and k may change. With k = 0 the target
    depends on the present input alone; with k > 0 a network must hold inputs in its state. It is
    made for truth controls: it is known whether a gradient through time is needed.
    """

    inputs: int = option(3, "Inputs of a network.", least=1)
    outputs: int = option(2, "Outputs of a network.", least=1)
    delay: int = option(0, "Steps from an input to the target it decides, in pretraining.", least=0)
    shifted_delay: int = option(0, "The same after the shift.", least=0)
    turn: float = option(1.0, "Share of M that is new after the shift.", least=0, most=1)
    noise: float = option(0.3, "Standard deviation of the target's noise.", least=0)
    networks: int = option(1, "Consecutive seeds that share a stream, as one pair's do.", least=1)

    def streams(self, draws: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        pairs = [self._pair(draw) for draw in draws]
        same, changed = zip(*pairs, strict=True)
        return _stacked(same), _stacked(changed)

    def _draws(self, seed: int) -> np.random.Generator:
        return super()._draws(seed // self.networks)

    def _pair(self, draw: np.random.Generator) -> tuple[tuple[np.ndarray, ...], ...]:
        before, other = (_unit(draw.standard_normal((self.outputs, self.inputs))) for _ in "ab")
        after = _unit((1 - self.turn) * before + self.turn * other)
        first = max(self.delay, self.shifted_delay)
        steps = self.pretraining + self.after
        x = draw.standard_normal((first + steps, self.inputs))
        noise = self.noise * draw.standard_normal((steps, self.outputs))

        def target(mapping: np.ndarray, delay: int) -> np.ndarray:
            return x[first - delay : first - delay + steps] @ mapping.T + noise

        same, changed = target(before, self.delay), target(after, self.shifted_delay)
        inputs = x[first:]
        return (inputs, same), (inputs[self.pretraining :], changed[self.pretraining :])

    def describe(self) -> dict[str, Any]:
        text = f"y = M x, {self.delay} then {self.shifted_delay} steps ago, noise {self.noise:g}"
        return {"n_out": self.outputs, "source": text}


def _unit(mapping: np.ndarray) -> np.ndarray:
    return mapping / np.linalg.norm(mapping, axis=1, keepdims=True)


def _stacked(streams: Sequence[tuple[np.ndarray, ...]]) -> Stream:
    inputs, targets = (np.stack(arrays) for arrays in zip(*streams, strict=True))
    return Stream(inputs, targets)
