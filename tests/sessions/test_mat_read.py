"""Recordings in MATLAB's layout: what is read, what is refused, and what conversion leaves."""

import resource
import subprocess
import sys

import h5py
import made_mat
import numpy as np
import pytest
from made import K, T, arrays, edited, with_spikes

from orla.errors import OrlaError
from orla.sessions import mat_read, nwb

GIGABYTE = 1 << 30


@pytest.fixture
def mat(tmp_path):
    return tmp_path / "indy_20160630_01.mat"


def written(mat, edit=lambda file: None, **changes):
    made_mat.write_session(mat, **arrays(**changes))
    with h5py.File(mat, "r+") as file:
        # Waveforms that refer to nothing: whoever follows them fails.
        file.create_dataset("wf", (2, 3), h5py.ref_dtype)
        edit(file)


def converted(mat, **given):
    nwb.write_session(mat_read.read_session(mat, **given), mat.with_suffix(".nwb"))
    return nwb.read_session(mat.with_suffix(".nwb"))


def test_a_recording_is_read_in_si_units_and_converted(mat):
    given = arrays()
    written(mat)
    session = mat_read.read_session(mat, source="By hand.")
    assert (session.name, session.source, session.subject) == ("indy_20160630_01", "By hand.", "")
    assert mat_read.read_session(mat, source="odoherty").subject == "indy"
    assert session.channels == given["chan_names"] and session.areas == ["M1", "M1", "S1"]
    np.testing.assert_array_equal(session.unit_channel, [0, 0, 1])
    np.testing.assert_array_equal(session.unit_sorted, [False, True, True])
    units = [given["spikes"][row][column] for row, column in ((0, 0), (0, 1), (1, 1))]
    np.testing.assert_equal(session.unit_spikes, units)
    np.testing.assert_array_equal(session.time_s, T)
    for name in ("cursor_pos", "target_pos"):
        np.testing.assert_allclose(session.behavior[name], given[name] / 1000)
    finger = -given["finger_pos"][:, 1:] / 100
    np.testing.assert_allclose(session.behavior["finger_pos"], finger)
    ours = converted(mat, source="By hand.")
    for name in ("name", "channels", "areas", "source", "time_s", "unit_spikes"):
        np.testing.assert_equal(getattr(ours, name), getattr(session, name))
    del session.behavior["target_pos"]
    np.testing.assert_equal(ours.behavior, session.behavior)


def test_lost_samples_holes_and_six_columns_of_a_finger_are_taken(mat):
    lost = edited(np.zeros((K, 2)), (100, 1), np.nan)
    t = T + 0.5 * (np.arange(K) > 250)
    fingers = np.tile([5.0, -1.0, -2.0, 9.0, 9.0, 9.0], (K, 1))
    written(mat, t=t, cursor_pos=lost, finger_pos=fingers, **with_spikes([149.5], [], []))
    session = mat_read.read_session(mat)
    np.testing.assert_array_equal(session.time_s, t)
    assert np.flatnonzero(np.isnan(session.behavior["cursor_pos"]).any(1)).tolist() == [100]
    np.testing.assert_allclose(session.behavior["finger_pos"][7], [0.01, 0.02])


def test_some_events_outside_the_time_base_can_be_taken(mat):
    written(mat, **with_spikes([3.0, 149.0, 150.0, 151.0], [149.5], [149.2]))
    session = mat_read.read_session(mat, spikes_outside="drop")
    np.testing.assert_array_equal(session.unit_spikes[0], [3.0, 149.0, 150.0, 151.0])
    written(mat, **with_spikes(1000 * T[:9], [149.5], []))
    with pytest.raises(OrlaError, match=r"9 of 10 spikes .* lie outside .* in seconds"):
        mat_read.read_session(mat, spikes_outside="drop")


def replaced(name, values=None, **how):
    """Another dataset in a variable's place, or none."""

    def edit(file):
        del file[name]
        if isinstance(values, h5py.ExternalLink):
            file[name] = values
        elif values is not None or how:
            file.create_dataset(name, data=values, **how)

    return edit


def one_name_less(file):
    names = file["chan_names"][:, :1]
    replaced("chan_names", names, dtype=h5py.ref_dtype)(file)


def empty_time(file):
    replaced("t", np.zeros(2, np.uint64))(file)
    file["t"].attrs["MATLAB_empty"] = np.uint8(1)


def referring(name, place, numbers=None):
    """A cell that refers to these numbers, or to nothing."""

    def edit(file):
        if numbers is not None:
            file["#refs#/zz"] = numbers
        file[name][place] = h5py.Reference() if numbers is None else file["#refs#/zz"].ref

    return edit


def one_name_twice(file):
    file["chan_names"][0, 1] = file["chan_names"][0, 0]


HUGE = {"shape": (2, 1 << 29), "dtype": "f8", "chunks": (2, 4096)}
# What is changed of the file, and the words of the refusal.
REFUSED = [
    (with_spikes([150.0], [149.5, 149.2], []), r"spikes\{2,1\}: .* order \(event 2 at 149\.2 s"),
    (with_spikes([100.0, 149.0], [], []), r"spike_times: 1 of 2 .* 148\.984.* set spikes_outside"),
    (with_spikes([149.0, 150.0, 900.0], [], []), "spike_times: 1 of 3 spikes .* 149 to 900 s"),
    (with_spikes([149.0, np.nan], [], []), r"spikes\{1,1\}: event 2 has no finite"),
    (with_spikes([], [], []), "spike_times: the session is empty"),
    ({"t": edited(T, 3, np.nan)}, "t: not finite and ascending"),
    (one_name_twice, "chan_names: two channels are called 'M1 001'"),
    (one_name_less, "spikes has 3 channels but chan_names 1"),
    (replaced("t", h5py.ExternalLink("other.mat", "t")), "t lies in another file; use one file"),
    # Chunks that nobody wrote take no room on the disk.
    (replaced("cursor_pos", **HUGE), "cursor_pos: 1073741824 numbers are said to be there, and"),
    (replaced("cursor_pos"), r"variable cursor_pos is missing \(the file has: chan_names, f"),
    (replaced("spikes"), "variable spikes is missing"),
    (replaced("cursor_pos", np.zeros((2, K - 1))), "cursor_pos has 499 samples but t has 500"),
    (replaced("cursor_pos", np.zeros((K, 2))), "cursor_pos: expected numbers, samples"),
    (replaced("finger_pos", np.zeros((2, K))), "finger_pos: expected .* x 3 or 6, found"),
    (replaced("t", 3.0), "t: expected numbers"),
    (replaced("t", np.full((1, K), b"a")), "t: expected numbers"),
    (replaced("spikes", np.zeros((2, 2))), "spikes: expected a cell array, found float64"),
    (empty_time, r"t: the session is empty \(0 samples\)"),
    (replaced("t", np.ones((1, 1))), r"t: the session is empty \(1 samples\)"),
    (referring("spikes", (0, 0), np.ones((2, 2))), r"spikes\{1,1\}: expected one column of event"),
    (referring("spikes", (0, 0)), r"spikes\{1,1\}: refers to no array"),
    (referring("chan_names", (0, 1), np.ones((1, 3))), "chan_names: a cell holds float64, not te"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[words for _, words in REFUSED])
def test_a_bad_recording_is_one_line_and_leaves_nothing(mat, change, message):
    written(mat, **change) if isinstance(change, dict) else written(mat, change)
    assert_refused(mat, message)


def assert_refused(mat, message):
    before = sorted(mat.parent.iterdir())
    with pytest.raises(OrlaError, match=rf"{mat.name}: {message}") as caught:
        converted(mat)
    assert "\n" not in str(caught.value)
    assert sorted(mat.parent.iterdir()) == before


OTHERS = [
    (b"", "it is another format, or damaged"),
    (b"MATLAB 5.0 MAT-file" + bytes(1000), r"it is a MATLAB file before v7\.3 \(save -v7\.3\)"),
    (b"<html>", "it is a web page"),
]


def test_a_file_that_is_damaged_no_hdf5_or_not_there_is_refused(mat):
    assert_refused(mat, "there is no such file")
    for content, told in OTHERS:
        mat.write_bytes(content)
        assert_refused(mat, rf"cannot be read as MATLAB v7\.3 \(save -v7\.3\): {told}")
    written(mat)
    whole = mat.read_bytes()
    for length in (len(whole) // 2, len(whole) - 1):
        mat.write_bytes(whole[:length])
        assert_refused(mat, "cannot be read as MATLAB .*damaged .*get the file again")


def test_a_write_that_fails_leaves_nothing_and_does_not_crash(mat):
    """HDF5 by itself ends in a segmentation fault when a write fails."""
    written(mat)
    session, ours = mat_read.read_session(mat), mat.with_suffix(".nwb")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OrlaError, match=r"01\.nwb: no space left .*free some space"):
            nwb.write_session(session, ours)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(mat.parent.iterdir()) == [mat]


PEAK = """
import sys
from orla.provenance.cost import peak_bytes
from orla.sessions import mat_read, nwb
nwb.write_session(mat_read.read_session(sys.argv[1]), sys.argv[2])
print(peak_bytes())
"""


def test_a_recording_with_a_gigabyte_of_waveforms_a_cell_is_converted_in_less(mat):
    def snippets(file):
        # Chunks that nobody wrote take no room on the disk, but all of it when read.
        shape, chunks = (GIGABYTE // 8 // 48 + 1, 48), (65536, 48)
        data = file["#refs#"].create_dataset("ws", shape, "f8", chunks=chunks, fillvalue=1)
        assert data.nbytes > GIGABYTE
        file["wf"][:] = data.ref

    written(mat, snippets)
    run = [sys.executable, "-c", PEAK, str(mat), str(mat.with_suffix(".nwb"))]
    ended = subprocess.run(run, check=True, capture_output=True, text=True)
    assert int(ended.stdout) < GIGABYTE
