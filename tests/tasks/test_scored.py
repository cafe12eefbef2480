"""Every task that changes once is scored on a held-out part, and against full RTRL."""

import numpy as np
import pandas as pd
import pytest
import torch

from orla import catalogue
from orla.architectures.rnn import RNN
from orla.engine.loop import Loop
from orla.programs import compiling
from orla.results.frames import COLUMN, recovery_vs_rtrl
from orla.study import sweep
from orla.study.batches import initial_parameters
from orla.study.keys import KEYS
from orla.study.run import ConditionRun
from orla.tasks.shift import Shift

TASKS = [name for name, task in catalogue.parts("task").items() if issubclass(task, Shift)]
LENGTHS = dict(pretraining=40, adapt=60, heldout=20, window=20)
ERRORS = ["frozen_adapt_error", "adapt_error", "frozen_heldout_error", "heldout_error"]


def models(name, learner):
    compiling.configure(compile=False)
    task = catalogue.make("task", {"kind": name, **LENGTHS})
    episode = task.episode("shift", [0, 1])
    network = RNN(hidden=3, n_in=episode.n_in, n_out=episode.n_out)
    study = ConditionRun(
        keys=dict.fromkeys(KEYS, "x") | {"task": name, "learner": learner},
        networks=initial_parameters(network, [0, 1], torch.float64),
        episode=episode,
        loop=Loop(
            catalogue.make("learner", learner, architecture=network),
            catalogue.make("optimizer", "adam"),
            catalogue.make("loss", episode.loss),
            segment=episode.window,
        ),
    )
    return episode, sweep.sweep(study, [0.01], growth=0, stable_windows=1).frames["models"]


@pytest.mark.parametrize("name", TASKS)
def test_each_task_has_errors_held_out_and_a_recovery_against_rtrl(name):
    tables = []
    for learner in ("immediate", "rtrl"):
        episode, table = models(name, learner)
        tables.append(table)
    assert [len(episode.adapt), len(episode.heldout)] == [60, 20]
    # The held-out part is no part of what is adapted to, or that the rate is selected on.
    first, after = episode.adapt, episode.heldout
    assert not np.array_equal(first.X[:, : len(after)], after.X)
    assert episode.selection_cut == 40
    both = pd.concat(tables, ignore_index=True)
    assert np.isfinite(both[ERRORS]).all(axis=None)
    assert (both["adapt_error"] != both["heldout_error"]).all()
    both["frozen_heldout_error"] += 10.0  # untrained networks need not improve in 60 steps
    found = both.assign(**{COLUMN: recovery_vs_rtrl(both, ["rtrl"])})
    selected = found[found["selected"]].set_index(["learner", "seed"])[COLUMN]
    assert selected["rtrl"].to_numpy() == pytest.approx([100, 100])
    assert np.isfinite(selected["immediate"]).all() and (selected["immediate"] != 100).all()
