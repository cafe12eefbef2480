"""Take the leading direction of the past out of the past's share of a gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters, matvec
from orla.catalogue import option
from orla.interventions.base import Gradients, State
from orla.interventions.past import OfPast


@dataclass(frozen=True, kw_only=True)
class ProjectPast(
    OfPast,
    name="project-past",
    label="past beyond {immediate} without its leading direction",
):
    """g' = g - u_1 (u_1 . g_past), with u_1 the leading left singular vector of past gradients.

    The paper's causal test (Section 3, "per-step direction is not decisive"): g_past = g_full -
    g_imm of each window is a column of G_past (d, columns), d being the number of parameters, and
    u_1 is projected out of g_past at each window. g being the full gradient, what is left of it is
    g_imm + (I - u_1 u_1^T) g_past. Where `full` is an observer, the same vector is taken out of the
    learner's gradient.

    At every update G_past holds the columns so far, the present one among them and no later one:
    the last `windows` of them, a new one in the place of the oldest. So in a run with no more than
    `windows` updates all columns count. u_1 = G_past v / ||G_past v||, with v the leading
    eigenvector of G_past^T G_past (columns, columns), of which each update changes one row and one
    column. The sign of u_1 does not matter. Where g_past is 0 the gradient stays as it is. Once
    G_past holds a number that is not finite, as after divergence, the answer is NaN.

    The state: "columns" (windows, d), G_past transposed, 0 where there is no column yet; "gram"
    (windows, windows); "seen" (), how many updates there were.
    """

    windows: int = option(100, "Most columns of G_past; the oldest one is replaced.", least=1)

    def init(self, params: Parameters) -> State:
        d = sum(math.prod(p.shape) for p in params.values())
        like = next(iter(params.values()))
        return {
            "columns": like.new_zeros(self.windows, d),
            "gram": like.new_zeros(self.windows, self.windows),
            "seen": torch.zeros((), dtype=torch.int64, device=like.device),
        }

    def update(
        self, gradients: Gradients, state: State, params: Parameters
    ) -> tuple[Parameters, State]:
        past = self._past(gradients, params)
        at = torch.arange(self.windows, device=past.device) == state["seen"] % self.windows
        columns = torch.where(at[:, None], past, state["columns"])
        products = matvec(columns, past)
        gram = torch.where(at[:, None], products, state["gram"])
        gram = torch.where(at, products[:, None], gram)
        component = _along_leading(columns, gram, past)
        shares = component.split([math.prod(p.shape) for p in params.values()])
        by_name = {n: t.view(p.shape) for (n, p), t in zip(params.items(), shares, strict=True)}
        answer = {name: g - by_name[name] for name, g in gradients.own.items()}
        return answer, {"columns": columns, "gram": gram, "seen": state["seen"] + 1}

    def _past(self, gradients: Gradients, params: Parameters) -> Tensor:
        """g_past (d,), in the order of `params`; 0 where one of the two gradients has none."""
        full, imm = self.full_and_immediate(gradients)
        return torch.cat(
            [
                (full[name] - imm[name] if name in full else torch.zeros_like(p)).reshape(-1)
                for name, p in params.items()
            ]
        )


def _along_leading(columns: Tensor, gram: Tensor, past: Tensor) -> Tensor:
    """u_1 (u_1 . past) (d,), from G^T (columns, d) and G^T G (columns, columns)."""
    finite = torch.isfinite(gram).all()
    # An eigenvalue problem that is not finite raises, and would end the run of all models.
    _, vectors = torch.linalg.eigh(torch.where(finite, gram, torch.zeros_like(gram)))
    u = (vectors[:, -1:] * columns).sum(0)
    length = (u * u).sum().sqrt()
    u = torch.where(length > 0, u / torch.where(length > 0, length, 1.0), torch.zeros_like(u))
    along = u * (u * past).sum()
    return torch.where(finite, along, torch.full_like(along, torch.nan))
