"""What a study takes, foreseen: in proportion to its work, from lengths that files tell."""

from pathlib import Path

import numpy as np
import pytest
from one_task import CONFIG

from orla.engine.memory_request import job_mb
from orla.provenance.cost import PROGRAM_S, START_S, STEP_US, UNCOMPILED_US
from orla.study.config import plan_from_config
from orla.study.forecast import Forecast, session_lengths


@pytest.fixture(scope="module")
def plan():
    return plan_from_config(CONFIG)


def of(plan, learner):
    keys = {"domain": "recordings", "architecture": "rnn", "split": "80-20", "optimizer": "adam"}
    wanted = keys | {"learner": learner}
    return next(c for c in plan.conditions if wanted.items() <= vars(c).items())


def test_time_follows_the_work(plan):
    forecast = Forecast(plan, {"recordings": (20_000, 10_000)})
    rtrl = of(plan, "rtrl")
    assert forecast.part_steps(rtrl) == (13_750, 8_000, 2_000)
    # Three rates and one more of each seed, scored frozen; the chosen one at ten steps more.
    learned = rtrl.seeds * 4 * 8_000 * STEP_US["exact"] * 1e-6
    steps = 4 * (1.7 * 8_000 + 2_000) + 10 * (1_600 + 2_000)
    scored = rtrl.seeds * steps * STEP_US["scoring"] * 1e-6
    assert forecast.sweep_cpu_s(rtrl) == pytest.approx(learned + scored)
    longer = Forecast(plan, {"recordings": (20_000, 20_000)})
    assert longer.sweep_cpu_s(rtrl) == pytest.approx(2 * forecast.sweep_cpu_s(rtrl), rel=1e-6)
    alone = forecast.adaptation_cpu_s([rtrl], pretrains=False)
    assert alone == pytest.approx(START_S + forecast.sweep_cpu_s(rtrl))
    assert forecast.adaptation_cpu_s([rtrl], pretrains=True) > alone
    assert forecast.sweep_cpu_s(of(plan, "immediate")) < 0.2 * forecast.sweep_cpu_s(rtrl)


@pytest.mark.parametrize("eager", [{"compile": False}, {"device": "cuda"}])
def test_uncompiled_time_follows_the_steps_of_batches(eager):
    seconds = []
    for models in (1, 1000):
        compute = CONFIG["compute"] | eager | {"batch_models": models}
        plan = plan_from_config(CONFIG | {"compute": compute})
        rtrl = of(plan, "rtrl")
        forecast = Forecast(plan, {"recordings": (20_000, 10_000)})
        seconds.append(forecast.sweep_cpu_s(rtrl))
    learned, scored = 8_000 * UNCOMPILED_US["exact"], UNCOMPILED_US["scoring"]
    at_all, at_chosen = (1.7 * 8_000 + 2_000) * scored, 10 * (1_600 + 2_000) * scored
    alone = 1e-6 * rtrl.seeds * (4 * (learned + at_all) + at_chosen)
    assert seconds == pytest.approx([alone, 1e-6 * (2 * (learned + at_all) + at_chosen)])


def test_exact_learning_is_as_dear_as_its_sensitivities_are_large():
    wide, deep = {"kind": "rnn", "hidden": 192}, {"kind": "stack", "layers": ["rnn"] * 3}
    seconds = []
    for network in (CONFIG["networks"]["rnn"], wide, deep):
        plan = plan_from_config(CONFIG | {"networks": CONFIG["networks"] | {"rnn": network}})
        seconds.append(Forecast(plan).sweep_cpu_s(of(plan, "rtrl")))
    assert seconds[1] == seconds[2] > 5 * seconds[0]


def test_forecast_counts_each_program_once_and_disk_grows_with_conditions(plan):
    forecast = Forecast(plan)
    two = [of(plan, "immediate"), of(plan, "tbptt-200-200")]
    # A loop each, the update of a window, and a network's pretraining and forward pass.
    assert forecast.compiling_cpu_s(iter(two)) == PROGRAM_S * 5
    asked = job_mb(plan.job(two[0]), n_in=40, n_out=2, models=5)
    assert 0.3 * asked < forecast.adaptation_mb(two) < asked
    assert forecast.disk_mb(two) < forecast.disk_mb(plan.conditions)


def test_lengths_are_those_of_the_files(plan, tmp_path):
    files = {"indy_20160630_01": "a.npz", "indy_20170131_02": "b.npz"}
    spec = plan.config["tasks"]["recordings"] | {"source": "binned", "binned": {"files": files}}
    tasks = plan.config["tasks"] | {"recordings": spec}
    binned = type(plan)(plan.config | {"tasks": tasks}, plan.declarations)
    assert "recordings" not in session_lengths(binned, tmp_path)
    for name, steps in (("a", 30), ("b", 20)):
        np.savez(tmp_path / f"{name}.npz", counts=np.ones((steps, 3)))
    assert session_lengths(binned, tmp_path)["recordings"] == (30, 20)
    streams = Path(tmp_path / "results/recordings/streams.npz")
    streams.parent.mkdir(parents=True)
    np.savez(streams, a_X=np.ones((7, 2)), b_X=np.ones((6, 2)))
    assert session_lengths(binned, tmp_path)["recordings"] == (7, 6)
    assert Forecast(plan).session_steps("recordings") == (26_700, 16_500)  # as the config simulates
