"""A registration of version 2, and the two tables that it reads, made up from gaps of pairs."""

import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import stats

from orla.prereg import judge

BINDS = {"config_sha256": "a" * 64, "code_sha256": "b" * 64}
DOCUMENT = {
    "version": 2,
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
KEY = {
    "task": "many-arrays",
    "architecture": "rnn",
    "optimizer": "adam",
    "precision": "float64",
    "split": "80-20",
    "intervention": "none",
    "start": "pretrained",
    "comparison": "per_step",
    "learner_full": "rtrl",
    "learner_immediate": "immediate",
    "estimand": "stable",
    "alpha": 0.05,
}


def document(**changes):
    return copy.deepcopy(DOCUMENT) | changes


def lockable(**changes):
    """A document of version 3, bound to some behaviour."""
    binds = {"record_sha256": "a" * 64, "parts": {"guards": "1" * 16, "judge": "2" * 16}}
    binds |= {"syntax_sha256": "b" * 64, "results": ["results/made"]}
    return document(version=3, binds=binds) | changes


def seed_document(**changes):
    """The same for the seeds of one pair."""
    found = document(unit="seed", pair="indy", sample={"seeds": 5}, exclusions={"max_diverged": 1})
    return found | changes


def moments(values, ending=""):
    """Mean, standard error, degrees of freedom and 90 % t interval, as the tables name them."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values))
    half = stats.t.ppf(0.95, len(values) - 1) * error
    row = {f"gap{ending}_pp": values.mean()}
    row |= {f"t90_low{ending}_pp": values.mean() - half}
    row |= {f"t90_high{ending}_pp": values.mean() + half}
    return row if ending else row | {"standard_error_pp": error, "dof": len(values) - 1}


def estimate(gaps, seeds=5, diverged=0, guards="", recovery=30.0, frozen=None, **key):
    """A row of estimates, from the gaps of the seeds that did not diverge."""
    return (
        KEY
        | {"pair": "indy", "n_seeds": seeds - diverged, "n_diverged": diverged, "guards": guards}
        | moments(gaps)
        | moments(gaps if frozen is None else frozen, "_frozen")
        | {"recovery_full_low_percent": recovery, "recovery_immediate_low_percent": recovery}
        | key
    )


def tables(gaps, seeds=3, diverged=0, failing=(), recovery=30.0, frozen=None, **key):
    """over_pairs and estimates of pairs with these mean gaps.

    `diverged` models are those of the first pair, `failing` are the numbers of pairs with a guard,
    and `frozen` the gaps with diverged models scored as the frozen network.
    """
    gaps = np.asarray(gaps, dtype=float)
    frozen = gaps if frozen is None else np.asarray(frozen, dtype=float)
    pairs = [
        estimate(
            [gap - 1, gap, gap + 1],
            seeds=seeds,
            diverged=diverged if i == 0 else 0,
            guards="fewer than 20 updates: adapt for longer" if i in failing else "",
            pair=f"pair-{i}",
            **key,
        )
        | {"gap_pp": gap, "gap_frozen_pp": frozen[i]}
        for i, gap in enumerate(gaps)
    ]
    sound = [gap for i, gap in enumerate(gaps) if i not in failing]
    row = (
        KEY
        | {"n_pairs": len(gaps), "n_seeds": seeds - bool(diverged), "n_failing": len(failing)}
        | {"n_diverged": diverged}
        | moments(gaps)
        | moments(frozen, "_frozen")
        | moments(sound, "_without_failing")
        | {"recovery_full_low_percent": recovery, "recovery_immediate_low_percent": recovery}
        | key
    )
    return {"over_pairs": pd.DataFrame([row]), "estimates": pd.DataFrame(pairs)}


def gaps(mean, sd=2.0, n=12):
    """Gaps of n pairs with exactly this mean and standard deviation, in pp."""
    drawn = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return mean + sd * (drawn - drawn.mean()) / drawn.std(ddof=1)


def verdicts(registrations, tables, bindings=None):
    """The verdict on each registration of one study."""
    bound = bindings or {each.name: BINDS for each in registrations}
    found = judge.judge(registrations, tables, bindings=bound)
    return [SimpleNamespace(**verdict) for verdict in found]
