"""The multiverse: one gap under every choice that a reader might have made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from orla.reports.estimates import METRICS
from orla.reports.square import square
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

    The pair is the one with most known gaps of recovery, then with most specifications.
    Differences of R2 and of the error are in hundredths, the error's with its sign reversed, so
    that positive says the same in every row. Of comparisons those of the gradient remain, with
    that of gradient and cadence at once.
    """
    if multiverse.empty:
        return multiverse.assign(**dict.fromkeys(CHOICES, ""))
    rows = multiverse[multiverse["comparison"].isin(_gradients(study))]
    rows = rows if len(rows) else multiverse
    recovery = rows.assign(gap=rows["gap"].where(~rows["metric"].isin(("r2", "error"))))
    known = recovery.groupby(["task", "pair"], sort=False)["gap"].agg(["count", "size"])
    task, pair = known.sort_values(["count", "size"], ascending=False, kind="stable").index[0]
    rows = rows[(rows["task"] == task) & (rows["pair"] == pair)].copy()
    for metric, factor in (("r2", 100.0), ("error", -100.0)):
        own = rows["metric"] == metric
        ends = rows.loc[own, ["gap", "low", "high"]].to_numpy(float) * factor
        low, high = np.sort(ends[:, 1:], axis=1).T if len(ends) else (ends[:, 1], ends[:, 2])
        rows.loc[own, "gap"], rows.loc[own, "low"], rows.loc[own, "high"] = ends[:, 0], low, high
    return rows.assign(**_choices(rows, study)).sort_values(["optimizer", "gap"], kind="stable")


def of_what(rows: pd.DataFrame, multiverse: pd.DataFrame, study: StudyFacts) -> str:
    """ " on TASK", where specifications of other tasks or pairs are not shown; else ""."""
    if rows.empty or len(multiverse[["task", "pair"]].drop_duplicates()) == 1:
        return ""
    shown = [(kind, rows[kind].iloc[0]) for kind in ("task", "pair")]
    return " on " + ", ".join(study.called(kind, value) for kind, value in shown if value)


def varied(rows: pd.DataFrame, study: StudyFacts) -> dict[str, list[str]]:
    """The choices that differ between specifications, each with its values in order."""
    found = {}
    for name in CHOICES:
        keys = rows.drop_duplicates(name)
        values = keys[name].tolist()
        if len(values) > 1:
            found[name] = sorted(values, key=lambda value: _place(name, value, study))
    return found


def optimizers(rows: pd.DataFrame, study: StudyFacts) -> list[str]:
    """The two optimizers that the picture shows: those with most specifications.

    Of equals, the last in declared order.
    """
    found = study.present(rows, "optimizer")
    sizes = rows["optimizer"].value_counts()
    most = sorted(found, key=lambda name: (sizes[name], found.index(name)))[-2:]
    return [name for name in found if name in most]


def _gradients(study: StudyFacts) -> list[str]:
    found = square(study)
    if found is None:
        return [study.main]
    both = [found.per_step, found.per_window, found.diagonal(study)]
    return [name for name in both if name]


def _choices(rows: pd.DataFrame, study: StudyFacts) -> dict[str, pd.Series]:
    kinds = rows["architecture"].map(lambda name: _kind(name, study))
    windows = rows["architecture"].map(lambda name: study.pretraining.get(name))
    return {
        "metric": rows["metric"].map(lambda name: METRICS.get(name, name)),
        "comparison": rows["comparison"].map(lambda name: _cadence(name, study)),
        "split": rows["split"].map(lambda name: study.called("split", name)),
        "freezing": rows["freezing_step"].map(
            lambda step: "all steps" if pd.isna(step) else f"{step:,.0f} steps"
        ),
        "pretraining": windows.map(lambda n: "" if pd.isna(n) else f"window of {n:.0f}"),
        "network": kinds.map(lambda kind: PartNames().called("architecture", kind)),
    }


def _kind(name: str, study: StudyFacts) -> str:
    given = study.instances.get("architecture", {}).get(name, name)
    return str(given["kind"]) if isinstance(given, Mapping) else str(given)


def _cadence(name: str, study: StudyFacts) -> str:
    given = study.comparison(name)
    strides = [study.stride(learner) for learner in (given.minuend, given.subtrahend)]
    if strides[0] == strides[1] == 1:
        return "both per step"
    if strides[0] == strides[1]:
        return f"both per {strides[0]} steps"
    return f"full per {strides[0]}, immediate per {strides[1]}"


def _place(name: str, value: str, study: StudyFacts) -> tuple:
    if name == "metric":
        known = list(METRICS.values())
        return (known.index(value) if value in known else len(known), value)
    if name in ("freezing", "pretraining", "split"):
        digits = "".join(c for c in value.replace("/", " ").split()[0] if c.isdigit())
        numbers = "".join(c for c in value if c.isdigit()) if name != "split" else digits
        size = int(numbers) if numbers else 10**9
        return (-size if name == "split" else size, value)
    return ({"both": 0}.get(value.split()[0], 1), len(value), value)
