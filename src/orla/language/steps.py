"""The families of language models as functions of some tokens and a carried state.

Each takes tokens (models, T) and the state before them, and gives logits (models, T, vocabulary)
and the state after them. It calls the model's own layers, so that adapters in these count. The
immediate derivative ("d=0") is the gradient through one token with the state before it held fixed;
of a transformer the state is the keys and values of the past.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = dict[str, Tensor]


class Steps:
    """A language model that reads a few tokens at a time.

    Attributes:
        model: a causal language model of the family.
        targets: names of the layers that adapters are put into.
        context: most tokens that the state holds; 0 for any number.
    """

    targets: ClassVar[tuple[str, ...]]
    context = 0

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def start(self, models: int) -> State:
        """The state of so many models before the first token."""
        raise NotImplementedError

    def tokens_held(self, state: State) -> int:
        """How many tokens a state holds, where there is a most."""
        return 0

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """As a call, of tokens that fit in the context."""
        raise NotImplementedError

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (models, T, vocabulary) of the next tokens, and the state after these.

        A state that is full begins anew.
        """
        logits, at = [], 0
        while at < tokens.shape[1]:
            if self.context and self.tokens_held(state) >= self.context:
                state = self.start(len(tokens))
            fits = self.context - self.tokens_held(state) if self.context else tokens.shape[1]
            more, state = self.read(tokens[:, at : at + fits], state)
            logits, at = [*logits, more], at + fits
        return torch.cat(logits, 1), state


class Mamba(Steps):
    """Mamba (Gu and Dao 2023) of `transformers`; the state is that of its convolution and scan.

    The library multiplies by the weight of ``dt_proj`` itself and so passes over an adapter in it;
    here the layer is called.
    """

    targets = ("in_proj", "x_proj", "dt_proj")  # peft refuses out_proj

    def start(self, models: int) -> State:
        state = {}
        for i, block in enumerate(self.model.backbone.layers):
            m, new = block.mixer, block.mixer.D.new_zeros
            state[f"{i}.convolution"] = new(models, m.conv_kernel_size - 1, m.intermediate_size)
            state[f"{i}.scan"] = new(models, m.intermediate_size, m.ssm_state_size)
        return state

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        after, x = {}, self.model.backbone.embeddings(tokens)
        for i, block in enumerate(self.model.backbone.layers):
            m = block.mixer
            u, gate = m.in_proj(block.norm(x)).chunk(2, -1)
            u = torch.cat([state[f"{i}.convolution"], u], 1)
            after[f"{i}.convolution"] = u[:, u.shape[1] - m.conv_kernel_size + 1 :]
            taps, bias = m.conv1d.weight, m.conv1d.bias
            u = m.act(F.conv1d(u.mT, taps, bias, groups=m.intermediate_size).mT)
            sizes = [m.time_step_rank, m.ssm_state_size, m.ssm_state_size]
            dt, write, read = m.x_proj(u).split(sizes, -1)
            dt = F.softplus(m.dt_proj(dt))[..., None]
            decay = torch.exp(dt * -torch.exp(m.A_log))
            added = dt * write[:, :, None] * u[..., None]
            scan, seen = state[f"{i}.scan"], []
            for t in range(tokens.shape[1]):
                scan = decay[:, t] * scan + added[:, t]
                seen.append(scan @ read[:, t, :, None])
            after[f"{i}.scan"] = scan
            x = x + m.out_proj((torch.stack(seen, 1)[..., 0] + m.D * u) * m.act(gate))
        return self.model.lm_head(self.model.backbone.norm_f(x)), after


class RWKV(Steps):
    """RWKV-4 (Peng et al. 2023) of `transformers`; the state is that of shifts and attention."""

    targets = ("key", "value", "receptance", "output")

    def start(self, models: int) -> State:
        state = {}
        for i, block in enumerate(self.model.rwkv.blocks):
            new, inner = block.attention.time_decay.new_zeros, block.attention.attention_hidden_size
            for name in ("attention", "feed"):
                state[f"{i}.{name}"] = new(models, self.model.config.hidden_size)
            state |= {f"{i}.{name}": new(models, inner) for name in ("sum", "weight")}
            state[f"{i}.most"] = new(models, inner) - 1e30
        return state

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        after, x = {}, self.model.rwkv.embeddings(tokens)
        for i, block in enumerate(self.model.rwkv.blocks):
            a, f = block.attention, block.feed_forward
            x = block.pre_ln(x) if i == 0 else x
            h = block.ln1(x)
            before, after[f"{i}.attention"] = _shift_right(state[f"{i}.attention"], h), h[:, -1]
            key = a.key(_mix(h, before, a.time_mix_key))
            value = a.value(_mix(h, before, a.time_mix_value))
            gate = torch.sigmoid(a.receptance(_mix(h, before, a.time_mix_receptance)))
            carried = {name: state[f"{i}.{name}"] for name in ("sum", "weight", "most")}
            decay, seen = -torch.exp(a.time_decay), []
            for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
                total, weight = _attention_sums(carried, carried["most"], k + a.time_first, v)[:2]
                seen.append(total / weight)
                sums = _attention_sums(carried, carried["most"] + decay, k, v)
                carried = dict(zip(carried, sums, strict=True))
            after |= {f"{i}.{name}": value for name, value in carried.items()}
            x = x + a.output(gate * torch.stack(seen, 1))
            h = block.ln2(x)
            before, after[f"{i}.feed"] = _shift_right(state[f"{i}.feed"], h), h[:, -1]
            gate = torch.sigmoid(f.receptance(_mix(h, before, f.time_mix_receptance)))
            x = x + gate * f.value(torch.relu(f.key(_mix(h, before, f.time_mix_key))) ** 2)
        return self.model.head(self.model.rwkv.ln_out(x)), after


def _shift_right(before: Tensor, x: Tensor) -> Tensor:
    """The inputs of the steps before: `before`, then all of `x` but its last."""
    return torch.cat([before[:, None], x[:, :-1]], 1)


def _mix(h: Tensor, before: Tensor, share: Tensor) -> Tensor:
    """Token shift: `share` of h and the rest of what was before."""
    return h * share + before * (1 - share)


def _attention_sums(state: State, past: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """RWKV's sums of values and of weights with one more, divided by exp(most), and most.

    `past` is the exponent of the state's sums.
    """
    most = torch.maximum(past, key)
    old, new = torch.exp(past - most), torch.exp(key - most)
    return old * state["sum"] + new * value, old * state["weight"] + new, most


class GPT2(Steps):
    """GPT-2 (Radford et al. 2019) of `transformers`; the state is its cache of keys and values.

    Its positions end with its context; then the cache is emptied.
    """

    targets = ("c_attn", "c_proj", "c_fc")

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.context = model.config.n_positions

    def start(self, models: int) -> State:
        blocks, size = self.model.transformer.h, self.model.config.n_embd
        empty = self.model.lm_head.weight.new_zeros(models, 0, size)
        return {f"{i}.{name}": empty for i in range(len(blocks)) for name in ("key", "value")}

    def tokens_held(self, state: State) -> int:
        return state["0.key"].shape[1]

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        body, filled, count = self.model.transformer, self.tokens_held(state), tokens.shape[1]
        here = torch.arange(filled, filled + count, device=tokens.device)
        seen = torch.arange(filled + count, device=tokens.device) <= here[:, None]
        after, x = {}, body.wte(tokens) + body.wpe(here)
        for i, block in enumerate(body.h):
            query, *new = block.attn.c_attn(block.ln_1(x)).split(x.shape[-1], -1)
            key, value = (
                torch.cat([state[f"{i}.{name}"], one], 1)
                for name, one in zip(("key", "value"), new, strict=True)
            )
            after |= {f"{i}.key": key, f"{i}.value": value}
            shape = block.attn.num_heads, -1
            heads = (t.unflatten(-1, shape).movedim(2, 1) for t in (query, key, value))
            mixed = F.scaled_dot_product_attention(*heads, seen, scale=block.attn.scaling)
            x = x + block.attn.c_proj(mixed.movedim(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        return self.model.lm_head(body.ln_f(x)), after


# Type of a model, as its configuration names it -> its steps.
FAMILIES: dict[str, type[Steps]] = {"mamba": Mamba, "rwkv": RWKV, "gpt2": GPT2}
