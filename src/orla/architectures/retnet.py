"""Multi-scale retention in its recurrent form, of RetNet."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec
from orla.catalogue import option
from orla.errors import OrlaError

EPSILON = 1e-5  # of the group norm, as torch.nn.GroupNorm


@dataclass(frozen=True)
class RetNet(Architecture, name="retnet", label="RetNet", order=38):
    """Multi-scale retention (Sun et al. 2023, eqs. 6 and 8) of u = W_in x + b_in.

    With q = W_q u, k = W_k u / sqrt(keys) and v = W_v u, a head has the state
    S_n = gamma S_{n-1} + v_n k_n^T (values, keys) and the output o_n = S_n q_n. Head j of all has
    gamma = 1 - 2^(-5-j). The block's output is h = W_o (swish(W_g u) * GroupNorm(o)), each head a
    group, without scale or shift. The state is (h, S of each head).

    `rotation` is the rotary part of xPos: pairs of keys turn by 10000^(-2j/keys) a step. Position n
    against m is all that matters, so S turns and no position is stored.

    Without rotation, exact RTRL takes for granted that the previous state enters a step as gamma
    S_{n-1} alone, and that S depends on no other parameters than W_in, b_in, W_k and W_v.

    Left out are residual connections, layer norm and the feed-forward network of a RetNet block,
    and the scale of xPos, for which gamma stands. `W_in` and b_in are in the place of embeddings.
    """

    heads: int = option(1, "Heads; `hidden` is a multiple of them.", least=1)
    keys: int = option(0, "Keys a head; 0 for as many as its values, hidden / heads.", least=0)
    rotation: bool = option(False, "Whether keys turn with their age, as in xPos.")

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise OrlaError(
                f'architecture {self.part.name}: "heads" is {self.heads} and "hidden" is'
                f" {self.hidden}; give a multiple of the heads"
            )
        if self.hidden == self.heads:
            raise OrlaError(
                f'architecture {self.part.name}: "hidden" is {self.hidden} and "heads" is'
                f" {self.heads}; a head needs two units or more, give more units or fewer heads"
            )
        if self.rotation and self.key_size % 2:
            raise OrlaError(
                f'architecture {self.part.name}: "rotation" turns pairs of keys, and a head has'
                f' {self.key_size}; give an even number of "keys"'
            )

    @property
    def value_size(self) -> int:
        """Values a head."""
        return self.hidden // self.heads

    @property
    def key_size(self) -> int:
        """Keys a head."""
        return self.keys or self.value_size

    @property
    def state_size(self) -> int:
        return self.hidden * (1 + self.key_size)

    def memories(self, state: Tensor) -> Tensor:
        """S of each head (..., heads, values, keys), of a state (..., state_size)."""
        return state[..., self.hidden :].unflatten(-1, (self.heads, self.value_size, self.key_size))

    def input_value_key(self, params: Parameters, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u (hidden,), and v (heads, values) and k (heads, keys) of each head, of an input."""
        u = matvec(params["W_in"], x) + params["b_in"]
        v, k = (matvec(params[name], u).view(self.heads, -1) for name in ("W_v", "W_k"))
        return u, v, k / math.sqrt(self.key_size)

    def gamma(self, like: Tensor) -> Tensor:
        """The decay of each head (heads,)."""
        head = torch.arange(self.heads, dtype=like.dtype, device=like.device)
        return 1.0 - torch.exp2(-5.0 - head)

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, keys = self.hidden, self.heads * self.key_size
        by_keys = dict.fromkeys(("W_q", "W_k"), (keys, n))
        square = dict.fromkeys(("W_v", "W_g", "W_o"), (n, n))
        return {"W_in": (n, self.n_in), "b_in": (n,), **by_keys, **square}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        u, v, k = self.input_value_key(params, x)
        q = matvec(params["W_q"], u).view(self.heads, -1)
        S = self.memories(state)
        if self.rotation:
            S = self._rotate_keys(S)
        S = self.gamma(S)[:, None, None] * S + v[:, :, None] * k[:, None, :]
        o = matvec(S, q[:, None, :])
        gate = torch.nn.functional.silu(matvec(params["W_g"], u))
        h = matvec(params["W_o"], gate * self._group_norm(o).flatten())
        return torch.cat([h, S.flatten()])

    def _rotate_keys(self, S: Tensor) -> Tensor:
        """S with the keys of each head turned by one step, pair by pair."""
        pair = torch.arange(0, self.key_size, 2, dtype=S.dtype, device=S.device)
        angle = torch.exp(-math.log(10000.0) * pair / self.key_size)
        cos, sin = torch.cos(angle), torch.sin(angle)
        first, second = S.unflatten(-1, (-1, 2)).unbind(-1)
        pairs = [first * cos + second * sin, second * cos - first * sin]
        return torch.stack(pairs, -1).flatten(-2)

    def _group_norm(self, o: Tensor) -> Tensor:
        """Each head's outputs (heads, values) with mean 0 and variance 1."""
        deviation = o - o.sum(-1, keepdim=True) / self.value_size
        variance = (deviation * deviation).sum(-1, keepdim=True) / self.value_size
        return deviation / torch.sqrt(variance + EPSILON)
