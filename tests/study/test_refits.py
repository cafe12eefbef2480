"""Refitted decoders against plain loops and other libraries."""

import dataclasses
from itertools import product

import numpy as np
import pytest
from drifting import ADAPT, HELDOUT, SELECTION, STEPS, make_episode, session, table
from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

from orla import catalogue
from orla.study import refits
from orla.study.refits import Kalman, LeastSquares
from orla.tasks.stream import Stream

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4))
Y = X @ RNG.normal(size=(4, 2)) + 0.7 + 0.3 * RNG.normal(size=(300, 2))


@pytest.mark.parametrize("forgetting", [0.95, 0.999])
def test_the_closed_form_is_where_recursive_least_squares_arrives(forgetting):
    """Step by step: the textbook's gain and inverse covariance."""
    wide = np.hstack([X, np.ones((len(X), 1))])
    P, w = np.eye(5), np.zeros((5, 2))
    for x, y in zip(wide, Y, strict=True):
        gain = P @ x / (forgetting + x @ P @ x)
        w += np.outer(gain, y - w.T @ x)
        P = (P - np.outer(gain, x @ P)) / forgetting
    ours = LeastSquares(X, Y, forgetting).final_rls_weights()
    np.testing.assert_allclose(ours, w, rtol=1e-6, atol=1e-8)


def test_the_filter_settles_to_that_of_a_library():
    targets = np.zeros((400, 2))
    for t in range(1, 400):
        targets[t] = 0.9 * targets[t - 1] + 0.4 * RNG.normal(size=2)
    inputs = targets @ RNG.normal(size=(2, 5)) + 0.2 + 0.5 * RNG.normal(size=(400, 5))
    decoder = Kalman.fit(inputs, targets, np.arange(400) > 0)
    ours = decoder.decode(inputs, np.zeros(400, bool))
    library = KalmanFilter(k_endog=5, k_states=2)
    library.bind(inputs)
    residual = inputs - targets @ decoder.C.T - decoder.offset
    library["design"], library["transition"] = decoder.C, decoder.A
    library["obs_intercept"] = decoder.offset[:, None]
    library["obs_cov"] = np.cov(residual.T) + 1e-6 * np.eye(5)
    library["state_cov"] = np.cov((targets[1:] - targets[:-1] @ decoder.A.T).T)
    library["selection"] = np.eye(2)
    library.initialize_known(np.zeros(2), np.eye(2))
    theirs = library.filter().filtered_state.T
    np.testing.assert_allclose(ours[60:], theirs[60:], atol=1e-6)
    assert ((ours - targets) ** 2).mean() < 0.5 * (targets**2).mean()


def test_kalman_decoder_state_restarts_at_zero_where_a_trial_begins():
    decoder = Kalman.fit(X, Y, np.arange(300) > 0)
    starts = np.zeros(300, bool)
    starts[120] = True
    ours = decoder.decode(X, starts)
    np.testing.assert_array_equal(ours[120:], decoder.decode(X[120:], starts[120:]))


def test_lags_stop_where_a_trial_begins():
    starts = np.zeros(300, bool)
    starts[[0, 7]] = True
    inputs = refits.LaggedInputs(Stream(X, Y, starts=starts))
    for lags in refits.LAGS:
        wide = inputs.rows(np.arange(300), lags)
        for t in (0, 5, 7, 8, 30):
            begins = 7 if t >= 7 else 0
            rows = [X[t - k] if t - k >= begins else np.zeros(4) for k in range(lags)]
            np.testing.assert_array_equal(wide[t], np.concatenate(rows))


def test_features_of_a_few_steps_at_a_time_give_the_same_outputs(study, monkeypatch):
    whole = outputs(study, study.episode)
    monkeypatch.setattr(refits, "_STEPS", 7)
    sizes, rows = set(), refits.LaggedInputs.rows

    def counted(self, steps, lags):
        sizes.add(len(steps))
        return rows(self, steps, lags)

    monkeypatch.setattr(refits.LaggedInputs, "rows", counted)
    for name, few in outputs(study, study.episode).items():
        np.testing.assert_allclose(few, whole[name], rtol=1e-9, atol=1e-11)
    assert max(sizes) == 7


def test_least_squares_of_no_steps_has_full_shapes_and_no_outputs():
    none = LeastSquares(X[:0], Y[:0])
    assert none.squares.shape == (5, 5) and none.products.shape == (5, 2)
    weights = np.ones((5, 2))
    assert refits.linear_outputs(X.__getitem__, np.arange(0), weights).shape == (0, 2)


def outputs(study, episode):
    return refits.heldout_decoder_outputs(episode, study.loop.learner.architecture, study.networks)


def assert_equal(these, those):
    for name, one in these.items():
        np.testing.assert_array_equal(one, those[name])


def test_hidden_units_are_those_that_the_readout_reads(study):
    whole = study.whole_tensors(np.arange(study.seeds))
    hidden = refits.hidden_states(study.loop.learner.architecture, study.networks, whole)
    for seed, states in enumerate(hidden):
        W, b = (study.networks[name][seed].numpy() for name in ("W_out", "b_out"))
        theirs = study.frozen_outputs(
            study.starting_parameters(np.array([seed])), None, study.whole_tensors(np.array([seed]))
        )
        np.testing.assert_allclose(states @ W.T + b, theirs[0].numpy(), atol=1e-12)


def test_every_decoder_beats_the_constant_where_the_task_is_linear(study):
    ours, Y = outputs(study, study.episode), study.episode.heldout.Y
    assert list(ours) == ["ridge", "recursive", "kalman", "readout"]
    constant = ((Y - Y.mean(0)) ** 2).mean()
    errors = {name: ((one - Y) ** 2).mean((1, 2)) for name, one in ours.items()}
    assert all(one.shape == (2, STEPS - ADAPT, 2) for one in ours.values())
    assert (errors["ridge"] < 0.1 * constant).all() and (errors["recursive"] < 0.1 * constant).all()
    assert (errors["kalman"] < constant).all() and (errors["readout"] < constant).all()
    assert errors["readout"][0] != errors["readout"][1]


def test_nothing_held_out_is_read(study):
    episode = study.episode
    Y = episode.heldout.Y + 5.0
    moved = dataclasses.replace(episode, heldout=Stream(episode.heldout.X, Y))
    assert_equal(outputs(study, episode), outputs(study, moved))


def test_settings_are_chosen_on_the_selection_part(study):
    """The ridge of each setting by a plain solve; the best on the selection part is taken."""
    stream, episode = study.episode.whole, study.episode
    inputs, scored = refits.LaggedInputs(stream), {}
    lagged = {lags: inputs.rows(np.arange(len(stream)), lags) for lags in refits.LAGS}

    def weights(stop, F, penalty):
        F, T = F[:stop], stream.Y[:stop]
        mean, target = F.mean(0), T.mean(0)
        G = (F - mean).T @ (F - mean) + penalty * np.eye(F.shape[1])
        w = np.linalg.solve(G, (F - mean).T @ (T - target))
        return w, target - mean @ w

    for lags, penalty in product(refits.LAGS, refits.PENALTIES):
        w, b = weights(SELECTION, lagged[lags], penalty)
        part = slice(SELECTION, ADAPT)
        error = ((lagged[lags][part] @ w + b - stream.Y[part]) ** 2).mean()
        w, b = weights(ADAPT, lagged[lags], penalty)
        scored[error] = lagged[lags][HELDOUT] @ w + b
    ours = outputs(study, episode)["ridge"][0]
    np.testing.assert_allclose(ours, scored[min(scored)], atol=1e-6)


def test_steps_that_are_not_scored_teach_nothing(sessions, study):
    b, scored = sessions[1], np.ones(STEPS, bool)
    scored[50:90] = False
    clean = make_episode(Stream(b.X, b.Y, scored))
    masked = make_episode(Stream(b.X, np.where(scored[:, None], b.Y, 1e3), scored))
    assert_equal(outputs(study, masked), outputs(study, clean))


def test_streams_of_their_own_are_refitted_one_by_one(sessions, study):
    b, own = sessions[1], session(np.random.default_rng(5), STEPS, np.ones((3, 2)))
    both = Stream(np.stack([b.X, own.X]), np.stack([b.Y, own.Y]))
    of_both = outputs(study, make_episode(both))
    for seed, stream in enumerate((b, own)):
        alone = outputs(study, make_episode(stream))
        for name in ("ridge", "recursive", "kalman"):
            np.testing.assert_array_equal(of_both[name][seed], alone[name][0])


def test_the_scores_stand_beside_every_model_of_a_sweep_or_are_left_out(study):
    """By plain means of the outputs; each network's, whatever its rate."""
    refitted = dataclasses.replace(study, with_costs_and_refits=True)
    Y, rows = study.episode.heldout.Y, table("models", refitted, [0.01, 0.03])
    total = ((Y - Y.mean(0)) ** 2).sum(0)
    for name, of_seeds in outputs(study, study.episode).items():
        error, r2 = refits.score_columns(name)
        for seed, one in enumerate(of_seeds):
            here = rows[rows["seed"] == seed]
            residual = (one - Y) ** 2
            assert here[error].tolist() == pytest.approx([residual.mean()] * 2, rel=1e-9)
            share = (1 - residual.sum(0) / total).mean()
            assert here[r2].tolist() == pytest.approx([share] * 2, rel=1e-9)
    columns = {c for d in refits.DECODERS for c in refits.score_columns(d)}
    assert columns < {*rows} and not columns & {*study.baseline}


def test_categories_are_not_refitted(study):
    loss = catalogue.make("loss", "cross_entropy")
    architecture = study.loop.learner.architecture
    assert refits.heldout_decoder_scores(study.episode, loss, architecture, study.networks) == {}
