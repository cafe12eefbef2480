"""Tables beside the paper's rows: what is ours, what was not run, and the rule that compares."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION
from report_results import build

from orla import catalogue
from orla.reports import by_row
from orla.reports.comparison import (
    AGREES,
    DIFFERS,
    NO_ANSWER,
    NOT_COMPARABLE,
    WIDE,
    Mean,
    agreement,
)
from orla.reports.paper import load, stand_in_rows

PAPERS = {
    name: [one for row in load().table(part.part.more["paper"]) for one in stand_in_rows(row)]
    for name, part in catalogue.parts("table").items()
    if issubclass(part, by_row.ByPapersRow)
}
OURS = ("sine", "rnn", "immediate", "adam")
NONE_FOR_100 = {f"{part}_vs_best_rtrl_percent": np.nan for part in ("adapt", "heldout")}
LOST = {"diverged": True, "adapt_error": np.nan, "heldout_error": np.nan} | NONE_FOR_100


def models(seeds=3, **given):
    """Models of one condition, (seed, errors and recoveries); what is given may be of the seed."""
    base = CONDITION | {
        **{"task": "sine", "split": "shift", "learning_rate": 0.001, "updates": 100},
        **dict.fromkeys(("edge", "edge_on_adapt", "diverged"), False),
        **dict.fromkeys(("selected", "selected_on_adapt"), True),
        **{"validation_rolling_error": 0.5, "heldout_error": 0.2, "frozen_adapt_error": 1.0},
        **{"frozen_heldout_error": 2.0, "recovery_adapt_percent": 50.0},
        **{"recovery_heldout_percent": 40.0, "heldout_vs_best_rtrl_percent": 90.0},
    }
    seeds = [*range(seeds)] if isinstance(seeds, int) else [*seeds]
    return [
        base
        | {"seed": s, "adapt_error": 0.1 + 0.01 * s, "last_adapt_error": 0.05 + 0.001 * s}
        | {"adapt_vs_best_rtrl_percent": 102.0 + s}
        | {name: value(s) if callable(value) else value for name, value in given.items()}
        for s in seeds
    ]


def rows_of(table, study, *rows):
    document = build(table, {"lr_curves": pd.DataFrame(chain(*rows))}, study)
    keys = ["task", "architecture", "learner", "optimizer"]
    return document, document.data.set_index(keys).sort_index()


def lines_of(document):
    return [line for panel in document.panels for line in panel.rows]


@pytest.mark.parametrize("name", PAPERS)
def test_every_row_of_the_paper_stands_there_and_says_that_it_was_not_run(name, simulated):
    document, data = rows_of(name, simulated, models(1, task="another"))
    wanted, lines = [row for row in PAPERS[name] if by_row.condition_keys(row)], lines_of(document)
    assert 0 < len(lines) <= len(wanted) and not document.ran
    assert all("not run" in line and line[-1] == NO_ANSWER for line in lines)
    assert not data["run"].any()


def test_ours_is_the_mean_over_seeds_beside_the_papers_number(simulated):
    document, data = rows_of("optimizers", simulated, models(5))
    [ours] = data.loc[[OURS]].to_dict("records")
    assert ours["adapting"] == pytest.approx(104.0) and ours["paper"] == 102
    half = 2.7764451 * np.std(range(5), ddof=1) / np.sqrt(5)
    assert ours["adapting_high"] - ours["adapting"] == pytest.approx(half, rel=1e-6)
    assert ours["heldout"] == 90.0 and ours["n_seeds"] == 5 and ours["compared"] == AGREES
    assert document.ran and data.loc[(*OURS[:3], "sgd")]["compared"] == NO_ANSWER


def test_a_row_without_optimizer_is_about_the_best_where_rates_are_chosen(simulated):
    better = models(
        optimizer="sgd", learner="rtrl", adapt_error=0.01, adapt_vs_best_rtrl_percent=7.0
    )
    _, data = rows_of("headtohead", simulated, models(), better, models(learner="rtrl"))
    rtrl = data.xs(("sine", "rnn", "rtrl"))
    assert rtrl.index.tolist() == ["sgd"] and rtrl["adapting"].tolist() == [7.0]
    # Depths are compared with Adam, whatever optimizer is better.
    better = models(optimizer="lion", adapt_error=0.0001, validation_error=0.01)
    _, data = rows_of("multilayer", simulated, models(adapt_error=0.0007), better)
    ours = data.xs(OURS[:3])
    assert ours.index.tolist() == ["adam"] and ours["adapting"].tolist() == [0.0007]


@pytest.mark.parametrize(
    ("value", "low", "high", "theirs", "spread", "expected"),
    [
        (100, 90, 110, 108, None, AGREES),
        (100, 99, 101, 120, None, DIFFERS),
        (100, 99, 101, 120, 25, AGREES),
        (98, 41, 155, 49, None, WIDE),
        (98, 49, 147, 100, None, AGREES),
        (100, np.nan, np.nan, 105, None, AGREES),
        (100, np.nan, np.nan, 150, None, DIFFERS),
        (0.09, 0.089, 0.091, 0.0995, None, AGREES),
        (0.09, 0.089, 0.091, 0.11, None, DIFFERS),
        (np.nan, np.nan, np.nan, 1.0, None, NO_ANSWER),
        (1.0, 0.5, 1.5, None, None, NO_ANSWER),
    ],
)
def test_agreement_needs_overlap_or_nearness_and_a_narrow_interval(
    value, low, high, theirs, spread, expected
):
    assert agreement(Mean(value, low, high), theirs, spread) == expected


def test_without_the_learner_that_counts_as_100_nothing_is_called_diverged(simulated):
    document, _ = rows_of("architectures", simulated, models(**NONE_FOR_100))
    cells = {cell for line in lines_of(document) for cell in line}
    assert "no 100" in cells and "diverged" not in cells


WILD = [0.01, 0.02, 0.015, 0.02, 60.0]  # errors; that of the network that does not adapt is 1


def test_seeds_worse_than_frozen_give_the_median_and_are_no_wide_interval(simulated):
    """The one wild seed makes a mean and an interval that would hide it."""
    hundred = models(5, adapt_error=0.01, heldout_error=0.01)
    wild = models(5, learner="trace-095", heldout_error=0.5, adapt_error=WILD.__getitem__)
    half = models(5, learner="trace-05", adapt_error=lambda s: 0.505 + 0.005 * (s - 2))
    document, data = rows_of("decay_grid", simulated, hundred, wild, half)
    # Decays are measured against immediate derivatives with Adam.
    assert data.loc[OURS]["adapting"] == pytest.approx(100.0)
    assert data.loc[("sine", "rnn", "trace-05", "adam")]["adapting"] == pytest.approx(50.0)
    ours = data.loc[("sine", "rnn", "trace-095", "adam")]
    recoveries = [100 * (1 - error) / 0.99 for error in WILD]
    assert ours["adapting"] == pytest.approx(np.mean(recoveries)) and ours["adapting"] < -1000
    assert ours["adapting_median"] == pytest.approx(np.median(recoveries))
    assert ours["adapting_n_worse"] == 1 and ours["heldout_n_worse"] == 0
    assert ours["paper"] == 90.2 and ours["compared"] == DIFFERS
    [line] = [line for line in document.panels[0].rows if "095" in line[1] and line[2] == "Adam"]
    assert line[4].startswith("median 99.0\n1 of 5 worse") and "±" in line[5]
    # The control: the same mean and interval without a seed worse than frozen settle nothing.
    wide = Mean(*(ours[name] for name in ("adapting", "adapting_low", "adapting_high")), 5)
    assert agreement(wide, 90.2) == WIDE and agreement(wide._replace(worse=1), 90.2) == DIFFERS


@pytest.mark.parametrize(
    ("count", "median", "text"),
    [
        (1, 103, "median 103\n1 of 5 worse"),
        (2, 102, "median 102\n2 of 5 worse"),
        (3, None, "median diverged\n3 of 5 worse"),
        (4, None, "median diverged\n4 of 5 worse"),
        (5, None, "diverged"),
    ],
)
def test_a_seed_that_diverged_is_the_worst_of_the_median(count, median, text, simulated):
    lost = models(range(5 - count, 5), **LOST)
    document, data = rows_of("optimizers", simulated, models(5 - count), lost)
    ours = data.loc[OURS]
    [line] = [line for line in document.panels[0].rows if line[2] == "Adam"]
    assert ours["adapting_n_worse"] == ours["n_diverged"] == count
    assert line[4].startswith(text)
    # One seed has no interval that could be too wide.
    assert ours["compared"] == {4: DIFFERS, 5: NO_ANSWER}.get(count, AGREES)
    assert ours["adapting_median"] == median


def test_rows_without_memory_and_with_other_denominators_are_not_comparable():
    held = [(name, row) for name, rows in PAPERS.items() for row in rows if "not_comparable" in row]
    pure = {("horizon", f"delayed-{delay}") for delay in (50, 100, 200, 500)}
    more = {("headtohead", "delayed-50"), ("tbptt", "recordings-windows")}
    more |= {("headtohead", "sine")}  # 1024 units
    assert {(name, row.get("task")) for name, row in held} == pure | more
    assert all(row["not_comparable"].endswith(".") for _, row in held)


@pytest.mark.parametrize("run", [True, False])
def test_a_not_comparable_row_gives_its_reason_only_if_it_was_run(simulated, run):
    tasks = ["delayed-500", "narrow-500"] if run else ["narrow-500"]
    given = [models(task=task, adapt_error=0.0079) for task in tasks]
    document, data = rows_of("horizon", simulated, *given)
    pure, narrow = (data.loc[(task, *OURS[1:])] for task in ("delayed-500", "narrow-500"))
    assert pure["compared"] == (NOT_COMPARABLE if run else NO_ANSWER)
    assert pure["paper"] == narrow["paper"] == 0.0079 and narrow["compared"] == AGREES
    told = [note for note in document.notes if note.startswith("Not comparable: ")]
    assert len(told) == run and all("rotation" in note for note in told)


def test_the_adapt_part_has_the_rate_that_is_best_on_it(simulated):
    """Held out stays at the rate that was selected before."""
    fast = {"learning_rate": 0.003, "selected": False, "heldout_vs_best_rtrl_percent": 1.0}
    fast |= {"adapt_vs_best_rtrl_percent": 111.0}
    for edge in (False, True):
        on = {"selected_on_adapt": True, "edge_on_adapt": edge}
        _, data = rows_of(
            "optimizers", simulated, models(selected_on_adapt=False), models(**fast, **on)
        )
        ours = data.loc[OURS]
        assert ours["learning_rate"] == 0.003 and ours["edge"] == edge
        assert ours["adapting"] == pytest.approx(111.0) and ours["heldout"] == pytest.approx(90.0)
    # The paper's held-out recoveries: all at the selected rate.
    of = {"task": "recordings", "split": "80-20"}
    _, data = rows_of("headtohead", simulated, models(**of), models(**of, **fast))
    ours = data.xs(("recordings", *OURS[1:]))
    assert set(ours.loc[ours["run"], "learning_rate"]) == {0.001}


def test_the_best_of_the_coarse_rates_has_a_column_and_a_comparison_of_its_own(simulated):
    """To tell a grid from an optimizer: there the sign of the gradient is as the paper has it."""
    given = [
        models(
            optimizer="signsgd",
            learning_rate=rate,
            adapt_error=1 - reached / 100,
            adapt_vs_best_rtrl_percent=reached,
            **dict.fromkeys(("selected", "selected_on_adapt"), rate == 1e-4),
        )
        for rate, reached in ((1e-4, 95.0), (3e-4, 52.0), (1e-3, 20.0))
    ]
    given.append([row | LOST | {"learning_rate": 3e-3} for row in given[1]])
    document, data = rows_of("optimizers", simulated, *given)
    ours = data.loc[(*OURS[:3], "signsgd")]
    assert (ours["adapting"], ours["coarse"]) == (95.0, 52.0) and ours["paper"] == 50
    assert (ours["compared"], ours["compared_coarse"]) == (DIFFERS, AGREES)
    headers = [column.header for column in document.columns]
    assert headers.count("≥ 3×10⁻⁴") == 1
    [line] = [line for line in document.panels[0].rows if line[2] == "signSGD"]
    assert line[headers.index("≥ 3×10⁻⁴")] == "52 ± 0\n(agrees)" and line[-1] == DIFFERS


@pytest.mark.parametrize(
    ("name", "task"), [("multilayer", "sine"), ("tbptt", "sine-windows"), ("horizon", "narrow-50")]
)
def test_the_last_tenth_is_a_reading_of_its_own(name, task, simulated):
    papers = PAPERS[name][0]["mse"]
    given = models(task=task, adapt_error=lambda s: 0.0103 + 1e-5 * s, last_adapt_error=papers)
    document, data = rows_of(name, simulated, given)
    ours = data.loc[(task, *OURS[1:])]
    assert ours["last"] == pytest.approx(papers) == ours["paper"]
    assert (ours["compared"], ours["compared_last"]) == (DIFFERS, AGREES)
    assert any(note.startswith("Last tenth: ") for note in document.notes)
