"""Every outcome, and every reason for it, is reached; none but the tables decides."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pytest

from orla.errors import OrlaError
from orla.prereg import judge as judging
from orla.prereg import registration
from orla.prereg.judge import VERDICT_COLUMNS, judge, verdicts
from orla.prereg.lock import Locked


@pytest.fixture
def judged(document, write, tables):
    def judged():
        return judge(registration.read(write(document)), tables)

    return judged


def set_interval(tables, low, high, estimate=None, row=0):
    estimate = (low + high) / 2 if estimate is None else estimate
    tables["gaps"].loc[row, ["gap_pp", "low_pp", "high_pp"]] = [estimate, low, high]


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-1.0, 1.5, "supported"),
        (-2.999, 2.999, "supported"),
        (-3.0, 1.0, "inconclusive"),
        (-8.0, 8.0, "inconclusive"),
        (2.0, 4.0, "inconclusive"),
        (3.0, 4.0, "falsified"),
        (-9.0, -3.0, "falsified"),
        (7.0, 7.0, "falsified"),
    ],
)
def test_the_interval_decides(judged, tables, document, low, high, outcome):
    set_interval(tables, low, high)
    verdict = judged()
    assert verdict.outcome == outcome
    assert verdict.meaning == document["outcomes"][outcome]
    assert (verdict.low, verdict.high, verdict.n) == (low, high, 20)
    assert verdict.threshold == "strictly between -3 and 3 pp"
    assert "90 % t interval" in verdict.reason and "n = 20" in verdict.reason


def test_strictness_decides_on_the_bound(judged, tables, document):
    set_interval(tables, -3.0, 3.0)
    assert judged().outcome == "inconclusive"
    document["criteria"][0]["region"]["strict"] = False
    assert judged().outcome == "supported"
    set_interval(tables, 3.0, 4.0)
    assert judged().outcome == "inconclusive"


def lose(table, column, values):
    def change(tables):
        tables[table] = tables[table][~tables[table][column].isin(values)]

    return change


def put(table, row, column, value):
    def change(tables):
        tables[table][column] = tables[table][column].astype(object)
        tables[table].loc[row, column] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lose("gaps", "split", ["50-50"]), "gaps has no row with split = 50-50 (it has 80-20)"),
        (lose("gaps", "optimizer", ["adam"]), "gaps has no row with optimizer = adam"),
        (lose("conditions", "learner", ["rtrl"]), "conditions has no row with learner = rtrl"),
        (put("gaps", 0, "n_seeds", 17), "n = 17, fewer than the 18 registered"),
        (put("gaps", 0, "n_seeds", np.nan), "n = 0, fewer than the 18 registered"),
        (put("gaps", 0, "n_diverged", 3), "3 diverged, more than the 2 registered"),
        (put("gaps", 0, "unreliable", True), "gap_pp is unreliable"),
        (put("gaps", 0, "low_pp", np.nan), "gap_pp has no finite 90 % t interval"),
        (put("gaps", 0, "gap_pp", None), "gap_pp has no finite 90 % t interval"),
        (put("gaps", 0, "high_pp", np.inf), "gap_pp has no finite 90 % t interval"),
        (
            put("conditions", 1, "low_percent", -2.0),
            'check "both adapt" fails: low_percent is -2 where optimizer = adam, '
            "learner = immediate, not above 0",
        ),
        (put("conditions", 0, "low_percent", np.nan), "low_percent is nan where"),
        (put("conditions", 0, "low_percent", np.inf), "low_percent is inf where"),
        (put("conditions", 0, "low_percent", None), 'check "both adapt" fails'),
        (put("conditions", 0, "low_percent", "much"), "low_percent is much where"),
        (
            put("conditions", 0, "edge", True),
            'check "inside the grid" fails: edge is true where optimizer = adam, not false',
        ),
    ],
)
def test_every_obstacle_makes_it_untestable(judged, tables, document, change, reason):
    assert judged().outcome == "supported"
    change(tables)
    verdict = judged()
    assert verdict.outcome == "untestable"
    assert reason in verdict.reason
    assert verdict.meaning == document["outcomes"]["untestable"]
    assert "\n" not in verdict.reason


def test_what_was_registered_as_least_and_most_is_enough(judged, tables):
    put("gaps", 0, "n_seeds", 18)(tables)
    put("gaps", 0, "n_diverged", 2)(tables)
    verdict = judged()
    assert (verdict.outcome, verdict.n) == ("supported", 18)


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
    judged, tables, document, blocked
):
    second = {"optimizer": "lars", "split": "50-50"}
    document["criteria"].append(
        {**document["criteria"][0], "where": second, "region": {"at_least": 40, "strict": True}}
    )
    put("gaps", 2, "n_seeds", 19)(tables)
    assert judged().outcome == "supported"
    put("gaps", blocked, "unreliable", True)(tables)
    verdict = judged()
    row = tables["gaps"].loc[blocked]
    assert verdict.outcome == "untestable"
    assert (verdict.estimate, verdict.low, verdict.high, verdict.n) == tuple(
        row[["gap_pp", "low_pp", "high_pp", "n_seeds"]]
    )
    threshold = {0: "strictly between -3 and 3 pp", 2: "above 40 pp"}[blocked]
    assert verdict.threshold == threshold


def test_an_untestable_verdict_by_a_check_holds_the_first_criterions_numbers(judged, tables):
    put("conditions", 0, "edge", True)(tables)
    verdict = judged()
    assert verdict.outcome == "untestable"
    assert (verdict.estimate, verdict.low, verdict.high, verdict.n) == (0.2, -1.0, 1.5, 20)


def test_an_obstacle_comes_before_falsification(judged, tables):
    set_interval(tables, 30, 40)
    assert judged().outcome == "falsified"
    put("conditions", 0, "edge", True)(tables)
    assert judged().outcome == "untestable"


def test_all_obstacles_are_told(judged, tables):
    put("gaps", 0, "n_seeds", 3)(tables)
    put("gaps", 0, "n_diverged", 17)(tables)
    put("conditions", 0, "edge", True)(tables)
    reason = judged().reason
    assert all(words in reason for words in ("n = 3", "17 diverged", "inside the grid"))


def test_rows_that_are_not_named_do_not_matter(judged, tables):
    put("gaps", 1, "unreliable", True)(tables)
    put("gaps", 2, "n_seeds", 0)(tables)
    put("conditions", 2, "low_percent", -99.0)(tables)
    assert judged().outcome == "supported"


def test_optional_columns_may_be_left_out(judged, tables, document):
    for column in ("diverged", "unreliable"):
        del document["criteria"][0]["columns"][column]
    put("gaps", 0, "unreliable", True)(tables)
    put("gaps", 0, "n_diverged", 15)(tables)
    assert judged().outcome == "supported"


@pytest.mark.parametrize(
    ("first", "second"), itertools.product(["inside", "astride", "outside"], repeat=2)
)
def test_two_criteria(judged, tables, document, first, second):
    """Supported when all are inside, falsified when any is outside, inconclusive otherwise."""
    intervals = {"inside": (-1, 1), "astride": (2, 4), "outside": (5, 6)}
    document["criteria"].append(
        {**document["criteria"][0], "where": {"optimizer": "lars", "split": "50-50"}}
    )
    tables["gaps"]["n_seeds"] = 20
    set_interval(tables, *intervals[first], row=0)
    set_interval(tables, *intervals[second], row=2)
    if "outside" in (first, second):
        expected = "falsified"
    else:
        expected = "inconclusive" if "astride" in (first, second) else "supported"
    verdict = judged()
    assert verdict.outcome == expected
    deciding = {"falsified": "outside", "inconclusive": "astride", "supported": "inside"}[expected]
    assert (verdict.low, verdict.high) == intervals[deciding]


def test_a_supported_verdict_holds_the_first_criterions_numbers(judged, tables, document):
    document["criteria"].append(
        {**document["criteria"][0], "where": {"optimizer": "lars", "split": "50-50"}}
    )
    tables["gaps"]["n_seeds"] = [20, 20, 19]
    set_interval(tables, -2.0, 0.5, row=2)
    verdict = judged()
    assert verdict.outcome == "supported"
    assert (verdict.estimate, verdict.low, verdict.high, verdict.n) == (0.2, -1.0, 1.5, 20)
    assert "n = 20" in verdict.reason and "n = 19" in verdict.reason


def test_what_is_assumed_holds_where_the_registration_is_silent(document, write, tables):
    """Rows of another task stand beside those meant; a column that is named stays as named."""
    others = {name: table.copy() for name, table in tables.items()}
    others["gaps"][["gap_pp", "low_pp", "high_pp"]] = [9.0, 8.0, 10.0]
    others["conditions"]["low_percent"] = -1.0
    both = {
        name: pd.concat([table.assign(task="mine"), others[name].assign(task="other")])
        for name, table in tables.items()
    }
    found = registration.read(write(document))
    with pytest.raises(OrlaError, match="2 rows of gaps"):
        judge(found, both)
    assert judge(found, both, {"task": "mine", "pair": "nowhere"}).outcome == "supported"
    assert judge(found, both, {"task": "other"}).outcome == "untestable"
    document["criteria"][0]["where"]["task"] = "other"
    named = judge(registration.read(write(document)), both, {"task": "mine"})
    assert (named.outcome, named.estimate) == ("falsified", 9.0)


def test_a_registration_that_cannot_be_read_off_is_refused(judged, tables, document):
    document["criteria"][0]["where"] = {"optimizer": "adam"}
    with pytest.raises(OrlaError, match=r"small-gap: 2 rows of gaps .* name one by split"):
        judged()
    document["criteria"][0]["where"] = {"optimizer": "adam", "split": "50-50"}
    columns = document["criteria"][0]["columns"]
    columns["low"], columns["high"] = columns["high"], columns["low"]
    with pytest.raises(OrlaError, match="the two columns are swapped"):
        judged()
    columns["low"], columns["high"] = "low_pp", "split"
    with pytest.raises(OrlaError, match="\"split\" of gaps holds '50-50', not a number"):
        judged()
    columns["high"] = "hi_pp"
    with pytest.raises(OrlaError, match='no column "hi_pp"; the nearest is "high_pp"'):
        judged()
    columns["high"] = "high_pp"
    del tables["gaps"]
    with pytest.raises(OrlaError, match='there is no result "gaps"'):
        judged()


def test_the_table_of_verdicts(document, write, tables):
    first = registration.read(write(document))
    document["criteria"][0]["where"]["optimizer"] = "rmsprop"
    second = registration.read(write(document, "another"))
    day = datetime.date(2026, 11, 21)
    locks = {
        "small-gap": Locked("small-gap.yaml", "a" * 64, day, amended=True),
        "another": Locked("another.yaml", "b" * 64, day),
    }
    table = verdicts([first, second], tables, locks)
    assert list(table.columns) == VERDICT_COLUMNS
    assert list(table["outcome"]) == ["supported", "untestable"]
    assert list(table["amended"]) == [True, False]
    assert list(table["lock_sha256"]) == ["a" * 64, "b" * 64]
    assert table["reason"][0].endswith(". The full gradient buys nothing.")
    assert table["registered_on"].eq("2026-11-21").all()
    assert table["estimate"].isna().tolist() == [False, True] and table["n"].tolist() == [20, 0]
    with pytest.raises(OrlaError, match="another is not locked"):
        verdicts([second], tables, {"small-gap": locks["small-gap"]})


def test_the_judge_has_no_branch_for_a_single_hypothesis():
    import inspect
    from pathlib import Path

    source = inspect.getsource(judging)
    folder = Path(__file__).parents[2] / "prereg"
    names = [path.stem for path in folder.glob("*.yaml")]
    assert names
    words = [*names, "adam", "lars", "sgd", "adafactor", "rtrl", "immediate", "gap_pp", "tost"]
    assert not [word for word in words if word in source]
