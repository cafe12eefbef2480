"""A made-up table of models, and the comparisons of the study's own config."""

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.study import rates as rates_of

COMPARISONS = {
    "paper": ("tbptt-200-200", "immediate"),
    "per_step": ("rtrl", "immediate"),
    "per_window": ("tbptt-200-200", "immediate-200"),
    "cadence_immediate": ("immediate-200", "immediate"),
    "cadence_full": ("tbptt-200-200", "rtrl"),
    "floor": ("immediate", "last-layer"),
}
LEARNERS = ["immediate", "immediate-200", "tbptt-200-200", "rtrl", "last-layer"]
RATES = [1e-3, 1e-2]
CONDITION = {
    "task": "recordings",
    "pair": "",
    "architecture": "rnn",
    "learner": "immediate",
    "optimizer": "adam",
    "precision": "float64",
    "split": "80-20",
    "intervention": "none",
    "start": "pretrained",
}


def settings(comparisons=COMPARISONS, **statistics):
    """Settings as a config gives them, with few resamples."""
    named = {name: {"minus": list(pair)} for name, pair in comparisons.items()}
    return Settings.from_config({"resamples": 200} | statistics, named)


def models(
    learners=LEARNERS,
    optimizers=("adam",),
    splits=("80-20",),
    seeds=5,
    pairs=("",),
    drawn=11,
    **condition,
):
    """Every model of some conditions: two rates, the first selected, the second better on test.

    Each number is drawn by itself, so that none can stand for another.
    """
    generator = np.random.default_rng(drawn)
    conditions = [
        CONDITION | condition | {"learner": lr, "optimizer": o, "split": s, "pair": p}
        for p in pairs
        for lr in learners
        for o in optimizers
        for s in splits
    ]
    rows = [
        key
        | {
            "seed": seed,
            "learning_rate": rate,
            "diverged": False,
            "selected": rate == RATES[0],
            "selected_on_test": rate == RATES[1],
            "edge": False,
            "unreliable": False,
            "frozen_heldout_error": generator.uniform(1.0, 1.2),
            "heldout_error": generator.uniform(0.5, 0.9),
            "recovery_heldout_percent": generator.normal(40, 5) + 2 * (rate == RATES[1]),
            "recovery_adapt_percent": generator.normal(60, 5),
            "r2_mean": generator.normal(0.3, 0.05),
            "r2_weighted": generator.normal(0.4, 0.05),
            "update_ratio": np.nan if key["learner"] == "last-layer" else generator.uniform(4, 10),
        }
        for key in conditions
        for seed in range(seeds)
        for rate in RATES
    ]
    return with_stable(pd.DataFrame(rows), drawn)


def with_stable(frame, drawn=11):
    """The columns of the choice of the rate and of the other estimands; "adapt" has rate 2.

    Validation errors mostly choose the rate that is marked.
    """
    generator = np.random.default_rng([drawn, 1])
    n = len(frame)
    first, second = frame["selected"], frame["selected_on_test"]
    return frame.assign(
        selected_on_adapt=second,
        selected_on_tail=second,
        edge_on_adapt=True,
        validation_error=generator.uniform(0.6, 0.8, n) + 0.1 * first,
        validation_rolling_error=generator.uniform(0.6, 0.8, n) + 0.1 * second,
        adapt_error=generator.uniform(0.5, 0.9, n) + 0.1 * first,
        heldout_stable_error=generator.uniform(0.5, 0.9, n),
        recovery_stable_percent=generator.normal(45, 5, n),
        stable_r2_mean=generator.normal(0.35, 0.05, n),
        stable_r2_weighted=generator.normal(0.45, 0.05, n),
        frozen_adapt_error=generator.uniform(1.0, 1.2, n),
        reference_error=generator.uniform(0.3, 0.4, n),
        constant_error=generator.uniform(1.3, 1.4, n),
        updates=13200,
    )


def varied(
    seeds=(("a", 4), ("b", 3), ("c", 5)), rates=(("rtrl", 3), ("immediate", 4)), drawn=0, lost=0.2
):
    """Models whose errors, recoveries and marks belong together, at several rates, some diverged.

    Args:
        seeds: (pair, number of seeds) each.
        rates: (learner, number of rates) each; the largest diverges most.
        lost: share of models that diverge at the largest rate.
    """
    generator = np.random.default_rng(drawn)
    rows = []
    for pair, n in seeds:
        frozen, adapting = generator.uniform(1.0, 1.2, n), generator.uniform(1.3, 1.5, n)
        reference = generator.uniform(0.3, 0.4, n)
        level = generator.normal(0, 0.05)
        for learner, m in rates:
            shape = n, m
            gone = generator.uniform(size=shape) < lost * np.linspace(0, 1, m)
            early = generator.uniform(size=shape) < 0.3
            falling = 0.7 - 0.01 * np.arange(m)
            at = {
                "validation_error": falling + generator.normal(0, 0.02, shape),
                "validation_rolling_error": falling + generator.normal(0, 0.02, shape),
                "heldout_error": 0.8 + level + generator.normal(0, 0.03, shape),
                "heldout_stable_error": 0.8 + level + generator.normal(0, 0.03, shape),
                "adapt_error": 0.9 + generator.normal(0, 0.03, shape),
                "r2_mean": generator.normal(0.3, 0.05, shape),
                "stable_r2_mean": generator.normal(0.3, 0.05, shape),
            }
            for name, values in at.items():
                values[gone & (early if name.startswith("validation") else True)] = np.nan
            for name, column, below in (
                ("recovery_heldout_percent", "heldout_error", frozen),
                ("recovery_stable_percent", "heldout_stable_error", frozen),
                ("recovery_adapt_percent", "adapt_error", adapting),
            ):
                at[name] = 100 * (below[:, None] - at[column]) / (below - reference)[:, None]
            best = {
                name: rates_of.lowest_error_index({i: at[column][:, i] for i in range(m)})
                for name, column in (
                    ("selected", "validation_rolling_error"),
                    ("selected_on_tail", "validation_error"),
                    ("selected_on_adapt", "adapt_error"),
                    ("selected_on_test", "heldout_error"),
                )
            }
            rows += [
                CONDITION
                | {"learner": learner, "pair": pair, "seed": seed, "learning_rate": 10.0 ** (i - 4)}
                | {"diverged": bool(gone[seed, i])}
                | {name: i == chosen for name, chosen in best.items()}
                | {"edge": best["selected"] in (0, m - 1)}
                | {"edge_on_adapt": best["selected_on_adapt"] in (0, m - 1), "unreliable": False}
                | {name: values[seed, i] for name, values in at.items()}
                | {"frozen_heldout_error": frozen[seed], "frozen_adapt_error": adapting[seed]}
                | {"reference_error": reference[seed], "constant_error": 1.6 + 0.01 * seed}
                | {"updates": 13200 if learner == "rtrl" else 66}
                for seed in range(n)
                for i in range(m)
            ]
    return pd.DataFrame(rows)
