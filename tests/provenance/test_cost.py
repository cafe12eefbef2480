import json
import time

import numpy as np
import pytest

from orla.provenance import cost


def test_time_and_memory_stand_beside_the_result(tmp_path):
    result = tmp_path / "deep" / "t.parquet"
    with cost.measured(result):
        held = np.ones(30_000_000)  # 240 MB
        time.sleep(0.05)
    found = json.loads((tmp_path / "deep" / "t.parquet.cost.json").read_text())
    assert 0.05 <= found["wall_s"] < 30
    assert held.nbytes / 1e6 < found["peak_rss_mb"] < 1e5
    assert 0 <= found["peak_rss_children_mb"] < 1e5
    assert not result.exists()


def test_a_block_that_fails_costs_nothing(tmp_path):
    with pytest.raises(ValueError), cost.measured(tmp_path / "t.parquet"):
        raise ValueError
    assert not list(tmp_path.iterdir())
