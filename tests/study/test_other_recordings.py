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
from orla.study.config import normal_form, plan_from_config
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import run_of

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
# Overlay -> steps of pretraining, steps left out before those of adaptation, of adaptation, where
# selection begins, and held out. A trial ends in the part that is adapted to and in the one held
# out: after about 3,600 and 7,200 steps, and after each 300.
CUTS = {"ca1": (600, 3_400, 600, 400, 3_400), "semg": (600, 0, 900, 600, 600)}


@pytest.fixture(scope="module", params=CUTS)
def ran(request):
    """(overlay, study, sweep): a small network, pretrained a little, that adapts at two rates."""
    overlay = request.param
    config = load_configfile(ROOT / "config.yaml")
    update_config(config, load_configfile(ROOT / f"config/{overlay}.yaml"))
    plan = plan_from_config(normal_form(config))
    spec = plan.spec("task", "recordings")
    spec["pairs"] = {k: v for k, v in spec["pairs"].items() if v}
    [pair] = spec["pairs"]
    files = [DATA / overlay / f"{spec['pairs'][pair][side]}.npz" for side in "ab"]
    if not all(file.is_file() for file in files):
        pytest.skip(f"the recordings {overlay} are not beside the project")
    task = catalogue.make("task", spec)
    episode = task.cut(task.streams(pair, *files, overlay), "50-50")
    before, out, adapt, cut, heldout = CUTS[overlay]
    whole = episode.whole.part(slice(out, out + adapt + heldout))
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
    return overlay, study, sweep.sweep(study, [0.0003, 0.001], growth=0, stable_windows=1)


def test_it_runs_immediate_with_adam_alone_by_the_scores_of_its_loss(ran):
    overlay, study, swept = ran
    models = swept.frames["models"]
    assert {*models["learner"]} == {"immediate"} and {*models["optimizer"]} == {"adam"}
    assert study.episode.adapt.starts.any() and study.episode.heldout.starts.any()
    assert len(models) == 4 and not models["diverged"].any()
    errors = ["validation_error", "adapt_error", "heldout_error", "frozen_heldout_error"]
    assert np.isfinite(models[[*errors, "reference_error"]]).all(axis=None)
    assert models["heldout_error"].nunique() == 4 and np.isfinite(swept.traces["error"]).all()
    values, categories = {"r2_mean", "r2_weighted"}, {"bits_per_symbol", "accuracy"}
    wanted, others = (values, categories) if overlay == "ca1" else (categories, values)
    assert wanted <= {*models} and not others & {*models}
    if overlay == "ca1":
        assert study.episode.n_out == 1 and (models["r2_mean"] == models["r2_weighted"]).all()
        r2 = 1 - models["heldout_error"] / study.episode.heldout.Y.var()
        np.testing.assert_allclose(models["r2_mean"], r2)
    else:
        assert study.episode.n_out == 22 and models["accuracy"].between(0, 1).all()
        bits = models["heldout_error"] / np.log(2)
        np.testing.assert_allclose(models["bits_per_symbol"], bits, rtol=1e-9)
