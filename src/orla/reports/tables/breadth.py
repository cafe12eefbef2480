"""Tables of learners, optimizers, networks and tasks: each beside the paper's, and their cost."""

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.reports.alignment import against_exact, references
from orla.reports.beside import LAST, VS_RTRL, ByPapersRow, Measure, errors, measured
from orla.reports.cells import Row, called, cell, counted, ends, value
from orla.reports.comparison import Mean
from orla.reports.numbers import MISSING, memory, number, powers, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.results.estimands import ESTIMANDS
from orla.study.keys import SETTING

_PARTS = "adapt", "heldout"
_RECOVERY = Measure("recovery_adapt_percent", "recovery_heldout_percent")
# The least rate of the only grid that the paper prints, Appendix A.
_COARSE = 3e-4
_LAST: Mapping[str, str] = {"last": "Last tenth"}


class HeadToHead(
    ByPapersRow, name="headtohead", label="Head to head", chapter="breadth", order=10,
    paper="headtohead",
):  # fmt: skip
    """Every row of the paper's comparison of learners across tasks."""

    measures: ClassVar = {
        "recovery_vs_rtrl_percent": VS_RTRL,
        "recovery_percent": _RECOVERY._replace(on_heldout=True),
        "cross_entropy": Measure("adapt_error", "heldout_error", 3, lower=True),
    }
    says = (
        "Immediate derivatives and Jacobian-based methods across tasks: recovery (%), on synthetic "
        "tasks with exact RTRL as 100 and over the adapt part; on bytes the cross-entropy (nats)."
    )


class Optimizers(
    ByPapersRow, name="optimizers", label="Optimizers of immediate derivatives", chapter="breadth",
    order=20, paper="optimizers",
):  # fmt: skip
    """Recovery by optimizer, ours and the paper's."""

    measures: ClassVar = {
        "recovery_vs_rtrl_percent": VS_RTRL._replace(digits=0),
        "adapt_recovery_percent": _RECOVERY._replace(digits=0),
    }
    further: ClassVar = {"coarse": f"≥ {rate(_COARSE)}"}
    remarks = (
        f"≥ {rate(_COARSE)}: ours at the best on the adapt part of such rates alone. The grid that "
        "the paper prints has no smaller one; where this column alone agrees, the grid may be what "
        "the paper's number tells of.",
    )
    says = "Immediate derivatives by optimizer: recovery (%), on synthetic tasks exact RTRL is 100."

    def more(self, models: pd.DataFrame, keys: Row, measure: Measure) -> dict[str, Mean | None]:
        coarse = models[models["learning_rate"] >= _COARSE]
        return {"coarse": measured(coarse, keys, measure)["adapting"]}


class DecayGrid(
    ByPapersRow, name="decay_grid", label="Decay of the trace", chapter="breadth", order=30,
    paper="decay_grid",
):  # fmt: skip
    """Recovery by decay and optimizer, ours and the paper's."""

    measures: ClassVar = {
        "recovery_percent": Measure(*(f"{part}_vs_hundred_percent" for part in _PARTS))
    }
    says = (
        "Trace learners by decay and optimizer: recovery over the adapt part (%), "
        "immediate derivatives with Adam as 100."
    )

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        at = [key for key in SETTING if key != "optimizer"] + ["seed"]
        keys = load().document["decay_grid"]["hundred"]
        hundreds = where(models, **keys)
        recovered = {}
        for part in _PARTS:
            hundred = hundreds[hundreds[ESTIMANDS[part].selected].astype(bool)].set_index(at)
            reached = hundred.reindex(pd.MultiIndex.from_frame(models[at]))
            frozen = models[f"frozen_{part}_error"]
            gain = frozen - reached[f"{part}_error"].to_numpy(float)
            share = 100.0 * (frozen - models[f"{part}_error"]) / gain
            recovered[f"{part}_vs_hundred_percent"] = share
        return models.assign(**recovered)


class Architectures(
    ByPapersRow, name="architectures", label="Architectures on sine", chapter="breadth", order=40,
    paper="architectures",
):  # fmt: skip
    """Recovery by network, ours and the paper's."""

    measures: ClassVar = {"recovery_vs_rtrl_percent": VS_RTRL}
    says = "Immediate derivatives with Adam by network: recovery (%), exact RTRL is 100."
    remarks = (
        "LeWM: ours is a small transformer with weights of its own; the paper's row is of "
        "pretrained weights, which this study does not have.",
    )


class Multilayer(
    ByPapersRow, name="multilayer", label="Depth", chapter="breadth", order=50, paper="multilayer"
):
    """Errors by number of layers, ours and the paper's."""

    measures = errors(6)
    further = _LAST
    remarks = (LAST,)
    says = "Best trace and best exact RTRL by number of layers: squared error after the change."


class Horizon(
    ByPapersRow, name="horizon", label="Delay", chapter="breadth", order=60, paper="delays"
):
    """Errors by delay, ours and the paper's."""

    measures = errors(4)
    further = _LAST
    remarks = (
        LAST,
        "Weights that learn follow the band's phase, and so may come below the least error of "
        "fixed ones without memory; held out they cannot.",
    )
    says = "Delayed sine, and a narrow band in its place, by delay: squared error after the change."

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        # A network's frozen error is the same beside every learner and optimizer.
        by = [key for key in SETTING if key not in ("learner", "optimizer")] + ["seed"]
        frozen = models.drop_duplicates(by).assign(
            learner="frozen",
            optimizer="",
            learning_rate=0.0,
            selected=True,
            **dict.fromkeys(("diverged", "edge"), False),
            adapt_error=lambda rows: rows["frozen_adapt_error"],
            last_adapt_error=np.nan,
            heldout_error=lambda rows: rows["frozen_heldout_error"],
        )
        return pd.concat([models, frozen], ignore_index=True)


class Windows(
    ByPapersRow, name="tbptt", label="Windows of truncated backpropagation", chapter="breadth",
    order=70, paper="windows",
):  # fmt: skip
    """Errors by window, ours and the paper's."""

    measures = errors(5)
    further = _LAST
    remarks = (LAST,)
    says = (
        "Truncated backpropagation, an update a window: squared error after the change, by window."
    )


_MORE = "‡"


def _short(text: str) -> str:
    """The first order of growth that a declaration names, with a mark where it says more."""
    order = re.search(r"O\(.*?\)", text)
    first = order[0] if order else text
    return (powers(first) or MISSING) + (_MORE if first != text else "")


class Learners(
    Table, name="learners", label="Learners' gradients and what they cost", chapter="breadth",
    order=10, needs=("learners",),
):  # fmt: skip
    """A panel a network and driver, a row a learner that watched: agreement, exactness, cost."""

    layout: ClassVar = {"size": "scriptsize"}
    cells = (
        called("learner", column="observer"),
        value("Gradient", "exactness", _short, "Declared", "l"),
        value("Time", "time", _short, "Declared", "l"),
        value("Memory", "memory", _short, "Declared", "l"),
        value("Carried", "carried_bytes", memory),
        ends("Cosine", "cosine", "cosine_t95_low", "cosine_t95_high", digits=3),
        cell("above 0", lambda line: _percent(line.row["positive_share"])),
        value("Norm", "norm_ratio", digits=2),
        counted(),
    )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        exact = references(against_exact(rows, study), study) or "an exact learner"
        return (
            f"Each learner's gradient of the recurrent parameters beside that of {exact}, on the "
            "trajectory of the learner and optimizer in the heading. Cosine: mean over updates, "
            "then over seeds; brackets: 95 % t interval over seeds of one pair; above 0: share of "
            "updates with such a cosine; norm: median over updates of the ratio of the norms. "
            "Declared: what the learner says of itself, n being the number of units. Carried: what "
            "it holds of one model between updates; n: seeds, and how many diverged (div.)."
        )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, _, group in study.groups(against_exact(rows, study), "learner", "optimizer"):
            by_name = group.set_index("observer", drop=False)
            lines = by_name.loc[study.ordered("learner", group["observer"])].to_dict("records")
            yield title, [row | _declared(study, row["observer"]) for row in lines]

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        marked = any(_MORE in text for p in contents.panels for row in p.rows for text in row)
        note = "‡ otherwise for some networks or windows: see the reference of learners."
        return [note] if marked else []


def _declared(study: StudyFacts, learner: str) -> dict[str, str]:
    declared = study.declaration("learner", learner)
    return {name: declared.get(name, "") for name in ("exactness", "time", "memory")}


def _percent(share: float) -> str:
    return MISSING if pd.isna(share) else f"{number(100 * share, 0)} %"
