from pathlib import Path

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions import binned

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


def test_reads_counts_velocities_and_the_order_of_bins(tmp_path):
    recording = binned.read(saved(tmp_path, target=np.array([1, 2, 3, 4])))
    np.testing.assert_array_equal(recording.counts, np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(recording.velocities, np.arange(8).reshape(4, 2))
    assert (recording.counts.dtype, recording.velocities.dtype) == (np.int64, np.float64)
    assert recording.bin_s == 0.1
    np.testing.assert_array_equal(recording.trial, [0, 0, 1, 1])
    np.testing.assert_array_equal(recording.timestep, [0, 1, 0, 1])


def test_trials_may_be_absent(tmp_path):
    recording = binned.read(saved(tmp_path, trial=None, timestep=None))
    assert recording.trial is None
    assert recording.timestep is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": None}, "counts missing .*the file has: vel, bin_s, trial, timestep"),
        ({"vel": None, "bin_s": None}, "vel, bin_s missing"),
        ({"counts": np.zeros(4)}, r"counts: shape \(4,\), expected \(4, units\)"),
        ({"counts": np.zeros((0, 3)), "vel": np.zeros((0, 2))}, "counts: the recording is empty"),
        ({"vel": np.zeros((4, 3))}, r"vel: shape \(4, 3\), expected \(4, 2\)"),
        ({"vel": np.zeros((5, 2))}, r"vel: shape \(5, 2\), expected \(4, 2\)"),
        ({"vel": np.full((4, 2), np.nan)}, "vel: 8 values are NaN"),
        ({"counts": -np.ones((4, 3))}, "counts: negative or fractional"),
        ({"counts": np.full((4, 3), 0.5)}, "counts: negative or fractional"),
        ({"counts": np.full((4, 3), np.inf)}, "counts: 12 values are NaN or infinite"),
        ({"counts": np.full((4, 3), "a")}, "counts: holds <U1, not numbers"),
        ({"bin_s": np.array(0.0)}, "bin_s: 0 is no length of a bin"),
        ({"bin_s": np.zeros(2)}, r"bin_s: shape \(2,\)"),
        ({"trial": np.zeros(3)}, r"trial: shape \(3,\), expected \(4\)"),
    ],
)
def test_bad_input_is_one_line_that_names_file_and_variable(tmp_path, changes, message):
    with pytest.raises(OrlaError, match=rf"day\.npz: {message}") as caught:
        binned.read(saved(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_npz_is_an_error(tmp_path):
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(OrlaError, match=r"day\.npz: not an \.npz"):
        binned.read(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(OrlaError, match=r"day\.npz: not an \.npz"):
        binned.read(path)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(OrlaError, match=r"one\.npy: not an \.npz"):
        binned.read(tmp_path / "one.npy")
    with pytest.raises(OrlaError, match=r"none\.npz: there is no such file"):
        binned.read(tmp_path / "none.npz")


@pytest.mark.skipif(not CHEWIE.is_dir(), reason="the Chewie recordings are not beside the project")
@pytest.mark.parametrize(
    ("day", "bins", "units", "trials", "r2"),
    [("2013-10-03", 895, 174, 159, (0.74, 0.60)), ("2013-12-19", 835, 155, 180, (0.67, 0.51))],
)
def test_the_chewie_recordings_decode_as_their_description_says(day, bins, units, trials, r2):
    recording = binned.read(CHEWIE / f"chewie_{day}.npz")
    assert recording.counts.shape == (bins, units)
    assert recording.velocities.shape == (bins, 2)
    assert recording.bin_s == pytest.approx(0.1)
    assert len(np.unique(recording.trial)) == trials
    assert (np.linalg.norm(recording.velocities, axis=1) > 5).all()
    # Ridge regression, penalty 20, from the square roots of one bin, every fifth trial held out.
    x = np.sqrt(recording.counts)
    held = np.isin(recording.trial, np.unique(recording.trial)[::5])
    mean, target = x[~held].mean(axis=0), recording.velocities
    train = x[~held] - mean
    weights = np.linalg.solve(
        train.T @ train + 20 * np.eye(units), train.T @ (target[~held] - target[~held].mean(axis=0))
    )
    predicted = (x[held] - mean) @ weights + target[~held].mean(axis=0)
    residual = ((target[held] - predicted) ** 2).sum(axis=0)
    total = ((target[held] - target[held].mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(1 - residual / total, r2, atol=0.06)
