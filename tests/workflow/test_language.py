"""The study of language models, small, from Python's own text to the page."""

import pandas as pd
import pytest
from running import ROOT, Study, merged

from orla.provenance.tables import read_table

TINY = {"model_type": "mamba", "hidden_size": 8, "num_hidden_layers": 2, "state_size": 4}


LANGUAGE = {
    "models": {"gpt2": None, "rwkv": None, "mamba": {"make": TINY}},
    "pretraining": {"steps": 2, "batch": 2, "window": 8, "vocabulary": 270},
    "tokens": 80,
    "choosing": 20,
    "bin": 10,
    "seeds": 2,
    "adapters": [{"rank": 2, "learners": ["immediate", "tbptt-64"], "optimizers": ["adam"]}],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = Study(tmp_path_factory.mktemp("language"), ROOT / "config/language.yaml")
    study.config = merged(study.config, {"language": LANGUAGE})
    return study.changed()


def test_the_study_runs_to_its_page(study):
    study.made("all")
    results = study.folder / "results/language"
    losses = read_table(results / "language.parquet")
    assert losses.attrs["provenance"]["versions"]["peft"]
    assert len(losses) == 2 * 2 * 2 * 8 and losses["heldout"].notna().sum() == 2 * 2 * 2
    assert {p.parent.name for p in results.rglob("model.safetensors")} == {"pretrained"}
    reports = study.folder / "reports/language"
    table = pd.read_csv(reports / "table_lora.csv")
    assert {"mamba"} == set(table["model"].dropna()) and "paper" not in table
    assert table["what"].str.contains("Qwen2").any()
    norms = pd.read_csv(reports / "table_lora_norms.csv")
    assert set(norms["layer"].str.rpartition(".")[2]) == {"in_proj", "x_proj", "dt_proj"}
    assert "Language models" in (reports / "index.html").read_text()
    assert study.planned() == []


def test_verification_walks_the_models_and_what_is_asked_of_them(study):
    assert study.faults() == []
    study.changed(language={"tokens": 160})
    told = study.faults()
    assert len(told) == 2 and all("(settings.tokens is 80, not 160)" in line for line in told)
    study.changed()
    weights = study.folder / "results/language/language/mamba/pretrained/model.safetensors"
    held = bytearray(weights.read_bytes())
    held[-1] ^= 1
    weights.write_bytes(held)
    told = study.faults()
    assert len(told) == 2 and all("made from another" in line for line in told)
