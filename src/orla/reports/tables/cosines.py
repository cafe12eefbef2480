"""Tables of the past gradient beside the immediate one: their cosine, and their coordinates."""

from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from orla.reports.beside import (
    CELLS,
    EPISODE,
    ByCondition,
    conditions_with_measures,
    drifting_rows,
    pool_pairs,
)
from orla.reports.cells import mean_beside, network_name, part_name, seed_count, value
from orla.reports.comparison import Mean, conditions_frame
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.study.keys import KEYS
from orla.study.plan import STATIONARY

_EXACT, _WINDOWS, _LAST = "past_cosine", "window_cosine", "window_cosine_last"
_COSINE = {"digits": 3, "signed": True}


class PastCosines(
    ByCondition, name="cosine", label="Cosine of the immediate and the past gradient",
    chapter="mechanism", order=10, needs=("measured",), paper="cosine",
):  # fmt: skip
    """The cosine along a stream that drifts, exact and by windows, each beside the paper's."""

    panel_by = EPISODE
    says = f"""Mean over the adaptation of cos(g_imm, g_past), g_past = g_full − g_imm. Exact: at
    each step, g_full by exact RTRL, which drives the network. By windows: g_full by backpropagation
    through a window, g_imm summed over it, along {{full}} where it ran; at their ends: of the
    window's last loss alone. {CELLS} n: seeds."""
    cells = (
        network_name(),
        part_name("optimizer"),
        seed_count(_EXACT, _WINDOWS),
        mean_beside("exact, per step", _EXACT, **_COSINE),
        mean_beside("by windows", _WINDOWS, **_COSINE),
        mean_beside("at their ends", _LAST, **_COSINE),
    )

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The paper's, a row a task and size of each; its cosine under the name of ours."""
        return [
            {name.replace("cosine", measure): value for name, value in row.items()}
            | {"task": task, "hidden": size}
            for row in super().papers_rows
            for measure in [_WINDOWS if "window" in row else _EXACT]
            for task in row["task"].split(" and ")
            for size in (row["hidden"] if isinstance(row["hidden"], list) else [row["hidden"]])
        ]

    def conditions(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """The conditions with either cosine, whichever learner drives: the paper's comes first."""
        rows = conditions_with_measures(pool_pairs(measured), _WINDOWS, _LAST, _EXACT)
        rows = drifting_rows(rows).sort_values("learner", kind="stable")
        is_papers = rows["learner"] == load().past_gradient_learner
        means: dict[tuple[str, ...], dict[str, Mean]] = {}
        for row in pd.concat([rows[is_papers], rows[~is_papers]]).to_dict("records"):
            how = study.declaration("learner", row["learner"]).get("exactness")
            exact = how == "exact" and study.stride(row["learner"]) == 1
            for measure in {_WINDOWS, _LAST, _EXACT if exact else _WINDOWS} & {*row["means"]}:
                keys = tuple("" if name == "learner" else row[name] for name in KEYS)
                means.setdefault(keys, {}).setdefault(measure, row["means"][measure])
        return conditions_frame(means)


class Decorrelation(
    ByCondition, name="decorrelation", label="Cosine by the autocorrelation of the input",
    chapter="mechanism", order=60, needs=("measured",), paper="input_correlation",
):  # fmt: skip
    """A row an autocorrelation and network: copies of AR(1) noise that does not change."""

    panel_by = ("learner", "optimizer", "precision")
    match_by = ("rho",)
    cells = (
        value("ρ", "rho", "{:g}".format),
        network_name(),
        seed_count(_LAST, _WINDOWS),
        mean_beside("at windows' ends", _LAST, "cosine", **_COSINE),
        mean_beside("of whole windows", _WINDOWS, **_COSINE),
    )
    remarks = "The paper measures it at the end of a window: of the last step's loss alone."

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"""Copies of AR(1) noise {self.papers_rows[0]["delay_steps"]} steps before, without
        a shift: mean over windows of cos(g_imm, g_past), of a window's last loss and of all of its
        losses, g_full by backpropagation through the window, by the autocorrelation ρ of the input.
        {CELLS}"""

    def conditions(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """Conditions of tasks that copy their input after as many steps as the paper's."""
        rows = conditions_with_measures(measured, _LAST, _WINDOWS)
        delay = self.papers_rows[0]["delay_steps"]
        tasks = {name: study.options("task", name) for name in rows["task"]}
        rhos = {name: o.get("rho") for name, o in tasks.items() if o.get("delay") == delay}
        rows = rows.assign(rho=rows["task"].map(rhos).astype(float))
        rows = rows[(rows["split"] == STATIONARY) & rows["rho"].notna()]
        return rows.sort_values("rho", kind="stable")


# Our measure: the paper's name of it, the column's head, and digits.
_METRICS = {
    "dominance": ("median of |g_past| / |g_imm|", "ratio", 2),
    "past_wins_share": ("share with |g_past| > |g_imm|", "larger", 3),
    "past_sign_sd": ("sd of sign(g_past)", "sd of mean", 3),
    "past_sign_sd_coordinates": ("sd of sign(g_past)", "mean sd", 3),
    "sign_differs_share": (
        "share with sign(g_full) other than sign(g_imm)", "signs differ", 3
    ),
}  # fmt: skip


class Substrate(
    ByCondition, name="substrate", chapter="mechanism", order=90, needs=("measured",),
    label="Size and sign of the past gradient, coordinate by coordinate", paper="dominance",
):  # fmt: skip
    """Coordinates of the recurrent weights, a line a network and optimizer of the paper's."""

    panel_by = EPISODE
    match_by = ("task", "optimizer")
    layout: ClassVar = {"size": "scriptsize", "fixed_columns": 2, "widest": 6}
    cells = (
        network_name(),
        part_name("optimizer"),
        seed_count(*_METRICS),
        *(
            mean_beside(header, measure, digits=digits, ending=f"_{measure}")
            for measure, (_, header, digits) in _METRICS.items()
        ),
    )
    says = f"""Coordinates of the recurrent weights, over windows: g_past and g_imm under {{full}}.
    Median of the ratio of their sizes; share in which the past is larger; sd over windows of the
    mean sign of g_past, and mean over coordinates of the sd of its sign; share in which the signs
    of g_full and g_imm differ. {CELLS}"""
    remarks = """The paper does not say over what it takes the sd of the sign: both readings stand
    beside its one number."""

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """A row a network and optimizer, its numbers and their ends under our measures' names."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for row in super().papers_rows:
            if "architecture" in row:  # else it is a ratio of two networks' numbers
                paper_row = rows.setdefault((row["architecture"], row["optimizer"]), dict(row))
                for measure in (name for name, t in _METRICS.items() if t[0] == row["metric"]):
                    paper_row |= {f"{end}_{measure}": row.get(end) for end in ("low", "high")}
                    paper_row[measure] = row["value"]
        return list(rows.values())

    def conditions(self, measured: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        rows = drifting_rows(conditions_with_measures(measured, *_METRICS))
        return where(rows, learner=load().past_gradient_learner)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Any:
        return super().panels(rows[rows["paper"].notna()], study)
