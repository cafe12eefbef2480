"""Tables of power: the scatter of the results, families, and pairs that fail a guard."""

import numpy as np
import pandas as pd
import pytest
from made_claims import document, estimate, gaps, seed_document, tables

from orla.errors import OrlaError
from orla.prereg import power, reader


def test_the_scatter_is_that_of_the_results(write):
    known = reader.read(write(document()))
    assert power.scatter(known, tables(gaps(0.5, 2.0))) == pytest.approx(2.0)
    assert np.isnan(power.scatter(known, {}))
    errors = document(scale="variance", claim={"equivalent_within": 0.02})
    in_variance = reader.read(write(errors, "errors"))
    assert power.scatter(in_variance, tables(gaps(0.5, 2.0))) == pytest.approx(2.0 / 150)
    pp, variance = (power.table([k], tables(gaps(0.5, 2.0))) for k in (known, in_variance))
    assert set(variance["scale"]) == {"variance"}
    assert variance["true_gap"].to_numpy() == pytest.approx(pp["true_gap"] / 150)
    assert variance["supported"].to_numpy() == pytest.approx(pp["supported"])
    other = tables(gaps(0.5), estimand="heldout")
    assert np.isnan(power.scatter(known, other))
    seeds = reader.read(write(seed_document(), "seeds"))
    table = pd.DataFrame([estimate(gaps(0, 3.0, 5))])
    assert power.scatter(seeds, {"estimates": table}) == pytest.approx(3.0)


def test_the_table_has_a_row_a_gap_and_a_stricter_level_for_a_family(write):
    first = reader.read(write(document(), "first"))
    more = document(primary=False, claim={"more_than": 10})
    rest = [reader.read(write(more, name)) for name in ("second", "third")]
    found = power.table([first, *rest], tables(gaps(0.5, 2.0)))
    assert list(found.columns) == list(power.COLUMNS)
    assert found.groupby("registration")["alpha"].first().to_dict() == pytest.approx(
        {"first": 0.05, "second": 0.025, "third": 0.025}
    )
    sums = found[["supported", "falsified", "inconclusive"]].sum(axis=1)
    assert sums.to_numpy() == pytest.approx(1)
    own = found[found["registration"] == "first"]
    assert own["supported"].is_monotonic_decreasing and own["falsified"].is_monotonic_increasing
    assert set(own["scale"]) == {"pp"} and own["sd"].to_numpy() == pytest.approx(2.0)
    assert power.table([first], {}).empty
    assert not power.table([first], {}, sd=2.0).empty


def test_a_spread_that_is_none_and_a_single_unit_are_refused(write):
    known = reader.read(write(document()))
    for sd in (0.0, -1.0, np.inf):
        with pytest.raises(OrlaError, match="give a positive number"):
            power.against_gap(known, sd)
    single = reader.read(write(seed_document(sample={"seeds": 1}), "single"))
    with pytest.raises(OrlaError, match="has 1 unit; it needs two"):
        power.against_gap(single, 2.0)
    with pytest.raises(OrlaError, match="leave out --failing"):
        power.against_gap(reader.read(write(seed_document(), "seeds")), 2.0, failing=1)


def test_pairs_that_fail_a_guard_take_power_away(write):
    known = reader.read(write(document()))
    twelve, nine = power.against_gap(known, 2.0), power.against_gap(known, 2.0, failing=3)
    assert set(nine["n"]) == {9}
    assert nine["supported"].tolist() == [
        known.rule.shown(gap, 2.0, 9, known.alpha) for gap in nine["true_gap"]
    ]
    assert nine["supported"].iloc[0] < twelve["supported"].iloc[0]
