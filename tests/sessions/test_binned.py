import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orla import files
from orla.errors import OrlaError
from orla.sessions.binned import Boundaries, Source, read

CHEWIE = Path(__file__).parents[3] / "shared" / "data" / "chewie"


def arrays(**changes):
    whole = {
        "counts": np.arange(12, dtype=np.uint8).reshape(4, 3),
        "vel": np.arange(8, dtype=np.float32).reshape(4, 2),
        "bin_s": np.array(0.1),
        "trial": np.array([0, 0, 1, 1]),
        "timestep": np.array([0, 1, 0, 1]),
    }
    return {name: value for name, value in {**whole, **changes}.items() if value is not None}


def saved(tmp_path, **changes):
    np.savez(tmp_path / "day.npz", **arrays(**changes))
    return tmp_path / "day.npz"


def test_reads_inputs_targets_and_the_width_of_a_bin(tmp_path):
    recording = read(saved(tmp_path, target=np.array([1, 2, 3, 4])), Source())
    np.testing.assert_array_equal(recording.inputs, np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(recording.targets, np.arange(8).reshape(4, 2))
    assert (recording.inputs.dtype, recording.targets.dtype) == (np.float64, np.float64)
    assert recording.bin_s == 0.1
    assert recording.begins is None and recording.masks() == (None, None)


def test_other_arrays_and_one_output_can_be_named(tmp_path):
    path = saved(tmp_path, events=np.full((4, 3), -0.5), position=np.arange(4.0, dtype=np.float32))
    recording = read(path, Source(inputs="events", target="position"), transform="none")
    np.testing.assert_array_equal(recording.inputs, np.full((4, 3), -0.5))
    np.testing.assert_array_equal(recording.targets, [[0], [1], [2], [3]])
    labels = read(path, Source(target="trial", kind="categories"))
    assert labels.targets.tolist() == [0, 0, 1, 1] and labels.targets.dtype == np.int64


@pytest.mark.parametrize(
    ("boundaries", "begins"),
    [
        (Boundaries(["trial"]), [0, 3, 5]),
        (Boundaries(["trial", "label"]), [0, 3, 5, 6]),
        (Boundaries(counter="timestep"), [0, 2, 3]),
        (Boundaries(["trial"], "timestep"), [0, 2, 3, 5]),
    ],
)
def test_a_stretch_begins_where_an_array_changes_or_the_counter_jumps(tmp_path, boundaries, begins):
    path = saved(
        tmp_path,
        counts=np.ones((8, 2)),
        vel=np.ones((8, 2)),
        trial=np.array([1, 1, 1, 2, 2, 0, 0, 0]),
        label=np.array([0, 0, 0, 4, 4, 4, 5, 5]),
        timestep=np.array([0, 1, 3, 0, 1, 2, 3, 4], dtype=np.uint8),
    )
    recording = read(path, Source(boundaries=boundaries))
    assert np.flatnonzero(recording.begins).tolist() == begins
    scored, starts = recording.masks()
    assert starts is None and np.flatnonzero(~scored).tolist() == begins[1:]
    scored, starts = replace(recording, state="reset").masks()
    assert scored is None and np.flatnonzero(starts).tolist() == begins


def test_a_counter_of_one_byte_that_starts_again_begins_a_stretch(tmp_path):
    path = saved(tmp_path, timestep=np.array([254, 255, 0, 1], dtype=np.uint8))
    recording = read(path, Source(boundaries=Boundaries(counter="timestep")))
    assert np.flatnonzero(recording.begins).tolist() == [0, 2]


def test_steps_with_nan_are_left_out_and_end_a_stretch(tmp_path):
    vel, trial = np.arange(16.0).reshape(8, 2), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    vel[[1, 4]] = np.nan
    path = saved(tmp_path, counts=np.ones((8, 2)), vel=vel, trial=trial)
    recording = read(path, Source(boundaries=Boundaries(["trial"])))
    np.testing.assert_array_equal(recording.targets, vel[[0, 2, 3, 5, 6, 7]])
    # The trial's change is in a step that is left out: the next one begins a stretch.
    assert np.flatnonzero(recording.begins).tolist() == [0, 1, 3]
    assert recording.account == {"seconds": 0.8, "seconds_dropped": {"NaN": 0.2}}
    with pytest.raises(OrlaError, match=r"2 of 8 steps hold NaN .* lower preparation\.least"):
        read(path, Source(), least_kept=0.8)


def test_a_counter_that_counts_no_steps_is_refused(tmp_path):
    path = saved(tmp_path, timestep=np.array([0.0, 0.1, 0.2, 0.3]))
    with pytest.raises(OrlaError, match="timestep: rises by one at no step"):
        read(path, Source(boundaries=Boundaries(counter="timestep")))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": None}, "counts missing .*the file has: vel, bin_s, trial, timestep"),
        ({"vel": None, "bin_s": None}, "vel, bin_s missing"),
        ({"counts": np.zeros(4)}, r"counts: shape \(4,\), expected \(4, units\)"),
        ({"counts": np.zeros((0, 3)), "vel": np.zeros((0, 2))}, "counts: the recording is empty"),
        ({"vel": np.zeros((4, 3, 1))}, r"vel: shape \(4, 3, 1\), expected \(4, outputs\)"),
        ({"vel": np.zeros((5, 2))}, r"vel: shape \(5, 2\), expected \(4, outputs\)"),
        ({"counts": np.zeros((3, 4))}, r"counts is \(3, 4\) and vel \(4, 2\): .*; transpose what"),
        ({"vel": np.zeros((2, 4))}, r"counts is \(4, 3\) and vel \(2, 4\): .* has its 4 steps sec"),
        ({"counts": np.zeros((3, 9)), "vel": np.zeros((2, 9))}, r"counts is .* its 9 steps"),
        ({"counts": np.array(3.0)}, r"counts: shape \(\), expected \(0, units\)"),
        ({"vel": np.full((4, 2), np.nan)}, "counts, vel: 4 of 4 steps hold NaN or infinite"),
        ({"trial": np.array([0, 0, np.nan, 1])}, "trial: 1 values are NaN"),
        ({"counts": -np.ones((4, 3))}, "counts: negative or fractional"),
        ({"counts": np.full((4, 3), 0.5)}, "counts: negative or fractional"),
        ({"counts": np.full((4, 3), np.inf)}, "counts, vel: 4 of 4 steps hold NaN or infinite"),
        ({"counts": np.full((4, 3), "a")}, "counts: holds <U1, not numbers"),
        ({"bin_s": np.array(0.0)}, "bin_s: 0 is no length of a bin"),
        ({"bin_s": np.zeros(2)}, r"bin_s: shape \(2,\)"),
        ({"trial": np.zeros(3)}, r"trial: shape \(3,\), expected \(4\)"),
        ({"trial": None}, "trial missing"),
        ({"trial": np.array(["a"] * 4)}, "trial: holds <U1, not numbers"),
        ({"counts": np.full((4, 3), None)}, r"not an \.npz of numeric arrays"),
    ],
)
def test_bad_input_is_one_line_that_names_file_and_variable(tmp_path, changes, message):
    with pytest.raises(OrlaError, match=rf"day\.npz: {message}") as caught:
        read(saved(tmp_path, **changes), Source(boundaries=Boundaries(["trial"])))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_npz_is_an_error(tmp_path):
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(OrlaError, match=r"day\.npz: not an \.npz"):
        read(path, Source())
    path.write_bytes(b"not a zip")
    with pytest.raises(OrlaError, match=r"day\.npz: not an \.npz"):
        read(path, Source())
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(OrlaError, match=r"one\.npy: not an \.npz"):
        read(tmp_path / "one.npy", Source())
    with pytest.raises(OrlaError, match=r"none\.npz: there is no such file"):
        read(tmp_path / "none.npz", Source())


@pytest.mark.skipif(not CHEWIE.is_dir(), reason="the Chewie recordings are not beside the project")
@pytest.mark.parametrize(
    ("day", "bins", "units", "trials", "r2"),
    [("2013-10-03", 895, 174, 159, (0.74, 0.60)), ("2013-12-19", 835, 155, 180, (0.67, 0.51))],
)
def test_the_chewie_recordings_decode_as_their_description_says(day, bins, units, trials, r2):
    path = CHEWIE / f"chewie_{day}.npz"
    recording = read(path, Source(boundaries=Boundaries(["trial"])))
    assert recording.inputs.shape == (bins, units)
    assert recording.targets.shape == (bins, 2)
    assert recording.bin_s == pytest.approx(0.1)
    assert recording.begins.sum() == trials
    trial = np.load(path)["trial"]
    assert (np.linalg.norm(recording.targets, axis=1) > 5).all()
    # Ridge regression, penalty 20, from the square roots of one bin, every fifth trial held out.
    x = np.sqrt(recording.inputs)
    held = np.isin(trial, np.unique(trial)[::5])
    mean, target = x[~held].mean(axis=0), recording.targets
    train = x[~held] - mean
    weights = np.linalg.solve(
        train.T @ train + 20 * np.eye(units), train.T @ (target[~held] - target[~held].mean(axis=0))
    )
    predicted = (x[held] - mean) @ weights + target[~held].mean(axis=0)
    residual = ((target[held] - predicted) ** 2).sum(axis=0)
    total = ((target[held] - target[held].mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(1 - residual / total, r2, atol=0.06)


def test_categories_are_whole_numbers(tmp_path):
    path = saved(tmp_path, label=np.array([0.0, 1.0, 1.5, 2.0]))
    with pytest.raises(OrlaError, match="label: fractional values are no categories"):
        read(path, Source(target="label", kind="categories"))
    with pytest.raises(OrlaError, match=r"vel: shape \(4, 2\), expected \(4\)"):
        read(path, Source(kind="categories"))


def test_an_array_is_not_read_before_its_size_is_known(tmp_path, monkeypatch):
    path = saved(tmp_path)
    header = np.lib.format.header_data_from_array_1_0(np.zeros((4, 3)))
    with zipfile.ZipFile(path, "a") as file, file.open("huge.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header | {"shape": (10**12,)})
        member.write(bytes(96))
    with pytest.raises(OrlaError, match=r"day\.npz: not an \.npz of numeric arrays, or cut short"):
        read(path, Source(inputs="huge"))
    read(path, Source())
    monkeypatch.setattr(files, "MOST_NUMBERS", 21)
    read(path, Source())
    monkeypatch.setattr(files, "MOST_NUMBERS", 20)
    with pytest.raises(OrlaError, match="counts, vel, bin_s have more than 20 numbers"):
        read(path, Source())
