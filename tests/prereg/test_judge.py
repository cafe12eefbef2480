"""The table of verdicts: locks, amendments, words, and what is displayed on simulated data."""

import datetime
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_claims import BINDS, gaps, tables

from orla.errors import OrlaError
from orla.prereg import reader, rows
from orla.prereg.amendments import Amendment
from orla.prereg.judge import VERDICT_COLUMNS, verdict_table
from orla.prereg.lock import Lock
from orla.prereg.region import Region
from orla.prereg.registration import Check

DAY = datetime.date(2026, 11, 21)
NAMES = ("small-gap", "another")
judged = partial(verdict_table, study="made", bindings=dict.fromkeys(NAMES, BINDS))


def test_verdicts_carry_outcome_lock_amendments_and_history(document, write):
    first = reader.read_registration(write(document))
    document |= {"primary": False, "conditions": document["conditions"] | {"split": "30-70"}}
    second = reader.read_registration(write(document, "another"))
    seen = Amendment("small-gap.yaml", "c" * 64, "2026-11-22", "x", "x", True, "falsified")
    locks = {
        "small-gap": Lock("small-gap.yaml", "a" * 64, DAY, "c" * 64, (seen,), "git"),
        "another": Lock("another.yaml", "b" * 64, DAY, "b" * 64),
    }
    table = judged([first, second], tables(gaps(0.5)), locks)
    assert list(table.columns) == VERDICT_COLUMNS
    assert list(table["outcome"]) == ["supported", "untestable"]
    assert list(table["primary"]) == list(table["amended"]) == [True, False]
    assert list(table["lock_sha256"]) == ["a" * 64, "b" * 64]
    assert list(table["judged_sha256"]) == ["c" * 64, "b" * 64]
    assert list(table["history"]) == ["git", "not checked"]
    for row, split in zip(table["row"], ("80-20", "30-70"), strict=True):
        assert row.startswith("over_pairs: ") and f"split = {split}" in row
    assert list(table["former"]) == ["falsified", ""]
    known = "made up: none seen by nobody (It did not exist.)"
    amended = f"{known}; amended on 2026-11-22: results had been seen"
    assert list(table["results_seen"]) == [amended, known]
    assert table["p"].isna().tolist() == table["p_holm"].isna().tolist() == [False, True]
    assert table["reason"][0].endswith(". The gradient buys nothing.")
    assert table["registered_on"].eq("2026-11-21").all()
    assert table["estimate"].isna().tolist() == [False, True] and table["n"].tolist() == [12, 0]
    with pytest.raises(OrlaError, match="another is not locked"):
        judged([first, second], tables(gaps(0.5)), {"small-gap": locks["small-gap"]})
    mixed = judged([first], tables(gaps(0.5)), locks, provenance_difference="two data sets")
    assert list(mixed["outcome"]) == ["untestable"]
    assert mixed["reason"][0] == "two data sets. The runs cannot tell."


def test_what_an_amendment_took_out_of_the_study_counts_in_its_family(document, write):
    """Else losing members could be retired once results are seen, and the others corrected less."""
    known = [reader.read_registration(write(document))]
    known += [reader.read_registration(write(document | {"primary": False}, "another"))]
    known += [reader.read_registration(write(document | {"studies": ["retired"]}, "third"))]
    amendment = Amendment("third.yaml", "c" * 64, "2026-11-22", "The study.", "It lost.", True)
    locks = {each.name: Lock(f"{each.name}.yaml", "a" * 64, DAY) for each in known}
    for amendments, factor in (((), 1), ((amendment,), 2)):
        locks["third"] = Lock("third.yaml", "a" * 64, DAY, "c" * 64, amendments)
        table = judged(known, tables(gaps(0.5)), locks).set_index("registration")
        assert list(table.index) == [*NAMES]
        assert (table["p_holm"] / table["p"]).tolist() == pytest.approx([1, factor])
        told = table["limits"].str.contains("its family counts 1 amended registrations that are no")
        assert told.tolist() == [False, factor == 2]


@pytest.mark.parametrize(
    ("outcome", "gap", "shown"),
    [
        ("supported", 0.5, "shown in simulation"),
        ("falsified", 6.0, "not shown in simulation"),
        ("inconclusive", 2.5, "inconclusive"),
    ],
)
def test_on_simulated_data_the_words_say_so(document, write, outcome, gap, shown):
    locks = {"small-gap": Lock("small-gap.yaml", "a" * 64, DAY)}
    real, made_up = {"simulated": False}, {"simulated": True}
    data = {"mine/indy/50-50": made_up, "real/indy/50-50": real}
    data |= {"both/indy/50-50": {"mixed": [real, made_up]}}
    for task, words in (("mine", shown), ("real", outcome), ("both", shown)):
        known = reader.read_registration(write(document | {"task": task}))
        table = judged([known], tables(gaps(gap), task=task), locks, datasets=data)
        assert (table["outcome"][0], table["words"][0]) == (outcome, words)


def test_every_value_of_a_check_counts_not_the_first_alone():
    """Two rows of one condition: the first holds, the second fails."""
    table = pd.DataFrame({"optimizer": ["adam", "adam"], "edge": [False, True]})
    check = Check("inside the grid", "conditions", {"optimizer": ["adam"]}, ("edge",), None, False)
    [problem] = rows.check_failures(check, table)
    assert problem.endswith('grid" fails: edge is true where optimizer = adam, not false')
    assert rows.check_failures(check, table[:1]) == []
    [problem] = rows.check_failures(check, table[:0])
    assert problem.startswith("conditions has no row with optimizer = adam (it has no row of")


AT_LEAST_0, UP_TO_3 = Region(low=0.0), Region(low=0.0, high=3.0)


@pytest.mark.parametrize(
    ("low", "high", "region", "holds"),
    [
        (1.0, 2.0, UP_TO_3, True),
        (1.0, 4.0, UP_TO_3, False),
        (-1.0, 2.0, UP_TO_3, False),
        (2.0, 1.0, UP_TO_3, False),
        (1.0, np.inf, AT_LEAST_0, False),
        (np.nan, 1.0, AT_LEAST_0, False),
    ],
)
def test_an_interval_lies_in_its_region_whole_ordered_and_finite(low, high, region, holds):
    table = pd.DataFrame({"optimizer": ["adam"], "low": [low], "high": [high]})
    check = Check("wide", "ratios", {"optimizer": ["adam"]}, ("low", "high"), region, None)
    assert (rows.check_failures(check, table) == []) == holds
