"""Learners, networks and decays: what the table and figures of the chapter show."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, intervals, series
from matplotlib.colors import to_hex
from report_results import KEYS, SIMULATED, build

from orla import catalogue
from orla.reports import numbers, style
from orla.reports.alignment import against_exact
from orla.reports.paper import load
from orla.reports.table import to_latex
from orla.study.declared import declarations

CONDITION = dict(zip(KEYS, ("sine", "", "rnn", "immediate", "adam"), strict=False))
CONDITION |= {"precision": "float64", "split": "shift", "intervention": "none"}
CONDITION |= {"start": "pretrained"}
DECAYS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
STUDY = replace(
    SIMULATED,
    instances={
        "architecture": {
            "rnn": {"kind": "rnn", "hidden": 32},
            "wide": {"kind": "rnn", "hidden": 256},
            "gated": {"kind": "lstm", "hidden": 32},
        },
        # Names whose digits say nothing of the decay.
        "learner": {f"t{i}": {"kind": "trace", "decay": d} for i, d in enumerate(DECAYS)}
        | {"slow-exact": {"kind": "rtrl", "block": 9}},
    },
)


def learners(observers, **condition):
    """Rows of `learners`: {observer: (cosine, bytes)}."""
    rows = [
        CONDITION
        | condition
        | {"observer": name, "against": "rtrl", "n_seeds": 5, "n_diverged": 0, "cosine": cosine}
        | {"cosine_t95_low": cosine - 0.03, "cosine_t95_high": cosine + 0.02}
        | {"positive_share": 0.875, "norm_ratio": 1.5 + cosine, "norm_ratio_t95_low": 1.0}
        | {"norm_ratio_t95_high": 2.0, "carried_bytes": carried}
        for name, (cosine, carried) in observers.items()
    ]
    return pd.DataFrame(rows)


USUAL = {"t1": (0.7, 55_000), "rtrl": (1.0, 3_440_640), "immediate": (0.9, 0)}


def cells(table, first):
    return next(row for panel in table.panels for row in panel.rows if row[0].startswith(first))


def test_a_row_a_learner_in_declared_order_with_what_it_declares():
    both = [learners(USUAL), learners({"t1": (0.5, 7), "rtrl": (1.0, 8)}, architecture="gated")]
    table = build("learners", {"learners": pd.concat(both, ignore_index=True)}, STUDY)
    assert [panel.title for panel in table.panels] == [
        "RNN, hidden 32, float64, shift: immediate, per step: Adam",
        "LSTM, hidden 32, float64, shift: immediate, per step: Adam",
    ]
    firsts = [row[0] for row in table.panels[0].rows]
    assert firsts == ["immediate, per step", "exact RTRL, per step", "trace, decay 0.25, per step"]
    assert cells(table, "trace")[1:2] + cells(table, "trace")[4:] == (
        "biased", "55 kB", "0.700 [0.670,\u00a00.720]", "88 %", "2.20", "5",
    )  # fmt: skip
    assert cells(table, "exact")[1] == "exact" and cells(table, "exact")[4] == "3.4 MB"
    assert cells(table, "immediate")[4] == "0 B"
    assert "that of exact RTRL, per step" in table.caption
    data = table.data.set_index(["architecture", "observer"])
    assert data.loc[("rnn", "t1"), "carried_bytes"] == 55_000
    assert data.loc[("gated", "t1"), "exactness"] == "biased"


def test_learners_stand_in_the_order_they_declare_whatever_their_names():
    named = {"learner": {"a-trace": {"kind": "trace", "decay": 0.25}}}
    study = replace(STUDY, instances=STUDY.instances | named)
    points = {"a-trace": (0.7, 55_000), "rtrl": (1.0, 3_440_640), "immediate": (0.9, 0)}
    result = {"learners": learners(points)}
    wanted = ["immediate, per step", "exact RTRL, per step", "trace, decay 0.25, per step"]
    assert [row[0] for row in build("learners", result, study).panels[0].rows] == wanted
    figure, _ = draw("learners", result, study)
    assert series(figure) == wanted


def test_declared_costs_stand_in_the_table_once_there_are_such(monkeypatch):
    known = declarations()
    part = known["learner"]["trace"]
    more = part["more"] | {"time": "O(n^2)", "memory": "steps 1: O(n^2), or O(n^3) elsewhere"}
    costly = known | {"learner": known["learner"] | {"trace": part | {"more": more}}}
    monkeypatch.setattr("orla.reports.words._declared", lambda plugins: costly)
    table = build("learners", {"learners": learners(USUAL)}, STUDY)
    assert cells(table, "trace")[2:4] == ("O(n²)", "O(n²)‡")
    assert any(note.startswith("‡") for note in table.notes)
    assert r"O(n\ensuremath{^{2}})" in to_latex(table)
    missing = {name: p["more"].get("time") for name, p in known["learner"].items()}
    if missing["rtrl"] is None:
        assert cells(table, "exact")[2:4] == ("–", "–")


def test_only_an_exact_reference_counts_and_the_first_of_several():
    other = learners(USUAL).assign(against="t1", cosine=0.123)
    again = learners(USUAL).assign(against="slow-exact", cosine=0.456)
    both = pd.concat([other, again, learners(USUAL)], ignore_index=True)
    kept = against_exact(both, STUDY)
    assert set(kept["against"]) == {"rtrl"} and len(kept) == 3
    kept = against_exact(pd.concat([other, again], ignore_index=True), STUDY)
    assert set(kept["against"]) == {"slow-exact"}
    assert against_exact(other, STUDY).empty
    assert "was run" in to_latex(build("learners", {"learners": other}, STUDY))
    assert draw("learners", {"learners": other}, STUDY)[1] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1536, "1.5 kB"), (9_949, "9.9 kB"), (9_960, "10 kB"),
        (999_600, "1.0 MB"), (12_900_000_000, "12.9 GB"), (np.nan, "–"),
    ],
)  # fmt: skip
def test_bytes_in_words(value, text):
    assert numbers.memory(value) == text


def test_exponents_are_raised():
    assert numbers.powers("O(n^2 p^-12)") == "O(n² p⁻¹²)" and numbers.powers("O(n)") == "O(n)"


def test_cosines_stand_at_the_bytes_a_panel_a_network():
    frames = [learners(USUAL), learners({"t1": (-0.4, 900)}, architecture="gated")]
    # A condition with fewer networks is left out.
    frames.append(learners({"t2": (0.2, 10)}, split="stationary"))
    result = {"learners": pd.concat(frames, ignore_index=True)}
    figure, caption = draw("learners", result, STUDY)
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("RNN, hidden 32", "LSTM, hidden 32")
    found = {(x[0], y[0]): ends[0] for x, y, ends in intervals(left)}
    assert set(found) == {(55_000.0, 0.7), (3_440_640.0, 1.0), (0.0, 0.9)}
    np.testing.assert_allclose(found[55_000.0, 0.7], (0.67, 0.72))
    assert [(x[0], y[0]) for x, y, _ in intervals(right)] == [(900.0, -0.4)]
    for axes in (left, right):
        low, high = axes.get_xlim()
        assert low < 0 and high > 3_440_640 and axes.get_ylim()[0] < -0.43
        spread = axes.transData.transform([(900.0, 0), (55_000.0, 0), (3_440_640.0, 0)])[:, 0]
        assert np.diff(spread)[0] == pytest.approx(np.diff(spread)[1], rel=0.02)  # logarithmic
    assert series(figure) == [STUDY.called("learner", name) for name in ("immediate", "rtrl", "t1")]
    assert "trace, decay 0.25, per step: 0.70 at 55 kB" in caption.alt
    assert "0.20 at 10 B" not in caption.alt
    looks = STUDY.marks("learner", ["immediate", "rtrl", "t1"])
    drawn = {(b.lines[0].get_marker(), to_hex(b.lines[0].get_color())) for b in left.containers}
    assert drawn == {(look.marker, to_hex(look.color)) for look in looks.values()}


def test_a_learner_without_a_cosine_is_no_point_and_in_no_legend():
    figure, _ = draw("learners", {"learners": learners(USUAL | {"t2": (np.nan, 0)})}, STUDY)
    assert len(figure.axes[0].containers) == 3 == len(series(figure))


@pytest.mark.parametrize("networks, observed", [(1, 13), (4, 1), (11, 13)])
def test_many_networks_and_learners_are_readable(networks, observed):
    named = {f"net{i}": {"kind": "lstm", "hidden": 8 + i} for i in range(networks)}
    traces = {f"t{i}": {"kind": "trace", "decay": i / 20} for i in range(observed)}
    study = replace(STUDY, instances={"architecture": named, "learner": traces})
    points = {name: (0.1 + i / 20, 100 * 4**i) for i, name in enumerate(traces)}
    frame = pd.concat([learners(points, architecture=name) for name in named], ignore_index=True)
    figure, _ = draw("learners", {"learners": frame}, study)
    assert_readable(figure)
    assert len(figure.axes) == networks
    assert len(set(series(figure))) == observed


def measured(networks, task="sine", seeds=5, **columns):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        [
            CONDITION
            | {"task": task, "architecture": network, "seed": seed, "selected": True}
            | {name: center * rng.uniform(0.8, 1.2) for name, center in columns.items()}
            for network in networks
            for seed in range(seeds)
        ]
    )


def test_ratios_and_condition_numbers_are_the_seeds_with_the_papers_beside():
    models = measured(["rnn", "gated"], gradient_ratio=20.0, condition_number=300.0)
    other = measured(["wide"], gradient_ratio=7.0).assign(split="stationary")
    figure, caption = draw("grad_ratio", {"heldout": pd.concat([models, other])}, STUDY)
    ratio, condition = figure.axes
    for axes, column in ((ratio, "gradient_ratio"), (condition, "condition_number")):
        seen = [collection.get_offsets() for collection in axes.collections]
        for y, network in enumerate(("rnn", "gated")):
            own = models.loc[models["architecture"] == network, column]
            np.testing.assert_allclose(np.asarray(seen[y])[:, 0], own)
            assert set(np.asarray(seen[y])[:, 1]) == {y}
            [medians] = [line for line in axes.lines if list(line.get_ydata()) == [0, 1]]
            assert medians.get_xdata()[y] == own.median()
        assert axes.get_xscale() == "log"
    labels = [label.get_text() for label in ratio.get_yticklabels()]
    assert labels == ["RNN, hidden 32", "LSTM, hidden 32"]
    paper = {row["architecture"]: row for row in load().table("gradient_ratio")}
    [lstm] = [line for line in ratio.lines if line.get_marker() == "D"]
    assert list(lstm.get_xdata()) == [paper["lstm"]["gradient_ratio"]]
    assert lstm.get_ydata()[0] > 1
    [rnn] = [line for line in condition.lines if to_hex(line.get_color()) == style.RING]
    ends = ("condition_number_from", "condition_number_to")
    assert list(rnn.get_xdata()) == [paper["rnn"][end] for end in ends] == [2.5, 7.0]
    [band] = condition.patches
    assert band.get_x() + band.get_width() == 10
    assert "Figure 4" in caption.caption and "n = 5" in caption.caption
    assert f"RNN, hidden 32: ratio {models['gradient_ratio'][:5].median():.1f} and " in caption.alt
    assert_readable(figure)


def test_the_papers_numbers_are_of_its_task_alone():
    models = measured(["rnn", "gated"], task="bytes", gradient_ratio=20.0, condition_number=3.0)
    figure, caption = draw("grad_ratio", {"heldout": models}, STUDY)
    assert not [line for axes in figure.axes for line in axes.lines if line.get_marker() == "D"]
    assert not [patch for axes in figure.axes for patch in axes.patches]
    assert "paper" not in caption.caption + caption.alt


def test_a_measure_that_was_not_taken_is_said():
    models = measured(["rnn"], gradient_ratio=20.0)
    for frame in (models, models.assign(condition_number=np.nan)):
        figure, caption = draw("grad_ratio", {"heldout": frame}, STUDY)
        said = [[text.get_text() for text in axes.texts] for axes in figure.axes]
        assert said == [[], ["not run"]] and "nan" not in caption.alt
    assert draw("grad_ratio", {"heldout": measured(["rnn"])}, STUDY)[1] is None


def decaying(networks=("rnn", "wide"), rate=1e-3, **condition):
    """Models of immediate and the traces at two rates; recovery falls with the decay."""
    decays = {"immediate": 0.0} | {f"t{i}": decay for i, decay in enumerate(DECAYS)}
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        [
            CONDITION
            | condition
            | {"architecture": network, "learner": learner, "seed": seed, "learning_rate": at}
            | {"diverged": False, "recovery_heldout_percent": 90 - 80 * decay + rng.normal(0, 4)}
            for network in networks
            for learner, decay in decays.items()
            for seed in range(5)
            for at in (rate, 3e-4)
        ]
    )


def test_recovery_stands_at_the_declared_decay_a_line_a_size():
    models = decaying()
    lost = (models["learner"] == "t3") & (models["seed"] == 1) & (models["learning_rate"] > 5e-4)
    models.loc[lost, ["recovery_heldout_percent", "diverged"]] = np.nan, True
    figure, caption = draw("decay_sweep", {"lr_curves": models}, STUDY)
    [axes] = figure.axes
    decays = [0.0, *DECAYS]
    sizes = series(figure)
    assert sizes[:2] == ["RNN, hidden 32", "RNN, hidden 256"]
    for network, (x, y, ends) in zip(("rnn", "wide"), intervals(axes), strict=True):
        np.testing.assert_allclose(x, decays, atol=0.01)
        own = models[(models["architecture"] == network) & (models["learning_rate"] == 1e-3)]
        for at, learner in enumerate(("immediate", "t0", "t1", "t2", "t3", "t4", "t5")):
            values = own.loc[own["learner"] == learner, "recovery_heldout_percent"].dropna()
            assert y[at] == pytest.approx(np.mean(values))
            assert np.diff(ends[at]) / 2 == pytest.approx(np.std(values, ddof=1))
    [theirs] = [line for line in axes.lines if line.get_marker() == "D"]
    assert (list(theirs.get_xdata()), list(theirs.get_ydata())) == ([0.95], [0])
    [band] = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (0, 0.5)
    assert "rate of 10⁻³" in caption.caption and "2 of 70 models diverged" in caption.caption
    assert "Figure 3" in caption.caption
    assert "RNN, hidden 32: " in caption.alt and "% at 0.95" in caption.alt
    assert_readable(figure)
    assert figure.get_figwidth() == style.ONE_COLUMN_IN


@pytest.mark.parametrize(("worst", "scale"), [(-900.0, "linear"), (-30000.0, "symlog")])
def test_a_ruined_network_does_not_press_the_others_flat(worst, scale):
    models = decaying()
    last = (models["architecture"] == "wide") & (models["learner"] == "t5")
    models.loc[last, "recovery_heldout_percent"] = worst
    figure, caption = draw("decay_sweep", {"lr_curves": models}, STUDY)
    assert figure.axes[0].get_yscale() == scale
    assert ("Beyond 100 % the axis is logarithmic" in caption.caption) == (scale == "symlog")
    assert_readable(figure)


def test_a_name_that_looks_like_a_decay_is_none():
    """The negative control: a learner of another kind, however it is called."""
    models = decaying()
    models["learner"] = models["learner"].replace("t5", "trace-095")
    figure, _ = draw("decay_sweep", {"lr_curves": models}, STUDY)
    assert max(x.max() for x, _, _ in intervals(figure.axes[0])) < 0.92
    named = {"trace-095": {"kind": "trace", "decay": 0.3}}
    study = replace(STUDY, instances=STUDY.instances | {"learner": named})
    figure, _ = draw("decay_sweep", {"lr_curves": models}, study)
    np.testing.assert_allclose(next(intervals(figure.axes[0]))[0], [0, 0.3], atol=0.01)


@pytest.mark.parametrize(
    "models", [decaying(rate=1e-2), decaying().query("learner == 'immediate'")]
)
def test_another_rate_and_no_trace_are_not_run(models):
    assert draw("decay_sweep", {"lr_curves": models}, STUDY)[1] is None


def test_the_papers_decays_are_of_its_task_optimizer_and_network():
    for frame in (decaying(task="waves"), decaying(optimizer="sgd"), decaying(["gated"])):
        figure, caption = draw("decay_sweep", {"lr_curves": frame}, STUDY)
        assert figure.axes[0].containers and not figure.axes[0].patches
        assert "paper" not in caption.caption
    # The sizes of one kind of network stand together, another kind apart.
    frame = pd.concat([decaying(["gated"]), decaying()], ignore_index=True)
    figure, _ = draw("decay_sweep", {"lr_curves": frame}, STUDY)
    assert len(figure.axes[0].containers) == 2


def test_the_chapter_holds_all_of_them():
    wanted = {"table": {"learners"}, "figure": {"learners", "grad_ratio", "decay_sweep"}}
    for kind, names in wanted.items():
        parts = catalogue.parts(kind).items()
        assert names <= {name for name, part in parts if part.part.chapter == "breadth"}
