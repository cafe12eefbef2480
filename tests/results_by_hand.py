"""Estimates worked out from rows by plain loops, for the tests of results."""

import numpy as np
import pytest
from made_up import settings
from scipy import stats

from orla.results import base
from orla.study import rates

COMPARED = {"per_step": ("rtrl", "immediate")}
COLUMNS = {  # written out, so that the declared estimands are held to something
    "heldout": ("selected", "validation_rolling_error", "heldout_error", "r2_mean"),
    "stable": ("selected", "validation_rolling_error", "heldout_stable_error", "stable_r2_mean"),
    "adapt": ("selected_on_adapt", "adapt_error", "adapt_error", None),
}  # fmt: skip
RECOVERY = {name: f"recovery_{name}_percent" for name in COLUMNS}
FROZEN = {"heldout": "frozen_heldout_error", "stable": "frozen_heldout_error",
          "adapt": "frozen_adapt_error"}  # fmt: skip


def given(**changes):
    return settings(COMPARED, main="per_step", **changes)


def table(name, frame, **changes):
    return base.build(name, {"models": frame}, given(**changes))


def matrix(frame, learner, column, pair="a"):
    """A column (seeds, rates) of one learner."""
    some = frame[(frame["learner"] == learner) & (frame["pair"] == pair)]
    return some.pivot(index="seed", columns="learning_rate", values=column).to_numpy(float)


def marked(frame, learner, estimand, pair="a"):
    (at,) = np.flatnonzero(matrix(frame, learner, COLUMNS[estimand][0], pair).any(axis=0))
    return at


def at(frame, learner, column, estimand, pair="a"):
    """A column (seeds,) at the marked rate."""
    return matrix(frame, learner, column, pair)[:, marked(frame, learner, estimand, pair)]


def best(values):
    return rates.lowest_error_index({i: values[:, i] for i in range(values.shape[1])})


def runner_up(frame, learner, estimand, pair="a"):
    """The second best rate where it is within one standard error of the marked one, which it is
    not where a network of either diverged or there is one seed; else the marked one."""
    errors = matrix(frame, learner, COLUMNS[estimand][1], pair)
    first = marked(frame, learner, estimand, pair)
    means = {j: errors[:, j].mean() for j in range(errors.shape[1]) if j != first}
    means = {j: mean for j, mean in means.items() if np.isfinite(mean)}
    if not means or len(errors) < 2:
        return first
    second = min(means, key=means.__getitem__)
    further = errors[:, second] - errors[:, first]
    return second if further.mean() <= stats.sem(further) else first


def t_ends(values, confidence=0.95):
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return np.nan, np.nan
    return stats.t.interval(confidence, len(values) - 1, values.mean(), stats.sem(values))


PATTERNS = {  # of a scale: a gap, the ends of its interval, its test with the unit and without
    "pp": ("gap{}_pp", "t90_{}{}_pp", "{}_pp", "{}"),
    "variance": ("error_gap{}", "error_t90_{}{}", "error_{}", "error_{}"),
}


def held(found, scale, way, gap, confidence=0.8):
    """The gap formed in one way and the ends of its interval are these seeds' or pairs'."""
    mean, end = PATTERNS[scale][:2]
    names = [mean.format(way), *(end.format(at, way) for at in ("low", "high"))]
    known = gap[np.isfinite(gap)]
    expected = [known.mean() if len(known) else np.nan, *t_ends(gap, confidence)]
    assert found[names].tolist() == pytest.approx(expected, abs=1e-10, nan_ok=True), way


def hold_test(found, scale, gap, margin, alpha=0.1):
    """Mean, scatter, intervals and test of one scale are scipy's of these seeds' or pairs' gaps."""
    gap = np.asarray(gap)[np.isfinite(gap)]
    held(found, scale, "", gap, 1 - 2 * alpha)
    unit, none = PATTERNS[scale][2:]
    p = max(stats.ttest_1samp(gap, -margin, alternative="greater").pvalue,
            stats.ttest_1samp(gap, margin, alternative="less").pvalue)  # fmt: skip
    low, high = t_ends(gap)
    star = np.abs(t_ends(gap, 1 - 2 * alpha)).max()
    expected = {"standard_error": stats.sem(gap), "t95_low": low, "t95_high": high}
    expected |= {"margin": margin, "delta_star": star}
    expected = {unit.format(n): v for n, v in expected.items()}
    others = {"dof": len(gap) - 1, "tost_p": p, "equivalent": p < alpha}
    expected |= {none.format(n): v for n, v in others.items()}
    assert found[[*expected]].tolist() == pytest.approx([*expected.values()], rel=1e-9, abs=1e-12)
