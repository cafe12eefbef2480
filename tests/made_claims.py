"""A registration of version 3, and the two tables that it reads, made up from gaps of pairs."""

import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import stats

from orla.prereg import judge
from orla.prereg.registration import LATER_PARTS, OTHERS

BINDS = {
    "record_sha256": "a" * 64,
    "parts": dict.fromkeys(("guards", "judge", *LATER_PARTS), "1" * 16),
    "syntax_sha256": "b" * 64,
    "results": ["results"],
    "recordings": {},
}
DOCUMENT = {
    "version": 3,
    "title": "The gradient's part is small",
    "question": "Is it?",
    "hypothesis": "The gap at one cadence lies within 3 pp.",
    "studies": ["made"],
    "primary": True,
    "results_seen": [
        {"data": "made up", "seen": "none", "by": "nobody", "statement": "It did not exist."}
    ],
    "task": "many-arrays",
    "estimand": "stable",
    "unit": "pair",
    "sample": {"pairs": 12, "seeds": 3},
    "conditions": {
        "architecture": "rnn",
        "optimizer": "adam",
        "precision": "float64",
        "split": "80-20",
    },
    "comparison": "per_step",
    "minus": ["rtrl", "immediate"],
    "claim": {"equivalent_within": 3},
    "alpha": 0.05,
    "interval": "t",
    "binds": BINDS,
    "exclusions": {"max_diverged": 2, "max_failing": 2},
    "manipulation_checks": [],
    "outcomes": {
        "supported": "The gradient buys nothing.",
        "falsified": "The gradient matters.",
        "inconclusive": "The pairs do not settle it.",
        "untestable": "The runs cannot tell.",
    },
}
KEY = DOCUMENT["conditions"] | {
    **{name: DOCUMENT[name] for name in ("task", "comparison", "estimand", "alpha")},
    **{"intervention": "none", "start": "pretrained"},
    **{"learner_full": "rtrl", "learner_immediate": "immediate"},
}
GONE = ("estimand", "conditions", "comparison", "minus")  # where there is a quantity
PAIR_RECOVERY = ("over_best_full_percent", "over_best_immediate_percent")
RECOVERY = ("over_best_full_low_percent", "over_best_immediate_low_percent")


def document(**changes):
    return copy.deepcopy(DOCUMENT) | changes


def seed_document(**changes):
    """The same for the seeds of one pair."""
    found = document(unit="seed", pair="indy", sample={"seeds": 5}, exclusions={"max_diverged": 1})
    return found | changes


# Of each scale: columns of the gap, its ends, standard error and degrees of freedom, and the size
# of what is one pp of the first.
SCALES = (
    ("gap{}_pp", "t90_{}{}_pp", "standard_error_pp", "dof", 1.0),
    ("error_gap{}", "error_t90_{}{}", "error_standard_error", "error_dof", 1 / 150),
)


def moments(values, way=""):
    """Mean, standard error, degrees of freedom and 90 % t interval, as the tables name them."""
    row = {}
    for gap, end, of_error, of_dof, size in SCALES:
        one, dof = np.asarray(values, dtype=float) * size, len(values) - 1
        error = one.std(ddof=1) / np.sqrt(len(one))
        half = stats.t.ppf(0.95, dof) * error
        row |= {gap.format(way): one.mean()} | ({} if way else {of_error: error, of_dof: dof})
        row |= {
            end.format("low", way): one.mean() - half,
            end.format("high", way): one.mean() + half,
        }
    return row


def estimate(
    gaps, seeds=5, diverged=0, guards="", recovery=30.0, frozen=None, runner_up=None, **key
):
    """A row of estimates, from the gaps of the seeds that did not diverge."""
    return (
        KEY
        | {"pair": "indy", "n_diverged": diverged, "guards": guards, "has_meaning": True}
        | dict.fromkeys(("n_seeds", "error_n_seeds"), seeds - diverged)
        | moments(gaps)
        | moments(gaps if frozen is None else frozen, "_frozen")
        | moments(gaps if runner_up is None else runner_up, "_runner_up_full")
        | moments(gaps, "_runner_up_immediate")
        | dict.fromkeys((*RECOVERY, *PAIR_RECOVERY), recovery)
        | key
    )


def tables(
    gaps, seeds=3, diverged=0, failing=(), recovery=30.0, frozen=None, runner_up=None, **key
):
    """over_pairs and estimates of pairs with these mean gaps.

    `diverged` models are those of the first pair, `failing` are the numbers of pairs with a guard;
    `frozen` and `runner_up` are the gaps formed in those ways.
    """
    gaps = np.asarray(gaps, dtype=float)
    frozen, runner_up = (gaps if g is None else np.asarray(g) for g in (frozen, runner_up))
    pairs = [
        estimate(
            [gap - 1, gap, gap + 1],
            seeds=seeds,
            diverged=diverged if i == 0 else 0,
            guards="few updates: adapt for longer" if i in failing else "",
            frozen=frozen[i] + np.arange(-1, 2),
            pair=f"pair-{i}",
            **key,
        )
        for i, gap in enumerate(gaps)
    ]
    sound = [gap for i, gap in enumerate(gaps) if i not in failing]
    row = estimate(gaps, seeds, 0, recovery=recovery, frozen=frozen, runner_up=runner_up, **key)
    row |= dict.fromkeys(("n_pairs", "error_n_pairs"), len(gaps))
    row |= dict.fromkeys(("n_seeds", "error_n_seeds"), seeds - bool(diverged))
    row |= {"n_failing": len(failing), "n_diverged": diverged} | moments(sound, "_without_failing")
    return {"over_pairs": pd.DataFrame([row]), "estimates": pd.DataFrame(pairs)}


def gaps(mean, sd=2.0, n=12):
    """Gaps of n pairs with exactly this mean and standard deviation, in pp."""
    drawn = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return mean + sd * (drawn - drawn.mean()) / drawn.std(ddof=1)


def quantity_row(mean, sd=0.1, n=5, unit="seed", alpha=0.05, **changes):
    """A row of quantities over n units."""
    error = sd / np.sqrt(n)
    row = {"quantity": "turn", "scale": "", "unit": unit, "alpha": alpha, "guards": ""}
    row |= {"value": mean, "standard_error": error, "dof": n - 1}
    for name, tail in (("t90", alpha), ("t95", 0.025)):
        half = stats.t.ppf(1 - tail, n - 1) * error
        row |= {f"{name}_low": mean - half, f"{name}_high": mean + half}
    row |= {"n_pairs": 1 if unit == "seed" else n, "n_seeds": n if unit == "seed" else 3}
    row |= dict.fromkeys(("n_diverged", "n_failing", "n_without_meaning"), 0)
    formed = (f"{name}_{way}" for way in OTHERS for name in ("value", "t90_low", "t90_high"))
    return row | dict.fromkeys(formed, np.nan) | changes


def quantity_pairs(row, values=None):
    """The table of pairs of a row over pairs: with its mean and standard error, or these values."""
    n = row["dof"] + 1
    spread = row["standard_error"] * np.sqrt(n)
    values = gaps(row["value"], spread, n) if values is None else values
    names = [f"pair-{i}" for i in range(len(values))]
    return pd.DataFrame({"quantity": row["quantity"], "pair": names, "value": values})


def verdicts(registrations, tables, bindings=None):
    """The verdict on each registration of one study."""
    bound = bindings or {each.name: BINDS for each in registrations}
    found = judge.judge_registrations(registrations, tables, bindings=bound)
    return [SimpleNamespace(**verdict) for verdict in found]
