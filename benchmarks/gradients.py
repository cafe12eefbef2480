"""The learners' gradients beside braintrace's, step by step on one network that never changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import measure
from benchmarks.peers import peer
from benchmarks.problem import TOLERANCE, Problem, Weights, WrongNumbers
from orla import catalogue
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.gradients.frozen import Gradients
from orla.gradients.frozen import gradients as of_learner
from orla.losses.squared_error import SquaredError

PROBLEM = Problem("rnn", hidden=8, steps=30, n_in=3)
DRAWS = 4000
# Of about a hundred numbers, the largest is beyond this once in many thousand comparisons.
LARGEST_Z = 5.0
DECAY = 0.5

# braintrace's learner, our name for it, and why they are one, or are not.
SAME: tuple[tuple[str, dict[str, Any], Any, str], ...] = (
    (
        "D_RTRL",
        {},
        "immediate",
        "its default leaves W_hh out, all that a vanilla RNN carries",
    ),
    (
        "D_RTRL",
        {"recurrence_scope": "coupled"},
        "d_rtrl",
        "the diagonal, W_hh's included",
    ),
    ("OSTLRecurrent", {}, "d_rtrl", "keeps the same diagonal"),
    ("EProp", {}, "eprop", "feedback by the readout's own weights"),
    (
        "EProp",
        {"kappa_filter_decay": DECAY},
        {"kind": "trace", "decay": DECAY},
        "its filter of the trace is all that is carried",
    ),
    ("SnAp", {"n": 1}, "snap-1", "the same pattern"),
    ("SnAp", {"n": 2}, "rtrl", "two steps reach all of a vanilla RNN"),
    (
        "pp_prop",
        {"decay_or_rank": DECAY},
        None,
        "an outer product of two filtered vectors, which orla has not; the nearest is named",
    ),
)


def gradients() -> None:
    """Compare, print and keep both tables.

    Raises:
        OrlaError: braintrace is not installed.
        WrongNumbers: Two learners that should be one differ, or one that should be another is it;
            or a mean over draws is off.
    """
    braintrace = peer("in_braintrace", "braintrace")
    if braintrace is None:
        raise OrlaError("there is nothing to compare with")
    same = pd.DataFrame(_compared(braintrace))
    draws = pd.DataFrame(_unbiased(braintrace))
    for frame, name in ((same, "gradients"), (draws, "gradients_uoro")):
        print(frame.to_string(index=False, float_format=lambda value: f"{value:.2g}"), "\n")
        measure.keep(frame, name)


def _compared(braintrace: Any) -> Iterator[dict[str, Any]]:
    exact = _ours("rtrl")
    for name, options, own, why in SAME:
        theirs = braintrace.gradients(PROBLEM, name, options)
        specs = ["immediate", "d_rtrl", "rtrl"] if own is None else [own]
        found = [_apart(_ours(spec), theirs) for spec in specs]
        apart, near = min(found), specs[np.argmin(found)]
        if (apart <= TOLERANCE) != (own is not None):
            raise WrongNumbers(f"{_called(name, options)} and {near} differ by {apart:.1e}")
        yield {
            "braintrace": _called(name, options),
            "orla": near["kind"] + f"-{near['decay']}" if isinstance(near, dict) else near,
            "same": own is not None,
            "largest_difference": apart,
            "cosine_with_exact": _cosine(theirs, exact),
            "why": why,
        }


def _unbiased(braintrace: Any) -> Iterator[dict[str, Any]]:
    exact = _ours("rtrl")
    found = {
        "braintrace UORO": braintrace.gradients(PROBLEM, "UORO", {}, draws=DRAWS),
        "orla uoro": _drawn("uoro"),
    }
    for name, drawn in found.items():
        scores, spread = [], []
        for parameter in ("W_ih", "W_hh", "b_h"):
            # The last step's, which has the longest past.
            values, expected = drawn[parameter][:, -1], exact[parameter][-1]
            error = values.std(0, ddof=1) / np.sqrt(DRAWS)
            scores.append(((values.mean(0) - expected) / error).ravel())
            spread.append((values.var(0, ddof=1)).sum() / (expected**2).sum())
        z = np.concatenate(scores)
        if not np.abs(z).max() <= LARGEST_Z:
            raise WrongNumbers(f"{name}: its mean over draws is {np.abs(z).max():.1f} errors off")
        yield {
            "learner": name,
            "draws": DRAWS,
            "rms_z": float(np.sqrt((z**2).mean())),
            "largest_z": float(np.abs(z).max()),
            "numbers": len(z),
            "variance_over_squared_exact": float(np.mean(spread)),
        }


def _ours(spec: Any) -> Weights:
    learner = catalogue.make("learner", spec, architecture=PROBLEM.architecture)
    params = {name: torch.as_tensor(w) for name, w in PROBLEM.weights_of(0).items()}
    found = of_learner(learner, params, *PROBLEM.stream)
    return {name: found[name] for name in params}


def _drawn(spec: str) -> Weights:
    """As `_ours`, of `DRAWS` models that differ in their random numbers alone."""
    learner = catalogue.make("learner", spec, architecture=PROBLEM.architecture)
    weights = PROBLEM.weights_of(0)
    params = {n: torch.as_tensor(w).expand(DRAWS, *w.shape).clone() for n, w in weights.items()}
    loop = Loop(
        learner,
        catalogue.make("optimizer", "sgd"),
        SquaredError(),
        probes=[Gradients()],
        segment=PROBLEM.steps,
    )
    stream = {n: torch.as_tensor(a) for n, a in zip("xy", PROBLEM.stream, strict=True)}
    return loop.run(loop.start(params), torch.zeros(DRAWS).double(), stream).series


def _apart(ours: Weights, theirs: Weights) -> float:
    """Largest difference over all steps, relative to each parameter's largest number."""
    return float(max(np.abs(theirs[k] - w).max() / np.abs(w).max() for k, w in ours.items()))


def _cosine(one: Weights, other: Weights) -> float:
    """Of the recurrent parameters, mean over steps."""
    flat = [
        np.concatenate([w[name].reshape(PROBLEM.steps, -1) for name in ("W_ih", "W_hh", "b_h")], 1)
        for w in (one, other)
    ]
    lengths = np.linalg.norm(flat, axis=2)
    return float(((flat[0] * flat[1]).sum(1) / lengths.prod(0)).mean())


def _called(name: str, options: dict[str, Any]) -> str:
    return name + "".join(f", {key} {value}" for key, value in options.items())
