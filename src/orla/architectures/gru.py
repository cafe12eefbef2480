"""Gated recurrent units: torch's cell, and the block-diagonal core of DreamerV3."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec
from orla.catalogue import option
from orla.errors import OrlaError


@dataclass(frozen=True)
class GRU(Architecture, name="gru", label="GRU", order=25):
    """GRU (Cho et al. 2014), as torch.nn.GRUCell.

    h_t = (1 - z) n + z h_{t-1}, with r and z sigmoids of W_ih x + W_hh h + b_h, and
    n = tanh(W_in x + b_in + r (W_hn h + b_n)). Gates are in the order r, z, n. Of GRUCell's two
    biases, those of r and of z are one here, because the cell only ever adds them.

    It is no `LinearGates`: r multiplies W_hn h + b_n and not W_in x, so the gradient of W_in and
    that of W_hn are outer products with different cotangents, and `LinearGates` has one for both.
    With a fourth block of gates it would learn weights that the network does not have. Derivatives
    are automatic.
    """

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, gates = self.hidden, 3 * self.hidden
        return {"W_ih": (gates, self.n_in), "W_hh": (gates, n), "b_h": (gates,), "b_n": (n,)}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        r_x, z_x, n_x = (matvec(params["W_ih"], x) + params["b_h"]).split(self.hidden)
        r_h, z_h, n_h = matvec(params["W_hh"], state).split(self.hidden)
        r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
        n = torch.tanh(n_x + r * (n_h + params["b_n"]))
        return (1.0 - z) * n + z * state


# Of RMSNorm, as in the public code.
_EPS = 1e-4
# A normal number cut off at two standard deviations, times this, has a standard deviation of 1.
_UNCUT = 1.1368


@dataclass(frozen=True)
class BlockGRU(Architecture, name="block_gru", label="Block-GRU + MLP", order=35):
    """Block-GRU + MLP (Hafner et al. 2023, DreamerV3), as `RSSM._core` of the public code.

    dense(v) = SiLU(RMSNorm(W v + b)). With h in `blocks` blocks of units,

        e = dense(h), dense(x)                     both seen by every block
        u = dense of each block's own h and of e   W_hh, block-diagonal, and W_eh
        reset, cand, update = of each block's own u
        h = update cand + (1 - update) h           update = sigmoid(update - 1)
                                                   cand = tanh(sigmoid(reset) cand)
        m = dense(dense(h))                        as many as `mlp`; the readout sees m

    The state is (m, h), or h alone where `mlp` is 0. m is that of the prior's head (`_prior`).

    Simplifications: one input x in place of the stochastic state and the action, so one embedding
    (`dynin1`) in place of two; one layer u (`dynlayers` 1); no stochastic state, no unimix, no
    bfloat16. Weights are drawn as there: normal, cut off at two standard deviations, of variance
    one over the inputs (of a block matrix: those of all its blocks); biases 0, scales 1. The
    readout is drawn as every readout here.
    """

    blocks: int = option(8, "Blocks that the units are divided into.", least=1)
    units: int = option(32, "Units of each of the two embeddings.", least=1)
    mlp: int = option(2, "Layers between h and the readout.", least=0)

    def __post_init__(self) -> None:
        if self.hidden % self.blocks:
            raise OrlaError(
                f"block_gru: {self.hidden} hidden units are no whole number of {self.blocks} blocks"
                ' of one size; change "hidden" or "blocks"'
            )

    @property
    def state_size(self) -> int:
        return (2 if self.mlp else 1) * self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n, g, e = self.hidden, self.blocks, self.units
        shapes: dict[str, tuple[int, ...]] = {}
        shapes |= {"W_he": (e, n), "b_he": (e,), "scale_he": (e,)}
        shapes |= {"W_ih": (e, self.n_in), "b_ih": (e,), "scale_ih": (e,)}
        shapes |= {"W_hh": (g, n // g, n // g), "W_eh": (g, n // g, 2 * e)}
        shapes |= {"b_h": (n,), "scale_h": (n,)}
        shapes |= {"W_g": (g, 3 * n // g, n // g), "b_g": (g, 3 * n // g)}
        for k in range(self.mlp):
            shapes |= {f"W_m.{k}": (n, n), f"b_m.{k}": (n,), f"scale_m.{k}": (n,)}
        return shapes

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """Fresh parameters: weights as in DreamerV3, the readout's as in every network here."""
        params = super().init(generator, torch.float64)
        for name, shape in self.recurrent_shapes().items():
            if name.startswith("W"):
                # W_hh and W_eh are one matrix there, with the inputs of both.
                joint_inputs = self.blocks * (self.hidden // self.blocks + 2 * self.units)
                inputs = joint_inputs if name in ("W_hh", "W_eh") else math.prod(shape) // shape[-2]
                weights = torch.empty(shape, dtype=torch.float64)
                torch.nn.init.trunc_normal_(weights, generator=generator)
                params[name] = weights * (_UNCUT / math.sqrt(inputs))
            else:
                params[name] = torch.full(shape, float(name.startswith("scale"))).double()
        return {name: p.to(dtype) for name, p in params.items()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        h = state[-self.hidden :]
        embedding = torch.cat(
            [_dense_norm_silu(params, "he", h), _dense_norm_silu(params, "ih", x)]
        )
        within = matvec(params["W_hh"], _in_blocks(h, self.blocks))
        by_block = within + matvec(params["W_eh"], embedding)
        u = _silu_rms_norm(by_block.flatten() + params["b_h"], params["scale_h"])
        gates = matvec(params["W_g"], _in_blocks(u, self.blocks)) + params["b_g"]
        reset, cand, update = (gate.flatten() for gate in gates.chunk(3, -1))
        cand = torch.tanh(torch.sigmoid(reset) * cand)
        update = torch.sigmoid(update - 1.0)
        h = update * cand + (1.0 - update) * h
        m = h
        for k in range(self.mlp):
            m = _dense_norm_silu(params, f"m.{k}", m)
        return torch.cat([m, h]) if self.mlp else h


def _in_blocks(vector: Tensor, blocks: int) -> Tensor:
    """A vector in blocks, each to be multiplied with the rows of its own matrix."""
    return vector.view(blocks, 1, -1)


def _dense_norm_silu(params: Parameters, name: str, v: Tensor) -> Tensor:
    """SiLU(RMSNorm(W v + b)) by the weights of a name."""
    wide = matvec(params[f"W_{name}"], v) + params[f"b_{name}"]
    return _silu_rms_norm(wide, params[f"scale_{name}"])


def _silu_rms_norm(v: Tensor, scale: Tensor) -> Tensor:
    """SiLU(RMSNorm(v)): RMSNorm by Zhang and Sennrich (2019)."""
    return torch.nn.functional.silu(v * torch.rsqrt((v * v).mean() + _EPS) * scale)
