"""Tables of power: the scatter of the results, families, and pairs that fail a guard."""

import numpy as np
import pandas as pd
import pytest
from made_claims import document, estimate, gaps, seed_document, tables

from orla.errors import OrlaError
from orla.prereg import power, reader


def test_the_scatter_is_that_of_the_results(write):
    known, found = reader.read_registration(write(document())), tables(gaps(0.5, 2.0))
    assert power.gap_sd(known, found) == pytest.approx(2.0)
    assert np.isnan(power.gap_sd(known, {}))
    assert np.isnan(power.gap_sd(known, tables(gaps(0.5), estimand="heldout")))
    given = document(scale="variance", claim={"equivalent_within": 0.02})
    errors = reader.read_registration(write(given))
    assert power.gap_sd(errors, found) == pytest.approx(2.0 / 150)
    pp, variance = (power.power_table([k], found) for k in (known, errors))
    assert set(variance["scale"]) == {"variance"}
    assert variance["true_gap"].to_numpy() == pytest.approx(pp["true_gap"] / 150)
    assert variance["supported"].to_numpy() == pytest.approx(pp["supported"])
    seeds = reader.read_registration(write(seed_document()))
    table = pd.DataFrame([estimate(gaps(0, 3.0, 5))])
    assert power.gap_sd(seeds, {"estimates": table}) == pytest.approx(3.0)


def test_the_table_has_a_row_a_gap_and_a_stricter_level_for_a_family(write):
    first = reader.read_registration(write(document(), "first"))
    more = document(primary=False, claim={"more_than": 10})
    rest = [reader.read_registration(write(more, name)) for name in ("second", "third")]
    found = power.power_table([first, *rest], tables(gaps(0.5, 2.0)))
    assert list(found.columns) == list(power.COLUMNS)
    assert found.groupby("registration")["alpha"].first().to_dict() == pytest.approx(
        {"first": 0.05, "second": 0.025, "third": 0.025}
    )
    sums = found[["supported", "falsified", "inconclusive"]].sum(axis=1)
    assert sums.to_numpy() == pytest.approx(1)
    own = found[found["registration"] == "first"]
    assert own["supported"].is_monotonic_decreasing and own["falsified"].is_monotonic_increasing
    assert set(own["scale"]) == {"pp"} and own["sd"].to_numpy() == pytest.approx(2.0)
    assert power.power_table([first], {}).empty


@pytest.mark.parametrize(
    ("given", "arguments", "words"),
    [
        (document(), {"sd": 0.0}, "give a positive number"),
        (document(), {"sd": np.inf}, "give a positive number"),
        (seed_document(sample={"seeds": 1}), {"sd": 2.0}, "has 1 unit; it needs two"),
        (seed_document(), {"sd": 2.0, "failing_pairs": 1}, "leave out --failing"),
    ],
)
def test_power_refuses_an_sd_that_is_not_positive_a_lone_unit_and_failing_seeds(
    write, given, arguments, words
):
    with pytest.raises(OrlaError, match=words):
        power.power_by_gap(reader.read_registration(write(given)), **arguments)


def test_pairs_that_fail_a_guard_take_power_away(write):
    known = reader.read_registration(write(document()))
    twelve, nine = power.power_by_gap(known, 2.0), power.power_by_gap(known, 2.0, failing_pairs=3)
    assert set(nine["n"]) == {9}
    shown = [known.rule.probability_shown(gap, 2.0, 9, known.alpha) for gap in nine["true_gap"]]
    assert nine["supported"].tolist() == shown and shown[0] < twelve["supported"].iloc[0]
