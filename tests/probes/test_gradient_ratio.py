"""The ratio of gradient norms against autograd's, step by step; its summary by hand."""

import numpy as np
import oracles
import pytest
from harness import NETWORKS, PLAIN, initial, make_learner, networks, stream, watch

from orla.interventions.match_norm import MatchNorm
from orla.probes.gradient_ratio import GradientRatio

STEPS = 24


def run(driver, kind, observers=(), **options):
    architecture, _ = NETWORKS[kind]
    watching = {name: make_learner(name, architecture) for name in observers}
    given = {"rate": 0.05, "observers": watching, "probes": [GradientRatio()], **options}
    return watch(
        make_learner(driver, architecture), networks(architecture), *stream(STEPS), **given
    )


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize(
    "driver, oracle", [("immediate", oracles.immediate), ("rtrl", oracles.dense_rtrl)]
)
def test_it_is_autograds_at_every_step(kind, driver, oracle):
    architecture, step = NETWORKS[kind]
    watched = run(driver, kind)
    for model in range(2):
        _, used = watched.model(model)
        answers = oracle(step, initial(architecture), used, *stream(STEPS))
        norms = {
            part: np.array(
                [np.sqrt(sum(float((one[n] ** 2).sum()) for n in names)) for one in answers]
            )
            for part, names in (
                ("out", ("W_out", "b_out")),
                ("recurrent", architecture.recurrent_shapes()),
            )
        }
        ratio = norms["out"] / norms["recurrent"]
        found = watched.result.series["gradient_ratio"][model]
        np.testing.assert_allclose(found, ratio, rtol=1e-10)
        # The negative controls: the other way round, and of one weight matrix alone.
        assert not np.allclose(ratio, 1 / ratio, rtol=0.1)
        alone = [float(one["W_out"].norm()) for one in answers] / norms["recurrent"]
        assert not np.allclose(ratio, alone, rtol=1e-2)


def test_it_is_of_what_the_learner_answered_before_any_intervention():
    matched = run("immediate", "rnn", ["rtrl"], interventions=[MatchNorm("rtrl")]).result.series
    out, recurrent = (
        np.sqrt(sum((matched[f"learned {n}"][:, 5] ** 2).reshape(2, -1).sum(1) for n in names))
        for names in (("W_out", "b_out"), ("W_ih", "W_hh", "b_h"))
    )
    np.testing.assert_allclose(matched["gradient_ratio"][:, 5], out / recurrent)
    assert not np.allclose(matched["learned W_hh"][:, 5], matched["gradient W_hh"][:, 5])


def test_the_readout_alone_has_none():
    series = run("last-layer", "rnn").result.series
    assert np.isnan(series["gradient_ratio"]).all()
    assert np.isnan(GradientRatio().summary(series)["gradient_ratio"]).all()


def test_a_sweeps_column_is_the_median_of_the_updates_that_have_one():
    series = {"gradient_ratio": np.array([[np.nan, 1.0, 9.0, 2.0], [np.inf, 4.0, np.nan, np.inf]])}
    assert GradientRatio().summary(series)["gradient_ratio"].tolist() == [2.0, np.inf]
