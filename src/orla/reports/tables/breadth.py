"""Tables of learners, optimizers, networks and tasks: each beside the paper's, and their cost."""

import re
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.reports.by_row import LAST, VS_RTRL, ByPapersRow, ErrorsBesidePaper, Measure
from orla.reports.cells import cell, part_name, seeds_and_diverged, value, with_interval
from orla.reports.numbers import MISSING, count, memory, number, raise_exponents, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.results.estimands import ESTIMANDS
from orla.study.keys import KEYS, SETTING

_RECOVERY = Measure("recovery_adapt_percent", "recovery_heldout_percent")
# The least rate of the only grid that the paper prints, Appendix A.
_COARSE = 3e-4


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
    says = """Immediate derivatives and Jacobian-based methods across tasks: recovery (%), on
    synthetic tasks with exact RTRL as 100 and over the adapt part; on bytes the cross-entropy
    (nats)."""


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
    remarks = f"""≥ {rate(_COARSE)}: ours at the best on the adapt part of such rates alone. The
    grid that the paper prints has no smaller one; where this column alone agrees, the grid may be
    what the paper's number tells of."""
    says = "Immediate derivatives by optimizer: recovery (%), on synthetic tasks exact RTRL is 100."

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        by, coarse = [*KEYS, "learning_rate"], models[models["learning_rate"] >= _COARSE]
        errors = coarse.assign(adapt_error=coarse["adapt_error"].astype(float).fillna(np.inf))
        means = errors.groupby(by)["adapt_error"].mean()
        best = means.groupby([*KEYS]).idxmin()
        return models.assign(is_coarse=pd.MultiIndex.from_frame(models[by]).isin(best))


class DecayGrid(
    ByPapersRow, name="decay_grid", label="Decay of the trace", chapter="breadth", order=30,
    paper="decay_grid",
):  # fmt: skip
    """Recovery by decay and optimizer, ours and the paper's."""

    measures: ClassVar = {
        "recovery_percent": Measure("adapt_vs_hundred_percent", "heldout_vs_hundred_percent")
    }
    says = """Trace learners by decay and optimizer: recovery over the adapt part (%), immediate
    derivatives with Adam as 100."""

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        seed_keys = [key for key in SETTING if key != "optimizer"] + ["seed"]
        hundreds = where(models, **load().document["decay_grid"]["hundred"])
        recovery_columns = {}
        for part in ("adapt", "heldout"):
            hundred = hundreds[hundreds[ESTIMANDS[part].selected].astype(bool)].set_index(seed_keys)
            reference = hundred.reindex(pd.MultiIndex.from_frame(models[seed_keys]))
            frozen = models[f"frozen_{part}_error"]
            gain = frozen - reference[f"{part}_error"].to_numpy(float)
            share = 100.0 * (frozen - models[f"{part}_error"]) / gain
            recovery_columns[f"{part}_vs_hundred_percent"] = share
        return models.assign(**recovery_columns)


class Architectures(
    ByPapersRow, name="architectures", label="Architectures on sine", chapter="breadth", order=40,
    paper="architectures",
):  # fmt: skip
    """Recovery by network, ours and the paper's."""

    measures: ClassVar = {"recovery_vs_rtrl_percent": VS_RTRL}
    says = "Immediate derivatives with Adam by network: recovery (%), exact RTRL is 100."
    remarks = """LeWM: ours is a small transformer with weights of its own; the paper's row is of
    pretrained weights, which this study does not have."""


class Multilayer(
    ErrorsBesidePaper, name="multilayer", label="Depth", chapter="breadth", order=50,
    paper="multilayer",
):  # fmt: skip
    """Errors by number of layers, ours and the paper's."""

    digits = 6
    says = "Best trace and best exact RTRL by number of layers: squared error after the change."


class Horizon(
    ErrorsBesidePaper, name="horizon", label="Delay", chapter="breadth", order=60, paper="delays"
):
    """Errors by delay, ours and the paper's."""

    digits = 4
    remarks = f"""{LAST}

    Weights that learn follow the band's phase, and so may come below the least error of fixed ones
    without memory; held out they cannot."""
    says = "Delayed sine, and a narrow band in its place, by delay: squared error after the change."

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        # A network's frozen error is the same beside every learner and optimizer.
        by = [key for key in SETTING if key not in ("learner", "optimizer")] + ["seed"]
        frozen = models.drop_duplicates(by)
        frozen = frozen.assign(
            learner="frozen",
            optimizer="",
            learning_rate=0.0,
            last_adapt_error=np.nan,
            **dict.fromkeys(("selected", "selected_on_adapt"), True),
            **dict.fromkeys(("diverged", "edge", "edge_on_adapt"), False),
            **{f"{part}_error": frozen[f"frozen_{part}_error"] for part in ("adapt", "heldout")},
        )
        return pd.concat([models, frozen], ignore_index=True)


class Windows(
    ErrorsBesidePaper, name="tbptt", label="Windows of truncated backpropagation",
    chapter="breadth", order=70, paper="windows",
):  # fmt: skip
    """Errors by window, ours and the paper's."""

    digits = 5
    says = """Truncated backpropagation, an update a window: squared error after the change, by
    window."""


_MORE = "‡"


def _order_text(text: str) -> str:
    """The first order of growth that a declaration names, with a mark where it says more."""
    order = re.search(r"O\(.*?\)", text)
    first = order[0] if order else text
    return (raise_exponents(first) or MISSING) + (_MORE if first != text else "")


def _percent_text(share: float) -> str:
    return MISSING if pd.isna(share) else f"{number(100 * share, 0)} %"


def rows_against_exact(learners: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The rows of `learners` whose reference declares itself exact, of several the first one."""
    exact = [
        name
        for name in study.sort_names("learner", learners["against"])
        if study.declaration("learner", name).get("exactness") == "exact"
    ]
    rows = learners[learners["against"].isin(exact)]
    place = rows["against"].map(exact.index)
    return rows[place == place.groupby([rows[key] for key in KEYS]).transform("min")]


def reference_names(rows: pd.DataFrame, study: StudyFacts) -> str:
    """What the references of these rows are called: "exact RTRL, per step"."""
    names = study.sort_names("learner", rows["against"])
    return " or ".join(study.called("learner", name) for name in names)


class Learners(
    Table, name="learners", label="Learners' gradients and what they cost", chapter="breadth",
    order=10, needs=("learners",),
):  # fmt: skip
    """A panel a network and driver, a row a learner that watched: agreement, exactness, cost."""

    layout: ClassVar = {"size": "scriptsize"}
    by = ("learner", "optimizer")
    cells = (
        part_name("learner", column="observer"),
        value("Gradient", "exactness", _order_text, "Declared", align="l"),
        value("Time", "time", _order_text, "Declared", align="l"),
        value("Memory", "memory", _order_text, "Declared", align="l"),
        value("Carried", "carried_bytes", memory),
        with_interval("Cosine", "cosine", "cosine_t95_low", "cosine_t95_high", digits=3),
        cell("above 0", lambda line: _percent_text(line.row["positive_share"])),
        value("Norm", "norm_ratio", digits=2),
        seeds_and_diverged(),
    )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"""Each learner's gradient of the recurrent parameters beside that of
        {reference_names(rows, study) or "an exact learner"}, on the trajectory of the learner and
        optimizer in the heading. Cosine: mean over updates, then over seeds; brackets: 95 % t
        interval over seeds of one pair; above 0: share of updates with such a cosine; norm: median
        over updates of the ratio of the norms. Declared: what the learner says of itself, n being
        the number of units. Carried: what it holds of one model between updates; n: seeds, and how
        many diverged (div.)."""

    def rows(self, learners: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        if (rows := rows_against_exact(learners, study)).empty:
            return rows
        order = study.sort_names("learner", rows["observer"])
        rows = rows.sort_values("observer", key=lambda n: n.map(order.index), kind="stable")
        declarations = [study.declaration("learner", name) for name in rows["observer"]]
        names = ("exactness", "time", "memory")
        return rows.assign(**{n: [d.get(n, "") for d in declarations] for n in names})

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        note = "‡ otherwise for some networks or windows: see the reference of learners."
        return [note] * any(_MORE in panel.text for panel in contents.panels)


class FootprintsTable(
    Table, name="footprints", label="What a step of each network costs", chapter="breadth",
    order=70, needs=("footprints",),
):  # fmt: skip
    """A panel a task and split, a line a network."""

    without = "architecture"
    says = """NeuroBench's metrics (Yik et al. 2025) of networks that do not adapt: parameters;
    share of weights and of units' outputs that are zero; multiplications of a step, gates' among
    them, whose factors are not zero (effective) and all (dense); R² (mean over outputs) on the
    held-out part, and without drift. Means over seeds (n). What learning adds is no part of it."""
    cells = (
        part_name("architecture", header="Network"),
        value("Parameters", "footprint_bytes", memory),
        value("Weights", "connection_sparsity", group="Sparsity", digits=2),
        value("Activations", "activation_sparsity", group="Sparsity", digits=2),
        value("Effective", "effective_macs", group="Multiplications", digits=0),
        value("Dense", "dense_macs", group="Multiplications", digits=0),
        value("Held-out", "frozen_r2_mean", group="R²", digits=2),
        value("Reference", "reference_r2_mean", group="R²", digits=2),
        value("n", "n_seeds", count),
    )
