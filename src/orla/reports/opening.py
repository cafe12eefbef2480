"""The opening of a report: the answer, what was asked, over what, and how far to trust it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from orla import catalogue
from orla.reports.answer import FEWEST_PAIRS, answer
from orla.reports.chapters import chapter, chapter_sort_key
from orla.reports.estimates import OF_HELDOUT, find_square, has_meaning
from orla.reports.numbers import number
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables import language
from orla.reports.tables.drift import drift_sentences
from orla.reports.verdicts import Verdict
from orla.reports.words import jinja_templates, join_names, pluralize

Results = Mapping[str, pd.DataFrame]
_PAPERS_QUESTION = "Do immediate derivatives suffice for online recurrent adaptation?"
_MOST_NAMES = 4


class Opening(NamedTuple):
    """A report's title, its answer (see `orla.reports.answer.answer`), and what stands behind it:
    "Asked", "Over what" and "How far to trust it"."""

    title: str
    sentences: list[str]
    further: list[str]
    note: str
    quotes_gaps: bool
    background: dict[str, str]


def opening(results: Results, verdicts: list[Verdict], study: StudyFacts) -> Opening:
    """The opening, from results by file stem and the verdicts, the weightiest first."""
    facts = _template_facts(results, study)
    title = _PAPERS_QUESTION if facts["papers"] else f"Online adaptation to {study.data}"
    drift = drift_sentences(results.get("drift_report"))
    macros = jinja_templates({"number": number}).get_template("opening.jinja").make_module(facts)
    asked, over, trust = (
        " ".join(macro().split("\n")).strip() for macro in (macros.asked, macros.over, macros.trust)
    )
    models = language.model_sentences(results.get("language"))
    chapters = asked if drift else _chapter_sentences(results)
    if "heldout" not in results and chapters:  # no network has been trained on a stream
        title = language.TITLE if models else title
        return Opening(title, [*drift, *models], [], "", False, {"Asked": chapters})
    background = {"The drift": " ".join(drift)} if drift else {}
    background |= {"Asked": asked, "Over what": over, "How far to trust it": trust}
    return Opening(title, *answer(results, verdicts, study), background)


def _chapter_sentences(results: Results) -> str:
    """What the chapters that these results have tables for ask, in a sentence each."""
    there = {name for name, frame in results.items() if len(frame)}
    parts = [part.part for part in catalogue.parts("table").values()]
    shown = {part.chapter for part in parts if there.issuperset(part.more["needs"])}
    return " ".join(chapter(name).sentence for name in sorted(shown, key=chapter_sort_key))


def _template_facts(results: Results, study: StudyFacts) -> dict[str, Any]:
    """What the sentences are made of: numbers, and names as a reader knows them."""
    network = ["task", "pair", "architecture", "precision", "start", "seed"]
    models = results.get("heldout", pd.DataFrame(columns=network))
    kinds = ("architecture", "learner", "optimizer", "split")
    names = {kind: list(dict.fromkeys(study.value_names(models, kind).values())) for kind in kinds}
    recorded = models["task"].isin(study.recordings)
    streams = models[["task", "pair"]].drop_duplicates()["task"].isin(study.recordings)
    pairs, synthetic = int(streams.sum()), int((~streams).sum())
    counted = [f"{pluralize(pairs, 'pair')} of sessions"] * bool(pairs)
    counted += [pluralize(synthetic, "synthetic stream")] * bool(synthetic)
    controls = results.get("truth_controls", pd.DataFrame())
    no_estimates = pd.DataFrame({"guards": [], "estimand": []}, dtype=object)
    estimates = results.get("estimates", no_estimates)
    estimates = estimates[estimates["estimand"].isin(OF_HELDOUT)]
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
            kind: join_names(each) if len(each) <= _MOST_NAMES else f"{len(each)} {kind}s"
            for kind, each in names.items()
        },
        "learners": pluralize(len(names["learner"]), "learner"),
        "networks": len(models.drop_duplicates(network)),
        "streams": join_names(counted),
        "models": len(models),
        "recorded": int(recorded.sum()),
        "pairs": pairs,
        "fewest_pairs": FEWEST_PAIRS,
        "controls": controls,
        "worst": controls.loc[controls["wrong_share"].idxmax()] if len(controls) else None,
        "gaps": len(estimates),
        "failing": int(estimates["guards"].fillna("").astype(bool).sum()),
        "vague": sum(not has_meaning(row) for row in estimates.to_dict("records")),
    }
