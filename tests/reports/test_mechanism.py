"""Tables of the past gradient: made-up models in, every cell worked out again by plain loops."""

import re
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_latex import PDFLATEX, UNSCALED, compile_latex
from made_up import CONDITION, settings, with_stable
from report_results import SIMULATED, build
from scipy import stats

from orla import catalogue
from orla.reports.comparison import DIFFERS
from orla.reports.paper import load
from orla.reports.table import write_table
from orla.results import base
from orla.results import conditions as statistic

FULL, STEP = "tbptt-200-200", "rtrl"
PAST = {
    "top1_past": 0.70, "top1_immediate": 0.33, "top1_gap": 0.40, "whh_share": 0.6,
    "turn_cosine": 0.05, "window_cosine": -0.11, "past_cosine": -0.015, "dominance": 14.0,
    "past_wins_share": 0.98, "past_sign_sd": 0.26, "past_sign_sd_coordinates": 0.55,
    "sign_differs_share": 0.35, "condition_number": 4.0, "update_ratio": 6.0,
    "energy1_past": 0.75, "energy1_immediate": 0.32, "energy1_gap": 0.43,
    "sensitivity_condition": 900.0, "whh_share_shuffled": 0.7, "window_cosine_last": -0.02,
    **{f"{name}_{side}{reading}": center
       for reading, center in (("_cumulative", 0.5), ("_last", 0.2))
       for name in ("top1", "energy1") for side in ("past", "immediate", "gap")},
}  # fmt: skip
FIRST = "First singular value"
TABLES = [n for n, t in catalogue.parts("table").items() if t.part.chapter == "mechanism"]
STUDY = replace(
    SIMULATED,
    pretraining={},
    instances={
        "architecture": {
            "lstm-32": {"kind": "lstm", "hidden": 32},
            "rnn-128": {"kind": "rnn", "hidden": 128},
            "rnn-early": {"kind": "rnn", "hidden": 64},
            "steep": {"kind": "rnn", "hidden": 64, "condition": 50},
            "steeper": {"kind": "rnn", "hidden": 64, "condition": 700.0},
        },
        "intervention": {"matched": {"kind": "match-norm", "observer": FULL}},
    },
    tasks={
        "copy-0": {"kind": "ar1", "rho": 0.0, "shifted": 0.0},
        "copy-6": {"kind": "ar1", "rho": 0.6, "shifted": 0.6},
        "copy-near": {"kind": "ar1", "rho": 0.6, "shifted": 0.6, "delay": 7},
    },
)


def models(seeds=5, drawn=0, lacks=(), **condition):
    """One condition's models at the selected rate; every number is another."""
    generator = np.random.default_rng([drawn, *map(ord, repr(sorted(condition.items())))])
    keys = CONDITION | {"learner": FULL, "optimizer": "sgd", "split": "50-50"} | condition
    keys |= {"learning_rate": 1e-3, "diverged": False, "selected": True, "selected_on_test": True}
    keys |= {"edge": False, "unreliable": False, "whh_share_null": 4096 / 6850}
    probed = {name: center for name, center in PAST.items() if name not in lacks}
    rows = [
        {name: center * generator.uniform(0.9, 1.1) for name, center in probed.items()}
        | {"seed": seed, "recovery_heldout_percent": generator.normal(40, 5)}
        | {"recovery_adapt_percent": generator.normal(60, 5)}
        | {"adapt_error": generator.uniform(5e-4, 7e-4)}
        | {"heldout_error": generator.uniform(0.5, 0.6), "validation_error": 0.5}
        for seed in range(seeds)
    ]
    return pd.DataFrame([keys | row for row in rows])


OTHER = models(task="another", optimizer="adam", learner="immediate", lacks=list(PAST))
BOTH = models(), models(learner=STEP)


@pytest.fixture(scope="module")
def table():
    """Build a table from models, through the statistics that it needs."""
    columns = [*statistic.SCORES, *PAST, "whh_share_null", "routed_share"]
    made = {}

    def built(name, *frames, study=STUDY):
        given = made.setdefault(tuple(map(id, frames)), {"kept alive": frames})
        if "models" not in given:
            frame = pd.concat(frames, ignore_index=True)
            more = with_stable(frame.assign(frozen_heldout_error=1.0))
            frame = more.assign(**{name: frame[name] for name in frame})
            given |= dict.fromkeys(("heldout", "models", "lr_curves"), frame)
        for need in catalogue.part("table", name).part.more["needs"]:
            if need not in given:
                given[need] = base.build(need, {"models": given["models"]}, settings(resamples=20))
        return build(name, given, study)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistic, "measure_columns", lambda: columns)
        yield built


def rows_of(document, *first, panel=""):
    """Cells of the only row whose first cells are these, by the columns' heads."""
    heads = [f"{c.group} {c.header}".strip() for c in document.columns]
    rows = [row for one in document.panels if panel in one.title for row in one.rows]
    [row] = [row for row in rows if row[: len(first)] == first]
    return dict(zip(heads, row, strict=True))


def by_hand(values, digits, signed=False, scale=1.0):
    """Mean and half of its t interval, by scipy and a format string."""
    values = np.asarray(values, float) * scale
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    mean = np.mean(values)
    sign = "−" if mean < 0 else "+" if signed else ""
    return f"{sign}{abs(mean):.{digits}f} ± {half:.{digits}f}"


def first_line(cell):
    return cell.split("\n")[0]


PAPERS = {
    "cosine": ["cosine"], "structure": ["top1_past", "top1_immediate", "top1_gap"],
    "intervention": ["spearman"], "isotropy": ["mse"], "decorrelation": ["cosine"],
    "lstm_cross_architecture": ["top1_past", "recovery_percent"], "substrate": ["value"],
    "capacity": ["recovery_full_percent", "recovery_immediate_percent", "gap_pp"],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_number_of_the_paper_stands_there_and_nothing_was_run(name, table):
    document = table(name, OTHER)
    assert not document.ran
    if name == "cadence":
        assert not document.panels
        return
    cells = [cell for panel in document.panels for row in panel.rows for cell in row]
    assert any(first_line(cell) == "not run" for cell in cells)
    assert not document.data["run"].any() and (document.data["compared"] == "–").all()
    # Of other numbers of its text and of ratios of two networks' numbers a table has none.
    needs = {"intervention": "spearman", "substrate": "architecture"}.get(name, "place")
    papers = load().table(catalogue.part("table", name).part.more["paper"])
    wanted = [row[n] for row in papers if needs in row for n in PAPERS[name] if n in row]
    shown = set(document.data["paper"].dropna())
    assert wanted and set(wanted) <= shown
    assert not {value + 0.123 for value in wanted} <= shown


def test_how_networks_were_pretrained_is_said_where_it_differs(table):
    frames = models(), models(architecture="rnn-early")
    assert not any("pretrained" in note for note in table("structure", *frames).notes)
    windows = {"pretraining": {"rnn": 50, "lstm": 7, "rnn-early": 1}, "passes": {"rnn": 1}}
    told = table("structure", *frames, study=replace(STUDY, **windows)).notes[0]
    assert "RNN: pretrained by windows of 50 in one pass" in told and "LSTM" not in told
    assert "(rnn-early): pretrained by windows of 1." in told


def test_a_condition_that_diverged_is_said_to_have(table):
    lost = models(optimizer="adam")
    numbers = [*PAST, "recovery_heldout_percent", "adapt_error", "heldout_error"]
    lost[numbers], lost["diverged"] = np.nan, True
    cells = rows_of(table("structure", models(), lost), "Adam", panel="50/50")
    assert first_line(cells[f"{FIRST} G_past"]) == "diverged" and cells["n"] == "0 (5 div.)"


def test_cadences_are_compared_by_paired_differences_over_common_seeds(table):
    step, window = models(learner=STEP), models(seeds=4, drawn=1)
    slow = models(learner="immediate-200", lacks=["top1_past", "energy1_past"])
    quick = models(learner="immediate", lacks=["top1_past", "energy1_past"])
    document = table("cadence", step, window, slow, quick)
    cells = rows_of(document, "SGD", "g_full")
    for head, column in (("top1", "top1_past"), ("energy", "energy1_past")):
        first = f"{step[column].mean():.2f} / {window[column].mean():.2f}"
        apart = by_hand(window[column] - step[column][:4], 2, signed=True)
        assert cells[head] in (f"{first}\n{apart}", f"{first}\n{apart.removeprefix('+')}")
    assert cells["Null of ratio counts"] == f"{(4096 / 128) ** 0.5:.2f}" == "5.66"
    assert cells["n"] == "4"
    cells = rows_of(document, "SGD", "g_imm")
    assert cells["top1"] == "–"
    apart = (slow["update_ratio"] - quick["update_ratio"]).to_numpy()
    assert cells["‖ΔW_hh‖/‖ΔW_out‖"].endswith(by_hand(apart, 2, signed=True))
    assert document.ran and "Null of ratio norms" not in cells
    heavy = table("cadence", *(frame.assign(weight_ratio=8.25) for frame in (step, window)))
    assert rows_of(heavy, "SGD", "g_full")["Null of ratio norms"].startswith("8.25")
    for network in ("rnn-128", "lstm"):
        other = [models(architecture=network, learner=name) for name in (FULL, STEP)]
        cells = rows_of(table("cadence", *other), "SGD", "g_full")
        assert cells["Null of ratio counts"] == "–"
    assert not table("cadence", step).panels


def test_perfectly_ordered_losses_have_rank_correlation_one(table):
    plain = models(optimizer="lars").assign(top1_past=np.linspace(0.5, 0.9, 5))
    changed = models(optimizer="lars", intervention="project")
    for sign, text in ((1, "+1.000"), (-1, "−1.000")):
        less = plain["recovery_heldout_percent"] - sign * np.arange(5.0)
        document = table("intervention", plain, changed.assign(recovery_heldout_percent=less))
        assert document.panels[0].rows[5][-1].startswith(text)


def test_another_intervention_than_the_papers_has_a_mean_and_no_rank(table):
    plain = models(optimizer="lars")
    changed = models(optimizer="lars", intervention="matched", lacks=list(PAST))
    [panel] = table("intervention", plain, changed).panels
    lost = plain["recovery_heldout_percent"] - changed["recovery_heldout_percent"]
    assert len(panel.rows) == 5 + 1
    assert panel.rows[5] == ("mean", "–", "–", "–", "–", by_hand(lost, 1, signed=True))


def of_pairs(n=3, **condition):
    """Models of some pairs, and their means by pair; all numbers are another pair by pair."""
    frames = [models(seeds=2, drawn=i, pair=f"p{i}", task="many", **condition) for i in range(n)]
    return frames, pd.DataFrame([frame.mean(numeric_only=True) for frame in frames])


def test_what_is_paired_by_network_is_paired_by_pair_over_pairs(table):
    (window, by_window), (step, by_step) = (of_pairs(learner=n) for n in (FULL, STEP))
    cells = rows_of(table("cadence", *window, *step), "SGD", "g_full")
    assert cells["n"] == "3"
    apart = by_window["top1_past"] - by_step["top1_past"]
    shown = cells["top1"].split("\n")[1]
    assert shown.removeprefix("+") == by_hand(apart, 2, signed=True).removeprefix("+")

    plain, means = of_pairs(optimizer="lars")
    changed, less = of_pairs(optimizer="lars", intervention="project")
    [panel] = table("intervention", *plain, *changed).panels
    lost = means["recovery_heldout_percent"] - less["recovery_heldout_percent"]
    assert [row[0] for row in panel.rows[:3]] == ["p0", "p1", "p2"]
    assert [row[-1] for row in panel.rows[:3]] == [f"{one:+.1f}".replace("-", "−") for one in lost]


def test_isotropy_holds_both_learners_to_each_imposed_condition(table):
    of = {"task": "sine", "split": "shift", "optimizer": "adam"}
    bare = ["sensitivity_condition"]
    immediate = models(architecture="steep", learner="immediate", lacks=bare, **of)
    full = models(architecture="steep", learner=STEP, **of)
    own = models(architecture="steeper", learner=STEP, **of)
    document = table("isotropy", immediate, full, own, models(learner=STEP, **of))
    cells = rows_of(document, "50")
    assert cells["Condition number P"] == by_hand(full["sensitivity_condition"], 0)
    imposed = by_hand(full["condition_number"], 1)
    assert cells["Condition number ∂h/∂θ"] == f"{imposed}\n2.0 to 7.0 (agrees)"
    heads = [f"Squared error {STUDY.called('learner', n)}" for n in ("immediate", STEP)]
    for head, frame in zip(heads, (immediate, full), strict=True):
        assert first_line(cells[head]) == by_hand(frame["adapt_error"], 5)
        assert cells[head].split("\n")[1].startswith("0.00060 (")
    apart = immediate["adapt_error"].to_numpy() - full["adapt_error"].to_numpy()
    low, high = stats.t.interval(0.95, 4, apart.mean(), stats.sem(apart))
    assert cells["Alike"] == ("yes\nyes" if low <= 0 <= high else "no\nyes")
    worse = immediate.assign(adapt_error=full["adapt_error"] + 1e-3 + 1e-5 * np.arange(5))
    assert rows_of(table("isotropy", worse, full), "50")["Alike"] == "no\nyes"
    cells = rows_of(document, "700")
    assert cells["Alike"] == "–" and first_line(cells[heads[0]]) == "not run"
    assert [row[0] for row in document.panels[0].rows] == ["5", "50", "500", "700", "5000"]


def test_decorrelation_finds_tasks_by_their_autocorrelation(table):
    of = {"split": "stationary", "optimizer": "adam"}
    white = models(task="copy-0", **of)
    red = models(task="copy-6", architecture="retnet", **of)
    near = models(task="copy-near", **of)
    shifted = models(task="copy-6", split="shift", optimizer="adam")
    document = table("decorrelation", white, red, near, shifted)
    cells = rows_of(document, "0", "RNN")
    head = "at windows' ends"
    assert first_line(cells[head]) == by_hand(white["window_cosine_last"], 3, signed=True)
    assert cells[head].endswith(f"−0.001 ({DIFFERS})")
    # The paper has no number of whole windows.
    assert cells["of whole windows"] == by_hand(white["window_cosine"], 3, signed=True)
    cells = rows_of(document, "0.6", "RetNet")
    assert first_line(cells[head]) == by_hand(red["window_cosine_last"], 3, signed=True)
    for absent in (("0", "RetNet"), ("0.6", "RNN")):
        assert rows_of(document, *absent)[head].startswith("not run\n")
    early = models(task="copy-0", architecture="rnn-early", **of)
    windows = {"rnn": 50, "retnet": 50, "rnn-early": 1}
    study = replace(STUDY, pretraining=windows, passes={"rnn-early": 1})
    document = table("decorrelation", white, red, early, study=study)
    cells = rows_of(document, "0", "RNN", panel="windows of 50")
    assert first_line(cells[head]) == by_hand(white["window_cosine_last"], 3, signed=True)
    cells = rows_of(document, "0", "RNN (rnn-early)", panel="windows of 1 in one pass")
    assert first_line(cells[head]) == by_hand(early["window_cosine_last"], 3, signed=True)
    assert not table("decorrelation", white, red, study=replace(STUDY, tasks={})).ran


@pytest.fixture(scope="module")
def everything():
    """A study that ran every row, with a few rows that the paper has not."""
    learners, networks = (FULL, STEP, "immediate", "immediate-200"), ("rnn", "lstm", "retnet")
    splits = [*product((*networks, "lstm-32"), ("80-20",)), ("rnn", "50-50")]
    streams = (("sine", "shift"), ("copy-0", "stationary"), ("copy-6", "stationary"))
    frames = [
        models(seeds=3, optimizer=optimizer, architecture=network, split=split, learner=learner)
        for optimizer in ("sgd", "lars", "signsgd")
        for network, split in splits
        for learner in learners
    ]
    frames += [
        models(seeds=3, split="stationary"),
        models(optimizer="lars", intervention="project"),
    ]
    return frames + [
        models(seeds=3, task=task, split=split, architecture=network, learner=learner)
        for network in (*networks, "rnn-128", "steep", "steeper")
        for task, split in streams
        for learner in learners[:3]
    ]


@pytest.fixture(scope="module")
def of_everything(table, everything):
    """A table of the study that ran every row, made once."""
    return cache(lambda name: table(name, *everything))


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_and_number_is_the_kept_one(name, of_everything, golden):
    golden(name, of_everything(name))


@pytest.mark.skipif(PDFLATEX is None, reason="pdflatex is not installed")
def test_tables_of_everything_fit_the_page(of_everything, results, simulated, tmp_path):
    """These tables of everything, and all others of a usual study, which fit as they are."""
    inputs = []
    for name in catalogue.parts("table"):
        of = name in TABLES
        document = of_everything(name) if of else build(name, results, simulated)
        assert document.ran or not of, name
        write_table(document, tmp_path / f"{name}.tex", tmp_path / "t.csv")
        assert not re.search(r"\bnan\b", (tmp_path / f"{name}.tex").read_text().lower())
        inputs.append(rf"\input{{{name}}}\clearpage")
    log = compile_latex(tmp_path, "\n".join(inputs), UNSCALED)
    assert "Overfull" not in log and "Float too large" not in log


@pytest.mark.parametrize("name", TABLES)
def test_a_study_of_ones_own_shows_no_table_of_the_paper(name, table):
    document = table(name, *BOTH, study=replace(STUDY, reproduces=False, recordings=()))
    assert document.ran == (name == "cadence")
    if document.ran:
        assert "paper" not in document.caption + "".join(document.notes)
        assert "paper" in "".join(table(name, *BOTH).notes)
