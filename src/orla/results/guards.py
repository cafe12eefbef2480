"""Reasons not to rely on an estimate of one pair, each with what to do about it."""

import numpy as np

LEAST_UPDATES = 20
LEAST_DENOMINATOR = 0.05
LEAST_STANDARD_ERRORS = 3.0
MOST_OTHER_RATES = 0.5


def denominator_fails(mean: float, standard_error: float) -> bool:
    """Whether recovery has no meaning: its denominator is too small, or there is none.

    Args:
        mean, standard_error: of frozen minus reference error over seeds; the standard error is NaN
            with one seed, and then only the mean counts.
    """
    small = not mean >= LEAST_DENOMINATOR
    return bool(small or mean < LEAST_STANDARD_ERRORS * standard_error)


def has_meaning(
    denominator: float = np.inf,
    denominator_se: float = np.nan,
    frozen_error: float = np.nan,
    constant_error: float = np.nan,
) -> bool:
    """Whether recovery says anything: of what is not known, nothing is held against it.

    Args: as in `reasons`.
    """
    return not (denominator_fails(denominator, denominator_se) or frozen_error > constant_error)


def reasons(
    *,
    updates: float,
    other_rate_share: float,
    margin_pp: float,
    price_pp: float = 0.0,
    frozen_error: float = np.nan,
    constant_error: float = np.nan,
    denominator: float = np.inf,
    denominator_se: float = np.nan,
) -> str:
    """The reasons, joined by "; "; empty without any. What is about recovery may be left out.

    Args:
        updates: the least number of updates of either learner.
        other_rate_share: the larger share of resamples that choose another rate.
        margin_pp: equivalence margin (pp).
        price_pp: the larger selection price of either (pp).
        frozen_error, constant_error: held-out errors of the frozen network and of the best
            constant prediction.
        denominator, denominator_se: as in `denominator_fails`.
    """
    unstable = abs(price_pp) > margin_pp or other_rate_share > MOST_OTHER_RATES
    unreferenced = bool(np.isnan(denominator))
    vague = not unreferenced and denominator_fails(denominator, denominator_se)
    failing = {
        f"fewer than {LEAST_UPDATES} updates: adapt for longer, or update more often": (
            updates < LEAST_UPDATES
        ),
        "the choice of the rate failed: run more seeds, or a longer selection part": unstable,
        "the frozen network is worse than predicting the mean: pretrain it for longer, or choose a"
        " pair that drifts less": frozen_error > constant_error,
        "recovery has no meaning without a reference: read the gap of the error": unreferenced,
        "recovery has no meaning, because the frozen network is about as good as the reference:"
        " choose a pair that drifts more, or read the gap of the error": vague,
    }
    return "; ".join(reason for reason, fails in failing.items() if fails)
