"""Values that stand for lost samples, such as -9999, where a file should have NaN."""

import numpy as np

from orla.errors import OrlaError

# A value is one if it is met so often, and so many SDs of all others away from their mean.
_TIMES, _SDS = 3, 50.0


def refuse_stand_ins(name: str, values: np.ndarray) -> None:
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
