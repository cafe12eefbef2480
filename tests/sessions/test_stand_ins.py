"""Values that stand for lost samples are refused, and none that a recording may have."""

import numpy as np
import pytest
from made import session

from orla.errors import OrlaError
from orla.sessions.binned import Source, read_binned
from orla.sessions.from_spikes import bin_session
from orla.sessions.preparation import Preparation
from orla.sessions.stand_ins import refuse_sentinel_values

N = 3000
RNG = np.random.default_rng(0)
WALK = np.sin(np.arange(N)[:, None] / [70, 90])


def marked(value, samples, column=1, values=WALK):
    values = values.copy()
    values[samples, column] = value
    return values


def test_a_value_far_from_all_others_again_and_again_is_refused():
    for value in (-9999, 9999, -999.0, 1e30, -32768, np.float32(-9999.9)):
        for count in (3, 800):
            said = rf"x: column 1 is .* at {count} samples and far .*; write NaN there"
            with pytest.raises(OrlaError, match=said):
                refuse_sentinel_values("x", marked(value, slice(100, 100 + count)))
    # Values at either end do not hide each other.
    both = marked(9999, slice(200, 300), values=marked(-9999, slice(100, 200)))
    with pytest.raises(OrlaError, match=r"x: column 1 is -9999 at 100 samples"):
        refuse_sentinel_values("x", both)


def test_plausible_values_are_not_refused_as_placeholders():
    for values in (
        WALK,
        marked(-9999, slice(100, 102)),  # twice may be chance
        marked(30.0, slice(100, 900)),  # clipped, or at rest
        marked(0.0, slice(100, 2900)),
        np.clip(RNG.standard_cauchy((N, 2)), -50, 50).round(),
        np.where(RNG.random((N, 2)) < 0.002, 1.0, 0.0),  # rare events
        np.where(RNG.random((N, 2)) < 0.002, RNG.integers(1, 3, (N, 2)), 0.0),
        np.full((N, 2), 3.0),
        np.zeros((N, 0)),
        WALK + 1e6,
    ):
        refuse_sentinel_values("x", values)


def test_recordings_of_either_kind_are_checked_where_they_are_not_left_out(tmp_path):
    day = session()
    day.behavior["cursor_pos"][500:600] = -9999
    with pytest.raises(OrlaError, match=r"day: cursor_pos: column 0 is -9999 at 100 samples"):
        bin_session(day, Preparation())
    day.left_out = [("invalid_times", *day.time_s[[499, 601]])]
    bin_session(day, Preparation())
    np.savez(tmp_path / "a.npz", counts=np.ones((N, 2)), vel=marked(-9999, slice(9)), bin_s=0.1)
    with pytest.raises(OrlaError, match=r"a\.npz: vel: column 1 is -9999 at 9 samples"):
        read_binned(tmp_path / "a.npz", Source())
