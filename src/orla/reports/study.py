"""Facts of a study that reports need beside its results: name, comparisons, data, parts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from orla.reports.paper import Paper, load
from orla.reports.words import PartNames, data_in_words
from orla.results.base import Comparison, Settings
from orla.study.declarations import SECTIONS
from orla.study.keys import DEFAULTS

# Name, in configs and registrations, of the comparison that the paper's gaps belong to.
PAPERS = "paper"
# Units of the paper's networks on recordings.
HIDDEN = 64
# The columns that set conditions apart, learner and optimizer aside, in the order of a title.
CONDITION = ("task", "pair", "architecture", "precision", "split", "intervention", "start")


def where(frame: pd.DataFrame, **keys: Any) -> pd.DataFrame:
    """The rows that have these values in these columns."""
    has_values = np.ones(len(frame), bool)
    for name, value in keys.items():
        has_values &= (frame[name] == value).to_numpy(bool, na_value=False)
    return frame[has_values]


class Group(NamedTuple):
    """The rows of one condition: what a reader calls it, and its key columns."""

    title: str
    keys: dict[str, str]
    rows: pd.DataFrame


def _numbers_and_words(name: str) -> list[str | int]:
    """A name in words and numbers, to sort by: array-2 comes before array-10."""
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


def _find_papers_pair(tasks: Mapping[str, Any], datasets: Mapping[str, Any]) -> tuple[str, str]:
    """Task and name of the paper's pair of sessions; "" both where the study did not run it.

    `datasets` are by task, pair and split, joined by slashes.
    """
    ran = {tuple(place.split("/")[:2]) for place in datasets}
    for task, spec in tasks.items():
        for pair, sessions in spec.get("pairs", {}).items():
            if (task, pair) in ran and [*map(sessions.get, "ab")] == load().stand_in_sessions:
                return task, pair
    return "", ""


@dataclass(frozen=True, kw_only=True)
class StudyFacts(PartNames):
    """Facts for captions and titles, and the names of parts in them.

    Attributes:
        simulated: whether its sessions are simulated; a synthetic task stands in for none.
        made_drift: the tasks that are real recordings of which the drift is made.
        reproduces: whether it is the paper's study: on the paper's recordings or their simulation,
            or on a synthetic task that the paper has.
        recordings: the tasks that are recorded (or simulated) sessions, as the paper's are.
        papers_task, papers_pair: the task, and the pair of sessions, that the paper's numbers are
            about; without such a pair the first recorded task of the conditions, and "".
        main: the comparison that a figure of one comparison shows.
        pretraining, passes: network -> steps of the window it is pretrained with; most passes.
        rates_of: the precision whose chosen rates are carried over to others.
        formats: precision -> floating-point format, of numeric configurations.
    """

    name: str
    label: str = ""
    simulated: bool = False
    made_drift: tuple[str, ...] = ()
    reproduces: bool = False
    margin_pp: float = 3.0
    alpha: float = 0.05
    recordings: tuple[str, ...] = ()
    papers_task: str = ""
    papers_pair: str = ""
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    main: str = PAPERS
    pretraining: Mapping[str, int] = field(default_factory=dict)
    passes: Mapping[str, int] = field(default_factory=dict)
    rates_of: str = Settings.rates_of
    formats: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], provenance: Mapping[str, Any]) -> Self:
        """The facts of a study, from its settled config and the provenance of a result."""
        settings = Settings.from_config(config["statistics"], config["comparisons"])
        tasks, datasets = config["tasks"], provenance["datasets"]
        recordings = tuple(task for task, spec in tasks.items() if "pairs" in spec)
        drifts = (place.split("/")[0] for place, data in datasets.items() if data.get("drift"))
        synthetic = {domain.split("/")[0] for domain in datasets} - {*recordings}
        sources = {dataset["source"] for dataset in datasets.values()}
        papers_task, papers_pair = _find_papers_pair(tasks, datasets)
        if not papers_task:
            tasks_in_order = [task for block in config["conditions"] for task in block["tasks"]]
            papers_task = min(tasks_in_order, key=lambda t: t not in recordings, default="")
        usual = config["pretraining"]
        pretraining = {n: usual | usual.get("of", {}).get(n, {}) for n in config["networks"]}
        sections = {kind: section for kind, section in SECTIONS.items() if kind != "task"}
        return cls(
            name=config["name"],
            label=data_in_words(dataset["label"] for dataset in datasets.values()),
            # A synthetic task is what it is: only sessions can be simulated.
            simulated="simulated" in sources,
            made_drift=tuple(dict.fromkeys(drifts)),
            reproduces=bool(
                synthetic & load().names["task"] or sources & {"simulated", "odoherty"}
            ),
            margin_pp=settings.margin_pp,
            alpha=settings.alpha,
            recordings=recordings,
            papers_task=papers_task,
            papers_pair=papers_pair,
            comparisons=settings.comparisons,
            main=settings.main,
            rates_of=settings.rates_of,
            formats={n: spec["precision"] for n, spec in config.get("numerics", {}).items()},
            instances={kind: config.get(section, {}) for kind, section in sections.items()},
            # A task's options are data, which no reader wants beside its name.
            tasks={
                task: {k: v for k, v in spec.items() if not isinstance(v, Mapping)}
                for task, spec in tasks.items()
            },
            pretraining={name: how["window"] for name, how in pretraining.items()},
            passes={name: how["max_epochs"] for name, how in pretraining.items()},
        )

    def number_format(self, precision: str) -> str:
        """The floating-point format of a precision."""
        return self.formats.get(precision, precision)

    def pretraining_words(self, network: str) -> str:
        """How a network was pretrained; "" where all of the study's were so, or it is not known."""
        window = self.pretraining.get(network)
        if window is None or len({*self.pretraining.values()}) == 1:
            return ""
        once = " in one pass" if self.passes.get(network) == 1 else ""
        return f"pretrained by windows of {window}{once}"

    @property
    def caption_prefix(self) -> str:
        """First words of every caption where sessions are simulated or drift is made, else ""."""
        prefix = "Real recording, MADE drift. " if self.made_drift else ""
        return "SIMULATED sessions, no recording. " if self.simulated else prefix

    def simulates(self, tasks: pd.Series) -> pd.Series:
        """Whether each of these tasks stands in for recordings."""
        return tasks.isin(self.recordings) & self.simulated

    def narrow_to(self, rows: pd.DataFrame) -> Self:
        """The facts for a table or figure of these rows; those that were not run do not count."""
        ran = rows[rows["run"].astype(bool)] if "run" in rows else rows
        if ran.empty or "task" not in ran:
            return self
        drifts = tuple(task for task in self.made_drift if ran["task"].eq(task).any())
        return replace(self, simulated=bool(self.simulates(ran["task"]).any()), made_drift=drifts)

    @property
    def data(self) -> str:
        """The data as a reader calls them."""
        return self.label or self.name

    def comparison(self, name: str) -> Comparison:
        """A comparison's label and learners; one that the study does not declare is its name."""
        return self.comparisons.get(name, Comparison(name, "", ""))

    def comparison_text(self, name: str) -> str:
        """A comparison as "label (which learner minus which)"."""
        label, *learners = self.comparison(name)
        pair = " − ".join(self.called("learner", learner) for learner in learners)
        return f"{label or name} ({pair})" if all(learners) else label

    def called(self, kind: str, slug: str) -> str:
        """The reader's name of a part, a value or a comparison."""
        if kind == "comparison":
            return self.comparison(slug).label or slug
        return super().called(kind, slug)

    def sort_names(self, kind: str, slugs: Iterable[str]) -> list[str]:
        """Names in declared order; of tasks and pairs the paper's first, pairs by their numbers."""
        slugs = super().sort_names(kind, slugs)
        if kind == "pair":
            slugs = sorted(slugs, key=_numbers_and_words)
        papers = {"task": self.papers_task, "pair": self.papers_pair}.get(kind)
        return sorted(slugs, key=lambda slug: slug != papers)

    def distinct(self, frame: pd.DataFrame, kind: str) -> list[str]:
        """The values of a key column, in the order that their parts declare."""
        values = frame[kind].dropna().unique().tolist() if kind in frame else []
        if kind == "comparison":
            declared = [name for name in self.comparisons if name in values]
            return declared + sorted({*values} - {*declared})
        return self.sort_names(kind, values)

    def value_names(self, frame: pd.DataFrame, kind: str) -> dict[str, str]:
        """The values of a key column and the reader's name of each, in declared order."""
        return {slug: self.called(kind, slug) for slug in self.distinct(frame, kind)}

    def arrange(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows by condition, learner, comparison and optimizer, in declared order."""
        kinds = [k for k in (*CONDITION, "learner", "comparison", "optimizer") if k in frame]
        ranks = {kind: {s: i for i, s in enumerate(self.distinct(frame, kind))} for kind in kinds}
        return frame.sort_values(
            kinds, key=lambda column: column.map(ranks[column.name]), kind="stable"
        ).reset_index(drop=True)

    def condition_title(self, keys: Mapping[str, Any], frame: pd.DataFrame) -> str:
        """A condition's title: network, precision and split, and what else varies in `frame`."""
        kinds = [kind for kind in CONDITION if keys.get(kind, "") != ""]
        return ", ".join(
            self.called(kind, str(keys[kind]))
            for kind in kinds
            if kind in ("architecture", "precision", "split")
            or frame[kind].nunique() > 1
            or keys[kind] != DEFAULTS.get(kind, keys[kind])
        )

    def groups(self, frame: pd.DataFrame, *more: str, without: str = "") -> Iterator[Group]:
        """The rows of each condition (and value of `more`), in order, with title and keys.

        Conditions are not told apart by `without`.
        """
        if frame.empty:
            return
        key_columns = [key for key in (*CONDITION, *more) if key in frame and key != without]
        for values, rows in self.arrange(frame).groupby(key_columns, sort=False):
            keys = dict(zip(key_columns, values, strict=True))
            title = self.condition_title(keys, frame)
            title = ": ".join([title, *(self.called(kind, keys[kind]) for kind in more)])
            yield Group(title, keys, rows)

    def applicable_paper(
        self, keys: Mapping[str, Any], comparison: str | None = None
    ) -> Paper | None:
        """The paper, where its numbers apply to a condition; else None.

        They apply to the paper's recordings, or their simulation, and networks of its size, without
        intervention or another start; and to a comparison only where its learners are the paper's.
        """
        paper, networks = load(), self.instances.get("architecture", {})
        network = networks.get(keys["architecture"], {})
        size = network.get("hidden", HIDDEN) if isinstance(network, Mapping) else HIDDEN
        fits = self.reproduces and keys["task"] in self.recordings and size == HIDDEN
        fits = fits and self.papers_task in ("", keys["task"])
        fits = fits and self.papers_pair in ("", keys["pair"])
        fits = fits and all(keys[kind] == value for kind, value in DEFAULTS.items())
        if fits and comparison is not None:
            _, minuend, subtrahend = self.comparison(comparison)
            fits = comparison == PAPERS and minuend in paper.names["learner"]
            fits = fits and subtrahend == paper.headline["learner"]
        return paper if fits else None
