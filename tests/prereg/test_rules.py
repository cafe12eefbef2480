"""Rules: p values and power against other programs and by counting, and a rule from outside."""

from typing import ClassVar

import numpy as np
import pytest
from made_claims import document, gaps, tables, verdicts
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from orla.prereg import power, reader, rules
from orla.prereg.judge import holm_p_values
from orla.prereg.region import Region
from orla.prereg.rules import EquivalentWithin, Estimate, LessThan, MoreThan

WITHIN, MORE, LESS = EquivalentWithin(3.0), MoreThan(10.0), LessThan(0.0)


def estimate(values):
    return Estimate(values.mean(), values.std(ddof=1) / np.sqrt(values.size), values.size - 1)


@pytest.mark.parametrize("mean", [-12.0, -3.0, 0.0, 2.0, 11.0])
def test_the_p_values_are_those_of_other_programs(mean):
    values = np.random.default_rng(5).normal(mean, 4, 12)
    p, _ = WITHIN.claim_and_opposite_p(estimate(values))
    assert p == pytest.approx(ttost_paired(values, values * 0, -3, 3)[0])
    for rule, sides in ((MORE, ("greater", "less")), (LESS, ("less", "greater"))):
        assert rule.claim_and_opposite_p(estimate(values)) == pytest.approx(
            [stats.ttest_1samp(values, rule.value, alternative=side).pvalue for side in sides]
        )


@pytest.mark.parametrize(("true", "sd"), [(0, 200), (-3, 1)])
def test_equivalence_is_not_called_false_too_often(true, sd):
    """At a true gap within the margin the opposite is shown in at most 5 % of made-up studies."""
    values = np.random.default_rng(7).normal(true, sd, (500, 6))
    shown = [WITHIN.claim_and_opposite_p(estimate(each))[1] < 0.05 for each in values]
    assert np.mean(shown) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(
    ("rule", "mean", "expected"),
    [
        (WITHIN, 2.9, (0, 1)),
        (WITHIN, -3.0, (1, 1)),
        (WITHIN, 3.1, (1, 0)),
        (MORE, 10.1, (0, 1)),
        (MORE, 10.0, (1, 1)),
        (MORE, 9.9, (1, 0)),
        (LESS, -0.1, (0, 1)),
        (LESS, 0.1, (1, 0)),
    ],
)
def test_without_any_spread_it_is_a_comparison_of_numbers(rule, mean, expected):
    assert rule.claim_and_opposite_p(Estimate(mean, 0.0, 4)) == expected


def test_what_is_no_number_shows_nothing():
    nan, inf = np.nan, np.inf
    for numbers in ((nan, 1, 4), (1, nan, 4), (1, inf, 4), (1, 1, 0), (1, 1, nan), (1, -1, 4)):
        assert WITHIN.claim_and_opposite_p(Estimate(*numbers)) == (1, 1)


def test_holm_by_its_definition():
    assert holm_p_values([0.03, 0.001, 0.02, 0.6]) == pytest.approx([0.06, 0.004, 0.06, 0.6])
    assert holm_p_values([]) == [] and holm_p_values([0.04]) == [0.04]
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm_p_values([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])


@pytest.mark.parametrize(
    ("n", "expected"), [(5, 0.10599), (15, 0.66629), (30, 0.93855), (50, 0.99410)]
)
def test_exact_paired_power_of_the_pass_manual(n, expected):
    rule = EquivalentWithin(19.2)
    assert rule.probability_shown(-4, 25.4558, n, 0.05) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(("gap", "sign"), [(12.0, 1), (8.5, 1), (-1.5, -1)])
def test_one_sided_power_is_that_of_the_noncentral_t(gap, sign):
    rule, n, sd = MORE if sign > 0 else LESS, 8, 3
    away = sign * (gap - rule.value) / (sd / np.sqrt(n))
    bound = stats.t.ppf(0.95, n - 1)
    exact = stats.nct.sf(bound, n - 1, away), stats.nct.cdf(-bound, n - 1, away)
    powers = rule.probability_shown(gap, sd, n, 0.05), rule.probability_refuted(gap, sd, n, 0.05)
    assert powers == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("gap", [4.5, -4.5, 0.0])
def test_probability_of_refuting_equivalence_is_its_share_of_made_up_studies(gap):
    values = np.random.default_rng(2).normal(gap, 3, (20_000, 8))
    error, mean = values.std(axis=1, ddof=1) / np.sqrt(8), np.abs(values.mean(axis=1))
    p = stats.t.sf((mean - 3) / error, 7) + stats.t.sf((mean + 3) / error, 7)
    assert WITHIN.claim_and_opposite_p(estimate(values[0]))[1] == pytest.approx(min(p[0], 1.0))
    refuted = WITHIN.probability_refuted(gap, 3, 8, 0.05)
    assert refuted == pytest.approx((p < 0.05).mean(), abs=0.011)


def test_the_number_needed_is_the_least_with_that_power():
    n = int(power.least_units(WITHIN, 0.0, 4.0, 0.05))
    less, shown = (WITHIN.probability_shown(0, 4, units, 0.05) for units in (n - 1, n))
    assert less < 0.8 <= shown
    assert np.isnan(power.least_units(WITHIN, 3.0, 4.0, 0.05))
    assert np.isnan(power.least_units(WITHIN, 2.999, 40.0, 0.05))


def test_a_new_kind_of_claim_is_one_class(write, monkeypatch):
    """Its region gives tests, words and power, its schema checks its number; no list is changed."""
    monkeypatch.setattr(rules, "_RULES", dict(rules._RULES))

    class Between(rules.MeanRule, name="between"):
        """The mean lies between two numbers."""

        schema: ClassVar = {"type": "array", "items": {"type": "number"}, "minItems": 2}

        @property
        def region(self):
            return Region(*self.value, strict=True)

        def gaps(self, error):
            return np.asarray([5.0])

    known = reader.read_registration(write(document(claim={"between": [2, 8]})))
    assert known.must_recover == ("rtrl", "immediate")
    for mean, outcome in ((5, "supported"), (14, "falsified"), (7.5, "inconclusive")):
        [verdict] = verdicts([known], tables(gaps(mean)))
        assert verdict.outcome == outcome
        assert verdict.threshold == "strictly between 2 and 8 pp" and "has p " in verdict.reason
    assert power.power_by_gap(known, 2.0)["supported"][0] > 0.9
    with pytest.raises(Exception, match=r'"claim.between" must have at least 2 entries'):
        reader.read_registration(write(document(claim={"between": [2]})))
