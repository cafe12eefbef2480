import json
import subprocess
import sys
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


def test_the_memory_of_the_process_that_started_this_one_is_not_counted():
    """Linux hands ru_maxrss down to a started program."""
    held = np.ones(60_000_000)  # 480 MB
    program = "from orla.provenance import cost; print(cost.peak_bytes())"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert 1e6 < int(run.stdout) < held.nbytes < cost.peak_bytes()


def test_memory_that_is_reserved_and_never_touched_is_not_counted():
    program = """
import mmap
from orla.provenance import cost
reserved = mmap.mmap(-1, 1_000_000_000)
print(cost.peak_bytes())
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert 1e6 < int(run.stdout) < 5e8


def test_the_memory_of_started_processes_is_counted_apart(tmp_path):
    program = """
import subprocess, sys
from orla.provenance import cost
with cost.measured(sys.argv[1] + "/alone"):
    pass
with cost.measured(sys.argv[1] + "/helped"):
    subprocess.run([sys.executable, "-c", "held = b'x' * 300_000_000"], check=True)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    alone, helped = (
        json.loads((tmp_path / f"{name}.cost.json").read_text()) for name in ("alone", "helped")
    )
    assert alone["peak_rss_children_mb"] == 0
    assert helped["peak_rss_mb"] < 300 < helped["peak_rss_children_mb"]


def test_a_block_that_fails_costs_nothing(tmp_path):
    with pytest.raises(ValueError), cost.measured(tmp_path / "t.parquet"):
        raise ValueError
    assert not list(tmp_path.iterdir())
