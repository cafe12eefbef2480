"""Learners, networks and decays: what the table and figures of the chapter show."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, intervals, series
from matplotlib.colors import to_hex
from report_results import KEYS, SIMULATED, build

from orla.reports import style
from orla.reports.paper import load
from orla.reports.table import to_latex
from orla.reports.tables.breadth import rows_against_exact

CONDITION = ("sine", "", "rnn", "immediate", "adam", "float64", "shift", "none", "pretrained")
CONDITION = dict(zip(KEYS, CONDITION, strict=True))
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
    common = {"against": "rtrl", "n_seeds": 5, "n_diverged": 0, "positive_share": 0.875}
    rows = [
        {"observer": name, "cosine": cosine, "norm_ratio": 1.5 + cosine, "carried_bytes": carried}
        | {"cosine_t95_low": cosine - 0.03, "cosine_t95_high": cosine + 0.02}
        for name, (cosine, carried) in observers.items()
    ]
    return pd.DataFrame(rows).assign(**CONDITION, **common).assign(**condition)


USUAL = {"t1": (0.7, 55_000), "rtrl": (1.0, 3_440_640), "immediate": (0.9, 0)}


def test_a_row_a_learner_in_declared_order_with_what_it_declares():
    both = [learners(USUAL), learners({"t1": (0.5, 7), "rtrl": (1.0, 8)}, architecture="gated")]
    table = build("learners", {"learners": pd.concat(both, ignore_index=True)}, STUDY)
    condition = "hidden 32, float64, shift: immediate, per step: Adam"
    assert [p.title for p in table.panels] == [f"RNN, {condition}", f"LSTM, {condition}"]
    immediate, exact, trace = table.panels[0].rows
    assert immediate[0] == "immediate, per step" and immediate[4] == "0 B"
    assert exact[:2] == ("exact RTRL, per step", "exact") and exact[4] == "3.4 MB"
    assert trace[:2] == ("trace, decay 0.25, per step", "biased")
    assert trace[4:] == ("55 kB", "0.700 [0.670,\u00a00.720]", "88 %", "2.20", "5")
    assert "that of exact RTRL, per step" in table.caption
    data = table.data.set_index(["architecture", "observer"])
    assert data.loc[("rnn", "t1"), "carried_bytes"] == 55_000
    assert data.loc[("gated", "t1"), "exactness"] == "biased"


def test_only_an_exact_reference_counts_and_the_first_of_several():
    other = learners(USUAL).assign(against="t1", cosine=0.123)
    again = learners(USUAL).assign(against="slow-exact", cosine=0.456)
    both = pd.concat([other, again, learners(USUAL)], ignore_index=True)
    kept = rows_against_exact(both, STUDY)
    assert set(kept["against"]) == {"rtrl"} and len(kept) == 3
    kept = rows_against_exact(pd.concat([other, again], ignore_index=True), STUDY)
    assert set(kept["against"]) == {"slow-exact"}
    assert rows_against_exact(other, STUDY).empty
    assert "was run" in to_latex(build("learners", {"learners": other}, STUDY))
    assert draw("learners", {"learners": other}, STUDY)[1] is None


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
    assert "trace, decay 0.25, per step: 0.70" in caption.alt
    assert "0.20 at 10 B" not in caption.alt
    looks = style.marks("learner", ["immediate", "rtrl", "t1"], STUDY)
    drawn = {(b.lines[0].get_marker(), to_hex(b.lines[0].get_color())) for b in left.containers}
    assert drawn == {(look.marker, to_hex(look.color)) for look in looks.values()}


def measured(networks, **columns):
    rng = np.random.default_rng(1)
    rows = [
        CONDITION
        | {"architecture": network, "seed": seed, "selected": True}
        | {name: center * rng.uniform(0.8, 1.2) for name, center in columns.items()}
        for network in networks
        for seed in range(5)
    ]
    return pd.DataFrame(rows)


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
    assert f"RNN, hidden 32: ratio {models['gradient_ratio'][:5].min():.2f} to " in caption.alt
    assert_readable(figure)


def decaying(networks=("rnn", "wide"), **condition):
    """Models of immediate and the traces at two rates; recovery falls with the decay."""
    decays = {"immediate": 0.0} | {f"t{i}": decay for i, decay in enumerate(DECAYS)}
    rng = np.random.default_rng(2)
    rows = [
        {"architecture": network, "learner": learner, "seed": seed, "learning_rate": rate}
        | {"recovery_heldout_percent": 90 - 80 * decay + rng.normal(0, 4)}
        for network in networks
        for learner, decay in decays.items()
        for seed in range(5)
        for rate in (1e-3, 3e-4)
    ]
    return pd.DataFrame([CONDITION | condition | {"diverged": False} | row for row in rows])


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
    assert "RNN, hidden 32: " in caption.alt
    assert_readable(figure)
    assert figure.get_figwidth() == style.ONE_COLUMN_IN


def test_the_papers_decays_are_of_its_task_optimizer_and_network():
    others = (
        decaying(["rnn"], task="waves"),
        decaying(["rnn"], optimizer="sgd"),
        decaying(["gated"]),
    )
    for frame in others:
        figure, caption = draw("decay_sweep", {"lr_curves": frame}, STUDY)
        assert figure.axes[0].containers and not figure.axes[0].patches
        assert "paper" not in caption.caption
    # The sizes of one kind of network stand together, another kind apart.
    frame = pd.concat([decaying(["gated"]), decaying()], ignore_index=True)
    figure, _ = draw("decay_sweep", {"lr_curves": frame}, STUDY)
    assert len(figure.axes[0].containers) == 2
