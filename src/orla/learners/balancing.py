"""Random signs and norms for learners whose sensitivity is a product of two random factors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.programs.scan import materialize


def signs(noise: Tensor) -> Tensor:
    """-1 or 1, each with probability one half, from numbers that are uniform on [0, 1)."""
    return materialize(1.0 - 2.0 * (noise < 0.5).to(noise.dtype))


def norm(tensors: Tensor | Parameters) -> Tensor:
    """Euclidean norm (models,) of all numbers of a model, each tensor (models, ...)."""
    squares = [t * t for t in pytree.tree_leaves(tensors)]
    # By columns first, since a vector register holds numbers of several rows.
    by_row = [s.flatten(2).sum(2) if s.dim() > 2 else s for s in squares]
    return torch.sqrt(sum(s.sum(1) for s in by_row))


def times(factor: Tensor, tensor: Tensor) -> Tensor:
    """A factor for each model (models,), times a tensor (models, ...)."""
    return factor.reshape(-1, *[1] * (tensor.dim() - 1)) * tensor
