"""Claims find their rows, and say so where there is none."""

import pytest

from orla.errors import OrlaError
from orla.reports.claims import answer, lines
from orla.reports.paper import load

GAP = {"label": "gap", "result": "gaps", "estimate": "gap_pp", "unit": "pp", "signed": True}
WHERE = {"optimizer": "lars", "split": "80-20", "comparison": "paper"}


def test_every_answer_finds_its_row(results):
    parts = [part for line in lines(results) for part in line.ours]
    unanswered = [part for part in parts if part.endswith("not run")]
    assert unanswered == ["immediate − last layer: not run"]  # the fixture has no such gap
    assert len(parts) > 12


def test_figure_is_the_rows(results):
    row = results["gaps"].query("optimizer == 'lars' and split == '80-20'")
    row = row[row["comparison"] == "paper"].iloc[0]
    part = {**GAP, "where": WHERE, "low": "low_pp", "high": "high_pp", "interval": "95 %"}
    text = answer({**part, "n": "n_seeds"}, results)
    ends = f"[{row['low_pp']:.1f},\u00a0{row['high_pp']:.1f}]"
    assert text == f"gap: +{row['gap_pp']:.1f} pp (95 % {ends}, n = 5)"


def test_absent_result_or_row_reads_not_run(results):
    assert answer({**GAP, "where": WHERE}, {}) == "gap: not run"
    assert answer({**GAP, "where": {**WHERE, "optimizer": "lion"}}, results) == "gap: not run"


def test_diverged_reads_diverged(results):
    gaps = results["gaps"].assign(gap_pp=float("nan"))
    assert answer({**GAP, "where": WHERE}, {"gaps": gaps}) == "gap: diverged"


def test_range_and_difference(results):
    spec = {**GAP, "result": "horizon_gaps", "where": {"optimizer": "lars"}, "aggregate": "range"}
    gaps = results["horizon_gaps"].query("optimizer == 'lars'")["gap_pp"]
    assert answer(spec, results) == f"gap: +{gaps.min():.1f} to +{gaps.max():.1f} pp"
    spec = {
        "label": "d",
        "result": "heldout",
        "where": {"learner": "immediate"},
        "estimate": "frozen_heldout_mse",
        "minus": "reference_mse",
        "aggregate": "mean",
        "digits": 2,
    }
    assert answer(spec, results) == "d: 0.67"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({**GAP, "where": {"optimizer": "lars"}}, "matches"),
        ({**GAP, "where": {"optimiser": "lars"}}, "lacks"),
    ],
)
def test_a_wrong_question_is_refused(spec, message, results):
    with pytest.raises(OrlaError, match=message):
        answer(spec, results)


def test_verdicts_stand_beside_their_claims(results):
    by_registration = {line.registration: line for line in lines(results) if line.registration}
    assert by_registration["adam-equivalence"].outcome == "supported"
    assert by_registration["lars-advantage"].amended
    assert by_registration["last-layer-floor"].outcome == ""  # not among the fixture's verdicts
    assert len(lines(results)) == len(load().claims)
