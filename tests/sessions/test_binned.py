import zipfile
from dataclasses import replace

import numpy as np
import pytest

from orla import files
from orla.errors import OrlaError
from orla.sessions.binned import Boundaries, Source, read_binned
from orla.sessions.preparation import Preparation

TRIALS = Source(boundaries=Boundaries(["trial"]))
LABELS = Source(target="label", kind="categories")
PLAIN = Source()


def saved(tmp_path, **changes):
    whole = {
        "counts": np.arange(12, dtype=np.uint8).reshape(4, 3),
        "vel": np.arange(8, dtype=np.float32).reshape(4, 2),
        "bin_s": np.array(0.1),
        "trial": np.array([0, 0, 1, 1]),
        "timestep": np.array([0, 1, 0, 1]),
    }
    arrays = {name: value for name, value in {**whole, **changes}.items() if value is not None}
    np.savez(tmp_path / "day.npz", **arrays)
    return tmp_path / "day.npz"


def test_inputs_targets_and_the_width_of_a_bin_are_read_by_their_names(tmp_path):
    path = saved(tmp_path, events=np.full((4, 3), -0.5), position=np.arange(4.0, dtype=np.float32))
    recording = read_binned(path, Source())
    np.testing.assert_array_equal(recording.inputs, np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(recording.targets, np.arange(8).reshape(4, 2))
    assert (recording.inputs.dtype, recording.targets.dtype) == (np.float64, np.float64)
    assert recording.bin_s == 0.1
    assert recording.begins is None and recording.scored_and_start_masks() == (None, None)
    recording = read_binned(
        path, Source(inputs="events", target="position"), Preparation(transform="none")
    )
    np.testing.assert_array_equal(recording.inputs, np.full((4, 3), -0.5))
    np.testing.assert_array_equal(recording.targets, [[0], [1], [2], [3]])
    labels = read_binned(path, Source(target="trial", kind="categories"))
    assert labels.targets.tolist() == [0, 0, 1, 1] and labels.targets.dtype == np.int64
    column = saved(tmp_path, label=np.array([[3.0], [4.0], [np.nan], [3.0]]))  # as MATLAB saves it
    assert read_binned(column, LABELS).targets.tolist() == [3, 4, 3]


@pytest.mark.parametrize(
    ("boundaries", "begins"),
    [
        (Boundaries(["trial"]), [0, 3, 5]),
        (Boundaries(["trial", "label"]), [0, 3, 5, 6]),
        (Boundaries(counter="timestep"), [0, 2, 3]),
        (Boundaries(["trial"], "timestep"), [0, 2, 3, 5]),
        (Boundaries(counter="byte"), [0, 2]),
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
        byte=np.array([254, 255, 0, 1, 2, 3, 4, 5], dtype=np.uint8),
    )
    recording = read_binned(path, Source(boundaries=boundaries))
    assert np.flatnonzero(recording.begins).tolist() == begins
    scored, starts = recording.scored_and_start_masks()
    assert starts is None and np.flatnonzero(~scored).tolist() == begins[1:]
    scored, starts = replace(recording, state="reset").scored_and_start_masks()
    assert scored is None and np.flatnonzero(starts).tolist() == begins


def test_steps_with_nan_are_left_out_and_end_a_stretch(tmp_path):
    vel, trial = np.arange(16.0).reshape(8, 2), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    vel[[1, 4]] = np.nan
    path = saved(tmp_path, counts=np.ones((8, 2)), vel=vel, trial=trial)
    recording = read_binned(path, TRIALS)
    np.testing.assert_array_equal(recording.targets, vel[[0, 2, 3, 5, 6, 7]])
    # The trial's change is in a step that is left out: the next one begins a stretch.
    assert np.flatnonzero(recording.begins).tolist() == [0, 1, 3]
    assert recording.account == {"seconds": 0.8, "seconds_dropped": {"NaN": 0.2}}
    with pytest.raises(OrlaError, match=r"2 of 8 steps hold NaN .* lower preparation\.least"):
        read_binned(path, Source(), Preparation(least_kept=0.8))


def test_unused_arrays_and_steps_without_any_count_are_told(tmp_path, capsys):
    counts = np.random.default_rng(0).poisson(0.5, (60, 8))
    arrays = {"counts": counts, "vel": np.ones((60, 2)), "unit_ids": np.arange(8)}
    read_binned(saved(tmp_path, **arrays), Source())
    [line] = capsys.readouterr().err.splitlines()
    assert "not used: " in line and "unit_ids" in line
    counts[20:30] = 0
    read_binned(saved(tmp_path, **arrays), Source())
    assert "for 1 s all counts are 0, which is no chance" in capsys.readouterr().err


COUNTED = Source(boundaries=Boundaries(counter="timestep"))
BAD = [
    ({"counts": None}, "counts missing .*the file has: vel, bin_s, trial, timestep"),
    ({"vel": None, "bin_s": None}, "vel, bin_s missing"),
    ({"counts": np.zeros(4)}, r"counts: shape \(4,\), expected \(4, units\)"),
    ({"counts": np.zeros((0, 3)), "vel": np.zeros((0, 2))}, "counts: the recording is empty"),
    ({"vel": np.zeros((4, 3, 1))}, r"vel: shape \(4, 3, 1\), expected \(4, outputs\)"),
    ({"vel": np.zeros((5, 2))}, r"vel: shape \(5, 2\), expected \(4, outputs\)"),
    ({"counts": np.zeros((3, 4))}, r"counts is \(3, 4\) and vel \(4, 2\): .*; transpose what"),
    ({"vel": np.zeros((2, 4))}, r"counts is \(4, 3\) and vel \(2, 4\): .* its 4 steps second"),
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
    ({"trial": np.zeros(4, complex)}, "trial: holds complex128, not numbers"),
    ({"counts": np.full((4, 3), None)}, r"not an \.npz of numeric arrays"),
    ({"label": np.array([0, 1, 1.5, 2])}, "label: negative or fractional values", LABELS),
    ({"label": np.array([0, -1, 1, 2])}, "label: negative or fractional values", LABELS),
    ({"counts": np.zeros((2, 4, 3))}, r"counts: shape \(2, 4, 3\): join the trials"),
    ({"counts": np.array([[1, np.nan, 2]] * 4)}, "counts, vel: 4 of .*; leave out column 1 of cou"),
    ({}, r"vel: shape \(4, 2\), expected \(4\)", Source(kind="categories")),
    ({"timestep": np.arange(4) / 10}, "timestep: rises by one at no step", COUNTED),
]


@pytest.mark.parametrize("case", BAD, ids=[words for _, words, *_ in BAD])
def test_bad_input_is_one_line_that_names_file_and_variable(tmp_path, case):
    changes, message, *source = case
    assert_refused(saved(tmp_path, **changes), message, *(source or [TRIALS]))


def assert_refused(path, message, source=PLAIN):
    with pytest.raises(OrlaError, match=rf"{path.name}: {message}") as caught:
        read_binned(path, source)
    assert "\n" not in str(caught.value)


def test_a_bin_over_two_seconds_is_refused_unless_the_config_has_it(tmp_path):
    path = saved(tmp_path, bin_s=np.array(50))
    assert_refused(
        path, r"bin_s: a bin of 50 s is long; give it in seconds, or, .*preparation\.bin"
    )
    assert read_binned(path, PLAIN, Preparation(bin_s=50.0)).bin_s == 50.0
    with pytest.raises(OrlaError, match="a bin of 50 s is long"):
        read_binned(path, PLAIN, Preparation(bin_s=51.0))
    assert_refused(saved(tmp_path, bin_s=np.array(5.0)), "bin_s: a bin of 5 s is long")
    assert read_binned(saved(tmp_path, bin_s=np.array([[2.0]])), PLAIN).bin_s == 2.0


def test_a_file_that_is_no_npz_is_an_error(tmp_path):
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    assert_refused(path, r"not an \.npz")
    path.write_bytes(b"not a zip")
    assert_refused(path, r"not an \.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    assert_refused(tmp_path / "one.npy", r"not an \.npz")
    assert_refused(tmp_path / "none.npz", "there is no such file")


def test_an_array_is_not_read_before_its_size_is_known(tmp_path, monkeypatch):
    path = saved(tmp_path)
    header = np.lib.format.header_data_from_array_1_0(np.zeros((4, 3)))
    with zipfile.ZipFile(path, "a") as file, file.open("huge.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header | {"shape": (10**12,)})
        member.write(bytes(96))
    assert_refused(path, r"not an \.npz of numeric arrays, or cut short", Source(inputs="huge"))
    monkeypatch.setattr(files, "MOST_NUMBERS", 21)
    read_binned(path, Source())
    monkeypatch.setattr(files, "MOST_NUMBERS", 20)
    assert_refused(path, "not an .*counts, vel, bin_s have more than 20 numbers")
