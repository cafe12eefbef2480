"""Recovery: the share of what drift costs a network that adaptation makes good."""

import numpy as np

# A recovery over a smaller difference of errors is unreliable.
UNRELIABLE_BELOW = 0.05


def recovery_percent(
    frozen_error: np.ndarray, adapted_error: np.ndarray, reference_error: np.ndarray
) -> np.ndarray:
    """100 (frozen - adapted) / (frozen - reference), all mean errors; NaN without a reference.

    0 is a network that does not adapt, 100 one that does as well as the reference.
    Source: docs/protocol.md, Recovery; the paper does not define it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100.0 * (frozen_error - adapted_error) / (frozen_error - reference_error)


def is_unreliable(frozen_error: np.ndarray, reference_error: np.ndarray) -> np.ndarray:
    """Whether the denominator of `recovery_percent` is too small (under 0.05) to divide by."""
    return ~((frozen_error - reference_error) >= UNRELIABLE_BELOW)
