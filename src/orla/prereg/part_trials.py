"""Small trials of the parts that a verdict depends on: what each does with a fixed input."""

from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import torch

from orla import catalogue
from orla.architectures.base import Architecture
from orla.architectures.rnn import RNN
from orla.engine.forward import outputs_of
from orla.engine.loop import loop_of
from orla.engine.network import network_of
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.prereg.registration import PAIR, QUANTITIES, QUANTITY_PAIRS, RESULT, SEED
from orla.results import base, frames
from orla.results.grids import NEEDED
from orla.study import scores
from orla.study.batches import initial_parameters, stream_tensors
from orla.study.keys import KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import make_run
from orla.study.simulated import simulated_streams
from orla.study.sweep import Sweep, sweep
from orla.tasks.episode import Episode
from orla.tasks.recordings import SessionPair
from orla.tasks.river import River
from orla.tasks.stream import Stream
from orla.tasks.swapped import Swapped

_INPUTS, _OUTPUTS, _HIDDEN, _SEEDS, _UPDATES = 3, 2, 4, 2, 6
_WINDOW, _RIVER_WINDOWS = 10, 20
_COMPARISON = "behaviour"
MODELS = "lr_curves"  # the result with a row a model


def shrink_network(network: Mapping[str, Any]) -> dict[str, Any]:
    """A network's specification with as few hidden units as it takes; of a stack as it is."""
    for hidden in () if "layers" in network else (_HIDDEN, 2 * _HIDDEN):
        with suppress(OrlaError):
            _make_network(small := {**network, "hidden": hidden})
            return small
    return dict(network)


def _waves(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Numbers between -1 and 1 that no generator draws."""
    at = np.arange(int(np.prod(shape)), dtype=float)
    return np.sin(1.7 * at + 0.3 * at**1.5 + phase).reshape(shape)


def _stream(steps: int, phase: float = 0.0) -> Stream:
    x = _waves(steps, _INPUTS, phase=phase)
    y = np.stack([np.roll(x[:, 0], 1) - x[:, 1], np.roll(x[:, 2], 2) * x[:, 0]], axis=1)
    return Stream(x, y)


def _episode(phase: float = 0.0) -> Episode:
    return Episode(
        adapt=_stream(6 * _WINDOW, phase + 1),
        heldout=_stream(2 * _WINDOW, phase + 2),
        selection_cut=4 * _WINDOW,
        n_out=_OUTPUTS,
        pretraining=_stream(6 * _WINDOW, phase),
        reference=_stream(2 * _WINDOW, phase + 3),
        window=_WINDOW,
    )


def _make_network(network: Mapping[str, Any]) -> Architecture:
    return network_of(network, _INPUTS, _OUTPUTS)


def _initial_parameters(architecture: Architecture) -> dict[str, torch.Tensor]:
    return initial_parameters(architecture, range(_SEEDS), torch.float64)


def _stream_tensors(steps: int) -> Any:
    return stream_tensors(_stream(steps), np.arange(_SEEDS), torch.float64)


def _as_arrays(params: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: p.detach().cpu().numpy() for name, p in params.items()}


def network_outputs(network: Mapping[str, Any]) -> Any:
    """Fresh parameters of a network, and its outputs on a short stream."""
    architecture = _make_network(network)
    params = _initial_parameters(architecture)
    outputs = outputs_of(architecture, params, None, _stream_tensors(_WINDOW))
    return _as_arrays(params), outputs.numpy()


def start_outputs(start: Any, network: Mapping[str, Any]) -> Any:
    """Parameters that a start makes of fresh ones."""
    architecture = _make_network(network)
    params = {name: p[0] for name, p in _initial_parameters(architecture).items()}
    part = catalogue.make("start", start)
    return _as_arrays(part.apply(architecture, params, torch.Generator().manual_seed(0)))


def pretraining_outputs(network: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Networks and learning curves after two epochs of pretraining."""
    few = Pretraining(**{**settings, "max_epochs": 2})
    few = replace(few, validation_fraction=max(few.validation_fraction, 0.3))
    return _pretrain(_make_network(network), _stream(2 * max(200, few.window) + 50), few)


def early_stopping_outputs() -> Any:
    """Networks and learning curves of a pretraining that stops before its last epoch."""
    network = RNN(hidden=_HIDDEN, n_in=_INPUTS, n_out=_OUTPUTS)
    few = Pretraining(0.1, window=20, validation_fraction=0.2, max_epochs=12, patience=1)
    return _pretrain(network, _stream(250), few)


def _pretrain(network: Architecture, stream: Stream, settings: Pretraining) -> Any:
    loss = catalogue.make("loss", _episode().loss)
    params, curve = pretrain(network, stream, range(_SEEDS), settings, loss)
    return _as_arrays(params), curve


def learner_outputs(job: Mapping[str, Any]) -> Any:
    """Parameters after a few updates by plain gradients, errors, and what probes measured."""
    episode = _episode()
    loss = catalogue.make("loss", episode.loss)
    loop = loop_of({**job, "optimizer": SGD.part.name}, _INPUTS, _OUTPUTS, loss)
    stride = loop.learner.stride
    steps = stride * (_UPDATES if stride < _WINDOW else 2)
    rates = torch.full((_SEEDS,), 0.03 / stride, dtype=torch.float64)
    start = loop.start(_initial_parameters(loop.learner.architecture))
    run = loop.run(start, rates, _stream_tensors(steps))
    return _as_arrays(run.state.params), run.errors, {str(k): v for k, v in run.series.items()}


def optimizer_outputs(spec: Any) -> Any:
    """Parameters after each of a few updates by made-up gradients."""
    optimizer = catalogue.make("optimizer", spec)
    shapes = {"W_hh": (_HIDDEN, _HIDDEN), "W_out": (_OUTPUTS, _HIDDEN), "b_out": (_OUTPUTS,)}
    params = {n: torch.as_tensor(_waves(*shape)) for n, shape in shapes.items()}
    params["b_out"] = torch.zeros_like(params["b_out"])
    state, rate, after = optimizer.init(params), torch.tensor(0.01, dtype=torch.float64), []
    for update in range(1, _UPDATES):
        waves = {n: update * _waves(*shape, phase=update) for n, shape in shapes.items()}
        gradients = {n: torch.as_tensor(wave) for n, wave in waves.items()}
        steps, state = optimizer.update(gradients, state, params, rate)
        params = {n: p + steps[n] for n, p in params.items()}
        after.append(_as_arrays(params))
    return after


def learner_sweep(
    network: Mapping[str, Any], settings: Mapping[str, Any], spec: Any, rates: list[float]
) -> Sweep:
    """A learner on one pair: adapted, the grid grown, rates chosen, scored.

    `settings` are those of a job that the sweep depends on. Its keys say nothing of a condition.
    """
    if isinstance(spec, Mapping):  # windows that fit the small stream
        spec = {k: min(v, _WINDOW) if isinstance(v, int) else v for k, v in spec.items()}
    keys = dict.fromkeys(KEYS, "") | {"learner": "a small trial", "precision": "float64"}
    job = {**settings, "network": network, "learner": spec, "optimizer": SGD.part.name}
    networks = _initial_parameters(_make_network(network))
    run = make_run(job | {"keys": keys, "seeds": _SEEDS}, _episode(), networks, max_models=12)
    windows = min(settings["stable_windows"], 2)
    return sweep(run, rates, growth=1, stable_windows=windows, for_resamples=True)


def sweep_outputs(
    keys: Mapping[str, str], learners: Sequence[str], *sweeps: Sweep
) -> dict[str, pd.DataFrame]:
    """The tables of sweeps of learners, under the keys of a condition."""
    keys = {**keys, "pair": "pair-0", "precision": "float64"}
    tables = [
        s.table.assign(**keys | {"learner": n}) for s, n in zip(sweeps, learners, strict=True)
    ]
    return frames.result_frames(tables, [s.traces for s in sweeps])


def rate_selection_outputs(models: Mapping[str, pd.DataFrame]) -> Any:
    """Errors of the models of a sweep, and which of them each choice of a rate marks."""
    return models[MODELS][["learner", "seed", "learning_rate", *NEEDED]]


def judged_results_outputs(
    models: Mapping[str, pd.DataFrame], learners: list[str], statistics: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """Every result that is judged, of two pairs that differ by made-up factors.

    A column's factor follows from its name, so that further columns change nothing.
    """
    first = models[MODELS]
    second = first.assign(pair="pair-1")
    for name in first.select_dtypes("float").columns.drop("learning_rate"):
        second[name] = first[name] * (1.1 + 0.01 * (sum(map(ord, name)) % 17))
    at = first.iloc[0][[key for key in KEYS if key not in ("pair", "learner")]].to_dict()
    signs = zip(("plus", "minus"), learners, strict=False)
    terms = [{sign: "heldout_error", "learner": learner} for sign, learner in signs]
    quantity = {"label": "", "unit": PAIR, "at": at, "sum": terms}
    settings = base.Settings.from_config(
        {**statistics, "resamples": 50, "main": _COMPARISON},
        {_COMPARISON: {"minus": learners}} if len(learners) > 1 else {},
        {_COMPARISON: quantity},
    )
    tables = {"models": pd.concat([first, second], ignore_index=True)}
    of_gaps = [RESULT[SEED], RESULT[PAIR]] if len(learners) > 1 else []
    for name in (*of_gaps, QUANTITIES, QUANTITY_PAIRS):
        tables[name] = base.build(name, tables, settings)
    return tables


def select_columns(tables: Mapping[str, pd.DataFrame], reads: Mapping[str, list[str]]) -> Any:
    """The columns of tables that are read (result -> columns), without the guards' words."""
    return [
        {c: table[c] for c in sorted({*reads[name]}) if c != "guards"}
        for name, table in tables.items()
        if name in reads
    ]


def peer_model_outputs(model_name: str) -> np.ndarray:
    """Which rows of a short stream one of River's models has right."""
    from orla.streams import peers  # River is an extra

    return peers.synthetic_row_hits(model_name)


def episode_outputs(task: Mapping[str, Any]) -> Any:
    """A task's episodes: of recordings, of short simulated sessions; of River's, of first rows."""
    part = catalogue.make("task", task)
    if part.needs_files:
        pair, session_pair = next(iter(part.pairs.items()))
        if isinstance(session_pair, SessionPair):  # a seed that follows from a lock is not known
            session_pair = replace(session_pair, seed=1)
        simulated = part.simulated
        channels = max(simulated.array.n_channels, part.preparation.features.count)
        if isinstance(part, Swapped):
            channels, part = part.pool_size, replace(part, step=800)
        small = replace(
            part,
            source="simulated",
            pairs={pair: session_pair},
            simulated=replace(
                simulated,
                task=replace(simulated.task, duration_a_s=60.0, duration_b_s=60.0),
                array=replace(simulated.array, n_channels=channels),
            ),
            parts=replace(part.parts, cut=100, tail_steps=400, tail_stream_steps=200),
        )
        with redirect_stderr(StringIO()):  # what is said of made-up sessions is no news
            streams = simulated_streams(small, pair)
        episodes = [small.cut(streams, split) for split in part.parts.splits]
    else:
        if isinstance(part, River):  # the first rows: how many there are stands in the record
            part = replace(part, adapt=min(part.adapt, _RIVER_WINDOWS * part.window))
        episodes = [part.episode(part.split_names()[0], range(1))]
    return [
        [e.selection_cut, _tail_steps_and_errors(e, e.adapt), _tail_steps_and_errors(e, e.heldout)]
        for e in episodes
    ]


def _tail_steps_and_errors(episode: Episode, stream: Stream) -> Any:
    """The last steps of a stream, and the errors of made-up outputs there."""
    whole = stream_tensors(stream, np.zeros(1, int), torch.float64)
    last = {name: m[max(0, len(stream) - 200) :] for name, m in whole.items()}
    outputs = torch.as_tensor(_waves(1, len(last["x"]), episode.n_out))
    errors = scores.step_errors(catalogue.make("loss", episode.loss), outputs, last)
    return {name: m.numpy() for name, m in last.items()}, len(stream), errors
