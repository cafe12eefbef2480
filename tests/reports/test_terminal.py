"""The verdict table of a terminal."""

import pytest

from orla.reports.page import terminal_text
from orla.reports.report import Report


@pytest.mark.parametrize("width", [80, 120])
def test_fits_the_terminal_and_tells_all(width, few, simulated):
    report = Report({"verdicts": few["verdicts"]}, simulated)
    text = terminal_text(report, width, "reports/index.html")
    assert max(map(len, text.splitlines())) <= width
    for said in ("shown in simulation", "not shown in", "inconclusive", "untestable", "SIMULATED"):
        assert said in text
    for said in ("(amended)", "−0.30 [−2.70, 2.10]", "3 of 5 seeds diverged"):
        assert said in " ".join(text.split())
    assert text.endswith("report: reports/index.html\n")


def test_questions_that_were_not_run_are_one_paragraph(few, simulated):
    nothing = {"outcome": "untestable", "estimate": float("nan"), "words": ""}
    verdicts = few["verdicts"].head(2).assign(**nothing, reason="gaps has no row with x = 1")
    text = terminal_text(Report({"verdicts": verdicts}, simulated), 100)
    assert "? not run (2): " in text and "has no row" not in text
