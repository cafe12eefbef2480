"""NWB in Zarr: the same session as from HDF5, through the same code."""

import met
import numpy as np
import pynwb
import pytest

from orla.command import files
from orla.errors import OrlaError
from orla.sessions import nwb


def exported(folder, **given):
    """A recording as it is met, in HDF5 and in Zarr."""
    zarr = pytest.importorskip("hdmf_zarr.nwb")
    path, other = folder / "day.nwb", folder / "day.nwb.zarr"
    met.written(path, 1, **given)
    source = pynwb.NWBHDF5IO(str(path), "r", load_namespaces=True)
    with source, zarr.NWBZarrIO(str(other), "w") as target:
        target.export(src_io=source, write_args={"link_data": False})
    return path, other


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"columns": {"quality": ["good"] * 6 + ["mua", "noise"]}},
        {"arrays": ("M1/PMd",) * 4 + ("S1: area 2",) * 4},
    ],
    ids=["as it is", "qualities", "arrays"],
)
def test_a_session_in_zarr_is_that_in_hdf5(given, tmp_path):
    ours, theirs = (
        nwb.read_session(path, nwb.Source(cursor="hand")) for path in exported(tmp_path, **given)
    )
    for name, value in vars(ours).items():
        np.testing.assert_equal(getattr(theirs, name), value, err_msg=name)


@pytest.mark.filterwarnings("ignore")
def test_facts_of_a_recording_in_zarr_are_those_in_hdf5(tmp_path):
    ours, theirs = map(nwb.facts, exported(tmp_path))
    assert ours == theirs and {"date", "area"} <= ours.keys()


@pytest.mark.filterwarnings("ignore")
def test_a_study_of_folders_in_zarr_can_be_written(tmp_path):
    _, path = exported(tmp_path)
    other = tmp_path / "next.zarr"
    path.rename(other)
    exported(tmp_path)
    pair = files.read_pair("nwb", [str(path), str(other)], cursor="hand")
    assert pair.names == ("day.nwb", "next") and pair.inputs > 0


def test_a_damaged_folder_is_told(tmp_path):
    pytest.importorskip("hdmf_zarr")
    (tmp_path / "day.zarr").mkdir()
    (tmp_path / "day.zarr/.zgroup").write_text("{}")
    with pytest.raises(
        OrlaError, match="cannot be read as NWB: a part is missing, damaged"
    ) as told:
        nwb.read_session(tmp_path / "day.zarr")
    assert "\n" not in str(told.value)


def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch):
    (tmp_path / ".zgroup").write_text("{}")
    monkeypatch.setattr("orla.sessions.hdf5.find_spec", lambda name: None)
    with pytest.raises(OrlaError, match=r"in Zarr; pip install 'orla\[zarr\]', or export it"):
        nwb.read_session(tmp_path)
