import zipfile

import numpy as np

from orla.provenance.arrays import read_arrays, write_arrays

ARRAYS = {"mse": np.arange(6.0).reshape(2, 3), "frozen_mse": np.float32([1, np.nan])}


def test_arrays_and_provenance_come_back(tmp_path):
    (tmp_path / "in").write_bytes(b"a")
    write_arrays(ARRAYS, tmp_path / "t.npz", {"seeds": [0]}, inputs=[tmp_path / "in"])
    arrays, provenance = read_arrays(tmp_path / "t.npz", expect={"seeds": [0]})
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert provenance["seeds"] == [0] and list(provenance["inputs"]) == ["in"]


def test_arrays_are_a_sound_archive_that_numpy_reads(tmp_path):
    write_arrays(ARRAYS, tmp_path / "a.npz", {"x": 1})
    assert zipfile.ZipFile(tmp_path / "a.npz").testzip() is None
    with np.load(tmp_path / "a.npz") as plain:
        np.testing.assert_array_equal(plain["mse"], ARRAYS["mse"])
