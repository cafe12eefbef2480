"""Facts of a study for reports, from the parameters of a rule."""

from collections.abc import Mapping
from typing import Any

from orla import catalogue
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.words import data_in_words
from orla.results.base import Settings


def facts_of(params: Any, provenance: Mapping[str, Any]) -> StudyFacts:
    """From a rule's parameters, and the provenance of a result: its data sets."""
    catalogue.use_plugins(params.plugins)
    given = params.facts
    settings = Settings.of(given["statistics"], given["comparisons"])
    datasets = list(provenance["datasets"].values())
    synthetic = {domain.split("/")[0] for domain in provenance["datasets"]} - {*given["recordings"]}
    return StudyFacts(
        name=given["name"],
        label=data_in_words(dataset["label"] for dataset in datasets),
        # A synthetic task is what it is: only sessions can be simulated.
        simulated=any(dataset["source"] == "simulated" for dataset in datasets),
        reproduces=bool(synthetic & load().tasks)
        or any(dataset["source"] in ("simulated", "odoherty") for dataset in datasets),
        margin_pp=settings.margin_pp,
        alpha=settings.alpha,
        recordings=tuple(given["recordings"]),
        papers_task=given["papers_task"] or "",
        comparisons=settings.comparisons,
        main=settings.main,
        instances=given["instances"],
        pretraining=given["pretraining"],
        tasks=given.get("tasks", {}),
    )
