"""Time that files of others exclude: on the recording's clock, or refused."""

import numpy as np
import pytest
import recording_cases

from orla.errors import OrlaError
from orla.sessions import clocks, nwb
from orla.sessions.from_spikes import bin_session
from orla.sessions.preparation import Preparation

pytestmark = pytest.mark.filterwarnings("ignore")
EACH = recording_cases.EVERY_OTHER_SECOND


TABLES = {
    "trials": recording_cases.trials,
    "invalid_times": lambda rows: recording_cases.invalid(*rows),
    "units, obs_intervals": recording_cases.observed,
}


def read(folder, name, rows, **change):
    recording_cases.written(folder / "day.nwb", 1, **TABLES[name](rows), **change)
    source = nwb.Source(cursor="hand", trials=name == "trials")
    return nwb.read_session(folder / "day.nwb", source)


WRONG = [
    (1e3 * EACH, r"1\d of 20 intervals, which start at 0 to 38000 s, lie outside the recording"),
    (3e4 * EACH, r"19 of 20 intervals, .* recording, 0 to 40 s; give them in seconds"),
    (1.58e9 + EACH, "20 of 20 intervals, which start at 1580000000 to 1580000038 s"),
    (EACH[:, ::-1], r"interval 1 runs from 1\.5 to 0 s; give it a start, and a stop"),
    (np.where(EACH == 6, np.nan, EACH), r"interval 4 runs from nan to 7\.5 s"),
    (np.where(EACH == 7.5, np.nan, EACH), "interval 4 runs from 6 to nan s"),
]


def test_intervals_on_another_clock_reversed_or_without_a_time_are_refused():
    for rows, words in WRONG:
        with pytest.raises(OrlaError, match=f"x: {words}") as caught:
            clocks.check_intervals("x", rows, 0.0, 40.0)
        assert "\n" not in str(caught.value)
    clocks.check_intervals("x", EACH, 0.0, 40.0)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("rows", "words"), [WRONG[0], WRONG[5]], ids=["clock", "no stop"])
def test_each_table_is_checked(name, rows, words, tmp_path):
    with pytest.raises(OrlaError, match=rf"day\.nwb: {name}: {words}"):
        read(tmp_path, name, rows)


@pytest.mark.parametrize("name", TABLES)
def test_intervals_in_part_outside_and_a_last_one_without_a_stop_are_taken(name, tmp_path, capsys):
    """Seconds 10 to 20 and 30 to the end; of those before and after nothing is recorded."""
    end = 99.0 if "units" in name else np.nan
    rows = np.array([(-5.0, -1.0), (10.0, 20.0), (30.0, end)])
    session = read(tmp_path, name, rows)
    inside = ((session.time_s >= 10) & (session.time_s <= 20)) | (session.time_s >= 30)
    is_left_out = session.left_out_interval_index() > 0
    np.testing.assert_array_equal(is_left_out, inside if name == "invalid_times" else ~inside)
    assert f"{name}: 1 of 3 intervals lie outside the recording" in capsys.readouterr().err


SHORT = np.array([(start + 0.0515, start + 0.0585) for start in np.arange(10, 30, 0.1)])
BETWEEN = np.column_stack([np.r_[0, SHORT[:, 1]], np.r_[SHORT[:, 0], 40]])
TOUCHING = np.array([(start, start + 1.999) for start in range(0, 40, 2)])


def with_artefacts(trains):
    """An event of each unit in the middle of each of the short intervals."""
    return [np.sort(np.r_[times, SHORT.mean(axis=1)]) for times in trains]


@pytest.mark.parametrize(
    ("name", "rows", "taken"),
    [
        # From one to the next 9 samples are left, of which a bin is made.
        ("invalid_times", SHORT, {"steps": 201 + 199 + 200, "stretches": 201}),
        ("units, obs_intervals", BETWEEN, {"steps": 201 + 199 + 200, "stretches": 201}),
        # Between trials nothing is lost, and in a millisecond not observed next to nothing.
        ("trials", BETWEEN, {"steps": 800, "stretches": 1}),
        ("trials", TOUCHING, {"steps": 799, "stretches": 1}),
        ("units, obs_intervals", TOUCHING, {"steps": 799, "stretches": 1}),
    ],
)
def test_no_bin_overlaps_what_is_excluded_between_two_samples(name, rows, taken, tmp_path):
    def at_100_hz(time_s, position):
        at = np.arange(4001) / 100
        columns = [np.interp(at, time_s, column) for column in position.T]
        return [recording_cases.hand(np.column_stack(columns), rate=100.0)]

    change = {"series": at_100_hz, "spikes": with_artefacts}
    binned = bin_session(read(tmp_path, name, rows, **change), Preparation())
    assert {"steps": len(binned.inputs), "stretches": stretches(binned)} == taken
    plain = bin_session(read(tmp_path, name, rows, series=at_100_hz), Preparation())
    artefacts = (binned.inputs - plain.inputs).sum()
    assert artefacts == (0 if taken["stretches"] > 1 else recording_cases.UNITS * len(SHORT))
    dropped = binned.account["seconds_dropped"]
    assert sum(dropped.values()) == pytest.approx(40 - 0.05 * len(binned.inputs))
    if taken["stretches"] > 1:
        # Each takes the time from the sample before it to the one after.
        reason = "invalid_times (lost)" if name == "invalid_times" else "not all units observed"
        assert dropped[reason] == pytest.approx(0.01 * len(SHORT)) and len(dropped) == 2


def stretches(binned):
    return 1 if binned.begins is None else int(binned.begins.sum())
