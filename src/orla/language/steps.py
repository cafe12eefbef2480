"""The families of language models as functions of some tokens and a carried state.

Each takes tokens (models, T) and the state before them, and gives logits (models, T, vocabulary)
and the state after them. It calls the model's own layers, so that adapters in these count. The
immediate derivative ("d=0") is the gradient through one token with the state before it held fixed;
of a transformer the state is the keys and values of the past.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DynamicCache

State = list[tuple[Tensor, ...]]  # of each layer the tensors (models, ...) that it carries


class Steps:
    """A language model that reads a few tokens at a time.

    Attributes:
        model: a causal language model of the family; `parameters` is how many weights it has.
        tokenizer: how it reads text, for `encode`.
        targets: names of the layers that adapters are put into.
        context: most tokens that the state holds; 0 for any number.
    """

    targets: ClassVar[tuple[str, ...]]
    context = 0

    def __init__(self, model: nn.Module, tokenizer: Any = None) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.parameters = sum(p.numel() for p in model.parameters())

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def start(self, models: int) -> State:
        """The state of so many models before the first token."""
        raise NotImplementedError

    def token_count(self, state: State) -> int:
        """How many tokens a state holds; 0 where the context has no limit."""
        return 0

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """As a call, of tokens that fit in the context."""
        raise NotImplementedError

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (models, T, vocabulary) and the state after the tokens; a full one begins anew."""
        logits = []
        while tokens.shape[1]:
            if self.context and self.token_count(state) >= self.context:
                state = self.start(len(tokens))
            fits = self.context - self.token_count(state) if self.context else tokens.shape[1]
            more, state = self.read(tokens[:, :fits], state)
            logits, tokens = [*logits, more], tokens[:, fits:]
        return torch.cat(logits, 1), state


class Mamba(Steps):
    """Mamba (Gu and Dao 2023) of `transformers`; the state is that of its convolution and scan."""

    targets = ("in_proj", "x_proj", "dt_proj")  # peft refuses out_proj

    def start(self, models: int) -> State:
        new, config = self.model.lm_head.weight.new_zeros, self.model.config
        window = new(models, config.conv_kernel - 1, config.intermediate_size)
        scan = new(models, config.intermediate_size, config.state_size)
        return [(window, scan)] * config.num_hidden_layers

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        layer_states, x = [], self.model.backbone.embeddings(tokens)
        for block, (window, scan) in zip(self.model.backbone.layers, state, strict=True):
            m = block.mixer
            u, gate = m.in_proj(block.norm(x)).chunk(2, -1)
            window = torch.cat([window, u], 1)
            taps, bias = m.conv1d.weight, m.conv1d.bias
            u = m.act(F.conv1d(window.mT, taps, bias, groups=m.intermediate_size).mT)
            sizes = [m.time_step_rank, m.ssm_state_size, m.ssm_state_size]
            dt, write, readout = m.x_proj(u).split(sizes, -1)
            # The library multiplies by this layer's weight itself, past an adapter in it.
            dt = F.softplus(m.dt_proj(dt))[..., None]
            decay = torch.exp(dt * -torch.exp(m.A_log))
            inputs, outputs = dt * write[:, :, None] * u[..., None], []
            for t in range(tokens.shape[1]):
                scan = decay[:, t] * scan + inputs[:, t]
                outputs.append(scan @ readout[:, t, :, None])
            layer_states.append((window[:, window.shape[1] - m.conv_kernel_size + 1 :], scan))
            x = x + m.out_proj((torch.stack(outputs, 1)[..., 0] + m.D * u) * m.act(gate))
        return self.model.lm_head(self.model.backbone.norm_f(x)), layer_states


class RWKV(Steps):
    """RWKV-4 (Peng et al. 2023) of `transformers`; the state is that of shifts and attention."""

    targets = ("key", "value", "receptance", "output")

    def start(self, models: int) -> State:
        new, config = self.model.head.weight.new_zeros, self.model.config
        shift, total = new(models, config.hidden_size), new(models, config.attention_hidden_size)
        return [(shift, shift, total, total, total - 1e30)] * config.num_hidden_layers

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        layer_states, blocks = [], self.model.rwkv.blocks
        x = blocks[0].pre_ln(self.model.rwkv.embeddings(tokens))
        for block, (attention_shift, feed_shift, *sums) in zip(blocks, state, strict=True):
            a, f, h = block.attention, block.feed_forward, block.ln1(x)
            key, value, gate = _layers_after_token_shift(
                a, h, attention_shift, "key", "value", "receptance"
            )
            decay, outputs = -torch.exp(a.time_decay), []
            for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
                total, weight, _ = _attention_sums(sums, k + a.time_first, v)
                outputs.append(total / weight)
                sums = _attention_sums((*sums[:2], sums[2] + decay), k, v)
            x = x + a.output(torch.sigmoid(gate) * torch.stack(outputs, 1))
            attention_shift, h = h[:, -1], block.ln2(x)
            key, gate = _layers_after_token_shift(f, h, feed_shift, "key", "receptance")
            x = x + torch.sigmoid(gate) * f.value(torch.relu(key) ** 2)
            layer_states.append((attention_shift, h[:, -1], *sums))
        return self.model.head(self.model.rwkv.ln_out(x)), layer_states


def _layers_after_token_shift(
    part: nn.Module, h: Tensor, last: Tensor, *names: str
) -> Iterator[Tensor]:
    """What layers of a part give of inputs that are mixed with those of the step before."""
    previous = torch.cat([last[:, None], h[:, :-1]], 1)
    for name in names:
        share = getattr(part, f"time_mix_{name}")
        yield getattr(part, name)(h * share + previous * (1 - share))


def _attention_sums(sums: Sequence[Tensor], key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """RWKV's sums of values and weights after one more token, each over exp(their exponent)."""
    total, weight, exponent = sums
    most = torch.maximum(exponent, key)
    old, new = torch.exp(exponent - most), torch.exp(key - most)
    return old * total + new * value, old * weight + new, most


class GPT2(Steps):
    """GPT-2 (Radford et al. 2019) of `transformers`; the state is its cache of keys and values.

    Its positions end with its context; then the cache is emptied.
    """

    targets = ("c_attn", "c_proj", "c_fc")

    @property
    def context(self) -> int:
        return self.model.config.n_positions

    def start(self, models: int) -> State:
        return []

    def token_count(self, state: State) -> int:
        return state[0][0].shape[2] if state else 0

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        cache = DynamicCache(state)
        logits = self.model(tokens, cache=cache).logits
        return logits, [(layer.keys, layer.values) for layer in cache.layers]


# Type of a model, as its configuration names it -> its steps.
FAMILIES: dict[str, type[Steps]] = {"mamba": Mamba, "rwkv": RWKV, "gpt2": GPT2}
