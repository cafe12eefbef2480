"""Version 1: every outcome, and every reason for it, is reached; none but the tables decides."""

import datetime
import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from orla.errors import OrlaError
from orla.prereg import agreement, reader, rows
from orla.prereg import judge as judging
from orla.prereg.amendments import Amendment
from orla.prereg.judge import VERDICT_COLUMNS, verdict_table
from orla.prereg.lock import Lock
from orla.prereg.region import Region
from orla.prereg.registration import Check

DAY = datetime.date(2026, 11, 21)


def judge(registration, tables, assumed=None):
    """The verdict on one registration."""
    return SimpleNamespace(**judging.judge_registrations([registration], tables, assumed)[0])


@pytest.fixture
def judged(document, write, tables):
    def judged():
        return judge(reader.read_registration(write(document)), tables)

    return judged


@pytest.fixture
def second(document, tables):
    """A second criterion, about LARS, that the tables do not hinder."""
    where = {"optimizer": "lars", "split": "50-50"}
    document["criteria"].append({**document["criteria"][0], "where": where})
    tables["gaps"]["n_seeds"] = [20, 20, 19]
    tables["gaps"]["n_diverged"] = [0, 0, 1]
    return document["criteria"][1]


def set_interval(tables, low, high, estimate=None, row=0):
    estimate = (low + high) / 2 if estimate is None else estimate
    tables["gaps"].loc[row, ["gap_pp", "low_pp", "high_pp"]] = [estimate, low, high]


def numbers(verdict):
    return verdict.estimate, verdict.low, verdict.high, verdict.n


@pytest.mark.parametrize(
    ("low", "high", "strict", "outcome"),
    [
        (-1.0, 1.5, True, "supported"),
        (-3.0, 1.0, True, "inconclusive"),
        (-3.0, 3.0, True, "inconclusive"),
        (-3.0, 3.0, False, "supported"),
        (2.0, 4.0, True, "inconclusive"),
        (3.0, 4.0, True, "falsified"),
        (3.0, 4.0, False, "inconclusive"),
        (-9.0, -3.0, True, "falsified"),
        (7.0, 7.0, True, "falsified"),
    ],
)
def test_the_interval_decides(judged, tables, document, low, high, strict, outcome):
    document["criteria"][0]["region"]["strict"] = strict
    set_interval(tables, low, high)
    verdict = judged()
    assert verdict.outcome == outcome
    assert numbers(verdict)[1:] == (low, high, 20)
    assert verdict.threshold == "strictly " * strict + "between -3 and 3 pp"
    assert "95 % bootstrap interval over seeds" in verdict.reason and "n = 20" in verdict.reason


def lose(table, column, values):
    def change(tables):
        tables[table] = tables[table][~tables[table][column].isin(values)]

    return change


def put(table, row, column, value):
    def change(tables):
        known = tables[table].get(column)
        tables[table][column] = None if known is None else known.astype(object)
        tables[table].loc[row, column] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lose("gaps", "split", ["50-50"]), "gaps has no row with split = 50-50 (it has 80-20)"),
        (lose("gaps", "optimizer", ["adam"]), "gaps has no row with optimizer = adam"),
        (
            lose("gaps", "split", ["50-50", "80-20"]),
            "gaps has no row with optimizer = adam (it has no row of this task and pair)",
        ),
        (lose("conditions", "learner", ["rtrl"]), "conditions has no row with learner = rtrl"),
        (put("gaps", 0, "n_seeds", 17), "n = 17, fewer than the 18 registered"),
        (put("gaps", 0, "n_seeds", np.nan), "n_seeds is nan, no count"),
        (put("gaps", 0, "n_seeds", 19.5), "n_seeds is 19.5, no count"),
        (put("gaps", 0, "n_seeds", 19), "n = 19 and 0 diverged: not the 20 registered"),
        (put("gaps", 0, "n_diverged", 1), "n = 20 and 1 diverged: not the 20 registered"),
        (put("gaps", 0, "n_diverged", np.nan), "n_diverged is nan, no count"),
        (put("gaps", 0, "n_diverged", -1), "n_diverged is -1, no count"),
        (put("gaps", 0, "alpha", 0.45), "gaps was made at alpha 0.45, and 0.05 is registered"),
        (
            put("gaps", 0, "learner_full", "tbptt-50-50"),
            "gaps compares tbptt-50-50, and rtrl and immediate are registered",
        ),
        (put("gaps", 0, "n_diverged", 3), "3 diverged, more than the 2 registered"),
        (put("gaps", 0, "unreliable", True), "gap_pp is unreliable"),
        (put("gaps", 0, "low_pp", np.nan), "gap_pp has no finite 95 % bootstrap interval over se"),
        (put("gaps", 0, "high_pp", np.inf), "gap_pp has no finite 95 % bootstrap interval over s"),
        (
            put("conditions", 1, "low_percent", -2.0),
            'check "both adapt" fails: low_percent is -2 where optimizer = adam, '
            "learner = immediate, not above 0",
        ),
        (put("conditions", 0, "low_percent", np.nan), "low_percent is nan where"),
        (put("conditions", 0, "low_percent", "much"), "low_percent is much where"),
        (
            put("conditions", 0, "edge", True),
            'check "inside the grid" fails: edge is true where optimizer = adam, not false',
        ),
    ],
)
def test_every_obstacle_makes_it_untestable(judged, tables, change, reason):
    change(tables)
    verdict = judged()
    assert verdict.outcome == "untestable"
    assert reason in verdict.reason and "\n" not in verdict.reason


def test_what_was_registered_as_least_and_most_is_enough(judged, tables, document):
    put("gaps", 0, "n_seeds", 18)(tables)
    put("gaps", 0, "n_diverged", 2)(tables)
    verdict = judged()
    assert (verdict.outcome, verdict.n) == ("supported", 18)
    # Without a count of those that diverged none may be added either.
    del document["criteria"][0]["columns"]["diverged"]
    assert judged().outcome == "supported"
    put("gaps", 0, "n_seeds", 21)(tables)
    assert "n = 21, more than the 20 registered, and none is added" in judged().reason


def test_every_value_of_a_check_counts_not_the_first_alone(judged, tables):
    """Two rows of one condition: the first holds, the second fails."""
    rows = tables["conditions"]
    again = rows.iloc[[0]].assign(low_percent=-7.0, edge=True)
    tables["conditions"] = pd.concat([rows, again], ignore_index=True)
    verdict = judged()
    assert verdict.outcome == "untestable"
    assert "low_percent is -7" in verdict.reason and "edge is true" in verdict.reason


@pytest.mark.parametrize("blocked", [0, 2])
def test_an_untestable_verdict_holds_the_numbers_of_the_criterion_that_is_blocked(
    judged, tables, second, blocked
):
    second["region"] = {"at_least": 40, "strict": True}
    assert judged().outcome == "supported"
    put("gaps", blocked, "unreliable", True)(tables)
    verdict = judged()
    assert verdict.outcome == "untestable"
    row = tables["gaps"].loc[blocked, ["gap_pp", "low_pp", "high_pp", "n_seeds"]]
    assert numbers(verdict) == tuple(row)
    assert verdict.threshold == {0: "strictly between -3 and 3 pp", 2: "above 40 pp"}[blocked]


def test_all_obstacles_are_told_before_falsification_with_the_first_numbers(judged, tables):
    set_interval(tables, 30, 40)
    assert judged().outcome == "falsified"
    put("conditions", 0, "edge", True)(tables)
    verdict = judged()
    assert verdict.outcome == "untestable" and numbers(verdict) == (35, 30, 40, 20)
    put("gaps", 0, "n_seeds", 3)(tables)
    put("gaps", 0, "n_diverged", 17)(tables)
    reason = judged().reason
    assert all(words in reason for words in ("n = 3", "17 diverged", "inside the grid"))


def test_rows_and_columns_that_are_not_named_do_not_matter(judged, tables, document):
    put("gaps", 1, "unreliable", True)(tables)
    put("gaps", 2, "n_seeds", 0)(tables)
    put("conditions", 2, "low_percent", -99.0)(tables)
    assert judged().outcome == "supported"
    for column in ("diverged", "unreliable"):
        del document["criteria"][0]["columns"][column]
    put("gaps", 0, "unreliable", True)(tables)
    put("gaps", 0, "n_diverged", 15)(tables)
    assert judged().outcome == "supported"


@pytest.mark.parametrize(
    "places", itertools.product(["inside", "astride", "outside"], repeat=2), ids=" ".join
)
def test_two_criteria(judged, tables, second, places):
    """Supported when all are inside, falsified when any is outside, inconclusive otherwise."""
    intervals = {"inside": (-1, 1), "astride": (2, 4), "outside": (5, 6)}
    for row, place in zip((0, 2), places, strict=True):
        set_interval(tables, *intervals[place], row=row)
    worst = max(places, key=list(intervals).index)
    outcome = {"inside": "supported", "astride": "inconclusive", "outside": "falsified"}[worst]
    verdict = judged()
    assert verdict.outcome == outcome
    assert (verdict.low, verdict.high) == intervals[worst]
    if outcome == "supported":  # the numbers of the first, the words of both
        assert verdict.n == 20 and "n = 20" in verdict.reason and "n = 19" in verdict.reason


def test_given_keys_choose_rows_where_a_criterion_names_none(document, write, tables):
    """Rows of another task stand beside those meant; a column that is named stays as named."""
    others = {name: table.copy() for name, table in tables.items()}
    others["gaps"][["gap_pp", "low_pp", "high_pp"]] = [9.0, 8.0, 10.0]
    others["conditions"]["low_percent"] = -1.0
    both = {
        name: pd.concat([table.assign(task="mine"), others[name].assign(task="other")])
        for name, table in tables.items()
    }
    found = reader.read_registration(write(document))
    with pytest.raises(OrlaError, match="2 rows of gaps"):
        judge(found, both)
    assert judge(found, both, {"task": "mine", "pair": "nowhere"}).outcome == "supported"
    assert judge(found, both, {"task": "other"}).outcome == "untestable"
    document["criteria"][0]["where"]["task"] = "other"
    named = judge(reader.read_registration(write(document)), both, {"task": "mine"})
    assert (named.outcome, named.estimate) == ("falsified", 9.0)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("where", {"optimizer": "adam"}, r"small-gap: 2 rows of gaps .* name one by split"),
        ("columns", {"low": "high_pp", "high": "low_pp"}, "the two columns are swapped"),
        ("columns", {"high": "split"}, "\"split\" of gaps holds '50-50', not a number"),
        ("columns", {"high": "hi_pp"}, 'no column "hi_pp"; the nearest is "high_pp"'),
        ("result", "none", 'there is no result "none"'),
        ("interval", "99.9 % Bayesian interval", "are the ends of the 95 % bootstrap interval"),
        ("unit", "%", 'are in pp, not in "%"'),
    ],
)
def test_a_registration_that_cannot_be_read_off_is_refused(judged, document, part, value, words):
    criterion = document["criteria"][0]
    criterion[part] = criterion[part] | value if part == "columns" else value
    with pytest.raises(OrlaError, match=words):
        judged()


def test_the_table_of_verdicts(document, write, tables):
    first = reader.read_registration(write(document))
    document["criteria"][0]["where"]["split"] = "30-70"
    second = reader.read_registration(write(document, "another"))
    seen = Amendment("small-gap.yaml", "c" * 64, "2026-11-22", "Nothing.", "It was seen.", True)
    locks = {
        "small-gap": Lock("small-gap.yaml", "a" * 64, DAY, "c" * 64, (seen,), "git"),
        "another": Lock("another.yaml", "b" * 64, DAY, "b" * 64),
    }
    table = verdict_table([first, second], tables, locks)
    assert list(table.columns) == VERDICT_COLUMNS
    assert list(table["outcome"]) == ["supported", "untestable"]
    assert list(table["amended"]) == [True, False]
    assert list(table["lock_sha256"]) == ["a" * 64, "b" * 64]
    assert list(table["judged_sha256"]) == ["c" * 64, "b" * 64]
    assert list(table["history"]) == ["git", "not checked"]
    known = "when locked: not-generated (Nothing was known.)"
    amended = f"{known}; amended on 2026-11-22: results had been seen"
    assert list(table["results_seen"]) == [amended, known]
    assert table["p"].isna().all() and not table["primary"].any()
    assert "over seeds, of one pair, one freezing step" in table["limits"][0]
    assert table["reason"][0].endswith(". The full gradient buys nothing.")
    assert table["registered_on"].eq("2026-11-21").all()
    assert table["estimate"].isna().tolist() == [False, True] and table["n"].tolist() == [20, 0]
    with pytest.raises(OrlaError, match="another is not locked"):
        verdict_table([second], tables, {"small-gap": locks["small-gap"]})
    mixed = verdict_table([first], tables, locks, provenance_difference="results of different data")
    assert list(mixed["outcome"]) == ["untestable"]
    assert mixed["reason"][0] == "results of different data. The runs cannot tell."


def test_an_estimate_outside_its_own_interval_is_refused(judged, tables, document):
    set_interval(tables, -1.0, 1.5, estimate=50.0)
    with pytest.raises(OrlaError, match=r"gap_pp 50 outside its own interval \[-1, 1\.5\]"):
        judged()
    tables["gaps"]["spearman"] = 1.0
    tables["gaps"].loc[0, ["low_pp", "high_pp"]] = [0.2, 0.8]
    document["criteria"][0]["columns"]["estimate"] = "spearman"
    document["criteria"][0]["interval"] = agreement.interval_label("gaps", "low_pp", "spearman")
    verdict = judged()
    assert verdict.outcome == "untestable" and "outside its own interval" in verdict.reason


def test_alpha_is_read_from_the_provenance_where_the_table_has_no_column(judged, tables):
    for alpha, outcome in ((0.05, "supported"), (0.45, "untestable")):
        tables["gaps"].attrs["provenance"] = {"config": {"statistics": {"alpha": alpha}}}
        assert judged().outcome == outcome


def test_the_guards_of_the_estimates_hold_for_version_1(judged, tables, document):
    """Both learners' guards; of one learner, only what is not the other learner's."""
    row = {"optimizer": "adam", "split": "50-50", "estimand": "heldout", "comparison": "per_step"}
    pair = {"learner_full": "rtrl", "learner_immediate": "immediate", "guards": "few: run more"}
    other = {"learner_full": "immediate", "learner_immediate": "last-layer"}
    estimates = pd.DataFrame([row | pair, row | pair | other | {"guards": "flat; few: run more"}])
    tables["estimates"] = estimates
    verdict = judged()
    assert verdict.outcome == "untestable"
    assert verdict.reason == "adam, per_step: few: run more"
    estimates["estimand"] = "stable"
    assert judged().outcome == "supported"
    estimates["estimand"] = "heldout"
    document["conditions"]["learner"] = "immediate"
    assert judged().reason == "few: run more"
    estimates["guards"] = ["few: run more", ""]
    assert judged().outcome == "supported"
    estimates["guards"] = [None, "few"]
    document["conditions"]["learner"] = ["rtrl", "immediate"]
    assert "its guards are missing" in judged().reason


@pytest.mark.parametrize(
    ("outcome", "interval", "shown"),
    [
        ("supported", (-1.0, 1.5), "shown in simulation"),
        ("falsified", (5.0, 6.0), "not shown in simulation"),
        ("inconclusive", (-5.0, 6.0), "inconclusive"),
    ],
)
def test_on_simulated_data_the_words_say_so(document, write, tables, outcome, interval, shown):
    set_interval(tables, *interval)
    known = reader.read_registration(write(document))
    locks = {"small-gap": Lock("small-gap.yaml", "a" * 64, DAY)}
    real, made_up = {"simulated": False}, {"simulated": True}
    data = {"mine/indy/50-50": made_up, "real/indy/50-50": real}
    data |= {"both/indy/50-50": {"mixed": [real, made_up]}}
    for task, words in (("mine", shown), ("real", outcome), ("both", shown)):
        table = verdict_table([known], tables, locks, {"task": task}, datasets=data)
        assert (table["outcome"][0], table["words"][0]) == (outcome, words)


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
