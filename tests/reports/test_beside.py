"""Tables beside the paper's rows: what is ours, what was not run, and the rule that compares."""

import numpy as np
import pandas as pd
import pytest
from report_results import build

from orla import catalogue
from orla.reports import beside
from orla.reports.comparison import (
    AGREES,
    DIFFERS,
    NO_ANSWER,
    NOT_COMPARABLE,
    WIDE,
    Beside,
    Mean,
    compared,
    printed,
)
from orla.reports.paper import load, stand_ins

BESIDE = [n for n, p in catalogue.parts("table").items() if issubclass(p, beside.ByPapersRow)]
KEYS = {"precision": "float64", "split": "shift", "intervention": "none", "start": "pretrained"}


def model(seed, task="sine", architecture="rnn", learner="immediate", optimizer="adam", **more):
    return {
        **KEYS,
        **{"task": task, "pair": "", "architecture": architecture, "learner": learner},
        **{"optimizer": optimizer, "seed": seed, "learning_rate": 0.001, "edge": False},
        **{"diverged": False, "validation_rolling_error": 0.5, "updates": 100, "selected": True},
        **{"selected_on_adapt": True, "edge_on_adapt": False},
        **{"last_adapt_error": 0.05 + 0.001 * seed},
        **{"adapt_error": 0.1 + 0.01 * seed, "heldout_error": 0.2, "frozen_adapt_error": 1.0},
        **{"frozen_heldout_error": 2.0, "recovery_adapt_percent": 50.0},
        **{"recovery_heldout_percent": 40.0, "adapt_vs_best_rtrl_percent": 102.0 + seed},
        **{"heldout_vs_best_rtrl_percent": 90.0},
        **more,
    }


def rows_of(table, study, *models):
    document = build(table, {"lr_curves": pd.DataFrame(models)}, study)
    return document, document.data.set_index(["task", "architecture", "learner", "optimizer"])


@pytest.mark.parametrize("name", BESIDE)
def test_every_row_of_the_paper_stands_there_and_says_that_it_was_not_run(name, simulated):
    table = catalogue.part("table", name)()
    other = model(0, task="another")
    document = build(name, {"lr_curves": pd.DataFrame([other])}, simulated)
    rows = (one for row in load().table(table.part.more["paper"]) for one in stand_ins(row))
    wanted = [row for row in rows if beside.condition(row)]
    lines = [line for panel in document.panels for line in panel.rows]
    assert 0 < len(lines) <= len(wanted) and not document.ran
    assert all("not run" in line and line[-1] == NO_ANSWER for line in lines)
    assert not document.data["run"].any()


def test_ours_is_the_mean_over_seeds_beside_the_papers_number(simulated):
    document, data = rows_of("optimizers", simulated, *(model(seed) for seed in range(5)))
    ours = data.loc[("sine", "rnn", "immediate", "adam")]
    assert ours["adapting"] == pytest.approx(104.0) and ours["paper"] == 102
    half = 2.7764451 * np.std(range(5), ddof=1) / np.sqrt(5)
    assert ours["adapting_high"] - ours["adapting"] == pytest.approx(half, rel=1e-6)
    assert ours["heldout"] == 90.0 and ours["n_seeds"] == 5 and ours["compared"] == AGREES
    assert document.ran and data.loc[("sine", "rnn", "immediate", "sgd")]["compared"] == (NO_ANSWER)


def test_a_row_without_optimizer_is_about_the_best_where_rates_are_chosen(simulated):
    better = {"adapt_error": 0.01, "adapt_vs_best_rtrl_percent": 7.0}
    models = [model(s) for s in range(3)]
    models += [model(s, optimizer="sgd", learner="rtrl", **better) for s in range(3)]
    models += [model(s, optimizer="adam", learner="rtrl") for s in range(3)]
    _, data = rows_of("headtohead", simulated, *models)
    rtrl = data.sort_index().xs(("sine", "rnn", "rtrl"))
    assert rtrl.index.tolist() == ["sgd"] and rtrl["adapting"].tolist() == [7.0]


def test_decays_are_measured_against_immediate_with_adam(simulated):
    models = [model(s) for s in range(3)]
    models += [model(s, learner="trace-05", adapt_error=0.55 + 0.005 * s) for s in range(3)]
    _, data = rows_of("decay_grid", simulated, *models)
    half = data.loc[("sine", "rnn", "trace-05", "adam")]
    assert half["adapting"] == pytest.approx(50.0)
    assert data.loc[("sine", "rnn", "immediate", "adam")]["adapting"] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("value", "low", "high", "theirs", "spread", "said"),
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
def test_one_rule_compares(value, low, high, theirs, spread, said):
    assert compared(Mean(value, low, high), theirs, spread) == said


def test_a_model_that_diverged_is_counted_and_has_no_number(simulated):
    lost = {"diverged": True, "adapt_vs_best_rtrl_percent": np.nan}
    document, data = rows_of("optimizers", simulated, *(model(s, **lost) for s in range(2)))
    ours = data.loc[("sine", "rnn", "immediate", "adam")]
    assert ours["n_diverged"] == 2 and ours["compared"] == NO_ANSWER
    assert any("diverged" in line for panel in document.panels for line in panel.rows)


def test_without_the_learner_that_counts_as_100_nothing_is_called_diverged(simulated):
    unknown = {"adapt_vs_best_rtrl_percent": np.nan, "heldout_vs_best_rtrl_percent": np.nan}
    document, _ = rows_of("architectures", simulated, *(model(s, **unknown) for s in range(3)))
    cells = [cell for panel in document.panels for line in panel.rows for cell in line]
    assert "no 100" in cells and "diverged" not in cells


WILD = [0.01, 0.02, 0.015, 0.02, 60.0]  # errors; that of the network that does not adapt is 1


def test_seeds_worse_than_frozen_give_the_median_and_are_no_wide_interval(simulated):
    """The one wild seed makes a mean and an interval that would hide it."""
    errors = dict(enumerate(WILD))
    models = [model(s, adapt_error=0.01, heldout_error=0.01) for s in errors]
    wild = dict(learner="trace-095", heldout_error=0.5)
    models += [model(s, adapt_error=error, **wild) for s, error in errors.items()]
    document, data = rows_of("decay_grid", simulated, *models)
    ours = data.loc[("sine", "rnn", "trace-095", "adam")]
    recoveries = [100 * (1 - error) / 0.99 for error in WILD]
    assert ours["adapting"] == pytest.approx(np.mean(recoveries)) and ours["adapting"] < -1000
    assert ours["adapting_median"] == pytest.approx(np.median(recoveries))
    assert ours["adapting_n_worse"] == 1 and ours["heldout_n_worse"] == 0
    assert ours["paper"] == 90.2 and ours["compared"] == DIFFERS
    (line,) = [line for line in document.panels[0].rows if "095" in line[1] and line[2] == "Adam"]
    assert line[4].startswith("median 99.0\n1 of 5 worse") and "±" in line[5]
    # The control: the same mean and interval without a seed worse than frozen settle nothing.
    wide = Mean(*(ours[name] for name in ("adapting", "adapting_low", "adapting_high")), 5)
    assert compared(wide, 90.2) == WIDE and compared(wide._replace(worse=1), 90.2) == DIFFERS


def test_a_seed_that_diverged_is_worse_than_frozen_and_the_worst_of_the_median(simulated):
    lost = {"diverged": True, "adapt_error": np.nan, "heldout_error": np.nan}
    lost |= {"adapt_vs_best_rtrl_percent": np.nan, "heldout_vs_best_rtrl_percent": np.nan}
    for count in (1, 2, 3):
        models = [model(s) for s in range(5 - count)]
        models += [model(s, **lost) for s in range(5 - count, 5)]
        document, data = rows_of("optimizers", simulated, *models)
        ours = data.loc[("sine", "rnn", "immediate", "adam")]
        known = sorted([-np.inf] * count + [102.0 + s for s in range(5 - count)])
        middle = ours["adapting_median"]
        assert pd.isna(middle) if count == 3 else middle == known[2]
        assert ours["adapting_n_worse"] == ours["n_diverged"] == count
        (line,) = [line for line in document.panels[0].rows if line[2] == "Adam"]
        shown = "diverged" if count == 3 else f"{known[2]:.0f}"
        assert line[4].startswith(f"median {shown}\n{count} of 5 worse")


REASONS = [
    (name, row["not_comparable"], row)
    for name in BESIDE
    for held in load().table(catalogue.part("table", name).part.more["paper"])
    for row in stand_ins(held)
    if "not_comparable" in row
]


def test_rows_without_memory_and_with_other_denominators_are_not_comparable():
    tasks = {(table, row.get("task")) for table, _, row in REASONS}
    pure = {("horizon", f"delayed-{delay}") for delay in (50, 100, 200, 500)}
    assert tasks == pure | {
        ("headtohead", "delayed-50"),
        ("headtohead", "sine"),  # 1024 units
        ("tbptt", "recordings-windows"),
    }
    assert all(reason.endswith(".") for _, reason, _ in REASONS)


@pytest.mark.parametrize("run", [True, False])
def test_what_is_not_comparable_says_so_with_its_reason_where_it_ran(simulated, run):
    tasks = ["delayed-500", "narrow-500"] if run else ["narrow-500"]
    models = [model(s, task=task, adapt_error=0.0079) for task in tasks for s in range(3)]
    document, data = rows_of("horizon", simulated, *models)
    pure = data.loc[("delayed-500", "rnn", "immediate", "adam")]
    narrow = data.loc[("narrow-500", "rnn", "immediate", "adam")]
    assert pure["compared"] == (NOT_COMPARABLE if run else NO_ANSWER)
    assert pure["paper"] == narrow["paper"] == 0.0079 and narrow["compared"] == AGREES
    told = [note for note in document.notes if note.startswith("Not comparable: ")]
    assert len(told) == run and all("rotation" in note for note in told)


def test_a_number_beside_ours_is_not_comparable_for_its_reason():
    row = {"x": 1.0, "place": "Table 1", "not_comparable": "of other units."}
    ours = Mean(1.0, 0.9, 1.1, 5)
    both = Beside({}, "x", ours, printed(row, "x"))
    assert both.said == NOT_COMPARABLE and both.text().endswith("(not comparable)")
    assert both.record["not_comparable"] == "of other units."
    assert Beside({}, "x", None, printed(row, "x")).said != NOT_COMPARABLE
    del row["not_comparable"]
    assert Beside({}, "x", ours, printed(row, "x")).said == AGREES


def test_the_adapt_part_has_the_rate_that_is_best_on_it(simulated):
    """Held out stays at the rate that was selected before."""
    models = [model(s) for s in range(3)]
    fast = dict(learning_rate=0.003, selected=False, adapt_error=0.02, heldout_error=0.9)
    fast |= {"adapt_vs_best_rtrl_percent": 111.0, "heldout_vs_best_rtrl_percent": 1.0}
    lone = {**fast, "learning_rate": 0.01, "adapt_error": 0.001}
    lost = {**fast, "learning_rate": 0.01, "adapt_error": np.nan, "diverged": True}
    models += [model(s, **fast) for s in range(3)]
    models += [model(0, **lone), model(1, **lone), model(2, **lost)]
    _, data = rows_of("optimizers", simulated, *models)
    ours = data.loc[("sine", "rnn", "immediate", "adam")]
    assert ours["learning_rate"] == 0.003 and not ours["edge"]
    assert ours["adapting"] == pytest.approx(111.0) and ours["heldout"] == pytest.approx(90.0)
    less = [{**m, "adapt_error": 0.001} if m["learning_rate"] == 0.001 else m for m in models]
    _, data = rows_of("optimizers", simulated, *less)
    assert data.loc[("sine", "rnn", "immediate", "adam"), "edge"]
    # The paper's held-out recoveries: all at the selected rate.
    models = [model(s, task="recordings", split="80-20") for s in range(3)]
    models += [model(s, task="recordings", split="80-20", **fast) for s in range(3)]
    _, data = rows_of("headtohead", simulated, *models)
    ours = data.sort_index().xs(("recordings", "rnn", "immediate", "adam"))
    assert set(ours.loc[ours["run"], "learning_rate"]) == {0.001}


def test_larger_rates_alone_have_a_column(simulated):
    """To tell a grid from an optimizer: there the sign of the gradient is as the paper has it."""
    models = []
    for rate, reached in ((1e-4, 95.0), (3e-4, 52.0), (1e-3, 20.0)):
        of_rate = dict(optimizer="signsgd", learning_rate=rate, selected=rate == 1e-4)
        of_rate |= {"adapt_error": 1 - reached / 100, "adapt_vs_best_rtrl_percent": reached}
        models += [model(s, **of_rate) for s in range(3)]
    document, data = rows_of("optimizers", simulated, *models)
    ours = data.loc[("sine", "rnn", "immediate", "signsgd")]
    assert (ours["adapting"], ours["coarse"]) == (95.0, 52.0) and ours["paper"] == 50
    assert (ours["compared"], ours["compared_coarse"]) == (DIFFERS, AGREES)
    headers = [column.header for column in document.columns]
    assert headers.count("≥ 3×10⁻⁴") == 1
    (line,) = [line for line in document.panels[0].rows if line[2] == "signSGD"]
    assert line[headers.index("≥ 3×10⁻⁴")] == "52 ± 0\n(agrees)" and line[-1] == DIFFERS


@pytest.mark.parametrize("name", ["multilayer", "tbptt", "horizon"])
def test_the_last_tenth_is_a_reading_of_its_own(name, simulated):
    tasks = {"multilayer": "sine", "tbptt": "sine-windows", "horizon": "narrow-50"}
    papers = {"multilayer": "multilayer", "tbptt": "windows", "horizon": "delays"}
    task, papers = tasks[name], load().table(papers[name])[0]["mse"]
    models = [model(s, task=task, adapt_error=0.0103 + 1e-5 * s) for s in range(3)]
    models = [{**m, "last_adapt_error": papers} for m in models]
    document, data = rows_of(name, simulated, *models)
    ours = data.loc[(task, "rnn", "immediate", "adam")]
    assert ours["last"] == pytest.approx(papers) == ours["paper"]
    assert (ours["compared"], ours["compared_last"]) == (DIFFERS, AGREES)
    assert any(note.startswith("Last tenth: ") for note in document.notes)
    other, _ = rows_of("optimizers", simulated, *models)
    assert not any(note.startswith("Last tenth: ") for note in other.notes)


def test_depths_are_compared_with_adam_whatever_optimizer_is_better(simulated):
    models = [model(s, adapt_error=0.0007) for s in range(3)]
    better = {"adapt_error": 0.0001, "validation_error": 0.01}
    models += [model(s, optimizer="lion", **better) for s in range(3)]
    _, data = rows_of("multilayer", simulated, *models)
    ours = data.sort_index().xs(("sine", "rnn", "immediate"))
    assert ours.index.tolist() == ["adam"] and ours["adapting"].tolist() == [0.0007]
