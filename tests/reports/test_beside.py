"""Tables beside the paper's rows: what is ours, what was not run, and the rule that compares."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_results import build

from orla import catalogue
from orla.reports import beside
from orla.reports.comparison import AGREES, DIFFERS, NOT_COMPARABLE, WIDE, Mean, adapts, compared
from orla.reports.paper import load

BESIDE = [n for n, p in catalogue.parts("table").items() if issubclass(p, beside.ByPapersRow)]
KEYS = {"precision": "float64", "split": "shift", "intervention": "none", "start": "pretrained"}


def model(seed, task="sine", architecture="rnn", learner="immediate", optimizer="adam", **more):
    return {
        **KEYS,
        **{"task": task, "pair": "", "architecture": architecture, "learner": learner},
        **{"optimizer": optimizer, "seed": seed, "learning_rate": 0.001, "edge": False},
        **{"diverged": False, "validation_rolling_error": 0.5, "updates": 100},
        **{"adapt_error": 0.1 + 0.01 * seed, "heldout_error": 0.2, "frozen_adapt_error": 1.0},
        **{"frozen_heldout_error": 2.0, "recovery_adapt_percent": 50.0},
        **{"recovery_heldout_percent": 40.0, "adapt_vs_best_rtrl_percent": 102.0 + seed},
        **{"heldout_vs_best_rtrl_percent": 90.0},
        **more,
    }


def rows_of(table, study, *models):
    models = pd.DataFrame(models)
    document = build(table, {"adapting": models, "heldout": models}, study)
    return document, document.data.set_index(["task", "architecture", "learner", "optimizer"])


@pytest.mark.parametrize("name", BESIDE)
def test_every_row_of_the_paper_stands_there_and_says_that_it_was_not_run(name, simulated):
    table = catalogue.part("table", name)()
    other = model(0, task="another")
    other = pd.DataFrame([other])
    document = build(name, {"adapting": other, "heldout": other}, simulated)
    wanted = [row for row in load().table(table.part.more["paper"]) if beside.condition(row)]
    lines = [line for panel in document.panels for line in panel.rows]
    assert 0 < len(lines) <= len(wanted) and not document.ran
    assert all("not run" in line and line[-1] == NOT_COMPARABLE for line in lines)
    assert not document.data["run"].any()


def test_ours_is_the_mean_over_seeds_beside_the_papers_number(simulated):
    document, data = rows_of("optimizers", simulated, *(model(seed) for seed in range(5)))
    ours = data.loc[("sine", "rnn", "immediate", "adam")]
    assert ours["adapting"] == pytest.approx(104.0) and ours["paper"] == 102
    half = 2.7764451 * np.std(range(5), ddof=1) / np.sqrt(5)
    assert ours["adapting_high"] - ours["adapting"] == pytest.approx(half, rel=1e-6)
    assert ours["heldout"] == 90.0 and ours["n_seeds"] == 5 and ours["compared"] == AGREES
    assert document.ran and data.loc[("sine", "rnn", "immediate", "sgd")]["compared"] == (
        NOT_COMPARABLE
    )


def test_a_row_without_optimizer_is_about_the_best_where_rates_are_chosen(simulated):
    better = {"adapt_error": 0.01, "adapt_vs_best_rtrl_percent": 7.0}
    models = [model(s) for s in range(3)]
    models += [model(s, optimizer="sgd", learner="rtrl", **better) for s in range(3)]
    models += [model(s, optimizer="adam", learner="rtrl") for s in range(3)]
    _, data = rows_of("headtohead", simulated, *models)
    rtrl = data.sort_index().xs(("sine", "rnn", "rtrl"))
    assert rtrl.index.tolist() == ["sgd"] and rtrl["adapting"].tolist() == [7.0]


def test_a_frozen_network_has_a_row_of_its_own(simulated):
    _, data = rows_of("horizon", simulated, *(model(s, task="delayed-50") for s in range(3)))
    frozen = data.sort_index().xs(("delayed-50", "rnn", "frozen"))
    assert frozen["adapting"].tolist() == [1.0] and frozen["heldout"].tolist() == [2.0]
    immediate = data.loc[("delayed-50", "rnn", "immediate", "adam")]
    assert immediate["adapting"] == pytest.approx(0.11)


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
        (np.nan, np.nan, np.nan, 1.0, None, NOT_COMPARABLE),
        (1.0, 0.5, 1.5, None, None, NOT_COMPARABLE),
    ],
)
def test_one_rule_compares(value, low, high, theirs, spread, said):
    assert compared(Mean(value, low, high), theirs, spread) == said


@pytest.mark.parametrize(
    ("error", "said", "shown"),
    [
        (0.2, AGREES, "error −90.0 ± 0.0 %"),
        (2.2, DIFFERS, "error +10.0 ± 0.0 %"),
        (2.0, WIDE, "error 0.0 ± 0.0 %"),
        (np.nan, NOT_COMPARABLE, "diverged"),
    ],
)
def test_a_network_that_only_adapts_is_held_to_the_frozen_one(simulated, error, said, shown):
    lost = {"heldout_error": error, "diverged": np.isnan(error)}
    unknown = {"adapt_vs_best_rtrl_percent": np.nan, "heldout_vs_best_rtrl_percent": np.nan}
    models = [model(s, architecture="gru", **lost, **unknown) for s in range(3)]
    document, data = rows_of("architectures", simulated, *models)
    ours = data.loc[("sine", "gru", "immediate", "adam")]
    assert ours["compared"] == said and ours["paper_words"] == "adapts"
    assert ours["adapting"] == pytest.approx(-89.0)
    (line,) = [line for line in document.panels[0].rows if line[0] == "GRU"]
    assert line[5] == shown and line[4].startswith("error −89.0 ± ")


@pytest.mark.parametrize(
    ("change", "low", "high", "said"),
    [
        (-50, -60, -40, AGREES),
        (-5, -20, 10, WIDE),
        (5, 1, 9, DIFFERS),
        (-5, np.nan, np.nan, AGREES),
        (np.nan, np.nan, np.nan, NOT_COMPARABLE),
    ],
)
def test_to_adapt_is_to_end_below_the_frozen_network(change, low, high, said):
    assert adapts(Mean(change, low, high)) == said


def test_a_model_that_diverged_is_counted_and_has_no_number(simulated):
    lost = {"diverged": True, "adapt_vs_best_rtrl_percent": np.nan}
    document, data = rows_of("optimizers", simulated, *(model(s, **lost) for s in range(2)))
    ours = data.loc[("sine", "rnn", "immediate", "adam")]
    assert ours["n_diverged"] == 2 and ours["compared"] == NOT_COMPARABLE
    assert any("diverged" in line for panel in document.panels for line in panel.rows)


def test_a_network_of_another_size_is_not_compared(simulated):
    models = [model(seed) for seed in range(5)]
    small = replace(simulated, instances={"architecture": {"rnn": {"kind": "rnn", "hidden": 16}}})
    for study, said in ((simulated, AGREES), (small, NOT_COMPARABLE)):
        document, data = rows_of("optimizers", study, *models)
        assert data.loc[("sine", "rnn", "immediate", "adam")]["compared"] == said
        assert document.ran


def test_the_papers_held_out_recovery_is_compared_with_ours(simulated):
    """Held out ours is 40 where the paper has 41.7; while adapting it is 50."""
    models = [model(seed, task="recordings", split="80-20") for seed in range(5)]
    _, data = rows_of("headtohead", simulated, *models)
    found = data.sort_index().xs(("recordings", "rnn", "immediate", "adam"))
    assert AGREES in set(found.loc[found["paper"] == 41.7, "compared"])


def test_without_the_learner_that_counts_as_100_nothing_is_called_diverged(simulated):
    unknown = {"adapt_vs_best_rtrl_percent": np.nan, "heldout_vs_best_rtrl_percent": np.nan}
    document, _ = rows_of("architectures", simulated, *(model(s, **unknown) for s in range(3)))
    cells = [cell for panel in document.panels for line in panel.rows for cell in line]
    assert "no 100" in cells and "diverged" not in cells


def test_the_row_of_pretrained_weights_says_that_ours_are_not(simulated):
    document, data = rows_of("architectures", simulated, *(model(s) for s in range(3)))
    assert "lewm" in set(data.reset_index()["architecture"])
    assert any("pretrained" in note for note in document.notes)
    other, _ = rows_of("optimizers", simulated, *(model(s) for s in range(3)))
    assert not any("pretrained" in note for note in other.notes)
