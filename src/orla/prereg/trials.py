"""Small trials of the parts that a verdict depends on: what each does with a fixed input."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats

from orla import catalogue
from orla.architectures.base import Architecture
from orla.engine.forward import outputs_of
from orla.engine.loop import loop_of
from orla.engine.network import network_of
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.prereg import judge
from orla.prereg.registration import (
    PAIR,
    QUANTITIES,
    QUANTITY_PAIRS,
    RESULT,
    SEED,
    Registration,
    quantity_ways,
    ways,
)
from orla.prereg.rows import LEARNERS
from orla.results import base, frames, guards
from orla.results.grids import NEEDED
from orla.results.scales import SCALES
from orla.study import scores
from orla.study.batches import initial_parameters, moments
from orla.study.keys import DEFAULTS, KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import run_of
from orla.study.simulated import simulated_streams
from orla.study.sweep import sweep
from orla.tasks.episode import Episode
from orla.tasks.recordings import SessionPair
from orla.tasks.river import River
from orla.tasks.stream import Stream
from orla.tasks.swapped import Swapped

_INPUTS, _OUTPUTS, _HIDDEN, _SEEDS, _UPDATES = 3, 2, 4, 2, 6
_WINDOW = 10
_RIVER_WINDOWS = 20
_COMPARISON = "behaviour"
MODELS = "lr_curves"  # the result with a row a model


def small(network: Mapping[str, Any]) -> dict[str, Any]:
    """A network's specification with as few hidden units as it takes; of a stack as it is."""
    for hidden in () if "layers" in network else (_HIDDEN, 2 * _HIDDEN):
        small = {**network, "hidden": hidden}
        with suppress(OrlaError):
            _made(small)
            return small
    return dict(network)


def _waves(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Numbers between -1 and 1 that no generator draws."""
    at = np.arange(int(np.prod(shape)), dtype=float)
    return (np.sin(1.7 * at + 0.3 * at**1.5 + phase)).reshape(shape)


def _stream(steps: int, phase: float = 0.0) -> Stream:
    x = _waves(steps, _INPUTS, phase=phase)
    y = np.stack([np.roll(x[:, 0], 1) - x[:, 1], np.roll(x[:, 2], 2) * x[:, 0]], axis=1)
    return Stream(x, y[:, :_OUTPUTS])


def _episode(phase: float = 0.0) -> Episode:
    steps = 6 * _WINDOW
    return Episode(
        adapt=_stream(steps, phase + 1),
        heldout=_stream(2 * _WINDOW, phase + 2),
        selection_cut=4 * _WINDOW,
        n_out=_OUTPUTS,
        pretraining=_stream(steps, phase),
        reference=_stream(2 * _WINDOW, phase + 3),
        window=_WINDOW,
    )


def _made(network: Mapping[str, Any]) -> Architecture:
    return network_of(network, _INPUTS, _OUTPUTS)


def _plain(params: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: p.detach().cpu().numpy() for name, p in params.items()}


def outputs(network: Mapping[str, Any]) -> Any:
    """Fresh parameters of a network, and its outputs on a short stream."""
    architecture = _made(network)
    params = initial_parameters(architecture, range(_SEEDS), torch.float64)
    stream = moments(_stream(_WINDOW), np.arange(_SEEDS), torch.float64)
    return _plain(params), outputs_of(architecture, params, None, stream).numpy()


def started(start: Any, network: Mapping[str, Any]) -> Any:
    """Parameters that a start makes of fresh ones."""
    architecture = _made(network)
    params = {n: p[0] for n, p in initial_parameters(architecture, [0], torch.float64).items()}
    part = catalogue.make("start", start)
    return _plain(part.apply(architecture, params, torch.Generator().manual_seed(0)))


def pretrained(network: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Networks and learning curves after two epochs of pretraining."""
    few = Pretraining(**{**settings, "max_epochs": 2})
    steps = 2 * max(200, few.window) + 50
    share = {"validation_fraction": max(few.validation_fraction, 0.3)}
    loss = catalogue.make("loss", _episode().loss)
    params, curve = pretrain(
        _made(network), _stream(steps), range(_SEEDS), replace(few, **share), loss
    )
    return _plain(params), curve


def adapted(job: Mapping[str, Any]) -> Any:
    """Parameters after a few updates by plain gradients, errors, and what probes measured."""
    episode = _episode()
    loss = catalogue.make("loss", episode.loss)
    loop = loop_of({**job, "optimizer": SGD.part.name}, _INPUTS, _OUTPUTS, loss)
    stride = loop.learner.stride
    steps = stride * (_UPDATES if stride < _WINDOW else 2)
    params = initial_parameters(loop.learner.architecture, range(_SEEDS), torch.float64)
    stream = moments(_stream(steps), np.arange(_SEEDS), torch.float64)
    rates = torch.full((_SEEDS,), 0.03 / stride, dtype=torch.float64)
    run = loop.run(loop.start(params), rates, stream)
    return _plain(run.state.params), run.errors, {str(k): v for k, v in run.series.items()}


def optimized(spec: Any) -> Any:
    """Parameters after each of a few updates by made-up gradients."""
    optimizer = catalogue.make("optimizer", spec)
    shapes = {"W_hh": (_HIDDEN, _HIDDEN), "W_out": (_OUTPUTS, _HIDDEN), "b_out": (_OUTPUTS,)}
    params = {n: torch.as_tensor(_waves(*shape)) for n, shape in shapes.items()}
    params["b_out"] = torch.zeros_like(params["b_out"])
    state, rate, found = optimizer.init(params), torch.tensor(0.01, dtype=torch.float64), []
    for update in range(1, _UPDATES):
        gradients = {
            n: torch.as_tensor(_waves(*shape, phase=update) * update) for n, shape in shapes.items()
        }
        steps, state = optimizer.update(gradients, state, params, rate)
        params = {n: p + steps[n] for n, p in params.items()}
        found.append(_plain(params))
    return found


def swept(job: Mapping[str, Any], learners: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The tables of two learners on one pair: adapted, the grid grown, rates chosen, scored."""
    tables, traces = [], []
    for name, spec in learners.items():
        plain = {"optimizer": SGD.part.name, "interventions": [], "probes": [], "observers": {}}
        if isinstance(spec, Mapping):  # windows that fit the small stream
            spec = {k: min(v, _WINDOW) if isinstance(v, int) else v for k, v in spec.items()}
        keys = {**job["keys"], "pair": "pair-0", "learner": name, "precision": "float64"}
        small = {**job, **plain, "keys": keys, "seeds": _SEEDS, "learner": spec}
        episode = _episode()
        networks = initial_parameters(_made(small["network"]), range(_SEEDS), torch.float64)
        swept = sweep(
            run_of(small, episode, networks, most=12),
            learning_rates=[0.1, 0.3],
            growth=1,
            stable_windows=min(job["stable_windows"], 2),
        )
        tables.append(swept.table)
        traces.append(swept.traces)
    return frames.frames(tables, traces)


def chosen(models: Mapping[str, pd.DataFrame]) -> Any:
    """Errors of the models of a sweep, and which of them each choice of a rate marks."""
    return models[MODELS][["learner", "seed", "learning_rate", *NEEDED]]


def statistics(
    models: Mapping[str, pd.DataFrame],
    learners: list[str],
    statistics: Mapping[str, Any],
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
    settings = base.Settings.of(
        {**statistics, "resamples": 50, "main": _COMPARISON},
        {_COMPARISON: {"minus": learners}} if len(learners) > 1 else {},
        {_COMPARISON: quantity},
    )
    tables = {"models": pd.concat([first, second], ignore_index=True)}
    of_gaps = [RESULT[SEED], RESULT[PAIR]] if len(learners) > 1 else []
    names = [*of_gaps, QUANTITIES, QUANTITY_PAIRS]
    for name in names:
        tables[name] = base.build(name, tables, settings)
    return {name: tables[name] for name in names}


def columns(tables: Mapping[str, pd.DataFrame], reads: Mapping[str, list[str]]) -> Any:
    """The columns that a registration reads (result -> columns), without the guards' words."""
    return [
        {c: table[c] for c in sorted({*reads[name]}) if c != "guards"}
        for name, table in tables.items()
        if name in reads
    ]


def guards_met() -> list[int]:
    """How many guards fire, over a grid around their bounds, and where recovery has a meaning."""
    grid = product((19.0, 20.0), (2, 3), (False, True), (0.9, 1.0, np.nan))
    found = [
        len(guards.reasons([guards.Tried("x", updates, rates, 0.1, edge)], error, 1.0).split(": "))
        for updates, rates, edge, error in grid
    ]
    denominators = product((0.049, 0.051, 0.2, np.nan), (0.01, 0.02, np.nan))
    return [*found, *(int(guards.denominator_fails(*one)) for one in denominators)]


def judged(registration: Registration) -> Any:
    """Outcomes and p values on made-up rows around the bounds of the claim and of each check."""
    rule = registration.rule
    grid = list(product(rule.gaps(1.0), (0.0, 0.4, 2.0), (1.0, 4.0, 11.0)))
    found: list[Any] = [[*rule.tests(mean, error, dof)] for mean, error, dof in grid]
    found.append(judge.holm([0.001, 0.02, 0.03, 0.6]))
    plain = replace(registration, checks=(), primary=True, binds={"record_sha256": "x"})
    error = abs(rule.value) / 30 or 0.1
    means = rule.gaps(5 * error)
    cases = [(float(mean), {}) for mean in means[::2]]
    cases += [(float(means[i]), change) for i in (0, -1) for change in _changes(plain)]
    for mean, change in cases:
        tables = _rows(plain, mean, error, **change)
        [verdict] = judge.judge([plain], tables, bindings={plain.name: plain.binds})
        found.append([verdict["outcome"], str(verdict["n"])])
    return found


def _changes(registration: Registration) -> list[dict[str, Any]]:
    most, failing = registration.max_diverged, registration.max_failing
    changes = [{"recovery": 19.9}, {"recovery": 20.1}, {"diverged": most}, {"failing": failing}]
    changes += [{"diverged": most + 1}, {"failing": failing + 1}, {"seeds": registration.seeds + 1}]
    changes += [{"alpha": registration.alpha / 2}, {"number": registration.pairs + 1}]
    return [*changes, {"outlier": 50.0}, {"guard": "few updates"}, {"has_meaning": False}]


def _rows(
    registration: Registration,
    gap: float,
    error: float,
    *,
    recovery: float = 30.0,
    diverged: int = 0,
    failing: int = 0,
    seeds: int | None = None,
    number: int | None = None,
    alpha: float | None = None,
    outlier: float = 0.0,
    guard: str = "",
    has_meaning: bool = True,
) -> dict[str, pd.DataFrame]:
    """Tables with one row of the registration, and one a pair.

    `outlier`: by how many errors the first pair lies above the mean.
    """
    [reading] = registration.readings
    by_pairs, seeds = registration.unit == PAIR, seeds or registration.seeds
    number = number or registration.pairs
    n = number if by_pairs else seeds - diverged
    dof = max(n - 1, 1)
    half = stats.t.ppf(1 - registration.alpha, dof) * error
    row: dict[str, Any] = {**DEFAULTS, **reading.where, "unit": registration.unit}
    row |= {"scale": registration.scale, "alpha": alpha or registration.alpha, "guards": guard}
    row |= dict.fromkeys(("n_without_meaning",), 0)
    values = {"estimate": gap, "standard_error": error, "dof": dof}
    values |= {"low": gap - half, "high": gap + half}
    row |= {reading.columns[role]: value for role, value in values.items()}
    row |= {"n_pairs": number if by_pairs else 1, "n_seeds": seeds - diverged}
    row[reading.columns["n"]] = n
    row |= {"n_diverged": diverged, "n_failing": failing if by_pairs else 0}
    row |= {"has_meaning": has_meaning}
    formed = quantity_ways()
    if not registration.quantity:
        formed = ways(SCALES[registration.scale], PAIR)
        row |= {SCALES[registration.scale].count.format(SEED): seeds - diverged}
    for shift, names in enumerate(formed.values()):
        other = gap + 2 * error * shift
        ends = (other, other - half, other + half)
        row |= dict(zip(names, ends, strict=True))
    learners = registration.minus or ("", "")
    row |= dict(zip(("learner_full", "learner_immediate"), learners, strict=True))
    row |= {f"{name}_low_percent": recovery for name in LEARNERS.values()}
    above = outlier * error * np.array([1.0, *[-1 / max(number - 1, 1)] * (number - 1)])
    if registration.quantity:
        names = [f"pair-{i}" for i in range(number)]
        values = {"pair": names, "value": gap + above}
        each = pd.DataFrame({"quantity": registration.quantity, **values})
        return {reading.result: pd.DataFrame([row]), QUANTITY_PAIRS: each}
    if not by_pairs:
        return {reading.result: pd.DataFrame([{**row, "pair": registration.pair}])}
    counts = ("n_seeds", SCALES[registration.scale].count.format(SEED))
    each = [
        {
            **row,
            **{"pair": f"pair-{i}", "n_diverged": diverged if i == 0 else 0},
            **dict.fromkeys(counts, seeds - (diverged if i == 0 else 0)),
            "guards": "few updates" if i < failing else "",
            reading.columns["estimate"]: gap + above[i],
        }
        for i in range(number)
    ]
    return {reading.result: pd.DataFrame([row]), RESULT[SEED]: pd.DataFrame(each)}


def peer(name: str) -> np.ndarray:
    """Which rows of a short stream one of River's models has right."""
    from orla.streams import peers  # River is an extra

    return peers.trial(name)


def episodes(task: Mapping[str, Any]) -> Any:
    """Parts of a task's episodes, and its loss; of recordings, of short simulated sessions; of
    River's streams, of their first rows."""
    part = catalogue.make("task", task)
    if part.needs_files:
        pair = next(iter(part.pairs))
        short = replace(part.simulated.task, duration_a_s=60.0, duration_b_s=60.0)
        small = replace(
            part,
            source="simulated",
            pairs={pair: _known(part.pairs[pair])},
            simulated=replace(part.simulated, task=short),
            parts=replace(part.parts, cut=100, tail_steps=400, tail_stream_steps=200),
        )
        if isinstance(small, Swapped):
            array = replace(small.simulated.array, n_channels=small.pool_size)
            small = replace(small, step=800, simulated=replace(small.simulated, array=array))
        streams = simulated_streams(small, pair)
        episodes = [small.cut(streams, split) for split in part.parts.splits]
    else:
        if isinstance(part, River):  # the first rows: how many there are stands in the record
            part = replace(part, adapt=min(part.adapt, _RIVER_WINDOWS * part.window))
        episodes = [part.episode(part.variants()[0], range(1))]
    return [
        [episode.selection_cut, *(_scored(episode, s) for s in (episode.adapt, episode.heldout))]
        for episode in episodes
    ]


def _known(pair: Any) -> Any:
    """A pair with a fixed seed in place of its own: one that follows from a lock is not known."""
    return replace(pair, seed=1) if isinstance(pair, SessionPair) else pair


def _scored(episode: Episode, stream: Stream) -> Any:
    """The last steps of a stream, and the errors of made-up outputs there."""
    tail = slice(max(0, len(stream) - 200), None)
    last = {name: m[tail] for name, m in moments(stream, np.zeros(1, int), torch.float64).items()}
    outputs = torch.as_tensor(_waves(1, len(last["x"]), episode.n_out))
    errors = scores.errors(catalogue.make("loss", episode.loss), outputs, last)
    return {name: m.numpy() for name, m in last.items()}, len(stream), errors
