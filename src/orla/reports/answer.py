"""The sentences of an answer on gaps between learners and on verdicts.

Gaps are quoted of conditions in which recovery has a meaning and no guard fails, and have the 95 %
t interval that the tables of gaps have. Rows of `estimates` have a column "quotable".
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from orla.reports.estimates import BASELINES, OF_HELDOUT, find_square
from orla.reports.numbers import estimate
from orla.reports.paper import load
from orla.reports.study import Group, StudyFacts, where
from orla.reports.verdicts import Verdict
from orla.reports.words import OUTCOME_SIGNS, join_names, pluralize
from orla.statistics.means import t_interval, t_quantile
from orla.study.keys import SETTING

FEWEST_PAIRS = 3
# With fewer a t interval over networks is many times as wide as their scatter.
FEWEST_NETWORKS = 3
_T95 = ("t95_low_pp", "t95_high_pp")


class Condition(NamedTuple):
    """A condition of one pair, with those rows of a comparison that may be quoted."""

    group: Group
    estimand: str
    comparison: str
    rows: pd.DataFrame


def _quotable_comparisons(study: StudyFacts) -> list[str]:
    """The comparisons that an answer may be of: the main one, then those of the two by two."""
    return list(dict.fromkeys((study.main, *(find_square(study) or ()))))


def quotable_condition(estimates: pd.DataFrame, study: StudyFacts) -> Condition | None:
    """The condition that the answer is of, or None where nothing may be quoted.

    The paper's task comes first, then recordings, the main comparison, most optimizers, most
    comparisons. A pair of a task that has several comes last: a sentence over its pairs says more.
    """
    pairs = estimates.groupby("task")["pair"].nunique() if "pair" in estimates else {}
    conditions: dict[tuple, Condition] = {}
    for estimand in OF_HELDOUT:
        for group in study.groups(where(estimates, estimand=estimand)):
            group = group._replace(rows=where(group.rows, quotable=True))
            task = group.keys["task"]
            of_task = (pairs.get(task, 0) < FEWEST_PAIRS, task == study.papers_task)
            of_task += (task in study.recordings,)
            for name in _quotable_comparisons(study):
                rows = where(group.rows, comparison=name)
                sizes = rows["optimizer"].nunique(), len(group.rows)
                if len(rows):  # the first of several of one weight
                    weight = (*of_task, name == study.main, *sizes)
                    conditions.setdefault(weight, Condition(group, estimand, name, rows))
    return conditions[max(conditions)] if conditions else None


def _gap_text(row: Mapping[str, Any], *ends: float) -> str:
    """A gap and its interval in pp, by default the 95 % t interval of the row."""
    ends = ends or tuple(row[end] for end in _T95)
    return f"{estimate(row['gap_pp'], *ends, signed=True)} pp"


def pretraining_window_sentence(
    condition: Condition, estimates: pd.DataFrame, study: StudyFacts
) -> str:
    """The same differences on the same network after other windows of pretraining."""
    keys, specs = condition.group.keys, study.instances.get("architecture", {})
    network, windows, sentences = keys["architecture"], study.pretraining, []
    alike = {key: keys[key] for key in keys if key in estimates and key != "architecture"}
    alike |= {"estimand": condition.estimand, "comparison": condition.comparison}
    alike_rows = where(estimates, quotable=True, **alike)
    alike_rows = alike_rows[alike_rows["optimizer"].isin(condition.rows["optimizer"])]
    for other, rows in alike_rows.groupby("architecture", sort=False):
        if specs.get(other) == specs.get(network) and windows.get(other) != windows.get(network):
            names, gaps = rows["optimizer"], map(_gap_text, rows.to_dict("records"))
            gaps = [f"{study.called('optimizer', n)} {g}" for n, g in zip(names, gaps, strict=True)]
            sentences.append(f"windows of {pluralize(windows[other], 'step')}: {join_names(gaps)}")
    if not sentences:
        return ""
    return (
        f"{condition.group.title} is pretrained with windows of "
        f"{pluralize(windows[network], 'step')}. Pretrained otherwise, the same network gives, "
        f"with {'; with '.join(sentences)}."
    )


def _comparison_clause(
    comparison: str, gaps_by_optimizer: Mapping[str, tuple], study: StudyFacts
) -> str:
    """Which learner recovers more, optimizer by optimizer, each with its gap and interval."""
    first, second = (study.called("learner", name) for name in study.comparison(comparison)[1:])
    unclear = "neither clearly more nor less"
    gaps_by_direction: dict[str, list[str]] = {"more": [], "less": [], unclear: []}
    for optimizer, (row, low, high, suffix) in gaps_by_optimizer.items():
        direction = "more" if low > 0 else "less" if high < 0 else unclear  # NaN is neither
        text = f"{study.called('optimizer', optimizer)} ({_gap_text(row, low, high)}"
        if row.get("error_equivalent") is True:
            text += f", errors equivalent within {row['error_margin']:g}"
        gaps_by_direction[direction].append(f"{text}{suffix})")
    directions = ((direction, gaps) for direction, gaps in gaps_by_direction.items() if gaps)
    text = "; ".join(f"{direction} with {join_names(gaps)}" for direction, gaps in directions)
    return f"Against “{second}”, “{first}” recovers {text}"


def gap_sentence(condition: Condition, study: StudyFacts) -> str:
    """The comparison on one condition, with its networks and title, in a sentence."""
    rows, keys = condition.rows.to_dict("records"), condition.group.keys
    sizes = [int(row["n_seeds"]) for row in rows]
    least, most = min(sizes), max(sizes)
    networks = pluralize(least, "network") if least == most else f"{least}–{most} networks"
    cells = {row["optimizer"]: (row, *(row[end] for end in _T95), "") for row in rows}
    title, pair = condition.group.title, " of one pair of sessions" * bool(keys["pair"])
    if not pair:
        task = f"{study.called('task', keys['task'])}, "
        title = task + title.removeprefix(task)
    return f"{_comparison_clause(condition.comparison, cells, study)} ({networks}{pair}: {title})."


def best_refit_sentence(
    condition: Condition, results: Mapping[str, pd.DataFrame], study: StudyFacts
) -> str:
    """Which decoder refitted on the same steps recovers most, and which learner does."""
    best = []
    for name in ("baselines", "conditions"):
        rows = results.get(name, pd.DataFrame())
        rows = where(rows, **{k: v for k, v in condition.group.keys.items() if k in rows})
        if rows.empty or rows["recovery_percent"].isna().all():
            return ""
        row = rows.loc[rows["recovery_percent"].idxmax()].to_dict()
        ends = row["t95_low_percent"], row["t95_high_percent"]
        best.append((row, f"{estimate(row['recovery_percent'], *ends)} %"))
    (baseline, first), (learner, second) = best
    parts = (study.called(kind, learner[kind]) for kind in ("learner", "optimizer"))
    return (
        f"Refitted once on the same steps, {BASELINES[baseline['baseline']]} recovers {first}; of "
        f"the learners {' with '.join(parts)} recovers most, {second} (weights frozen once)."
    )


def two_by_two_sentence(condition: Condition, study: StudyFacts) -> str:
    """What gradient and cadence add, each alone, with the optimizer of the largest gap."""
    cells = find_square(study) or ()
    if condition.comparison in cells:
        return ""
    optimizer = condition.rows.loc[condition.rows["gap_pp"].abs().idxmax(), "optimizer"]
    rows = where(condition.group.rows, optimizer=optimizer).to_dict("records")
    gaps = {row["comparison"]: _gap_text(row) for row in rows}
    text = "; ".join(f"{study.called('comparison', c)} {gaps[c]}" for c in cells if c in gaps)
    name = study.called("optimizer", optimizer)
    return text and f"With {name}, gradient and cadence each by itself: {text}."


def quotable_pairs_sentence(
    over_pairs: pd.DataFrame | None, estimates: pd.DataFrame, study: StudyFacts
) -> str:
    """The main comparison over those pairs in which no guard fails."""
    if over_pairs is None or estimates.empty:
        return ""
    rows = where(over_pairs, comparison=study.main)
    rows = rows[rows["n_pairs"] > 1].assign(pair="")
    estimand = next((name for name in OF_HELDOUT if (rows["estimand"] == name).any()), None)
    groups = study.groups(where(rows, estimand=estimand))
    group = max(groups, key=lambda g: (g.rows["n_pairs"].max(), len(g.rows)), default=None)
    if group is None:
        return ""
    estimates = where(estimates, estimand=estimand)
    cells, optimizers_with_few_pairs, pairs = {}, [], 0
    key_columns = [key for key in (*group.keys, "optimizer", "comparison") if key != "pair"]
    for row in group.rows.to_dict("records"):
        pair_rows = where(estimates, **{key: row[key] for key in key_columns})
        n_quotable, pairs = int(pair_rows["quotable"].sum()), max(pairs, len(pair_rows))
        if n_quotable < FEWEST_PAIRS:
            optimizers_with_few_pairs.append(study.called("optimizer", row["optimizer"]))
            continue
        cell, ends = row, tuple(row[end] for end in _T95)
        if n_quotable < len(pair_rows):  # the result has the 1 - 2 alpha interval of these pairs
            gap, end = row["gap_without_failing_pp"], row["t90_high_without_failing_pp"]
            error = (end - gap) / t_quantile(1 - row.get("alpha", study.alpha), n_quotable - 1)
            cell, ends = {"gap_pp": gap}, t_interval(gap, error, n_quotable - 1)
        cells[row["optimizer"]] = (cell, *ends, f"; {n_quotable} of {len(pair_rows)} pairs")
    if pairs < FEWEST_PAIRS:
        return ""
    parts = [_comparison_clause(study.main, cells, study)] if cells else []
    if optimizers_with_few_pairs:
        parts.append(
            f"with {join_names(optimizers_with_few_pairs)} fewer than {FEWEST_PAIRS} of {pairs}"
            " pass every guard"
        )
    return f"Over pairs of sessions ({group.title}): {'; '.join(parts)}."


def no_gap_sentence(estimates: pd.DataFrame, models: pd.DataFrame, study: StudyFacts) -> str:
    """Why no gap of the study's subject is quoted.

    It names the learners that were not run, or the guard that fails most often.
    """
    rows = estimates[estimates["comparison"].isin(_quotable_comparisons(study))]
    if rows.empty:
        learners_run, learners = {*models["learner"]}, study.comparison(study.main)[1:]
        unrun = [f"“{study.called('learner', n)}”" for n in learners if n and n not in learners_run]
        has_reason = bool(learners_run and unrun)
        why = f": {join_names(unrun)} of the main comparison was not run" * has_reason
        return f"No difference between learners has been estimated{why}."
    if study.recordings and (rows := rows[rows["task"].isin(study.recordings)]).empty:
        return ""
    keys = [key for key in (*SETTING, "comparison") if key in rows]  # each at several estimands
    count = len(rows.drop_duplicates(keys))
    reasons = rows["guards"].fillna("").str.split("; ").explode().str.split(":").str[0]
    most = reasons[reasons != ""].mode()
    why = f", most often because {most.iloc[0]}" if len(most) else ""
    on = "on the sessions " if study.recordings else ""
    square = " and of the two by two" if find_square(study) else ""
    return (
        f"Which learner recovers more cannot be told: none of {pluralize(count, 'difference')} of "
        f"the main comparison{square} {on}passes every guard{why}."
    )


def verdicts_sentence(verdicts: list[Verdict], study: StudyFacts) -> str:
    """How many registrations ended how, and what became of the weightiest claim."""
    if not verdicts:
        return "No registration has been judged."
    outcomes = [line["words"] for line in verdicts]
    order = [v["words"] for sign in OUTCOME_SIGNS for v in verdicts if v["outcome"] == sign]
    counts = [f"{outcomes.count(words)} {words}" for words in dict.fromkeys([*order, *outcomes])]
    what = "hypothesis" if len(verdicts) == 1 else "hypotheses"
    first = verdicts[0]
    papers = study.reproduces and first["registration"] in load().registrations
    whose = "first of the paper's" if papers else "primary one"
    headline = f" The {whose}, “{first['title']}”, is {first['words']}."
    if not (papers or (first.get("primary") and len(verdicts) > 1)):
        headline = ""
    return f"Of {len(verdicts)} registered {what}: {join_names(counts)}.{headline}"
