"""The verdict table of a terminal."""

import pytest

from orla.reports.report import Report
from orla.reports.terminal import terminal


def shown(verdicts, study, width=100, page=None):
    return terminal(Report({"verdicts": verdicts}, study), width, page)


@pytest.mark.parametrize("width", [80, 120])
def test_fits_the_terminal_and_tells_all(width, results, simulated):
    text = shown(results["verdicts"], simulated, width=width, page="reports/index.html")
    assert max(map(len, text.splitlines())) <= width
    for outcome in ("shown in simulation", "not shown in", "inconclusive", "untestable"):
        assert outcome in text
    assert "SIMULATED" in text and "(amended)" in text.replace("\n", " ")
    assert "−0.30 [−2.70, 2.10]" in text
    assert "3 of 5 seeds diverged" in text
    assert text.endswith("report: reports/index.html\n")


def test_questions_that_were_not_run_are_one_paragraph(results, simulated):
    verdicts = (
        results["verdicts"]
        .head(2)
        .assign(
            outcome="untestable",
            estimate=float("nan"),
            reason="gaps has no row with x = 1",
            words="",
        )
    )
    text = shown(verdicts, simulated)
    assert "? not run (2): " in text and "has no row" not in text
