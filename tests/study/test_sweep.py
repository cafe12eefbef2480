"""Conditions on a small synthetic drift: who sees what, how a grid grows, what a row says."""

import dataclasses

import numpy as np
import pytest
import torch
from drifting import (
    ADAPT,
    GRID,
    HELDOUT,
    MEASURES,
    NETWORK,
    SEEDS,
    SELECTING,
    SELECTION,
    STEPS,
    WINDOW,
    by_hand,
    changed,
    learning,
    make_episode,
    mse,
    rolling,
    table,
)
from harness import taking

from orla import catalogue
from orla.errors import OrlaError
from orla.study import rates, sweep
from orla.study.batches import initial_parameters
from orla.tasks.stream import Stream

CHOICES = {
    "selected": "validation_rolling_error",
    "selected_on_tail": "validation_error",
    "selected_on_adapt": "adapt_error",
    "selected_on_test": "heldout_error",
}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_row_by_hand(study, swept, seed):
    rate, Y = 0.03, study.episode.whole.Y
    rows = swept.frames["models"]
    row = rows[(rows.seed == seed) & (rows.learning_rate == rate)].iloc[0]
    outputs = by_hand(study, seed, rate, ADAPT)
    frozen = by_hand(study, seed, rate, 0)
    selecting = by_hand(study, seed, rate, SELECTION)
    validation = SELECTING
    assert row.heldout_error == pytest.approx(mse(outputs, Y, HELDOUT), rel=1e-9)
    assert row.adapt_error == pytest.approx(mse(outputs, Y, slice(0, ADAPT)), rel=1e-9)
    assert row.validation_error == pytest.approx(mse(selecting, Y, validation), rel=1e-9)
    expected = rolling(study, seed, rate)
    assert row.validation_rolling_error == pytest.approx(expected, rel=1e-9)
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
    models = swept.frames["models"]
    a = study.episode.reference
    for seed in range(SEEDS):
        p = {n: v[seed].numpy() for n, v in study.networks.items()}
        h, error = np.zeros(6), []
        for t in range(len(a)):
            h = np.tanh(p["W_ih"] @ a.X[t] + p["W_hh"] @ h + p["b_h"])
            error.append((p["W_out"] @ h + p["b_out"] - a.Y[t]) ** 2)
        reference = np.mean(error[study.episode.reference_from :])
        rows = models[models.seed == seed]
        assert rows.reference_error.to_numpy() == pytest.approx(reference, rel=1e-9)
        unreliable = rows.frozen_heldout_error - rows.reference_error < 0.05
        assert (rows.unreliable == unreliable).all()


def test_every_model_has_a_row_and_every_row_its_condition(swept):
    rows = swept.frames["models"]
    assert len(rows) == SEEDS * rows.learning_rate.nunique()
    assert not rows.duplicated(["seed", "learning_rate"]).any()
    keys = rows[["architecture", "learner", "optimizer", "precision", "split"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["rnn", "immediate", "sgd", "float64", "50-50"]]
    for choice, by in CHOICES.items():
        chosen = rows[rows[choice]]
        assert len(chosen) == SEEDS and chosen.learning_rate.nunique() == 1
        means = rows.groupby("learning_rate")[by].mean()
        assert chosen.learning_rate.iloc[0] == means.idxmin()


def test_traces_are_means_over_windows(study, swept):
    models = swept.frames["models"]
    windows = ADAPT // WINDOW
    assert swept.traces["error"].shape == (len(models), windows)
    assert swept.traces["frozen_error"].shape == (SEEDS, windows)
    np.testing.assert_allclose(swept.traces["error"].mean(1), models.adapt_error, rtol=1e-12)
    frozen = models.drop_duplicates("seed").sort_values("seed").frozen_adapt_error
    np.testing.assert_allclose(swept.traces["frozen_error"].mean(1), frozen, rtol=1e-9)
    Y, place = (
        study.episode.whole.Y,
        models.index[models.learning_rate == 0.03][1],
    )
    outputs = by_hand(study, 1, 0.03, windows * WINDOW)
    third = mse(outputs, Y, slice(2 * WINDOW, 3 * WINDOW))
    assert swept.traces["error"][place, 2] == pytest.approx(third, rel=1e-9)


def test_selection_never_sees_the_heldout_part(study, swept):
    models = swept.frames["models"]
    heldout = HELDOUT
    other = table("models", changed(study, heldout), GRID, growth=1)
    blind = ["learning_rate", "edge", "edge_on_adapt", "update_ratio"]
    blind += [name for choice in list(CHOICES.items())[:3] for name in choice]
    assert other[blind].equals(models[blind])
    assert (other.heldout_error != models.heldout_error).all()


def test_weights_of_the_selection_never_see_the_selection_part(study, swept):
    """A change of the scoring targets moves scores, and nothing that was learned before them."""
    models = swept.frames["models"]
    other = sweep.sweep(changed(study, SELECTING), GRID, growth=1)
    both = other.frames["models"].merge(models, on=["seed", "learning_rate"])
    assert (both.validation_error_x != both.validation_error_y).all()
    assert (both.heldout_error_x != both.heldout_error_y).all()
    windows = SELECTION // WINDOW
    kept = {rate: i for i, rate in enumerate(sorted(other.frames["models"].learning_rate.unique()))}
    for rate in GRID:
        here = slice(kept[rate] * SEEDS, (kept[rate] + 1) * SEEDS)
        place = models.index[models.learning_rate == rate]
        ours, theirs = swept.traces["error"][place], other.traces["error"][here]
        assert np.array_equal(ours[:, :windows], theirs[:, :windows])
        assert (ours[:, windows:] != theirs[:, windows:]).all()


def test_noise_where_the_weights_are_learned_changes_the_choice(study, swept):
    """The negative control: what selection may see does change it."""
    noise = np.random.default_rng(0).normal(scale=3.0, size=(ADAPT, 2))
    other = table("models", changed(study, slice(0, ADAPT), noise), GRID, growth=1)
    chosen = [m[m.selected].learning_rate.iloc[0] for m in (swept.frames["models"], other)]
    assert chosen[1] < chosen[0]


@pytest.mark.parametrize("growth", [0, 2])
def test_a_grid_grows_towards_its_best_and_stops_at_its_limit(study, growth):
    tiny = table("models", study, [1e-5, 3e-5], growth=growth)
    tried = sorted(tiny.learning_rate.unique())
    assert tried == [1e-5, 3e-5, 1e-4, 3e-4][: 2 + growth]
    assert tiny.edge.all()
    assert tiny[tiny.selected].learning_rate.iloc[0] == tried[-1]


def test_an_interior_best_is_no_edge(study):
    rows = table("models", study, [0.001, 0.003], growth=8)
    tried = sorted(rows.learning_rate.unique())
    best = rows[rows.selected].learning_rate.iloc[0]
    assert tried[0] < best < tried[-1] and len(tried) > 2
    assert not rows.edge.any()
    assert rates.index_of(tried[-1]) == rates.index_of(best) + 1


def test_divergence_is_recorded_and_loses(study):
    rows = table("models", study, [0.1, 0.3, 1.0, 3.0, 10.0])
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
    alone = table("models", study, [0.1])
    for column in MEASURES:
        ours = rows[rows.learning_rate == 0.1][column].to_numpy()
        np.testing.assert_allclose(ours, alone[column], rtol=1e-9)


def test_everything_may_diverge(study):
    rows = table("models", study, [1000.0], growth=1)
    assert rows.diverged.all() and sorted(rows.learning_rate.unique()) == [300.0, 1000.0]
    assert (rows[rows.selected].learning_rate == 300.0).all() and rows.edge.all()


@pytest.mark.parametrize(
    "part, kept",
    [
        (slice(SELECTION - 1, SELECTION), False),
        (slice(SELECTION, SELECTION + 1), True),
        (SELECTING, False),
    ],
)
def test_selection_scores_are_lost_by_a_divergence_before_the_part_or_on_its_mean(
    study, part, kept
):
    """Targets 2000 off make errors of 4e6, and one such step of forty a mean of 1e5."""
    rows = table("models", changed(study, part, 2e3), [1e-10])
    assert (rows.diverged_step == part.start).all()
    assert (np.isfinite(rows["validation_error"]) == kept).all()
    assert rows["validation_rolling_error"].isna().all()


def test_a_mean_error_at_the_limit_itself_is_no_divergence(study):
    """Networks of zeros learn nothing from targets of zero; 1000 squared is the limit."""
    whole = study.episode.whole
    Y = np.zeros_like(whole.Y)
    Y[SELECTING] = 1000.0
    zeros = {name: torch.zeros_like(p) for name, p in study.networks.items()}
    other = dataclasses.replace(study, networks=zeros, episode=make_episode(Stream(whole.X, Y)))
    rows = table("models", other, [1e-10])
    assert (rows["validation_error"] == 1e6).all() and not rows.diverged.any()
    assert rows["validation_rolling_error"].notna().all()


@pytest.mark.parametrize("size", [1, 3])
def test_rows_do_not_depend_on_the_size_of_batches(study, swept, size):
    rows = table("models", dataclasses.replace(study, batch_models=size), GRID, growth=1)
    names = rows.select_dtypes("number").columns
    np.testing.assert_allclose(rows[names], swept.frames["models"][names], rtol=1e-9)
    assert rows[["selected", "diverged"]].equals(swept.frames["models"][["selected", "diverged"]])


# A learner of each kind of loop; the others with `-m full`.
LEARNED = ["rtrl", "last-layer", "immediate-20", "tbptt-20-20"]
FURTHER = [n for n in taking("rnn") if not n.endswith(("-8", "-4")) and n not in LEARNED]


@pytest.mark.parametrize(
    "name", [*LEARNED, *(pytest.param(name, marks=pytest.mark.full) for name in FURTHER)]
)
def test_every_learner_goes_through(study, name):
    other = learning(study, name)
    rows = table("models", other, [0.01])
    assert (rows.updates == ADAPT // other.loop.learner.stride).all() and not rows.diverged.any()
    assert (rows.learner == name).all()
    assert rows.update_ratio.isna().all() == (name == "last-layer")
    assert (rows.heldout_error < rows.frozen_heldout_error).all()


def test_the_other_split_and_single_precision(study, sessions):
    single = {n: p.float() for n, p in study.networks.items()}
    episode = make_episode(sessions[1], adapt=320, selection_cut=260, reference=sessions[0])
    double = dataclasses.replace(study, episode=episode)
    rows = table("models", dataclasses.replace(double, networks=single), [0.03])
    assert (rows.updates == 320).all()
    twice = table("models", double, [0.03])
    np.testing.assert_allclose(rows.heldout_error, twice.heldout_error, rtol=1e-3)
    assert (rows.heldout_error != twice.heldout_error).all()


def test_a_learner_that_does_not_fit_the_window_is_refused(study):
    with pytest.raises(OrlaError, match="make the task's window a multiple"):
        sweep.sweep(learning(study, "immediate-200"), [0.01], growth=0)


def test_fresh_networks_need_no_pretraining(study):
    fresh = initial_parameters(NETWORK, [0], torch.float64)
    rows = table("models", dataclasses.replace(study, networks=fresh), [0.03])
    assert len(rows) == 1 and np.isfinite(rows.heldout_error).all()


def pretending(monkeypatch, study, **said):
    """Let every rate's seeds have these errors: {number: error}, 9 for any other rate."""
    real, number, known = sweep._measure, rates.index_of(0.03), []

    def measure(study, indices, asked, points, bar):
        if not known:
            known.extend(real(study, [number], asked, points, bar).values())
        measured = {}
        for index in indices:
            measured[index] = dict(known[0])
            for name, errors in said.items():
                measured[index][name] = np.full(SEEDS, float(errors.get(index, 9.0)))
        return measured

    monkeypatch.setattr(sweep, "_measure", measure)


INTERIOR = {-4: 3.0, -3: 1.0, -2: 2.0}
DOWNWARDS = {-5: 0.5, -4: 1.0, -3: 2.0, -2: 3.0, -6: 0.7}


@pytest.mark.parametrize(
    "chosen_by, tried", [(INTERIOR, [-4, -3, -2]), (DOWNWARDS, [-6, -5, -4, -3, -2])]
)
@pytest.mark.parametrize("others", [INTERIOR, DOWNWARDS])
def test_the_grid_grows_by_the_choice_alone(study, monkeypatch, chosen_by, others, tried):
    errors = {by: others for by in CHOICES.values()} | {"validation_rolling_error": chosen_by}
    pretending(monkeypatch, study, **errors)
    rows = table("models", study, GRID, growth=4, horizons=[40])
    assert sorted(rows.learning_rate.unique()) == [rates.half_decade(i) for i in tried]
    for mark, by in CHOICES.items():
        [best] = rows[rows[mark]].learning_rate.unique()
        lowest = min(tried, key=lambda index: errors[by].get(index, 9.0))
        assert best == rates.half_decade(lowest), mark
    assert not rows.edge.any()


@pytest.mark.parametrize("adapt", [INTERIOR, DOWNWARDS])
@pytest.mark.parametrize("chosen_by", [INTERIOR, DOWNWARDS])
def test_each_choice_has_an_edge_of_its_own(study, monkeypatch, chosen_by, adapt):
    pretending(monkeypatch, study, validation_rolling_error=chosen_by, adapt_error=adapt)
    rows = table("models", study, GRID)
    assert (rows.edge == (chosen_by is not INTERIOR)).all()
    assert (rows.edge_on_adapt == (adapt is not INTERIOR)).all()


@pytest.mark.parametrize("heldout, adapt, expected", [(1.03, 2.0, True), (2.0, 1.03, False)])
def test_unreliable_is_of_the_heldout_part(study, heldout, adapt, expected):
    other = dataclasses.replace(study)
    size = np.ones(SEEDS)
    vars(other)["baseline"] = study.baseline | {
        "frozen_heldout_error": heldout * size,
        "frozen_adapt_error": adapt * size,
        "reference_error": size,
    }
    rows = table("models", other, [0.03])
    assert (rows.unreliable == expected).all()


@pytest.mark.parametrize("step", [0, 100])
def test_a_model_that_diverged_while_it_adapted_has_no_measures_though_it_came_back(
    study, swept, step
):
    """Its held-out error would be a finite one."""
    models = swept.frames["models"]
    rows = table("models", changed(study, slice(step, step + 1), 1e5), [1e-10])
    assert (rows.diverged_step == step).all() and rows.diverged.all()
    gone = [
        "validation_error",
        "validation_rolling_error",
        "adapt_error",
        "heldout_error",
        "heldout_stable_error",
        "update_ratio",
        *study.loss.columns(),
    ]
    assert rows[gone].isna().all().all()
    assert np.isfinite(rows[["frozen_heldout_error", "reference_error"]]).all().all()
    calm = models[models.selected]
    assert np.isfinite(calm[gone]).all().all()


def test_a_model_that_only_fails_on_the_heldout_part_has_diverged_there(study):
    result = sweep.sweep(changed(study, HELDOUT, 1e4), [0.03], growth=0, horizons=[40, 200])
    rows = result.frames["models"]
    assert (rows.diverged_step == ADAPT).all() and rows.heldout_error.isna().all()
    assert np.isfinite(rows.validation_error).all()
    assert result.frames["horizon"].recovery_heldout_percent.isna().all()


def test_the_update_ratio_is_the_mean_over_all_updates(study, swept):
    models = swept.frames["models"]
    moments = {
        "x": torch.as_tensor(study.episode.adapt.X),
        "y": torch.as_tensor(study.episode.adapt.Y),
    }
    rate = torch.full((SEEDS,), 0.03, dtype=torch.float64)
    series = study.loop.run(study.loop.start(study.networks), rate, moments).series["update_ratio"]
    rows = models[models.learning_rate == 0.03].sort_values("seed")
    np.testing.assert_allclose(rows.update_ratio, series.mean(1), rtol=1e-12)
    assert not np.allclose(rows.update_ratio, series[:, -1], rtol=1e-2)


def test_an_unscored_step_counts_in_no_mean_and_a_window_without_others_has_none(study):
    whole, scored = study.episode.whole, np.random.default_rng(5).random(STEPS) < 0.8
    scored[2 * WINDOW : 3 * WINDOW] = False
    stream = Stream(whole.X, whole.Y, scored)
    other = dataclasses.replace(study, episode=make_episode(stream))
    result = sweep.sweep(other, [0.03], growth=0)
    windows = [slice(start, start + WINDOW) for start in range(0, ADAPT, WINDOW)]
    for row in result.frames["models"].itertuples():
        for stop, name, mean in (
            (ADAPT, "error", row.adapt_error),
            (0, "frozen_error", row.frozen_adapt_error),
        ):
            outputs = by_hand(study, row.seed, 0.03, stop, stream)
            errors = ((outputs - whole.Y) ** 2).mean(1)
            assert mean == pytest.approx(errors[:ADAPT][scored[:ADAPT]].mean(), rel=1e-9)
            expected = [
                errors[window][scored[window]].mean() if scored[window].any() else np.nan
                for window in windows
            ]
            np.testing.assert_allclose(result.traces[name][row.Index], expected, rtol=1e-9)


def test_categories_have_the_cross_entropy_in_nats(study):
    whole = study.episode.whole
    stream = Stream(whole.X, whole.Y.argmax(1))
    other = dataclasses.replace(
        study,
        episode=make_episode(stream, loss="cross_entropy"),
        loop=dataclasses.replace(study.loop, loss=catalogue.make("loss", "cross_entropy")),
    )
    for row in table("models", other, [1e-10]).itertuples():
        odds = np.exp(by_hand(study, row.seed, 0.0, 0, stream)[HELDOUT])
        shares = odds[np.arange(len(odds)), stream.Y[HELDOUT]] / odds.sum(1)
        assert row.loss == "cross_entropy"
        assert row.frozen_heldout_error == pytest.approx(-np.log(shares).mean(), rel=1e-9)
        assert row.bits_per_symbol == pytest.approx(-np.log2(shares).mean(), rel=1e-4)


def test_seeds_with_streams_of_their_own_are_as_they_are_alone(study):
    """Streams, starts and unscored steps belong to the seed, not to its place in a batch."""
    whole, rng = study.episode.whole, np.random.default_rng(5)
    X, Y = (np.stack([a, a[::-1]]) for a in (whole.X, whole.Y))
    scored, starts = rng.random((SEEDS, STEPS)) < 0.8, rng.random((SEEDS, STEPS)) < 0.05

    def swept_on(stream, networks):
        other = dataclasses.replace(
            study, episode=make_episode(stream), networks=networks, batch_models=2
        )
        return sweep.sweep(other, [0.03], growth=0, horizons=[100])

    together = swept_on(Stream(X, Y, scored, starts), study.networks)
    assert (
        together.frames["models"].reference_error.isna().all()
        and together.frames["models"].unreliable.all()
    )
    names = ["learning_rate", *MEASURES, "frozen_heldout_error", "frozen_adapt_error"]
    for seed in range(SEEDS):
        own = Stream(*(np.ascontiguousarray(a[seed]) for a in (X, Y, scored, starts)))
        alone = swept_on(own, {n: p[seed : seed + 1] for n, p in study.networks.items()})
        rows = together.frames["models"][together.frames["models"].seed == seed]
        np.testing.assert_allclose(rows[names], alone.frames["models"][names], rtol=1e-9)
        place = rows.index
        np.testing.assert_allclose(
            together.traces["error"][place], alone.traces["error"], rtol=1e-9
        )
        np.testing.assert_allclose(
            together.traces["frozen_error"][seed], alone.traces["frozen_error"][0], rtol=1e-9
        )
    both = together.frames["models"].groupby("learning_rate").heldout_error
    assert (both.nunique() == SEEDS).all()
