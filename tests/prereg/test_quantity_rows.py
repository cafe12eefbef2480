"""Registrations about a quantity: every outcome, and every reason not to judge."""

import datetime

import numpy as np
import pandas as pd
import pytest
from made_claims import BINDS, GONE, document, gaps, tables
from made_claims import quantity_pairs as by_pair
from made_claims import quantity_row as row
from made_claims import verdicts as judge

from orla.errors import OrlaError
from orla.prereg import evidence, reader
from orla.prereg.judge import verdict_table
from orla.prereg.lock import Lock
from orla.prereg.registration import OTHERS, QUANTITY_PAIRS


def about(unit="seed", **changes):
    """A registration's document about the quantity "turn"."""
    given = document(quantity="turn", scale="", claim={"more_than": 0.5}, unit=unit)
    given = {k: v for k, v in given.items() if k not in GONE}
    pairs = {"pairs": 12} if unit == "pair" else {}
    given["sample"] = {"seeds": 5 if unit == "seed" else 3} | pairs
    given["exclusions"] = {"max_diverged": 0} | ({"max_failing": 2} if pairs else {})
    return given | changes


@pytest.fixture
def judged(write):
    def judged(document, *rows, binding=BINDS, values=None):
        registration = reader.read_registration(write(document))
        tables = {"quantities": pd.DataFrame(rows)}
        tables[QUANTITY_PAIRS] = pd.concat([by_pair(row, values) for row in rows])
        return judge([registration], tables, {"small-gap": binding})[0]

    return judged


@pytest.mark.parametrize(
    ("networks", "suffix"),
    [(["rnn-window-50"], " (rnn-window-50)"), (["lstm", "rnn"], ""), ([], "")],
)
def test_a_verdict_names_its_network_where_it_has_one(networks, suffix, write):
    """Conditions of a quantity stand in the config, not in the registration."""
    claim = reader.read_registration(write(about()))
    locks = {claim.name: Lock(f"{claim.name}.yaml", "a" * 64, datetime.date(2026, 11, 21))}
    bindings = {claim.name: BINDS | {"networks": networks}}
    tables = {"quantities": pd.DataFrame([row(0.8)])}
    told = verdict_table([claim], tables, locks, study=claim.studies[0], bindings=bindings)
    [verdict] = told.to_dict("records")
    assert verdict["title"] == claim.title + suffix
    assert verdict["network"] == suffix.strip(" ()")


@pytest.mark.parametrize(
    ("unit", "n", "claim", "mean", "outcome"),
    [
        ("seed", 5, {"more_than": 0.5}, 0.8, "supported"),
        ("pair", 12, {"more_than": 0.5}, 0.52, "inconclusive"),
        ("seed", 5, {"less_than": 0.5}, 0.2, "supported"),
        ("pair", 12, {"equivalent_within": 0.2}, 0.8, "falsified"),
    ],
)
def test_the_interval_decides(judged, unit, n, claim, mean, outcome):
    verdict = judged(about(unit, claim=claim), row(mean, n=n, unit=unit))
    assert (verdict.outcome, verdict.n) == (outcome, n)
    over = f"{n} seeds and their choice of rates" if unit == "seed" else f"{n} pairs"
    assert verdict.reason.startswith(f"turn is {mean:g}, 90 % t interval over {over} [")
    assert f"90 % t interval over {'seeds' if unit == 'seed' else 'pairs'}" in verdict.limits
    assert verdict.low < mean < verdict.high
    assert "not judged without one pair" not in verdict.limits
    if unit == "pair":  # as of a rank correlation along pairs, of which no pair has a value
        verdict = judged(about(unit, claim=claim), row(mean, n=n, unit=unit), values=[])
        assert verdict.limits.endswith(
            "; not judged without one pair, because it is no mean of the pairs' values"
        )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_seeds": 500}, "500 seeds: not the 5 registered"),
        ({"n_diverged": 1, "n_seeds": 4}, "1 diverged, and a quantity has no value for them"),
        ({"scale": "pp"}, 'has scale "pp", and "" is registered'),
        ({"unit": "pair"}, 'has unit "pair", and "seed" is registered'),
        ({"alpha": 0.1}, 'has alpha "0.1", and "0.05" is registered'),
        ({"guards": "the choice of the rate failed: run more seeds"}, "the choice of the rate fai"),
        ({"guards": np.nan}, "its guards are missing"),
        ({"value": np.nan}, "turn has no finite t interval"),
        ({"n_failing": np.nan}, "n_failing of turn: no count"),
        ({"n_pairs": 2}, "2 pairs: not the 1 registered"),
        ({"quantity": "other"}, "quantities has no row with quantity = turn (it has other)"),
    ],
)
def test_a_row_that_is_not_what_was_registered_is_untestable(judged, changes, words):
    verdict = judged(about(), row(0.9, **changes))
    assert verdict.outcome == "untestable" and words in verdict.reason


def test_an_interval_that_its_standard_error_contradicts_is_refused(judged):
    with pytest.raises(OrlaError, match=r"quantities has the interval .*its standard error gives"):
        judged(about(), row(0.9, t90_high=3.0))


OUTSIDE = {"name": "moves", "why": "Movement.", "result": "quantities"}
OUTSIDE |= {"where": {"quantity": "spread"}, "column": ["t90_low", "t90_high"]}
OUTSIDE |= {"region": {"outside": [-1, 1]}}


@pytest.mark.parametrize(
    ("value", "sd", "outcome"),
    [
        (3.0, 0.1, "supported"),
        (-3.0, 0.1, "supported"),
        (0.0, 0.1, "untestable"),
        (0.0, 90.0, "untestable"),
        (np.nan, 0.1, "untestable"),
    ],
)
def test_a_check_may_be_about_a_whole_interval(judged, value, sd, outcome):
    given = about(manipulation_checks=[OUTSIDE])
    verdict = judged(given, row(0.9), row(value, sd, quantity="spread"))
    assert verdict.outcome == outcome
    if outcome != "supported":
        assert 'check "moves" fails: t90_low to t90_high is ' in verdict.reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_pairs": 2}, "2 pairs: not the 12 registered"),
        ({"n_without_meaning": 1}, "13 pairs: not the 12 registered"),
        ({"n_seeds": 1}, "1 seeds: not the 3 registered"),
        ({"n_diverged": 200}, "200 diverged"),
        ({"n_failing": 3, "guards": "a01: few updates"}, "3 pairs fail a guard, more than the 2"),
        ({"alpha": 0.4}, 'spread has alpha "0.4", and "0.05" is registered'),
        ({"unit": "seed"}, 'spread has unit "seed", and "pair" is registered'),
        ({"n_seeds": np.nan}, "n_seeds of spread: no count"),
    ],
)
def test_what_a_check_reads_has_the_sample_registered(judged, changes, words):
    given = about("pair", manipulation_checks=[OUTSIDE])
    own, other = row(0.9, n=12, unit="pair"), row(3.0, n=12, unit="pair", quantity="spread")
    verdict = judged(given, own, other | changes)
    assert verdict.outcome == "untestable" and 'check "moves": ' in verdict.reason
    assert words in verdict.reason


def test_a_check_in_a_claim_about_a_gap_needs_the_registered_sample(write):
    given = document(manipulation_checks=[OUTSIDE])
    registration = reader.read_registration(write(given))
    table = pd.DataFrame([row(3.0, n=12, unit="pair", quantity="spread", n_seeds=2)])
    read = evidence.read_evidence(registration, tables(gaps(0.5)) | {"quantities": table}, BINDS)
    assert any("2 seeds: not the 3 registered" in text for text in read.obstacles)


def test_a_check_reads_rows_of_its_own_task_alone(write):
    """A row of another task beside it neither saves nor fails it."""
    check = {"name": "moves", "why": "Movement.", "result": "conditions", "column": "moved"}
    check |= {"where": {"optimizer": "adam"}, "region": {"at_least": 1}}
    registration = reader.read_registration(write(document(manipulation_checks=[check])))
    for other, value in (("elsewhere", 2.0), ("many-arrays", 0.0)):
        rows = [{"optimizer": "adam", "task": "elsewhere", "moved": 2 - value}]
        rows += [{"optimizer": "adam", "task": other, "moved": value}]
        found = tables(gaps(0.5)) | {"conditions": pd.DataFrame(rows)}
        read = evidence.read_evidence(registration, found, BINDS)
        [problem] = read.obstacles
        absent = "conditions has no row with optimizer = adam (it has no row of this task and pair)"
        assert problem == absent if other == "elsewhere" else "moved is 0 where" in problem


def sound(value, half):
    """The columns of a quantity without the pairs that fail a guard."""
    numbers = {"value": value, "t90_low": value - half, "t90_high": value + half}
    return {f"{name}_without_failing": number for name, number in numbers.items()}


def test_a_verdict_decided_by_pairs_that_fail_a_guard_is_inconclusive(judged):
    told = "a01: the choice of the rate failed: run more seeds"
    given = row(0.9, n=12, unit="pair", n_failing=2, guards=told)
    same, other = sound(0.9, 0.05), sound(0.5, 0.1)
    assert judged(about("pair"), given | same).outcome == "supported"
    verdict = judged(about("pair"), given | other)
    assert verdict.outcome == "inconclusive" and "without the pairs that fail" in verdict.reason
    verdict = judged(about("pair"), given | same | {"n_failing": 3})
    assert verdict.outcome == "untestable" and "3 pairs fail a guard" in verdict.reason


def test_pairs_in_which_recovery_has_no_meaning_are_counted_as_failing(judged, write):
    given = row(0.9, n=11, unit="pair", n_without_meaning=1, n_failing=2, **sound(0.9, 0.05))
    verdict = judged(about("pair"), given)
    assert (verdict.outcome, verdict.n) == ("supported", 11)
    assert "2 of 12 pairs fail a guard" in verdict.reason
    registration = reader.read_registration(write(about("pair")))
    results = {"quantities": pd.DataFrame([given]), QUANTITY_PAIRS: by_pair(given)}
    read = evidence.read_evidence(registration, results, BINDS)
    # Ten pairs are left: of the two that fail, one has no value.
    assert read.variants[OTHERS["without_failing"]].dof == 9
    verdict = judged(about("pair"), given | {"n_without_meaning": 0})
    assert verdict.outcome == "untestable" and "11 pairs: not the 12 registered" in verdict.reason
    given |= {"n_failing": 3, "guards": "b: fewer than 20 updates"}
    assert judged(about("pair"), given).outcome == "untestable"
