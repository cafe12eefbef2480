"""Language models from files, folders or the hub, and LoRA adapters for several at once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig
from transformers.utils import logging

from orla.errors import OrlaError
from orla.files import reraise_in_one_line
from orla.language import lstm
from orla.language.steps import FAMILIES, GPT2, Steps
from orla.study.chapter_jobs import token_us

logging.set_verbosity_error()
logging.disable_progress_bar()
_ADAPTER = "default"


def open_model(spec: Mapping[str, Any], folder: str | None, room: Mapping[str, float]) -> Steps:
    """The model of an entry of ``language.models``, in float32, if `require_room` finds room.

    With ``make`` it was written into `folder`. OrlaError: the model is not there, of another
    family, too large, or lacks weights.
    """
    if "weights" in spec:
        steps = lstm.load_textgenrnn(**spec)
    else:
        name = folder or spec["load"]
        config = _load_pretrained(AutoConfig, name)
        family = config.model_type
        if family not in FAMILIES:
            raise OrlaError(f"{name} is of the family {family}; give one of {', '.join(FAMILIES)}")
        require_room(name, config, **room)
        model, report = _load_pretrained(
            AutoModelForCausalLM, name, dtype=torch.float32, output_loading_info=True
        )
        if absent := sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])}):
            raise OrlaError(
                f"{name} has no weights for {len(absent)} layers of its own configuration, such as"
                f" {absent[0]}; give a folder that save_pretrained wrote of this model"
            )
        tokenizer = _load_pretrained(AutoTokenizer, name)
        if not tokenizer("a b").input_ids or len(tokenizer) > config.vocab_size:
            raise OrlaError(
                f"{name} has {config.vocab_size} tokens and a tokenizer of {len(tokenizer)} that is"
                " missing or another model's; give a folder that its own was saved in too"
            )
        steps = FAMILIES[family](model.eval(), tokenizer)
    steps.model.requires_grad_(False)
    return steps


def _load_pretrained(kind: Any, name: str, **how: Any) -> Any:
    """Load what `kind` reads of a name, from this machine, else from the hub; else OrlaError."""
    is_folder = Path(name).is_dir()
    what = "cannot be read" if is_folder else "neither on this machine nor found on the hub"
    mend = "give a folder that save_pretrained wrote, or a model's name"
    with reraise_in_one_line(f'config: "language.models" loads {name}', what, mend):
        if not is_folder:
            with suppress(Exception):  # of many kinds: the hub's client found nothing here
                return kind.from_pretrained(name, local_files_only=True, **how)
        return kind.from_pretrained(name, local_files_only=is_folder, **how)


def require_room(
    name: str, config: PreTrainedConfig, models: int, tokens: int, most_hours: float
) -> None:
    """Refuse a model that would not fit in memory or take too long; read none of its weights.

    `models` are adapted at once, and read `tokens` all together.
    """
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    size = sum(p.numel() for p in model.parameters())
    wide, deep = config.hidden_size, config.num_hidden_layers
    per_unit = 40 + 8 * getattr(config, "state_size", 0)  # numbers a unit and token, in a window
    numbers = models * 64 * (2 * config.vocab_size + per_unit * wide * deep)
    numbers += models * 2 * deep * wide * getattr(config, "n_positions", 0)
    numbers += models * 4 * deep * 16 * 12 * wide  # of adapters: weight, gradient, two moments
    memory, free = 4 * (1.3 * size + numbers), psutil.virtual_memory().available
    if memory > free:
        raise OrlaError(
            f"{name} would take about {memory / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are "
            "free; take a smaller model, fewer seeds or optimizers"
        )
    hours = 1e-6 * token_us(size) * tokens / 3600
    if hours > most_hours:
        raise OrlaError(
            f"{name} would take about {hours:.2g} hours on a core and language.most_hours is "
            f"{most_hours:g}; take a smaller model or fewer tokens, or allow more"
        )


class PerModel(nn.Module):
    """A linear layer of each model of a batch: inputs (models, T, in), weight (models, out, in)."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.mT


def insert_adapters(steps: Steps, rank: int, seeds: Sequence[int]) -> dict[str, nn.Parameter]:
    """Put an adapter of each of these seeds into a model, as rows of the batches that it reads.

    peft puts them in and draws them, A by He's rule and B zero; alpha is the rank, so that B A is
    added as it is. A second call replaces them. Weights are "LAYER.A" (models, rank, in) and
    "LAYER.B" (models, out, rank).
    """
    config = LoraConfig(r=rank, lora_alpha=rank, target_modules=list(steps.targets))
    config.fan_in_fan_out = isinstance(steps, GPT2)  # how that keeps its matrices
    if not any(isinstance(m, LoraLayer) for m in steps.model.modules()):
        inject_adapter_in_model(config, steps.model, adapter_name=_ADAPTER)
    layers = {n: m for n, m in steps.model.named_modules() if isinstance(m, LoraLayer)}
    parts = {f"{n}.{k}": getattr(m, f"lora_{k}") for n, m in layers.items() for k in "AB"}
    draws = []
    with torch.random.fork_rng(devices=[]):
        for seed in seeds:
            torch.manual_seed(seed)
            for layer in layers.values():
                layer.update_layer(_ADAPTER, r=rank, lora_alpha=rank, config=config)
            draws.append([part[_ADAPTER].weight.detach() for part in parts.values()])
    for part, *weights in zip(parts.values(), *draws, strict=True):
        part[_ADAPTER] = PerModel(torch.stack(weights))
    return {name: part[_ADAPTER].weight for name, part in parts.items()}
