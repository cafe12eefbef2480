"""Named quantities, against loops over seeds, pairs and resamples."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import settings, varied
from results_by_hand import at, best, marked, matrix, runner_up, t_ends
from scipy import stats

from orla.errors import OrlaError
from orla.results import base
from orla.statistics.ranks import spearman_p

AT = {"task": "recordings", "architecture": "rnn", "optimizer": "adam", "split": "80-20"}
GAP = [
    {"plus": "recovery_heldout_percent", "learner": "rtrl"},
    {"minus": "recovery_heldout_percent", "learner": "immediate", "times": 2},
]
BOTH = ("rtrl", "immediate")
RESAMPLES = 30
SEEDS = (("a", 4), ("b", 3), ("c", 5))


def build(name, made, spec):
    named = {"wanted": {"label": "What it is.", "at": AT} | spec}
    known = replace(settings(resamples=RESAMPLES, seed=3), quantities=named)
    return base.build(name, {"models": made}, known)


def one(made, **spec):
    [found] = build("quantities", made, spec).iloc
    return found


def by_pair(made, **spec):
    return build("quantity_pairs", made, spec)


def frame(pairs=SEEDS, **options):
    made = varied(pairs, **options)
    generator = np.random.default_rng(5)
    made["turn"] = generator.normal(0.3, 0.2, len(made))
    made["other"] = generator.normal(-0.3, 0.2, len(made))
    return made.sample(frac=1, random_state=1)


def drawn(n):
    return np.random.default_rng(3).integers(0, n, (RESAMPLES, n))


def resampled(made, learner, name):
    """A column of each resample of the seeds of pair a, at the rate that it chooses."""
    errors, values = (matrix(made, learner, c) for c in ("validation_rolling_error", name))
    return [values[draw, best(errors[draw])] for draw in drawn(len(values))]


def rho(x, y):
    return 0.0 if np.ptp(x) == 0 or np.ptp(y) == 0 else stats.spearmanr(x, y).statistic


def spread(values, n):
    return np.std(values, ddof=1) * np.sqrt(n / (n - 1))


def test_a_sum_over_seeds_with_the_choice_of_rates_in_its_error():
    made = frame([("a", 5)], lost=0.0)
    found = one(made, sum=GAP, scale="pp")
    full, now = (at(made, x, GAP[0]["plus"], "heldout") for x in BOTH)
    values = full - 2 * now
    each = zip(*(resampled(made, x, GAP[0]["plus"]) for x in BOTH), strict=True)
    error = max(stats.sem(values), spread([np.mean(full - 2 * now) for full, now in each], 5))
    ends = [values.mean() - stats.t.ppf(0.95, 4) * error]
    ends += [values.mean() + stats.t.ppf(0.975, 4) * error]
    names = ["value", "sd", "standard_error", "t90_low", "t95_high"]
    expected = [values.mean(), values.std(ddof=1), error, *ends]
    assert found[names].tolist() == pytest.approx(expected)
    names = ["n_pairs", "n_seeds", "dof", "scale", "unit", "estimand"]
    assert found[names].tolist() == [1, 5, 4, "pp", "seed", "heldout"]


def test_estimand_selects_the_rate_at_which_terms_are_taken():
    made = frame([("a", 5)], lost=0.0)
    term = [{"plus": "turn", "learner": "rtrl"}]
    assert marked(made, "rtrl", "heldout") != marked(made, "rtrl", "adapt")
    for estimand in ("heldout", "stable", "adapt"):
        values = at(made, "rtrl", "turn", estimand)
        assert one(made, sum=term, estimand=estimand)["value"] == pytest.approx(values.mean())


def gap(made, pair, rates=None):
    """The sum `GAP` on one pair, at the marked rates or at these."""
    rates = {x: marked(made, x, "heldout", pair) for x in BOTH} | (rates or {})
    full, now = (matrix(made, x, GAP[0]["plus"], pair)[:, rates[x]] for x in BOTH)
    return np.nanmean(full - 2 * now)


def test_over_pairs_the_mean_and_its_error_are_of_the_pairs_alone():
    made = frame(lost=0.0)
    found, pairs = one(made, sum=GAP, unit="pair"), by_pair(made, sum=GAP, unit="pair")
    values = np.array([gap(made, pair) for pair, _ in SEEDS])
    assert found["value"] == pytest.approx(values.mean())
    assert found["standard_error"] == pytest.approx(stats.sem(values))
    assert (found["t90_low"], found["t90_high"]) == pytest.approx(t_ends(values, 0.9))
    assert (found["n_pairs"], found["n_seeds"], found["dof"]) == (3, 3, 2)
    assert pairs["pair"].tolist() == ["a", "b", "c"] and (pairs["quantity"] == "wanted").all()
    assert pairs["value"].tolist() == pytest.approx(values)
    told = [f"{row.pair}: {row.guards}" for row in pairs.itertuples() if row.guards]
    assert found["guards"] == "; ".join(told) != "" and found["n_failing"] == len(told)
    assert by_pair(made[made["pair"] == "a"], sum=GAP).empty  # over seeds there is no such mean


@pytest.mark.parametrize("drawn", [0, 3])
@pytest.mark.parametrize("unit", ["pair", "seed"])
def test_each_condition_is_also_taken_at_its_runner_up_and_the_extremes_are_given(unit, drawn):
    pairs = SEEDS if unit == "pair" else SEEDS[:1]
    made = frame(pairs, lost=0.0, drawn=drawn)
    noise = np.random.default_rng(drawn).normal(0, 0.02, len(made))
    made["validation_rolling_error"] += noise * (made["learner"] == "rtrl")
    found, means = one(made, sum=GAP, unit=unit), []
    for learner in BOTH:
        rates = {pair: runner_up(made, learner, "heldout", pair) for pair, _ in pairs}
        if any(rate != marked(made, learner, "heldout", pair) for pair, rate in rates.items()):
            each = [gap(made, pair, {learner: rate}) for pair, rate in rates.items()]
            means.append((np.mean(each), *t_ends(np.array(each), 0.9)))
    for end, extreme in (("lowest", min), ("highest", max)):
        names = [f"{name}_runner_up_{end}" for name in ("value", "t90_low", "t90_high")]
        names = names if unit == "pair" or not means else names[:1]
        expected = extreme(means, default=[np.nan] * 3)[: len(names)]
        assert found[names].tolist() == pytest.approx(list(expected), nan_ok=True)


def test_a_rank_correlation_along_seeds():
    made = frame([("a", 5)], lost=0.0)
    side = {"along": "seeds", "with": [{"plus": "turn", "learner": "rtrl"}]}
    found = one(made, sum=[{"minus": "other", "learner": "immediate"}], rank=side)
    x, y = at(made, "rtrl", "turn", "heldout"), -at(made, "immediate", "other", "heldout")
    assert found[["value", "permutation_p"]].tolist() == pytest.approx(
        [rho(x, y), spearman_p(x, y)]
    )
    each = zip(resampled(made, "rtrl", "turn"), resampled(made, "immediate", "other"), strict=True)
    assert found["standard_error"] == pytest.approx(spread([rho(x, -y) for x, y in each], 5))
    assert np.isnan(found["sd"]) and found["dof"] == 4


def test_a_rank_correlation_along_conditions_is_of_their_means():
    made, names = frame([("a", 5)], rates=[("x", 2), ("y", 3), ("z", 2)], lost=0.0), ["y", "x", "z"]
    rank = {"along": {"learner": names}, "with": [{"plus": "turn"}]}
    found = one(made, sum=[{"plus": "other"}], rank=rank)
    turn, other = (
        [at(made, learner, name, "heldout").mean() for learner in names]
        for name in ("turn", "other")
    )
    assert found["value"] == pytest.approx(rho(turn, other))
    order = one(made, sum=[{"plus": "other"}], rank={"along": {"learner": names}})
    assert order["value"] == pytest.approx(rho([0, 1, 2], other))
    each = np.mean([resampled(made, x, "other") for x in names], axis=2).T
    wanted = spread([rho([0, 1, 2], means) for means in each], 5)
    assert order["standard_error"] == pytest.approx(wanted)


def test_a_rank_correlation_along_pairs_is_of_their_means():
    pairs = [("a", 3), ("b", 4), ("c", 3), ("d", 3), ("e", 3)]
    made = frame(pairs, lost=0.0)
    rank = {"along": "pairs", "with": [{"plus": "turn", "learner": "rtrl"}]}
    found = one(made, sum=[{"plus": "other", "learner": "immediate"}], rank=rank, unit="pair")
    x, y = (
        np.array([at(made, learner, name, "heldout", pair).mean() for pair, _ in pairs])
        for learner, name in (("rtrl", "turn"), ("immediate", "other"))
    )
    assert found[["value", "permutation_p"]].tolist() == pytest.approx(
        [rho(x, y), spearman_p(x, y)]
    )
    assert found["dof"] == 4 and by_pair(made, sum=GAP, rank=rank, unit="pair").empty
    # Resamples are of pairs; their own means stay as they are.
    assert found["standard_error"] == pytest.approx(spread([rho(x[d], y[d]) for d in drawn(5)], 5))


def test_pairs_that_fail_a_guard_are_named_counted_and_left_out_of_without_failing():
    made = frame(lost=0.0, drawn=2).assign(edge=False)
    assert one(made, sum=[{"plus": "turn", "learner": "rtrl"}], unit="pair")["guards"] == ""
    made.loc[made["pair"] == "b", "updates"] = 3
    found = one(made, sum=[{"plus": "turn", "learner": "rtrl"}], unit="pair")
    assert found["guards"].startswith("b: rtrl with adam makes 3 updates, fewer than 20: adapt")
    assert found["n_failing"] == 1 and found["n_pairs"] == 3
    values = np.array([at(made, "rtrl", "turn", "heldout", pair).mean() for pair in ("a", "c")])
    names = ["value_without_failing", "t90_low_without_failing", "t90_high_without_failing"]
    assert found[names].tolist() == pytest.approx([values.mean(), *t_ends(values, 0.9)])


def test_a_pair_in_which_recovery_has_no_meaning_has_no_value():
    made = frame(lost=0.0, drawn=2).assign(edge=False)
    here = made["pair"] == "b"
    made.loc[here, "frozen_heldout_error"] = made.loc[here, "reference_error"] + 0.01
    found = one(made, sum=GAP, unit="pair")
    assert (found["n_pairs"], found["n_without_meaning"], found["n_failing"]) == (2, 1, 1)
    assert found["guards"] == ""
    assert found["value"] == pytest.approx(np.mean([gap(made, pair) for pair in ("a", "c")]))
    assert by_pair(made, sum=GAP, unit="pair")["pair"].tolist() == ["a", "c"]
    turn = one(made, sum=[{"plus": "turn", "learner": "rtrl"}], unit="pair")
    assert (turn["n_pairs"], turn["n_without_meaning"], turn["n_failing"]) == (3, 0, 0)
    alone = one(made[here], sum=GAP)
    assert alone["n_pairs"] == 0 and np.isnan(alone["value"]) and alone["n_failing"] == 1


@pytest.mark.parametrize("order", [1, -1])
def test_every_network_whose_recovery_is_a_term_needs_a_meaning(order):
    made = frame(lost=0.0, drawn=2)
    other = made.assign(architecture="lstm")
    other["frozen_heldout_error"] = other["reference_error"] + 0.01
    both = pd.concat([made, other])
    terms = [{**term, "architecture": a} for term, a in zip(GAP, ("rnn", "lstm"), strict=True)]
    found = one(both, sum=terms[::order], unit="pair")
    assert (found["n_pairs"], found["n_without_meaning"], found["n_failing"]) == (0, 3, 3)
    assert np.isnan(found["value"])
    turn = {"plus": "turn", "learner": "rtrl", "architecture": "lstm"}
    with_turn = one(both, sum=[turn, terms[0]][::order], unit="pair")
    assert (with_turn["n_pairs"], with_turn["n_without_meaning"]) == (3, 0)


def test_what_was_not_run_has_no_value_and_says_so():
    found = one(frame([("a", 5)]), sum=[{"plus": "turn", "learner": "tbptt-9-9"}])
    assert np.isnan(found["value"]) and "tbptt-9-9/adam" in found["guards"]
    several = one(frame(), sum=[{"plus": "turn", "learner": "rtrl"}])
    assert "several pairs were run: name one" in several["guards"]
    named = one(frame(), sum=[{"plus": "turn", "learner": "rtrl"}], at=AT | {"pair": "b"})
    assert named["value"] == pytest.approx(at(frame(), "rtrl", "turn", "heldout", "b").mean())
    with pytest.raises(OrlaError, match='no column turm; the nearest is "turn"'):
        one(frame(), sum=[{"plus": "turm", "learner": "rtrl"}])
