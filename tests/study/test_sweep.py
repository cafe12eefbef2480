"""Conditions on a small synthetic drift: who sees what, how a grid grows, what a row says."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from orla.architectures import RNN
from orla.engine.forward import r_squared
from orla.errors import OrlaError
from orla.sessions.parts import parts
from orla.sessions.streams import Stream, Streams
from orla.study import rates, sweep
from orla.study.batches import initial_parameters
from orla.study.pretraining import Pretraining, pretrain

CUT, STEPS, SEEDS = 20, 400, 2
NETWORK = RNN(hidden=6, n_in=3, n_out=2)
PARTS = parts(
    600, STEPS, cut=CUT, tail_steps=200, tail_stream_steps=100, splits={"50-50": 0.5, "80-20": 0.8}
)
GRID = [0.01, 0.03, 0.1]
MEASURES = ["validation_mse", "adapt_mse", "heldout_mse", "update_ratio", "r2_weighted"]


def session(rng, steps, readout):
    X = rng.normal(size=(steps, 3))
    memory = X + 0.6 * np.vstack([np.zeros(3), X[:-1]])
    return Stream(X, memory @ readout + 0.1 * rng.normal(size=(steps, 2)))


@pytest.fixture(scope="module")
def streams():
    rng = np.random.default_rng(2)
    readout = 0.5 * rng.normal(size=(3, 2))
    turned = readout[:, ::-1] * [1.0, -1.0]
    return Streams(session(rng, 600, readout), session(rng, STEPS, turned), 0.05, {})


@pytest.fixture(scope="module")
def study(streams):
    settings = Pretraining(learning_rate=0.02, window=10, max_epochs=10)
    part = streams.a.part(PARTS.a_pretraining)
    networks, _ = pretrain(NETWORK, part, range(SEEDS), settings)
    return sweep.Study(NETWORK, networks, streams, PARTS, "50-50", "immediate", "sgd", cut=CUT)


@pytest.fixture(scope="module")
def swept(study):
    return sweep.sweep(study, GRID, growth=1)


def changed(study, part, size=3.0):
    """The study with session B's targets moved in one part."""
    Y = study.streams.b.Y.copy()
    Y[part] += size
    b = Stream(study.streams.b.X, Y)
    return dataclasses.replace(study, streams=dataclasses.replace(study.streams, b=b))


def by_hand(study, seed, rate, stop):
    """Plain SGD with a detached state on B's first `stop` steps, weights frozen after: outputs."""
    X, Y = (torch.as_tensor(a) for a in (study.streams.b.X, study.streams.b.Y))
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
    rate, Y, split = 0.03, study.streams.b.Y, PARTS.splits["50-50"]
    rows = swept.models
    row = rows[(rows.seed == seed) & (rows.learning_rate == rate)].iloc[0]
    outputs = by_hand(study, seed, rate, split.adapt.stop)
    frozen = by_hand(study, seed, rate, 0)
    selecting = by_hand(study, seed, rate, split.selection_cut)
    validation = slice(split.selection_cut, split.adapt.stop)
    assert row.heldout_mse == pytest.approx(mse(outputs, Y, split.heldout), rel=1e-9)
    assert row.adapt_mse == pytest.approx(mse(outputs, Y, split.adapt), rel=1e-9)
    assert row.validation_mse == pytest.approx(mse(selecting, Y, validation), rel=1e-9)
    assert row.frozen_heldout_mse == pytest.approx(mse(frozen, Y, split.heldout), rel=1e-9)
    assert row.frozen_adapt_mse == pytest.approx(mse(frozen, Y, split.adapt), rel=1e-9)
    for part, own in (("heldout", outputs), ("adapt", outputs), ("validation", selecting)):
        where = validation if part == "validation" else getattr(split, part)
        before, after = mse(frozen, Y, where), mse(own, Y, where)
        recovery = 100 * (before - after) / (before - row.reference_mse)
        assert row[f"recovery_{part}_percent"] == pytest.approx(recovery, rel=1e-6)
    r2 = r_squared(torch.as_tensor(outputs[split.heldout])[None], torch.as_tensor(Y[split.heldout]))
    for name, value in r2.items():
        assert row[name] == pytest.approx(value[0], rel=1e-6)
    assert row.updates == split.adapt.stop
    assert not row.diverged and row.diverged_step == -1
    assert row.heldout_mse < row.frozen_heldout_mse


def test_the_reference_is_the_heldout_part_of_a_by_the_pretrained_network(study, swept):
    a = study.streams.a
    for seed in range(SEEDS):
        p = {n: v[seed].numpy() for n, v in study.networks.items()}
        h, error = np.zeros(6), []
        for t in range(PARTS.a_tail_stream.start, len(a)):
            h = np.tanh(p["W_ih"] @ a.X[t] + p["W_hh"] @ h + p["b_h"])
            error.append((p["W_out"] @ h + p["b_out"] - a.Y[t]) ** 2)
        reference = np.mean(error[PARTS.a_heldout.start - PARTS.a_tail_stream.start :])
        rows = swept.models[swept.models.seed == seed]
        assert rows.reference_mse.to_numpy() == pytest.approx(reference, rel=1e-9)
        unreliable = rows.frozen_heldout_mse - rows.reference_mse < 0.05
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
    means = rows.groupby("learning_rate").validation_mse.mean()
    assert rows[rows.selected].learning_rate.iloc[0] == means.idxmin()
    means = rows.groupby("learning_rate").heldout_mse.mean()
    assert rows[rows.selected_on_test].learning_rate.iloc[0] == means.idxmin()


def test_traces_are_means_over_windows(study, swept):
    windows = PARTS.splits["50-50"].adapt.stop // CUT
    assert swept.traces["mse"].shape == (len(swept.models), windows)
    assert swept.traces["frozen_mse"].shape == (SEEDS, windows)
    np.testing.assert_allclose(swept.traces["mse"].mean(1), swept.models.adapt_mse, rtol=1e-12)
    frozen = swept.models.drop_duplicates("seed").sort_values("seed").frozen_adapt_mse
    np.testing.assert_allclose(swept.traces["frozen_mse"].mean(1), frozen, rtol=1e-9)
    Y, place = study.streams.b.Y, swept.models.index[swept.models.learning_rate == 0.03][1]
    outputs = by_hand(study, 1, 0.03, windows * CUT)
    third = mse(outputs, Y, slice(2 * CUT, 3 * CUT))
    assert swept.traces["mse"][place, 2] == pytest.approx(third, rel=1e-9)


def test_selection_never_sees_the_heldout_part(study, swept):
    heldout = PARTS.splits["50-50"].heldout
    other = sweep.sweep(changed(study, heldout), GRID, growth=1).models
    blind = ["learning_rate", "selected", "edge", "validation_mse", "adapt_mse", "update_ratio"]
    assert other[blind].equals(swept.models[blind])
    assert (other.heldout_mse != swept.models.heldout_mse).all()


def test_weights_of_the_selection_never_see_the_selection_part(study, swept):
    """A change of the scoring targets moves scores, and nothing that was learned before them."""
    split = PARTS.splits["50-50"]
    scoring = slice(split.selection_cut, split.adapt.stop)
    other = sweep.sweep(changed(study, scoring), GRID, growth=1)
    both = other.models.merge(swept.models, on=["seed", "learning_rate"])
    assert (both.validation_mse_x != both.validation_mse_y).all()
    assert (both.heldout_mse_x != both.heldout_mse_y).all()
    windows = split.selection_cut // CUT
    kept = {rate: i for i, rate in enumerate(sorted(other.models.learning_rate.unique()))}
    for rate in GRID:
        here = slice(kept[rate] * SEEDS, (kept[rate] + 1) * SEEDS)
        place = swept.models.index[swept.models.learning_rate == rate]
        ours, theirs = swept.traces["mse"][place], other.traces["mse"][here]
        assert np.array_equal(ours[:, :windows], theirs[:, :windows])
        assert (ours[:, windows:] != theirs[:, windows:]).all()


def test_noise_where_the_weights_are_learned_changes_the_choice(study, swept):
    """The negative control: what selection may see does change it."""
    split = PARTS.splits["50-50"]
    learning = slice(0, split.selection_cut)
    noise = np.random.default_rng(0).normal(scale=3.0, size=(learning.stop, 2))
    other = sweep.sweep(changed(study, learning, noise), GRID, growth=1).models
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
    assert lost[["adapt_mse", "heldout_mse", "update_ratio", "r2_x", "r2_mean"]].isna().all().all()
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


def test_the_step_of_a_divergence():
    losses = np.ones((5, 4))
    losses[1, 2], losses[2, 1], losses[4, 0] = np.nan, 2e6, 1e6
    heldout = np.array([1.0, 1.0, 1.0, np.inf, 1.0])
    assert sweep.diverged_steps(losses, heldout).tolist() == [-1, 2, 1, 4, -1]


def test_a_model_that_diverges_after_the_selection_part_begins_keeps_its_score(study):
    split = PARTS.splits["50-50"]
    scoring = slice(split.selection_cut, split.adapt.stop)
    far = sweep.sweep(changed(study, scoring, 1e4), [0.03], growth=0).models
    assert far.diverged.all() and (far.diverged_step >= split.selection_cut).all()
    assert np.isfinite(far.validation_mse).all() == (far.validation_mse <= 1e6).all()


@pytest.mark.parametrize("size", [1, 3, 50])
def test_rows_do_not_depend_on_the_size_of_batches(study, swept, size):
    rows = sweep.sweep(dataclasses.replace(study, batch_models=size), GRID, growth=1).models
    names = rows.select_dtypes("number").columns
    np.testing.assert_allclose(rows[names], swept.models[names], rtol=1e-9)
    assert rows[["selected", "diverged"]].equals(swept.models[["selected", "diverged"]])


@pytest.mark.parametrize("name", ["immediate-20", "tbptt-20-20", "rtrl", "last-layer"])
def test_every_learner_goes_through(study, name):
    rows = sweep.sweep(dataclasses.replace(study, learner=name), [0.01], growth=0).models
    updates = {"immediate-20": 10, "tbptt-20-20": 10}.get(name, 200)
    assert (rows.updates == updates).all() and not rows.diverged.any()
    assert rows.update_ratio.isna().all() == (name == "last-layer")
    assert (rows.heldout_mse < rows.frozen_heldout_mse).all()


def test_the_other_split_and_single_precision(study, streams):
    single = {n: p.float() for n, p in study.networks.items()}
    other = dataclasses.replace(study, networks=single, split="80-20")
    rows = sweep.sweep(other, [0.03], growth=0).models
    assert set(rows.precision) == {"float32"} and (rows.updates == 320).all()
    double = sweep.sweep(dataclasses.replace(study, split="80-20"), [0.03], growth=0).models
    np.testing.assert_allclose(rows.heldout_mse, double.heldout_mse, rtol=1e-3)
    assert (rows.heldout_mse != double.heldout_mse).all()


def test_a_learner_that_does_not_fit_the_cut_is_refused(study):
    with pytest.raises(OrlaError, match=r"choose parts\.cut"):
        sweep.sweep(dataclasses.replace(study, learner="immediate-200"), [0.01], growth=0)


def test_horizons_by_hand(study):
    frame = sweep.sweep(study, [0.03], growth=0, horizons=[40, 100, 200]).horizons
    assert list(frame.seed) == [0] * 3 + [1] * 3
    assert list(frame.horizon_steps) == [40, 100, 200] * 2
    assert (frame.learning_rate == 0.03).all()
    Y, heldout = study.streams.b.Y, PARTS.splits["50-50"].heldout
    reference = study.baseline["reference_mse"]
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
    split = PARTS.splits["50-50"]
    late = changed(study, slice(100, split.adapt.stop), 1e5)
    frame = sweep.sweep(late, [0.03], growth=0, horizons=[80, 200]).horizons
    missing = frame.recovery_heldout_percent.isna()
    assert (missing == (frame.horizon_steps == 200)).all()


def test_models_are_kept_only_while_their_rate_may_be_selected(study, monkeypatch):
    held = []
    measure = sweep._measure

    def watched(*arguments):
        measured = measure(*arguments)
        held.append(sum(key.startswith(sweep._AT) for m in measured.values() for key in m))
        return measured

    rows = sweep._tabulated

    def tabulated(study, done, horizons):
        held.append(sum(key.startswith(sweep._AT) for m in done.values() for key in m))
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


def test_windows():
    values = np.arange(14.0).reshape(2, 7)
    assert sweep.window_means(values, 3).tolist() == [[1.0, 4.0], [8.0, 11.0]]


def test_fresh_networks_need_no_pretraining(study):
    fresh = initial_parameters(NETWORK, [0], torch.float64)
    rows = sweep.sweep(dataclasses.replace(study, networks=fresh), [0.03], growth=0).models
    assert len(rows) == 1 and np.isfinite(rows.heldout_mse).all()
