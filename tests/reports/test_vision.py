"""The table and the figure of test-time adaptation in vision, of made-up results."""

import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, intervals
from report_results import build

from orla.reports.chapters import chapter
from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.tables.others import tent_optimizer_sentences
from orla.statistics.means import moments

STUDY = StudyFacts(
    name="vision", instances={"optimizer": {"adam-beta2": {"kind": "adam", "beta1": 0.0}}}
)
OPTIMIZERS = ["SGD", "Adam", "Adam, β1 0", "Adam, β1 only"]
CORRUPTIONS = ["snow", "fog", "frost"]
# Errors (%) of the corruptions at seed 0; at seed 1 they are 2 more.
ERRORS = {
    ("none", "-"): (49, 39, 59),
    ("statistics", "-"): (39, 35, 44),
    ("bn", "sgd"): (37, 33, 44),
    ("bn", "adam"): (35, 33, 40),
    ("lora", "sgd"): (36, 30, 39),
    ("lora", "adam"): (29, 29, 32),
    ("lora", "adam-beta1"): (31, 29, 34),
    ("lora", "adam-beta2"): (29, 27, 32),
}


@pytest.fixture(scope="module")
def results():
    rows = []
    for (adapts, optimizer), errors in ERRORS.items():
        row = {"adapts": adapts, "optimizer": optimizer, "edge": optimizer == "adam-beta1"}
        row |= {"learning_rate": np.nan if optimizer == "-" else 0.001, "tuning": False}
        row |= {"layer": "", "measure": "error"}
        clean = {"clean": 9} if optimizer == "-" else {}
        for seed in (0, 1):
            for name, error in (clean | dict(zip(CORRUPTIONS, errors, strict=True))).items():
                rows.append(row | {"corruption": name, "seed": seed, "value": error + 2 * seed})
        if optimizer != "-":
            # What is tuned on counts for nothing.
            rows.append(row | {"tuning": True, "corruption": "spatter", "seed": 0, "value": 0.0})
            norms = {"conv1": 6.0, "block1.layer.0.conv1": 2.0, "block1.layer.0.convShortcut": 1.5}
            row |= {"measure": "gradient_norm", "corruption": "fog", "seed": 0}
            rows += [row | {"layer": name, "value": norm} for name, norm in norms.items()]
    return {"tta": pd.DataFrame(rows)}


def test_recoveries_are_shares_of_the_mean_cost(results):
    table = build("tta", results, STUDY)
    data = table.data.set_index(["adapts", "optimizer"])
    # Not adapted 50 % on average, 10 % without corruption.
    for way, errors in ERRORS.items():
        ours = 100 * (np.array(ERRORS["none", "-"]) - errors) / 40
        assert data.loc[way, "error"] == pytest.approx(np.mean(errors) + 1)
        assert data.loc[way, "recovery"] == pytest.approx(ours.mean())
        ends = data.loc[way, ["recovery_low", "recovery_high"]].to_list()
        assert ends == pytest.approx(moments(ours).interval())
    gap = (np.array(ERRORS["lora", "sgd"]) - ERRORS["lora", "adam"]) / 0.4
    assert data.loc[("lora", "adam"), "over_sgd"] == pytest.approx(gap.mean())
    ends = data.loc[("lora", "adam"), ["over_sgd_low", "over_sgd_high"]].to_list()
    assert ends == pytest.approx(moments(gap).interval())
    assert data["over_sgd"].isna().sum() == 4


def test_a_study_of_no_optimizer_of_the_papers_has_blanks_in_their_place(results):
    ours = results["tta"].replace({"optimizer": {"sgd": "mine"}})
    ours = ours[ours["optimizer"].isin(["-", "mine"])]
    data = build("tta", {"tta": ours}, STUDY).data
    assert data["papers_recovery"].dtype == float and data["papers_recovery"].isna().all()


def test_the_papers_numbers_stand_beside_ours(results):
    table = build("tta", results, STUDY)
    data = table.data.set_index(["adapts", "optimizer"])
    recovery, gap = data["papers_recovery"].dropna(), data["papers_over_sgd"].dropna()
    assert recovery.droplevel(0).to_dict() == {
        "sgd": 43.5, "adam": 51.1, "adam-beta1": 46.0, "adam-beta2": 52.3,
    }  # fmt: skip
    assert gap.to_dict() == {("bn", "adam"): 2.6, ("lora", "adam"): 7.6}
    assert [panel.title for panel in table.panels] == ["No gradient", "Batch normalization", "LoRA"]
    notes = " ".join(table.notes)
    assert "10.0 % are wrong; 2 seeds" in notes
    assert "edge of the grid: Adam, β1 only (LoRA)" in notes
    assert "6.000 in the shallowest, 2.000 in the deepest of 3 layers, 3.0 to 1" in notes
    assert "largest over smallest 4.0" in notes
    assert [row[0] for row in table.panels[-1].rows] == OPTIMIZERS


def test_a_study_of_vision_alone_asks_what_its_chapter_does(results):
    nothing = {"power": pd.DataFrame(), "verdicts": pd.DataFrame()}
    opening = Report(results | nothing, STUDY).opening
    assert opening.background == {"Asked": chapter("vision").sentence}
    batch, lora = opening.sentences
    assert batch.startswith("With batch normalization adapted, Adam recovers neither clearly more")
    assert lora.endswith(
        "than SGD of what corruptions cost (+12.5 [−9.0,\u00a034.0] pp over 3 corruptions)."
    )
    for factor, word in ((1, "more"), (-1, "less")):
        clear = results["tta"].copy()
        better = (clear["adapts"] == "bn") & (clear["optimizer"] == "adam") & ~clear["tuning"]
        clear.loc[better & (clear["measure"] == "error"), "value"] -= factor * 20
        assert f"Adam recovers {word} than SGD" in tent_optimizer_sentences(clear, STUDY)[0]
    assert tent_optimizer_sentences(None, STUDY) == []


def test_the_figure_has_optimizers_and_corruptions(results):
    figure, caption = draw("tta", results, STUDY)
    assert_readable(figure)
    batch, lora = figure.axes
    labels = [text.get_text() for text in batch.get_yticklabels()]
    assert labels == OPTIMIZERS
    shown = [len(each.get_offsets()) for each in lora.collections if len(each.get_offsets()) > 1]
    assert shown == [len(CORRUPTIONS)] * 4
    [low, high] = next(intervals(lora))[2][0]
    ours = 100 * (np.array(ERRORS["none", "-"]) - ERRORS["lora", "sgd"]) / 40
    assert [low, high] == pytest.approx(moments(ours).interval())
    assert "LoRA" in batch.get_title() + lora.get_title() and "SGD" in caption.alt
