"""Recovery against the decay of a trace, at one rate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import count_range, say, widest
from orla.reports.numbers import number, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts

# The option of a learner that the figure is about; the paper's rows have it under this name too.
_OPTION = "decay"
# Recovery in % up to which the axis is linear where it is not so throughout.
_LINEAR = 100


class DecaySweep(
    Figure,
    name="decay_sweep",
    label="Recovery against trace decay",
    chapter="breadth",
    order=30,
    needs=("lr_curves",),
):
    """Recovery by decay at the paper's rate, a line a network: mean and sd over seeds.

    Learners are those of the kinds that the paper's figure is about. The decay is the option of
    that name, for a learner without it what the paper says of it (0 for immediate derivatives). Of
    several tasks, splits and optimizers the one with most decays is drawn.
    """

    def draw(self, models: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows, title = _shown(models, study)
        networks = _by_size(rows, study)
        looks = study.marks("architecture", networks)
        with style.house():
            figure, axes = plt.subplots(figsize=(style.ONE_COLUMN_IN, 2.9), layout="constrained")
            style.zero_line(axes)
            for i, (network, label) in enumerate(networks.items()):
                line = _line(rows[rows["architecture"] == network])
                look = looks[network]
                axes.errorbar(
                    line.index + 0.006 * (i - (len(networks) - 1) / 2),
                    line["mean"],
                    yerr=line["std"],
                    color=look.color,
                    marker=look.marker,
                    linestyle=look.line,
                    markeredgecolor=style.INK,
                    markeredgewidth=0.4,
                    elinewidth=1,
                    capsize=2,
                    label=label,
                )
            if networks:
                _marks(axes, rows, study)
                if _ruined(rows):
                    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=2)
                    axes.yaxis.set_major_formatter(lambda y, _: number(y, 0))
                axes.set_xlim(-0.05, 1.05)
                lines, labels = axes.get_legend_handles_labels()
                shown = dict(zip(labels, lines, strict=True))
                shown = {name: shown[name] for name in networks.values()} | shown  # ours first
                figure.legend(list(shown.values()), list(shown), loc="outside lower center")
            else:
                say(axes, "not run")
            axes.set_xlabel("Trace decay")
            axes.set_ylabel("Held-out recovery (%)")
            style.heading(figure, study.of(rows).simulated, title.replace(", ", ",\n", 1))
            style.save(figure, *paths)

    def ran(self, models: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _shown(models, study)[0].empty

    def describe(self, models: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows, title = _shown(models, study)
        seen = "; ".join(
            f"{label}: "
            + ", ".join(
                f"{number(row['mean'])} % at {decay:g}"
                for decay, row in _line(rows[rows["architecture"] == network]).iterrows()
            )
            for network, label in _by_size(rows, study).items()
        )
        lost = int(rows["diverged"].sum()) if len(rows) else 0
        caption = (
            f"Held-out recovery against the decay of the trace at a rate of {rate(_rate())}, "
            f"{title}. Mean over seeds (n = {count_range(_seeds(rows))}), bars: one standard "
            f"deviation; {lost} of {len(rows)} models diverged and are left out."
        )
        if _ruined(rows):
            caption += f" Beyond {_LINEAR} % the axis is logarithmic."
        if _theirs(rows, study):
            caption += (
                " Open diamond: the recovery that the paper prints (its Figure 3 and Section 4); "
                "grey band: the decays that it calls a safe plateau."
            )
        return self.captioned(
            study.of(rows),
            caption,
            f"Lines of recovery against decay, one a network. {seen or 'No data'}.",
        )


def _ruined(rows: pd.DataFrame) -> bool:
    """Whether some networks got so much worse that a linear axis shows nothing else."""
    lines = (_line(own) for _, own in rows.groupby("architecture"))
    return any((line["mean"] < -10 * _LINEAR).any() for line in lines)


def _rate() -> float:
    """The rate of the paper's figure."""
    return load().table("decay_sweep")[0]["learning_rate"]


def _shown(models: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The models at the rate whose learners have a decay, with a column for it, and a title."""
    decays = _decays(models, study)
    near = np.isclose(models["learning_rate"].astype(float), _rate(), rtol=1e-6, atol=0.0)
    rows = models[near & models["learner"].isin(decays)]
    rows = rows.assign(**{_OPTION: rows["learner"].map(decays)}, network=rows["architecture"])
    # The sizes of one kind of network stand together.
    kinds = {name: _kind(name, study) for name in rows["architecture"].unique()}
    of_kinds = rows.assign(architecture=rows["architecture"].map(kinds))
    found, title = widest(of_kinds, _of_kinds(study), "learner")
    return found.assign(architecture=found["network"]), title


def _by_size(rows: pd.DataFrame, study: StudyFacts) -> dict[str, str]:
    """What the networks are called, by their number of units."""
    units = {
        name: study.options("architecture", name).get("hidden", 0)
        for name in study.present(rows, "architecture")
    }
    labels: dict[str, str] = {}
    for name in sorted(units, key=units.__getitem__):
        kind = _of_kinds(study).called("architecture", _kind(name, study))
        label = f"{kind}, {units[name]} units" if units[name] else kind
        labels[name] = f"{label} ({name})" if label in labels.values() else label
    return labels


def _of_kinds(study: StudyFacts) -> StudyFacts:
    """The study as one whose networks are called by their kinds alone."""
    instances = {kind: named for kind, named in study.instances.items() if kind != "architecture"}
    return replace(study, instances=instances)


def _kind(network: str, study: StudyFacts) -> str:
    return study.declaration("architecture", network).get("name", network)


def _decays(models: pd.DataFrame, study: StudyFacts) -> dict[str, float]:
    """Learner -> decay, where any learner of the models declares one."""
    theirs = {row["learner"]: row.get(_OPTION) for row in load().table("decay_sweep")}
    kinds = {study.declaration("learner", name).get("name") for name in theirs} - {None}
    found: dict[str, float] = {}
    for name in study.present(models, "learner"):
        if study.declaration("learner", name).get("name") in kinds:
            decay = study.options("learner", name).get(_OPTION, theirs.get(name))
            if decay is not None:
                found[name] = float(decay)
    declared = any(_OPTION in study.options("learner", name) for name in found)
    return found if declared else {}


def _line(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of recovery, by decay."""
    return rows.groupby(_OPTION)["recovery_heldout_percent"].agg(["mean", "std"])


def _seeds(rows: pd.DataFrame) -> pd.Series:
    return rows.groupby(["architecture", _OPTION])["seed"].nunique()


def _theirs(rows: pd.DataFrame, study: StudyFacts) -> list[dict[str, Any]]:
    """The paper's rows, which are of one task, optimizer and kind of network."""
    same = ("task", "optimizer", "architecture")
    found = rows[list(same)].drop_duplicates().to_dict("records")
    ours = [row | {"architecture": _kind(row["architecture"], study)} for row in found]
    return [r for r in load().table("decay_sweep") if {key: r[key] for key in same} in ours]


def _marks(axes: Axes, rows: pd.DataFrame, study: StudyFacts) -> None:
    """What the paper says: a recovery at a decay, and where recovery does not depend on it."""
    label = "the paper's"
    for row in _theirs(rows, study):
        if f"{_OPTION}_below" in row:
            band = {"color": style.BAND, "zorder": 0, "label": "the paper's safe plateau"}
            axes.axvspan(0, row[f"{_OPTION}_below"], **band)
        elif "recovery_percent" in row and "hidden" not in row:
            axes.plot(
                row[_OPTION], row["recovery_percent"], marker="D", markerfacecolor="white",
                color=style.RING, linestyle="none", zorder=4, label=label,
            )  # fmt: skip
            label = None
