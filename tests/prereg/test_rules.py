"""Rules: p values and power against other programs and by counting, and a rule from outside."""

from typing import ClassVar

import numpy as np
import pytest
from made_claims import document, gaps, tables, verdicts
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired
from tost import tost_power

from orla.prereg import power, reader
from orla.prereg.judge import holm
from orla.prereg.region import Region
from orla.prereg.rules import base
from orla.prereg.rules.base import Estimate, rules
from orla.statistics.equivalence import p_above

WITHIN, MORE, LESS = (
    rules()[name](value)
    for name, value in (("equivalent_within", 3.0), ("more_than", 10.0), ("less_than", 0.0))
)


def estimate(values):
    return Estimate(values.mean(), values.std(ddof=1) / np.sqrt(values.size), values.size - 1)


@pytest.mark.parametrize("mean", [-12.0, -3.0, 0.0, 2.0, 9.0, 11.0])
def test_the_p_values_are_those_of_other_programs(mean):
    values = np.random.default_rng(5).normal(mean, 4, 12)
    assert WITHIN.p_values(estimate(values))[0] == pytest.approx(
        ttost_paired(values, values * 0, -3, 3)[0]
    )
    for rule, sides in ((MORE, ("greater", "less")), (LESS, ("less", "greater"))):
        assert rule.p_values(estimate(values)) == pytest.approx(
            [stats.ttest_1samp(values, rule.value, alternative=side).pvalue for side in sides]
        )


@pytest.mark.parametrize(("true", "sd"), [(0, 200), (3, 4), (3, 40), (-3, 1), (1, 10)])
def test_equivalence_is_not_called_false_too_often(true, sd):
    """At a true gap within the margin the opposite is shown in at most 5 % of made-up studies."""
    values = np.random.default_rng(7).normal(true, sd, (4000, 6))
    shown = [WITHIN.p_values(estimate(each))[1] < 0.05 for each in values]
    assert np.mean(shown) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


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
    assert rule.p_values(Estimate(mean, 0.0, 4)) == expected


@pytest.mark.parametrize(
    "numbers",
    [(np.nan, 1, 4), (1, np.nan, 4), (1, np.inf, 4), (1, 1, 0), (1, 1, np.nan), (1, -1, 4)],
)
def test_what_is_no_number_shows_nothing(numbers):
    assert WITHIN.p_values(Estimate(*numbers)) == (1, 1)


def test_holm_by_its_definition():
    p = [0.03, 0.001, 0.02, 0.6]
    assert holm(p) == pytest.approx([0.06, 0.004, 0.06, 0.6])
    assert holm([]) == [] and holm([0.04]) == [0.04]
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])


@pytest.mark.parametrize(("n", "gap", "sd"), [(12, 0, 3), (12, 1.5, 3), (5, 0, 2), (20, 0, 6.2)])
def test_equivalence_has_the_exact_power(n, gap, sd):
    assert WITHIN.shown(gap, sd, n, 0.05) == pytest.approx(tost_power(n, gap, sd, 3), abs=2e-3)


@pytest.mark.parametrize(
    ("n", "expected"), [(5, 0.10599), (15, 0.66629), (30, 0.93855), (50, 0.99410)]
)
def test_exact_paired_power_of_the_pass_manual(n, expected):
    assert tost_power(n, -4, 25.4558, 19.2) == pytest.approx(expected, abs=5e-6)
    rule = rules()["equivalent_within"](19.2)
    assert rule.shown(-4, 25.4558, n, 0.05) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("rule", "gap"),
    [(WITHIN, 4.5), (WITHIN, -4.5), (WITHIN, 0.0), (MORE, 12.0), (MORE, 8.5), (LESS, -1.5)],
)
def test_both_probabilities_are_the_shares_of_made_up_studies(rule, gap):
    values = np.random.default_rng(2).normal(gap, 3, (4000, 8))
    shares = (np.array([rule.p_values(estimate(each)) for each in values]) < 0.05).mean(axis=0)
    powers = rule.shown(gap, 3, 8, 0.05), rule.refuted(gap, 3, 8, 0.05)
    assert powers == pytest.approx(shares, abs=0.025)


def test_the_number_needed_is_the_least_with_that_power():
    n = int(power.needed(WITHIN, 0.0, 4.0, 0.05))
    assert WITHIN.shown(0, 4, n, 0.05) >= 0.8 > WITHIN.shown(0, 4, n - 1, 0.05)
    assert np.isnan(power.needed(WITHIN, 3.0, 4.0, 0.05))
    assert np.isnan(power.needed(WITHIN, 2.999, 40.0, 0.05))


def test_a_new_kind_of_claim_is_one_class(write, monkeypatch):
    """Its number is checked, it is judged, told in words, and has power: no list is changed."""
    monkeypatch.setattr(base, "_RULES", dict(base._RULES))

    class Between(base.MeanRule, name="between"):
        """The mean lies between two numbers, by two one-sided tests."""

        schema: ClassVar = {"type": "array", "items": {"type": "number"}, "minItems": 2}

        @property
        def region(self):
            return Region(*self.value, strict=True)

        def tests(self, mean, error, dof):
            low, high = self.value
            above, below = (
                p_above(mean - low, error, dof),
                p_above(high - mean, error, dof),
            )
            outside = p_above(max(low - mean, mean - high), error, dof)
            return max(above, below), outside

        def shown(self, gap, sd, n, alpha):
            error, _, half = base.seen_errors(sd, n, alpha)
            low, high = (
                (bound - gap) / error for bound in (self.value[0] + half, self.value[1] - half)
            )
            return float(np.clip(stats.norm.sf(low) - stats.norm.sf(high), 0, 1).mean())

        def refuted(self, gap, sd, n, alpha):
            return 0.0

        def gaps(self, error):
            return np.asarray(self.value)

    known = reader.read(write(document(claim={"between": [2, 8]})))
    assert known.must_recover == ("rtrl", "immediate")
    for mean, outcome in ((5, "supported"), (14, "falsified"), (7.5, "inconclusive")):
        [verdict] = verdicts([known], tables(gaps(mean)))
        assert verdict.outcome == outcome
        assert verdict.threshold == "strictly between 2 and 8 pp" and "has p " in verdict.reason
    assert power.against_gap(known, 2.0, gaps=[5.0])["supported"][0] > 0.9
    with pytest.raises(Exception, match=r'"claim.between" must have at least 2 entries'):
        reader.read(write(document(claim={"between": [2]})))
