"""Reading registrations, and the mistakes that are named; what may not be locked."""

import pytest
from made_claims import document as claim
from made_claims import gaps, seed_document, tables

from orla.errors import OrlaError
from orla.prereg import lockable, reader
from orla.prereg.documents import document_schema
from orla.prereg.registration import check_columns

CHECK = {"name": "moves", "why": "Movement.", "result": "quantities", "column": "value"}
CHECK |= {"where": {"quantity": "spread"}, "region": {"at_least": 1}}
OF_GAP = ["estimand", "conditions", "comparison", "minus"]


def checked(region=CHECK["region"], **changes):
    """A registration with a check of this region."""
    return claim(manipulation_checks=[CHECK | {"region": region} | changes])


def refused(path, words):
    """One clear line that names the file."""
    with pytest.raises(OrlaError, match=words) as error:
        reader.read_registration(path)
    assert path.name in str(error.value) and "\n" not in str(error.value)


def test_a_claim_is_read_over_pairs_and_over_seeds(write):
    known = reader.read_registration(write(claim()))
    assert [result for result, _ in known.required_columns] == ["estimates", "over_pairs"]
    assert known.query.result == "over_pairs"
    assert known.rule.region.describe("pp") == "strictly between -3 and 3 pp"
    where = known.query.where
    assert where["estimand"] == "stable" and where["intervention"] == "none"
    assert "pair" not in where and where["task"] == "many-arrays"
    assert known.must_recover == ("rtrl", "immediate")
    seeds = reader.read_registration(write(seed_document(claim={"less_than": 0})))
    assert [result for result, _ in seeds.required_columns] == ["estimates"]
    assert seeds.query.where["pair"] == "indy"
    assert seeds.rule.region.describe("pp") == "below 0 pp"


def test_every_part_is_required(write):
    for key in {*document_schema("registration")["required"], *OF_GAP}:
        refused(write({k: v for k, v in claim().items() if k != key}), f'"{key}" is missing')


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (claim(version=4), '"version"'),
        (claim(sample={"pairs": 12, "seeds": "20"}), '"sample.seeds" must be a whole number'),
        (checked({"between": [3, -3]}), r"manipulation_checks\[0\]: between"),
        (checked({"outside": [3, 3]}), r"manipulation_checks\[0\]: outside .3, 3"),
        (checked({"strict": True}), r"manipulation_checks\[0\]: a region has"),
        (checked({"at_least": 1, "at_most": 2}), "one of at_least, .*, between, outside, not 2"),
        (claim(date="2020-01-01"), '"date" is not a known key'),
        (claim(estimand="best"), '"estimand" cannot be "best"'),
        (claim(interval="99.9 % Bayesian"), '"interval"'),
        (claim(alpha=0.45), '"alpha" must be at most 0.1'),
        (claim(claim={"equivalent_within": 0}), "greater than 0"),
        (claim(claim={}), '"claim"'),
        (claim(claim={"more_than": 1, "less_than": 2}), '"claim"'),
        (claim(minus=["rtrl", "rtrl"]), "subtracts a learner from itself"),
        (claim(pair="indy"), 'with unit pair, "pair" is too much; remove it'),
        (claim(sample={"seeds": 3}), '"sample.pairs" is missing; add it'),
        (claim(exclusions={"max_diverged": 1}), '"exclusions.max_failing" is missing'),
        (seed_document(sample={"seeds": 3, "pairs": 2}), '"sample.pairs" is too much'),
        (claim(unit="seed"), '"pair" is missing; add it'),
        (claim(scale="percent"), '"scale" is percent; a gap is of pp or variance'),
        (claim(quantity="turn"), 'with a quantity, "estimand" is too much; remove it'),
        (
            {k: v for k, v in claim(quantity="turn", scale="").items() if k not in OF_GAP},
            'max_diverged" to 0',
        ),
        (claim(binds={"record_sha256": "a" * 64}), '"binds'),
        (claim(must_recover=["rtlr"]), '"must_recover" has rtlr, .* the nearest is "rtrl"'),
        (claim(must_recover=["rtrl"]), '"must_recover" lacks immediate, which a claim of equi'),
        (
            claim(claim={"more_than": 3}, must_recover=["immediate"]),
            "lacks rtrl, which a claim of more_than needs",
        ),
        (
            claim(claim={"less_than": 0}, must_recover=["rtrl"]),
            "lacks immediate, which a claim of less_than needs",
        ),
        (checked(where={"unit": "pair"}), 'checks.0..where: names no quantity; add "quantity"'),
        (checked(column=["value", "sd", "dof"]), "manipulation_checks.0.*column"),
        (checked({"equals": 1}, column=["value", "sd"]), "an interval equals no value"),
        (claim(must_recover=[]), '"must_recover" must have at least 1'),
    ],
)
def test_a_mistake_is_one_clear_line(write, given, words):
    refused(write(given), words)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"where": {"optimiser": "x"}}, 'no column "optimiser"; the nearest is "optimizer"'),
        ({"column": "diverged"}, 'no column "diverged"; the nearest is "n_diverged"'),
        ({"result": "estimate"}, 'there is no result "estimate"; the nearest is "estimates"'),
    ],
)
def test_what_does_not_exist_is_named_with_the_nearest(write, check, words):
    columns = {name: list(table.columns) for name, table in tables(gaps(0.5)).items()}
    whole = {"result": "estimates", "where": {"optimizer": "adam"}, "column": "n_diverged"}
    check_columns(reader.read_registration(write(checked(**whole))), columns)
    known = reader.read_registration(write(checked(**whole | check)))
    with pytest.raises(OrlaError, match=f"^registration small-gap: .*{words}"):
        check_columns(known, columns)


def test_a_wide_margin_needs_a_reason(write):
    wide = {"claim": {"equivalent_within": 40}}
    with pytest.raises(OrlaError, match=r"margin of 40 pp is wider than 5; say in .margin_reason"):
        lockable.check_lockable(reader.read_registration(write(claim(**wide))))
    narrow, more = {"equivalent_within": 5}, {"more_than": 40}
    for given in (wide | {"margin_reason": "It is."}, {"claim": narrow}, {"claim": more}):
        lockable.check_lockable(reader.read_registration(write(claim(**given))))


@pytest.mark.parametrize(
    ("column", "region", "always"),
    [
        ("update_ratio", {"at_least": 0, "strict": True}, True),
        ("update_ratio", {"at_least": 0.1}, False),
        ("n_seeds", {"at_least": 0}, True),
        ("tost_p", {"between": [0, 1], "strict": True}, True),
        ("tost_p", {"at_most": 0.5}, False),
        ("other_rate_share", {"at_most": 1}, True),
        ("other_rate_share", {"at_most": 0.5}, False),
        ("spearman", {"between": [-2, 2]}, True),
        ("r2_mean", {"at_most": 1}, True),
        ("heldout_error", {"at_least": -1}, True),
        ("error_gap", {"at_least": 0}, False),
        ("adapt_recovery_percent", {"outside": [-1, 1]}, False),
        ("edge", {"equals": False}, False),
    ],
)
def test_a_check_that_is_always_true_is_not_locked(write, column, region, always):
    check = {"result": "conditions", "column": column, "where": {"optimizer": "adam"}}
    known = reader.read_registration(write(checked(region, **check)))
    if not always:
        return lockable.check_lockable(known)
    with pytest.raises(OrlaError, match=f'check "moves" is always true: {column} cannot be'):
        lockable.check_lockable(known)
