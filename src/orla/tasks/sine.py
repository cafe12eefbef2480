"""Prediction of a sine whose frequency changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.tasks.shift import Shift, moved
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Sine(Shift, name="sine", label="sine, {frequency:g} to {shifted:g} cycles a step", order=20):
    """A later value of a sine of unit variance, from its present value: 1 input, 1 output.

    sqrt(2) sin(phase + 2 pi f t), plus white noise on input and target; the phase is continuous
    where f changes. After the paper's "sine frequency-shift" and "delayed sine"; the paper gives
    neither their frequencies nor their lengths. Each seed draws its phase (uniform) and noise.
    """

    frequency: float = option(0.05, "Cycles a step in pretraining.", above=0, most=0.5)
    shifted: float = option(0.075, "Cycles a step after the shift.", above=0, most=0.5)
    ahead: int = option(1, "Steps from an input to the value to be predicted.", least=1)
    noise: float = option(0.0, "Standard deviation of the noise; the sine's is 1.", least=0)

    def streams(self, draws: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        pairs = [self._pair(draw) for draw in draws]
        stationary, shift = (np.stack(values)[..., None] for values in zip(*pairs, strict=True))
        return moved(stationary, self.ahead), moved(shift, self.ahead)

    def _pair(self, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        phase = draw.uniform(0, 2 * np.pi)
        cycles = self.frequency * np.arange(self.pretraining + self.after + self.ahead)
        branch = cycles[self.pretraining] + self.shifted * np.arange(self.after + self.ahead)
        noise = self.noise * draw.standard_normal(len(cycles))
        stationary, shift = (np.sqrt(2) * np.sin(phase + 2 * np.pi * c) for c in (cycles, branch))
        return stationary + noise, shift + noise[self.pretraining :]

    def describe(self) -> dict[str, Any]:
        steps = f"{self.ahead} step" + ("s" if self.ahead > 1 else "")
        return {
            "n_out": 1,
            "source": f"sqrt(2) sin(phase + 2 pi f t), noise {self.noise:g}, {steps} ahead",
        }
