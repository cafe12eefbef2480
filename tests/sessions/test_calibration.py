"""The magnitudes that the simulation is calibrated to, by hand; and the page that shows them."""

import dataclasses
import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "studies/calibration"))

import magnitudes  # noqa: E402
import page  # noqa: E402
import search  # noqa: E402
import simulated  # noqa: E402
import targets as published  # noqa: E402

from orla import catalogue  # noqa: E402
from orla.sessions.simulator import ArraySettings, Settings, TaskSettings  # noqa: E402
from orla.study.simulated import simulated_streams  # noqa: E402

SMALL = Settings(
    task=TaskSettings(duration_a_s=60.0, duration_b_s=50.0), array=ArraySettings(n_channels=8)
)
OPTIONS = {
    "kind": "recordings",
    "pairs": {"one": {"a": "a", "b": "b"}},
    "preparation": {"features": {"count": 4}},
    "parts": {"tail_steps": 500, "tail_stream_steps": 200},
}


def lagged_world(steps=4_000):
    """A target that is the sum of the present and the two past inputs, and noise of variance 1."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((steps, 3))
    past = sum(np.concatenate([np.zeros((lag, 3)), X])[:steps] for lag in range(3))
    return X, past[:, :2] + rng.standard_normal((steps, 2))


@pytest.mark.parametrize("last", [True, False])
def test_r2_rises_with_the_lags_that_matter_and_no_further(last):
    X, Y = lagged_world()
    found = magnitudes.r2_by_lags(X, Y, (1, 2, 3, 10), last=last)
    # Of a variance of 4, each lag tells 1.
    for lags, told in ((1, 0.25), (2, 0.5), (3, 0.75), (10, 0.75)):
        np.testing.assert_allclose(found[lags], told, atol=0.05)


def test_ridge_weights_are_those_of_least_squares_with_added_rows():
    X, Y = lagged_world(500)
    X = magnitudes.design(X, 2)
    (weights,) = magnitudes.fitted(X, Y, [7])
    candidates = []
    for penalty in magnitudes.PENALTIES:
        rows = np.sqrt(penalty * len(X)) * np.diag([0.0] + [1.0] * 6)
        candidates.append(
            np.linalg.lstsq(np.vstack([X, rows]), np.vstack([Y, np.zeros((7, 2))]), rcond=None)[0]
        )
    assert min(np.abs(weights - each).max() for each in candidates) < 1e-9


def test_autocorrelation_fano_and_spectra_are_those_of_known_processes():
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((40_000, 2))
    walk = np.zeros_like(noise)
    for i in range(1, len(walk)):
        walk[i] = 0.8 * walk[i - 1] + noise[i]
    np.testing.assert_allclose(magnitudes.autocorrelation(walk, 3), 0.8**3, atol=0.03)
    counts = rng.poisson([2.0, 0.5, 0.01], (40_000, 3))
    for window in (0.05, 1.0):
        # The third column is under 1 Hz and left out.
        np.testing.assert_allclose(magnitudes.fano(counts, 0.05, window), [1, 1], atol=0.08)
    doubled = np.repeat(counts[::2, :2], 2, axis=0)
    np.testing.assert_allclose(magnitudes.fano(doubled, 0.05, 0.1), [2, 2], atol=0.1)
    np.testing.assert_allclose(magnitudes.power_below(noise, 0.05), 0.1, atol=0.01)
    t = np.arange(40_000) * 0.05
    slow = np.column_stack([np.sin(2 * np.pi * 0.5 * t), np.sin(2 * np.pi * 3.0 * t)])
    np.testing.assert_allclose(magnitudes.power_below(slow, 0.05), [1, 0], atol=1e-3)


def test_simulated_sessions_have_the_streams_of_the_study():
    task = dataclasses.replace(catalogue.make("task", OPTIONS), simulated=SMALL)
    ours = simulated.streams_of(*(session for session, _ in simulated.sessions(SMALL)), task)
    theirs = simulated_streams(task, "one")
    for side, name in itertools.product("ab", "XY"):
        one, other = (getattr(getattr(streams, side), name) for streams in (ours, theirs))
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_drift_of_nothing_costs_a_decoder_little_and_all_targets_are_measured():
    task = catalogue.make("task", OPTIONS)
    still = simulated.changed(SMALL, {"drift.scale": 0.0})
    for given in (SMALL, still):
        found, _ = simulated.measured(given, task)
        assert not set(published.load()["name"]) - set(found)
        assert np.isfinite(list(found.values())).all()
    assert found["ridge frozen_error"] == pytest.approx(found["ridge own_error"], rel=0.25)


def test_the_search_is_seeded_and_never_ends_worse_than_the_present_settings(monkeypatch):
    """The cost is a sum of squares of two magnitudes, in place of simulated sessions."""
    keys = ("drift.lost", "drift.gain")
    monkeypatch.setattr(
        search,
        "measured",
        lambda given, task, lags: ({k: search.value_of(given, k) for k in keys}, None),
    )
    wanted = pd.DataFrame(
        {"name": keys, "low": [0.45, 0.3], "high": [0.46, 0.31], "scale": 0.1, "weight": 1.0}
    )
    task = catalogue.make("task", OPTIONS)
    runs = [search.search(task, wanted, 10, 40, seed) for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(runs[0][1], runs[1][1])
    assert not runs[0][1].equals(runs[2][1])
    best, rows = runs[0]
    assert rows["loss"].min() < 0.1 * rows["loss"][0]
    assert {k: rows.loc[rows["loss"].idxmin(), k] for k in best} == best
    for key, (low, high) in search.BOUNDS.items():
        assert rows[key][1:].between(low, high).all()


def test_distances_are_from_the_nearer_end_of_a_range():
    wanted = pd.DataFrame(
        {"name": list("abc"), "low": 1.0, "high": 2.0, "scale": 0.5, "weight": [1, 2, 3]}
    )
    found = {"a": 0.5, "b": 1.5, "c": 3.0}
    np.testing.assert_allclose(published.off(wanted, found), [-0.5, 0.0, 1.0])
    assert published.loss(wanted, found) == 1 + 3 * 4


def test_no_target_is_a_recovery_or_a_comparison_of_learners():
    wanted = published.load()
    assert (wanted["low"] < wanted["high"]).all() and wanted["place"].str.len().gt(10).all()
    said = " ".join(wanted["name"])
    for word in ("recovery", "immediate", "adam", "rtrl", "tbptt", "gap"):
        assert word not in said


def test_the_page_shows_the_tables_beside_it():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.page(text) == text, "run studies/calibration/page.py"
    shown = {found[1] for found in page._BLOCK.findall(text)}
    assert shown == {"targets", "places", "settings", "ceiling", "seeds"}
    # The control: another number is another page.
    assert text.count("| R2 A, all channels |") == 1
    assert page.page(text.replace("| R2 A, all channels |", "| R2 C |")) == text
    assert list(pd.read_csv(page.DOCS / "calibration/targets.csv")["name"]) == list(
        published.load()["name"]
    )
