"""Made-up studies: pairs of sessions of a world, adapted by two learners, as a table of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from orla import catalogue
from orla.architectures.base import Parameters
from orla.engine.loop import loop_of
from orla.engine.network import network_of
from orla.study.keys import DEFAULTS, KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import ConditionRun
from orla.study.sweep import sweep
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream
from orla.truth import worlds


def simulate_models(
    world: str, studies: Sequence[int], pairs: int, networks: int, steps: Mapping[str, int]
) -> pd.DataFrame:
    """The table of models of some made-up studies of a world, by their numbers.

    It has the columns of a sweep, `study`, `pair`, and `seed` counted in each pair. Both learners
    adapt `networks` networks of each pair; the immediate one also as many further networks, for
    controls with one learner on both sides. A study does not depend on the others asked for, but
    for rates, which were chosen over all studies at once: see `reselect_rates`. `steps` has those
    of the parts "pretraining", "adapt" and "heldout".
    """
    each = 2 * networks
    seeds = np.concatenate([np.arange(s * pairs * each, (s + 1) * pairs * each) for s in studies])
    task = catalogue.make("task", {**worlds.WORLDS[world], **steps, "networks": each})
    episode = task.episode("shift", seeds.tolist())
    parameters, _ = pretrain(
        network_of(worlds.NETWORK, episode.n_in, episode.n_out),
        episode.pretraining,
        seeds.tolist(),
        Pretraining(**worlds.PRETRAINING),
        catalogue.make("loss", episode.loss),
        batch_models=min(worlds.BATCH, len(seeds)),
    )
    index_by_learner = {worlds.IMMEDIATE: np.arange(len(seeds))}
    if any(c.world == world and c.planted_gap is None for c in worlds.CONTROLS.values()):
        index_by_learner[worlds.FULL] = np.flatnonzero(seeds % each < networks)
    frames = []
    for learner, index in index_by_learner.items():
        run = _make_run(world, learner, episode, parameters, index)
        table = sweep(run, worlds.RATES, worlds.GROWTH, for_resamples=True).wide_tables["models"]
        # The study, pair and network in place of the number of the seed.
        pair, network = np.divmod(seeds[index][table["seed"].to_numpy()], each)
        names = [f"pair-{number % pairs + 1:02d}" for number in pair]
        frames.append(table.assign(study=pair // pairs, pair=names, seed=network))
    return pd.concat(frames, ignore_index=True)


def _make_run(
    world: str, learner: str, episode: Episode, networks: Parameters, index: np.ndarray
) -> ConditionRun:
    """One learner adapts some of the networks, each to the stream of its seed."""
    streams = {name: getattr(episode, name) for name in ("adapt", "heldout", "reference")}
    some = {name: Stream(stream.X[index], stream.Y[index]) for name, stream in streams.items()}
    episode = replace(episode, pretraining=None, **some)
    keys = {"task": world, "pair": "", "learner": learner, **worlds.CONDITION, **DEFAULTS}
    keys = {name: keys[name] for name in KEYS}
    job = {"network": worlds.NETWORK, "learner": learner, "optimizer": worlds.OPTIMIZER}
    loss = catalogue.make("loss", episode.loss)
    return ConditionRun(
        keys=keys,
        networks={name: p[torch.as_tensor(index)] for name, p in networks.items()},
        episode=episode,
        loop=loop_of(job, episode.n_in, episode.n_out, loss, episode.window),
        batch_models=min(worlds.BATCH, len(index)),
        with_costs_and_refits=False,
    )


def reselect_rates(models: pd.DataFrame) -> pd.DataFrame:
    """The table with the rate chosen anew by study, pair and learner, as `lowest_error_index` does.

    The choice is that of the estimand `worlds.ESTIMAND`; no rate is marked by any other.
    """
    at = ["study", "pair", "learner"]
    models = models.sort_values(at, kind="stable", ignore_index=True)
    rate, errors = models["learning_rate"], models[worlds.ESTIMAND.validation]
    groups = [models[name] for name in at]
    errors = errors.where(np.isfinite(errors), np.inf)
    means = errors.groupby([*groups, rate]).transform("mean")
    lowest = means == means.groupby(groups).transform("min")
    best = rate.where(lowest).groupby(groups).transform("min")
    low, high = (rate.groupby(groups).transform(end) for end in ("min", "max"))
    marks = {worlds.ESTIMAND.selected: rate == best}
    marks[worlds.ESTIMAND.edge] = (best == low) | (best == high)
    others = ("selected_on_test", "selected_on_tail", "selected_on_adapt", "edge_on_adapt")
    return models.assign(**dict.fromkeys(others, False), **marks)
