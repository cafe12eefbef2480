"""The ratio of updates and the gap, by optimizer, beside the paper."""

import pandas as pd

from orla.reports.cells import Line, called, cell, ends, value
from orla.reports.numbers import count, estimate, is_missing
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables import shared
from orla.reports.tables.base import Contents, Table

_RATIOS = "‖ΔW_hh‖/‖ΔW_out‖"
_TABLE_3 = "The paper's ratios, and its gaps at 80/20 beside float64, are those of its Table 3."


def _papers_gap_text(line: Line) -> str:
    """The paper's gap, with a digit where it prints no ratio."""
    digits = int(is_missing(line.row["paper_update_ratio"]))
    return shared.paper_text(line.row, "gap_pp", digits, signed=True)


class RatioGap(
    Table, name="ratio_gap", label="Update-magnitude ratio and gap", chapter="ratio", order=10,
    needs=("ratio_gap", "ratio_gap_order"),
):  # fmt: skip
    """Update-magnitude ratio and gap by optimizer, ours and the paper's."""

    cells = (
        called("optimizer"),
        ends("ours", *(f"update_ratio{e}" for e in ("", "_low", "_high")), group=_RATIOS, digits=2),
        value("paper", "paper_update_ratio", group=_RATIOS, digits=2),
        ends("ours", "gap_pp", "low_pp", "high_pp", group="Gap (pp)", signed=True),
        cell("paper", _papers_gap_text, "Gap (pp)"),
        value("n", "n_seeds", count),
    )
    optional = ("paper", "The paper")
    says = f"""Mean over updates of {_RATIOS} under the comparison's first learner, and the
    held-out recovery gap of {{main}}, weights frozen once, each at its selected rate. Brackets:
    {shared.BOOTSTRAP}; n: seeds."""

    def rows(self, ratios: pd.DataFrame, order: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Beside the paper's table of ratios, and its other gaps elsewhere."""
        by = ["optimizer", "architecture", "precision", "split"]
        named = ["update_ratio", "gap_pp", "configuration", "place", "text"]
        table = pd.DataFrame(load().table("ratio_gap")).rename(columns={"gap_text": "text"})
        table = table[[*by, *named]].rename(columns={name: f"paper_{name}" for name in named})
        papers = pd.concat([table, load().gaps]).drop_duplicates(by)
        return shared.with_paper_rows(ratios, study, papers, study.main)

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        notes = []
        for row in needed[1].to_dict("records"):
            rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
            same = "; the paper's four are in one order" if study.paper_for(row, study.main) else ""
            notes.append(
                f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
                f"{study.condition_title(row, needed[1])}: {rank} (95 % bootstrap interval over "
                f"{count(row['n_seeds'])} seeds of one pair{same})."
            )
        if any(not is_missing(row["paper_update_ratio"]) for row in contents.records):
            notes.append(_TABLE_3)
        return notes + shared.mark_notes(contents.panels)
