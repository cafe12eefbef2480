"""The two tables: immediate with Adam, and exact RTRL, each beside other ways to compute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import pandas as pd

from benchmarks import dense_rtrl, eager, measure, plain
from benchmarks.engine import TABLES, Case, cases, engine
from benchmarks.peers import peer
from benchmarks.problem import Problem, Variant, Weights, WrongNumbers, difference

Oracle = Callable[[int], Weights]


def _oracle(problem: Problem, window: int = 1) -> Oracle:
    return cache(lambda model: plain.adapt(problem, model, window))


def _one(run: Callable[[], Weights]) -> Callable[[], Weights]:
    return lambda: {name: w[None] for name, w in run().items()}


def _ours(case: Case) -> tuple[Problem, Variant]:
    name = "orla, blocks" if case.learner == "rtrl" else "orla"
    name += f", in batches of {case.batch}" if case.batch else ""
    run = engine(case.problem, case.models, case.learner, case.optimizer, case.batch)
    return case.problem, Variant(name, case.models, run)


def immediate(name: str, hidden: int = 64) -> Iterator[Variant]:
    """Immediate with Adam for one architecture; the first is what the others are compared with."""
    problem, short = Problem(name, hidden), Problem(name, hidden, steps=400)
    yield problem, Variant("PyTorch autograd, one model", 1, _one(partial(plain.adapt, problem)))
    if name == "rnn":
        yield short, Variant("eager torch, analytic", 25, partial(eager.analytic, short, 25))
        if numba := peer("in_numba", "numba"):
            run = partial(numba.immediate, problem)
            yield problem, Variant("numba, fused by hand", 1, run)
    yield short, Variant("eager torch, vmap(grad)", 25, partial(eager.vmap_grad, short, 25))
    jax = peer("in_jax", "jax")
    for way in jax.WAYS if jax else ():
        for models in (1, 5, 10, 25):
            run = jax.immediate(problem, models, way)
            yield problem, Variant(f"JAX {way}", models, run)
    yield from map(_ours, cases("immediate", "adam", name, hidden))


def tbptt(name: str, hidden: int = 64) -> Iterator[Variant]:
    """tbptt-200-200 with Adam."""
    problem = Problem(name, hidden)
    run = partial(plain.adapt, problem, 0, 200)
    yield problem, Variant("PyTorch autograd, one model", 1, _one(run))
    yield from map(_ours, cases("tbptt-200-200", "adam", name, hidden))


def rtrl(name: str, hidden: int) -> Iterator[Variant]:
    """Exact RTRL with plain gradient descent; the dense recursion comes first."""
    ours = list(cases("rtrl", "sgd", name, hidden))
    problem = ours[0].problem
    yield problem, Variant("dense P <- J P + D, BLAS", 1, partial(dense_rtrl.blas, problem))
    if (name, hidden) == ("rnn", 64):
        yield problem, Variant("NumPy, by definition", 1, partial(dense_rtrl.textbook, problem))
    yield from map(_ours, ours)


def _rtrl_oracle(problem: Problem) -> Oracle:
    """Of model 0 by the definition; other models' weights come from the engine one at a time."""

    @cache
    def final(model: int) -> Weights:
        shifted = _Seeded(problem, model)
        return {name: w[0] for name, w in dense_rtrl.textbook(shifted).items()}

    return final


class _Seeded(Problem):
    """The same problem for which model 0 is another model."""

    def __init__(self, problem: Problem, model: int) -> None:
        fields = ("name", "hidden", "steps", "rate", "n_in", "n_out")
        super().__init__(**{field: getattr(problem, field) for field in fields})
        object.__setattr__(self, "model", model)

    def weights_of(self, model: int) -> Weights:
        return super().weights_of(model + self.model)


def control() -> None:
    """The check refuses weights of a learning rate that is 0.1 % off; raises where it does not."""
    right, wrong = Problem(steps=200), Problem(steps=200, rate=1.001e-3)
    try:
        difference(_one(partial(plain.adapt, wrong))(), _oracle(right))
    except WrongNumbers:
        return
    raise AssertionError("the check of final weights does not notice another learning rate")


def _measured(title: str, variants: Iterator, oracle: Callable, repeats: int) -> pd.DataFrame:
    """Check every variant, then time them all in turn: a change of load meets each of them."""
    rows, runs, oracles = [], [], {}
    for problem, variant in variants:
        if problem not in oracles:
            oracles[problem] = oracle(problem)
        runs.append(variant.run)
        rows.append(
            {
                "table": title,
                "architecture": problem.name,
                "hidden": problem.hidden,
                "variant": variant.name,
                "models": variant.models,
                "difference": difference(variant.run(), oracles[problem]),
                "steps": problem.steps,
                "repeats": repeats,
            }
        )
    frame = pd.DataFrame(rows)
    if title.startswith("immediate") and frame["architecture"].iloc[0] == "rnn":
        frame, runs = _with_adam_alone(frame, runs)
    best, load = measure.best_cpu_seconds(runs, repeats)
    cost = pd.Series(best) * 1e6 / frame["steps"] / frame["models"]
    frame.insert(5, "times_faster", cost.iloc[0] / cost)
    fastest, way = _best_jax(frame, cost)
    frame.insert(6, "of_jax", cost / fastest)
    frame.insert(7, "us_per_model_and_step", cost)
    return frame.assign(load_average_least=min(load), load_average_most=max(load), best_jax=way)


def _best_jax(frame: pd.DataFrame, cost: pd.Series) -> tuple[float, str]:
    """The least cost that JAX reached in any way and batch size, and which these were."""
    rows = cost[frame["variant"].str.startswith("JAX")]
    if rows.empty:
        return float("nan"), ""
    best = frame.loc[rows.idxmin()]
    return rows.min(), f"{best['variant']}, {best['models']} models"


def _with_adam_alone(
    frame: pd.DataFrame, runs: list[Callable]
) -> tuple[pd.DataFrame, list[Callable]]:
    numba = peer("in_numba", "numba")
    if not numba:
        return frame, runs
    steps = 2000
    run = partial(numba.adam_alone, Problem().architecture.parameter_count(), steps)
    run()
    row = frame.iloc[0].to_dict() | {"variant": "Adam's arithmetic alone", "models": 1}
    row |= {"difference": float("nan"), "steps": steps}
    return pd.concat([frame, pd.DataFrame([row])], ignore_index=True), [*runs, run]


def tables(repeats: int) -> None:
    """Measure, print and keep all tables."""
    control()
    print("control: weights of another learning rate are refused, as they must be\n")
    frames = []
    kinds = {
        "immediate": (immediate, _oracle),
        "tbptt-200-200": (tbptt, partial(_oracle, window=200)),
        "rtrl": (rtrl, _rtrl_oracle),
    }
    for learner, optimizer, *which in TABLES:
        variants, oracle = kinds[learner]
        frame = _measured(f"{learner} + {optimizer}", variants(*which), oracle, repeats)
        frames.append(_shown(frame))
    measure.keep(pd.concat(frames, ignore_index=True), "tables")


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    first = frame.iloc[0]
    print(
        f"{first['table']}, {first['architecture']}, {first['hidden']} units, float64, one thread"
    )
    print(f"{'times faster':>13}{'of JAX':>8}{'us':>10}{'models':>8}  {'':34}{'difference':>11}")
    for row in frame.to_dict("records"):
        of_jax = f"{row['of_jax']:.2f}" if row["of_jax"] == row["of_jax"] else ""
        print(
            f"{row['times_faster']:>13.2f}{of_jax:>8}{row['us_per_model_and_step']:>10.1f}"
            f"{row['models']:>8}  {row['variant']:34}{row['difference']:>11.1e}"
        )
    print(f"us: CPU time a model and step, best of {first['repeats']}", end="; ")
    print(f"load average {first['load_average_least']} to {first['load_average_most']}\n")
    return frame
