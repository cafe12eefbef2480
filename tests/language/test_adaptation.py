"""Online adaptation: updates, what is held out, rates, and rooms."""

import importlib
import itertools
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
import torch.nn.functional as F
from made_language import SIZES, tiny
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

from orla import catalogue, language
from orla.errors import OrlaError
from orla.language import adaptation, models, pretraining, texts
from orla.language.adaptation import adapt, token_losses
from orla.language.steps import FAMILIES
from orla.results.language import recovery_table, several_shifts_table
from orla.study.chapter_jobs import language_job_size, rates_to_try

OPTIMIZERS = ("adam", "adafactor", "sgd")
TOKENS = torch.randint(0, 20, (3, 13), generator=torch.Generator().manual_seed(2))
ROOM = {"models": 3, "tokens": 1000, "most_hours": 1}


def started(seeds):
    steps = FAMILIES["mamba"](tiny("mamba", torch.float64))
    return steps, models.insert_adapters(steps, 2, seeds)


@pytest.mark.parametrize(("learner", "window"), [("immediate", 1), ("tbptt-64", 12)])
def test_a_batch_is_each_optimizer_alone_with_the_state_held_fixed(learner, window):
    steps, weights = started([0, 1, 2])
    rates = {"adam": 0.01, "adafactor": 0.02, "sgd": 0.5}
    by_optimizer = {name: [rates[name]] for name in OPTIMIZERS}
    found, *_ = adapt(steps, weights, by_optimizer, TOKENS, learner)
    for row, name in enumerate(OPTIMIZERS):
        alone, own = started([row])
        optimizer = catalogue.make("optimizer", name)
        rate, losses = torch.tensor(rates[name], dtype=torch.float64), []
        memory = optimizer.init({n: w[0].detach() for n, w in own.items()})
        state = alone.start(1)
        pieces = zip(*(t.split(window, 1) for t in (TOKENS[:, :-1], TOKENS[:, 1:])), strict=True)
        for given, target in pieces:
            held = [tuple(s.detach() for s in layer) for layer in state]
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
        assert np.allclose(found[row], losses, atol=1e-10)
        for n, w in weights.items():
            assert torch.allclose(w[row], own[n][0], atol=1e-10)


def test_held_out_tokens_are_scored_by_the_weights_learned_before_them():
    (steps, weights), group = started([0, 1]), {"adam": [0.03, 0.03]}
    loss, heldout, norms = adapt(steps, weights, group, TOKENS[:2], "immediate", heldout_start=8)
    assert np.isnan(heldout[:, :8]).all()
    steps, weights = started([0, 1])
    adapt(steps, weights, group, TOKENS[:2, :9], "immediate")
    expected = token_losses(steps, TOKENS[:2])
    # The state before the part is that of weights on their way, so only its influence differs.
    assert np.abs(heldout[:, 8:] - expected[:, 8:]).max() < 0.2
    assert not np.allclose(heldout[:, 9:], loss[:, 9:], atol=1e-4)
    assert all((norm > 0).all() for norm in norms.values())


def test_a_saved_model_reads_on_from_its_state(saved):
    model = models.open_model({"load": str(saved)}, None, ROOM)
    tokens = torch.tensor([model.encode("def f(x): a word")])
    whole, _ = model(tokens, model.start(1))
    first, state = model(tokens[:, :3], model.start(1))
    assert torch.allclose(torch.cat([first, model(tokens[:, 3:], state)[0]], 1), whole, atol=1e-5)
    assert len(whole.unique()) > 100


@pytest.mark.parametrize("saved", ["gpt2"], indirect=True)
def test_tables_are_whole_at_the_rate_that_stays_finite(saved):
    model = models.open_model({"load": str(saved)}, None, ROOM)
    words = {"code": "x = f(x)\n\n" * 60, "prose": "A word. Another. " * 60}
    given = {name: dict.fromkeys(texts.PARTS, text) for name, text in words.items()}
    settings = {"seeds": 2, "streams": [["code", "prose"], ["code", "prose"] * 2], "tokens": 20}
    settings |= {"choosing": 20, "heldout": 0.25, "bin": 5}
    adapters = {"learners": ["immediate", "tbptt-64"], "optimizers": ["adam", "sgd"]}
    grids = {name: {"step": [0.01, 1e30], "window": [0.01, 1e30]} for name in ("adam", "sgd")}
    rates = rates_to_try(adapters, grids)
    losses, norms = adaptation.losses_and_norms(model, given, settings, 2, rates)
    assert set(losses["rate"]) == {0.01} and losses["edge"].all()
    assert len(losses) == 2 * 2 * 2 * 2 * 4 and losses[["loss", "frozen"]].notna().all(axis=None)
    assert (norms["norm"] >= 0).all()
    last = (losses["token"] == 15) & (losses["learner"] == "immediate")  # a window has no second
    assert (losses["heldout"].notna() == last).all()
    losses = losses.assign(model="m", parameters=1)
    table = recovery_table(losses)
    proxy = table[(table["learner"] == "tbptt-64") & (table["optimizer"] == "adam")]["proxy"]
    assert (proxy.dropna().round(6) == 100).all()
    assert len(table) == len(several_shifts_table(losses)) == 8
    of_domains = losses.groupby("domain")[["domain_loss", "domain_error"]].nunique()
    assert (of_domains == 1).all(axis=None) and (losses["domain_error"] > 0).all()
    with pytest.raises(OrlaError, match=r'"grids\.sgd" has no rates for an update each step'):
        rates_to_try(adapters, grids | {"sgd": {}})


def two_segments(**change):
    """The paper's GPT-2: 3.94 frozen, 3.77 with Adam, 2.83 before the shift; TBPTT is made up."""
    rows, learners = [], {"immediate": 3.77, "tbptt-64": 3.40}
    for seed, (learner, loss) in itertools.product(range(2), learners.items()):
        row = {"model": "gpt2", "parameters": 1, "rank": 4, "learner": learner, "rate": 1e-3}
        row |= {"optimizer": "adam", "edge": False, "seed": seed, "stream": 0, "token": 0}
        # The text of the second seed is harder before the shift than after it.
        before = {"segment": 0, "domain": "code", "frozen": 2.83 + 1.2 * seed, "loss": 2.8}
        after = {"segment": 1, "domain": "prose", "frozen": 3.94, "loss": loss}
        of_code = {"domain_loss": 2.83, "domain_error": 0.1, "heldout": np.nan}
        of_prose = {"domain_loss": 3.94, "domain_error": 0.1, "heldout": loss + 0.1}
        rows += [row | before | of_code, row | after | of_prose | change]
    return pd.DataFrame(rows)


def test_recoveries_are_the_papers_by_hand():
    table = recovery_table(two_segments()).groupby("learner").mean(numeric_only=True)
    names = ["before", "proxy", "heldout_before", "heldout_proxy"]
    expected = [17 / 1.11, 17 / 0.54, 7 / 1.11, 7 / 0.44]
    assert table.loc["immediate", names].tolist() == pytest.approx(expected)


def test_recovery_is_nan_where_the_denominator_is_not_clearly_positive():
    for change in ({"domain_loss": 2.8}, {"domain_error": 0.5}):  # a shift that is not shown
        table = recovery_table(two_segments(**change))
        assert table[["before", "heldout_before"]].isna().all(axis=None)
        assert table["proxy"].notna().all()
    unclear = two_segments()
    gains = (unclear["learner"] == "tbptt-64") & (unclear["seed"] == 1) & (unclear["segment"] == 1)
    unclear.loc[gains, "loss"] = 3.9
    assert recovery_table(unclear)["proxy"].isna().all()


def test_domain_loss_and_error_are_mean_and_sem_over_pieces_of_text():
    steps = FAMILIES["mamba"](tiny("mamba", torch.float64))
    text = torch.randint(0, 20, (320,), generator=torch.Generator().manual_seed(3)).tolist()
    mean, error = adaptation.domain_loss_and_standard_error(steps, text)
    pieces = torch.tensor(text).split(10)
    means = np.array([token_losses(steps, piece[None]).mean() for piece in pieces])
    assert mean == pytest.approx(means.mean())
    assert error == pytest.approx(means.std(ddof=1) / np.sqrt(32))


def test_as_many_models_are_foreseen_as_rates_are_tried():
    settings = {"seeds": 1, "streams": [["code", "prose"]], "tokens": 30, "choosing": 10}
    settings |= {"most_hours": 24}
    adapters = {"learners": ["immediate", "tbptt-64"], "optimizers": ["adam", "sgd"]}
    grids = {name: {"step": [1] * 3, "window": [1] * 4} for name in ("adam", "sgd")}
    room = {"models": 8, "tokens": 2 * (2 * 30 + 8 * 10), "most_hours": 24}
    rates = rates_to_try(adapters, grids)
    assert language_job_size(settings, rates) == room
    assert language_job_size(settings | {"seeds": 9}, rates)["models"] == 18


def test_parts_of_a_text_share_no_paragraph(tmp_path):
    shares = {"choosing": 0.1, "pretraining": 0.5, "streams": 0.4}  # a config's keys are sorted
    for source in ("code", "prose"):
        parts = texts.split_text(source, shares)
        whole = sum(map(len, parts.values()))
        assert all(abs(len(parts[n]) / whole - share) < 0.02 for n, share in shares.items())
        seen = [{" ".join(p.split()) for p in re.split(r"\n\s*\n", t)} for t in parts.values()]
        assert all(len(one) > 100 for one in seen)
        assert all(not one & other - {""} for one, other in itertools.combinations(seen, 2))
    twice = tmp_path / "twice.txt"
    twice.write_text("One.\n\nTwo.\n\n  One.\n\nThree.\n")
    assert "".join(texts.split_text(str(twice), shares).values()).count("One") == 1
    with pytest.raises(OrlaError, match="there is no such file"):
        texts.split_text(str(tmp_path / "none"), shares)
    twice.write_bytes(b"\xff\xfe")
    with pytest.raises(OrlaError, match=r"twice\.txt: no text \(.*give .* a file in UTF-8"):
        texts.split_text(str(twice), shares)


def test_a_stream_goes_on_in_each_domain():
    read_in = {"a": [*range(10)], "b": [*range(10, 20)]}
    stream = texts.token_stream(read_in, ["a", "b", "a", "b"], 12, 0.5)
    assert stream.tolist() == [5, 6, 7, 15, 16, 17, 8, 9, 0, 18, 19, 10, 11]
    with pytest.raises(OrlaError, match='the text of "a" has 10 tokens'):
        texts.token_stream(read_in, ["a", "b"], 40, 0)


@pytest.mark.parametrize("saved", ["gpt2"], indirect=True)
def test_models_that_cannot_be_run_or_are_damaged_are_refused(saved, tmp_path, monkeypatch):
    def refuse(words, folder, **room):
        with pytest.raises(OrlaError, match=words):
            models.open_model({"load": str(folder)}, None, ROOM | room)

    refuse("neither on this machine nor found", tmp_path / "none")
    refuse(r"hours on a core and language\.most_hours is", saved, tokens=1e18)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    refuse("of the family llama; give one of mamba, rwkv, gpt2", tmp_path)
    file = shutil.copytree(saved, tmp_path / "copy") / "model.safetensors"
    weights = load_file(file)
    save_file({f"net.{name}": w for name, w in weights.items()}, file, {"format": "pt"})
    refuse("has no weights for", file.parent)
    some = max(weights, key=lambda name: weights[name].numel())
    save_file(weights | {some: weights[some][:-1].clone()}, file, {"format": "pt"})
    refuse("has no weights for|cannot be read", file.parent)
    file.write_bytes(file.read_bytes()[:-9])
    refuse(r"loads .*: cannot be read", file.parent)
    bare = shutil.copytree(saved, tmp_path / "bare")
    config = AutoConfig.from_pretrained(bare)
    config.vocab_size = 200
    AutoModelForCausalLM.from_config(config).save_pretrained(bare)
    refuse("has 200 tokens and a tokenizer of .* that is missing or another model's", bare)
    for path in bare.glob("tokenizer*"):
        path.unlink()
    refuse("that is missing or another model's; give a folder|cannot be read", bare)
    free = psutil.virtual_memory()._replace(available=1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    refuse(r"GB of memory and 0\.0 GB are free", saved)


@pytest.mark.parametrize(
    ("make", "text", "words"),
    [
        ({"n_positions": 9}, "x = 1\n" * 20, "of 9 positions, and windows of 8 tokens"),
        ({"n_hed": 2}, "x = 1\n" * 20, 'cannot be "n_hed", no option of a gpt2; .*"n_head"'),
        ({"n_positions": 8}, "x", "1 tokens to pretrain on"),
    ],
)
def test_what_cannot_be_pretrained_is_refused(make, text, words, tmp_path):
    settings = {"vocabulary": 270, "seed": 0, "window": 8, "shares": {"code": 1}}
    make = {"model_type": "gpt2", **SIZES["gpt2"], **make}
    with pytest.raises(OrlaError, match=words):
        pretraining.pretrain(make, {"code": text}, settings, tmp_path)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OrlaError, match=r"pip install 'orla\[language\]'$"):
        importlib.reload(language)
    package = Path(language.__file__).parents[1]
    named = re.compile(r"^\s*(import|from) (transformers|peft|tokenizers)", re.MULTILINE)
    naming = {f.parent.name for f in package.rglob("*.py") if named.search(f.read_text())}
    assert naming == {"language"}
