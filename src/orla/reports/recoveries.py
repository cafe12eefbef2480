"""The conditions that were run, and what learners recover of what a drift costs, in sentences."""

from collections.abc import Iterator
from math import inf
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from orla.reports.by_row import VS_RTRL
from orla.reports.estimates import has_meaning
from orla.reports.numbers import estimate, is_missing, number
from orla.reports.study import StudyFacts, where
from orla.reports.words import pluralize
from orla.statistics.means import moments

_ACCURACIES = ["frozen_accuracy", "reference_accuracy"]
_MEANS = ["frozen_heldout_error", "reference_error", "constant_error", *_ACCURACIES]


class Run(NamedTuple):
    """One condition: its title, and how many pretrained networks were adapted.

    Errors are means over networks in `unit`, accuracies percentages; missing where there are none.
    `steps` is of the adapt part, None where no learner's cadence is known; `updates` are of one
    model, by the learner's name.
    """

    title: str
    networks: int
    unit: str
    frozen_error: float
    reference_error: float
    constant_error: float
    frozen_accuracy: float
    reference_accuracy: float
    steps: int | None
    updates: dict[str, int]

    @property
    def least_updates(self) -> int:
        """Updates of the learner that has the fewest."""
        return min(self.updates.values())


def runs(heldout: pd.DataFrame, study: StudyFacts) -> Iterator[Run]:
    """The conditions of results/heldout (one row a model), in order."""
    for title, _, rows in study.groups(heldout):
        updates = rows.groupby("learner", sort=False)["updates"].max().astype(int).to_dict()
        steps = [n * stride for name, n in updates.items() if (stride := study.stride(name))]
        networks = rows.drop_duplicates("seed")
        means = networks.reindex(columns=_MEANS).mean()
        means[_ACCURACIES] *= 100
        unit = "nats" if networks.reindex(columns=["accuracy"]).notna().any(axis=None) else "MSE"
        named = {study.called("learner", name): n for name, n in updates.items()}
        yield Run(title, len(networks), unit, *means, max(steps, default=None), named)


def not_learned(models: pd.DataFrame, study: StudyFacts) -> str:
    """That no network of the recordings learned its task before anything drifted; "" otherwise."""
    recorded = runs(models[models["task"].isin(study.recordings)], study)
    scored = [run for run in recorded if not is_missing(run.reference_error)]
    best = min(scored, key=lambda run: run.reference_error - run.constant_error, default=None)
    if best is None or best.reference_error < best.constant_error:
        return ""
    accuracy = best.reference_accuracy
    right = "" if is_missing(accuracy) else f", {number(accuracy)} % of the steps right"
    return (
        "No network has learned its task: without any drift the error is "
        f"{number(best.reference_error, 2)} {best.unit}{right}, where a constant has "
        f"{number(best.constant_error, 2)} ({best.title}). Whatever adapts such a network "
        "recovers nothing; pretrain for longer, or prepare the recordings otherwise."
    )


def rtrl_share_sentence(models: pd.DataFrame, study: StudyFacts) -> str:
    """What the learner that is compared recovers of exact RTRL's recovery, task by task."""
    column, learner = VS_RTRL.heldout, study.comparison(study.main).subtrahend
    rows = where(models, learner=learner).dropna(subset=[column] if column in models else [])
    rows = rows[~rows["task"].isin(study.recordings)]
    if column not in models or rows.empty:
        return ""
    usual = {kind: rows[kind].mode().iloc[0] for kind in ("optimizer", "architecture")}
    tasks = [
        f"{study.called('task', task)}: {estimate(ours.mean, *ours.interval(), digits=0)} %"
        for task, of_task in where(rows, **usual).groupby("task", sort=False)
        if _models_have_meaning(of_task)
        for ours in [moments(of_task[column])]
    ]
    if not tasks:
        return ""
    optimizer, network = (study.called(*item) for item in usual.items())
    return (
        f"Where the best exact RTRL recovers 100 %, “{study.called('learner', learner)}” with "
        f"{optimizer} ({network}) recovers (95 % t interval over networks): {'; '.join(tasks)}."
    )


def recovery_sentence(models: pd.DataFrame, study: StudyFacts) -> str:
    """What a learner recovers, over pairs where there are several; for studies that compare none.

    It is the learner whose interval lies highest.
    """
    texts: list[tuple[float, str]] = []
    rows = models[models["task"].isin(study.recordings)]
    rows = rows[rows["selected"].astype(bool)] if len(rows) else rows
    for title, keys, group in study.groups(rows, "learner", "optimizer", without="pair"):
        pairs = [rows for _, rows in group.groupby("pair") if _models_have_meaning(rows)]
        if not pairs:
            continue
        means = [rows["recovery_heldout_percent"].mean() for rows in pairs]
        ours = moments(means if len(pairs) > 1 else pairs[0]["recovery_heldout_percent"])
        over = f"{len(pairs)} pairs of sessions" if len(pairs) > 1 else pluralize(ours.n, "network")
        learner, optimizer = (study.called(kind, keys[kind]) for kind in ("learner", "optimizer"))
        text = (
            f"“{learner}” with {optimizer} recovers {estimate(ours.mean, *ours.interval())} % of "
            f"what the drift costs ({over}: {title.partition(': ')[0]})."
        )
        accuracies = ["frozen_accuracy", "accuracy", "reference_accuracy"]
        right = 100 * pd.concat(pairs).reindex(columns=accuracies).mean()
        if right.notna().all():
            text += (
                " Of the steps {:.0f} % are right with the frozen network, {:.0f} % with the "
                "adapted one and {:.0f} % without drift."
            ).format(*right)
        low = ours.interval()[0]
        texts.append((-inf if is_missing(low) else low, text))
    return max(texts, key=itemgetter(0))[1] if texts else ""


def _models_have_meaning(models: pd.DataFrame) -> bool:
    """Whether recovery says anything of these models: its denominator is clear."""
    span = moments(models["frozen_heldout_error"] - models["reference_error"])
    return has_meaning({"denominator": span.mean, "denominator_se": span.standard_error})
