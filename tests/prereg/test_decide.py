"""p values against SciPy's own tests, by counting, and Holm's correction by its definition."""

import numpy as np
import pytest
from scipy import stats

from orla.prereg.claimed import Claim
from orla.prereg.decide import holm, p_values
from orla.statistics.equivalence import tost_paired

WITHIN, MORE, LESS = (
    Claim("equivalent_within", 3.0),
    Claim("more_than", 10.0),
    Claim("less_than", 0.0),
)


def given(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(values.size), values.size - 1


@pytest.mark.parametrize("mean", [-12.0, -3.0, 0.0, 2.0, 9.0, 11.0])
def test_the_p_values_are_those_of_other_programs(mean):
    values = np.random.default_rng(5).normal(mean, 4, 12)
    assert p_values(WITHIN, *given(values))[0] == pytest.approx(tost_paired(values, -3, 3).p)
    for claim, above, below in ((MORE, "greater", "less"), (LESS, "less", "greater")):
        p, opposite = p_values(claim, *given(values))
        assert p == pytest.approx(stats.ttest_1samp(values, claim.value, alternative=above).pvalue)
        assert opposite == pytest.approx(
            stats.ttest_1samp(values, claim.value, alternative=below).pvalue
        )


@pytest.mark.parametrize(("true", "sd"), [(0, 200), (3, 4), (3, 40), (-3, 1), (1, 10)])
def test_equivalence_is_not_called_false_too_often(true, sd):
    """At a true gap within the margin the opposite is shown in at most 5 % of made-up studies."""
    values = np.random.default_rng(7).normal(true, sd, (4000, 6))
    means, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(6)
    shown = [p_values(WITHIN, m, e, 5)[1] < 0.05 for m, e in zip(means, errors, strict=True)]
    assert np.mean(shown) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.parametrize(
    ("claim", "mean", "expected"),
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
def test_without_any_spread_it_is_a_comparison_of_numbers(claim, mean, expected):
    assert p_values(claim, mean, 0.0, 4) == expected


@pytest.mark.parametrize(
    "numbers",
    [(np.nan, 1, 4), (1, np.nan, 4), (1, np.inf, 4), (1, 1, 0), (1, 1, np.nan), (1, -1, 4)],
)
def test_what_is_no_number_shows_nothing(numbers):
    assert p_values(WITHIN, *numbers) == (1, 1)


def test_holm_by_its_definition():
    p = [0.03, 0.001, 0.02, 0.6]
    assert holm(p) == pytest.approx([0.06, 0.004, 0.06, 0.6])
    assert holm([]) == [] and holm([0.04]) == [0.04]
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
