"""Tables: what they say, that they hold no NaN, and that LaTeX takes them."""

import functools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_results import build

from orla import catalogue
from orla.reports.latex import escape
from orla.reports.study import Comparison
from orla.reports.table import to_latex, write_table
from orla.reports.verdicts import cause_and_meaning

NAMES = list(catalogue.parts("table"))
# Of other results: held to what they say in tests of their own names.
UNUSUAL = {"mechanism", "streams", "vision", "language"}
TOLD_OF_RECORDINGS = {"heldout", "bci_gap", "optimizers", "verdict", "learners"}
USUAL = [name for name in NAMES if catalogue.part("table", name).part.chapter not in UNUSUAL]


@pytest.fixture(scope="module")
def table(few, simulated):
    """A table of the few results, made once."""
    return functools.cache(lambda name: build(name, few, simulated))


@pytest.fixture(scope="module")
def lost(few):
    """The same results after every full-gradient model diverged."""
    results = {name: frame.copy() for name, frame in few.items()}
    full = results["conditions"]["learner"] == "tbptt-200-200"
    measures = [c for c in results["conditions"] if "percent" in c or c.startswith("r2")]
    results["conditions"].loc[full, measures] = np.nan
    results["conditions"].loc[full, ["n_seeds", "n_diverged"]] = 0, 5
    results["ratio_gap"][["gap_pp", "t95_low_pp", "t95_high_pp"]] = np.nan
    results["multiverse"][["gap", "low", "high"]] = np.nan
    for name in ("gaps", "estimates", "over_pairs", "ratio_gap_order", "learners"):
        frame = results[name]
        frame[frame.select_dtypes("float").columns] = np.nan
        frame["n_diverged"] = 5
    results["gaps"]["n_seeds"] = results["estimates"]["n_seeds"] = 0
    return results


@pytest.mark.parametrize("name", USUAL)
def test_every_cell_and_number_is_the_kept_one(name, table, wide, simulated, golden):
    # One pair has no interval.
    two = {"over_pairs": wide["over_pairs"].query("architecture == 'rnn'")}
    golden(name, build(name, two, simulated) if name == "over_pairs" else table(name))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_simulated_is_said_and_nothing_is_a_nan(
    name, table, few, lost, simulated, recorded, tmp_path
):
    for document in (table(name), build(name, lost, simulated)):
        assert document.caption.startswith("SIMULATED")
        data = document.data
        tasks = data.get("task", pd.Series("recordings", index=data.index))
        assert data["simulated"].equals((tasks == "recordings").rename("simulated"))
        write_table(document, tmp_path / "t.tex", tmp_path / "t.csv")
        for path in (tmp_path / "t.tex", tmp_path / "t.csv"):
            text = re.sub(r"\bnone,pretrained\b", "", path.read_text())  # the two key columns
            assert not re.search(r"\b(nan|none|inf|NA)\b", text, re.IGNORECASE)
    needs = catalogue.part("table", name).part.more["needs"]
    nothing = build(name, {need: lost[need].iloc[:0] for need in needs}, recorded)
    assert "No condition of this table was run" in to_latex(nothing)
    of_recordings = [build(name, few, recorded)] if name in TOLD_OF_RECORDINGS else []
    for document in (nothing, *of_recordings):
        assert "SIMULATED" not in to_latex(document) and not document.data["simulated"].any()


def test_heldout_says_what_is_unreliable_and_what_diverged(few, lost, simulated):
    unreliable = {n: few[n].assign(denominator=0.02) for n in ("conditions", "baselines")}
    table = build("heldout", few | unreliable, simulated)
    rows = [row for panel in table.panels for row in panel.rows if row[3] != "not run"]
    assert len(rows) == sum(map(len, unreliable.values())) and all(row[3] == "–¶" for row in rows)
    assert any(note.startswith("¶") for note in table.notes)
    table = build("heldout", lost, simulated)
    panel = next(p for p in table.panels if p.title.startswith("RNN, float64, 80/20: TBPTT-200"))
    assert [row[3] for row in panel.rows if row[0] == "Adam"] == ["diverged"]


def test_verdicts_in_the_order_of_the_claims(few, simulated):
    turned = few["verdicts"].iloc[::-1]
    own = turned.iloc[:1].assign(registration="own", title="one's own")
    table = build("verdict", {"verdicts": pd.concat([own, turned])}, simulated)
    order = ["adam-equivalence", "lars-advantage", "immediate-lars-fails", "sgd-gap"]
    assert table.data["registration"].tolist() == [*order, "ratio-gap-ordering", "own"]
    rows = table.panels[0].rows
    assert rows[0][1:3] == ("shown in simulation", "−0.30 [−2.70,\u00a02.10]")
    assert rows[1][0].endswith("†") and any("amended" in note for note in table.notes)
    assert any("crosses the threshold" in note for note in table.notes)


def test_long_tables_go_on_in_a_second_float(wide, simulated):
    latex = to_latex(build("heldout", wide, simulated))
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 1
    assert latex.count(r"\label{") == 1
    notes = r"\ensuremath{^{\mathrm{p}}} the paper's float32 pilot"
    assert latex.count(notes) == 1
    assert latex.index(notes) > latex.rindex(r"\end{tabular}")


def test_many_comparisons_go_on_in_a_second_float_with_the_first_columns(few, simulated):
    own = {f"own{i}": Comparison(f"own {i}", "rtrl", "trace") for i in range(4)}
    estimates = few["estimates"].query("estimand == 'heldout'")
    first = estimates.query("comparison == 'per_step'")
    rows = pd.concat([estimates, *(first.assign(comparison=name) for name in own)])
    study = replace(simulated, comparisons=dict(simulated.comparisons) | own)
    table = build("bci_gap", {"estimates": rows}, study)
    latex = to_latex(table)
    assert len(table.columns) == 12 and latex.count(r"\begin{table}") == 2
    heads = [line for line in latex.splitlines() if line.startswith("Optimizer & n & ")]
    assert [line.count("&") for line in heads] == [6, 6]
    assert "own 3" in heads[1] and "own 3" not in heads[0]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % & _x", r"50~\% \& \_x"),
        ("‖ΔW_hh‖", r"\ensuremath{\|}\ensuremath{\Delta W_{hh}}\ensuremath{\|}"),
        ("3×10⁻⁴", r"3\ensuremath{\times}10\ensuremath{^{-4}}"),
        ("−0.3 pp", r"\ensuremath{-}0.3~pp"),
        ("漢", "{[}U+6F22{]}"),
    ],
)
def test_escape(text, latex):
    assert escape(text) == latex


def test_a_verdicts_reason_states_a_repeated_cause_once():
    given = {"reason": "no row with a = b; no row with a = b; n = 1. So nothing is known."}
    assert cause_and_meaning(given) == ("no row with a = b; n = 1.", "So nothing is known.")
    assert cause_and_meaning({"reason": None}) == cause_and_meaning({}) == ("", "")
    assert cause_and_meaning({"reason": "3 diverged"}) == ("3 diverged.", "")


def test_models_that_diverged_are_counted_over_all_rates(few, simulated):
    """A condition without any is left out."""
    models = few["lr_curves"].query("learner == 'immediate' and optimizer in ('adam', 'sgd')")
    models = models.assign(diverged=False, diverged_step=-1)
    frame = pd.concat([models, models.assign(task="sine")], ignore_index=True)
    adam = frame.query("optimizer == 'adam' and task == 'recordings'")
    rates = sorted(adam["learning_rate"].unique())
    for (rate, seed), step in {(1, 0): 12, (1, 1): 30, (2, 0): 5}.items():
        at = adam.index[(adam["learning_rate"] == rates[rate]) & (adam["seed"] == seed)]
        frame.loc[at, ["diverged", "diverged_step"]] = True, step
    document = build("divergence", {"lr_curves": frame}, simulated)
    assert document.ran and len(document.panels) == 1
    adam, sgd = (document.data.set_index("optimizer").loc[name] for name in ("adam", "sgd"))
    assert (adam["n_diverged"], adam["first_step"], adam["median_step"]) == (3, 5, 12)
    assert adam["safe_rate"] == rates[0] and sgd["n_diverged"] == 0
    assert np.isnan(sgd["first_step"]) and sgd["safe_rate"] == sgd["highest_rate"]
