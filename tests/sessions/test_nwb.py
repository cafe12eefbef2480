"""NWB files of our own and of others; recordings as they are met, test_recording_cases.py has."""

import errno
import itertools
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import h5py
import numpy as np
import pynwb
import pytest
from pynwb.behavior import Position, SpatialSeries
from recording_cases import UNITS, add_electrodes, add_units, written

from orla.command import files
from orla.errors import OrlaError
from orla.sessions import nwb, nwb_series
from orla.sessions.nwb_series import read_series
from orla.sessions.session import Session

pytestmark = pytest.mark.filterwarnings("ignore")
K = 400


def session(**changes):
    generator = np.random.default_rng(1)
    time_s = 10 + 0.004 * np.arange(K)
    whole = Session(
        name="indy_20160630_01",
        channels=["M1 001", "M1 002", "S1 001"],
        unit_spikes=[np.sort(generator.uniform(10, 11.5, n)) for n in (5, 3, 0, 1)],
        unit_channel=[0, 0, 1, 2],
        unit_sorted=[False, True, True, False],
        time_s=time_s,
        behavior={
            "cursor_pos": generator.normal(size=(K, 2)),
            "finger_pos": generator.normal(size=(K, 2)),
        },
        source="SIMULATED: made for a test.",
        subject="Indy",
        cursor="Position/hand",
        about_series="processing/behavior/Position/hand, from the upper left",
        places=["(0, 0)", "(0, 40)", "(400, 0)"],
        left_out=[("invalid_times (lost)", 10.5, 10.75), ("between trials", 11.0, 11.25)],
        spikes_dropped={"units of quality noise": 7},
    )
    return replace(whole, **changes)


def values():
    """Three columns that are decoded themselves, on units without electrodes."""
    emg = np.random.default_rng(2).normal(size=(K, 3))
    emg[7] = np.nan
    about = {"arrays": [""] * 3, "areas": ["unknown"] * 3, "channels": ["unit 4", "unit 7", "9"]}
    return session(behavior={"cursor_values": emg}, unit="V", subject="", left_out=[], **about)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "session.nwb"


def test_what_is_written_is_read_back_and_passes_the_validator_and_the_inspector(path):
    for make in (values, session):
        nwb.write_session(make(), path)
        np.testing.assert_equal(vars(nwb.read_session(path)), vars(make()))
        assert pynwb.validate(path=str(path)) == []
    inspector = pytest.importorskip("nwbinspector")
    found = inspector.inspect_nwbfile(nwbfile_path=str(path))
    least = inspector.Importance.BEST_PRACTICE_VIOLATION.value
    told = {m.check_function_name for m in found if m.importance.value >= least}
    # The species may be unknown, and times are those of the recording to the last bit.
    assert told <= {"check_subject_species_exists", "check_regular_timestamps"}


def test_the_file_is_in_si_units(path):
    nwb.write_session(session(), path)
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        file = io.read()
        assert file.session_id == "indy_20160630_01"
        assert list(file.electrodes["channel_name"].data) == ["M1 001", "M1 002", "S1 001"]
        assert list(file.electrodes["location"].data) == ["M1", "M1", "S1"]
        assert list(file.units["sorted"].data) == [False, True, True, False]
        assert file.units["electrodes"][3]["channel_name"].tolist() == ["S1 001"]
        np.testing.assert_array_equal(file.units["spike_times"][1], session().unit_spikes[1])
        behavior = file.processing["behavior"]
        assert isinstance(behavior["cursor_pos"], SpatialSeries)
        assert (behavior["cursor_pos"].unit, behavior["finger_pos"].unit) == ("meters", "meters")
        np.testing.assert_array_equal(behavior["finger_pos"].timestamps[:], session().time_s)


def test_writing_is_deterministic_across_processes_and_refuses_empty_sessions(path):
    nwb.write_session(session(), path)
    again, identifiers = path.with_name("again.nwb"), set()
    work = (
        "import sys; from orla.sessions import nwb;"
        "nwb.write_session(nwb.read_session(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", work, str(path), str(again)], check=True)
    assert again.read_bytes() == path.read_bytes()
    # The date is the one in the name, where there is one.
    changes = {"loco_20170210_03": {}, "day 2013-10-03": {"time_s": 11 + 0.004 * np.arange(K)}}
    changes |= {"indy_20161399_01": {"unit_channel": [0, 1, 1, 2]}, "simulated": {}}
    dates = [(2017, 2, 10), (2013, 10, 3), (1970, 1, 1), (1970, 1, 1)]
    for (name, change), date in zip(changes.items(), dates, strict=True):
        nwb.write_session(session(name=name, **change), path)
        with h5py.File(path) as file:
            identifiers |= {file["identifier"][()], file["units"].attrs["object_id"]}
            start = datetime.fromisoformat(file["session_start_time"][()].decode())
            assert start == datetime(*date, tzinfo=UTC)
    assert len(identifiers) == 8
    for change in ({"unit_spikes": []}, {"behavior": {}}):
        with pytest.raises(OrlaError, match=r"none\.nwb: .* no units or no behavior"):
            nwb.write_session(session(**change), path.with_name("none.nwb"))
    assert not path.with_name("none.nwb").exists()


# Files of others


def foreign(session_id="20170202_02"):
    return pynwb.NWBFile(
        session_description="Data from monkey Indy.",
        identifier="an id",
        session_start_time=datetime(2017, 2, 2, tzinfo=UTC),
        session_id=session_id,
    )


def save(file, path):
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)
    return path


def test_the_layout_of_mc_rtt_is_read_with_its_hole(path, tmp_path):
    """DANDI 000129: 1 kHz, millimetres, a hole kept for testing in between."""
    file, k = foreign(), 3000
    add_electrodes(file, ["electrode_group"] * 4, area="M1")
    mm = np.column_stack([np.arange(k), 10.0 * np.arange(k), np.full(k, 5.0)])
    mm[1000:1200] = np.nan
    observed = [[[0.0, 1.0], [1.2, 2.9995]]] * 3
    spikes = [[0.5, 1.5, 2.0], [1.25], [0.25, 0.75, 2.5]]
    add_units(file, spikes, electrodes=[[3], [0], [3]], obs_intervals=observed, heldout=[False] * 3)
    behavior = file.create_processing_module("behavior", "Processed behavioral data")
    clock = {"rate": 1000.0, "starting_time": 0.0, "conversion": 0.001}
    for name, columns in (("cursor_pos", 2), ("finger_pos", 3), ("target_pos", 2)):
        about = {"reference_frame": "screen", "unit": "m", **clock}
        behavior.add(SpatialSeries(name=name, data=mm[:, :columns], **about))
    velocity = np.gradient(mm[:, :2], axis=0) * 1000
    behavior.add(pynwb.TimeSeries(name="finger_vel", data=velocity, unit="m/s", **clock))
    nwb.write_session(nwb.read_session(save(file, path)), tmp_path / "ours.nwb")
    read = nwb.read_session(tmp_path / "ours.nwb")
    assert read.name == "20170202_02" and read.unit_sorted.all()
    assert read.channels == [f"electrode {i}" for i in range(4)]
    assert (read.arrays, read.areas) == (["electrode_group"] * 4, ["M1"] * 4)
    np.testing.assert_array_equal(read.unit_channel, [3, 0, 3])
    np.testing.assert_equal(read.unit_spikes, [np.array(times) for times in spikes])
    np.testing.assert_allclose(read.time_s, np.arange(3000) / 1000)
    assert set(read.behavior) == {"cursor_pos", "finger_pos"}
    for positions in read.behavior.values():
        np.testing.assert_allclose(positions[100], [0.1, 1.0])
        assert np.isnan(positions[1000:1200]).all()
    [(reason, start, stop)] = read.left_out
    assert reason == "not all units observed"
    np.testing.assert_allclose([start, stop], [1.0, 1.2], atol=1e-9)
    assert (start, stop) != (1.0, 1.2)  # the ends were observed
    # The velocity beside it is decoded itself where it is asked for.
    velocity = nwb.read_session(path, nwb.Source(cursor="finger_vel", series="values"))
    np.testing.assert_allclose(velocity.behavior["cursor_values"][100], [1.0, 10.0])
    assert velocity.unit == "m/s"


HUNDREDTHS = np.arange(101) / 100


def cursor(name="cursor_pos", k=101, **changes):
    about = {"data": np.ones((k, 2)), "timestamps": HUNDREDTHS[:k], "unit": "cm"}
    return SpatialSeries(name=name, **{**about, "reference_frame": "table", **changes})


def with_series(*series, spikes=((0.5,),), **columns):
    file = foreign()
    behavior = file.create_processing_module("behavior", "b")
    for one in series:
        behavior.add(one)
    add_units(file, spikes, **columns)
    return file


def test_time_that_one_unit_was_not_observed_is_left_out(path):
    seen = [[[0.0, 0.1], [0.1, 0.7], [0.8, 1.0]], [[0.1, 2.0]]]
    read = nwb.read_session(
        save(with_series(cursor(), spikes=[[0.05, 0.9]] * 2, obs_intervals=seen), path)
    )
    seen = read.time_s[read.left_out_interval_index() == 0]
    np.testing.assert_allclose(seen, np.concatenate([np.arange(10, 71), np.arange(80, 101)]) / 100)


def test_the_only_position_is_the_cursor_wherever_it_stands(path, capsys):
    file = foreign(session_id=None)
    file.create_processing_module("kinematics", "k").add(Position(spatial_series=cursor("stylus")))
    add_units(file, [[0.5], [0.25]])
    read = nwb.read_session(save(file, path))
    path_of = "processing/kinematics/Position/stylus"
    assert f"{path_of}, the only SpatialSeries, is taken" in capsys.readouterr().err
    assert (read.name, read.cursor) == ("session", path_of)
    # What it was called survives our own form, where it stands as cursor_pos.
    nwb.write_session(read, path.with_name("ours.nwb"))
    assert nwb.read_session(path.with_name("ours.nwb")).cursor == path_of
    np.testing.assert_allclose(read.behavior["cursor_pos"], 0.01)
    assert read.channels == ["unit 0", "unit 1"]
    assert (read.areas, read.arrays) == (["unknown", "unknown"], ["", ""])
    np.testing.assert_array_equal(read.unit_channel, [0, 1])


def test_channel_names_and_sorting_of_others_are_kept(path):
    file = with_series(cursor(), spikes=())
    add_electrodes(file, ["g", "g"], ["elec 7", "elec 9"], "M1")
    add_units(file, [[0.5], [0.25]], electrodes=[[1], [1]], sorted=[False, True])
    read = nwb.read_session(save(file, path))
    assert (read.channels, read.areas) == (["elec 7", "elec 9"], ["M1", "M1"])
    np.testing.assert_array_equal(read.unit_channel, [1, 1])
    np.testing.assert_array_equal(read.unit_sorted, [False, True])


@pytest.mark.parametrize(
    ("series", "source", "metres"),
    [
        ([cursor(conversion=2.0, offset=3.0)], {}, 0.05),
        ([cursor(unit="pixels")], {"metres_per_unit": 0.25}, 0.25),
        # A length that the file names holds.
        ([cursor(unit="cm")], {"metres_per_unit": 0.25}, 0.01),
        ([cursor("x"), cursor("y")], {"cursor": ["x", "y"], "metres_per_unit": 0.25}, 0.01),
    ],
)
def test_positions_are_read_in_metres(series, source, metres):
    behavior = read_series(with_series(*series), nwb.Source(**source))["behavior"]
    assert [values.mean() for values in behavior.values()] == pytest.approx([metres])


@pytest.mark.parametrize(
    ("time_s", "kept"),
    [(HUNDREDTHS, True), (np.arange(11) / 10, False), (0.001 + HUNDREDTHS, False)],
)
def test_a_finger_is_no_cursor_and_is_kept_beside_one_of_the_same_times(path, time_s, kept):
    finger = cursor("finger_pos", k=len(time_s), timestamps=time_s)
    hand = cursor("hand_pos", data=np.full((101, 2), 7.0))
    read = nwb.read_session(save(with_series(finger, hand), path), nwb.Source(cursor="hand_pos"))
    means = {name: values.mean() for name, values in read.behavior.items()}
    assert means == pytest.approx({"cursor_pos": 0.07} | ({"finger_pos": 0.01} if kept else {}))


RATES = "m/s, m s**-1, m s^-1, m s-1, m*s^{-1}, m·s⁻¹, m s^(-1), mm/ms, mm/msec, um / us, µm/µs, "
RATES += "m s^-2, cm.s-2, m s⁻², m/min, km/h, m per second, pixel/frame, mm per ms, m/sample"
RATE_NAMES = "CursorVel, cursorVel, hand_vel, vel, velX, VEL, HandAcc, acc_x, Vel2D, HandVelocity, "
RATE_NAMES += "cursor_speed, acceleration, HandAccel"
PLACES = "n/a, a.u., pixels, screen units, unknown, steps, pixels per screen, m"
PLACE_NAMES = "VelvetPosition, novel_object, LevelPress, accuracy, Access, travel, Vela"


def test_a_velocity_by_its_unit_or_name_is_no_position_and_what_resembles_one_is():
    def series(units, names):
        pairs = [(unit, "hand") for unit in units.split(", ")]
        pairs += [("m", name) for name in names.split(", ")]
        return [SimpleNamespace(unit=unit, name=name) for unit, name in pairs]

    for one, metres in itertools.product(series(RATES, RATE_NAMES), (None, 0.001)):
        with pytest.raises(OrlaError, match=f"{one.name} is in .*: a velocity and no position; na"):
            nwb_series._position_scale(one, metres)
    for one in series(PLACES, PLACE_NAMES):
        assert nwb_series._position_scale(one, 1.0) == 1.0, one


def column(name):
    return cursor(name, data=np.ones(101))


def test_a_container_is_taken_by_its_name_and_told_apart_from_a_series():
    def taken(file, name="hand"):
        return read_series(file, nwb.Source(cursor=name))["behavior"]["cursor_pos"].shape

    # A container may have the name of what it holds; one of series of columns is none of axes.
    for inside in ([column("hand"), column("y")], cursor("hand")):
        assert taken(with_series(Position(name="hand", spatial_series=inside))) == (101, 2)
    with pytest.raises(OrlaError, match="cursor: there is no hand; there are: processing/beh"):
        taken(with_series(Position(name="hand", spatial_series=cursor("y")), cursor("x")))
    file = with_series(Position(name="hand", spatial_series=[column("x"), column("y")]))
    file.add_acquisition(cursor("hand"))
    both = "acquisition/hand, processing/behavior/hand"
    with pytest.raises(OrlaError, match=f"cursor: hand is one of {both}; name one of these"):
        taken(file)
    assert [taken(file, path) for path in both.split(", ")] == [(101, 2)] * 2


def test_columns_have_their_own_gain_after_the_series_conversion():
    """`channel_conversion` of an ElectricalSeries, such as EMG."""
    data = np.random.default_rng(0).normal(size=(4, 3))
    series = SimpleNamespace(name="emg", data=data, conversion=10.0, offset=1.0)
    series.channel_conversion = np.array([1.0, 2.0, 0.5])
    values = nwb_series._series_values(series, [0, 2], only_xy=False)
    np.testing.assert_array_equal(values, data[:, [0, 2]] * [10.0, 5.0] + 1.0)


def test_samples_of_less_confidence_are_lost_where_the_config_says_so(capsys):
    series = SimpleNamespace(name="pose", data=np.zeros((4, 2)), confidence=[0.9, 0.2, 0.5, np.nan])
    assert nwb_series._lost_samples(series, 0.5).tolist() == [False, True, False, True]
    assert not capsys.readouterr().err
    assert not nwb_series._lost_samples(series, None).any()
    assert "not used: write NaN where it is lost, or set nwb.least_conf" in capsys.readouterr().err


def test_units_of_a_tetrode_are_of_one_channel_whichever_electrode_stands_first(path):
    sites = [[*range(4 * (i // 4), 4 * (i // 4) + 4)] for i in range(UNITS)]
    sites[1], sites[6] = [2, 0, 1, 3], [7, 4, 5, 6]
    written(path, 1, columns={"electrodes": sites})
    read = nwb.read_session(path, nwb.Source(cursor="hand"))
    assert read.unit_channel.tolist() == [0] * 4 + [4] * 4


def with_enumerations():
    file = with_series(cursor(), spikes=())
    add_electrodes(file, ["g", "g", "g"])
    names = ["elec 9", "elec 7", "elec 8"]
    file.electrodes.add_column("label", "its name", data=[1, 0, 2], enum=names)
    add_units(file, [[0.5], [0.25], [0.75]], electrodes=[[0], [1], [2]])
    return file


def test_words_of_an_enumeration_are_read_and_not_their_codes(path):
    file = with_enumerations()
    file.units.add_column("quality", "q", data=[1, 0, 2], enum=["noise", "good", "mua"])
    read = nwb.read_session(save(file, path))
    assert read.channels == ["elec 7", "elec 9", "elec 8"]
    assert (read.unit_sorted.tolist(), read.unit_channel.tolist()) == ([True, False], [0, 2])
    assert read.spikes_dropped == {"units of quality noise": 1}


def test_an_enumeration_is_no_truth_and_codes_without_a_word_are_refused(path):
    file = with_enumerations()
    file.units.add_column("sorted", "s", data=[1, 0, 1], enum=["yes", "no"])
    assert_refused(save(file, path), "units, sorted: holds .*, not true or false; mend the file")
    file = with_enumerations()
    file.units.add_column("quality", "q", data=[1, 0, 3], enum=["noise", "good"])
    assert_refused(save(file, path), "quality: holds 0 to 3, but there are 0 to 1")


def test_a_series_with_a_rate_begins_at_its_starting_time_and_events_may_tie(path):
    series = cursor(timestamps=None, rate=100.0, starting_time=5.0)
    read = nwb.read_session(save(with_series(series, spikes=[[5.25, 5.5, 5.5]]), path))
    np.testing.assert_allclose(read.time_s, 5 + np.arange(101) / 100)
    np.testing.assert_array_equal(read.unit_spikes[0], [5.25, 5.5, 5.5])


def probes():
    file = with_series(cursor(), spikes=())
    add_electrodes(file, ("p0", "p0", "p1", "p1"), ["1", "1", "1", "2"])
    add_units(file, [[0.5], [0.25]], electrodes=[[0], [2]])
    return file


def fingers():
    return with_series(cursor("finger_pos"), cursor("hand_pos"))


def late(sample, as_sample):
    """A cursor on a clock since 1970, with a sample that has the time of another."""
    time_s = 1.6e9 + HUNDREDTHS
    time_s[sample] = time_s[as_sample]
    return cursor(timestamps=time_s)


def twins():
    file = with_series(cursor(), spikes=())
    for unit in (3, 4, 3):
        file.add_unit(spike_times=[0.5], id=unit)
    return file


def twin_electrodes():
    file = with_series(cursor(), spikes=())
    group = file.create_electrode_group("g", "g", "g", file.create_device("device"))
    for _ in range(2):
        file.add_electrode(location="M1", group=group, id=3, enforce_unique_id=False)
    add_units(file, [[0.5], [0.25]], electrodes=[[0], [1]])
    return file


BAD_FILES = [
    (lambda: with_series(cursor(), spikes=()), "units: no unit with spike_times"),
    (with_series, "There are: none; use a file that has one"),
    (fingers, r"which series .*/finger_pos, .*/hand_pos; name one as"),
    (probes, "electrodes, label: two channels are called 'p0 1'"),
    (lambda: with_series(cursor(k=1)), "cursor_pos .* has 1 samples and 1 times"),
    (
        lambda: with_series(late(2, 1), spikes=[[1.6e9]]),
        "timestamps: sample 3, at 1600000000.01 s, "
        "has the time of the sample before; drop one of the two",
    ),
    (
        lambda: with_series(late(2, 0), spikes=[[1.6e9]]),
        "1600000000 s follows 1600000000.01 s; where the clock starts again add",
    ),
    (
        lambda: with_series(
            cursor(timestamps=1.6e9 + HUNDREDTHS), spikes=[[1.6e9 + 0.5, 1.6e9 + 0.25]]
        ),
        r"event 2 at 1600000000.25 s follows 1600000000.5 s\); sort them",
    ),
    (twin_electrodes, "electrodes, id: two channels are called 'g electrode 3'; give each its"),
    (twins, "units, id: two channels are called 'unit 3'; give each its own name"),
    (lambda: with_series(cursor(), spikes=[[]]), "spike_times: the session is empty, no unit"),
    (lambda: with_series(cursor(), spikes=[[0.5, 0.25]]), "units, unit 0, spike_times: .*ascend"),
    (
        lambda: with_series(cursor(), spikes=[[0.5, 7.5]]),
        r"1 of 2 spikes \(50\.0%\) lie outside the positions' times; .* raise nwb\.most_outside",
    ),
]


def over(name, *value, **how):
    """Write a value over part of a dataset of a file, or put another dataset in its place."""

    def edit(file):
        if len(value) == 2:
            file[name][value[0]] = value[1]
            return
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=value[0] if value else None, **how)
        file[name].attrs.update(attributes)

    return edit


INDEX, CURSOR = "units/spike_times_index", "processing/behavior/cursor_pos"
# Chunks that nobody wrote take no room on the disk.
HUGE = {"shape": (1 << 29, 2), "dtype": "f8", "chunks": (4096, 2)}
DAMAGE = [
    (over(INDEX, -1, 8), "spike_times_index: does not share 9 values out"),
    (over(INDEX, -1, 90), "spike_times_index: holds 5 to 90, .* 0 to 9"),
    (over(INDEX, 1, 4), "spike_times_index: does not share"),
    (over("units/sorted", [b"no"] * 4), "units, sorted: holds .* not true or"),
    (over("units/sorted", [7, 0, 1, 0]), "units, sorted: holds numbers but 0"),
    (over("units/sorted", [np.nan] * 4), "units, sorted: holds float64"),
    (over("units/electrodes", 0, 9), "units, electrodes: holds 0 to 9, .* 0 to 2"),
    (over(f"{CURSOR}/timestamps", 3, np.nan), "timestamps: not finite and asc"),
    (over(f"{CURSOR}/data", np.full((K, 2), b"x")), "cursor_pos: holds .*, not numbers"),
    (over("units/spike_times", np.full(9, b"x")), "spike_times: holds .*, not numbers"),
    (over(f"{CURSOR}/data", **HUGE), "cursor_pos/.* numbers are said to be there, and are not"),
]


@pytest.mark.parametrize(
    ("make", "edit", "message"),
    [(make, None, message) for make, message in BAD_FILES]
    + [(None, edit, message) for edit, message in DAMAGE],
    ids=[message for _, message in BAD_FILES + DAMAGE],
)
def test_bad_files_are_one_line_that_names_file_and_variable(path, make, edit, message):
    if make:
        save(make(), path)
    else:
        nwb.write_session(session(), path)
        with h5py.File(path, "r+") as file:
            edit(file)
    assert_refused(path, message)


def assert_refused(path, message):
    with pytest.raises(OrlaError, match=rf"{path.name}: .*{message}") as caught:
        nwb.read_session(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_nwb_or_cannot_be_read_is_refused(path, monkeypatch):
    assert_refused(path, "there is no such file")
    path.write_bytes(b"not a file of this kind")
    assert_refused(path, "cannot be read as NWB")
    with h5py.File(path, "w") as file:
        file["x"] = 1
    assert_refused(path, "cannot be read as NWB")
    nwb.write_session(session(), path)
    code = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) as writer:
        writer.stdout.readline()
        assert_refused(path, "it is locked: .* HDF5_USE_FILE_LOCKING=FALSE")
        writer.communicate(b"\n")
    nwb.read_session(path)

    def denied(*given, **more):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(pynwb, "NWBHDF5IO", denied)
        assert_refused(path, "you have no permission to; ask its owner, or chmod u")
    with h5py.File(path) as file:
        chunk = file[f"{CURSOR}/data"].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\xff" * chunk.size)
    assert_refused(path, "a part is cut short, damaged .*get the file again")


def test_nwb_in_zarr_is_read_as_in_hdf5(tmp_path):
    zarr = pytest.importorskip("hdmf_zarr.nwb")
    path, other = tmp_path / "day.nwb", tmp_path / "day.nwb.zarr"
    quality = {"quality": ["good"] * 6 + ["mua", "noise"]}
    next_day = tmp_path / "next.zarr"
    for day, file, folder in ((1, path, other), (2, tmp_path / "next.nwb", next_day)):
        written(file, day, columns=quality, arrays=("M1/PMd",) * 4 + ("S1: area 2",) * 4)
        source = pynwb.NWBHDF5IO(str(file), "r", load_namespaces=True)
        with source, zarr.NWBZarrIO(str(folder), "w") as target:
            target.export(src_io=source, write_args={"link_data": False})
    ours, theirs = (nwb.read_session(p, nwb.Source(cursor="hand")) for p in (path, other))
    np.testing.assert_equal(vars(theirs), vars(ours))
    facts = nwb.recording_facts(other)
    assert facts == nwb.recording_facts(path) and {"date", "area"} <= facts.keys()
    # A study of two such folders can be written.
    pair = files.read_pair("nwb", [str(other), str(next_day)], cursor="hand")
    assert pair.names == ("day.nwb", "next") and pair.inputs > 0
    copy = shutil.copytree(other, tmp_path / "copy.zarr")
    with pytest.raises(OrlaError, match=r"hold the same steps; give two recordings$"):
        files.read_pair("nwb", [str(other), str(copy)], cursor="hand")


def test_a_damaged_folder_and_a_missing_extra_are_told(tmp_path, monkeypatch):
    (tmp_path / ".zgroup").write_text("{}")
    pytest.importorskip("hdmf_zarr")
    assert_refused(tmp_path, "cannot be read as NWB: a part is missing, damaged")
    monkeypatch.setattr("orla.sessions.hdf5.find_spec", lambda name: None)
    assert_refused(tmp_path, r"in Zarr; pip install 'orla\[zarr\]', or export it")
