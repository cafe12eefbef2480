"""Lost samples for which a file has numbers, such as -9999, where it should have NaN; and jumps."""

import numpy as np

from orla.errors import OrlaError

# A value is one if it is met so often, and so many SDs of all others away from their mean.
_TIMES, _SDS = 3, 50.0
# A position jumps where it moves by such a share of its range in one sample, and by so many times
# the lower quartile of its moves in as many samples around: lost, wrapped or centred anew.
_JUMP_SHARE, _JUMP_TIMES, _AROUND = 0.25, 10.0, 5
_DENSE_S = 0.051  # of samples at 20 Hz


def refuse_sentinel_values(name: str, values: np.ndarray) -> None:
    """Refuse values (steps, columns), all finite, of which one stands for lost samples.

    Where half of the others are one number, as at rest, their SD says nothing of what is far away.
    """
    for i, column in enumerate(values.astype(np.float64).T):
        ends = column.min(), column.max()
        others = column[~np.isin(column, ends)]  # a file may have one at either end
        for value in ends:
            count = np.count_nonzero(column == value)
            if count < _TIMES or not others.size or not np.ptp(np.quantile(others, [0.25, 0.75])):
                continue
            if abs(value - others.mean()) > _SDS * others.std():
                raise OrlaError(
                    f"{name}: column {i} is {value:g} at {count} samples and far from that at all "
                    "others, as where samples were lost; write NaN there"
                )


def position_jumps(values: np.ndarray, sample_s: float) -> np.ndarray:
    """(k,) bool: at which samples, `sample_s` seconds apart, positions (k, d) jump.

    Lost samples, which are NaN, do not. Samples of less than 20 Hz tell no jump from a movement.
    """
    jumps = np.zeros(len(values), bool)
    whole = values[np.isfinite(values).all(axis=1)]
    if sample_s <= _DENSE_S and len(whole) > 2 * _AROUND:
        low, high = np.percentile(whole, [1, 99], axis=0)
        moves = np.linalg.norm(np.diff(values, axis=0, prepend=values[:1]), axis=1)
        for i in np.flatnonzero(moves > _JUMP_SHARE * np.linalg.norm(high - low)):
            around = moves[max(i - _AROUND, 0) : i + _AROUND + 1]
            jumps[i] = moves[i] > _JUMP_TIMES * np.nanquantile(around, 0.25)
    return jumps
