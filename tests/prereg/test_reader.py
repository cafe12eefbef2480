"""Reading registrations of version 3, and the mistakes that are named; what may not be locked."""

import pytest
from made_claims import document, seed_document

from orla.errors import OrlaError
from orla.prereg import agreement, reader
from orla.prereg.documents import schema

REQUIRED = schema("version-3")["required"]


def test_a_claim_over_pairs_is_read(write):
    known = reader.read(write(document()))
    assert [result for result, _ in known.reads] == ["estimates", "over_pairs"]
    assert known.readings[0].result == "over_pairs"
    assert known.rule.region.describe("pp") == "strictly between -3 and 3 pp"
    where = known.readings[0].where
    assert where["estimand"] == "stable" and where["intervention"] == "none"
    assert "pair" not in where and where["task"] == "many-arrays"
    assert known.must_recover == ("rtrl", "immediate")


def test_a_claim_over_seeds_is_read(write):
    known = reader.read(write(seed_document(claim={"less_than": 0})))
    assert [result for result, _ in known.reads] == ["estimates"] and known.readings[0].where[
        "pair"
    ] == "indy"
    assert known.rule.region.describe("pp") == "below 0 pp"


CHECK = {"name": "moves", "why": "Movement.", "result": "quantities", "column": "value"}
CHECK |= {"where": {"quantity": "spread"}, "region": {"at_least": 1}}
OF_GAP = ["estimand", "conditions", "comparison", "minus"]


@pytest.mark.parametrize("key", sorted({*REQUIRED, *OF_GAP} - {"version"}))
def test_every_part_is_required(write, key):
    given = document()
    del given[key]
    with pytest.raises(OrlaError, match=f'"{key}" is missing'):
        reader.read(write(given))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (document(version=4), '"version"'),
        (document(date="2020-01-01"), '"date" is not a known key'),
        (document(estimand="best"), '"estimand" cannot be "best"'),
        (document(interval="99.9 % Bayesian"), '"interval"'),
        (document(alpha=0.45), '"alpha" must be at most 0.1'),
        (document(claim={"equivalent_within": 0}), "greater than 0"),
        (document(claim={}), '"claim"'),
        (document(claim={"more_than": 1, "less_than": 2}), '"claim"'),
        (document(minus=["rtrl", "rtrl"]), "subtracts a learner from itself"),
        (document(pair="indy"), 'with unit pair, "pair" is too much; remove it'),
        (document(sample={"seeds": 3}), '"sample.pairs" is missing; add it'),
        (document(exclusions={"max_diverged": 1}), '"exclusions.max_failing" is missing'),
        (seed_document(sample={"seeds": 3, "pairs": 2}), '"sample.pairs" is too much'),
        (document(unit="seed"), '"pair" is missing; add it'),
        (document(scale="percent"), '"scale" is percent; a gap is of pp or variance'),
        (document(quantity="turn"), 'with a quantity, "estimand" is too much; remove it'),
        (document(binds={"record_sha256": "a" * 64}), '"binds'),
        (document(must_recover=["rtlr"]), '"must_recover" has rtlr, .* the nearest is "rtrl"'),
        (document(must_recover=["rtrl"]), '"must_recover" lacks immediate, which a claim of equi'),
        (
            document(claim={"more_than": 3}, must_recover=["immediate"]),
            '"must_recover" lacks rtrl, which a claim of more_than needs',
        ),
        (
            document(claim={"less_than": 0}, must_recover=["rtrl"]),
            '"must_recover" lacks immediate, which a claim of less_than needs',
        ),
        (
            document(manipulation_checks=[CHECK | {"where": {"unit": "pair"}}]),
            'manipulation_checks.0..where: names no quantity; add "quantity"',
        ),
        (
            document(manipulation_checks=[CHECK | {"column": ["value", "sd", "dof"]}]),
            "manipulation_checks.0.*column",
        ),
        (
            document(
                manipulation_checks=[CHECK | {"column": ["value", "sd"], "region": {"equals": 1}}]
            ),
            "an interval equals no value",
        ),
        (document(must_recover=[]), '"must_recover" must have at least 1'),
    ],
)
def test_a_mistake_is_one_clear_line(write, given, words):
    with pytest.raises(OrlaError, match=words) as error:
        reader.read(write(given))
    assert "small-gap.yaml" in str(error.value) and "\n" not in str(error.value)


def test_a_wide_margin_needs_a_reason(write):
    wide = {"claim": {"equivalent_within": 40}}
    with pytest.raises(OrlaError, match=r"margin of 40 pp is wider than 5; say in .margin_reason"):
        agreement.check_lockable(reader.read(write(document(**wide))))
    agreement.check_lockable(reader.read(write(document(**wide, margin_reason="It is."))))
    agreement.check_lockable(reader.read(write(document(claim={"equivalent_within": 5}))))
    agreement.check_lockable(reader.read(write(document(claim={"more_than": 40}))))


@pytest.mark.parametrize(
    ("column", "region", "always"),
    [
        ("update_ratio", {"at_least": 0, "strict": True}, True),
        ("update_ratio_low", {"at_least": 0}, True),
        ("update_ratio", {"at_least": 0.1}, False),
        ("n_seeds", {"at_least": 0}, True),
        ("tost_p", {"between": [0, 1]}, True),
        ("tost_p", {"between": [0, 1], "strict": True}, True),
        ("tost_p", {"at_most": 0.5}, False),
        ("other_rate_share", {"at_most": 1}, True),
        ("other_rate_share", {"at_most": 0.5}, False),
        ("spearman", {"between": [-2, 2]}, True),
        ("r2_mean", {"at_most": 1}, True),
        ("heldout_error", {"at_least": -1}, True),
        ("error_gap", {"at_least": 0}, False),
        ("low_percent", {"at_least": 0, "strict": True}, False),
        ("adapt_recovery_percent", {"outside": [-1, 1]}, False),
        ("edge", {"equals": False}, False),
    ],
)
def test_a_check_that_is_always_true_is_not_locked(write, column, region, always):
    check = {"name": "moves", "why": "Movement.", "result": "conditions", "column": column}
    check |= {"where": {"optimizer": "adam"}, "region": region}
    known = reader.read(write(document(manipulation_checks=[check])))
    if always:
        with pytest.raises(OrlaError, match=f'check "moves" is always true: {column} cannot be'):
            agreement.check_lockable(known)
    else:
        agreement.check_lockable(known)


def test_the_labels_of_columns():
    label = agreement.label
    assert label("gaps", "t90_low_pp") == "90 % t interval over seeds"
    assert label("gaps", "high_pp") == "95 % bootstrap interval over seeds"
    assert label("over_pairs", "t95_high_pp") == "95 % t interval over pairs"
    assert label("over_pairs", "resampled_90_low_pp") == "90 % bootstrap interval over pairs"
    assert label("estimates", "recovery_full_low_percent") == "95 % t interval over seeds"
    assert label("over_pairs", "prediction_low_pp") == "95 % prediction interval over pairs"
    assert "both means formed anew" in label("ratio_gap_order", "high", "spearman")
