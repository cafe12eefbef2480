"""Interventions that part a gradient into present and past."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters, matvec
from orla.catalogue import option
from orla.errors import OrlaError
from orla.interventions.base import GradientAndState, Gradients, Intervention, State, norm


@dataclass(frozen=True, kw_only=True)
class PastIntervention(Intervention):
    """g_past = g_full - g_imm over all parameters that both have (paper, Section 3).

    Each of the two is the learner's gradient or an observer's, by name.
    """

    immediate: str = option(text="The observer with the immediate gradient; own for the learner's.")
    full: str = option("own", "The observer with the full gradient; own likewise.")

    def __post_init__(self) -> None:
        if self.immediate == self.full:
            raise OrlaError(
                f'{self.kind} {self.part.name}: "immediate" and "full" are both "{self.full}", so'
                " that nothing is left of the past; name two gradients"
            )

    def observers(self) -> tuple[str, ...]:
        return tuple(name for name in (self.full, self.immediate) if name != "own")

    def full_and_immediate(self, gradients: Gradients) -> tuple[Parameters, Parameters]:
        """The full and the immediate gradient, by the parameters that both have."""
        by_name = {**gradients.observers, "own": gradients.own}
        full, imm = by_name[self.full], by_name[self.immediate]
        names = [name for name in full if name in imm]
        return {name: full[name] for name in names}, {name: imm[name] for name in names}


def inner_product(a: Parameters, b: Parameters) -> Tensor:
    """Inner product over all parameters of one model, (); of many under vmap."""
    return torch.stack([(a[name] * b[name]).sum() for name in a]).sum()


# Updates whose cosines a quantile is of.
_MOST_COSINES = 100


@dataclass(frozen=True, kw_only=True)
class Route(
    PastIntervention,
    name="route",
    label="past only where its cosine with {immediate} is at least {above:g}",
):
    """Per-window cosine routing: g = g_full where cos(g_imm, g_past) >= above, else g_imm.

    The paper (Section 3, falsified alternatives) names per-window cosine routing and does not
    define it; this definition is ours. The cosine is that of the update, so of a window where the
    learner updates once a window. With the threshold 0, the past is added unless it points against
    the present. Where it never does, nothing is routed; `quantile` 0.5 routes about half: the
    cosine has then to reach the median of those of the last updates (100 at most), its own among
    them. `probes.routed` counts what was routed.

    Where g_past is 0 both gradients are one. Where g_imm is 0, so that there is no cosine, the full
    one is taken. Parameters that only one of them has keep the learner's gradient.
    """

    above: float = option(
        0.0, "Least cosine at which the full gradient is taken.", least=-1, most=1
    )
    quantile: float = option(
        0.0,
        "Quantile of the cosines of the updates so far that it has to reach too; 0 asks for none.",
        least=0,
        most=1,
    )

    def init(self, params: Parameters) -> State:
        """The last cosines (100,), the newest last and -inf where there is none yet."""
        like = next(iter(params.values()))
        return {"cosines": like.new_full((_MOST_COSINES,), -torch.inf)} if self.quantile else {}

    def update(self, gradients: Gradients, state: State, params: Parameters) -> GradientAndState:
        full, imm = self.full_and_immediate(gradients)
        past = {name: full[name] - imm[name] for name in full}
        # Not divided by the norms, because one of them may be 0.
        agrees = inner_product(imm, past) >= self.above * norm(imm) * norm(past)
        if self.quantile:
            lengths = norm(imm) * norm(past)
            cosine = torch.where(lengths > 0, inner_product(imm, past) / lengths, 0.0)
            cosines = torch.cat([state["cosines"][1:], cosine[None]])
            finite = torch.isfinite(cosines)
            # It has reached the quantile where so many of the others lie below it.
            below = (finite & (cosines < cosine)).sum()
            agrees = agrees & (below >= self.quantile * (finite.sum() - 1))
            state = {"cosines": cosines}
        choice = {name: torch.where(agrees, full[name], imm[name]) for name in full}
        return {**gradients.own, **choice}, state


@dataclass(frozen=True, kw_only=True)
class ProjectPast(
    PastIntervention,
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

    def update(self, gradients: Gradients, state: State, params: Parameters) -> GradientAndState:
        past = self._flat_past_gradient(gradients, params)
        slot = torch.arange(self.windows, device=past.device) == state["seen"] % self.windows
        columns = torch.where(slot[:, None], past, state["columns"])
        products = matvec(columns, past)
        gram = torch.where(slot[:, None], products, state["gram"])
        gram = torch.where(slot, products[:, None], gram)
        component = _project_on_leading_component(columns, gram, past)
        shares = component.split([math.prod(p.shape) for p in params.values()])
        by_name = {n: t.view(p.shape) for (n, p), t in zip(params.items(), shares, strict=True)}
        answer = {name: g - by_name[name] for name, g in gradients.own.items()}
        return answer, {"columns": columns, "gram": gram, "seen": state["seen"] + 1}

    def _flat_past_gradient(self, gradients: Gradients, params: Parameters) -> Tensor:
        """g_past (d,), in the order of `params`; 0 where one of the two gradients has none."""
        full, imm = self.full_and_immediate(gradients)
        past = (full[n] - imm[n] if n in full else torch.zeros_like(p) for n, p in params.items())
        return torch.cat([g.reshape(-1) for g in past])


def _project_on_leading_component(columns: Tensor, gram: Tensor, past: Tensor) -> Tensor:
    """u_1 (u_1 . past) (d,), from G^T (columns, d) and G^T G (columns, columns)."""
    finite = torch.isfinite(gram).all()
    # An eigenvalue problem that is not finite raises, and would end the run of all models.
    _, vectors = torch.linalg.eigh(torch.where(finite, gram, torch.zeros_like(gram)))
    u = (vectors[:, -1:] * columns).sum(0)
    length = (u * u).sum().sqrt()
    u = torch.where(length > 0, u / torch.where(length > 0, length, 1.0), torch.zeros_like(u))
    along = u * (u * past).sum()
    return torch.where(finite, along, torch.full_like(along, torch.nan))
