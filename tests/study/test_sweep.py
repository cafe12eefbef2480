"""Conditions on a small synthetic drift: who sees what, how a grid grows, what a row says."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from harness import LEARNERS, SQUARED_ERROR, make_network

from orla import catalogue, progress
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.study import horizons as at_horizons
from orla.study import rates, sweep
from orla.study.batches import initial_parameters
from orla.study.pretraining import Pretraining, pretrain
from orla.study.study import Study
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

WINDOW, STEPS, ADAPT, SELECTION, SEEDS = 20, 400, 200, 160, 2
HELDOUT, SELECTING = slice(ADAPT, STEPS), slice(SELECTION, ADAPT)
NETWORK = make_network("rnn", hidden=6)
GRID = [0.01, 0.03, 0.1]
MEASURES = ["validation_error", "adapt_error", "heldout_error", "update_ratio", "r2_weighted"]
KEYS = {
    "architecture": "rnn",
    "learner": "immediate",
    "optimizer": "sgd",
    "precision": "float64",
    "split": "50-50",
}


def session(rng, steps, readout):
    X = rng.normal(size=(steps, 3))
    memory = X + 0.6 * np.vstack([np.zeros(3), X[:-1]])
    return Stream(X, memory @ readout + 0.1 * rng.normal(size=(steps, 2)))


def make_episode(stream, adapt=ADAPT, **options):
    """Of a session B, of which `adapt` steps are adapted to."""
    return Episode(
        adapt=stream.part(slice(0, adapt)),
        heldout=stream.part(slice(adapt, None)),
        selection_cut=options.pop("selection_cut", SELECTION),
        n_out=2,
        window=WINDOW,
        **options,
    )


@pytest.fixture(scope="module")
def sessions():
    rng = np.random.default_rng(2)
    readout = 0.5 * rng.normal(size=(3, 2))
    turned = readout[:, ::-1] * [1.0, -1.0]
    return session(rng, 600, readout), session(rng, STEPS, turned)


@pytest.fixture(scope="module")
def study(sessions):
    a, b = sessions
    settings = Pretraining(learning_rate=0.02, window=10, max_epochs=10)
    networks, _ = pretrain(NETWORK, a.part(slice(0, 400)), range(SEEDS), settings, SQUARED_ERROR)
    return Study(
        keys=KEYS,
        networks=networks,
        episode=make_episode(b, reference=a.part(slice(400, None)), reference_from=100),
        loop=Loop(
            catalogue.make("learner", "immediate", architecture=NETWORK),
            catalogue.make("optimizer", "sgd"),
            SQUARED_ERROR,
            probes=[catalogue.make("probe", "update_ratio")],
            segment=WINDOW,
        ),
    )


@pytest.fixture(scope="module")
def swept(study):
    return sweep.sweep(study, GRID, growth=1)


def changed(study, part, size=3.0):
    """The study with session B's targets moved in one part."""
    whole = study.episode.whole
    Y = whole.Y.copy()
    Y[part] += size
    b, old = Stream(whole.X, Y), study.episode
    episode = dataclasses.replace(old, adapt=b.part(slice(0, ADAPT)), heldout=b.part(HELDOUT))
    return dataclasses.replace(study, episode=episode)


def learning(study, name):
    learner = catalogue.make("learner", LEARNERS.get(name, name), architecture=NETWORK)
    return dataclasses.replace(
        study,
        keys=study.keys | {"learner": name},
        loop=dataclasses.replace(study.loop, learner=learner),
    )


def by_hand(study, seed, rate, stop):
    """Plain SGD with a detached state on B's first `stop` steps, weights frozen after: outputs."""
    X, Y = (torch.as_tensor(a) for a in (study.episode.whole.X, study.episode.whole.Y))
    params = {n: p[seed].clone().requires_grad_() for n, p in study.networks.items()}
    h, outputs = torch.zeros(6, dtype=torch.float64), []
    for t in range(STEPS):
        h = torch.tanh(params["W_ih"] @ X[t] + params["W_hh"] @ h.detach() + params["b_h"])
        output = params["W_out"] @ h + params["b_out"]
        outputs.append(output.detach().numpy())
        if t < stop:
            gradients = torch.autograd.grad(((output - Y[t]) ** 2).mean(), params.values())
            params = {
                n: (p - rate * g).detach().requires_grad_()
                for (n, p), g in zip(params.items(), gradients, strict=True)
            }
    return np.array(outputs)


def mse(outputs, Y, part):
    return ((outputs[part] - Y[part]) ** 2).mean()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_row_by_hand(study, swept, seed):
    rate, Y = 0.03, study.episode.whole.Y
    rows = swept.models
    row = rows[(rows.seed == seed) & (rows.learning_rate == rate)].iloc[0]
    outputs = by_hand(study, seed, rate, ADAPT)
    frozen = by_hand(study, seed, rate, 0)
    selecting = by_hand(study, seed, rate, SELECTION)
    validation = SELECTING
    assert row.heldout_error == pytest.approx(mse(outputs, Y, HELDOUT), rel=1e-9)
    assert row.adapt_error == pytest.approx(mse(outputs, Y, slice(0, ADAPT)), rel=1e-9)
    assert row.validation_error == pytest.approx(mse(selecting, Y, validation), rel=1e-9)
    assert row.frozen_heldout_error == pytest.approx(mse(frozen, Y, HELDOUT), rel=1e-9)
    assert row.frozen_adapt_error == pytest.approx(mse(frozen, Y, slice(0, ADAPT)), rel=1e-9)
    for part, own in (("heldout", outputs), ("adapt", outputs), ("validation", selecting)):
        where = (
            validation
            if part == "validation"
            else {"heldout": HELDOUT, "adapt": slice(0, ADAPT)}[part]
        )
        before, after = mse(frozen, Y, where), mse(own, Y, where)
        recovery = 100 * (before - after) / (before - row.reference_error)
        assert row[f"recovery_{part}_percent"] == pytest.approx(recovery, rel=1e-6)
    held = Y[HELDOUT]
    residual, total = ((outputs[HELDOUT] - held) ** 2).sum(0), ((held - held.mean(0)) ** 2).sum(0)
    each = 1 - residual / total
    assert [row.r2_x, row.r2_y] == pytest.approx(list(each), rel=1e-6)
    assert row.r2_mean == pytest.approx(each.mean(), rel=1e-6)
    assert row.r2_weighted == pytest.approx(1 - residual.sum() / total.sum(), rel=1e-6)
    assert row.loss == "squared_error"
    assert row.updates == ADAPT
    assert not row.diverged and row.diverged_step == -1
    assert row.heldout_error < row.frozen_heldout_error


def test_the_reference_is_the_heldout_part_of_a_by_the_pretrained_network(study, swept):
    a = study.episode.reference
    for seed in range(SEEDS):
        p = {n: v[seed].numpy() for n, v in study.networks.items()}
        h, error = np.zeros(6), []
        for t in range(len(a)):
            h = np.tanh(p["W_ih"] @ a.X[t] + p["W_hh"] @ h + p["b_h"])
            error.append((p["W_out"] @ h + p["b_out"] - a.Y[t]) ** 2)
        reference = np.mean(error[study.episode.reference_from :])
        rows = swept.models[swept.models.seed == seed]
        assert rows.reference_error.to_numpy() == pytest.approx(reference, rel=1e-9)
        unreliable = rows.frozen_heldout_error - rows.reference_error < 0.05
        assert (rows.unreliable == unreliable).all()


def test_every_model_has_a_row_and_every_row_its_condition(swept):
    rows = swept.models
    assert len(rows) == SEEDS * rows.learning_rate.nunique()
    assert not rows.duplicated(["seed", "learning_rate"]).any()
    keys = rows[["architecture", "learner", "optimizer", "precision", "split"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["rnn", "immediate", "sgd", "float64", "50-50"]]
    for choice in ("selected", "selected_on_test"):
        chosen = rows[rows[choice]]
        assert len(chosen) == SEEDS and chosen.learning_rate.nunique() == 1
    means = rows.groupby("learning_rate").validation_error.mean()
    assert rows[rows.selected].learning_rate.iloc[0] == means.idxmin()
    means = rows.groupby("learning_rate").heldout_error.mean()
    assert rows[rows.selected_on_test].learning_rate.iloc[0] == means.idxmin()


def test_traces_are_means_over_windows(study, swept):
    windows = ADAPT // WINDOW
    assert swept.traces["error"].shape == (len(swept.models), windows)
    assert swept.traces["frozen_error"].shape == (SEEDS, windows)
    np.testing.assert_allclose(swept.traces["error"].mean(1), swept.models.adapt_error, rtol=1e-12)
    frozen = swept.models.drop_duplicates("seed").sort_values("seed").frozen_adapt_error
    np.testing.assert_allclose(swept.traces["frozen_error"].mean(1), frozen, rtol=1e-9)
    Y, place = study.episode.whole.Y, swept.models.index[swept.models.learning_rate == 0.03][1]
    outputs = by_hand(study, 1, 0.03, windows * WINDOW)
    third = mse(outputs, Y, slice(2 * WINDOW, 3 * WINDOW))
    assert swept.traces["error"][place, 2] == pytest.approx(third, rel=1e-9)


def test_selection_never_sees_the_heldout_part(study, swept):
    heldout = HELDOUT
    other = sweep.sweep(changed(study, heldout), GRID, growth=1).models
    blind = ["learning_rate", "selected", "edge", "validation_error", "adapt_error", "update_ratio"]
    assert other[blind].equals(swept.models[blind])
    assert (other.heldout_error != swept.models.heldout_error).all()


def test_weights_of_the_selection_never_see_the_selection_part(study, swept):
    """A change of the scoring targets moves scores, and nothing that was learned before them."""
    other = sweep.sweep(changed(study, SELECTING), GRID, growth=1)
    both = other.models.merge(swept.models, on=["seed", "learning_rate"])
    assert (both.validation_error_x != both.validation_error_y).all()
    assert (both.heldout_error_x != both.heldout_error_y).all()
    windows = SELECTION // WINDOW
    kept = {rate: i for i, rate in enumerate(sorted(other.models.learning_rate.unique()))}
    for rate in GRID:
        here = slice(kept[rate] * SEEDS, (kept[rate] + 1) * SEEDS)
        place = swept.models.index[swept.models.learning_rate == rate]
        ours, theirs = swept.traces["error"][place], other.traces["error"][here]
        assert np.array_equal(ours[:, :windows], theirs[:, :windows])
        assert (ours[:, windows:] != theirs[:, windows:]).all()


def test_noise_where_the_weights_are_learned_changes_the_choice(study, swept):
    """The negative control: what selection may see does change it."""
    noise = np.random.default_rng(0).normal(scale=3.0, size=(SELECTION, 2))
    other = sweep.sweep(changed(study, slice(0, SELECTION), noise), GRID, growth=1).models
    chosen = [m[m.selected].learning_rate.iloc[0] for m in (swept.models, other)]
    assert chosen[1] < chosen[0]


@pytest.mark.parametrize("growth", [0, 2])
def test_a_grid_grows_towards_its_best_and_stops_at_its_limit(study, growth):
    tiny = sweep.sweep(study, [1e-5, 3e-5], growth=growth).models
    tried = sorted(tiny.learning_rate.unique())
    assert tried == [1e-5, 3e-5, 1e-4, 3e-4][: 2 + growth]
    assert tiny.edge.all()
    assert tiny[tiny.selected].learning_rate.iloc[0] == tried[-1]


def test_an_interior_best_is_no_edge(study):
    rows = sweep.sweep(study, [0.001, 0.003], growth=8).models
    tried = sorted(rows.learning_rate.unique())
    best = rows[rows.selected].learning_rate.iloc[0]
    assert tried[0] < best < tried[-1] and len(tried) > 2
    assert not rows.edge.any()
    assert rates.index_of(tried[-1]) == rates.index_of(best) + 1


def test_divergence_is_recorded_and_loses(study):
    rows = sweep.sweep(study, [0.1, 0.3, 1.0, 3.0, 10.0], growth=0).models
    lost = rows[rows.diverged]
    assert len(lost) >= SEEDS and (lost.learning_rate >= 1.0).any()
    assert ((lost.diverged_step >= 0) & (lost.diverged_step <= 200)).all()
    assert (
        lost[["adapt_error", "heldout_error", "update_ratio", "r2_x", "r2_mean"]].isna().all().all()
    )
    assert lost[["recovery_heldout_percent", "recovery_adapt_percent"]].isna().all().all()
    assert not rows[rows.selected].diverged.any()
    kept = rows[~rows.diverged]
    assert (kept.diverged_step == -1).all()
    assert np.isfinite(kept[MEASURES]).all().all()
    alone = sweep.sweep(study, [0.1], growth=0).models
    for column in MEASURES:
        ours = rows[rows.learning_rate == 0.1][column].to_numpy()
        np.testing.assert_allclose(ours, alone[column], rtol=1e-9)


def test_everything_may_diverge(study):
    rows = sweep.sweep(study, [1000.0], growth=1).models
    assert rows.diverged.all() and sorted(rows.learning_rate.unique()) == [300.0, 1000.0]
    assert (rows[rows.selected].learning_rate == 300.0).all() and rows.edge.all()


def test_a_model_that_diverges_after_the_selection_part_begins_keeps_its_score(study):
    far = sweep.sweep(changed(study, SELECTING, 1e4), [0.03], growth=0).models
    assert far.diverged.all() and (far.diverged_step >= SELECTION).all()
    assert np.isfinite(far.validation_error).all() == (far.validation_error <= 1e6).all()


@pytest.mark.parametrize("size", [1, 3, 50])
def test_rows_do_not_depend_on_the_size_of_batches(study, swept, size):
    rows = sweep.sweep(dataclasses.replace(study, batch_models=size), GRID, growth=1).models
    names = rows.select_dtypes("number").columns
    np.testing.assert_allclose(rows[names], swept.models[names], rtol=1e-9)
    assert rows[["selected", "diverged"]].equals(swept.models[["selected", "diverged"]])


@pytest.mark.parametrize(
    "name", [*(n for n in LEARNERS if not n.endswith(("-8", "-4"))), "immediate-20", "tbptt-20-20"]
)
def test_every_learner_goes_through(study, name):
    other = learning(study, name)
    rows = sweep.sweep(other, [0.01], growth=0).models
    assert (rows.updates == ADAPT // other.loop.learner.stride).all() and not rows.diverged.any()
    assert (rows.learner == name).all()
    assert rows.update_ratio.isna().all() == (name == "last-layer")
    assert (rows.heldout_error < rows.frozen_heldout_error).all()


def test_the_other_split_and_single_precision(study, sessions):
    single = {n: p.float() for n, p in study.networks.items()}
    episode = make_episode(sessions[1], adapt=320, selection_cut=260, reference=sessions[0])
    double = dataclasses.replace(study, episode=episode)
    rows = sweep.sweep(dataclasses.replace(double, networks=single), [0.03], growth=0).models
    assert (rows.updates == 320).all()
    twice = sweep.sweep(double, [0.03], growth=0).models
    np.testing.assert_allclose(rows.heldout_error, twice.heldout_error, rtol=1e-3)
    assert (rows.heldout_error != twice.heldout_error).all()


def test_a_learner_that_does_not_fit_the_window_is_refused(study):
    with pytest.raises(OrlaError, match="make the task's window a multiple"):
        sweep.sweep(learning(study, "immediate-200"), [0.01], growth=0)


def test_horizons_by_hand(study):
    frame = sweep.sweep(study, [0.03], growth=0, horizons=[40, 100, 200]).horizons
    assert list(frame.seed) == [0] * 3 + [1] * 3
    assert list(frame.horizon_steps) == [40, 100, 200] * 2
    assert (frame.learning_rate == 0.03).all()
    Y, heldout = study.episode.whole.Y, HELDOUT
    reference = study.baseline["reference_error"]
    for row in frame.itertuples():
        before = mse(by_hand(study, row.seed, 0.03, 0), Y, heldout)
        after = mse(by_hand(study, row.seed, 0.03, row.horizon_steps), Y, heldout)
        recovery = 100 * (before - after) / (before - reference[row.seed])
        assert row.recovery_heldout_percent == pytest.approx(recovery, rel=1e-6)


def test_the_last_horizon_is_the_sweeps_own_figure(study, swept):
    again = sweep.sweep(study, GRID, growth=1, horizons=[200])
    pd.testing.assert_frame_equal(again.models, swept.models)
    frame = again.horizons
    rows = swept.models[swept.models.selected].sort_values("seed")
    assert list(frame.learning_rate) == list(rows.learning_rate)
    np.testing.assert_allclose(
        frame.recovery_heldout_percent, rows.recovery_heldout_percent, rtol=1e-9
    )


def test_a_horizon_before_the_divergence_is_kept(study):
    late = changed(study, slice(100, ADAPT), 1e5)
    frame = sweep.sweep(late, [0.03], growth=0, horizons=[80, 200]).horizons
    missing = frame.recovery_heldout_percent.isna()
    assert (missing == (frame.horizon_steps == 200)).all()


def test_models_are_kept_only_while_their_rate_may_be_selected(study, monkeypatch):
    held = []
    measure = sweep._measure

    def watched(*arguments):
        measured = measure(*arguments)
        held.append(sum(key.startswith(at_horizons._AT) for m in measured.values() for key in m))
        return measured

    rows = sweep._tabulated

    def tabulated(study, done, horizons):
        held.append(sum(key.startswith(at_horizons._AT) for m in done.values() for key in m))
        return rows(study, done, horizons)

    monkeypatch.setattr(sweep, "_measure", watched)
    monkeypatch.setattr(sweep, "_tabulated", tabulated)
    sweep.sweep(study, GRID, growth=1, horizons=[40, 200])
    each = 2 * (len(study.networks) + 2)
    assert held[0] == len(GRID) * each and held[-1] == each


@pytest.mark.parametrize("horizon", [0, 50, 220])
def test_a_horizon_that_does_not_fit_is_refused_before_anything_runs(study, horizon, monkeypatch):
    monkeypatch.setattr(sweep, "_measure", None)
    with pytest.raises(OrlaError, match=rf"horizons\.steps has {horizon}; choose multiples of"):
        sweep.sweep(study, [0.03], growth=0, horizons=[40, horizon])


def test_a_sweep_without_horizons_has_none(swept):
    assert len(swept.horizons) == 0
    assert {"seed", "horizon_steps", "recovery_heldout_percent"} <= set(swept.horizons)


def test_fresh_networks_need_no_pretraining(study):
    fresh = initial_parameters(NETWORK, [0], torch.float64)
    rows = sweep.sweep(dataclasses.replace(study, networks=fresh), [0.03], growth=0).models
    assert len(rows) == 1 and np.isfinite(rows.heldout_error).all()


def pretending(monkeypatch, study, validation, heldout):
    """Let every rate's seeds have these errors: {number: error}, 9 for any other rate."""
    [real] = sweep._measure(study, [rates.index_of(0.03)], [40], progress.bar(0, "")).values()

    def measure(study, indices, horizons, bar):
        said = ("validation_error", validation), ("heldout_error", heldout)
        measured = {}
        for index in indices:
            measured[index] = dict(real)
            for name, errors in said:
                measured[index][name] = np.full(SEEDS, float(errors.get(index, 9.0)))
        return measured

    monkeypatch.setattr(sweep, "_measure", measure)


INTERIOR = {-4: 3.0, -3: 1.0, -2: 2.0}
DOWNWARDS = {-5: 0.5, -4: 1.0, -3: 2.0, -2: 3.0, -6: 0.7}


@pytest.mark.parametrize(
    "validation, heldout, tried, best, best_on_test",
    [
        (INTERIOR, DOWNWARDS, [-4, -3, -2], -3, -4),
        (DOWNWARDS, INTERIOR, [-6, -5, -4, -3, -2], -5, -3),
        (DOWNWARDS, DOWNWARDS, [-6, -5, -4, -3, -2], -5, -5),
    ],
)
def test_the_grid_grows_by_the_selection_part_alone(
    study, monkeypatch, validation, heldout, tried, best, best_on_test
):
    pretending(monkeypatch, study, validation, heldout)
    result = sweep.sweep(study, GRID, growth=4, horizons=[40])
    rows = result.models
    assert sorted(rows.learning_rate.unique()) == [rates.half_decade(i) for i in tried]
    assert set(rows[rows.selected].learning_rate) == {rates.half_decade(best)}
    assert set(rows[rows.selected_on_test].learning_rate) == {rates.half_decade(best_on_test)}
    assert set(result.horizons.learning_rate) == {rates.half_decade(best)}
    assert not rows.edge.any()


@pytest.mark.parametrize(
    "validation, heldout, edge", [(INTERIOR, DOWNWARDS, False), (DOWNWARDS, INTERIOR, True)]
)
def test_the_edge_is_that_of_the_selection(study, monkeypatch, validation, heldout, edge):
    pretending(monkeypatch, study, validation, heldout)
    rows = sweep.sweep(study, GRID, growth=0).models
    assert (rows.edge == edge).all()


@pytest.mark.parametrize("heldout, adapt, expected", [(1.03, 2.0, True), (2.0, 1.03, False)])
def test_unreliable_is_of_the_heldout_part(study, heldout, adapt, expected):
    other = dataclasses.replace(study)
    size = np.ones(SEEDS)
    vars(other)["baseline"] = study.baseline | {
        "frozen_heldout_error": heldout * size,
        "frozen_adapt_error": adapt * size,
        "reference_error": size,
    }
    rows = sweep.sweep(other, [0.03], growth=0).models
    assert (rows.unreliable == expected).all()


def test_a_model_that_diverged_while_it_adapted_has_no_measures_though_it_came_back(study):
    """Its held-out error would be a finite one."""
    rows = sweep.sweep(changed(study, slice(100, 101), 1e5), [1e-10], growth=0).models
    assert (rows.diverged_step == 100).all() and rows.diverged.all()
    gone = [
        "validation_error",
        "adapt_error",
        "heldout_error",
        "update_ratio",
        *study.loss.columns(),
    ]
    assert rows[gone].isna().all().all()
    assert np.isfinite(rows[["frozen_heldout_error", "reference_error"]]).all().all()
    calm = sweep.sweep(study, [1e-10], growth=0).models
    assert np.isfinite(calm[gone]).all().all()


def test_a_model_that_only_fails_on_the_heldout_part_has_diverged_there(study):
    result = sweep.sweep(changed(study, HELDOUT, 1e4), [0.03], growth=0, horizons=[40, 200])
    rows = result.models
    assert (rows.diverged_step == ADAPT).all() and rows.heldout_error.isna().all()
    assert np.isfinite(rows.validation_error).all()
    assert result.horizons.recovery_heldout_percent.isna().all()


def test_the_update_ratio_is_the_mean_over_all_updates(study, swept):
    moments = {
        "x": torch.as_tensor(study.episode.adapt.X),
        "y": torch.as_tensor(study.episode.adapt.Y),
    }
    rate = torch.full((SEEDS,), 0.03, dtype=torch.float64)
    series = study.loop.run(study.loop.start(study.networks), rate, moments).series["update_ratio"]
    rows = swept.models[swept.models.learning_rate == 0.03].sort_values("seed")
    np.testing.assert_allclose(rows.update_ratio, series.mean(1), rtol=1e-12)
    assert not np.allclose(rows.update_ratio, series[:, -1], rtol=1e-2)


def test_seeds_with_streams_of_their_own_are_as_they_are_alone(study):
    """Streams, starts and unscored steps belong to the seed, not to its place in a batch."""
    whole, rng = study.episode.whole, np.random.default_rng(5)
    X, Y = (np.stack([a, a[::-1]]) for a in (whole.X, whole.Y))
    scored, starts = rng.random((SEEDS, STEPS)) < 0.8, rng.random((SEEDS, STEPS)) < 0.05

    def swept_on(stream, networks):
        other = dataclasses.replace(
            study, episode=make_episode(stream), networks=networks, batch_models=2
        )
        return sweep.sweep(other, GRID, growth=0, horizons=[100])

    together = swept_on(Stream(X, Y, scored, starts), study.networks)
    assert together.models.reference_error.isna().all() and together.models.unreliable.all()
    names = ["learning_rate", *MEASURES, "frozen_heldout_error", "frozen_adapt_error"]
    for seed in range(SEEDS):
        own = Stream(*(np.ascontiguousarray(a[seed]) for a in (X, Y, scored, starts)))
        alone = swept_on(own, {n: p[seed : seed + 1] for n, p in study.networks.items()})
        rows = together.models[together.models.seed == seed]
        np.testing.assert_allclose(rows[names], alone.models[names], rtol=1e-9)
        place = rows.index
        np.testing.assert_allclose(
            together.traces["error"][place], alone.traces["error"], rtol=1e-9
        )
        np.testing.assert_allclose(
            together.traces["frozen_error"][seed], alone.traces["frozen_error"][0], rtol=1e-9
        )
    both = together.models.groupby("learning_rate").heldout_error
    assert (both.nunique() == SEEDS).all()
