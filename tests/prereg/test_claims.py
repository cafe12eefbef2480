"""Registrations of version 3: every outcome and every reason for it is reached."""

import re

import numpy as np
import pandas as pd
import pytest
from made_claims import BINDS, document, estimate, gaps, seed_document, tables
from made_claims import verdicts as judge
from scipy import stats
from statsmodels.stats.multitest import multipletests

from orla.errors import OrlaError
from orla.prereg import reader


@pytest.fixture
def judged(write):
    """Judge one document by tables, with the binding that it names."""

    def judged(document, tables, binding=BINDS):
        registration = reader.read_registration(write(document))
        return judge([registration], tables, {"small-gap": binding})[0]

    return judged


def of_seeds(*values, **more):
    """The table of a row over seeds."""
    return {"estimates": pd.DataFrame([estimate(*values, **more)])}


@pytest.mark.parametrize(
    ("unit", "claim", "mean", "sd", "outcome"),
    [
        ("pair", {"equivalent_within": 3}, 0.5, 2, "supported"),
        ("pair", {"equivalent_within": 3}, -6, 2, "falsified"),
        ("pair", {"equivalent_within": 3}, 0, 15, "inconclusive"),
        ("pair", {"more_than": 10}, 6, 2, "falsified"),
        ("pair", {"less_than": 0}, -4, 2, "supported"),
        ("seed", {"equivalent_within": 3}, 0.2, 2, "supported"),
        ("seed", {"equivalent_within": 3}, 8, 2, "falsified"),
    ],
)
def test_the_interval_over_units_decides(judged, unit, claim, mean, sd, outcome):
    if unit == "pair":
        n, of = 12, "over pairs of sessions of many-arrays"
        verdict = judged(document(claim=claim), tables(gaps(mean, sd)))
    else:
        n, of = 5, "over seeds of the pair indy of many-arrays: it holds none of the variation be"
        verdict = judged(seed_document(claim=claim), of_seeds(gaps(mean, sd, n)))
    assert (verdict.outcome, verdict.n, verdict.primary) == (outcome, n, True)
    assert verdict.estimate == pytest.approx(mean) and verdict.low < mean < verdict.high
    assert (verdict.p < 0.05) == (outcome == "supported") and verdict.p == verdict.p_holm
    assert f"90 % t interval over {n} {unit}s" in verdict.reason and of in verdict.limits


def put(table, column, value, row=0):
    def change(given):
        found = given[table][column].astype(object)
        found[row] = value
        given[table][column] = found

    return change


def drop(row):
    def change(given):
        given["estimates"] = given["estimates"].drop(index=row)

    return change


def more_seeds(given):
    given["estimates"]["n_seeds"] = 500


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("over_pairs", "optimizer", "lars"), "over_pairs has no row with optimizer = adam"),
        (put("over_pairs", "estimand", "heldout"), "over_pairs has no row with estimand = stable"),
        (put("over_pairs", "n_pairs", np.nan), "n_pairs is nan, no count"),
        (put("over_pairs", "n_pairs", 30), "over_pairs and estimates disagree on pairs"),
        (put("over_pairs", "n_failing", np.nan), "over_pairs and estimates disagree"),
        (put("over_pairs", "n_diverged", np.nan), "over_pairs and estimates disagree"),
        (drop(3), "11 pairs: not the 12 registered"),
        (more_seeds, "pair pair-0: 500 seeds and 0 diverged: not the 3 registered"),
        (put("estimates", "n_seeds", 2, 4), "pair pair-4: 2 seeds and 0 diverged: not the 3 reg"),
        (put("estimates", "n_diverged", 1, 4), "pair pair-4: 3 seeds and 1 diverged: not the 3"),
        (put("estimates", "n_diverged", np.nan, 4), "pair pair-4: n_seeds or n_diverged is no co"),
        (put("over_pairs", "alpha", 0.45), "over_pairs was made at alpha 0.45, and 0.05 is"),
        (put("over_pairs", "learner_full", "tbptt-200-200"), "per_step is tbptt-200-200 minus im"),
        (
            put("over_pairs", "over_best_full_low_percent", 1.0),
            "rtrl is not shown to adapt: the lower 95 % end of its recovery over the better of the "
            "frozen network and the best constant is 1 %",
        ),
        (put("over_pairs", "over_best_immediate_low_percent", 19.9), "immediate is not shown to"),
        (put("over_pairs", "over_best_full_low_percent", np.nan), "its recovery has no value"),
        (put("over_pairs", "gap_pp", np.nan), "gap_pp has no finite t interval"),
        (put("over_pairs", "dof", 0), "gap_pp has no finite t interval"),
        (put("estimates", "guards", None), "over_pairs and estimates disagree on pairs, failing"),
    ],
)
def test_every_obstacle_makes_it_untestable(judged, change, reason):
    given = tables(gaps(0.5))
    change(given)
    verdict = judged(document(), given)
    assert verdict.outcome == "untestable" and reason in verdict.reason
    assert np.isnan(verdict.p) and np.isnan(verdict.p_holm)


def test_what_binds_nothing_is_untestable(judged):
    given = document()
    del given["binds"]
    assert "it binds neither config nor behaviour" in judged(given, tables(gaps(0.5))).reason


def test_a_learner_that_is_claimed_to_fail_need_not_recover(judged):
    given = document(claim={"more_than": 10}, must_recover=["rtrl"])
    found = tables(gaps(20.0))
    found["over_pairs"]["over_best_immediate_low_percent"] = -5.0
    assert judged(given, found).outcome == "supported"
    assert judged(given | {"must_recover": ["rtrl", "immediate"]}, found).outcome == "untestable"
    found["over_pairs"]["over_best_full_low_percent"] = 19.0
    verdict = judged(given, found)
    assert verdict.outcome == "untestable" and "rtrl is not shown to adapt" in verdict.reason


def more_units(given):
    given["over_pairs"] = tables(gaps(0.5, 2, 40))["over_pairs"].assign(n_pairs=12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("over_pairs", "gap_pp", 50.0), "and its standard error gives"),
        (put("over_pairs", "standard_error_pp", 0.01), "and its standard error gives"),
        (put("over_pairs", "dof", 10), "and its standard error gives"),
        (more_units, "39 degrees of freedom over 12 units"),
        (put("estimates", "gap_pp", 9.0), "over_pairs has gap_pp 0.5, and the mean of its pairs"),
        (put("over_pairs", "gap_pp", "much"), "holds 'much', not a number"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(judged, change, words):
    given = tables(gaps(0.5))
    change(given)
    with pytest.raises(OrlaError, match=words):
        judged(document(), given)


def test_a_guard_of_the_pair_makes_seeds_untestable(judged):
    guard = "rtrl with adam has its rate, 0.01, on the edge of its grid: give a longer grid"
    verdict = judged(seed_document(), of_seeds(gaps(0.2, 2, 5), guards=guard))
    assert verdict.outcome == "untestable" and verdict.reason == guard


def test_recovery_without_meaning_is_no_obstacle_to_a_gap_of_errors(judged):
    table = of_seeds(gaps(0.2, 2, 5), has_meaning=False)
    verdict = judged(seed_document(), table)
    assert verdict.outcome == "untestable"
    assert "indy: recovery has no meaning" in verdict.reason and "drifts more" in verdict.reason
    assert judged(seed_document(**VARIANCE), table).outcome == "supported"


VARIANCE = {"scale": "variance", "claim": {"equivalent_within": 0.02}}


@pytest.mark.parametrize(("mean", "outcome"), [(0.5, "supported"), (6, "falsified")])
def test_a_gap_of_errors_is_judged_in_its_own_unit(judged, mean, outcome):
    """One pp of the made-up gaps is 1 / 150 of the variance: the same test, other numbers."""
    given = tables(gaps(mean))
    pp, variance = judged(document(), given), judged(document(**VARIANCE), given)
    assert (variance.outcome, variance.n) == (outcome, 12) and variance.p == pytest.approx(pp.p)
    assert variance.estimate == pytest.approx(mean / 150)
    assert variance.reason.startswith("error_gap (mean of the last freezing points) is")
    assert variance.threshold.endswith("0.02 variance")
    given["over_pairs"]["error_n_pairs"] = 11
    assert "over_pairs and estimates disagree" in judged(document(**VARIANCE), given).reason
    assert judged(document(), given).outcome == outcome


def outcomes(values, claims):
    """Outcome of each claim that a mean is above a number, by scipy's t tests: the first alone,
    the two others a family by Holm's definition."""
    held = []
    for side in ("greater", "less"):
        first, *two = (stats.ttest_1samp(values, c, alternative=side).pvalue for c in claims)
        held.append([first, *(max(2 * min(two), p) for p in two)])
    return [
        "supported" if shown < 0.05 else "falsified" if refuted < 0.05 else "inconclusive"
        for shown, refuted in zip(*held, strict=True)
    ]


def test_an_outcome_under_five_sixths_of_leave_one_out_share_is_inconclusive(write):
    """Made-up studies with outliers, a primary and a family of two, against a loop over pairs."""
    generator, seen = np.random.default_rng(5), set()
    claims = (0.0, -0.3, 0.2)
    registrations = [
        reader.read_registration(
            write(document(claim={"more_than": claim}, primary=not i), f"claim-{i}")
        )
        for i, claim in enumerate(claims)
    ]
    bindings = dict.fromkeys((each.name for each in registrations), BINDS)
    for _ in range(28):
        values = generator.normal(0.7, 1, 12) + generator.standard_t(2, 12).clip(-4, 4)
        whole = outcomes(values, claims)
        without = [outcomes(np.delete(values, i), claims) for i in range(12)]
        sames = [[each[i] for each in without].count(whole[i]) for i in range(3)]
        new = {(i > 0, whole[i], min(max(sames[i], 9), 11)) for i in range(3)} - seen
        if not new:
            continue  # a case like those that were judged
        seen |= new
        for i, verdict in enumerate(judge(registrations, tables(values), bindings)):
            holds = whole[i] == "inconclusive" or sames[i] >= 10
            assert verdict.outcome == (whole[i] if holds else "inconclusive")
            words = f"another in {12 - sames[i]} of 12 studies with one pair left out"
            assert (words in verdict.reason) == (not holds)
    # The bound itself is met; alone and in a family both sides of it are.
    assert {(f, "supported", same) for f in (False, True) for same in (9, 11)} <= seen
    assert (False, "supported", 10) in seen


def test_pairs_that_fail_are_counted(judged):
    verdict = judged(document(), tables(gaps(0.2), failing=(1, 5)))
    assert verdict.outcome == "supported" and "2 of 12 pairs fail a guard" in verdict.reason
    verdict = judged(document(), tables(gaps(0.2), failing=(1, 5, 7)))
    assert verdict.outcome == "untestable"
    told = (
        "3 pairs fail a guard, more than the 2 registered as the most: pair-1: few updates: adapt"
    )
    assert told in verdict.reason


def test_a_pair_without_a_gap_counts_as_one_that_fails_a_guard(judged):
    given = tables(gaps(0.2, n=11))
    lost = estimate([0.0, 0.0, 0.0], seeds=3, pair="lost", guards="no meaning: read the error")
    lost |= {"gap_pp": np.nan, "gap_frozen_pp": np.nan}
    given["estimates"] = pd.concat([given["estimates"], pd.DataFrame([lost])])
    given["over_pairs"]["n_failing"] = 1
    assert judged(document(), given).outcome == "supported"
    strict = document(exclusions={"max_diverged": 2, "max_failing": 0})
    verdict = judged(strict, given)
    assert verdict.outcome == "untestable" and "lost: no meaning" in verdict.reason
    # Without a guard's words too, a gap that is missing is no sound one.
    given["estimates"]["guards"] = ""
    given["over_pairs"]["n_failing"] = 0
    verdict = judged(strict, given)
    assert verdict.outcome == "untestable" and "1 pairs fail a guard" in verdict.reason


def test_a_pair_that_hardly_drifts_fails_a_claim_about_learners_that_recover(judged):
    """Learners agree there whatever they do; so a claim of equivalence would live on such pairs."""
    claim = document(**VARIANCE, must_recover=["rtrl", "immediate"])
    former = {n: v for n, v in BINDS["parts"].items() if n != "pairs that drift"}
    former = BINDS | {"parts": former}

    def still(given, pairs, learner="immediate"):
        column = f"over_best_{learner}_percent"
        given["estimates"].loc[given["estimates"].index[list(pairs)], column] = np.nan
        return given

    # Of the ten pairs that drift alone the upper end is 3.02 pp, of all twelve 2.95; 3 is asked.
    drawn = [*gaps(2.9, 0.2, 10), 2.2, 2.2]
    assert judged(claim, tables(drawn)).outcome == "supported"
    verdict = judged(claim, still(tables(drawn), (10, 11)))
    assert verdict.outcome == "inconclusive"
    assert "would be inconclusive over the pairs that drift (0.01933 [" in verdict.reason
    assert judged(claim, still(tables(gaps(0.2)), (10, 11))).outcome == "supported"
    for learner in ("immediate", "full"):
        verdict = judged(claim, still(tables(gaps(0.2)), range(9), learner))
        assert verdict.outcome == "untestable"
        assert "9 pairs fail a guard, more than the 2 registered" in verdict.reason
    bound_before = claim | {"binds": former}
    assert judged(bound_before, still(tables(gaps(0.2)), range(9)), former).outcome == "supported"


def test_a_verdict_that_depends_on_failing_pairs_is_inconclusive(judged):
    given = tables([*gaps(0.2, 1, 10), 9.0, 9.0], failing=(10, 11))
    assert given["over_pairs"]["gap_without_failing_pp"][0] == pytest.approx(0.2)
    verdict = judged(document(), given)
    assert verdict.outcome == "inconclusive"
    given = tables([*gaps(0.2, 1, 10), 2.0, 2.0], failing=(10, 11))
    assert judged(document(), given).outcome == "supported"
    given["over_pairs"]["gap_without_failing_pp"] = np.nan
    verdict = judged(document(), given)
    assert verdict.outcome == "inconclusive"
    assert "it would be inconclusive without the pairs that fail a guard" in verdict.reason


def test_a_verdict_that_depends_on_how_divergence_is_scored_is_inconclusive(judged):
    values = gaps(0.2, 1)
    frozen = values.copy()
    frozen[0] -= 60
    verdict = judged(document(), tables(values, diverged=1, frozen=frozen))
    assert verdict.outcome == "inconclusive"
    assert "it would be inconclusive with diverged models scored as the frozen" in verdict.reason
    verdict = judged(document(), tables(values, diverged=1))
    assert verdict.outcome == "supported" and "1 diverged and left out" in verdict.reason
    verdict = judged(document(), tables(values, diverged=3))
    assert verdict.outcome == "untestable"
    assert "3 diverged, more than the 2 registered as the most" in verdict.reason


@pytest.mark.parametrize("unit", ["pair", "seed"])
def test_a_verdict_that_is_another_at_the_runner_up_is_inconclusive(judged, unit):
    values = gaps(0.2, 1, 12 if unit == "pair" else 5)

    def verdict(runner_up):
        if unit == "pair":
            return judged(document(), tables(values, runner_up=runner_up))
        return judged(seed_document(), of_seeds(values, runner_up=runner_up))

    assert verdict(values + 0.5).outcome == "supported"
    found = verdict(values + 6)
    assert found.outcome == "inconclusive"
    words = "it would be falsified with its first learner at the runner-up of its rates"
    assert re.search(words + r" \([\d.]+ \[[\d.]+, [\d.]+\]\)", found.reason)


def test_a_verdict_that_scoring_diverged_seeds_as_frozen_would_change_is_inconclusive(judged):
    values = gaps(0.2, 1, 4)
    verdict = judged(seed_document(), of_seeds(values, diverged=1, frozen=[*values, -40.0]))
    assert verdict.outcome == "inconclusive" and "scored as the frozen network" in verdict.reason
    same = of_seeds(values, diverged=1, frozen=[*values, 0.5])
    assert judged(seed_document(), same).outcome == "supported"


def test_those_that_are_not_primary_are_corrected_as_a_family(write):
    claims = ({"equivalent_within": 3}, *({"more_than": p} for p in (-1.5, -0.7, -0.3)))
    registrations = [
        reader.read_registration(write(document(claim=claim, primary=not i), f"claim-{i}"))
        for i, claim in enumerate(claims)
    ]
    bindings = dict.fromkeys((each.name for each in registrations), BINDS)
    found = judge(registrations, tables(gaps(0.5)), bindings)
    assert found[0].p == found[0].p_holm
    alone = [verdict.p for verdict in found[1:]]
    assert [v.p_holm for v in found[1:]] == pytest.approx(multipletests(alone, method="holm")[1])
    for verdict in found[1:]:
        assert (verdict.p_holm < 0.05) == (verdict.outcome == "supported")
    assert (found[1].outcome, found[3].outcome) == ("supported", "inconclusive")
    del bindings[registrations[3].name]  # an untestable member still counts
    fewer = judge(registrations, tables(gaps(0.5)), bindings)
    assert fewer[3].outcome == "untestable" and np.isnan(fewer[3].p)
    assert fewer[1].p_holm == pytest.approx(3 * fewer[1].p)
