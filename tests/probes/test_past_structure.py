"""G_past and G_imm by windows: against autograd, hand-made matrices, and switches that matter."""

import numpy as np
import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    SQUARED_ERROR,
    Recorder,
    Watched,
    adapt,
    initial,
    make_learner,
    networks,
    stream,
)

from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.probes.directions import NOW, PAST, UPDATE
from orla.probes.past_structure import LastStructure, PastStructure, ShuffledStructure

STEPS, WINDOW = 24, 8
KIND = "rnn"


def loop(driver, **parts):
    architecture, _ = NETWORKS[KIND]
    return Loop(make_learner(driver, architecture), SGD(), SQUARED_ERROR, segment=WINDOW, **parts)


def run(
    driver,
    observer,
    full,
    immediate,
    *,
    steps=slice(0, STEPS),
    state=None,
    probes=None,
    observers=None,
):
    architecture, _ = NETWORKS[KIND]
    probe = PastStructure(full=full, immediate=immediate, window=WINDOW)
    made = loop(
        driver,
        observers=observers or {observer: make_learner(observer, architecture)},
        probes=[probe, Recorder()] if probes is None else probes,
    )
    X, Y = (m[steps] for m in stream(STEPS))
    rates = torch.full((2,), 0.05, dtype=torch.float64)
    return adapt(made, networks(architecture), rates, X, Y, state=state)


def truth(result, model):
    """Autograd's g_past and g_imm of each window, {parameter: (windows, ...)}."""
    architecture, step = NETWORKS[KIND]
    _, used = Watched(result).model(model)
    linear = oracles.linearised(step, initial(architecture), used, *stream(STEPS))
    full, local = (oracles.recursion(linear, lambda J, f=f: f * J) for f in (1.0, 0.0))

    def by_window(values):
        return np.stack(values).reshape(STEPS // WINDOW, WINDOW, *values[0].shape).sum(1)

    both = list(zip(full, local, strict=True))
    past = {n: by_window([(f[n] - g[n]).numpy() for f, g in both]) for n in full[0]}
    return past, {n: by_window([g[n].numpy() for g in local]) for n in full[0]}


@pytest.mark.parametrize(
    "driver, observer, full, immediate",
    [("rtrl", "immediate", "own", "immediate"), ("immediate", "rtrl", "rtrl", "own")],
)
def test_a_windows_gradients_are_autograds_summed_over_its_steps(driver, observer, full, immediate):
    result = run(driver, observer, full, immediate)
    series = result.series
    for model in range(2):
        past, now = truth(result, model)
        for name in now:
            np.testing.assert_allclose(series[PAST + name][model], past[name], atol=1e-10)
            np.testing.assert_allclose(series[NOW + name][model], now[name], atol=1e-10)
            # Plain descent at a rate of 0.05, by the gradient that drives.
            driven = now[name] + (past[name] if driver == "rtrl" else 0)
            np.testing.assert_allclose(series[UPDATE + name][model], -0.05 * driven, atol=1e-10)
        assert np.abs(past["W_hh"]).max() > 1e-3
        norms = [
            np.linalg.norm(series[f"params {n}"][model].reshape(STEPS, -1), axis=1)[7::8]
            for n in ("W_hh", "W_out")
        ]
        np.testing.assert_allclose(
            series["ratio of the weights' norms"][model], norms[0] / norms[1]
        )
        # The readout's gradient has no past, whatever the learner.
        assert not np.any(series[PAST + "W_out"])


def test_a_learner_of_windows_gives_the_same_columns():
    """Weights that stand still: one update a window and one a step differ in nothing."""
    architecture, _ = NETWORKS[KIND]
    X, Y = stream(STEPS)
    rates = torch.zeros(2, dtype=torch.float64)
    found = []
    for driver, observer in (("rtrl", "immediate"), ("tbptt-8-8", "immediate-8")):
        watching = {"now": make_learner(observer, architecture)}
        probes = [PastStructure(immediate="now", window=WINDOW)]
        made = loop(driver, observers=watching, probes=probes)
        found.append(adapt(made, networks(architecture), rates, X, Y).series)
    steps, windows = found
    for name, values in steps.items():
        assert values.shape == windows[name].shape
        # In the first window both reach back to the first step; later ones do not for TBPTT.
        np.testing.assert_allclose(values[:, 0], windows[name][:, 0], atol=1e-12)


def test_a_run_stopped_within_a_window_and_continued_has_the_same_windows():
    whole = run("rtrl", "immediate", "own", "immediate").series
    first = run("rtrl", "immediate", "own", "immediate", steps=slice(0, 13))
    second = run("rtrl", "immediate", "own", "immediate", steps=slice(13, STEPS), state=first.state)
    for name in whole:
        both = np.concatenate([first.series[name], second.series[name]], 1)
        np.testing.assert_array_equal(both, whole[name])


def series_of(past, now, moved=None):
    """Series of one model with W_hh (2, 2) and W_out (1, 2); rows are windows."""
    past, now = np.asarray(past, float), np.asarray(now, float)
    moved = -now if moved is None else np.asarray(moved, float)
    made = {}
    for start, kind in ((PAST, past), (NOW, now), (UPDATE, moved)):
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


def test_running_sums_of_the_windows_are_another_matrix():
    past = [[3, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0], [0, -4, 0, 0, 0, 0]]
    now = [[1, 1, 0, 2, 5, 0], [1, 8, 0, 2, 0, 5], [1, 1, 1, 2, 0, 0]]
    found = summary(past, now)
    # Column by column 3, then 3 and 4, then 3 again.
    sums = [[3, 0, 0, 0, 0, 0], [3, 4, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]]
    of_now = [now[0], np.add(now[0], now[1]), np.sum(now, 0)]
    for name, rows in (("past", sums), ("immediate", of_now)):
        values = singular(rows)
        top1, energy1 = values.max() / values.sum(), values.max() ** 2 / (values**2).sum()
        assert found[f"top1_{name}_cumulative"] == pytest.approx(top1)
        assert found[f"energy1_{name}_cumulative"] == pytest.approx(energy1)
        assert abs(found[f"energy1_{name}"] - energy1) > 0.01
    for name in ("top1", "energy1"):
        parts = [found[f"{name}_{one}_cumulative"] for one in ("past", "immediate", "gap")]
        assert parts[2] == pytest.approx(parts[0] - parts[1])


def test_every_reading_stands_beside_the_others_and_is_of_its_own_observers():
    architecture, _ = NETWORKS[KIND]
    kinds = {"imm": "immediate", "full": "tbptt"}
    watching = {}
    for errors in ("last", "shuffled"):
        for kind, base in kinds.items():
            spec = {"kind": base, "window": WINDOW, "errors": errors}
            spec |= {"update_every": WINDOW} if base == "tbptt" else {}
            watching[f"{kind}-{errors}"] = make_learner(spec, architecture)
    watching["imm"] = make_learner("immediate-8", architecture)
    probes = [PastStructure(immediate="imm", window=WINDOW)]
    for errors, probe in (("last", LastStructure), ("shuffled", ShuffledStructure)):
        of = {"full": f"full-{errors}", "immediate": f"imm-{errors}"}
        probes.append(probe(**of, window=WINDOW))
    series = run("tbptt-8-8", "", "", "", probes=[*probes, Recorder()], observers=watching).series
    found = {n: v for probe in probes for n, v in probe.summary(series).items()}
    assert len(found) == sum(len(probe.part.more["columns"]) for probe in probes)
    names = list(NETWORKS[KIND][0].shapes())
    for model in range(2):
        for ending, full, imm in (
            ("", "learned", "of imm"),
            ("_last", "of full-last", "of imm-last"),
            ("_shuffled", "of full-shuffled", "of imm-shuffled"),
        ):
            of = [
                np.concatenate([series[f"{g} {n}"][model].reshape(3, -1) for n in names], 1)
                for g in (full, imm)
            ]
            past, now = of[0] - of[1], of[1]
            values = np.linalg.svd(past, compute_uv=False)
            if ending != "_shuffled":
                energy = values[0] ** 2 / (values**2).sum()
                assert found[f"energy1_past{ending}"][model] == pytest.approx(energy)
                cosines = (past * now).sum(1)
                cosines /= np.linalg.norm(past, axis=1) * np.linalg.norm(now, axis=1)
                assert found[f"window_cosine{ending}"][model] == pytest.approx(cosines.mean())
            u1 = np.linalg.svd(past.T)[0][:, 0]
            sizes = {n: series[f"params {n}"][model, 0].size for n in names}
            owner = np.repeat(names, [sizes[n] for n in names])
            if ending != "_last":
                share = (u1[owner == "W_hh"] ** 2).sum()
                assert found[f"whh_share{ending}"][model] == pytest.approx(share)
    for one, other in (("energy1_past", "energy1_past_last"), ("whh_share", "whh_share_shuffled")):
        assert np.abs(found[one] - found[other]).min() > 1e-3
    assert np.abs(found["window_cosine"] - found["window_cosine_last"]).min() > 1e-3
    assert probes[1].profile(series) == {}


def test_columns_of_hand_made_gradients():
    past = [[3, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0], [0, -4, 0, 0, 0, 0]]
    now = [[1, 1, 0, 2, 5, 0], [1, 8, 0, 2, 0, 5], [1, 1, 1, 2, 0, 0]]
    found = summary(past, now)
    largest, other = np.sqrt(32.0), 3.0
    assert found["top1_past"] == pytest.approx(largest / (largest + other))
    assert found["energy1_past"] == pytest.approx(32 / 41)
    values = singular(now)
    assert found["top1_immediate"] == pytest.approx(values.max() / values.sum())
    energy = values.max() ** 2 / (values**2).sum()
    assert found["energy1_immediate"] == pytest.approx(energy)
    assert found["top1_gap"] == pytest.approx(found["top1_past"] - found["top1_immediate"])
    assert found["energy1_gap"] == pytest.approx(32 / 41 - energy)
    assert found["whh_share"] == pytest.approx(1) and found["wout_share"] == 0
    assert found["whh_share_null"] == pytest.approx(4 / 6)
    assert found["weight_ratio"] == 2  # of 1, 2 and 3
    # Window 1 to 2 is a right angle, 2 to 3 a turn back.
    assert found["turn_cosine"] == pytest.approx((0 - 1) / 2)
    cosines = [3 / 3 / np.sqrt(31), 32 / 4 / np.sqrt(94), -4 / 4 / np.sqrt(7)]
    assert found["window_cosine"] == pytest.approx(np.mean(cosines))
    # |g_past| / |g_imm| on W_hh: 3, 0, 0/0, 0 | 0, 1/2, 0/0, 0 | 0, 4, 0, 0; the median of ten.
    assert found["dominance"] == 0
    assert found["past_wins_share"] == pytest.approx(2 / 12)
    assert found["past_sign_sd"] == pytest.approx(np.std([0.25, 0.25, -0.25]))
    spread = [np.std([1, 0, 0]), np.std([0, 1, -1]), 0, 0]
    assert found["past_sign_sd_coordinates"] == pytest.approx(np.mean(spread))
    assert found["sign_differs_share"] == pytest.approx(1 / 12)  # 1 - 4 < 0 < 1


def test_the_direction_may_lie_elsewhere_than_on_w_hh():
    past = [[1, 0, 0, 0, 0, 2], [1, 0, 0, 0, 0, 2]]
    found = summary(past, past)
    assert found["whh_share"] == pytest.approx(1 / 5)
    assert found["wout_share"] == pytest.approx(4 / 5)


def test_the_coordinates_that_are_compared_are_those_named():
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
    short = run("rtrl", "immediate", "own", "immediate", steps=slice(0, WINDOW - 1)).series
    found = PastStructure(immediate="immediate", window=WINDOW)
    assert all(np.isnan(v).all() and v.shape == (2,) for v in found.summary(short).values())
    assert all(v.shape == (2, 0) for v in found.profile(short).values())


def test_a_window_that_is_no_multiple_of_a_segment_is_refused():
    with pytest.raises(OrlaError, match=r"past_structure is kept every 12 steps, .* of 8; give"):
        watching = {"now": make_learner("immediate", NETWORKS[KIND][0])}
        loop("rtrl", observers=watching, probes=[PastStructure(immediate="now", window=12)])
