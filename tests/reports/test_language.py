"""Tables, figure and opening of language models, of made-up results."""

import numpy as np
import pandas as pd
import pytest
from drawing import assert_readable, draw, series
from report_results import build

from orla.reports.opening import opening
from orla.reports.study import StudyFacts

STUDY = StudyFacts(name="language")


def language() -> pd.DataFrame:
    """Two models on a stream with one shift and one with three; the second finds prose easier."""
    of_domain = {"large": {"code": 2.5, "prose": 3.5}, "small": {"code": 4.0, "prose": 3.0}}
    gain = {("immediate", "adam"): 0.3, ("immediate", "sgd"): 0.1, ("tbptt-64", "adam"): 0.4}
    rows = [
        {"model": model, "parameters": 1000, "rank": 4, "learner": learner, "optimizer": optimizer}
        | {"rate": 0.001, "edge": optimizer == "sgd", "seed": seed, "stream": stream}
        | {"token": 100 * i, "segment": i // 4, "domain": domain, "frozen": losses[domain]}
        | {"loss": losses[domain] - share * (1 - 0.5**i) - 0.01 * seed}
        | {"heldout": losses[domain] - share / 2 if i > 5 else np.nan}
        | {"domain_loss": losses[domain], "domain_error": 0.01}
        for model, losses in of_domain.items()
        for (learner, optimizer), share in gain.items()
        for stream, domains in enumerate((["code", "prose"], ["code", "prose"] * 2))
        for seed in range(3)
        for i in range(4 * len(domains))
        for domain in [domains[i // 4]]
    ]
    return pd.DataFrame(rows)


def norms() -> pd.DataFrame:
    first = language().drop_duplicates(["model", "learner", "optimizer", "stream", "seed"])
    layers = pd.DataFrame({"layer": ["0.in", "1.in", "1.out"], "norm": [0.1, 2.0, 0.5]})
    return first.drop(columns=["frozen", "loss", "heldout"]).merge(layers, how="cross")


RESULTS = {"language": language(), "language_norms": norms()}


def test_both_denominators_stand_beside_the_papers_rows():
    table = build("lora", RESULTS, STUDY)
    large, small, paper = table.panels
    assert "1,000 weights, rank 4" in large.title and len(large.rows) == len(small.rows) == 3
    [adam] = (row for row in large.rows if row[0].startswith("immediate (d=0), Adam"))
    assert adam[6].startswith("75.") and adam[8].startswith("75.0\n[75.0")  # 0.3 of 0.4 nats
    assert adam[7].startswith("15.0\n")  # half of 0.3 of 1.0 nats
    assert all(row[5] == row[7] == "–" for row in small.rows)  # its shift adds no loss
    assert [row[1].endswith("*") for row in large.rows] == ["SGD" in row[0] for row in large.rows]
    assert len(paper.rows) == 7 and any("133.5" in row[6] for row in paper.rows)
    assert any("15 % with Adam and 26 % with Adafactor" in note for note in table.notes)
    assert table.data["proxy"].max() == pytest.approx(136.8)


def test_new_domain_segments_show_recovery_and_norm_panels_their_ratio():
    segments = build("lora_segments", RESULTS, STUDY)
    assert [row[0] for row in segments.panels[0].rows] == ["1 code", "2 prose", "3 code", "4 prose"]
    recovered = [row[4] != "–" for row in segments.panels[0].rows]
    assert recovered == [False, True, False, True]
    found = build("lora_norms", RESULTS, STUDY)
    assert [panel.title for panel in found.panels] == [
        f"{model}, rank 4: largest over smallest 20.0" for model in ("large", "small")
    ]
    assert "51.8" in found.notes[0]


def test_the_figure_has_every_series_and_the_opening_quotes_recoveries():
    figure, caption = draw("lora_losses", RESULTS, STUDY)
    assert_readable(figure)
    assert series(figure) == ["immediate (d=0), Adam", "immediate (d=0), SGD", "TBPTT-64, Adam"]
    assert "from code to prose" in caption.caption and "n = 3" in caption.caption
    told = opening(RESULTS, [], STUDY)
    assert told.title.endswith("on language models?") and len(told.sentences) == 2
    assert "undo 30.1 % [27.6, 32.6] of it, TBPTT-64 39.8 %" in told.sentences[0]
    assert "held out, 15.0 % [15.0, 15.0] and 20.0 %" in told.sentences[0]
    assert told.sentences[1] == (
        "small, rank 4: the shift adds −1.00 nats to the loss, not clearly more than nothing that "
        "could be undone (n = 3)."
    )


def test_models_that_no_shift_harms_have_a_table_without_recoveries():
    small = RESULTS["language"].query("model == 'small'")
    data = build("lora", {"language": small}, STUDY).data
    assert data.query("model == 'small'")["before"].isna().all()
