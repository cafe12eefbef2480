"""The overlays ca1 and semg as episodes that run: calcium events, and the motions of an arm.

Immediate with Adam alone: no learner is compared with another here.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness import make_network
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config

from orla import catalogue
from orla.study import sweep
from orla.study.config import checked, settled
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import run_of

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
# Overlay -> steps of pretraining, of adaptation, where selection begins, and held out. A trial ends
# in the part that is adapted to and in the one held out: after about 3,600 steps, and after 300.
CUTS = {"ca1": (1_200, 3_800, 3_400, 3_800), "semg": (1_200, 1_800, 1_200, 1_200)}


@pytest.fixture(scope="module", params=CUTS)
def ran(request):
    """(overlay, study, sweep): a small network, pretrained a little, that adapts at two rates."""
    overlay = request.param
    config = load_configfile(ROOT / "config.yaml")
    update_config(config, load_configfile(ROOT / f"config/{overlay}.yaml"))
    plan = checked(settled(config))
    spec = plan.spec("task", "recordings")
    spec["pairs"] = {k: v for k, v in spec["pairs"].items() if v}
    [pair] = spec["pairs"]
    files = [DATA / overlay / f"{spec['pairs'][pair][side]}.npz" for side in "ab"]
    if not all(file.is_file() for file in files):
        pytest.skip(f"the recordings {overlay} are not beside the project")
    task = catalogue.make("task", spec)
    episode = task.cut(task.streams(pair, *files, overlay), "50-50")
    before, adapt, cut, heldout = CUTS[overlay]
    whole = episode.whole.part(slice(0, adapt + heldout))
    episode = replace(
        episode,
        pretraining=episode.pretraining.part(slice(0, before)),
        adapt=whole.part(slice(0, adapt)),
        heldout=whole.part(slice(adapt, None)),
        selection_cut=cut,
    )
    network = make_network("rnn", hidden=8, n_in=episode.n_in, n_out=episode.n_out)
    settings = Pretraining(learning_rate=0.005, max_epochs=1)
    loss = catalogue.make("loss", episode.loss)
    networks, _ = pretrain(network, episode.pretraining, range(2), settings, loss)
    condition = replace(plan.conditions[0], seeds=2)
    job = plan.job(condition) | {"network": {"kind": "rnn", "hidden": 8}}
    study = run_of(job, episode, networks, most=4)
    return overlay, study, sweep.sweep(study, [0.0003, 0.001], growth=0)


def test_it_runs_immediate_with_adam_alone(ran):
    _, study, swept = ran
    assert (
        set(swept.frames["models"]["learner"]) == {"immediate"} and study.episode.adapt.starts.any()
    )
    assert set(swept.frames["models"]["optimizer"]) == {"adam"}
    assert len(swept.frames["models"]) == 4 and not swept.frames["models"]["diverged"].any()
    errors = ["validation_error", "adapt_error", "heldout_error", "frozen_heldout_error"]
    assert np.isfinite(swept.frames["models"][[*errors, "reference_error"]]).all(axis=None)
    assert swept.frames["models"]["heldout_error"].nunique() == 4
    assert np.isfinite(swept.traces["error"]).all()


def test_its_scores_are_those_of_its_loss(ran):
    overlay, study, swept = ran
    values, categories = {"r2_mean", "r2_weighted"}, {"bits_per_symbol", "accuracy"}
    wanted, others = (values, categories) if overlay == "ca1" else (categories, values)
    assert wanted <= set(swept.frames["models"]) and not others & set(swept.frames["models"])
    models = swept.frames["models"]
    if overlay == "ca1":
        assert study.episode.n_out == 1 and (models["r2_mean"] == models["r2_weighted"]).all()
        Y = study.episode.heldout.Y
        np.testing.assert_allclose(models["r2_mean"], 1 - models["heldout_error"] / Y.var())
    else:
        assert study.episode.n_out == 22 and models["accuracy"].between(0, 1).all()
        np.testing.assert_allclose(
            models["bits_per_symbol"], models["heldout_error"] / np.log(2), rtol=1e-9
        )


def by_hand(study, seed, reset):
    """Errors of a frozen network, step by step in NumPy, its state zero where a trial begins."""
    p = {name: value[seed].numpy() for name, value in study.networks.items()}
    whole, h, errors = study.episode.whole, np.zeros(8), []
    for x, y, start in zip(whole.X, whole.Y, whole.starts, strict=True):
        h = h * (not (start and reset))
        h = np.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])
        out = p["W_out"] @ h + p["b_out"]
        if whole.categories:
            errors.append(np.log(np.exp(out).sum()) - out[y])
        else:
            errors.append(((out - y) ** 2).mean())
    return np.array(errors)


def test_nothing_is_carried_or_scored_across_a_gap(ran):
    _, study, swept = ran
    starts, steps = np.flatnonzero(study.episode.whole.starts), study.steps
    assert (starts < steps).any() and (starts > steps).any()
    for seed in range(2):
        frozen = swept.frames["models"].query("seed == @seed")["frozen_heldout_error"]
        apart, through = (by_hand(study, seed, reset) for reset in (True, False))
        np.testing.assert_allclose(frozen, apart[steps:].mean(), rtol=1e-9)
        # The negative control: a state that ran through would be another number.
        assert not np.allclose(apart[starts[starts > 0]], through[starts[starts > 0]], rtol=1e-6)
        assert abs(through[steps:].mean() / apart[steps:].mean() - 1) > 1e-9
    trace = swept.traces["frozen_error"]
    windows = by_hand(study, 0, True)[:steps].reshape(-1, study.episode.window).mean(1)
    np.testing.assert_allclose(trace[0], windows, rtol=1e-9)
