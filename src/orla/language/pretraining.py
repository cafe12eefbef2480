"""Small language models of the library's families, pretrained on text that comes with Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import ByteLevelBPETokenizer
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from orla import progress
from orla.errors import OrlaError
from orla.language.steps import FAMILIES
from orla.provenance import cost
from orla.schema import nearest

# Characters of each text that the tokenizer is made from.
_CHARACTERS = 2_000_000


def train_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """A tokenizer by byte pairs (Sennrich et al. 2016) of these texts, of `size` tokens."""
    byte_pairs = ByteLevelBPETokenizer()
    byte_pairs.train_from_iterator(
        [text[:_CHARACTERS] for text in texts], size, min_frequency=0, show_progress=False
    )
    return PreTrainedTokenizerFast(tokenizer_object=byte_pairs._tokenizer)


def pretrain(
    make: Mapping[str, Any], texts: Mapping[str, str], settings: Mapping[str, Any], folder: Path
) -> None:
    """Pretrain a model, and write it with its tokenizer into a folder as `save_pretrained` does.

    `make` are options of its configuration, model_type among them; `texts` are by domain; and
    `settings` is ``language.pretraining`` of the config.

    Raises:
        OrlaError: An option of the model is unknown, its context is longer than the windows that
            it would be trained on, or a text is shorter than a window.
    """
    family = make["model_type"]
    config = AutoConfig.for_model(family)
    options = {*config.to_dict(), *config.attribute_map}
    for name in make:  # transformers would pass over one that it does not know
        if name not in options:
            raise OrlaError(
                f'config: "language.models" makes a {family} with "{name}", which it does not have;'
                f" {nearest(name, options)}"
            )
    tokenizer = train_tokenizer(texts.values(), settings["vocabulary"])
    torch.manual_seed(settings["seed"])
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(
            **make, vocab_size=len(tokenizer), bos_token_id=None, eos_token_id=None
        )
    )
    steps = FAMILIES[family](model.eval())
    if steps.context > settings["window"]:
        raise OrlaError(
            f'config: "language.models" makes a {family} of {steps.context} positions, '
            f"and windows of {settings['window']} tokens would train the first of them alone; give "
            "n_positions of at most language.pretraining.window"
        )
    shares = settings["shares"]
    categories = {name: torch.tensor(tokenizer.encode(texts[name])) for name in shares}
    for name, text in categories.items():
        if len(text) <= settings["window"]:
            raise OrlaError(
                f'config: the text of "{name}" has {len(text)} tokens to pretrain on, and a window '
                f"of language.pretraining has {settings['window']}; give a longer text"
            )
    draw = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings["steps"])
    rows, length, turns = settings["batch"], settings["window"], settings["steps"]
    weights = torch.tensor([float(share) for share in shares.values()])
    domains = list(categories.values())
    with cost.work_phase("pretraining", turns * rows * length):
        for _ in progress.bar(range(turns), f"pretraining {family}", "step"):
            indices = torch.multinomial(weights, rows, replacement=True, generator=draw)
            windows = []
            for text in (domains[i] for i in indices):
                start = int(torch.randint(len(text) - length, (), generator=draw))
                windows.append(text[start : start + length + 1])
            batch = torch.stack(windows)
            logits, _ = steps(batch[:, :-1], steps.start(rows))
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
