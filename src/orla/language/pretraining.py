"""Small language models of the library's families, pretrained on text that comes with Python."""

from collections.abc import Mapping
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
from orla.schema import require_one_of

_CHARACTERS = 2_000_000  # of each text that the tokenizer is made from


def pretrain(
    make: Mapping[str, Any], texts: Mapping[str, str], settings: Mapping[str, Any], folder: Path
) -> None:
    """Pretrain a model, and write it with its tokenizer into a folder as `save_pretrained` does.

    Tokens are byte pairs (Sennrich et al. 2016). `make` are options of the model's configuration,
    model_type among them; `texts` are by domain; `settings` is ``language.pretraining``. OrlaError:
    an option is unknown, the context is longer than the windows, or a text is shorter than one.
    """
    family, window, shares = make["model_type"], settings["window"], settings["shares"]
    default = AutoConfig.for_model(family)
    options = {*default.to_dict(), *default.attribute_map}
    for name in make:  # transformers would pass over one that it does not know
        require_one_of("language.models.make", name, options, f", no option of a {family}")
    excerpts, byte_pairs = [text[:_CHARACTERS] for text in texts.values()], ByteLevelBPETokenizer()
    byte_pairs.train_from_iterator(excerpts, settings["vocabulary"], 0, show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_pairs._tokenizer)
    sizes = {"vocab_size": len(tokenizer), "bos_token_id": None, "eos_token_id": None}
    torch.manual_seed(settings["seed"])
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**make, **sizes)).eval()
    steps = FAMILIES[family](model)
    if steps.context > window:
        raise OrlaError(
            f'config: "language.models" makes a {family} of {steps.context} positions, and windows '
            f"of {window} tokens would train the first of them alone; give n_positions of at most "
            "language.pretraining.window"
        )
    categories = [torch.tensor(tokenizer.encode(texts[name])) for name in shares]
    for name, text in zip(shares, categories, strict=True):
        if len(text) <= window:
            raise OrlaError(
                f'config: the text of "{name}" has {len(text)} tokens to pretrain on, and a window '
                f"of language.pretraining has {window}; give a longer text"
            )
    draw = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings["steps"])
    rows, turns = settings["batch"], settings["steps"]
    weights = torch.tensor([float(share) for share in shares.values()])
    with cost.work_phase("pretraining", turns * rows * window):
        for _ in progress.bar(range(turns), f"pretraining {family}", "step"):
            sequences = []
            for i in torch.multinomial(weights, rows, replacement=True, generator=draw):
                start = int(torch.randint(len(categories[i]) - window, (), generator=draw))
                sequences.append(categories[i][start : start + window + 1])
            batch = torch.stack(sequences)
            logits, _ = steps(batch[:, :-1], steps.start(rows))
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
