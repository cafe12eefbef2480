"""Small language models of the library's families, pretrained on text that comes with Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from orla import progress
from orla.language.steps import FAMILIES
from orla.provenance import cost

# Characters of each text that the tokenizer is made from.
_TOKENIZED = 2_000_000


def tokenizer(texts: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """Byte pairs (Sennrich et al. 2016) of these texts, with a vocabulary of `size`."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(alphabet), show_progress=False
    )
    made.train_from_iterator([text[:_TOKENIZED] for text in texts], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made)


def pretrain(
    make: Mapping[str, Any], texts: Mapping[str, str], settings: Mapping[str, Any], folder: Path
) -> None:
    """Pretrain a model, and write it with its tokenizer into a folder as `save_pretrained` does.

    Args:
        make: Options of the model's configuration, model_type among them.
        texts: Of pretraining, by domain.
        settings: ``language.pretraining`` of the config.
        folder: Where to write.
    """
    read = tokenizer(list(texts.values()), settings["vocabulary"])
    torch.manual_seed(settings["seed"])
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(**make, vocab_size=len(read), bos_token_id=None, eos_token_id=None)
    )
    steps = FAMILIES[make["model_type"]](model.eval())
    shares = settings["shares"]
    categories = {name: torch.tensor(read.encode(texts[name])) for name in shares}
    draw = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings["steps"])
    rows, length = settings["batch"], settings["window"]
    of_domain = torch.tensor([float(share) for share in shares.values()])
    with cost.work("pretraining", settings["steps"] * rows * length):
        for _ in progress.bar(
            range(settings["steps"]), f"pretraining {make['model_type']}", "step"
        ):
            chosen = torch.multinomial(of_domain, rows, replacement=True, generator=draw)
            windows = []
            for name in (list(shares)[i] for i in chosen):
                text = categories[name]
                at = int(torch.randint(len(text) - length, (), generator=draw))
                windows.append(text[at : at + length + 1])
            batch = torch.stack(windows)
            logits, _ = steps(batch[:, :-1], steps.start(rows))
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.save_pretrained(folder)
    read.save_pretrained(folder)
