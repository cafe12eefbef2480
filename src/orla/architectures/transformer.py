"""A small causal transformer over the last inputs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import option
from orla.errors import OrlaError

_EPS = 1e-5  # of LayerNorm, as torch.nn.LayerNorm


@dataclass(frozen=True)
class Transformer(Architecture, name="transformer", label="transformer", order=55):
    """Transformer over a window of inputs (Vaswani et al. 2017; pre-norm Xiong et al. 2020).

    The predictor of LeWM (Maes et al. 2026) in small: learned positions, causal self-attention,
    pre-norm blocks, a last LayerNorm. The tokens of the last `context` inputs,

        z = W_in x + b_in + position     position 0 the oldest, of a full window
        z = z + W_o attention(q, k, v) + b_o           in each of `layers` blocks, as torch's
        z = z + W_2 GELU(W_1 norm(z) + b_1) + b_2      TransformerEncoderLayer

    and h_t = norm(z) of the newest. q, k, v = W_qkv norm(z) in `heads` parts; q and v have a bias,
    b_qv. That of k would cancel in the softmax: its gradient is 0 but for rounding errors, and Adam
    would take these for a gradient. The state is (h, valid,  window): the window holds the inputs
    (context, n_in), the oldest first, and `valid` tells its inputs from places that are empty at
    the beginning, which nobody attends to.

    The window depends on no parameter, so the immediate gradient is the full one; exact RTRL gives
    the same at a far higher cost. Simplifications: LeWM conditions its blocks on actions (AdaLN),
    gives each head 64 units of its own, and has dropout.
    """

    context: int = option(16, "Inputs that it attends to, the present one among them.", least=1)
    layers: int = option(2, "Blocks.", least=1)
    heads: int = option(4, "Heads of the attention; they divide the hidden units.", least=1)
    feedforward: int = option(4, "Units of a block's MLP, a multiple of the hidden units.", least=1)

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise OrlaError(
                f"transformer: {self.hidden} hidden units are no whole number of {self.heads} heads"
                ' of one size; change "hidden" or "heads"'
            )

    @property
    def state_size(self) -> int:
        return self.hidden + self.context * (1 + self.n_in)

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, wide = self.hidden, self.feedforward * self.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        shapes |= {"W_in": (n, self.n_in), "b_in": (n,), "position": (self.context, n)}
        for k in range(self.layers):
            shapes |= {f"scale_1.{k}": (n,), f"shift_1.{k}": (n,)}
            shapes |= {f"W_qkv.{k}": (3 * n, n), f"b_qv.{k}": (2 * n,)}
            shapes |= {f"W_o.{k}": (n, n), f"b_o.{k}": (n,)}
            shapes |= {f"scale_2.{k}": (n,), f"shift_2.{k}": (n,)}
            shapes |= {f"W_1.{k}": (wide, n), f"b_1.{k}": (wide,)}
            shapes |= {f"W_2.{k}": (n, wide), f"b_2.{k}": (n,)}
        return shapes | {"scale": (n,), "shift": (n,)}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """Matrices uniform in +-1/sqrt(columns), biases and shifts 0, scales 1."""
        params = super().init(generator, torch.float64)
        for name, shape in self.recurrent_shapes().items():
            if len(shape) == 2:
                params[name] = params[name] * math.sqrt(self.hidden / shape[-1])
            else:
                params[name] = torch.full(shape, float(name.startswith("scale"))).double()
        return {name: p.to(dtype) for name, p in params.items()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        _, valid, window = state.split([self.hidden, self.context, self.context * self.n_in])
        valid = torch.cat([valid[1:], valid.new_ones(1)])
        window = torch.cat([window[self.n_in :], x])
        inputs, mask = window.view(self.context, self.n_in), self._attention_mask(valid)
        tokens = _linear(params["W_in"], inputs) + params["b_in"] + params["position"]
        for k in range(self.layers):
            block = {name: params[f"{name}.{k}"] for name in _BLOCK}
            # Of the last block the newest token alone is read.
            tokens = self._block_outputs(block, tokens, mask[-1:] if k == self.layers - 1 else mask)
        h = _norm(params["scale"], params["shift"], tokens[-1])
        return torch.cat([h, valid, window])

    def _attention_mask(self, valid: Tensor) -> Tensor:
        """Which tokens (columns) a token (row) attends to: itself and the valid ones before it."""
        places = torch.arange(self.context, device=valid.device)
        return (places == places[:, None]) | ((places < places[:, None]) & (valid > 0))

    def _block_outputs(self, block: Parameters, tokens: Tensor, query_mask: Tensor) -> Tensor:
        """A block's outputs for its last tokens, as many as `query_mask` has rows."""
        queries = len(query_mask)
        z_norm = _norm(block["scale_1"], block["shift_1"], tokens)
        (W_q, W_k, W_v), (b_q, b_v) = (block[n].split(self.hidden) for n in ("W_qkv", "b_qv"))
        q, k = _linear(W_q, z_norm[-queries:]) + b_q, _linear(W_k, z_norm)
        v = _linear(W_v, z_norm) + b_v
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in (q, k, v))
        scores = (q[:, None] * k).sum(-1) / math.sqrt(self.hidden / self.heads)
        weights = torch.softmax(scores.masked_fill(~query_mask[..., None], -math.inf), 1)
        attention = (weights[..., None] * v).sum(1).flatten(-2)
        z = tokens[-queries:] + _linear(block["W_o"], attention) + block["b_o"]
        z_norm = _norm(block["scale_2"], block["shift_2"], z)
        wide = torch.nn.functional.gelu(_linear(block["W_1"], z_norm) + block["b_1"])
        return z + _linear(block["W_2"], wide) + block["b_2"]


# A block's parameters, by their names without its number.
_BLOCK = (
    *("scale_1", "shift_1", "W_qkv", "b_qv", "W_o", "b_o"),
    *("scale_2", "shift_2", "W_1", "b_1", "W_2", "b_2"),
)


def _linear(W: Tensor, tokens: Tensor) -> Tensor:
    """W times each token (tokens, columns); each model has a product and a rounding of its own."""
    return tokens @ W.T


def _norm(scale: Tensor, shift: Tensor, z: Tensor) -> Tensor:
    """LayerNorm over the last axis (Ba et al. 2016)."""
    deviation = z - z.mean(-1, keepdim=True)
    variance = (deviation * deviation).mean(-1, keepdim=True)
    return deviation * torch.rsqrt(variance + _EPS) * scale + shift
