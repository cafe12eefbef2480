import errno
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from orla import files
from orla.errors import OrlaError
from orla.files import atomic, is_disk_full, load_arrays_and_names


def test_the_file_appears_whole_with_its_suffix_and_nothing_else(tmp_path):
    path = tmp_path / "new" / "a.npz"
    with atomic(path) as partial:
        assert partial.suffix == ".npz" and partial.parent == path.parent
        np.savez(partial, x=np.arange(3))
        assert not path.exists()
    assert list(path.parent.iterdir()) == [path]
    assert list(np.load(path)["x"]) == [0, 1, 2]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_older_file_and_nothing_half_written(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("older")
    with pytest.raises(error), atomic(path) as partial:
        partial.write_text("half")
        raise error
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_of_a_file_goes_when_it_is_written_again(tmp_path):
    path, other = tmp_path / "a[1].b.txt", tmp_path / "a[1].c.txt"
    killed = "from sys import argv; from orla.files import atomic; import os\n"
    killed += "with atomic(argv[1]) as partial: partial.write_text('half'); os._exit(9)"
    for place in (path, other):
        subprocess.run([sys.executable, "-c", killed, place], check=False)
    left_of_path, left_of_other = sorted(tmp_path.iterdir())
    running = left_of_path.with_name(re.sub(r"\d+-", f"{os.getppid()}-", left_of_path.name))
    elsewhere = left_of_path.with_name(re.sub(r"-\w+", "-01234567", left_of_path.name))
    for one in (running, elsewhere):
        one.write_text("half")
    with atomic(path) as partial:
        partial.write_text("whole")
    assert not left_of_path.exists()
    assert {*tmp_path.iterdir()} == {path, left_of_other, running, elsewhere}


FULL = r"a\.npz: no space left.*free some space"
FORBIDDEN = r"a\.npz: cannot be written .*make .* writable"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        *((errno.ENOSPC, FULL), (errno.EDQUOT, FULL)),
        *((errno.EROFS, FORBIDDEN), (errno.EACCES, FORBIDDEN)),
    ],
)
def test_a_full_disk_and_a_folder_that_cannot_be_written_are_named(tmp_path, number, message):
    with pytest.raises(OrlaError, match=message) as raised, atomic(tmp_path / "a.npz") as partial:
        partial.write_text("half")
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(raised.value) and not list(tmp_path.iterdir())


def test_a_full_disk_is_recognised_when_a_library_wraps_it_or_handling_fails(tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    wrapped, late = RuntimeError("cannot write"), KeyError("lost")
    wrapped.__cause__, late.__context__ = full, full
    assert is_disk_full(wrapped) and is_disk_full(late)
    assert is_disk_full(RuntimeError("HDF5: errno = 28, error message = 'No space left on device'"))
    assert not is_disk_full(PermissionError(errno.EACCES, "Permission denied"))


def test_another_io_error_is_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(OSError, match="Unable"), atomic(tmp_path / "a"):
        h5py.File(tmp_path / "nothing.h5", "r")


ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "mask": np.array([True, False])}


def test_wanted_arrays_are_read_and_all_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS, strange=np.array([None]))
    arrays, names = load_arrays_and_names(tmp_path / "a.npz", ["x", "absent"])
    assert list(arrays) == ["x"] and names == ["x", "mask", "strange"]
    with pytest.raises(OrlaError, match=r"a\.npz: not an \.npz .*allow_pickle"):
        load_arrays_and_names(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(10), b"text", b"\x93NUMPY\x01"])
def test_what_is_no_npz_is_one_line(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(OrlaError, match=r"a\.npz: not an \.npz of numeric arrays"):
        load_arrays_and_names(tmp_path / "a.npz", ["x"])


def test_arrays_above_the_limit_are_not_read(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    monkeypatch.setattr(files, "MOST_NUMBERS", 8)
    load_arrays_and_names(tmp_path / "a.npz")
    monkeypatch.setattr(files, "MOST_NUMBERS", 7)
    with pytest.raises(OrlaError, match="x, mask have more than 7 numbers"):
        load_arrays_and_names(tmp_path / "a.npz")
