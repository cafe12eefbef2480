"""The multiverse: one gap under every choice that a reader might have made."""

import re

import numpy as np
import pandas as pd

from orla.reports.comparison import network_kind
from orla.reports.estimates import METRICS
from orla.reports.square import find_square
from orla.reports.study import StudyFacts
from orla.reports.words import PartNames

# What a choice is called, in the order of the rows of the picture.
CHOICES = {
    "metric": "Metric",
    "comparison": "Cadence",
    "split": "Split",
    "freezing": "Frozen after",
    "pretraining": "Pretrained by",
    "network": "Network",
}


def specifications(multiverse: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """Each specification of one pair, its choices in words, sorted by the gap.

    The pair is the one with most known gaps of recovery, then with most specifications. Differences
    of R2 and of the error are in hundredths, the latter reversed, so that positive says the same in
    every row. Of comparisons those of the gradient remain, with that of gradient and cadence.
    """
    if multiverse.empty:
        return multiverse.assign(**dict.fromkeys(CHOICES, ""))
    both, gradients = find_square(study), [study.main]
    if both is not None:
        gradients = [both.per_step, both.per_window, both.diagonal(study)]
    rows = multiverse[multiverse["comparison"].isin(gradients)]
    rows = rows if len(rows) else multiverse
    recovery = rows.assign(gap=rows["gap"].where(~rows["metric"].isin(("r2", "error"))))
    sizes = recovery.groupby(["task", "pair"], sort=False)["gap"].agg(["count", "size"])
    task, pair = sizes.sort_values(["count", "size"], ascending=False, kind="stable").index[0]
    rows = rows[(rows["task"] == task) & (rows["pair"] == pair)].copy()
    numbers, factors = ["gap", "low", "high"], {"r2": 100.0, "error": 100.0}
    rows[numbers] = rows[numbers].mul(rows["metric"].map(factors).fillna(1.0), axis=0)
    rows[["low", "high"]] = np.sort(rows[["low", "high"]], axis=1)
    kinds = rows["architecture"].map(lambda name: network_kind(study, name))
    windows = rows["architecture"].map(lambda name: study.pretraining.get(name))
    choices = {
        "metric": rows["metric"].map(lambda name: METRICS.get(name, name)),
        "comparison": rows["comparison"].map(lambda name: _cadence_words(name, study)),
        "split": rows["split"].map(lambda name: study.called("split", name)),
        "freezing": rows["freezing_step"].map(
            lambda step: "all steps" if pd.isna(step) else f"{step:,.0f} steps"
        ),
        "pretraining": windows.map(lambda n: "" if pd.isna(n) else f"window of {n:.0f}"),
        "network": kinds.map(lambda kind: PartNames().called("architecture", kind)),
    }
    return rows.assign(**choices).sort_values(["optimizer", "gap"], kind="stable")


def task_suffix(rows: pd.DataFrame, multiverse: pd.DataFrame, study: StudyFacts) -> str:
    """The words " on TASK", where specifications of other tasks or pairs are not shown; else ""."""
    if rows.empty or len(multiverse[["task", "pair"]].drop_duplicates()) == 1:
        return ""
    shown = [(kind, rows[kind].iloc[0]) for kind in ("task", "pair")]
    return " on " + ", ".join(study.called(kind, value) for kind, value in shown if value)


def varying_choices(rows: pd.DataFrame) -> dict[str, list[str]]:
    """The choices that differ between specifications, each with its values in order."""

    def sort_key(value: str) -> tuple:  # by the numbers in it; those without come last
        return [int(n) for n in re.findall(r"\d+", value)] or [10**9], value

    values = {name: rows[name].unique() for name in CHOICES}
    return {name: sorted(each, key=sort_key) for name, each in values.items() if len(each) > 1}


def _cadence_words(name: str, study: StudyFacts) -> str:
    """How many steps lie between two updates of the learners of a comparison, in words."""
    comparison = study.comparison(name)
    full, immediate = map(study.stride, (comparison.minuend, comparison.subtrahend))
    if full != immediate:
        return f"full per {full}, immediate per {immediate}"
    return "both per step" if full == 1 else f"both per {full} steps"
