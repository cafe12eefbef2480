"""Tables: what they say, that they hold no NaN, and that LaTeX takes them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_latex import PDFLATEX, UNSCALED, compile_latex
from report_results import build

from orla import catalogue
from orla.reports.latex import escape
from orla.reports.study import Comparison
from orla.reports.table import to_latex, write
from orla.reports.verdicts import reasons

NAMES = list(catalogue.parts("table"))
# Of other results: held to what they say in tests of their own names.
UNUSUAL = {"mechanism", "streams", "vision", "language"}
USUAL = [name for name in NAMES if catalogue.part("table", name).part.chapter not in UNUSUAL]


def line(table, panel, first):
    rows = next(p.rows for p in table.panels if p.title.startswith(panel))
    return next(row for row in rows if row[0].startswith(first))


def with_losses(results):
    """The same results after every full-gradient model diverged."""
    results = {name: frame.copy() for name, frame in results.items()}
    full = results["conditions"]["learner"] == "tbptt-200-200"
    measures = [c for c in results["conditions"] if "percent" in c or c.startswith("r2")]
    results["conditions"].loc[full, measures] = np.nan
    results["conditions"].loc[full, ["n_seeds", "n_diverged"]] = 0, 5
    results["ratio_gap"][["gap_pp", "low_pp", "high_pp"]] = np.nan
    for name in ("gaps", "estimates", "over_pairs"):
        measures = results[name].select_dtypes("float").columns.difference(["freezing_step"])
        results[name][measures] = np.nan
        results[name]["n_diverged"] = 5
    results["gaps"]["n_seeds"] = results["estimates"]["n_seeds"] = 0
    results["multiverse"][["gap", "low", "high"]] = np.nan
    results["ratio_gap_order"][["spearman", "low", "high"]] = np.nan
    results["learners"][results["learners"].select_dtypes("float").columns] = np.nan
    return results


@pytest.mark.parametrize("name", USUAL)
def test_every_cell_and_number_is_the_kept_one(name, few, build_results, simulated, golden):
    if name == "over_pairs":  # one pair has no interval
        few = build_results(n_seeds=2, splits=("80-20",), pairs=("one", "other", "third"))
    golden(name, build(name, few, simulated))


@pytest.mark.parametrize("name", NAMES)
def test_simulated_is_said_in_caption_and_csv(name, results, simulated, recorded):
    table = build(name, results, simulated)
    assert table.caption.startswith("SIMULATED")
    tasks = table.data.get("task", pd.Series("recordings", index=table.data.index))
    assert table.data["simulated"].equals((tasks == "recordings").rename("simulated"))
    real = build(name, results, recorded)
    assert "SIMULATED" not in to_latex(real)
    assert not real.data["simulated"].any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prepare", [lambda r: r, with_losses], ids=["as is", "diverged"])
def test_never_a_nan(name, prepare, results, simulated, tmp_path):
    table = build(name, prepare(results), simulated)
    write(table, tmp_path / "t.tex", tmp_path / "t.csv")
    for path in (tmp_path / "t.tex", tmp_path / "t.csv"):
        text = re.sub(r"\bnone,pretrained\b", "", path.read_text())  # the two key columns
        assert not re.search(r"\b(nan|none|inf|NA)\b", text, re.IGNORECASE)


@pytest.mark.parametrize("name", NAMES)
def test_empty_results_give_an_empty_table(name, results, simulated):
    nothing = {key: frame.iloc[:0] for key, frame in results.items()}
    assert "No condition of this table was run" in to_latex(build(name, nothing, simulated))


def test_heldout_marks_what_is_unreliable(results, simulated):
    unreliable = {n: results[n].assign(unreliable=True) for n in ("conditions", "baselines")}
    table = build("heldout", results | unreliable, simulated)
    rows = [row for panel in table.panels for row in panel.rows if row[3] != "not run"]
    assert len(rows) == sum(map(len, unreliable.values())) and all(row[3] == "–¶" for row in rows)
    assert any(note.startswith("¶") for note in table.notes)


def test_all_diverged_is_said(results, simulated):
    table = build("heldout", with_losses(results), simulated)
    assert line(table, "RNN, float64, 80/20: TBPTT-200", "Adam")[3] == "diverged"


def test_verdicts_in_the_order_of_the_claims(results, simulated):
    turned = results["verdicts"].iloc[::-1]
    own = turned.iloc[:1].assign(registration="own", title="one's own")
    table = build("verdict", {"verdicts": pd.concat([own, turned])}, simulated)
    assert table.data["registration"].tolist() == [
        "adam-equivalence",
        "lars-advantage",
        "immediate-lars-fails",
        "sgd-gap",
        "ratio-gap-ordering",
        "own",
    ]
    rows = table.panels[0].rows
    assert rows[0][1:3] == ("shown in simulation", "−0.30 [−2.70,\u00a02.10]")
    assert rows[1][0].endswith("†") and any("amended" in note for note in table.notes)
    assert any("crosses the threshold" in note for note in table.notes)


def test_long_tables_go_on_in_a_second_float(build_results, simulated):
    many = build_results(n_seeds=2, architectures=("rnn", "lstm"))
    latex = to_latex(build("heldout", many, simulated))
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 1
    assert latex.count(r"\label{") == 1
    notes = r"\ensuremath{^{\mathrm{p}}} the paper's float32 pilot"
    assert latex.count(notes) == 1
    assert latex.index(notes) > latex.rindex(r"\end{tabular}")


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


@pytest.mark.skipif(PDFLATEX is None, reason="pdflatex is not installed")
def test_tables_compile_in_a_minimal_document(results, simulated, tmp_path):
    inputs = []
    for name in NAMES:
        write(build(name, results, simulated), tmp_path / f"{name}.tex", tmp_path / "t.csv")
        inputs.append(rf"\input{{{name}}}\clearpage")
    log = compile_latex(tmp_path, "\n".join(inputs), UNSCALED)  # the usual study's fit as they are
    assert "Overfull" not in log
    assert "Float too large" not in log


def test_a_cause_is_said_once():
    given = {"reason": "no row with a = b; no row with a = b; n = 1. So nothing is known."}
    assert reasons(given) == ("no row with a = b; n = 1.", "So nothing is known.")
    assert reasons({"reason": None}) == reasons({}) == ("", "")
    assert reasons({"reason": "3 diverged"}) == ("3 diverged.", "")


def test_many_comparisons_go_on_in_a_second_float_with_the_first_columns(results, simulated):
    own = dict(simulated.comparisons) | {
        f"own{i}": Comparison(f"own {i}", "rtrl", "trace") for i in range(4)
    }
    estimates = results["estimates"].query("estimand == 'heldout'")
    first = estimates.query("comparison == 'per_step'")
    rows = pd.concat([estimates, *(first.assign(comparison=f"own{i}") for i in range(4))])
    table = build("bci_gap", {"estimates": rows}, replace(simulated, comparisons=own))
    latex = to_latex(table)
    assert len(table.columns) == 12 and latex.count(r"\begin{table}") == 2
    heads = [line for line in latex.splitlines() if line.startswith("Optimizer & n & ")]
    assert [line.count("&") for line in heads] == [6, 6]
    assert "own 3" in heads[1] and "own 3" not in heads[0]


def test_baselines_stand_below_the_learners_of_their_networks(results, simulated):
    table = build("heldout", results, simulated)
    [panel] = [
        p for p in table.panels if "refitted on the adapt part" in p.title and "80/20" in p.title
    ]
    assert [(row[0], row[3]) for row in panel.rows] == [
        ("readout", "31.0 [31.0,\xa031.0]"),
        ("ridge", "24.0 [24.0,\xa024.0]"),
    ]
    learners = [p.title for p in table.panels].index(panel.title)
    assert all("refitted" not in p.title for p in table.panels[:learners] if "80/20" in p.title)
    rows = table.data[table.data["learner"] == "refitted on the adapt part"]
    assert set(rows["recovery_percent"].round(9)) == {24.0, 31.0}
