"""Errors of networks that do not adapt, and of the immediate learner with Adam, on one task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from orla import catalogue
from orla.architectures.base import Parameters
from orla.engine.loop import Loop, loop_of
from orla.study import scores
from orla.study.batches import stream_tensors
from orla.study.keys import KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import ConditionRun
from orla.study.sweep import sweep
from orla.tasks.episode import Episode
from orla.tasks.shift import CHANGES

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "config/synthetic.yaml"
NETWORK, LEARNER, OPTIMIZER = "rnn", "immediate", "adam"
# Options that a pretrained network does not depend on.
AFTER = ("shifted", "adapt", "heldout")


@dataclass(frozen=True)
class Bench:
    """The study's own network, pretraining and rates, for networks of these seeds.

    network: as a config specifies it. rates, growth: the grid of Adam, an update a step.
    """

    seeds: Sequence[int]
    network: Mapping[str, Any]
    pretraining: Pretraining
    rates: Sequence[float]
    growth: int
    _pretrained: dict[str, Parameters] = field(default_factory=dict)

    def study(self, options: Mapping[str, Any]) -> ConditionRun:
        """Pretrained networks with an episode of a task, one stream a seed."""
        episode = catalogue.make("task", dict(options)).episode(CHANGES, self.seeds)
        loss = catalogue.make("loss", episode.loss)
        job = {"network": self.network, "learner": LEARNER, "optimizer": OPTIMIZER}
        loop = loop_of(job, episode.n_in, episode.n_out, loss, episode.window)
        keys = dict.fromkeys(KEYS, "") | {"learner": LEARNER, "split": CHANGES}
        networks = self._networks(options, episode, loop)
        return ConditionRun(keys, networks, episode, loop, batch_models=len(self.seeds))

    def _networks(self, options: Mapping[str, Any], episode: Episode, loop: Loop) -> Parameters:
        key = repr(sorted((k, v) for k, v in options.items() if k not in AFTER))
        if key not in self._pretrained:
            self._pretrained[key], _ = pretrain(
                loop.learner.architecture,
                episode.pretraining,
                list(self.seeds),
                self.pretraining,
                loop.loss,
            )
        return self._pretrained[key]


def bench(seeds: Sequence[int], overlay: Path = OVERLAY) -> Bench:
    """The bench of the study `synthetic`: config.yaml, and what its overlay changes."""
    read = [yaml.safe_load(p.read_text(encoding="utf-8")) for p in (ROOT / "config.yaml", overlay)]
    pretraining, grids = ({**read[0][k], **read[1].get(k, {})} for k in ("pretraining", "grids"))
    return Bench(
        seeds=seeds,
        network=read[0]["networks"][NETWORK],
        pretraining=Pretraining(**{k: v for k, v in pretraining.items() if k != "of"}),
        rates=grids[OPTIMIZER]["step"],
        growth=read[0]["grid_growth"],
    )


def along(study: ConditionRun, rates: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Errors at each step of the adapt part.

    Returns:
        Of networks that do not adapt (seeds, steps); of the immediate learner, before the update of
        each step (rates, seeds, steps).
    """
    seeds = np.arange(study.seeds)
    adapt = stream_tensors(study.episode.adapt, seeds, study.dtype, study.device)
    outputs = study.frozen_outputs(study.starting_parameters(seeds), None, adapt)
    frozen = scores.step_errors(study.loss, outputs, adapt)
    seed, rate = np.tile(seeds, len(rates)), np.repeat(rates, len(seeds))
    stream = stream_tensors(study.episode.adapt, seed, study.dtype, study.device)
    run = study.loop.run(
        study.loop.start(study.starting_parameters(seed)), study.tensor(rate), stream
    )
    return frozen, run.errors.reshape(len(rates), len(seeds), -1)


def by_length(study: ConditionRun, rates: Sequence[float], lengths: Sequence[int]) -> pd.DataFrame:
    """A row a length of the adapt part: adapt, frozen, immediate, learning_rate.

    Both errors are means over seeds and over the first so many steps, while learning; the rate is
    the one of `rates` whose error is lowest there. A run that diverges is worse than any other.
    """
    frozen, learned = along(study, rates)
    rows = []
    for steps in lengths:
        means = learned[:, :, :steps].mean((1, 2))
        means = np.where(means <= scores.DIVERGED_ABOVE, means, np.inf)
        best = int(means.argmin())
        row = {"adapt": steps, "frozen": frozen[:, :steps].mean(), "immediate": means[best]}
        rows.append(row | {"learning_rate": rates[best]})
    return pd.DataFrame(rows)


def scored(study: ConditionRun, bench: Bench) -> dict[str, float]:
    """Means over seeds of what the study itself stores, at the rate that it selects.

    The rate's grid grows and the rate is selected as in any condition, before the held-out part.
    """
    models = sweep(study, bench.rates, bench.growth, stable_windows=1).wide_tables["models"]
    chosen = models[models["selected"]]
    return {
        "study_frozen": chosen["frozen_adapt_error"].mean(),
        "study_immediate": chosen["adapt_error"].mean(),
        "study_frozen_heldout": chosen["frozen_heldout_error"].mean(),
        "study_immediate_heldout": chosen["heldout_error"].mean(),
        "study_reference": chosen["reference_error"].mean(),
        "study_learning_rate": chosen["learning_rate"].iloc[0],
        "study_unreliable": float(chosen["unreliable"].mean()),
    }
