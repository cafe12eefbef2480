"""Exact power of the two one-sided tests (TOST) of a mean within symmetric margins."""

import numpy as np
from scipy import integrate, stats


def tost_power(n, difference, sd, margin, alpha=0.05):
    """Power over n pairs, whose differences have this mean and standard deviation.

    The probability that the test passes, given the share s of the standard error that is
    estimated, integrated over the distribution of s (the same number as Owen's Q).
    """
    error, dof = sd / np.sqrt(n), n - 1
    critical = stats.t.ppf(1 - alpha, dof)
    spread = stats.chi(dof, scale=1 / np.sqrt(dof))

    def passed(s):
        low, high = ((end - difference) / error for end in (-margin, margin))
        inside = stats.norm.cdf(high - critical * s) - stats.norm.cdf(low + critical * s)
        return float(spread.pdf(s) * inside)

    # quad misses a narrow density inside a wide range, so it is told where the mass lies.
    bounds = np.clip(spread.ppf([1e-12, 1 - 1e-12]), 0, margin / (critical * error))
    return integrate.quad(passed, *bounds, limit=200)[0]
