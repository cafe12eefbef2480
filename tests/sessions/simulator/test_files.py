from dataclasses import replace

import h5py
import made_mat
import numpy as np

from orla.sessions.simulator import ArraySettings, Settings, TaskSettings

SMALL = Settings(
    task=TaskSettings(duration_a_s=40.0, duration_b_s=30.0), array=ArraySettings(n_channels=6)
)


def cells(path, name):
    with h5py.File(path) as file:
        return [[file[ref][()].ravel() for ref in row] for row in file[name][()].T]


def write(folder, settings=SMALL, seed=0):
    folder.mkdir(exist_ok=True)
    paths = folder / "a.mat", folder / "b.mat"
    made_mat.simulate(*paths, replace(settings, seed=seed))
    return paths


def test_files_have_the_layout_of_the_recordings(tmp_path):
    path, _ = write(tmp_path)
    with h5py.File(path) as file:
        assert file["t"].shape == (1, 10_001)
        assert file["cursor_pos"].shape == file["target_pos"].shape == (2, 10_001)
        assert file["finger_pos"].shape == (3, 10_001)
        assert file["spikes"].shape == (5, 6)
        t = file["t"][0]
    names = ["".join(map(chr, row[0])) for row in cells(path, "chan_names")]
    assert names == [f"M1 {i:03d}" for i in range(1, 7)]
    np.testing.assert_allclose(np.diff(t), 0.004, atol=1e-9)
    for row in cells(path, "spikes"):
        assert np.all(np.diff(row[0]) >= 0) and t[0] <= row[0][0] and row[0][-1] <= t[-1]


def test_day_b_has_its_own_length_and_its_own_reaches(tmp_path):
    targets = []
    for path in write(tmp_path):
        with h5py.File(path) as file:
            targets.append(file["target_pos"][()])
    assert [shown.shape for shown in targets] == [(2, 10_001), (2, 7_501)]
    assert not np.array_equal(targets[0][:, :7_501], targets[1])


def test_a_seed_names_its_files(tmp_path):
    first, again = write(tmp_path / "1"), write(tmp_path / "2")
    other = write(tmp_path / "3", seed=1)
    for one, two, three in zip(first, again, other, strict=True):
        assert one.read_bytes() == two.read_bytes()
        assert one.read_bytes() != three.read_bytes()


def test_drift_changes_day_b_alone(tmp_path):
    plain = write(tmp_path / "1")
    drifted = replace(SMALL, drift=replace(SMALL.drift, scale=2.0))
    other = write(tmp_path / "2", drifted)
    assert plain[0].read_bytes() == other[0].read_bytes()
    assert plain[1].read_bytes() != other[1].read_bytes()
