"""Claims find their rows, and say so where there is none."""

from dataclasses import replace

import pandas as pd
import pytest

from orla.errors import OrlaError
from orla.reports.paper import load
from orla.reports.study import Comparison
from orla.reports.verdicts import claim_estimate_text, claim_lines

GAP = {"label": "gap", "result": "gaps", "estimate": "gap_pp", "unit": "pp", "signed": True}
NOT_RUN_GAP = "immediate − last layer: not run"
WHERE = {"optimizer": "lars", "split": "80-20", "comparison": "paper"}


def test_every_answer_finds_its_row(results, simulated):
    parts = [part for line in claim_lines(results, simulated) for part in line["ours"]]
    unanswered = [part for part in parts if part.endswith("not run")]
    assert unanswered == [NOT_RUN_GAP]  # the fixture has no such gap
    assert len(parts) > 12


def test_claim_estimate_is_that_of_its_row(results):
    row = results["gaps"].query("optimizer == 'lars' and split == '80-20'")
    row = row[row["comparison"] == "paper"].iloc[0]
    part = {**GAP, "where": WHERE, "low": "t95_low_pp", "high": "t95_high_pp", "interval": "95 %"}
    text = claim_estimate_text({**part, "n": "n_seeds"}, results)
    ends = f"[{row['t95_low_pp']:.1f},\u00a0{row['t95_high_pp']:.1f}]"
    assert text == f"gap: +{row['gap_pp']:.1f} pp (95 % {ends}, n = 5)"


def test_range_and_difference(results):
    spec = {**GAP, "result": "horizon_gaps", "where": {"optimizer": "lars"}, "aggregate": "range"}
    gaps = results["horizon_gaps"].query("optimizer == 'lars'")["gap_pp"]
    assert claim_estimate_text(spec, results) == f"gap: +{gaps.min():.1f} to +{gaps.max():.1f} pp"
    spec = {
        "label": "d",
        "result": "heldout",
        "where": {"learner": "immediate"},
        "estimate": "frozen_heldout_error",
        "minus": "reference_error",
        "aggregate": "mean",
        "digits": 2,
    }
    assert claim_estimate_text(spec, results) == "d: 0.67"


@pytest.mark.parametrize(
    ("aggregate", "text"), [("mean", "gap: +4.0 pp"), ("range", "gap: −2.0 to +9.0 pp")]
)
def test_aggregates_leave_out_what_diverged(aggregate, text):
    gaps = pd.DataFrame({"gap_pp": [5.0, float("nan"), 9.0, -2.0]})
    assert claim_estimate_text({**GAP, "where": {}, "aggregate": aggregate}, {"gaps": gaps}) == text


@pytest.mark.parametrize(("key", "message"), [("optimizer", "matches"), ("optimiser", "lacks")])
def test_a_where_of_several_rows_or_of_no_column_is_refused(key, message, results):
    with pytest.raises(OrlaError, match=message):
        claim_estimate_text({**GAP, "where": {key: "lars"}}, results)


def said(registration, results, study):
    """The line of the claim that a registration tests."""
    return {line["registration"]: line for line in claim_lines(results, study)}[registration]


def test_every_claim_of_the_paper_has_a_line_with_its_verdict_if_any(results, simulated):
    of = {name: results[name] for name in ("verdicts", "gaps")}
    assert said("adam-equivalence", of, simulated)["outcome"] == "supported"
    assert said("lars-advantage", of, simulated)["amended"]
    assert said("last-layer-floor", of, simulated)["outcome"] == ""  # not among these verdicts
    assert len(claim_lines(of, simulated)) == len(load().claims)


def test_without_a_figure_of_ours_no_claim_is_told(results, simulated):
    other = {n: f.assign(task="sine") if "task" in f else f for n, f in results.items()}
    assert claim_lines(other, simulated) == claim_lines({}, simulated) == []


def test_of_several_pairs_of_sessions_the_papers_answers_alone(results, simulated):
    gaps = results["gaps"]
    both = pd.concat([gaps, gaps.assign(pair="second", gap_pp=gaps["gap_pp"] + 50)])
    assert claim_lines({"gaps": both}, simulated) == []
    row = gaps.query("optimizer == 'lars' and split == '80-20' and comparison == 'paper'")
    for pair, more in (("default", 0), ("second", 50)):
        study = replace(simulated, papers_pair=pair)
        [told] = said("lars-advantage", {"gaps": both}, study)["ours"]
        assert told.startswith(f"gap: +{row['gap_pp'].item() + more:.1f} pp")
    assert said("last-layer-floor", {"gaps": both}, study)["ours"][0] == NOT_RUN_GAP


def test_windows_of_ones_own_do_not_answer_for_the_papers(results, simulated):
    own = {"paper": Comparison("diagonal", "tbptt-20-20", "immediate")}
    study = replace(simulated, comparisons=own)
    assert claim_lines({"gaps": results["gaps"]}, study) == []


def test_an_order_of_more_optimizers_is_not_that_of_the_papers_four(results, simulated):
    order = results["ratio_gap_order"]
    told = said("ratio-gap-ordering", {"ratio_gap_order": order}, simulated)["ours"]
    assert told[0].startswith("rank correlation: +1.00")
    assert claim_lines({"ratio_gap_order": order.assign(n_optimizers=12)}, simulated) == []
