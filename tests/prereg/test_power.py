"""Power against an exact formula and against counting verdicts of made-up studies."""

import numpy as np
import pandas as pd
import pytest
from made_claims import document, estimate, gaps, seed_document, tables
from tost import power_from_error, tost_power

from orla.errors import OrlaError
from orla.prereg import power, registration
from orla.prereg.claimed import Claim
from orla.prereg.decide import p_values

WITHIN = Claim("equivalent_within", 3.0)


@pytest.mark.parametrize(("n", "gap", "sd"), [(12, 0, 3), (12, 1.5, 3), (5, 0, 2), (20, 0, 6.2)])
def test_equivalence_has_the_exact_power(n, gap, sd):
    found = power.probabilities(WITHIN, gap, sd, n, 0.05)[0]
    assert found == pytest.approx(tost_power(n, gap, sd, 3), abs=2e-3)


@pytest.mark.parametrize(
    ("n", "expected"), [(5, 0.10599), (15, 0.66629), (30, 0.93855), (50, 0.99410)]
)
def test_exact_paired_power_of_the_pass_manual(n, expected):
    assert tost_power(n, -4, 25.4558, 19.2) == pytest.approx(expected, abs=5e-6)
    claim = Claim("equivalent_within", 19.2)
    found = power.probabilities(claim, -4, 25.4558, n, 0.05)[0]
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("n", "expected"), [(8, 0.28871), (15, 0.69339), (30, 0.94326), (50, 0.99458)]
)
def test_exact_two_sample_power_of_the_pass_manual(n, expected):
    error, dof = 18 * np.sqrt(2 / n), 2 * n - 2
    assert power_from_error(-4, error, dof, 19.2) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(
    ("claim", "gap"),
    [
        (WITHIN, 4.5),
        (WITHIN, -4.5),
        (WITHIN, 0.0),
        (Claim("more_than", 10.0), 12.0),
        (Claim("more_than", 10.0), 8.5),
        (Claim("less_than", 0.0), -1.5),
    ],
)
def test_both_probabilities_are_the_shares_of_made_up_studies(claim, gap):
    values = np.random.default_rng(2).normal(gap, 3, (4000, 8))
    errors = values.std(axis=1, ddof=1) / np.sqrt(8)
    ps = [p_values(claim, m, e, 7) for m, e in zip(values.mean(axis=1), errors, strict=True)]
    shares = (np.array(ps) < 0.05).mean(axis=0)
    assert power.probabilities(claim, gap, 3, 8, 0.05) == pytest.approx(shares, abs=0.025)


def test_the_number_needed_is_the_least_with_that_power():
    n = power.needed(WITHIN, 0.0, 4.0, 0.05)
    assert power.probabilities(WITHIN, 0, 4, int(n), 0.05)[0] >= 0.8
    assert power.probabilities(WITHIN, 0, 4, int(n) - 1, 0.05)[0] < 0.8
    assert np.isnan(power.needed(WITHIN, 3.0, 4.0, 0.05))
    assert np.isnan(power.needed(WITHIN, 2.999, 40.0, 0.05))


def test_the_scatter_is_that_of_the_results(write):
    known = registration.read(write(document()))
    assert power.scatter(known, tables(gaps(0.5, 2.0))) == pytest.approx(2.0)
    assert np.isnan(power.scatter(known, {}))
    other = tables(gaps(0.5), estimand="heldout")
    assert np.isnan(power.scatter(known, other))
    seeds = registration.read(write(seed_document(), "seeds"))
    table = pd.DataFrame([estimate(gaps(0, 3.0, 5))])
    assert power.scatter(seeds, {"estimates": table}) == pytest.approx(3.0)


def test_the_table_has_a_row_a_gap_and_a_stricter_level_for_a_family(write):
    first = registration.read(write(document(), "first"))
    more = document(primary=False, claim={"more_than": 10})
    rest = [registration.read(write(more, name)) for name in ("second", "third")]
    found = power.table([first, *rest], tables(gaps(0.5, 2.0)))
    assert list(found.columns) == list(power.COLUMNS)
    assert found.groupby("registration")["alpha"].first().to_dict() == pytest.approx(
        {"first": 0.05, "second": 0.025, "third": 0.025}
    )
    sums = found[["supported", "falsified", "inconclusive"]].sum(axis=1)
    assert sums.to_numpy() == pytest.approx(1)
    own = found[found["registration"] == "first"]
    assert own["supported"].is_monotonic_decreasing and own["falsified"].is_monotonic_increasing
    assert power.table([first], {}).empty
    assert not power.table([first], {}, sd=2.0).empty


def test_a_spread_that_is_none_and_a_single_unit_are_refused(write):
    known = registration.read(write(document()))
    for sd in (0.0, -1.0, np.inf):
        with pytest.raises(OrlaError, match="give a positive number of pp"):
            power.against_gap(known, sd)
    single = registration.read(write(seed_document(sample={"seeds": 1}), "single"))
    with pytest.raises(OrlaError, match="has 1 unit; it needs two"):
        power.against_gap(single, 2.0)
    with pytest.raises(OrlaError, match="leave out --failing"):
        power.against_gap(registration.read(write(seed_document(), "seeds")), 2.0, failing=1)


def test_pairs_that_fail_a_guard_take_power_away(write):
    known = registration.read(write(document()))
    twelve, nine = power.against_gap(known, 2.0), power.against_gap(known, 2.0, failing=3)
    assert set(nine["n"]) == {9}
    claim, alpha = known.claim, known.alpha
    assert nine["supported"].tolist() == [
        power.probabilities(claim, gap, 2.0, 9, alpha)[0] for gap in nine["true_gap_pp"]
    ]
    assert nine["supported"].iloc[0] < twelve["supported"].iloc[0]
