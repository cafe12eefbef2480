"""Tables beside the paper's, and those of them with a line a condition."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from orla.reports import comparison, paper_rows
from orla.reports.cells import Row
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table
from orla.reports.words import NOT_RUN
from orla.study.keys import DEFAULTS, KEYS

CELLS = """First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the
paper's number."""
# What sets the panels of a table apart whose lines are networks.
EPISODE = ("task", "pair", "precision", "split")


class BesidePaper(Table):
    """A table with the paper's numbers, which a study that does not reproduce it leaves out."""

    layout: ClassVar = {"size": "scriptsize"}
    rule: ClassVar[str] = f"""{comparison.COMPARED} Neither: not run, diverged, or a network of
    another size."""

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        return load().table(self.part.more["paper"])

    def reasons(self, records: Sequence[Row]) -> list[str]:
        """Why numbers of these rows of the .csv are not comparable, each reason once."""
        said = (r["not_comparable"] for r in records if comparison.NOT_COMPARABLE in r.values())
        return [f"Not comparable: {reason}" for reason in dict.fromkeys(said)]

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        records = contents.records
        told = [*paper_rows.notes_on_pairs(records), self.rule, *self.reasons(records)]
        return [*self.remarks, *told]

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        return super().data(contents._replace(rows=pd.DataFrame(columns=list(KEYS))), study)

    def ran(self, contents: Contents, study: StudyFacts) -> bool:
        return study.reproduces and any(record["run"] for record in contents.records)


class ByCondition(BesidePaper):
    """A line a condition: the study's, with the paper's row of it, and those not run.

    A subclass gives the study's `conditions`, and may say what sets panels apart (`panel_by`) and
    by which columns the paper's row is found (`given`): it is that of a condition which agrees in
    all of them that the row has, and whose network is of the row's kind and size.
    """

    panel_by: ClassVar[tuple[str, ...]] = ()
    given: ClassVar[tuple[str, ...]] = ("task", "learner", "optimizer", "precision", "split")

    @abstractmethod
    def conditions(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The study's conditions, as `orla.reports.comparison.by_condition` gives them."""

    def rows(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        conditions = self.conditions(*needed, study=study)
        measured = comparison.means_by_keys(needed[-1])
        ran = [{**keys, "paper": None, "run": True} for keys in conditions.to_dict("records")]
        lacking = []
        for row in self.papers_rows:
            wanted = {name: row[name] for name in self.given if row.get(name) is not None}
            alike = [
                keys
                for keys in ran
                if wanted.items() <= keys.items()
                and paper_rows.like(study, keys["architecture"], row)
            ]
            for keys in alike:
                keys["paper"] = row
            if not alike:  # a condition that diverged has means of other measures
                keys = {name: row.get(name) or "" for name in KEYS} | DEFAULTS
                means = measured.get(tuple(keys.values()), {})
                lacking.append(keys | wanted | {"means": means, "paper": row, "run": False})
        return pd.DataFrame(ran + lacking, columns=[*conditions, "paper", "run"])

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        if self.panel_by:
            groups = titled(study, rows, self.panel_by)
        else:
            groups = [(title, group) for title, _, group in study.groups(rows)]

        def place(group: tuple[str, pd.DataFrame]) -> tuple[bool, bool]:
            """What the paper has too, what it has not, and last what was not run."""
            return not group[1]["run"].any(), group[1]["paper"].isna().all()

        for title, group in sorted(groups, key=place):
            yield title, group.to_dict("records")


def titled(
    study: StudyFacts, frame: pd.DataFrame, by: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each value of some key columns, with a title.

    Networks that were pretrained otherwise than others of the study stand apart.
    """
    if frame.empty:
        return []
    by = [*by, "pretraining"]
    frame = frame.assign(pretraining=frame["architecture"].map(study.pretrained))
    groups = []
    for values, rows in study.arrange(frame).groupby(by, sort=False):
        names = (study.called(k, v) for k, v in zip(by, values, strict=True) if v)
        groups.append((", ".join(names) or NOT_RUN, rows))
    return groups
