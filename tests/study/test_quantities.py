"""Quantities of a config: what they are made of, and the mistakes that are named."""

import copy

import pytest
from one_task import CONFIG, said_of

from orla.study.config import plan_from_config
from orla.study.quantities import parse_quantity

AT = {"task": "recordings", "architecture": "rnn-window-50", "optimizer": "adam", "split": "80-20"}
GAP = {
    "label": "gap",
    "at": AT,
    "sum": [
        {"plus": "recovery_stable_percent", "learner": "rtrl"},
        {"minus": "recovery_stable_percent", "learner": "immediate", "times": 0.5},
    ],
}


def config(**quantities):
    return copy.deepcopy(CONFIG) | {"quantities": quantities}


def test_a_term_has_its_own_condition_and_a_sign():
    found = parse_quantity("gap", GAP | {"at": AT | {"learner": "uoro", "precision": "float32"}})
    [[first, second]] = found.y
    assert (first.times, second.times) == (1.0, -0.5)
    assert first.where["learner"] == "rtrl" and second.where["learner"] == "immediate"
    assert {term.where["precision"] for term in found.terms} == {"float32"}
    assert first.where["start"] == "pretrained" and "pair" not in first.where
    assert (found.unit, found.estimand, found.along, found.x) == ("seed", "heldout", "", ())


def test_a_rank_along_conditions_is_parsed_into_terms_of_each_condition():
    rank = {"along": {"optimizer": ["sgd", "adam", "lars"]}, "with": [{"plus": "update_ratio"}]}
    at = AT | {"learner": "rtrl"}
    found = parse_quantity("order", {"label": "x", "at": at, "sum": GAP["sum"], "rank": rank})
    assert [terms[0].where["optimizer"] for terms in found.y] == ["sgd", "adam", "lars"]
    assert [terms[0].where["optimizer"] for terms in found.x] == ["sgd", "adam", "lars"]
    assert len(list(found.terms)) == 9 and found.along == "optimizer"


def test_quantities_of_conditions_that_are_run_pass():
    over = GAP | {"at": AT | {"task": "many-arrays"}, "unit": "pair", "estimand": "stable"}
    assert set(plan_from_config(config(gap=GAP, over=over)).config["quantities"]) == {"gap", "over"}


def term(column, learner):
    return {"sum": [{"plus": column, "learner": learner}]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sum": [{"plus": "update_ratio"}]}, "names no learner; add it under"),
        (term("update_ratio", "uoro"), "is not run: recordings, rnn-window-50, uoro, adam"),
        (
            term("update_ration", "rtrl"),
            'update_ration; add its probe, or the nearest is "update_r',
        ),
        (term("top1_past", "rtrl"), "rtrl with adam has no column top1_past; add its probe"),
        ({"at": AT | {"task": "many-arrays"}}, "12 pairs are run; name one under at.pair"),
        ({"at": AT | {"pair": "indy"}, "unit": "pair"}, "all pairs count; remove at.pair"),
        ({"rank": {"along": "pairs", "with": GAP["sum"]}}, "a rank along pairs has unit: pair"),
        ({"rank": {"along": "seeds"}}, 'a rank along seeds needs "with"'),
        ({"rank": {"along": {"optimizer": ["sgd", "adam"]}}}, "along"),
        ({"sum": [{"plus": "r2_mean", "minus": "r2_mean"}]}, "both plus and minus; write two"),
        ({"sum": [{"times": 2}]}, "sum"),
        ({"unit": "array"}, '"quantities.gap.unit" cannot be "array"'),
        ({"sums": []}, '"quantities.gap.sums" is not a known key'),
    ],
)
def test_a_mistake_is_one_line(changes, words):
    said = said_of(config(gap=GAP | changes))
    assert words in said and "gap" in said
