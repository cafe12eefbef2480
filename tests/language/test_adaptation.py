"""Online adaptation: updates, what is held out, rates, and rooms."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
import torch.nn.functional as F
from made_language import tiny

from orla import catalogue, language
from orla.errors import OrlaError
from orla.language import adaptation, models, texts
from orla.language.adaptation import OPTIMIZERS, Group, adapt, read
from orla.language.steps import FAMILIES
from orla.results.language import recoveries, segments

TOKENS = torch.randint(0, 20, (3, 13), generator=torch.Generator().manual_seed(2))
ROOM = {"models": 3, "tokens": 1000, "most_hours": 1}


def started(seeds, dtype=torch.float64):
    steps = FAMILIES["mamba"](tiny("mamba", dtype))
    return steps, models.adapted(steps, 2, seeds)


@pytest.mark.parametrize(("learner", "window"), [("immediate", 1), ("tbptt-64", 12)])
def test_a_batch_is_each_optimizer_alone_with_the_state_held_fixed(learner, window):
    steps, weights = started([0, 1, 2])
    rates = {"adam": 0.01, "adafactor": 0.02, "sgd": 0.5}
    groups = [Group(name, [rates[name]]) for name in OPTIMIZERS]
    batch = adapt(steps, weights, groups, TOKENS, learner)
    for row, name in enumerate(OPTIMIZERS):
        alone, own = started([row])
        optimizer = catalogue.make("optimizer", name)
        rate, losses = torch.tensor(rates[name], dtype=torch.float64), []
        memory = optimizer.init({n: w[0].detach() for n, w in own.items()})
        state = alone.start(1)
        pieces = zip(*(t.split(window, 1) for t in (TOKENS[:, :-1], TOKENS[:, 1:])), strict=True)
        for given, target in pieces:
            held = {n: s.detach() for n, s in state.items()}
            logits, state = alone(given[row : row + 1], held)
            loss = F.cross_entropy(logits[0], target[row], reduction="none")
            loss.mean().backward()
            losses += loss.tolist()
            gradients = {n: w.grad[0] for n, w in own.items()}
            values = {n: w[0].detach() for n, w in own.items()}
            updates, memory = optimizer.update(gradients, memory, values, rate)
            for n, w in own.items():
                w.data[0] += updates[n]
                w.grad = None
        assert np.allclose(batch.loss[row], losses, atol=1e-10)
        for n, w in weights.items():
            assert torch.allclose(w[row], own[n][0], atol=1e-10)


def test_held_out_is_read_by_the_weights_before_it():
    steps, weights = started([0, 1])
    group = [Group("adam", [0.03, 0.03])]
    found = adapt(steps, weights, group, TOKENS[:2], "immediate", freeze=8)
    assert np.isnan(found.heldout[:, :8]).all()
    steps, weights = started([0, 1])
    adapt(steps, weights, group, TOKENS[:2, :9], "immediate")
    expected = read(steps, TOKENS[:2])
    # The state before the part is that of weights on their way, so only its influence differs.
    assert np.abs(found.heldout[:, 8:] - expected[:, 8:]).max() < 0.2
    assert not np.allclose(found.heldout[:, 9:], found.loss[:, 9:], atol=1e-4)
    assert all((norm > 0).all() for norm in found.norms.values())


def test_results_and_rates_of_a_model_from_disk(saved):
    model = models.opened({"load": str(saved)}, None, ROOM)
    words = {"code": "x = f(x)\n\n" * 60, "prose": "A word. Another. " * 60}
    given = {name: dict.fromkeys(texts.PARTS, text) for name, text in words.items()}
    settings = {"seeds": 2, "streams": [["code", "prose"], ["code", "prose"] * 2], "tokens": 40}
    settings |= {"choosing": 20, "heldout": 0.2, "bin": 5}
    adapters = {"rank": 2, "learners": ["immediate", "tbptt-64"], "optimizers": ["adam", "sgd"]}
    grids = {name: {"step": [0.01, 1e30], "window": [0.01, 1e30]} for name in ("adam", "sgd")}
    losses, norms = adaptation.results(model, given, settings, adapters, grids)
    assert set(losses["rate"]) == {0.01} and losses["edge"].all()
    assert len(losses) == 2 * 2 * 2 * 2 * 8 and losses[["loss", "frozen"]].notna().all(axis=None)
    assert (norms["norm"] >= 0).all()
    table = recoveries(losses.assign(model="m", parameters=1))
    proxy = table[(table["learner"] == "tbptt-64") & (table["optimizer"] == "adam")]
    rooms = proxy.groupby(["model", "rank"])["proxy"].mean().dropna()
    assert (rooms.round(6) == 100).all() and len(table) == 8
    assert len(segments(losses.assign(model="m", parameters=1))) == 2 * 4
    with pytest.raises(OrlaError, match=r'"grids\.sgd" has no rates for an update each step'):
        adaptation.results(model, given, settings, adapters, grids | {"sgd": {}})


def test_recoveries_are_the_papers_by_hand():
    """Its GPT-2: 3.94 frozen, 3.77 with Adam, 2.83 before the shift; TBPTT is made up."""
    rows = []
    for learner, loss in (("immediate", 3.77), ("tbptt-64", 3.40)):
        row = {"model": "gpt2", "parameters": 1, "rank": 4, "learner": learner, "rate": 1e-3}
        row |= {"optimizer": "adam", "edge": False, "seed": 0, "stream": 0}
        rows.append(row | {"segment": 0, "frozen": 2.83, "loss": 2.8, "heldout": np.nan})
        rows.append(row | {"segment": 1, "frozen": 3.94, "loss": loss, "heldout": loss + 0.1})
    table = recoveries(pd.DataFrame(rows)).set_index("learner").loc["immediate"]
    assert table["before"] == pytest.approx(100 * 0.17 / 1.11)
    assert table["proxy"] == pytest.approx(100 * 0.17 / 0.54)
    assert table["heldout_before"] == pytest.approx(100 * 0.07 / 1.11)
    assert table["heldout_proxy"] == pytest.approx(100 * 0.07 / 0.44)
    easier = pd.DataFrame(rows).replace({"frozen": {2.83: 4.0}})
    assert recoveries(easier)["before"].isna().all()  # a shift that adds no loss
    # Before the shift a second seed's text is harder: the denominator is the mean of both seeds'.
    harder = [row | {"seed": 1, "frozen": 4.0 - 0.06 * row["segment"]} for row in rows]
    table = recoveries(pd.DataFrame([*rows, *harder])).groupby("learner")["before"].mean()
    room = (1.11 - 0.06) / 2
    assert table["immediate"] == pytest.approx(100 * (3.94 - 3.77) / room)
    assert table["tbptt-64"] == pytest.approx(100 * (3.94 - 3.40) / room)


def test_parts_of_a_text_share_no_paragraph(tmp_path):
    shares = {"choosing": 0.1, "pretraining": 0.5, "streams": 0.4}  # a config's keys are sorted
    for source in ("code", "prose"):
        parts = texts.parts(source, shares)
        whole = sum(map(len, parts.values()))
        assert all(abs(len(parts[n]) / whole - share) < 0.02 for n, share in shares.items())
        seen = [
            {" ".join(p.split()) for p in re.split(r"\n\s*\n", text)} - {""}
            for text in parts.values()
        ]
        assert all(len(one) > 100 for one in seen)
        assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])
    twice = tmp_path / "twice.txt"
    twice.write_text("One.\n\nTwo.\n\n  One.\n\nThree.\n")
    assert "".join(texts.parts(str(twice), shares).values()).count("One") == 1
    with pytest.raises(OrlaError, match="is no text"):
        texts.parts(str(tmp_path / "none"), shares)


def test_a_stream_goes_on_in_each_domain():
    read_in = {"a": [*range(10)], "b": [*range(10, 20)]}
    stream = texts.stream(read_in, ["a", "b", "a", "b"], 12, 0.5)
    assert stream.tolist() == [5, 6, 7, 15, 16, 17, 8, 9, 0, 18, 19, 10, 11]
    with pytest.raises(OrlaError, match='the text of "a" has 10 tokens'):
        texts.stream(read_in, ["a", "b"], 40, 0)


def test_models_that_cannot_be_run_are_refused(saved, tmp_path, monkeypatch):
    with pytest.raises(OrlaError, match="neither on this machine nor found"):
        models.opened({"load": str(tmp_path / "none")}, None, ROOM)
    with pytest.raises(OrlaError, match=r"hours on a core and language\.most_hours is"):
        models.opened({"load": str(saved)}, None, ROOM | {"tokens": 1e18})
    free = psutil.virtual_memory()._replace(available=1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(OrlaError, match=r"GB of memory and 0\.0 GB are free"):
        models.opened({"load": str(saved)}, None, ROOM)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(OrlaError, match="of the family llama; give one of mamba, rwkv, gpt2"):
        models.opened({"load": str(tmp_path)}, None, ROOM)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OrlaError, match=r"pip install 'orla\[language\]'$"):
        importlib.reload(language)
    package = Path(language.__file__).parents[1]
    named = re.compile(r"^\s*(import|from) (transformers|peft|tokenizers)", re.MULTILINE)
    naming = {f.parent.name for f in package.rglob("*.py") if named.search(f.read_text())}
    assert naming == {"language"}
