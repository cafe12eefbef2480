"""Tables beside the paper's, and those of them with a line a condition."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from orla.reports import comparison
from orla.reports.cells import Row
from orla.reports.paper import load
from orla.reports.study import Group, StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.words import NOT_RUN
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY

CELLS = """First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the
paper's number."""
_NAME = "over {} pairs"
_ON_PAIRS = """Over pairs: a pair's number is the mean over its networks; n, intervals and what is
paired are of pairs."""
# What sets the panels of a table apart whose lines are networks.
EPISODE = ("task", "pair", "precision", "split")


class BesidePaper(Table):
    """A table with the paper's numbers, which a study that does not reproduce it leaves out."""

    layout: ClassVar = {"size": "scriptsize"}
    # Whether notes say how networks were pretrained, where they differ in that.
    tells_pretraining: ClassVar[bool] = False
    rule: ClassVar[str] = f"""{comparison.RULE} Neither: not run, diverged, or a network of
    another size."""

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The rows of the paper's table that this one shows."""
        return load().table(self.part.more["paper"])

    def reason_notes(self, records: Sequence[Row]) -> list[str]:
        """Why numbers of these rows of the .csv are not comparable, each reason once."""
        reasons = (r["not_comparable"] for r in records if comparison.NOT_COMPARABLE in r.values())
        return [f"Not comparable: {reason}" for reason in dict.fromkeys(reasons)]

    def over_pairs_notes(self, records: Sequence[Row]) -> list[str]:
        """The note on numbers over pairs, where a row is of several pairs; else []."""
        several = (re.fullmatch(_NAME.format(r"\d+"), record["pair"]) for record in records)
        return [_ON_PAIRS] * any(several)

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        records = contents.records
        notes = pretraining_notes(records, study) if self.tells_pretraining else []
        notes += [*self.quoted_remarks(), *self.over_pairs_notes(records), self.rule]
        return [*notes, *self.reason_notes(records)]

    def csv_table(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        """The .csv twin, with the key columns also where it has no row."""
        return super().csv_table(contents._replace(rows=pd.DataFrame(columns=list(KEYS))), study)

    def is_shown(self, contents: Contents, study: StudyFacts) -> bool:
        return study.reproduces and any(record["run"] for record in contents.records)


class ByCondition(BesidePaper):
    """A line a condition: the study's, with the paper's row of it, and those not run.

    A subclass gives the study's `conditions`. `panel_by` are the columns that set panels apart. A
    row of the paper belongs to a condition that agrees with it in all columns of `match_by` that
    the row has, and whose network is of the row's kind and size.
    """

    panel_by: ClassVar[tuple[str, ...]] = ()
    match_by: ClassVar[tuple[str, ...]] = ("task", "learner", "optimizer", "precision", "split")

    @abstractmethod
    def conditions(self, *results: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The study's conditions, as `orla.reports.comparison.conditions_frame` gives them."""

    def rows(self, *results: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        conditions = self.conditions(*results, study=study)
        means_by_key = comparison.means_by_keys(results[-1])
        run = {"paper": None, "run": True}
        our_conditions = [{**keys, **run} for keys in conditions.to_dict("records")]
        absent_rows = []
        for row in self.papers_rows:
            row_keys = {name: row[name] for name in self.match_by if row.get(name) is not None}
            matching_conditions = [
                keys
                for keys in our_conditions
                if row_keys.items() <= keys.items()
                and comparison.same_network(study, keys["architecture"], row)
            ]
            for keys in matching_conditions:
                keys["paper"] = row
            if not matching_conditions:  # a condition that diverged has means of other measures
                keys = {name: row.get(name) or "" for name in KEYS} | DEFAULTS
                means = means_by_key.get(tuple(keys.values()), {})
                absent_rows.append(keys | row_keys | {"means": means, "paper": row, "run": False})
        return pd.DataFrame(our_conditions + absent_rows, columns=[*conditions, "paper", "run"])

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        if self.panel_by:
            groups = titled_groups(study, rows, self.panel_by)
        else:
            groups = [(title, group) for title, _, group in study.groups(rows)]

        def sort_key(group: tuple[str, pd.DataFrame]) -> tuple[bool, bool]:
            """What the paper has too, what it has not, and last what was not run."""
            return not group[1]["run"].any(), group[1]["paper"].isna().all()

        for title, group in sorted(groups, key=sort_key):
            yield title, group.to_dict("records")


def titled_groups(
    study: StudyFacts, frame: pd.DataFrame, by: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each value of some key columns, with a title.

    Networks that were pretrained otherwise than others of the study stand apart.
    """
    by = [*by, "pretraining"]
    frame = frame.assign(pretraining=frame["architecture"].map(study.pretraining_words))
    groups = []
    for values, rows in study.arrange(frame).groupby(by, sort=False):
        names = (study.called(k, v) for k, v in zip(by, values, strict=True) if v)
        groups.append((", ".join(names) or NOT_RUN, rows))
    return groups


def drifting_rows(conditions: pd.DataFrame) -> pd.DataFrame:
    """The conditions without those of the stationary control."""
    return conditions[conditions["split"] != STATIONARY]


def conditions_with_measures(measured: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """The plain conditions that have one of these measures, with their means."""
    rows = where(comparison.conditions_frame(comparison.means_by_keys(measured)), **DEFAULTS)
    return rows[rows["means"].map(lambda means: any(n in means for n in measures)).astype(bool)]


def papers_first(study: StudyFacts, frame: pd.DataFrame, *more: str) -> list[Group]:
    """The groups of `StudyFacts.groups`, those on the paper's recordings first."""
    papers = study.papers_task or next(iter(study.recordings), "")
    return sorted(study.groups(frame, *more), key=lambda group: group.keys["task"] != papers)


def pool_pairs(measured: pd.DataFrame) -> pd.DataFrame:
    """The table `measured`, with one row over all pairs where a task has several."""
    rest, several = _split_with_pairs_as_seeds(measured)
    by = [*KEYS, "measure"]
    rows = [
        [*values, *comparison.mean_of(group["mean"], group["n_diverged"].sum())[:5]]
        for values, group in several.groupby(by, sort=False)
    ]
    pooled_rows = pd.DataFrame(rows, columns=[*by, *comparison.MEAN])
    return pd.concat([rest, pooled_rows], ignore_index=True) if rows else measured


def pairs_as_seeds(models: pd.DataFrame) -> pd.DataFrame:
    """The models; where a task has several pairs, means over each, its name under ``seed``."""
    rest, several = _split_with_pairs_as_seeds(models)
    by = several.groupby([*KEYS, "seed"], sort=False)
    means = by[list(several.select_dtypes("number"))].mean().assign(diverged=by["diverged"].any())
    return pd.concat([rest, means.reset_index()], ignore_index=True) if len(means) else models


def _split_with_pairs_as_seeds(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of tasks with one pair, and of others, under one name; their pair is the seed."""
    pairs = frame.groupby("task")["pair"].transform("nunique")
    several = frame[pairs > 1].assign(seed=frame["pair"], pair=pairs.map(_NAME.format))
    return frame[pairs == 1], several


def pretraining_notes(records: Iterable[Row], study: StudyFacts) -> list[str]:
    """How the networks that ran were pretrained, where that is not one for all of the study."""
    architectures_run = {record["architecture"] for record in records if record["run"]}
    texts = [
        f"{study.called('architecture', network)}: {how}"
        for network in study.sort_names("architecture", architectures_run)
        if (how := study.pretraining_words(network))
    ]
    return [f"{'; '.join(texts)}."] * bool(texts)
