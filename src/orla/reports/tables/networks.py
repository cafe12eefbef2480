"""Tables of networks: what an intervention costs each, and errors by the condition number."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import comparison
from orla.reports.beside import (
    CELLS,
    EPISODE,
    BesidePaper,
    drifting_rows,
    pairs_as_seeds,
    papers_first,
    titled_groups,
)
from orla.reports.cells import Cell, Line, Row, beside, cell, part_name, value
from orla.reports.comparison import RECOVERY, Beside, Mean, Quote, mean_of, mean_text, paper_value
from orla.reports.numbers import MISSING, estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.words import NOT_RUN
from orla.statistics.ranks import spearman, spearman_p
from orla.study.keys import DEFAULTS, KEYS

_TOP1, _ENERGY, _ROUTED = "top1_past", "energy1_past", "routed_share"
_RECOVERIES = "Held-out recovery (%)"


class ProjectedOut(
    BesidePaper, name="intervention", label="The first direction of the past gradient taken out",
    chapter="mechanism", order=40, needs=("heldout",), paper="text",
):  # fmt: skip
    """Recovery lost by an intervention with the optimizer of the paper's test, a line a network."""

    says = """Whether networks whose past gradient is concentrated (top1 and energy, without the
    intervention) lose more held-out recovery by it. Below: Spearman's rank correlation of either
    and what is lost, 95 % BCa bootstrap interval over networks, and its permutation p; of
    interventions that the paper tests otherwise the mean loss ± half of its 95 % t interval.
    Routed: updates whose gradient is not the immediate one."""
    cells = (
        value("Network", "name", str, align="l"),
        value("top1", _TOP1, group="G_past", digits=2),
        value("energy", _ENERGY, group="G_past", digits=2),
        value("plain", RECOVERY, group=_RECOVERIES),
        value("changed", f"{RECOVERY}_changed", group=_RECOVERIES),
        value("Lost (pp)", "text", str)._replace(numbers=lambda line: line.row["numbers"]),
        value("Routed (%)", "share", str),
    )
    optional = ("Routed (%)",)
    tells_pretraining = True
    remarks = "The paper projects u_1 of G_past out of each window's gradient."

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        return load().rows_in_text("intervention", "spearman")

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        return pairs_as_seeds(where(models, optimizer=self.papers_rows[0]["optimizer"]))

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        first, panels = self.papers_rows[0], []
        kind, rows = first["ours"]["intervention"], where(rows, start=DEFAULTS["start"])
        changed_rows = rows[rows["intervention"] != DEFAULTS["intervention"]]
        for title, keys, group in papers_first(study, changed_rows, "learner", "optimizer"):
            pairs = _paired_networks(where(rows, **keys | DEFAULTS), group)
            part = study.declaration("intervention", keys["intervention"])
            is_papers = part.get("name", kind) == kind
            summary = self._rank_correlation_lines if is_papers else _mean_line
            if len(pairs):
                panels.append((title, [*_lost_recovery_lines(keys, pairs), *summary(keys, pairs)]))
        none = pd.DataFrame(columns=[_TOP1, _ENERGY, "lost"], dtype=float)
        title = study.called("optimizer", first["optimizer"])
        yield from panels or [(title, self._rank_correlation_lines(first, none))]

    def _rank_correlation_lines(self, keys: Row, pairs: pd.DataFrame) -> list[Row]:
        """The rank correlation, ours and the paper's at each number of networks."""
        ours, lines = {}, []
        for measure, name in ((_TOP1, "top1"), (_ENERGY, "energy")):
            words, ends, numbers = f"rank correlation, {name}", NOT_RUN, []
            finite = pairs[np.isfinite(pairs[[measure, "lost"]]).all(axis=1)]
            if len(finite) > 1:
                x, y = (finite[column].to_numpy(float) for column in (measure, "lost"))
                rank = spearman(x, y)
                ours[name] = Mean(rank.estimate, rank.low, rank.high, len(finite))
                words += f"\nn = {len(finite)}, p = {number(spearman_p(x, y), 3)}"
                ends = estimate(*ours[name][:3], digits=3, signed=True)
                numbers = [Beside(keys, f"spearman, {name}", ours[name])]
            lines.append(_line(words, ends, *numbers))
        for row in self.papers_rows:
            n = f"paper n = {row['n_seeds']}"
            paper = Quote(row["spearman"], row.get("low"), row.get("high"), row["place"])
            pair = Beside(keys, f"spearman, {n}", ours.get("top1"), paper)
            ending = f"\n({pair.agreement})" if "top1" in ours else ""
            text = estimate(*paper[:3], digits=3, signed=True)
            lines.append(_line(f"the {n.replace(' ', ', ', 1)}", text + ending, pair))
        return lines


def _line(name: str, text: str, *numbers: Beside, **columns: Any) -> Row:
    """A line of the table: its name, text and numbers, blank in other columns."""
    blank = dict.fromkeys((_TOP1, _ENERGY, RECOVERY, f"{RECOVERY}_changed")) | {"share": MISSING}
    return blank | columns | {"name": name, "text": text, "numbers": numbers}


def _mean_line(keys: Row, pairs: pd.DataFrame) -> Iterator[Row]:
    """The line of mean loss, ± half of its interval, and of the share of routed updates."""
    loss, share = mean_of(pairs["lost"]), mean_of(pairs[_ROUTED] * 100)
    numbers = [Beside(keys, "lost_pp", loss), Beside(keys, f"{_ROUTED}_percent", share)]
    yield _line("mean", mean_text(loss, 1, signed=True), *numbers, share=mean_text(share, 1))


def _paired_networks(plain_models: pd.DataFrame, changed_models: pd.DataFrame) -> pd.DataFrame:
    """Networks that ran both, with the concentration of the plain run; none without any."""
    plain = plain_models.reindex(columns=["seed", RECOVERY, _TOP1, _ENERGY])
    others = changed_models.reindex(columns=["seed", RECOVERY, _ROUTED])
    pairs = plain.merge(others, on="seed", suffixes=("", "_changed")).sort_values("seed")
    pairs["lost"] = pairs[RECOVERY] - pairs[f"{RECOVERY}_changed"]
    return pairs if np.isfinite(pairs[_TOP1]).any() else pairs.iloc[:0]


def _lost_recovery_lines(keys: Row, pairs: pd.DataFrame) -> Iterator[Row]:
    """A line a network, or a pair of sessions by its name."""
    for row in pairs.to_dict("records"):
        name = row["seed"] if isinstance(row["seed"], str) else f"seed {row['seed']}"
        measures = {"lost_pp": "lost", _TOP1: _TOP1, _ENERGY: _ENERGY}
        numbers = [Beside(keys, f"{m}, {name}", Mean(row[c], n=1)) for m, c in measures.items()]
        row["share"] = number(row[_ROUTED] * 100, 1)
        yield _line(name, number(row["lost"], 1, signed=True), *numbers, **row)


_CONDITION = "Condition number"
_CONDITIONS = {"condition_number": ("∂h/∂θ", 1), "sensitivity_condition": ("P", 0)}
_ERROR = "adapt_error"


class Isotropy(
    BesidePaper, name="isotropy", label="Error by the imposed condition number",
    chapter="mechanism", order=50, needs=("lr_curves",), paper="condition_number",
):  # fmt: skip
    """Networks with a prescribed condition number of W_hh (option ``condition``), a row each."""

    remarks = """Where ∂h/∂θ does not follow W_hh, nothing was imposed on it, and equal errors say
    nothing of isotropy. Its condition number is that of the second learner's networks, of the first
    where the second's was not measured."""

    @property
    def learners(self) -> list[str]:
        return list(dict.fromkeys(row["learner"] for row in self.papers_rows))

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        names = " and ".join(study.called("learner", name) for name in self.learners)
        return f"""Networks by the condition number that W_hh starts pretraining with: that of the
        step's Jacobian ∂h/∂θ as adaptation measures it, that of exact RTRL's sensitivity P, in
        which the past is, squared error after the shift of {names}, and whether the 95 % t interval
        of their difference, paired by network, holds 0. {CELLS}"""

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        imposed_column = value("W_hh", "imposed", "{:g}".format, _CONDITION)
        imposed_column = imposed_column._replace(numbers=lambda line: [line.row["difference"]])
        conditions = (beside(h, name, _CONDITION, digits=d) for name, (h, d) in _CONDITIONS.items())
        heads = {name: study.called("learner", name) for name in self.learners}
        errors = (beside(head, name, "Squared error", digits=5) for name, head in heads.items())
        n = cell("n", lambda line: comparison.seeds_text(line.row["seeds"]))
        alike = cell("Alike", _equal_errors_text, align="l")
        return [imposed_column, *conditions, part_name("optimizer"), n, *errors, alike]

    def rows(self, models: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        """The models of the two learners in networks with a condition number, "imposed"."""
        rows = models[models["selected_on_adapt"].astype(bool)]
        rows = drifting_rows(where(rows, **DEFAULTS))
        networks = {name: study.options("architecture", name) for name in rows["architecture"]}
        numbers = {name: options.get("condition", np.nan) for name, options in networks.items()}
        rows = rows.assign(imposed=rows["architecture"].map(numbers).astype(float))
        return rows[rows["imposed"].notna() & rows["learner"].isin(self.learners)]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        first = self.papers_rows[0]
        blank = pd.DataFrame([{name: first.get(name, "") for name in KEYS} | DEFAULTS])
        papers = {float(row["condition_number"]) for row in self.papers_rows}
        for title, group in titled_groups(study, rows if len(rows) else blank, EPISODE):
            group, lines = group if len(rows) else rows, []
            for condition in sorted(papers | {*group["imposed"]}):
                here = where(group, imposed=condition)
                for name in study.distinct(here, "optimizer") or [""]:
                    lines.append(
                        self._condition_number_line(condition, name, where(here, optimizer=name))
                    )
            yield title, lines

    def _condition_number_line(self, condition: float, optimizer: str, rows: pd.DataFrame) -> Row:
        """The line of a condition number and optimizer: both learners and their difference."""
        [text] = load().rows_in_text("imposed")
        papers = {r["learner"]: r for r in self.papers_rows if r["condition_number"] == condition}
        sides = [where(rows, learner=name) for name in self.learners]
        blank = {"task": text["task"]} | DEFAULTS
        keys = [dict(r[list(KEYS)].iloc[0]) if len(r) else blank for r in sides]
        alike = next(iter(papers.values()), {}).get("within_interval")
        line: dict[str, Any] = {"imposed": condition, "optimizer": optimizer, "papers": alike}
        for measure in _CONDITIONS:
            first, second = (_mean_or_none(side, measure) for side in sides)
            side_index = 0 if first and not second else 1
            there = paper_value(text, measure) if papers else None
            line[measure] = Beside(keys[side_index], measure, second or first, there)
        for name, side, key in zip(self.learners, sides, keys, strict=True):
            paper = paper_value(papers.get(name), "mse")
            line[name] = Beside(key, _ERROR, _mean_or_none(side, _ERROR), paper)
        # First minus second learner's error, paired by network.
        pairs = sides[0].merge(sides[1], on="seed", suffixes=("", "_other"))
        fails = pairs["diverged"].astype(bool) | pairs["diverged_other"].astype(bool)
        apart = mean_of(pairs[_ERROR] - pairs[f"{_ERROR}_other"], int(fails.sum()))
        difference = apart if all(map(len, sides)) else None
        line["difference"] = Beside(keys[1], f"{_ERROR}_difference", difference)
        errors = (line[name].ours for name in self.learners)
        return line | {"seeds": difference or next(filter(None, errors), None)}


def _equal_errors_text(line: Line) -> str:
    """Whether the interval of the difference holds 0, over what the paper says."""
    ours, papers, words = line.row["difference"].ours, line.row["papers"], ("no", "yes")
    has_ends = ours is not None and not is_missing(ours.low)
    alike = words[ours.low <= 0 <= ours.high] if has_ends else MISSING
    return alike if papers is None else f"{alike}\n{words[papers]}"


def _mean_or_none(rows: pd.DataFrame, column: str) -> Mean | None:
    """The mean over seeds; None where none has the column and none diverged."""
    if column not in rows:
        return None
    mean = mean_of(rows[column], int(rows["diverged"].sum()))
    return mean if mean.n or mean.diverged else None
