import h5py
import made_mat as mat_write
import numpy as np
import pytest
from made import K, T, arrays, edited, with_spikes

from orla.errors import OrlaError
from orla.sessions import mat_read, nwb


@pytest.fixture
def mat(tmp_path):
    return tmp_path / "indy_20160630_01.mat"


def by_hand(path, edit=lambda file: None):
    """A file as MATLAB lays it out, written without the code under test."""
    with h5py.File(path, "w", userblock_size=512) as file:
        pool = file.create_group("#refs#")
        empty = pool.create_dataset("a", data=np.zeros(2, np.uint64))
        empty.attrs["MATLAB_class"] = np.bytes_("canonical empty")
        empty.attrs["MATLAB_empty"] = np.uint8(1)
        column = pool.create_dataset("b", data=np.array([[149.0, 149.5, 150.0]]))
        single = pool.create_dataset("c", data=np.array([[149.25]]))
        spikes = np.array([[empty.ref, single.ref], [column.ref, empty.ref]], h5py.ref_dtype)
        file.create_dataset("spikes", data=spikes)  # units x channels: transposed
        names = []
        for number, name in enumerate(["M1 001", "M1 002"]):
            codes = np.array([[ord(letter)] for letter in name], np.uint16)
            names.append(pool.create_dataset(f"n{number}", data=codes).ref)
        file.create_dataset("chan_names", data=np.array([names], h5py.ref_dtype))
        file["t"] = T[None, :]
        file["cursor_pos"] = np.stack([np.arange(K), -np.arange(K)]).astype(float)
        file["target_pos"] = np.stack([np.full(K, 30.0), np.full(K, 40.0)])
        file["finger_pos"] = np.repeat([[5.0], [-1.0], [-2.0], [9.0], [9.0], [9.0]], K, axis=1)
        # Waveforms that refer to nothing: whoever follows them fails.
        file.create_dataset("wf", (2, 2), h5py.ref_dtype)
        edit(file)


def test_reads_a_file_as_matlab_lays_it_out(mat):
    by_hand(mat)
    session = mat_read.read_session(mat, source="By hand.")
    assert session.name == "indy_20160630_01"
    assert session.source == "By hand."
    assert session.channels == ["M1 001", "M1 002"]
    assert session.areas == ["M1", "M1"]
    np.testing.assert_array_equal(session.unit_channel, [0, 1])
    np.testing.assert_array_equal(session.unit_sorted, [True, False])
    np.testing.assert_array_equal(session.unit_spikes[0], [149.0, 149.5, 150.0])
    np.testing.assert_array_equal(session.unit_spikes[1], [149.25])
    np.testing.assert_array_equal(session.time_s, T)
    expected = 1e-3 * np.column_stack([np.arange(K), -np.arange(K)])
    np.testing.assert_allclose(session.behavior["cursor_pos"], expected, rtol=1e-15)
    np.testing.assert_allclose(session.behavior["target_pos"][7], [0.03, 0.04])
    np.testing.assert_allclose(session.behavior["finger_pos"][7], [0.01, 0.02])


def test_following_the_waveforms_of_that_file_fails(mat):
    by_hand(mat)
    with h5py.File(mat) as file, pytest.raises(ValueError, match="reference"):
        file[file["wf"][0, 0]]


def test_what_is_written_is_read_back_in_metres(mat):
    given = arrays()
    mat_write.write_session(mat, **given)
    session = mat_read.read_session(mat)
    assert session.channels == given["chan_names"]
    assert session.areas == ["M1", "M1", "S1"]
    np.testing.assert_array_equal(session.unit_channel, [0, 0, 1])
    np.testing.assert_array_equal(session.unit_sorted, [False, True, True])
    for read, row, column in zip(session.unit_spikes, [0, 0, 1], [0, 1, 1], strict=True):
        np.testing.assert_array_equal(read, given["spikes"][row][column])
    np.testing.assert_allclose(session.behavior["cursor_pos"], given["cursor_pos"] / 1000)
    np.testing.assert_allclose(session.behavior["finger_pos"], -given["finger_pos"][:, 1:] / 100)


BAD_ARRAYS = {
    "not sorted": (
        with_spikes([150.0], [149.5, 149.2], []),
        r"spikes\{2,1\}: event times are not in ascending order \(event 2 at 149\.2 s",
    ),
    "before": (
        with_spikes([100.0, 149.0, 150.0], [], []),
        r"spike_times: 1 of 3 spikes .* from 100 to 150 s, .*148\.984.* or set spikes_outside",
    ),
    "after": (with_spikes([149.0, 150.0, 900.0], [], []), "spike_times: 1 of 3 spikes .* to 900 s"),
    "nan spike": (with_spikes([149.0, np.nan], [], []), r"spikes\{1,1\}: event 2 has no finite"),
    "no spikes": (with_spikes([], [], []), "spike_times: the session is empty"),
    "nan time": ({"t": edited(T, 3, np.nan)}, "t: not finite and ascending"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_bad_values_are_one_line_and_leave_nothing(mat, changes, message):
    mat_write.write_session(mat, **arrays(**changes))
    assert_refused(mat, message)


def test_lost_samples_and_holes_are_kept_as_they_are(mat):
    lost = edited(np.zeros((K, 2)), (100, 1), np.nan)
    t = T + 0.5 * (np.arange(K) > 250)
    mat_write.write_session(mat, **arrays(t=t, cursor_pos=lost, **with_spikes([149.5], [], [])))
    session = mat_read.read_session(mat)
    np.testing.assert_array_equal(session.time_s, t)
    assert np.flatnonzero(np.isnan(session.behavior["cursor_pos"]).any(1)).tolist() == [100]


def test_the_monkey_is_the_subject_of_a_recording_and_of_no_simulated_one(mat):
    mat_write.write_session(mat, **arrays())
    assert mat_read.read_session(mat, source="odoherty").subject == "indy"
    assert mat_read.read_session(mat, source="simulated").subject == ""


def replace(name, values):
    def edit(file):
        del file[name]
        if values is not None:
            file[name] = values

    return edit


def empty_time(file):
    del file["t"]
    file["t"] = np.zeros(2, np.uint64)
    file["t"].attrs["MATLAB_empty"] = np.uint8(1)


def misshapen_cell(file):
    file["#refs#/z"] = np.ones((2, 2))
    file["spikes"][0, 0] = file["#refs#/z"].ref


def dangling_cell(file):
    file["spikes"][0, 0] = h5py.Reference()


def number_for_name(file):
    file["chan_names"][0, 1] = file["#refs#/b"].ref


def one_name_twice(file):
    file["chan_names"][0, 1] = file["chan_names"][0, 0]


def outside(file):
    del file["t"]
    file["t"] = h5py.ExternalLink("other.mat", "t")


def huge(file):
    del file["cursor_pos"]
    # Chunks that nobody wrote take no room on the disk.
    file.create_dataset("cursor_pos", (2, 1 << 29), "f8", chunks=(2, 4096))


BAD_LAYOUTS = {
    "one name twice": (one_name_twice, "chan_names: two channels are called 'M1 001'"),
    "outside": (outside, "t lies in another file; use one file that holds it itself"),
    "huge": (huge, "cursor_pos: 1073741824 numbers are said to be there, and are not"),
    "missing": (
        replace("cursor_pos", None),
        r"cursor_pos is missing \(the file has: chan_names, f",
    ),
    "no spikes": (replace("spikes", None), "spikes is missing"),
    "short": (
        replace("cursor_pos", np.zeros((2, K - 1))),
        "cursor_pos has 499 samples but t has 500",
    ),
    "untransposed": (
        replace("cursor_pos", np.zeros((K, 2))),
        "cursor_pos: expected numbers, samples",
    ),
    "columns": (replace("finger_pos", np.zeros((2, K))), "finger_pos: expected .* x 3 or 6, found"),
    "scalar": (replace("t", 3.0), "t: expected numbers"),
    "text": (replace("t", np.full((1, K), b"a")), "t: expected numbers"),
    "no cells": (
        replace("spikes", np.zeros((2, 2))),
        "spikes: expected a cell array, found float64",
    ),
    "empty": (empty_time, r"t: the session is empty \(0 samples\)"),
    "one sample": (replace("t", np.ones((1, 1))), r"t: the session is empty \(1 samples\)"),
    "cell": (misshapen_cell, r"spikes\{1,1\}: expected one column of event times"),
    "dangling": (dangling_cell, r"spikes\{1,1\}: refers to no array"),
    "name": (number_for_name, "chan_names: a cell holds float64, not text"),
}


@pytest.mark.parametrize(("edit", "message"), BAD_LAYOUTS.values(), ids=BAD_LAYOUTS)
def test_a_bad_layout_is_one_line_and_leaves_nothing(mat, edit, message):
    by_hand(mat, edit)
    assert_refused(mat, message)


def test_channels_that_differ_in_number_are_refused(mat):
    def edit(file):
        names = file["chan_names"][:, :1]
        del file["chan_names"]
        file.create_dataset("chan_names", data=names, dtype=h5py.ref_dtype)

    by_hand(mat, edit)
    assert_refused(mat, "spikes has 2 channels but chan_names 1")


def test_a_file_that_is_cut_short_is_refused(mat):
    mat_write.write_session(mat, **arrays())
    whole = mat.read_bytes()
    for length in (len(whole) // 2, len(whole) - 1):
        mat.write_bytes(whole[:length])
        assert_refused(mat, "cannot be read as MATLAB .*damaged .*get the file again")


def test_a_damaged_variable_is_refused(mat):
    long = 0.004 * np.arange(6000)
    zeros = {name: np.zeros((6000, 2)) for name in ("cursor_pos", "target_pos")}
    mat_write.write_session(
        mat, **arrays(t=long, finger_pos=np.zeros((6000, 3)), **zeros, **with_spikes([1.0], [], []))
    )
    with h5py.File(mat) as file:
        chunk = file["cursor_pos"].id.get_chunk_info(0)
        place = chunk.byte_offset + file.userblock_size
    with open(mat, "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * chunk.size)
    assert_refused(mat, "cannot be read as MATLAB .*a part is cut short, damaged")


OTHERS = {
    b"": "it is another format, or damaged",
    b"MATLAB 5.0 MAT-file" + bytes(1000): r"it is a MATLAB file before v7\.3 \(save -v7\.3\)",
    b"<html>": "it is a web page",
}


@pytest.mark.parametrize(("content", "told"), OTHERS.items())
def test_a_file_that_is_no_hdf5_is_refused(mat, content, told):
    mat.write_bytes(content)
    assert_refused(mat, rf"cannot be read as MATLAB v7\.3 \(save -v7\.3\): {told}")


def test_a_file_that_is_not_there_is_refused(mat):
    assert_refused(mat, "there is no such file")


def assert_refused(mat, message):
    before = sorted(mat.parent.iterdir())
    with pytest.raises(OrlaError, match=rf"{mat.name}: (variable )?{message}") as caught:
        nwb.write_session(mat_read.read_session(mat), mat.with_suffix(".nwb"))
    assert "\n" not in str(caught.value)
    assert sorted(mat.parent.iterdir()) == before


def test_some_events_outside_the_time_base_can_be_taken(mat):
    spikes = with_spikes([3.0, 149.0, 150.0, 151.0], [149.5], [149.2])
    mat_write.write_session(mat, **arrays(**spikes))
    session = mat_read.read_session(mat, spikes_outside="drop")
    np.testing.assert_array_equal(session.unit_spikes[0], [3.0, 149.0, 150.0, 151.0])
    mat_write.write_session(mat, **arrays(**with_spikes(1000 * T[:9], [149.5], [])))
    with pytest.raises(OrlaError, match=r"9 of 10 spikes .* lie outside .* in seconds"):
        mat_read.read_session(mat, spikes_outside="drop")
