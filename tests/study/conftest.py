"""The small drift, a condition on it and its sweep."""

import numpy as np
import pytest
from drifting import GRID, KEYS, NETWORK, SEEDS, STEPS, WINDOW, make_episode, session
from harness import SQUARED_ERROR

from orla import catalogue
from orla.engine.loop import Loop
from orla.study import sweep
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import ConditionRun

HORIZONS = [40, 100, 120, 200]


@pytest.fixture(scope="package")
def sessions():
    rng = np.random.default_rng(2)
    readout = 0.5 * rng.normal(size=(3, 2))
    turned = readout[:, ::-1] * [1.0, -1.0]
    return session(rng, 600, readout), session(rng, 400, turned).slice_steps(slice(0, STEPS))


@pytest.fixture(scope="package")
def study(sessions):
    a, b = sessions
    settings = Pretraining(learning_rate=0.02, window=10, max_epochs=10)
    networks, _ = pretrain(
        NETWORK, a.slice_steps(slice(0, 400)), range(SEEDS), settings, SQUARED_ERROR
    )
    return ConditionRun(
        keys=KEYS,
        networks=networks,
        episode=make_episode(b, reference=a.slice_steps(slice(400, None)), reference_from=100),
        loop=Loop(
            catalogue.make("learner", "immediate", architecture=NETWORK),
            catalogue.make("optimizer", "sgd"),
            SQUARED_ERROR,
            probes=[catalogue.make("probe", "update_ratio")],
            segment=WINDOW,
        ),
        with_costs_and_refits=False,
    )


@pytest.fixture(scope="package")
def swept(study):
    return sweep.sweep(study, GRID, growth=1, horizons=HORIZONS, stable_windows=3)
