"""An autoregressive signal, to be given back some steps later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.tasks.shift import Shift
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Echo(Shift, name="echo", label="echo, {delay} to {shifted} steps late", order=50):
    """The input of `delay` steps ago, of an AR(1) signal of unit variance: 1 input, 1 output.

    x_t = decay x_{t-1} + sqrt(1 - decay^2) noise. The delay changes where pretraining ends; the
    signal runs on.
    """

    decay: float = option(0.5, "Share of the signal that a step keeps.", least=0, most=0.999)
    delay: int = option(1, "Steps from an input to its copy in pretraining.", least=0)
    shifted: int = option(3, "Steps from an input to its copy after the shift.", least=0)

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        signal = np.stack([self._signal(rng) for rng in rngs])[..., None]
        inputs = signal[:, self._lead :]
        same, changed = (
            signal[:, self._lead - delay : signal.shape[1] - delay]
            for delay in (self.delay, self.shifted)
        )
        after = slice(self.pretraining, None)
        return Stream(inputs, same), Stream(inputs[:, after], changed[:, after])

    @property
    def _lead(self) -> int:
        """Steps before the first input, of which copies come later."""
        return max(self.delay, self.shifted)

    def _signal(self, rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal(self._lead + self.pretraining + self.after)
        x[1:] *= np.sqrt(1.0 - self.decay**2)
        for t in range(1, len(x)):
            x[t] += self.decay * x[t - 1]
        return x

    def describe(self) -> dict[str, Any]:
        return {"n_out": 1, "loss": "huber", "source": f"AR(1) signal, decay {self.decay:g}"}
