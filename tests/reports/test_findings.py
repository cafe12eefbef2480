"""The findings: every figure is that of a result."""

import re

import pandas as pd
import pytest

from orla.reports.page import findings_markdown
from orla.reports.report import Report


@pytest.fixture(scope="module")
def text(report):
    return findings_markdown(report)


def rows_of(text, heading):
    part = text[text.index(heading) :].split("\n## ")[0]
    return [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]


def test_provenance_stands_at_the_top(text):
    top = text[: text.index("\n## ")]
    for word in ("0123abc", "AVX2", "2.13.0+cpu", "SIMULATED", "simulated reaching"):
        assert word in top
    assert "9.9.9" not in text and "nothing |" not in text


def test_tables_are_whole_and_long_ones_folded(text):
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(blocks) > 15
    for block in blocks:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block
        assert re.fullmatch(r"\|(---:?\|)+", block.splitlines()[1]), block
    for part in text.split("\n## ")[1:]:
        shown = [line for line in part.splitlines() if re.match(r"\| (?!\*\*)", line)]
        opened = part.count("<details>")
        assert opened == part.count("</details>") <= 1
        if opened:
            assert f"Show the table: {len(shown) - 1} rows" in part and len(shown) > 12


def test_claims_have_our_figures_and_verdicts(text, few):
    claims = rows_of(text, "## The paper's claims")
    [row] = [row for row in claims if "advantage with LARS at 80/20" in row[0]]
    gap = few["gaps"].query("optimizer == 'lars' and comparison == 'paper'")["gap_pp"].item()
    assert f"+{gap:.1f} pp" in row[2] and "**shown in simulation** (`lars-advantage`)" in row[3]
    assert "+20 pp (Table 3)" in row[1]
    unmeasured = rows_of(text, "## Claims not measured yet")
    assert any("UORO" in row[0] for row in unmeasured)


def test_what_is_simulated_is_said_table_by_table(few, simulated):
    both = {
        "heldout": pd.concat([few["heldout"], few["heldout"].assign(task="sine")]),
        "estimates": few["estimates"].assign(task="sine"),
        "selection_price": few["selection_price"],
    }
    text = findings_markdown(Report(both, simulated))
    assert "**Figures of tables marked SIMULATED come from" in text
    assert "Other tasks are no recordings, and tell nothing of them." in text
    assert "\n## Gradient and cadence, two by two\n" in text
    assert "\n## The price of selecting on the test part (SIMULATED)\n" in text


def test_a_list_leads_to_every_table(text):
    assert "**All figures on this page come from SIMULATED" in text
    [listed] = re.findall(r"^Tables, long ones folded: (.*)\.$", text, re.MULTILINE)
    anchors = re.findall(r"\]\(#([^)]*)\)", listed)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    rule = [re.sub(r"[^a-z0-9_ -]", "", h.lower()).replace(" ", "-") for h in headings]
    assert len(anchors) > 5 and set(anchors) <= set(rule)
    assert "gradient-and-cadence-two-by-two-simulated" in anchors


def test_findings_of_one_table_or_of_no_results_are_still_written(few, simulated):
    assert "No model was run." in findings_markdown(Report({}, simulated))
    only = findings_markdown(Report({"estimates": few["estimates"]}, simulated))
    assert "## Gaps between learners" in only and "## Held-out recovery" not in only
