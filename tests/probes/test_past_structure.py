"""G_past and G_imm by windows: against autograd, hand-made matrices, and switches that matter."""

import math

import numpy as np
import pytest
import torch
from harness import (
    NETWORKS,
    SQUARED_ERROR,
    Recorder,
    adapt,
    make_learner,
    networks,
    stream,
)

from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.probes.directions import IMMEDIATE, PAST, UPDATE
from orla.probes.past_structure import LastStructure, PastStructure, ShuffledStructure

STEPS, WINDOW = 24, 8
KIND = "rnn"


def loop(driver, **parts):
    architecture, _ = NETWORKS[KIND]
    return Loop(make_learner(driver, architecture), SGD(), SQUARED_ERROR, segment=WINDOW, **parts)


def run(driver="rtrl", full="own", immediate="imm", observer="immediate", *, probes=(), **given):
    architecture, _ = NETWORKS[KIND]
    observers = given.pop("observers", None) or {"imm": make_learner(observer, architecture)}
    probes = probes or [PastStructure(full=full, immediate=immediate, window=WINDOW)]
    made = loop(driver, observers=observers, probes=[*probes, Recorder()])
    (X, Y), steps = stream(STEPS), given.pop("steps", slice(0, STEPS))
    rates = torch.full((2,), given.pop("rate", 0.05), dtype=torch.float64)
    return adapt(made, networks(architecture), rates, X[steps], Y[steps], **given)


@pytest.mark.parametrize(
    ("driver", "full", "immediate", "observer"),
    [
        ("rtrl", "own", "imm", "immediate"),
        ("immediate", "full", "own", "rtrl"),
        ("tbptt-8-8", "own", "imm", "immediate-8"),
    ],
)
def test_a_windows_gradients_are_summed_over_its_steps(driver, full, immediate, observer):
    watching = {"full" if full == "full" else "imm": make_learner(observer, NETWORKS[KIND][0])}
    series = run(driver, full, immediate, observers=watching).series
    own = {"own": "learned"}

    def by_window(of, name):
        values = series[f"{own.get(of, f'of {of}')} {name}"]
        return values.reshape(2, STEPS // WINDOW, -1, *values.shape[2:]).sum(2)

    for name in NETWORKS[KIND][0].shapes():
        whole, now = by_window(full, name), by_window(immediate, name)
        np.testing.assert_allclose(series[PAST + name], whole - now, atol=1e-12)
        np.testing.assert_allclose(series[IMMEDIATE + name], now, atol=1e-12)
        # Plain descent at a rate of 0.05, by the gradient that drives.
        np.testing.assert_allclose(
            series[UPDATE + name], -0.05 * by_window("own", name), atol=1e-12
        )
    assert np.abs(series[PAST + "W_hh"]).max() > 1e-3
    # The readout's gradient has no past, whatever the learner.
    assert not np.any(series[PAST + "W_out"])
    sizes = {n: math.prod(shape) for n, shape in NETWORKS[KIND][0].shapes().items()}
    norms = [
        np.linalg.norm(series[f"params {n}"].reshape(2, 3, -1, sizes[n]), axis=-1)[:, :, -1]
        for n in ("W_hh", "W_out")
    ]
    np.testing.assert_allclose(series["ratio of the weights' norms"], norms[0] / norms[1])


def test_a_run_stopped_within_a_window_and_continued_has_the_same_windows():
    whole, first = run().series, run(steps=slice(0, 13))
    second = run(steps=slice(13, STEPS), state=first.state)
    for name in whole:
        both = np.concatenate([first.series[name], second.series[name]], 1)
        np.testing.assert_array_equal(both, whole[name])


def series_of(past, now, moved=None):
    """Series of one model with W_hh (2, 2) and W_out (1, 2); rows are windows."""
    past, now = np.asarray(past, float), np.asarray(now, float)
    moved = -now if moved is None else np.asarray(moved, float)
    made = {}
    for start, kind in ((PAST, past), (IMMEDIATE, now), (UPDATE, moved)):
        made[start + "W_hh"] = kind[None, :, :4].reshape(1, -1, 2, 2)
        made[start + "W_out"] = kind[None, :, 4:].reshape(1, -1, 1, 2)
    made["ratio of the weights' norms"] = np.arange(1.0, len(past) + 1)[None]
    return made


PROBE = PastStructure(immediate="now")


def summary(past, now, probe=PROBE, moved=None):
    found = probe.summary(series_of(past, now, moved))
    return {name: float(values[0]) for name, values in found.items()}


def test_the_update_lies_along_what_it_descends():
    past = [[3, 0, 0, 4, 0, 0], [0, 0, 0, 2, 0, 0]]
    along = summary(past, np.ones((2, 6)), moved=-np.array(past) * 0.1)["update_along_past"]
    assert along == pytest.approx(1)
    # The readout's update, at places where g_past is 0, does not count.
    moved = [[-6, 0, 0, 0, 9, 9], [0, 0, 0, 5, 9, 9]]
    found = summary(past, np.ones((2, 6)), moved=moved)["update_along_past"]
    assert found == pytest.approx((3 / 5 - 1) / 2)


def singular(rows):
    """Singular values of a matrix, by another way than the probe's."""
    rows = np.array(rows, float)
    return np.sqrt(np.maximum(np.linalg.eigvalsh(rows @ rows.T), 0))


def test_last_and_shuffled_structure_read_their_own_observers_when_run_together():
    architecture, _ = NETWORKS[KIND]
    bases = {"imm": {"kind": "immediate"}, "full": {"kind": "tbptt", "update_every": WINDOW}}
    watching = {
        f"{name}-{errors}": make_learner(base | {"window": WINDOW, "errors": errors}, architecture)
        for errors in ("all", "last", "shuffled")
        for name, base in bases.items()
    }

    def columns(*probes):
        series = run("tbptt-8-8", probes=probes, observers=watching).series
        return {n: v for probe in probes for n, v in probe.summary(series).items()}, series

    def reading(kind, errors):
        return kind(full=f"full-{errors}", immediate=f"imm-{errors}", window=WINDOW)

    probes = [PastStructure(immediate="imm-all", window=WINDOW)]
    probes += [reading(LastStructure, "last"), reading(ShuffledStructure, "shuffled")]
    together, series = columns(*probes)
    assert len(together) == sum(len(probe.part.more["columns"]) for probe in probes)
    for errors in ("last", "shuffled"):
        alone, _ = columns(reading(PastStructure, errors))
        names = [name for name in together if name.endswith(f"_{errors}")]
        assert names
        for name in names:
            base = name.removesuffix(f"_{errors}")
            np.testing.assert_allclose(together[name], alone[base], rtol=1e-9)
            assert np.abs(together[name] - together[base]).min() > 1e-4 or "top1" in name
    assert probes[1].profile(series) == {}


def test_spectra_cosines_and_shares_of_hand_made_gradients_are_numpys():
    past = [[3, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0], [0, -4, 0, 0, 0, 0]]
    now = [[1, 1, 0, 2, 5, 0], [1, 8, 0, 2, 0, 5], [1, 1, 1, 2, 0, 0]]
    found = summary(past, now)
    assert found["top1_past"] == pytest.approx(np.sqrt(32) / (np.sqrt(32) + 3))
    assert found["energy1_past"] == pytest.approx(32 / 41)
    for ending, sums in (("", np.array), ("_cumulative", lambda rows: np.cumsum(rows, 0))):
        for name, rows in (("past", past), ("immediate", now)):
            values = singular(sums(rows))
            energy = values.max() ** 2 / (values**2).sum()
            assert found[f"top1_{name}{ending}"] == pytest.approx(values.max() / values.sum())
            assert found[f"energy1_{name}{ending}"] == pytest.approx(energy)
        for name in ("top1", "energy1"):
            of = [found[f"{name}_{one}{ending}"] for one in ("past", "immediate", "gap")]
            assert of[2] == pytest.approx(of[0] - of[1])
    assert abs(found["energy1_past"] - found["energy1_past_cumulative"]) > 0.01
    # Window 1 to 2 is a right angle, 2 to 3 a turn back.
    cosines = [3 / 3 / np.sqrt(31), 32 / 4 / np.sqrt(94), -4 / 4 / np.sqrt(7)]
    spread = [np.std([1, 0, 0]), np.std([0, 1, -1]), 0, 0]
    expected = {
        "whh_share": 1,
        "wout_share": 0,
        "whh_share_null": 4 / 6,
        "weight_ratio": 2,  # of 1, 2 and 3
        "turn_cosine": (0 - 1) / 2,
        "window_cosine": np.mean(cosines),
        # |g_past| / |g_imm| on W_hh: 3, 0, 0/0, 0 | 0, 1/2, 0/0, 0 | 0, 4, 0, 0; the median of ten.
        "dominance": 0,
        "past_wins_share": 2 / 12,
        "past_sign_sd": np.std([0.25, 0.25, -0.25]),
        "past_sign_sd_coordinates": np.mean(spread),
        "sign_differs_share": 1 / 12,  # 1 - 4 < 0 < 1
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_shares_of_the_first_direction_count_all_weights():
    measures = summary([[1, 0, 0, 0, 0, 2]] * 2, np.ones((2, 6)))
    assert (measures["whh_share"], measures["wout_share"]) == pytest.approx((1 / 5, 4 / 5))


def test_dominance_is_over_the_named_weights():
    past = [[2, 2, 2, 2, 8, 8], [2, 2, 2, 2, 8, 8]]
    now = np.ones((2, 6))
    assert summary(past, now)["dominance"] == 2
    readout = PastStructure(immediate="now", weights="W_out")
    assert summary(past, now, readout)["dominance"] == 8
    both = PastStructure(immediate="now", weights="W_hh+W_out")
    assert summary(past, now, both)["past_wins_share"] == 1
    nowhere = PastStructure(immediate="now", weights="V")
    assert np.isnan(summary(past, now, nowhere)["dominance"])


def test_profiles_are_the_spectra_the_turns_and_a_map():
    past = [[3, 0, 0, 0, 0, 0], [0, -4, 0, 0, 0, 0]]
    found = PROBE.profile(series_of(past, 2 * np.array(past)))
    np.testing.assert_allclose(found["singular_past"], [[4 / 7, 3 / 7]])
    np.testing.assert_allclose(found["singular_immediate"], [[4 / 7, 3 / 7]])
    np.testing.assert_allclose(found["turn_cosine"], [[0.0]])
    np.testing.assert_allclose(found["u1_map"], [[0, 1, 0, 0]], atol=1e-15)
    assert set(found) == set(PROBE.part.more["profiles"])


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_model_that_diverged_has_no_number_and_its_neighbour_has(wrong):
    past, now = np.eye(6)[:3], np.ones((3, 6))
    good, bad = series_of(past, now), series_of(np.where(past, wrong, past), now)
    both = {name: np.concatenate([bad[name], good[name]]) for name in good}
    found = PROBE.summary(both)
    assert all(np.isnan(values[0]) for values in found.values())
    np.testing.assert_array_equal([v[1] for v in found.values()], list(summary(past, now).values()))
    maps = PROBE.profile(both)["u1_map"]
    assert np.isnan(maps[0]).all() and np.isfinite(maps[1]).all()


def test_a_past_of_zeros_has_no_direction_but_counts():
    found = summary(np.zeros((2, 6)), np.ones((2, 6)))
    assert found["top1_past"] == 0 and np.isnan(found["energy1_past"])
    assert np.isnan(found["turn_cosine"]) and np.isnan(found["window_cosine"])
    assert np.isnan(found["whh_share"]) and np.isnan(found["wout_share"])
    assert found["past_wins_share"] == 0


def test_a_run_without_a_whole_window_has_no_number():
    short = run(steps=slice(0, WINDOW - 1)).series
    found = PastStructure(immediate="immediate", window=WINDOW)
    assert all(np.isnan(v).all() and v.shape == (2,) for v in found.summary(short).values())
    assert all(v.shape == (2, 0) for v in found.profile(short).values())


def test_a_window_that_is_no_multiple_of_a_segment_is_refused():
    with pytest.raises(OrlaError, match=r"past_structure is kept every 12 steps, .* of 8; give"):
        watching = {"now": make_learner("immediate", NETWORKS[KIND][0])}
        loop("rtrl", observers=watching, probes=[PastStructure(immediate="now", window=12)])
