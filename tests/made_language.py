"""Small models of the library."""

import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = {
    "gpt2": {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 16},
    "mamba": {"hidden_size": 8, "num_hidden_layers": 2, "state_size": 4, "time_step_rank": 2},
    "rwkv": {"hidden_size": 8, "num_hidden_layers": 2, "context_length": 64},
}


def tiny(family, dtype=torch.float32):
    """A small model of the library with random weights, none of them zero."""
    torch.manual_seed(0)
    options = SIZES[family] | {"vocab_size": 20, "bos_token_id": None, "eos_token_id": None}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **options)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    return model.to(dtype).requires_grad_(False)
