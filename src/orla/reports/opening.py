"""The opening of a report: the answer, what was asked, over what, and how far to trust it."""

from collections.abc import Mapping
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla import catalogue
from orla.reports import answer
from orla.reports.by_row import VS_RTRL
from orla.reports.chapters import chapter, chapter_sort_key
from orla.reports.estimates import OF_HELDOUT, fails_guard, find_square, recovery_has_meaning
from orla.reports.numbers import estimate, is_missing, number, or_default
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables import language, others
from orla.reports.tables.drift import drift_sentences
from orla.reports.tables.heldout import runs
from orla.reports.verdicts import Verdict
from orla.reports.words import jinja_templates, join_names, pluralize
from orla.results.estimands import ESTIMAND_WORDS
from orla.statistics.means import moments
from orla.study.keys import KEYS

Results = Mapping[str, pd.DataFrame]
_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"
_MOST_NAMES = 4


class Opening(NamedTuple):
    """A report's title, its answer, and what stands behind it.

    Attributes:
        sentences, further: the answer in two or three sentences; what one adds to a colleague.
        note: what the numbers are. quotes_gaps: whether gaps of the study's subject are quoted.
        background: "The drift", "Asked", "Over what" and "How far to trust it".
    """

    title: str
    sentences: list[str]
    further: list[str]
    note: str
    quotes_gaps: bool
    background: dict[str, str]


def opening(results: Results, verdicts: list[Verdict], study: StudyFacts) -> Opening:
    """The opening, from results by file stem and the verdicts, the weightiest first."""
    models = results.get("heldout", pd.DataFrame(columns=[*KEYS, "seed"]))
    blank = pd.DataFrame(columns=["task", "comparison", "estimand", "guards"], dtype=object)
    estimates = results.get("estimates", blank)
    estimates = estimates[estimates["estimand"].isin(OF_HELDOUT)]
    records = estimates.to_dict("records")
    vague = np.array([not recovery_has_meaning(row) for row in records], bool)
    fails = np.array([fails_guard(row) or is_missing(row.get("gap_pp")) for row in records], bool)
    estimates = estimates.assign(vague=vague, quotable=~(vague | fails))
    facts = _template_facts(results, models, estimates, study)
    title = _PAPERS_QUESTION if facts["papers"] else f"Online adaptation to {study.data}"
    drift = drift_sentences(results.get("drift_report"))
    macros = jinja_templates({"number": number}).get_template("opening.jinja").make_module(facts)
    items = (macros.asked, macros.over, macros.trust)
    question, over, trust = (" ".join(macro().split("\n")).strip() for macro in items)
    language_models = language.lora_recovery_sentences(results.get("language"))
    streams = others.river_comparison_sentences(results, study)
    chapters = question if drift else _chapter_questions(results)
    if "heldout" not in results and chapters:  # no network has been trained on a stream
        title = language.TITLE if language_models else title
        images = others.tent_optimizer_sentences(results.get("tta"), study)
        sentences = [*drift, *language_models, *images, *streams]
        return Opening(title, sentences, [], "", False, {"Asked": chapters})
    background = {"The drift": " ".join(drift)} if drift else {}
    background |= {"Asked": question, "Over what": over, "How far to trust it": trust}
    answer_fields = _answer_fields(results, models, estimates, verdicts, streams, study)
    return Opening(title, *answer_fields, background)


def _answer_fields(
    results: Results,
    models: pd.DataFrame,
    estimates: pd.DataFrame,
    verdicts: list[Verdict],
    stream_sentences: list[str],
    study: StudyFacts,
) -> tuple[list[str], list[str], str, bool]:
    """What was found: the fields of `Opening` from `sentences` to `quotes_gaps`."""
    best = answer.quotable_condition(estimates, study)
    is_recorded = best is not None and best.group.keys["task"] in study.recordings
    note, subject = "", best is not None and (is_recorded or not study.recordings)
    if subject:
        pairs_text = answer.quotable_pairs_sentence(results.get("over_pairs"), estimates, study)
        alone = answer.gap_sentence(best, study)
        second = alone if pairs_text else answer.two_by_two_sentence(best, study)
        pretraining = answer.pretraining_window_sentence(best, estimates, study)
        refit = answer.best_refit_sentence(best, results, study)
        texts = [pairs_text or alone, second, pretraining, refit]
        if pairs_text and best.rows["n_seeds"].max() < answer.FEWEST_NETWORKS:
            texts = [pairs_text]  # of one pair's few networks an interval tells nothing
        quotable = where(estimates, estimand=best.estimand)["quotable"]
        note = (
            f"Gaps are of held-out recovery ({ESTIMAND_WORDS[best.estimand]}), in percentage "
            "points (pp), with 95 % t intervals. Only gaps without a failing guard are quoted "
            f"here: {int(quotable.sum())} of {len(quotable)}."
        )
    else:
        rest = _rtrl_share_sentence(models, study) or (best and answer.gap_sentence(best, study))
        rest = rest or _best_recovery_sentence(models, study)
        texts = ["" if stream_sentences else answer.no_gap_sentence(estimates, models, study), rest]
    first, *further_sentences = [*filter(None, texts)] or [""]
    if verdicts and estimates.empty:  # what was registered is the answer
        first, further_sentences = "", texts[1:]
    further_sentences += stream_sentences
    sentences = [
        _no_network_learned_sentence(models, study),
        first,
        answer.verdicts_sentence(verdicts, study),
    ]
    return list(filter(None, sentences)), list(filter(None, further_sentences)), note, subject


def _chapter_questions(results: Results) -> str:
    """What the chapters that these results have tables for ask, in a sentence each."""
    nonempty_results = {name for name, frame in results.items() if len(frame)}
    parts = [part.part for part in catalogue.parts("table").values()]
    chapter_names = {p.chapter for p in parts if nonempty_results.issuperset(p.more["needs"])}
    return " ".join(chapter(name).sentence for name in sorted(chapter_names, key=chapter_sort_key))


def _template_facts(
    results: Results, models: pd.DataFrame, estimates: pd.DataFrame, study: StudyFacts
) -> dict[str, Any]:
    """What the sentences are made of: numbers, and names as a reader knows them."""
    network = ["task", "pair", "architecture", "precision", "start", "seed"]
    kinds = ("architecture", "learner", "optimizer", "split")
    names = {kind: list(dict.fromkeys(study.value_names(models, kind).values())) for kind in kinds}
    streams = models[["task", "pair"]].drop_duplicates()["task"].isin(study.recordings)
    pairs, other = int(streams.sum()), int((~streams).sum())
    stream_counts = [f"{pluralize(pairs, 'pair')} of sessions"] * bool(pairs)
    stream_counts += [pluralize(other, "other stream" if pairs else "stream")] * bool(other)
    controls = results.get("truth_controls", pd.DataFrame())
    if len(controls):  # on the margin every decision is wrong
        controls = where(controls[controls["margins"] != 1], rules="present")
    full, immediate = (study.called("learner", name) for name in study.comparison(study.main)[1:])
    compares = len(estimates) > 0 or "heldout" not in results
    return {
        "study": study,
        "papers": study.reproduces and compares,
        "compares": compares,
        "paper": load().document,
        "full": full,
        "immediate": immediate,
        "square": find_square(study),
        "names": {
            kind: join_names(group) if len(group) <= _MOST_NAMES else f"{len(group)} {kind}s"
            for kind, group in names.items()
        },
        "learners": pluralize(len(names["learner"]), "learner"),
        "networks": len(models.drop_duplicates(network)),
        "streams": join_names(stream_counts),
        "models": len(models),
        "recorded": int(models["task"].isin(study.recordings).sum()),
        "pairs": pairs,
        "fewest_pairs": answer.FEWEST_PAIRS,
        "controls": controls,
        "worst": controls.loc[controls["wrong_share"].idxmax()] if len(controls) else None,
        "estimates": estimates,
    }


def _no_network_learned_sentence(models: pd.DataFrame, study: StudyFacts) -> str:
    """That no network of the recordings learned its task before anything drifted; "" otherwise."""
    recorded_runs = runs(models[models["task"].isin(study.recordings)], study)
    scored_runs = [run for run in recorded_runs if not is_missing(run.reference_error)]
    best = min(scored_runs, key=lambda run: run.reference_error - run.constant_error, default=None)
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


def _rtrl_share_sentence(models: pd.DataFrame, study: StudyFacts) -> str:
    """What the learner that is compared recovers of exact RTRL's recovery, task by task."""
    column, learner = VS_RTRL.heldout, study.comparison(study.main).subtrahend
    rows = where(models, learner=learner).dropna(subset=[column] if column in models else [])
    rows = rows[~rows["task"].isin(study.recordings)]
    if column not in models or rows.empty:
        return ""
    usual = {key: rows[key].mode().iloc[0] for key in KEYS if key not in ("task", "learner")}
    tasks = [
        f"{study.called('task', task)}: {estimate(ours.mean, *ours.interval(), digits=0)} %"
        for task, of_task in where(rows, **usual).groupby("task", sort=False)
        if _recovery_has_meaning(of_task)
        for ours in [moments(of_task[column])]
        if ours.n > 1  # one network has no interval
    ]
    if not tasks:
        return ""
    optimizer, network = (study.called(key, usual[key]) for key in ("optimizer", "architecture"))
    return (
        f"Where the best exact RTRL recovers 100 %, “{study.called('learner', learner)}” with "
        f"{optimizer} ({network}) recovers (95 % t interval over networks): {'; '.join(tasks)}."
    )


def _best_recovery_sentence(models: pd.DataFrame, study: StudyFacts) -> str:
    """What a learner recovers, over pairs where there are several; for studies that compare none.

    It is the learner whose interval lies highest.
    """
    texts: list[tuple[float, str]] = []
    rows = models[models["task"].isin(study.recordings)]
    rows = rows[rows["selected"].astype(bool)] if len(rows) else rows
    for title, keys, group in study.groups(rows, "learner", "optimizer", without="pair"):
        pairs = [rows for _, rows in group.groupby("pair") if _recovery_has_meaning(rows)]
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
        texts.append((or_default(low, -inf), text))
    return max(texts, key=itemgetter(0))[1] if texts else ""


def _recovery_has_meaning(models: pd.DataFrame) -> bool:
    """Whether recovery says anything of these models: its denominator is clear."""
    span = moments(models["frozen_heldout_error"] - models["reference_error"])
    return recovery_has_meaning({"denominator": span.mean, "denominator_se": span.standard_error})
