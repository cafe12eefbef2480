"""Tables of networks: what an intervention costs each, and errors by the condition number."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import paper_rows
from orla.reports.beside import CELLS, BesidePaper
from orla.reports.cells import Cell, Line, Row, beside, called, cell, value
from orla.reports.comparison import RECOVERY, Beside, Mean, Printed, mean_of, mean_text, printed
from orla.reports.comparison import seeds as count_of
from orla.reports.numbers import MISSING, estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.paper_rows import drifting, plain
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents
from orla.reports.words import NOT_RUN
from orla.statistics.ranks import spearman, spearman_p
from orla.study.keys import DEFAULTS, KEYS

_TOP1, _ENERGY, _ROUTED = "top1_past", "energy1_past", "routed_share"
_RECOVERIES = "Held-out recovery (%)"
# Columns of a line: its name, what is written as it is, and the numbers of the .csv.
_BLANK = {"top1": None, "energy": None, "plain": None, "changed": None, "share": MISSING}


class ProjectedOut(
    BesidePaper, name="intervention", label="The first direction of the past gradient taken out",
    chapter="mechanism", order=40, needs=("heldout",), paper="text",
):  # fmt: skip
    """Recovery lost by an intervention, beside how concentrated G_past was without it.

    With the optimizer of the paper's test, a line a network and the rank correlation below.
    """

    says = (
        "Whether networks whose past gradient is concentrated (top1 and energy, without the "
        "intervention) lose more held-out recovery by it. Below: Spearman's rank correlation "
        "of either and what is lost, 95 % BCa bootstrap interval over networks, and its "
        "permutation p; of interventions that the paper tests otherwise the mean loss ± half "
        "of its 95 % t interval. Routed: updates whose gradient is not the immediate one."
    )
    cells = (
        value("Network", "name", str, align="l"),
        value("top1", "top1", group="G_past", digits=2),
        value("energy", "energy", group="G_past", digits=2),
        value("plain", "plain", group=_RECOVERIES),
        value("changed", "changed", group=_RECOVERIES),
        value("Lost (pp)", "lost", str)._replace(numbers=lambda line: line.row["numbers"]),
        value("Routed (%)", "share", str),
    )
    optional = ("Routed (%)",)
    remarks = ("The paper projects u_1 of G_past out of each window's gradient.",)

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The paper's tests of an intervention."""
        return [row for row in load().table("text") if {"intervention", "spearman"} <= set(row)]

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        models = models[models["optimizer"] == self.papers_rows[0]["optimizer"]]
        return paper_rows.pairs_as_rows(models)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        first, blank = self.papers_rows[0], True
        tested, unchanged = first["ours"]["intervention"], plain(rows)
        changed = rows[rows["start"] == DEFAULTS["start"]]
        changed = changed[changed["intervention"] != DEFAULTS["intervention"]]
        groups = study.groups(changed, "learner", "optimizer")
        for title, keys, group in paper_rows.papers_first(study, groups):
            pairs = _pairs(where(unchanged, **keys | DEFAULTS), group)
            if len(pairs):
                blank = False
                part = study.declaration("intervention", keys["intervention"])
                papers = part.get("name", tested) == tested
                below = self._ranks(keys, pairs) if papers else [_mean(keys, pairs)]
                yield title, [*_losses(keys, pairs), *below]
        if blank:
            yield study.called("optimizer", first["optimizer"]), self._ranks(first, None)

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        more = paper_rows.notes_on_pretraining(contents.records, study)
        return [*more, *super().notes(contents, study, *needed)]

    def _ranks(self, keys: Row, pairs: pd.DataFrame | None) -> list[Row]:
        """The rank correlation, ours and the paper's at each number of networks."""
        ours, lines = {}, []
        for measure, name in ((_TOP1, "top1"), (_ENERGY, "energy")):
            words, ends = "", NOT_RUN
            if pairs is not None:
                finite = pairs[np.isfinite(pairs[[measure, "lost"]]).all(axis=1)]
                x, y = (finite[column].to_numpy(float) for column in (measure, "lost"))
                if len(finite) > 1:
                    rank = spearman(x, y)
                    ours[name] = Mean(rank.estimate, rank.low, rank.high, len(finite))
                    words = f"\nn = {len(finite)}, p = {number(spearman_p(x, y), 3)}"
                    ends = estimate(*ours[name][:3], digits=3, signed=True)
            said = [Beside(keys, f"spearman, {name}", ours[name])] if name in ours else []
            lines.append(_line(f"rank correlation, {name}{words}", ends, *said))
        for row in self.papers_rows:
            n = f"paper n = {row['n_seeds']}"
            paper = Printed(row["spearman"], row.get("low"), row.get("high"), row["place"])
            both = Beside(keys, f"spearman, {n}", ours.get("top1"), paper)
            judged = f"\n({both.said})" if "top1" in ours else ""
            text = estimate(*paper[:3], digits=3, signed=True)
            lines.append(_line(f"the {n.replace(' ', ', ', 1)}", text + judged, both))
        return lines


def _line(name: str, lost: str, *numbers: Beside, **more: Any) -> dict[str, Any]:
    return _BLANK | {"name": name, "lost": lost, "numbers": numbers} | more


def _mean(keys: Row, pairs: pd.DataFrame) -> dict[str, Any]:
    lost, routed = mean_of(pairs["lost"]), mean_of(pairs[_ROUTED] * 100)
    numbers = [Beside(keys, "lost_pp", lost), Beside(keys, f"{_ROUTED}_percent", routed)]
    return _line("mean", mean_text(lost, 1, signed=True), *numbers, share=mean_text(routed, 1))


def _pairs(unchanged: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Networks that ran both, with the concentration of the plain run; none without any."""
    if _TOP1 not in unchanged:
        return unchanged.iloc[:0]
    before, after = ["seed", RECOVERY, _TOP1, _ENERGY], ["seed", RECOVERY, _ROUTED]
    both = unchanged.reindex(columns=before).merge(
        changed.reindex(columns=after), on="seed", suffixes=("", "_changed")
    )
    both = both.sort_values("seed", ignore_index=True)
    both["lost"] = both[RECOVERY] - both[f"{RECOVERY}_changed"]
    return both if np.isfinite(both[_TOP1]).any() else both.iloc[:0]


def _losses(keys: Row, pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A line a network, or a pair of sessions by its name."""
    for row in pairs.to_dict("records"):
        name = row["seed"] if isinstance(row["seed"], str) else f"seed {row['seed']}"
        measures = {"lost_pp": "lost", _TOP1: _TOP1, _ENERGY: _ENERGY}
        yield _line(
            name,
            number(row["lost"], 1, signed=True),
            *(Beside(keys, f"{m}, {name}", Mean(row[c], n=1)) for m, c in measures.items()),
            top1=row[_TOP1],
            energy=row[_ENERGY],
            share=number(row[_ROUTED] * 100, 1),
            plain=row[RECOVERY],
            changed=row[f"{RECOVERY}_changed"],
        )


_CONDITIONS = {"condition_number": ("∂h/∂θ", 1), "sensitivity_condition": ("P", 0)}
_ERROR = "adapt_error"


class Isotropy(
    BesidePaper, name="isotropy", label="Error by the imposed condition number",
    chapter="mechanism", order=50, needs=("lr_curves",), paper="condition_number",
):  # fmt: skip
    """Networks whose recurrent weights have a prescribed condition number, a row each.

    Such a network has the option ``condition``.
    """

    remarks = (
        "Where ∂h/∂θ does not follow W_hh, nothing was imposed on it, and equal errors "
        "say nothing of isotropy. Its condition number is that of the second learner's "
        "networks, of the first where the second's was not measured.",
    )

    @property
    def learners(self) -> list[str]:
        """The paper's two learners."""
        return self.papers_values("learner")

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        names = " and ".join(study.called("learner", name) for name in self.learners)
        return (
            "Networks by the condition number that W_hh starts pretraining with: that of the "
            "step's Jacobian ∂h/∂θ as adaptation measures it, that of exact RTRL's sensitivity P, "
            f"in which the past is, squared error after the shift of {names}, and whether the 95 % "
            f"t interval of their difference, paired by network, holds 0. {CELLS}"
        )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        imposed = value("W_hh", "imposed", "{:g}".format, "Condition number")
        return [
            imposed._replace(numbers=lambda line: [line.row["difference"]]),
            *(
                beside(header, measure, "Condition number", digits=digits)
                for measure, (header, digits) in _CONDITIONS.items()
            ),
            called("optimizer"),
            cell("n", lambda line: count_of(line.row["seeds"])),
            *(
                beside(study.called("learner", name), name, "Squared error", digits=5)
                for name in self.learners
            ),
            cell("Alike", _alike, align="l"),
        ]

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """The models of the two learners in networks with a condition number, "imposed"."""
        rows = drifting(plain(models[models["selected_on_adapt"].astype(bool)]))
        networks = {name: study.options("architecture", name) for name in rows["architecture"]}
        imposed = {name: options.get("condition", np.nan) for name, options in networks.items()}
        rows = rows.assign(imposed=rows["architecture"].map(imposed).astype(float))
        return rows[rows["imposed"].notna() & rows["learner"].isin(self.learners)]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        papers = {float(row["condition_number"]) for row in self.papers_rows}
        groups = paper_rows.titled(study, rows, paper_rows.EPISODE, self.papers_rows[0])
        for title, group in groups:
            group = group if len(rows) else rows
            yield (
                title,
                [
                    self._line(imposed, optimizer, here[here["optimizer"] == optimizer])
                    for imposed in sorted(papers | {*group["imposed"]})
                    for here in [group[group["imposed"] == imposed]]
                    for optimizer in study.present(here, "optimizer") or [""]
                ],
            )

    def _line(self, imposed: float, optimizer: str, rows: pd.DataFrame) -> Row:
        text = next(row for row in load().table("text") if "imposed" in row)
        papers = {r["learner"]: r for r in self.papers_rows if r["condition_number"] == imposed}
        sides = [rows[rows["learner"] == name] for name in self.learners]
        blank = {"task": text["task"]} | DEFAULTS
        keys = [dict(r[list(KEYS)].iloc[0]) if len(r) else blank for r in sides]
        line: dict[str, Any] = {"imposed": imposed, "optimizer": optimizer}
        line["papers"] = next(iter(papers.values()), {}).get("within_interval")
        for measure in _CONDITIONS:
            first, second = (_over_seeds(side, measure) for side in sides)
            at = 0 if first and not second else 1
            there = printed(text, measure) if papers else None
            line[measure] = Beside(keys[at], measure, second or first, there)
        for name, side, key in zip(self.learners, sides, keys, strict=True):
            paper = printed(papers.get(name), "mse")
            line[name] = Beside(key, _ERROR, _over_seeds(side, _ERROR), paper)
        difference = _difference(*sides)
        line["difference"] = Beside(keys[1], f"{_ERROR}_difference", difference)
        errors = (line[name].ours for name in self.learners)
        return line | {"seeds": difference or next(filter(None, errors), None)}


def _alike(line: Line) -> str:
    """Whether the interval of the difference holds 0, over what the paper says."""
    ours, papers = line.row["difference"].ours, line.row["papers"]
    alike = MISSING
    if ours is not None and not is_missing(ours.low):
        alike = "yes" if ours.low <= 0 <= ours.high else "no"
    return alike if papers is None else f"{alike}\n{'yes' if papers else 'no'}"


def _over_seeds(rows: pd.DataFrame, column: str) -> Mean | None:
    """Over seeds; None where none has it and none diverged."""
    if rows.empty or column not in rows:
        return None
    mean = mean_of(rows[column], int(rows["diverged"].sum()))
    return mean if mean.n or mean.diverged else None


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> Mean | None:
    """First minus second learner's error, paired by network."""
    if first.empty or second.empty:
        return None
    pairs = first.merge(second, on=["seed"], suffixes=("", "_other"))
    lost = pairs["diverged"].astype(bool) | pairs["diverged_other"].astype(bool)
    return mean_of(pairs[_ERROR] - pairs[f"{_ERROR}_other"], int(lost.sum()))
