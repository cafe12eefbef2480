import errno
import os
import subprocess
import sys
from pathlib import Path

import h5py
import made_mat as mat_write
import numpy as np
import pytest
from made import arrays

from orla.errors import OrlaError
from orla.sessions import mat_read, nwb

GIGABYTE = 1 << 30


@pytest.fixture
def mat(tmp_path):
    return tmp_path / "indy_20160630_01.mat"


def test_convert_gives_what_read_session_gives(mat):
    mat_write.write_session(mat, **arrays())
    nwb.write_session(mat_read.read_session(mat, source="SIMULATED."), mat.with_suffix(".nwb"))
    direct, through = mat_read.read_session(mat), nwb.read_session(mat.with_suffix(".nwb"))
    assert (through.name, through.channels, through.areas) == (
        (direct.name, direct.channels, direct.areas)
    )
    assert through.source == "SIMULATED."
    np.testing.assert_array_equal(through.time_s, direct.time_s)
    for one, other in zip(through.unit_spikes, direct.unit_spikes, strict=True):
        np.testing.assert_array_equal(one, other)
    for name, values in through.behavior.items():
        np.testing.assert_array_equal(direct.behavior[name], values)
    assert set(through.behavior) == {"cursor_pos", "finger_pos"}


def test_a_full_disk_is_one_line_and_leaves_nothing(mat, monkeypatch):
    mat_write.write_session(mat, **arrays())

    def full(path, content):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OrlaError, match=r"out\.nwb: no space left .*free some space"):
        nwb.write_session(mat_read.read_session(mat), mat.parent / "out.nwb")
    assert list(mat.parent.iterdir()) == [mat]


LIMITED = """
import resource, sys
from orla.sessions import mat_read, nwb
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
nwb.write_session(mat_read.read_session(sys.argv[1]), sys.argv[2])
"""


def test_a_write_that_the_system_refuses_does_not_crash_the_program(mat):
    """HDF5 by itself ends in a segmentation fault when a write fails."""
    mat_write.write_session(mat, **arrays())
    run = [sys.executable, "-c", LIMITED, str(mat), str(mat.with_suffix(".nwb"))]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "File too large" in ended.stderr.splitlines()[-1]
    assert list(mat.parent.iterdir()) == [mat]


PEAK = """
import sys
from orla.provenance.cost import peak_bytes
{work}
print(peak_bytes())
"""


def peak_bytes(work, *arguments):
    run = [sys.executable, "-c", PEAK.format(work=work), *map(str, arguments)]
    return int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("share", [0.05, pytest.param(1, marks=pytest.mark.full)])
def test_a_recording_is_converted_in_under_a_gigabyte(tmp_path, share):
    """96 channels, 5 units, 2.9 million events over 23 minutes, and 1.1 GB of waveforms a cell.

    Or a share of the events and minutes, with all of the waveforms.
    """
    path = tmp_path / "indy_20160630_01.mat"
    k, generator = int(345_000 * share), np.random.default_rng(0)
    t = 148.984 + 0.004 * np.arange(k)
    events = int(6000 * share)
    spikes = [
        [np.sort(generator.uniform(t[0], t[-1], events)) for _ in range(5)] for _ in range(96)
    ]
    zeros = {"cursor_pos": np.zeros((k, 2)), "target_pos": np.zeros((k, 2))}
    names = [f"M1 {number:03d}" for number in range(1, 97)]
    mat_write.write_session(
        path, chan_names=names, t=t, finger_pos=np.zeros((k, 3)), spikes=spikes, **zeros
    )
    with h5py.File(path, "r+") as file:
        # Chunks that nobody wrote take no room on the disk, but all of it when read.
        shape = (GIGABYTE // 8 // 48, 48)
        snippets = file["#refs#"].create_dataset("wf", shape, "f8", chunks=(65536, 48), fillvalue=1)
        file.create_dataset("wf", data=np.full((5, 96), snippets.ref), dtype=h5py.ref_dtype)
    convert = (
        "from orla.sessions import mat_read, nwb;"
        "nwb.write_session(mat_read.read_session(sys.argv[1]), sys.argv[2])"
    )
    assert peak_bytes(convert, path, tmp_path / "a.nwb") < GIGABYTE
    read_waveforms = (
        "import h5py; file = h5py.File(sys.argv[1]); x = file[file['wf'][0, 0]][()]; x.sum()"
    )
    assert peak_bytes(read_waveforms, path) > GIGABYTE
