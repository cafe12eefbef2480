import h5py
import made_mat as mat_write
import numpy as np
import pytest
import scipy.io
from made import K, arrays

from orla.errors import OrlaError


@pytest.fixture
def mat(tmp_path):
    return tmp_path / "indy_20160630_01.mat"


def test_the_written_file_is_matlab_v73(mat):
    mat_write.write_session(mat, **arrays())
    # scipy knows the header of a v7.3 file, and that another library must read the rest.
    with pytest.raises(NotImplementedError, match=r"v7\.3"):
        scipy.io.loadmat(mat)
    assert mat.read_bytes()[:19] == b"MATLAB 7.3 MAT-file"
    assert mat.read_bytes()[512:520] == b"\x89HDF\r\n\x1a\n"
    with h5py.File(mat) as file:
        assert file.userblock_size == 512
        assert file["cursor_pos"].shape == (2, K)
        assert file["t"].attrs["MATLAB_class"] == b"double"
        assert file["spikes"].shape == (2, 3)
        assert file["spikes"].attrs["MATLAB_class"] == b"cell"
        empty = file[file["spikes"][0, 1]]
        assert empty.attrs["MATLAB_empty"] == 1
        assert empty.shape == (2,)
        name = file[file["chan_names"][0, 2]]
        assert (name.dtype, name.shape) == (np.uint16, (6, 1))
        assert (name.attrs["MATLAB_class"], name.attrs["MATLAB_int_decode"]) == (b"char", 2)
        assert len(file["#refs#"]) == 3 + 6


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("one.mat", "two.mat"):
        mat_write.write_session(tmp_path / name, **arrays())
    assert (tmp_path / "one.mat").read_bytes() == (tmp_path / "two.mat").read_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"chan_names": ["M1 001"]},
        {"spikes": [[np.array([])], [], []]},
        {"cursor_pos": np.zeros((K - 1, 2))},
        {"finger_pos": np.zeros((K - 1, 3))},
    ],
)
def test_arrays_that_disagree_are_not_written(mat, changes):
    with pytest.raises(OrlaError, match=r"01\.mat: cannot write"):
        mat_write.write_session(mat, **arrays(**changes))
    assert not list(mat.parent.iterdir())
