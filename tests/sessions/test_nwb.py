import errno
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import h5py
import numpy as np
import pynwb
import pytest
from pynwb.behavior import Position, SpatialSeries

from orla.errors import OrlaError
from orla.sessions import nwb
from orla.sessions.session import Session

K = 400
WORDS = ["name", "channels", "arrays", "areas", "source", "subject", "cursor", "unit"]
WORDS += ["left_out", "spikes_dropped"]


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
        left_out=[("invalid_times (lost)", 10.5, 10.75), ("between trials", 11.0, 11.25)],
        spikes_dropped={"units of quality noise": 7},
    )
    return replace(whole, **changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "session.nwb"


def converted(path, ours):
    """As the rule does: any NWB file in our own form."""
    nwb.write_session(nwb.read_session(path), ours)


def assert_same(one, other):
    for name in WORDS:
        assert getattr(one, name) == getattr(other, name), name
    np.testing.assert_array_equal(one.unit_channel, other.unit_channel)
    np.testing.assert_array_equal(one.unit_sorted, other.unit_sorted)
    np.testing.assert_array_equal(one.time_s, other.time_s)
    for a, b in zip(one.unit_spikes, other.unit_spikes, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.behavior.keys() == other.behavior.keys()
    for name, values in one.behavior.items():
        np.testing.assert_array_equal(values, other.behavior[name])


def values():
    """Three columns that are decoded themselves, on units without electrodes."""
    emg = np.random.default_rng(2).normal(size=(K, 3))
    emg[7] = np.nan
    return session(
        behavior={"cursor_values": emg},
        unit="V",
        channels=["unit 4", "unit 7", "unit 9"],
        areas=["unknown"] * 3,
        arrays=[""] * 3,
        subject="",
        left_out=[],
    )


@pytest.mark.parametrize("make", [session, values])
def test_what_is_written_is_read_back(path, make):
    nwb.write_session(make(), path)
    assert_same(nwb.read_session(path), make())


@pytest.mark.parametrize("make", [session, values])
def test_what_is_written_passes_the_validator_and_the_inspector(path, make):
    nwb.write_session(make(), path)
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
        assert file.session_start_time == datetime(2016, 6, 30, tzinfo=UTC)
        assert file.session_id == "indy_20160630_01"
        assert list(file.electrodes["channel_name"].data) == ["M1 001", "M1 002", "S1 001"]
        assert list(file.electrodes["location"].data) == ["M1", "M1", "S1"]
        assert file.electrodes["group"].data[2].device.name == "array"
        assert list(file.units["sorted"].data) == [False, True, True, False]
        assert file.units["electrodes"][3]["channel_name"].tolist() == ["S1 001"]
        np.testing.assert_array_equal(file.units["spike_times"][1], session().unit_spikes[1])
        behavior = file.processing["behavior"]
        assert isinstance(behavior["cursor_pos"], SpatialSeries)
        assert (behavior["cursor_pos"].unit, behavior["finger_pos"].unit) == ("meters", "meters")
        np.testing.assert_array_equal(behavior["finger_pos"].timestamps[:], session().time_s)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("loco_20170210_03", (2017, 2, 10)),
        ("day 2013-10-03", (2013, 10, 3)),
        ("indy_20161399_01", (1970, 1, 1)),
        ("simulated", (1970, 1, 1)),
    ],
)
def test_the_session_starts_on_the_date_in_its_name(path, name, date):
    nwb.write_session(session(name=name), path)
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        assert io.read().session_start_time == datetime(*date, tzinfo=UTC)


def test_the_same_session_gives_the_same_bytes_in_another_process(path):
    nwb.write_session(session(), path)
    again = path.with_name("again.nwb")
    work = (
        "import sys; from orla.sessions import nwb;"
        "nwb.write_session(nwb.read_session(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", work, str(path), str(again)], check=True)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "changes", [{"time_s": 11 + 0.004 * np.arange(K)}, {"unit_channel": [0, 1, 1, 2]}]
)
def test_another_session_has_another_identifier(path, changes):
    identifiers = set()
    for one in (session(), session(**changes)):
        nwb.write_session(one, path)
        with h5py.File(path) as file:
            identifiers |= {file["identifier"][()], file["units"].attrs["object_id"]}
    assert len(identifiers) == 4


def test_an_empty_session_is_not_written(path):
    for changes in ({"unit_spikes": []}, {"behavior": {}}):
        with pytest.raises(OrlaError, match=r"session\.nwb: .* no units or no behavior"):
            nwb.write_session(session(**changes), path)
    assert not path.exists()


# Files of others


def foreign(**changes):
    about = {
        "session_description": "Data from monkey Indy.",
        "identifier": "an id",
        "session_start_time": datetime(2017, 2, 2, tzinfo=UTC),
        "session_id": "20170202_02",
    }
    return pynwb.NWBFile(**{**about, **changes})


def add_unit_table(file, spikes, electrodes=None, **columns):
    for name in columns:
        file.add_unit_column(name, name)
    for i, times in enumerate(spikes):
        extra = {name: values[i] for name, values in columns.items()}
        if electrodes is not None:
            extra["electrodes"] = electrodes[i]
        file.add_unit(spike_times=times, **extra)


def mc_rtt(hole=True):
    """The layout of DANDI 000129: 1 kHz, millimetres, a hole kept for testing in between."""
    file = foreign()
    device = file.create_device("electrode_array", description="96-electrode Utah array")
    group = file.create_electrode_group("electrode_group", "Utah", location="M1", device=device)
    for _ in range(4):
        about = {"x": 0.0, "y": 0.0, "z": 0.0, "imp": np.nan, "filtering": "none"}
        file.add_electrode(location="M1", group=group, **about)
    k = 3000
    mm = np.column_stack([np.arange(k), 10.0 * np.arange(k), np.full(k, 5.0)])
    if hole:
        mm[1000:1200] = np.nan
    observed = [[0.0, 1.0], [1.2, 2.9995]] if hole else [[0.0, 3.0]]
    spikes = [[0.5, 1.5, 2.0], [1.25], [0.25, 0.75, 2.5]]
    file.add_unit_column("heldout", "held out in the test data")
    for times, electrode, heldout in zip(
        spikes, [[3], [0], [3]], [False, True, False], strict=True
    ):
        file.add_unit(
            spike_times=times, obs_intervals=observed, electrodes=electrode, heldout=heldout
        )
    behavior = file.create_processing_module("behavior", "Processed behavioral data")
    clock = {"rate": 1000.0, "starting_time": 0.0, "conversion": 0.001}
    for name, columns in (("cursor_pos", 2), ("finger_pos", 3), ("target_pos", 2)):
        behavior.add(
            SpatialSeries(
                name=name, data=mm[:, :columns], reference_frame="screen", unit="m", **clock
            )
        )
    velocity = np.gradient(mm[:, :2], axis=0) * 1000
    behavior.add(pynwb.TimeSeries(name="finger_vel", data=velocity, unit="m/s", **clock))
    return file


def save(file, path):
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)
    return path


def test_reads_the_layout_of_mc_rtt(path):
    read = nwb.read_session(save(mc_rtt(hole=False), path))
    assert read.name == "20170202_02"
    assert read.channels == [f"electrode {i}" for i in range(4)]
    assert read.arrays == ["electrode_group"] * 4
    assert read.areas == ["M1"] * 4
    np.testing.assert_array_equal(read.unit_channel, [3, 0, 3])
    assert read.unit_sorted.all()
    np.testing.assert_array_equal(read.unit_spikes[2], [0.25, 0.75, 2.5])
    np.testing.assert_allclose(read.time_s, np.arange(3000) / 1000)
    assert set(read.behavior) == {"cursor_pos", "finger_pos"}
    for name in ("cursor_pos", "finger_pos"):
        np.testing.assert_allclose(read.behavior[name][100], [0.1, 1.0])
    # The velocity beside it is decoded itself where it is asked for.
    velocity = nwb.read_session(path, nwb.Source(cursor="finger_vel", series="values"))
    np.testing.assert_allclose(velocity.behavior["cursor_values"][100], [1.0, 10.0])
    assert velocity.unit == "m/s"


def test_holes_are_kept_with_their_reasons(path, tmp_path):
    save(mc_rtt(), path)
    converted(path, tmp_path / "ours.nwb")
    read = nwb.read_session(tmp_path / "ours.nwb")
    assert np.isnan(read.behavior["cursor_pos"][1000:1200]).all()
    reasons, starts, stops = zip(*read.left_out, strict=True)
    assert set(reasons) == {"not all units observed"}
    np.testing.assert_allclose(starts, [1.0], atol=1e-9)
    np.testing.assert_allclose(stops, [1.2], atol=1e-9)
    assert (1.0, 1.2) not in zip(starts, stops, strict=True)  # the ends were observed
    np.testing.assert_array_equal(read.unit_spikes[0], [0.5, 1.5, 2.0])


def test_time_that_one_unit_was_not_observed_is_left_out(path):
    file = foreign()
    behavior = file.create_processing_module("behavior", "b")
    behavior.add(cursor())
    for intervals in ([[0.0, 0.1], [0.1, 0.7], [0.8, 1.0]], [[0.1, 2.0]]):
        file.add_unit(spike_times=[0.05, 0.3, 0.9], obs_intervals=intervals)
    read = nwb.read_session(save(file, path))
    seen = read.time_s[read.interval_index() == 0]
    np.testing.assert_allclose(seen, np.concatenate([np.arange(10, 71), np.arange(80, 101)]) / 100)


def cursor(name="cursor_pos", k=101, **changes):
    about = {
        "data": np.ones((k, 2)),
        "timestamps": np.arange(k) / 100,
        "unit": "cm",
        "reference_frame": "table",
    }
    return SpatialSeries(name=name, **{**about, **changes})


def with_series(*series, spikes=((0.5,),)):
    file = foreign()
    behavior = file.create_processing_module("behavior", "b")
    for one in series:
        behavior.add(one)
    add_unit_table(file, spikes)
    return file


def test_the_only_position_is_the_cursor_wherever_it_stands(path, capsys):
    file = foreign(session_id=None)
    file.create_processing_module("kinematics", "k").add(Position(spatial_series=cursor("stylus")))
    add_unit_table(file, [[0.5], [0.25]])
    read = nwb.read_session(save(file, path))
    path_of = "processing/kinematics/Position/stylus"
    assert f"{path_of}, the only SpatialSeries, is taken" in capsys.readouterr().err
    assert read.name == "session"
    assert read.cursor == path_of
    # What it was called survives our own form, where it stands as cursor_pos.
    converted(path, path.with_name("ours.nwb"))
    assert nwb.read_session(path.with_name("ours.nwb")).cursor == path_of
    np.testing.assert_allclose(read.behavior["cursor_pos"], 0.01)
    assert read.channels == ["unit 0", "unit 1"]
    assert (read.areas, read.arrays) == (["unknown", "unknown"], ["", ""])
    np.testing.assert_array_equal(read.unit_channel, [0, 1])


def test_no_finger_is_taken_for_a_cursor_in_silence(path):
    save(with_series(cursor("finger_pos"), cursor("hand_pos", data=np.full((101, 2), 7.0))), path)
    with pytest.raises(OrlaError, match=r"which series .*/finger_pos, .*/hand_pos; name one as"):
        nwb.read_session(path)
    read = nwb.read_session(path, nwb.Source(cursor="hand_pos"))
    np.testing.assert_allclose(read.behavior["cursor_pos"], 0.07)
    np.testing.assert_allclose(read.behavior["finger_pos"], 0.01)


def probes(labels, groups=("p0", "p0", "p1", "p1")):
    file = with_series(cursor(), spikes=())
    device = file.create_device("d")
    made = {
        g: file.create_electrode_group(g, g, location="M1", device=device)
        for g in sorted(set(groups))
    }
    file.add_electrode_column("label", "name")
    for label, group in zip(labels, groups, strict=True):
        file.add_electrode(location="M1", group=made[group], label=label)
    add_unit_table(file, [[0.5], [0.25]], electrodes=[[0], [2]])
    return file


def test_two_channels_of_one_name_are_refused(path):
    save(probes(["1", "1", "1", "2"]), path)
    with pytest.raises(OrlaError, match="electrodes, label: two channels are called 'p0 1'"):
        nwb.read_session(path)


def change(name, value):
    """Write a value over part of a dataset of a file, or put another dataset in its place."""

    def edit(file):
        if isinstance(value, tuple):
            file[name][value[0]] = value[1]
        else:
            attributes = dict(file[name].attrs)
            del file[name]
            file[name] = value
            file[name].attrs.update(attributes)

    return edit


INDEX = "units/spike_times_index"
CURSOR = "processing/behavior/cursor_pos"
DAMAGE = {
    "index ends early": (change(INDEX, (-1, 8)), "spike_times_index: does not share 9 values out"),
    "index ends late": (change(INDEX, (-1, 90)), "spike_times_index: holds 5 to 90, .* 0 to 9"),
    "index steps back": (change(INDEX, (1, 4)), "spike_times_index: does not share"),
    "sorted is text": (change("units/sorted", [b"no"] * 4), "units, sorted: holds .* not true or"),
    "sorted is 7": (change("units/sorted", [7, 0, 1, 0]), "units, sorted: holds numbers but 0"),
    "sorted is nan": (change("units/sorted", [np.nan] * 4), "units, sorted: holds float64"),
    "electrode": (change("units/electrodes", (0, 9)), "units, electrodes: holds 0 to 9, .* 0 to 2"),
    "nan time": (change(f"{CURSOR}/timestamps", (3, np.nan)), "timestamps: not finite and asc"),
    "text": (change(f"{CURSOR}/data", np.full((K, 2), b"x")), "cursor_pos: holds .*, not numbers"),
    "times": (change("units/spike_times", np.full(9, b"x")), "spike_times: holds .*, not numbers"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("edit", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damage_inside_a_file_is_one_line(path, edit, message):
    nwb.write_session(session(), path)
    with h5py.File(path, "r+") as file:
        edit(file)
    with pytest.raises(OrlaError, match=rf"session\.nwb: .*{message}") as caught:
        nwb.read_session(path)
    assert "\n" not in str(caught.value)


def test_a_part_that_cannot_be_decompressed_is_one_line(path):
    nwb.write_session(session(), path)
    with h5py.File(path) as file:
        chunk = file[f"{CURSOR}/data"].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\xff" * chunk.size)
    with pytest.raises(
        OrlaError, match=r"a part is cut short, damaged .*get the file again"
    ) as caught:
        nwb.read_session(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_another_program_has_open_is_named_as_locked(path):
    nwb.write_session(session(), path)
    code = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) as writer:
        writer.stdout.readline()
        with pytest.raises(OrlaError, match=r"it is locked: .* HDF5_USE_FILE_LOCKING=FALSE"):
            nwb.read_session(path)
        writer.communicate(b"\n")
    nwb.read_session(path)


def test_a_file_without_permission_is_named_as_that(path, monkeypatch):
    nwb.write_session(session(), path)

    def denied(*given, **more):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(pynwb, "NWBHDF5IO", denied)
    with pytest.raises(OrlaError, match="you have no permission to; ask its owner, or chmod u"):
        nwb.read_session(path)


def test_a_series_too_large_to_read_is_refused(path):
    nwb.write_session(session(), path)
    with h5py.File(path, "r+") as file:
        del file[f"{CURSOR}/data"], file[f"{CURSOR}/timestamps"]
        for name, shape in (("data", (1 << 29, 2)), ("timestamps", (1 << 29,))):
            # Chunks that nobody wrote take no room on the disk.
            file[CURSOR].create_dataset(name, shape, "f8", chunks=(4096, *shape[1:]))
        file[f"{CURSOR}/data"].attrs.update({"unit": "meters", "conversion": 1.0})
        file[f"{CURSOR}/timestamps"].attrs.update({"unit": "seconds", "interval": 1})
    with pytest.raises(OrlaError, match=r"cursor_pos/.* numbers are said to be there, and are not"):
        nwb.read_session(path)


def test_series_on_other_times_are_left_out(path):
    for times in (np.arange(11) / 10, 0.001 + np.arange(101) / 100):
        other = cursor("finger_pos", k=len(times), timestamps=times)
        read = nwb.read_session(save(with_series(cursor(), other), path))
        assert list(read.behavior) == ["cursor_pos"]


def test_a_series_with_a_rate_begins_at_its_starting_time(path):
    series = cursor(timestamps=None, rate=100.0, starting_time=5.0)
    read = nwb.read_session(save(with_series(series, spikes=[[5.5]]), path))
    np.testing.assert_allclose(read.time_s, 5 + np.arange(101) / 100)


def test_events_at_one_time_are_in_order(path):
    read = nwb.read_session(save(with_series(cursor(), spikes=[[0.25, 0.5, 0.5]]), path))
    np.testing.assert_array_equal(read.unit_spikes[0], [0.25, 0.5, 0.5])


def test_conversion_and_offset_are_applied_before_the_unit(path):
    series = cursor(conversion=2.0, offset=3.0)
    read = nwb.read_session(save(with_series(series), path))
    np.testing.assert_allclose(read.behavior["cursor_pos"], 0.05)


def test_a_unit_that_is_no_length_needs_its_length(path):
    save(with_series(cursor(unit="pixels")), path)
    with pytest.raises(OrlaError, match=r"cursor_pos is in 'pixels', .*give metres_per_unit"):
        nwb.read_session(path)
    read = nwb.read_session(path, nwb.Source(metres_per_unit=0.25))
    np.testing.assert_allclose(read.behavior["cursor_pos"], 0.25)


def test_channel_names_and_sorting_of_others_are_kept(path):
    file = with_series(cursor(), spikes=())
    group = file.create_electrode_group("g", "g", location="PMd", device=file.create_device("d"))
    file.add_electrode_column("label", "name")
    for name in ("elec 7", "elec 9"):
        file.add_electrode(location="PMd", group=group, label=name)
    add_unit_table(file, [[0.5], [0.25]], electrodes=[[1, 0], [1]], sorted=[False, True])
    read = nwb.read_session(save(file, path))
    assert (read.channels, read.areas) == (["elec 7", "elec 9"], ["PMd", "PMd"])
    np.testing.assert_array_equal(read.unit_channel, [1, 1])
    np.testing.assert_array_equal(read.unit_sorted, [False, True])


BAD_FILES = {
    "no units": (lambda: with_series(cursor(), spikes=()), "units: no unit with spike_times"),
    "no series": (lambda: with_series(), "There are: none; use a file that has one"),
    "unsorted": (
        lambda: with_series(cursor(), spikes=[[0.5, 0.25]]),
        r"units, unit 0, spike_times: event times are not in ascending order",
    ),
    "outside": (
        lambda: with_series(cursor(), spikes=[[0.5, 7.5]]),
        r"1 of 2 spikes \(50\.0%\) lie outside the positions' times; .* raise nwb\.most_outside",
    ),
    "no spikes": (
        lambda: with_series(cursor(), spikes=[[]]),
        "spike_times: the session is empty, no unit",
    ),
    "one sample": (
        lambda: with_series(cursor(k=1)),
        "cursor_pos .* has 1 samples and 1 times",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_one_line_that_names_file_and_variable(path, make, message):
    save(make(), path)
    with pytest.raises(OrlaError, match=rf"session\.nwb: .*{message}|session\.nwb: {message}") as e:
        nwb.read_session(path)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("kind", ["text", "short", "hdf5"])
def test_a_file_that_is_no_nwb_is_refused(path, kind):
    if kind == "text":
        path.write_bytes(b"not a file of this kind")
    elif kind == "short":
        nwb.write_session(session(), path)
        path.write_bytes(path.read_bytes()[:20_000])
    else:
        with h5py.File(path, "w") as file:
            file["x"] = 1
    with pytest.raises(OrlaError, match=re.escape(f"{path}: cannot be read as NWB")) as caught:
        nwb.read_session(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(OrlaError, match="there is no such file"):
        nwb.read_session(path.with_name("none.nwb"))
