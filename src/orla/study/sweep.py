"""One condition: all its seeds at all its learning rates, adapted, selected and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from orla import progress
from orla.architectures.base import Architecture, Parameters
from orla.engine import forward as evaluation
from orla.engine.loop import Adaptation, Adapter
from orla.errors import OrlaError
from orla.learners import learner
from orla.optimizers import optimizer
from orla.probes import update_ratio
from orla.sessions.parts import Parts, Split
from orla.sessions.streams import Streams
from orla.study import rates
from orla.study.batches import batches, chosen

# What begins the names of measures that are kept only while their rate may be selected.
_AT = "at/"

# A loss in units of the target's variance that no model comes back from.
DIVERGED_ABOVE = 1e6


@dataclass(frozen=True)
class Study:
    """What the models of one condition share: networks, data and the arithmetic.

    networks: pretrained parameters, (seeds, ...) each; their precision is the study's.
    batch_models: models that are computed together; another size changes the last digits only.
    """

    architecture: Architecture
    networks: Parameters
    streams: Streams
    parts: Parts
    split: str
    learner: str
    optimizer: str
    cut: int = 200
    batch_models: int = 5
    device: torch.device | str = "cpu"

    @property
    def seeds(self) -> int:
        return len(self.networks["W_out"])

    @property
    def keys(self) -> dict[str, str]:
        """The condition, as the columns of every table name it."""
        return {
            "architecture": type(self.architecture).__name__.lower(),
            "learner": self.learner,
            "optimizer": self.optimizer,
            "precision": str(self.networks["W_out"].dtype).removeprefix("torch."),
            "split": self.split,
        }

    @property
    def span(self) -> Split:
        return self.parts.splits[self.split]

    def tensor(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(array, dtype=self.networks["W_out"].dtype, device=self.device)

    @cached_property
    def baseline(self) -> dict[str, np.ndarray]:
        """Errors of the networks as pretrained, (seeds,) each, and by window (seeds, windows)."""
        params = chosen(self.networks, torch.arange(self.seeds))
        params = {name: p.to(self.device) for name, p in params.items()}
        collected: list[dict[str, np.ndarray]] = []
        for index, count in batches(self.seeds, self.batch_models):
            batch = chosen(params, torch.as_tensor(index))
            collected.append({k: v[:count] for k, v in self._frozen(batch).items()})
        return {name: np.concatenate([c[name] for c in collected]) for name in collected[0]}

    def _frozen(self, params: Parameters) -> dict[str, np.ndarray]:
        span, b, a = self.span, self.streams.b, self.streams.a
        outputs = evaluation.run(self.architecture, params, None, self.tensor(b.X)).outputs
        Y = self.tensor(b.Y)
        tail = slice(self.parts.a_tail_stream.start, self.parts.a_heldout.stop)
        on_a = evaluation.run(self.architecture, params, None, self.tensor(a.X[tail])).outputs
        held = on_a[:, self.parts.a_heldout.start - tail.start :]

        def error(part: slice) -> np.ndarray:
            return evaluation.mean_squared_error(outputs[:, part], Y[part])

        squares = ((outputs - Y) ** 2).mean(2)[:, span.adapt].double().cpu().numpy()
        reference = evaluation.mean_squared_error(held, self.tensor(a.Y[self.parts.a_heldout]))
        return {
            "frozen_heldout_mse": error(span.heldout),
            "frozen_adapt_mse": error(span.adapt),
            "frozen_validation_mse": error(slice(span.selection_cut, span.adapt.stop)),
            "reference_mse": reference,
            "frozen_trace": window_means(squares, self.cut),
        }


def window_means(values: np.ndarray, window: int) -> np.ndarray:
    """Means of values (models, steps) over windows (models, steps // window); no short rest."""
    windows = values.shape[1] // window
    return values[:, : windows * window].reshape(len(values), windows, window).mean(2)


@dataclass(frozen=True)
class Sweep:
    """A condition's models, one row each (docs/protocol.md lists the columns), and their traces.

    traces: {"mse": (models, windows), "frozen_mse": (seeds, windows)} mean errors a window.
    horizons: one row a seed and horizon, at the selected rate: the condition's keys, seed,
        horizon_steps, recovery_heldout_percent (missing for a model that diverged before the
        horizon) and learning_rate.
    """

    models: pd.DataFrame
    traces: dict[str, np.ndarray]
    horizons: pd.DataFrame


def sweep(
    study: Study, learning_rates: Sequence[float], growth: int, horizons: Sequence[int] = ()
) -> Sweep:
    """Adapt every seed at every rate, growing the grid until the best rate is interior.

    The best rate is the one with the lowest mean error on the selection part, the last share of
    the adapt part, by the weights as they stood where it begins. Held-out errors choose nothing.

    Args:
        study: Networks, data and condition.
        learning_rates: Neighbouring half-decade rates to begin with.
        growth: Half decades that the grid may grow by on each side.
        horizons: Steps after which the models are scored on the held-out part as well, as if they
            had adapted no further: the state runs on through the rest of the adapt part.

    Raises:
        OrlaError: The grid is no half-decade grid, the learner does not fit the parts, or a horizon
            is no multiple of the cut or beyond the adapt part.
    """
    first = rates.grid(learning_rates)
    _check(study, horizons)
    done: dict[int, dict[str, np.ndarray]] = {}
    todo: list[int] = list(first)
    name = f"{study.learner} + {study.optimizer}, {study.split}"
    adapter = _adapter(study)
    with progress.bar(study.span.adapt.stop * study.seeds * len(todo), name, "step") as bar:
        while todo:
            if done:
                bar.total += study.span.adapt.stop * study.seeds
            done |= _measure(study, adapter, todo, horizons, bar)
            scores = {index: measured["validation_mse"] for index, measured in done.items()}
            best = rates.best(scores)
            for index, measured in done.items():
                if index != best:
                    _forget(measured)
            beyond = rates.missing_neighbour(scores, first, growth)
            todo = [] if beyond is None else [beyond]
    return _tabulated(study, done, horizons)


def _check(study: Study, horizons: Sequence[int]) -> None:
    for horizon in horizons:
        if horizon % study.cut or not 0 < horizon <= study.span.adapt.stop:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of parts.cut ({study.cut}) up to"
                f" the {study.span.adapt.stop} steps that are adapted to ({study.split})"
            )


def _adapter(study: Study) -> Adapter:
    return Adapter(
        learner(study.learner, study.architecture),
        optimizer(study.optimizer),
        probes=[update_ratio],
        segment=study.cut,
    )


def _measure(
    study: Study, adapter: Adapter, indices: Sequence[int], horizons: Sequence[int], bar: Any
) -> dict[int, dict[str, np.ndarray]]:
    """Measures of all seeds at the rates numbered `indices`: {number: {measure: (seeds, ...)}}."""
    # Models of one rate stand together: where they diverge, their batch ends early.
    rate = np.repeat([rates.half_decade(i) for i in indices], study.seeds)
    seed = np.tile(np.arange(study.seeds), len(indices))
    collected: list[dict[str, np.ndarray]] = []
    for index, count in batches(len(rate), study.batch_models):
        measured = _adapt_batch(study, adapter, seed[index], rate[index], count, horizons, bar)
        collected.append({k: v[:count] for k, v in measured.items()})
    joined = {k: np.concatenate([c[k] for c in collected]) for k in collected[0]}
    by_rate = {k: v.reshape(len(indices), study.seeds, *v.shape[1:]) for k, v in joined.items()}
    return {i: {k: v[j] for k, v in by_rate.items()} for j, i in enumerate(indices)}


def _adapt_batch(
    study: Study,
    adapter: Adapter,
    seed: np.ndarray,
    rate: np.ndarray,
    count: int,
    horizons: Sequence[int],
    bar: Any,
) -> dict[str, np.ndarray]:
    params = chosen(study.networks, torch.as_tensor(seed))
    params = {name: p.to(study.device) for name, p in params.items()}
    span, b = study.span, study.streams.b
    result = adapter(
        params,
        study.tensor(rate),
        study.tensor(b.X[span.adapt]),
        study.tensor(b.Y[span.adapt]),
        snapshots=[span.selection_cut, *horizons],
        on_segment=lambda steps: progress.advance(bar, steps * count),
    )
    selection = slice(span.selection_cut, span.adapt.stop)
    validation, _ = _frozen_error(study, *result.snapshots[span.selection_cut], selection)
    heldout, r2 = _frozen_error(study, result.params, result.state, span.heldout)
    ratio = result.series["update_ratio"]
    measured = {
        "diverged_step": diverged_steps(result.losses, heldout),
        "validation_mse": validation,
        "adapt_mse": result.losses.mean(1),
        "heldout_mse": heldout,
        "update_ratio": ratio.mean(1),
        "updates": np.full(len(rate), ratio.shape[1]),
        "trace": window_means(result.losses, study.cut),
        **_stood(result, horizons),
        **r2,
    }
    return _without_diverged(measured, span.selection_cut)


def _stood(result: Adaptation, horizons: Sequence[int]) -> dict[str, np.ndarray]:
    """The models as they stood after each horizon, and which of them had diverged by then."""
    stood = {}
    for horizon in horizons:
        params, state = result.snapshots[horizon]
        for name, value in {**params, "state": state}.items():
            stood[f"{_AT}{horizon}/{name}"] = value.cpu().numpy()
        stood[f"{_AT}{horizon}/diverged"] = ~(result.losses[:, :horizon] <= DIVERGED_ABOVE).all(1)
    return stood


def _forget(measured: dict[str, np.ndarray]) -> None:
    for name in [name for name in measured if name.startswith(_AT)]:
        del measured[name]


def _error_after(study: Study, measured: dict[str, np.ndarray], horizon: int) -> np.ndarray:
    """Held-out errors (seeds,) of the models as they stood; nan for one that had diverged."""
    at = f"{_AT}{horizon}/"
    stood = {k.removeprefix(at): v for k, v in measured.items() if k.startswith(at)}
    diverged, state = stood.pop("diverged"), stood.pop("state")
    errors = []
    for index, count in batches(study.seeds, study.batch_models):
        params = {name: study.tensor(value[index]) for name, value in stood.items()}
        batch = (params, study.tensor(state[index]))
        errors.append(_frozen_error(study, *batch, study.span.heldout, since=horizon)[0][:count])
    error = np.concatenate(errors)
    return np.where(diverged | ~(error <= DIVERGED_ABOVE), np.nan, error)


def _frozen_error(
    study: Study, params: Parameters, state: Tensor, part: slice, since: int | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Error and R2 on `part` of session B, weights frozen at step `since` (default: its start)."""
    since = part.start if since is None else since
    X, Y = study.tensor(study.streams.b.X[since : part.stop]), study.tensor(study.streams.b.Y[part])
    outputs = evaluation.run(study.architecture, params, state, X).outputs[:, part.start - since :]
    return evaluation.mean_squared_error(outputs, Y), evaluation.r_squared(outputs, Y)


def diverged_steps(losses: np.ndarray, heldout: np.ndarray) -> np.ndarray:
    """First step (models,) whose loss (models, steps) is not finite or above DIVERGED_ABOVE.

    -1 where there is none; the number of steps where only the held-out error (models,) is so.
    """
    bad = ~(losses <= DIVERGED_ABOVE)
    steps = np.where(bad.any(1), bad.argmax(1), -1)
    return np.where((steps < 0) & ~(heldout <= DIVERGED_ABOVE), losses.shape[1], steps)


def _without_diverged(measured: dict[str, np.ndarray], selection_cut: int) -> dict[str, np.ndarray]:
    """A diverged model has no measures; one that diverged before the selection part no score."""
    step = measured["diverged_step"]
    diverged = step >= 0
    for name in (
        "adapt_mse",
        "heldout_mse",
        "update_ratio",
        "r2_x",
        "r2_y",
        "r2_mean",
        "r2_weighted",
    ):
        measured[name] = np.where(diverged, np.nan, measured[name])
    lost = diverged & (step < selection_cut)
    lost |= ~(measured["validation_mse"] <= DIVERGED_ABOVE)
    measured["validation_mse"] = np.where(lost, np.nan, measured["validation_mse"])
    return measured


def _tabulated(
    study: Study, done: dict[int, dict[str, np.ndarray]], horizons: Sequence[int]
) -> Sweep:
    numbers = sorted(done)
    on_validation = {i: done[i]["validation_mse"] for i in numbers}
    on_test = {i: done[i]["heldout_mse"] for i in numbers}
    selected, selected_on_test = rates.best(on_validation), rates.best(on_test)
    frames = []
    for i in numbers:
        frame = _rows(study, done[i])
        frame.insert(6, "learning_rate", rates.half_decade(i))
        frame["selected"] = i == selected
        frame["selected_on_test"] = i == selected_on_test
        frame["edge"] = rates.on_edge(on_validation)
        frames.append(frame)
    traces = np.concatenate([done[i]["trace"] for i in numbers])
    frozen = study.baseline["frozen_trace"]
    return Sweep(
        models=pd.concat(frames, ignore_index=True),
        traces={"mse": traces, "frozen_mse": frozen},
        horizons=_horizon_rows(study, rates.half_decade(selected), horizons, done[selected]),
    )


def _rows(study: Study, measured: dict[str, np.ndarray]) -> pd.DataFrame:
    frozen = study.baseline
    frame = pd.DataFrame({**study.keys, "seed": np.arange(study.seeds)})
    frame["diverged"] = measured["diverged_step"] >= 0
    for name in ("diverged_step", "validation_mse", "adapt_mse", "heldout_mse"):
        frame[name] = measured[name]
    for name in ("frozen_heldout_mse", "frozen_adapt_mse", "reference_mse"):
        frame[name] = frozen[name]
    for part in ("heldout", "adapt", "validation"):
        frame[f"recovery_{part}_percent"] = evaluation.recovery_percent(
            frozen[f"frozen_{part}_mse"], measured[f"{part}_mse"], frozen["reference_mse"]
        )
    for name in ("r2_x", "r2_y", "r2_mean", "r2_weighted", "update_ratio"):
        frame[name] = measured[name]
    frame["unreliable"] = evaluation.unreliable(
        frozen["frozen_heldout_mse"], frozen["reference_mse"]
    )
    frame["updates"] = measured["updates"]
    return frame


def _horizon_rows(
    study: Study, learning_rate: float, horizons: Sequence[int], measured: dict[str, np.ndarray]
) -> pd.DataFrame:
    frozen, reference = (study.baseline[f"{of}_mse"] for of in ("frozen_heldout", "reference"))
    recovered = {
        horizon: evaluation.recovery_percent(
            frozen, _error_after(study, measured, horizon), reference
        )
        for horizon in horizons
    }
    return pd.DataFrame(
        {
            **study.keys,
            "seed": np.repeat(np.arange(study.seeds), len(horizons)),
            "horizon_steps": np.tile(np.asarray(horizons, dtype=int), study.seeds),
            "recovery_heldout_percent": np.array(list(recovered.values()), dtype=float).T.ravel(),
            "learning_rate": learning_rate,
        }
    )
