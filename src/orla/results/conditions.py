"""Summaries of conditions over seeds: scores, measures of probes, observers, and selection."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from orla import catalogue
from orla.results.base import Settings, Statistic
from orla.results.estimands import AT_END
from orla.results.frames import COLUMN
from orla.results.grids import OVER_BEST, Key, marked_side, seed_values, selected_sides
from orla.results.summary import (
    DENOMINATOR,
    Sample,
    Summary,
    any_seed,
    diverged_seeds,
    end_columns,
    mean,
    seeds,
    shared_value,
)
from orla.statistics.means import moments
from orla.statistics.resampling import draw_resamples
from orla.study.declarations import read_declarations
from orla.study.keys import KEYS

_RECOVERY = AT_END.recovery
SCORES = ("heldout_error", _RECOVERY, "recovery_stable_percent", "adapt_error")
"""Scores of every condition, which stand beside the columns of the probes."""


class Conditions(Summary, name="conditions"):
    """Scores of every condition at its selected rate, over seeds."""

    cells = (
        shared_value("learning_rate", "Selected learning rate."),
        any_seed("edge", "Whether the selected rate lies on the edge of its grid."),
        seeds(_RECOVERY, "Seeds with a finite held-out recovery."),
        diverged_seeds(),
        mean("recovery_percent", "Mean held-out recovery", _RECOVERY, t95="t95_{}_percent"),
        mean(
            "over_best_percent",
            "Mean held-out recovery over the better of the frozen network and the best constant",
            source=OVER_BEST,
            t95="over_best_t95_{}_percent",
        ),
        mean(
            "adapt_recovery_percent",
            "Mean recovery while adapting, at the rate that is best there",
            source="recovery_adapt_percent",
            t95="adapt_t95_{}_percent",
        ),
        mean("r2_mean", "Mean held-out R2, outputs weighted equally"),
        mean("r2_weighted", "Mean held-out R2, outputs weighted by variance"),
        mean("update_ratio", "Mean ratio ||dW_hh|| / ||dW_out||", t95="update_ratio_t95_{}"),
        *DENOMINATOR,
        mean(
            COLUMN,
            "Mean held-out recovery where that of full RTRL is 100",
            t95="recovery_vs_rtrl_t95_{}_percent",
        ),
    )


class Measured(Statistic, name="measured"):
    """Means over seeds at the selected rate, of every column that a probe adds and of the scores.

    A measure that no seed has is left out, but for a score: a condition in which every model
    diverged stands in the table.
    """

    columns = KEYS | {
        "measure": "Column of the table of models.",
        "mean": "Mean over seeds, in the measure's own unit.",
        "sd": "Standard deviation over seeds (divisor n - 1).",
        "n_seeds": "Seeds with a finite value.",
        "n_diverged": "Seeds that diverged.",
        **end_columns("t95_{}"),
        **end_columns("t90_{}", "its 90 % t interval"),
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        names, rows = [name for name in measure_columns() if name in models], []
        for side in selected_sides(models, names):
            n_diverged = int(side.diverged.sum())
            for name in names:
                m = moments(seed_values(side, name))
                if m.n or name in SCORES:
                    numbers = (m.mean, m.sd, m.n, n_diverged, *m.interval(), *m.interval(0.9))
                    rows.append((*side.grid.key.values(), name, *numbers))
        return pd.DataFrame(rows, columns=list(self.columns))


def measure_columns() -> list[str]:
    """Every score, and every column that a probe declares, once each."""
    probes = read_declarations(catalogue.plugin_folders())["probe"].values()
    columns = (name for probe in probes for name in probe["more"].get("columns", ()))
    return list(dict.fromkeys([*SCORES, *columns]))


class Learners(Summary, name="learners", needs=("alignment",)):
    """Agreement of each observer's gradient with that of `against`, along one learner's models.

    `learner` drives the networks, at its selected rate; the gradient is the observer's.
    """

    keys = KEYS | {
        "observer": "Learner whose gradient it is; that of `learner` itself stands among them.",
        "against": "Learner whose gradient it is compared with.",
    }
    cells = (
        seeds("cosine", "Seeds with a cosine."),
        diverged_seeds(),
        mean("cosine", "Mean over seeds of the mean cosine over updates", t95="cosine_t95_{}"),
        mean("positive_share", "Mean over seeds of the share of updates with a cosine above 0"),
        mean(
            *("norm_ratio", "Mean over seeds of the median over updates of the ratio of the norms"),
            t95="norm_ratio_t95_{}",
        ),
        shared_value(
            "carried_bytes", "Bytes that the observer holds of one model between updates.", int
        ),
    )

    def samples(self, alignment: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        always = ("selected", "diverged", "carried_bytes")
        more = [cell.column for cell in self.cells]
        sides = selected_sides(alignment, more, always, tuple(self.keys))
        return ((side.grid.key, side.at_rate) for side in sides)


class SelectionPrice(Summary, name="selection_price"):
    """Recovery at the rate chosen on the held-out part minus at the one chosen on validation.

    Source: docs/protocol.md, Choice of the learning rate; the paper states both ways of selecting.
    """

    cells = (
        mean("recovery_validation_selected_percent", "Mean recovery, rate chosen on validation"),
        mean("recovery_test_selected_percent", "Mean recovery, rate chosen on the held-out part"),
        mean("price_pp", "Mean over seeds of the second minus the first", t95="t95_{}_pp"),
        mean(
            "recovery_tail_selected_percent",
            "Mean recovery, rate chosen by one freezing before the last fifth of the adapt part",
        ),
        shared_value("learning_rate", "Rate chosen on validation."),
        shared_value("learning_rate_test", "Rate chosen on the held-out part."),
        shared_value("learning_rate_tail", "Rate chosen by one freezing."),
        shared_value(
            "learning_rate_runner_up",
            "Rate with the second lowest error of validation, where the two are within one standard"
            " error; else the chosen one.",
        ),
        shared_value("other_rate_share", "Share of resamples of seeds that choose another rate."),
        seeds("price_pp", "Seeds that are finite at both rates."),
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        columns = dict.fromkeys(cell.column for cell in self.cells)
        marks = [replace(AT_END, selected=f"selected_on_{way}") for way in ("test", "tail")]
        for best in selected_sides(models):
            sides = [best, *(marked_side(best.grid, mark) for mark in marks)]
            if None in sides:
                continue
            first, second, third = (side.recovery for side in sides)
            price, share = second - first, np.nan
            if len(price) > 1:
                share = best.other_rate_share(
                    draw_resamples(len(price), settings.resamples, settings.seed)
                )
            finite = np.isfinite(price)
            first, second, third = (np.where(finite, r, np.nan) for r in (first, second, third))
            rates = [[side.rate] for side in (*sides, best.at_runner_up)]
            values = first, second, price, third, *rates, [share]
            yield best.grid.key, dict(zip(columns, values, strict=True)).__getitem__
