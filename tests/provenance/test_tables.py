import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orla.errors import OrlaError
from orla.provenance.tables import read_table, write_table

FRAME = pd.DataFrame(
    {
        "learner": ["rtrl", "immediate"],
        "seed": [0, 1],
        "heldout_mse": [0.25, np.nan],
        "diverged": [False, True],
    }
)
PROVENANCE = {"dataset": {"name": "simulated", "simulated": True}, "seeds": [0, 1]}


def test_values_types_and_provenance_come_back(tmp_path):
    write_table(FRAME, tmp_path / "t.parquet", PROVENANCE)
    back = read_table(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(back, FRAME)
    assert back.attrs["provenance"] == PROVENANCE | {"inputs": {}}


def test_provenance_is_not_copied_by_what_is_done_with_a_table(tmp_path):
    write_table(FRAME, tmp_path / "t.parquet", PROVENANCE)
    back = read_table(tmp_path / "t.parquet")
    for made in (back[back["seed"] > 0], back.copy(), back.iloc[0]):
        assert made.attrs["provenance"] is back.attrs["provenance"]


def test_nan_is_stored_as_null(tmp_path):
    write_table(FRAME, tmp_path / "t.parquet", {})
    assert pq.read_table(tmp_path / "t.parquet")["heldout_mse"].null_count == 1


def test_equal_tables_give_equal_bytes_whatever_was_read_before(tmp_path):
    write_table(FRAME, tmp_path / "a.parquet", PROVENANCE)
    write_table(read_table(tmp_path / "a.parquet"), tmp_path / "b.parquet", PROVENANCE)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_rows_that_were_picked_are_numbered_anew(tmp_path):
    write_table(FRAME.iloc[::-1], tmp_path / "picked.parquet", PROVENANCE)
    back = read_table(tmp_path / "picked.parquet")
    pd.testing.assert_frame_equal(back, FRAME.iloc[::-1].reset_index(drop=True))
    assert pq.read_table(tmp_path / "picked.parquet").column_names == list(FRAME)


def test_a_table_of_another_program_is_named(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "foreign.parquet")
    with pytest.raises(OrlaError, match=r"foreign\.parquet: written by another program"):
        read_table(tmp_path / "foreign.parquet")
