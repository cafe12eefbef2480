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
    on,
    rolling,
    table,
)
from harness import taking

from orla import catalogue, progress
from orla.errors import OrlaError
from orla.study import rates, sweep
from orla.tasks.stream import Stream

CHOICES = {
    "selected": "validation_rolling_error",
    "selected_on_tail": "validation_error",
    "selected_on_adapt": "adapt_error",
    "selected_on_test": "heldout_error",
}
LAST = slice(ADAPT - ADAPT // 10, ADAPT)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_row_by_hand(study, swept, seed):
    rate, Y = 0.03, study.episode.whole.Y
    rows = swept.wide_tables["models"]
    row = rows[(rows.seed == seed) & (rows.learning_rate == rate)].iloc[0]
    outputs, frozen, selecting = (
        by_hand(study, seed, rate, stop) for stop in (ADAPT, 0, SELECTION)
    )
    reference = study.episode.reference
    before = by_hand(study, seed, rate, 0, reference)
    expected = {
        "heldout_error": mse(outputs, Y, HELDOUT),
        "adapt_error": mse(outputs, Y, slice(0, ADAPT)),
        "last_adapt_error": mse(outputs, Y, LAST),
        "validation_error": mse(selecting, Y, SELECTING),
        "validation_rolling_error": rolling(study, seed, rate),
        "frozen_heldout_error": mse(frozen, Y, HELDOUT),
        "frozen_adapt_error": mse(frozen, Y, slice(0, ADAPT)),
        "reference_error": mse(before, reference.Y, slice(study.episode.reference_from, None)),
        "constant_error": Y[HELDOUT].var(0).mean(),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    assert row.unreliable == (row.frozen_heldout_error - row.reference_error < 0.05)
    parts = {"heldout": HELDOUT, "adapt": slice(0, ADAPT), "validation": SELECTING}
    for part, where in parts.items():
        adapted = mse(selecting if part == "validation" else outputs, Y, where)
        unadapted = mse(frozen, Y, where)
        recovery = 100 * (unadapted - adapted) / (unadapted - row.reference_error)
        assert row[f"recovery_{part}_percent"] == pytest.approx(recovery, rel=1e-6)
    held = Y[HELDOUT]
    residual, total = ((outputs[HELDOUT] - held) ** 2).sum(0), ((held - held.mean(0)) ** 2).sum(0)
    each = 1 - residual / total
    scores = [*each, each.mean(), 1 - residual.sum() / total.sum()]
    assert [*row[["r2_x", "r2_y", "r2_mean", "r2_weighted"]]] == pytest.approx(scores, rel=1e-6)
    assert (row.loss, row.updates, row.diverged, row.diverged_step) == (
        *("squared_error", ADAPT, False),
        -1,
    )
    assert row.heldout_error < row.frozen_heldout_error


def test_every_model_has_a_row_and_every_row_its_condition(swept):
    rows = swept.wide_tables["models"]
    assert len(rows) == SEEDS * rows.learning_rate.nunique()
    assert not rows.duplicated(["seed", "learning_rate"]).any()
    keys = rows[["architecture", "learner", "optimizer", "precision", "split"]].drop_duplicates()
    assert keys.to_numpy().tolist() == [["rnn", "immediate", "sgd", "float64", "50-50"]]
    for choice, by in CHOICES.items():
        chosen = rows[rows[choice]]
        assert len(chosen) == SEEDS and chosen.learning_rate.nunique() == 1
        means = rows.groupby("learning_rate")[by].mean()
        assert chosen.learning_rate.iloc[0] == means.idxmin()


def test_selection_never_sees_the_heldout_part(study, swept):
    models = swept.wide_tables["models"]
    other = table("models", changed(study, HELDOUT), GRID, growth=1)
    blind = ["learning_rate", "edge", "edge_on_adapt", "update_ratio", "last_adapt_error"]
    blind += [name for choice in list(CHOICES.items())[:3] for name in choice]
    assert other[blind].equals(models[blind])
    assert (other.heldout_error != models.heldout_error).all()


def test_weights_of_the_selection_never_see_the_selection_part(study, swept):
    """A change of the scoring targets moves scores, and nothing that was learned before them."""
    models = swept.wide_tables["models"]
    other = sweep.sweep(changed(study, SELECTING), GRID, growth=1, stable_windows=1)
    both = other.wide_tables["models"].merge(models, on=["seed", "learning_rate"])
    for name in ("validation_error", "heldout_error", "last_adapt_error"):
        assert (both[f"{name}_x"] != both[f"{name}_y"]).all()
    windows = SELECTION // WINDOW
    theirs = other.wide_tables["models"]
    for rate in GRID:
        ours, moved = (
            s.traces["error"][m.index[m.learning_rate == rate]]
            for s, m in ((swept, models), (other, theirs))
        )
        assert np.array_equal(ours[:, :windows], moved[:, :windows])
        assert (ours[:, windows:] != moved[:, windows:]).all()


def test_noise_where_the_weights_are_learned_changes_the_choice(study, swept):
    """The negative control: what selection may see does change it."""
    noise = np.random.default_rng(0).normal(scale=3.0, size=(ADAPT, 2))
    other = table("models", changed(study, slice(0, ADAPT), noise), GRID, growth=1)
    chosen = [m[m.selected].learning_rate.iloc[0] for m in (swept.wide_tables["models"], other)]
    assert chosen[1] < chosen[0]


def test_a_grid_grows_towards_its_best_stops_at_its_limit_and_says_so(study, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY_S", 0)
    tiny = table("models", study, [1e-5, 3e-5], growth=2)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert "further" not in first and "a further rate 0.0003: " in last
    tried = sorted(tiny.learning_rate.unique())
    assert tried == [1e-5, 3e-5, 1e-4, 3e-4] and tiny.edge.all()
    assert tiny[tiny.selected].learning_rate.iloc[0] == tried[-1]


def test_divergence_is_recorded_and_loses(study):
    grid = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    result = sweep.sweep(study, grid, growth=0, horizons=[100], stable_windows=2)
    rows, horizon = result.wide_tables["models"], result.wide_tables["horizon"]
    lost, kept = rows[rows.diverged], rows[~rows.diverged]
    assert len(lost) >= SEEDS and (lost.learning_rate >= 1.0).any()
    assert ((lost.diverged_step >= 0) & (lost.diverged_step <= ADAPT)).all()
    gone = ["adapt_error", "heldout_error", "update_ratio", "last_adapt_error"]
    gone += ["recovery_heldout_percent", "recovery_adapt_percent", "recovery_stable_percent"]
    gone += ["heldout_stable_error", "r2_x", "r2_mean", "stable_r2_x", "stable_r2_weighted"]
    assert lost[gone].isna().all(axis=None)
    assert np.isfinite(rows.loc[rows.selected, gone]).all(axis=None)
    assert not rows[rows.selected].diverged.any() and (kept.diverged_step == -1).all()
    assert np.isfinite(kept[MEASURES]).all(axis=None)
    assert (horizon.learning_rate < 3.0).all()
    assert np.isfinite(horizon.validation_rolling_error).all()
    alone = table("models", study, [0.1])
    ours = rows[rows.learning_rate == 0.1]
    np.testing.assert_allclose(ours[MEASURES], alone[MEASURES], rtol=1e-9)


def test_smallest_rate_is_selected_where_every_model_diverged(study):
    result = sweep.sweep(study, [1000.0], growth=1, horizons=[100], stable_windows=1)
    rows, horizon = result.wide_tables["models"], result.wide_tables["horizon"]
    assert rows.diverged.all() and sorted(rows.learning_rate.unique()) == [300.0, 1000.0]
    assert (rows[rows.selected].learning_rate == 300.0).all() and rows.edge.all()
    assert (horizon.learning_rate == 300.0).all() and horizon.edge.all()
    assert horizon[["recovery_heldout_percent", "validation_rolling_error"]].isna().all(axis=None)


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
    other = dataclasses.replace(on(study, Stream(whole.X, Y)), networks=zeros)
    rows = table("models", other, [1e-10])
    assert (rows["validation_error"] == 1e6).all() and not rows.diverged.any()
    assert rows["validation_rolling_error"].notna().all()


def test_rows_do_not_depend_on_the_size_of_batches(study, swept):
    rows = table(
        "models", dataclasses.replace(study, batch_models=3), GRID, growth=1, stable_windows=3
    )
    theirs, names = swept.wide_tables["models"], rows.select_dtypes("number").columns
    np.testing.assert_allclose(rows[names], theirs[names], rtol=1e-9)
    assert rows[["selected", "diverged"]].equals(theirs[["selected", "diverged"]])


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


def test_a_window_that_is_no_multiple_of_the_learners_stride_is_refused(study):
    with pytest.raises(OrlaError, match="make the task's window a multiple"):
        sweep.sweep(learning(study, "immediate-200"), [0.01], growth=0)


def test_single_precision_is_close_to_double_on_the_other_split(study, sessions):
    single = {n: p.float() for n, p in study.networks.items()}
    episode = make_episode(sessions[1], adapt=240, selection_cut=220, reference=sessions[0])
    double = dataclasses.replace(study, episode=episode)
    rows = table("models", dataclasses.replace(double, networks=single), [0.03])
    assert (rows.updates == 240).all()
    twice = table("models", double, [0.03])
    np.testing.assert_allclose(rows.heldout_error, twice.heldout_error, rtol=1e-3)
    assert (rows.heldout_error != twice.heldout_error).all()


INTERIOR = {-4: 3.0, -3: 1.0, -2: 2.0}
DOWNWARDS = {-5: 0.5, -4: 1.0, -3: 2.0, -2: 3.0, -6: 0.7}


@pytest.mark.parametrize(
    "chosen_by, tried", [(INTERIOR, [-4, -3, -2]), (DOWNWARDS, [-6, -5, -4, -3, -2])]
)
@pytest.mark.parametrize("others", [INTERIOR, DOWNWARDS])
def test_the_grid_grows_by_the_choice_alone(study, swept, monkeypatch, chosen_by, others, tried):
    """Every rate's seeds have given errors: {number: error}, 9 for any other rate."""
    errors = {by: others for by in CHOICES.values()} | {"validation_rolling_error": chosen_by}
    real, known = sweep._adapt_and_measure, []

    def measure(study, indices, *asked):
        known.extend([] if known else real(study, [rates.half_decade_index(0.03)], *asked).values())
        said = {n: {i: np.full(SEEDS, e.get(i, 9.0)) for i in indices} for n, e in errors.items()}
        return {i: known[0] | {name: by_rate[i] for name, by_rate in said.items()} for i in indices}

    monkeypatch.setattr(sweep, "_adapt_and_measure", measure)
    rows = table("models", study, GRID, growth=4)
    assert sorted(rows.learning_rate.unique()) == [rates.half_decade(i) for i in tried]
    for mark, by in CHOICES.items():
        [best] = rows[rows[mark]].learning_rate.unique()
        lowest = min(tried, key=lambda index: errors[by].get(index, 9.0))
        assert best == rates.half_decade(lowest), mark
    assert not rows.edge.any()
    rows = table("models", study, GRID)
    assert (rows.edge == (chosen_by is not INTERIOR)).all()
    assert (rows.edge_on_adapt == (others is not INTERIOR)).all()


@pytest.mark.parametrize("heldout, adapt, expected", [(1.03, 2.0, True), (2.0, 1.03, False)])
def test_unreliable_is_of_the_heldout_part(study, heldout, adapt, expected):
    errors = {"frozen_heldout": heldout, "frozen_adapt": adapt, "reference": 1.0}
    given = {f"{name}_error": np.full(SEEDS, error) for name, error in errors.items()}
    other = dataclasses.replace(study, shared_baseline=study.baseline | given)
    assert (table("models", other, [0.03]).unreliable == expected).all()


@pytest.mark.parametrize("step", [0, 100])
def test_a_model_that_diverged_while_it_adapted_has_no_measures_though_it_came_back(study, step):
    """Its held-out error would be a finite one."""
    rows = table("models", changed(study, slice(step, step + 1), 1e5), [1e-10])
    assert (rows.diverged_step == step).all() and rows.diverged.all()
    gone = [*MEASURES, "heldout_stable_error", "last_adapt_error", *study.loss.columns()]
    assert rows[gone].isna().all(axis=None)
    assert np.isfinite(rows[["frozen_heldout_error", "reference_error"]]).all(axis=None)


def test_a_model_that_only_fails_on_the_heldout_part_has_diverged_there(study):
    result = sweep.sweep(changed(study, HELDOUT, 1e4), [0.03], 0, horizons=[40, 200])
    rows = result.wide_tables["models"]
    assert (rows.diverged_step == ADAPT).all() and rows.heldout_error.isna().all()
    assert np.isfinite(rows.validation_error).all()
    assert result.wide_tables["horizon"].recovery_heldout_percent.isna().all()


def test_the_update_ratio_is_the_mean_over_all_updates(study, swept):
    models, adapt = swept.wide_tables["models"], study.episode.adapt
    stream = {"x": torch.as_tensor(adapt.X), "y": torch.as_tensor(adapt.Y)}
    rate = torch.full((SEEDS,), 0.03, dtype=torch.float64)
    series = study.loop.run(study.loop.start(study.networks), rate, stream).series["update_ratio"]
    rows = models[models.learning_rate == 0.03].sort_values("seed")
    np.testing.assert_allclose(rows.update_ratio, series.mean(1), rtol=1e-12)
    assert not np.allclose(rows.update_ratio, series[:, -1], rtol=1e-2)


def test_an_unscored_step_counts_in_no_mean_and_a_window_without_others_has_none(study):
    whole, scored = study.episode.whole, np.random.default_rng(5).random(STEPS) < 0.8
    scored[2 * WINDOW : 3 * WINDOW] = False
    stream = Stream(whole.X, whole.Y, scored)
    result = sweep.sweep(on(study, stream), [0.03], growth=0, stable_windows=1)
    windows = [slice(start, start + WINDOW) for start in range(0, ADAPT, WINDOW)]
    for row in result.wide_tables["models"].itertuples():
        for stop, name, mean in (
            (ADAPT, "error", row.adapt_error),
            (0, "frozen_error", row.frozen_adapt_error),
        ):
            outputs = by_hand(study, row.seed, 0.03, stop, stream)
            errors = ((outputs - whole.Y) ** 2).mean(1)
            assert mean == pytest.approx(errors[:ADAPT][scored[:ADAPT]].mean(), rel=1e-9)
            if stop:
                last = errors[LAST][scored[LAST]].mean()
                assert row.last_adapt_error == pytest.approx(last, rel=1e-9)
            expected = [errors[w][scored[w]].mean() if scored[w].any() else np.nan for w in windows]
            np.testing.assert_allclose(result.traces[name][row.Index], expected, rtol=1e-9)
    scored[LAST] = False
    assert table("models", on(study, stream), [0.03]).last_adapt_error.isna().all()


def test_categories_have_the_cross_entropy_in_nats(study):
    whole = study.episode.whole
    stream = Stream(whole.X, whole.Y.argmax(1))
    loop = dataclasses.replace(study.loop, loss=catalogue.make("loss", "cross_entropy"))
    other = dataclasses.replace(on(study, stream, loss="cross_entropy"), loop=loop)
    for row in table("models", other, [1e-10]).itertuples():
        odds = np.exp(by_hand(study, row.seed, 0.0, 0, stream)[HELDOUT])
        shares = odds[np.arange(len(odds)), stream.Y[HELDOUT]] / odds.sum(1)
        assert row.loss == "cross_entropy"
        assert row.frozen_heldout_error == pytest.approx(-np.log(shares).mean(), rel=1e-9)
        assert row.bits_per_symbol == pytest.approx(-np.log2(shares).mean(), rel=1e-4)


def test_streams_per_seed_with_unscored_steps_and_trials_match_scores_by_hand(study):
    """They belong to the seed, not to its place in a batch."""
    whole, rng = study.episode.whole, np.random.default_rng(5)
    X, Y = (np.stack([a, a[::-1]]) for a in (whole.X, whole.Y))
    scored, starts = rng.random((SEEDS, STEPS)) < 0.8, rng.random((SEEDS, STEPS)) < 0.05
    other = dataclasses.replace(on(study, Stream(X, Y, scored, starts)), batch_models=3)
    result = sweep.sweep(other, [0.01, 0.03], growth=0, stable_windows=3)
    rows = result.wide_tables["models"]
    assert rows.reference_error.isna().all() and rows.unreliable.all()
    for row in rows.itertuples():
        own = Stream(*(np.ascontiguousarray(a[row.seed]) for a in (X, Y, scored, starts)))

        def mean(stops, part, own=own, row=row):
            counted = own.scored[part]
            runs = [by_hand(study, row.seed, row.learning_rate, stop, own) for stop in stops]
            return np.mean([mse(run[part][counted], own.Y[part][counted], ...) for run in runs])

        parts = {k * WINDOW: slice(k * WINDOW, min(k + 3, 10) * WINDOW) for k in range(6, 10)}
        expected = {
            "heldout_error": mean([ADAPT], HELDOUT),
            "frozen_heldout_error": mean([0], HELDOUT),
            "heldout_stable_error": mean([160, 180, 200], HELDOUT),
            "validation_rolling_error": np.mean([mean([at], part) for at, part in parts.items()]),
            "constant_error": own.Y[HELDOUT][own.scored[HELDOUT]].var(0).mean(),
        }
        measured = {name: getattr(row, name) for name in expected}
        assert measured == pytest.approx(expected, rel=1e-9)
        for stop, trace in ((ADAPT, result.traces["error"][row.Index]),) + (
            (0, result.traces["frozen_error"][row.seed]),
        ):
            assert trace[3] == pytest.approx(mean([stop], slice(60, 80)), rel=1e-9)


def test_a_condition_takes_the_first_of_more_streams_than_it_has_seeds(study):
    whole = study.episode.whole
    X, Y = (np.stack([a, a[::-1], 2.0 * a]) for a in (whole.X, whole.Y))
    more, as_many = on(study, Stream(X, Y)), on(study, Stream(X[:SEEDS], Y[:SEEDS]))
    rows, expected = (table("models", s, [0.03]) for s in (more, as_many))
    assert rows.equals(expected)
