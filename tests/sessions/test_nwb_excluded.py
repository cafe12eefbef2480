"""Time that files of others exclude: on the recording's clock, or refused."""

import met
import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions import nwb

pytestmark = pytest.mark.filterwarnings("ignore")
EACH = np.array([(start, start + 1.5) for start in range(0, 40, 2)])


def invalid(rows):
    def fill(file):
        for start, stop in rows:
            file.add_invalid_time_interval(start_time=start, stop_time=stop)

    return {"fill": fill}


def trials(rows):
    def fill(file):
        for start, stop in rows:
            file.add_trial(start_time=start, stop_time=stop)

    return {"fill": fill}


def observed(rows):
    return {"columns": {"obs_intervals": [rows] * met.UNITS}}


def read(folder, name, rows):
    met.written(folder / "day.nwb", 1, **TABLES[name](rows))
    source = nwb.Source(cursor="hand", trials=name == "trials")
    return nwb.read_session(folder / "day.nwb", source)


TABLES = {"trials": trials, "invalid_times": invalid, "units, obs_intervals": observed}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: 1e3 * x, r"1\d of 20 intervals, which start at 0 to 38000 s, lie outside the "),
        (lambda x: 3e4 * x, r"19 of 20 intervals, .* recording, 0 to 40 s; give them in seconds"),
        (lambda x: 1.58e9 + x, "20 of 20 intervals, which start at 1580000000 to 1580000038 s"),
        (lambda x: x[:, ::-1], r"interval 1 runs from 1\.5 to 0 s; give it a start, and a stop"),
        (lambda x: np.where(x == 6, np.nan, x), r"interval 4 runs from nan to 7\.5 s"),
        (lambda x: np.where(x == 7.5, np.nan, x), "interval 4 runs from 6 to nan s"),
    ],
)
def test_a_table_on_another_clock_reversed_or_without_a_time_is_refused(
    name, change, words, tmp_path
):
    with pytest.raises(OrlaError, match=rf"day\.nwb: {name}: {words}") as caught:
        read(tmp_path, name, change(EACH))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", TABLES)
def test_intervals_in_part_outside_and_a_last_one_without_a_stop_are_taken(name, tmp_path):
    """Seconds 10 to 20 and 30 to the end; of those before and after nothing is recorded."""
    end = 99.0 if "units" in name else np.nan
    rows = np.array([(-5.0, -1.0), (10.0, 20.0), (30.0, end)])
    session = read(tmp_path, name, rows)
    inside = ((session.time_s >= 10) & (session.time_s <= 20)) | (session.time_s >= 30)
    is_left_out = session.interval_index() > 0
    np.testing.assert_array_equal(is_left_out, inside if name == "invalid_times" else ~inside)
