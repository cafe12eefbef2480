import json
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from orla.provenance import cost


@pytest.fixture
def ledger(monkeypatch):
    """That of a process which begins now."""
    began = cost.Ledger(until_s=sum(cost._cpu_s()), filed_s=cost._cpu_s())
    monkeypatch.setattr(cost, "_ledger", began)
    return began


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def written(result):
    return json.loads(result.with_name(f"{result.name}.cost.json").read_text())


def test_time_and_memory_stand_beside_the_result(tmp_path):
    result = tmp_path / "deep" / "t.parquet"
    with cost.record(result):
        held = np.ones(30_000_000)  # 240 MB
        time.sleep(0.05)
    found = written(result)
    assert 0.05 <= found["wall_s"] < 30
    assert held.nbytes / 1e6 < found["peak_rss_mb"] < 1e5
    assert 0 <= found["peak_rss_children_mb"] < 1e5
    assert not result.exists()


def test_memory_is_the_process_own_and_touched_and_that_of_started_ones_apart(tmp_path):
    """Linux hands ru_maxrss down to a started program."""
    held = np.ones(60_000_000)  # 480 MB
    program = """
import mmap, subprocess, sys
from orla.provenance import cost
reserved = mmap.mmap(-1, 1_000_000_000)
print(cost.peak_bytes())
with cost.record(sys.argv[1] + "/alone"):
    pass
with cost.record(sys.argv[1] + "/helped"):
    subprocess.run([sys.executable, "-c", "held = b'x' * 300_000_000"], check=True)
"""
    run = [sys.executable, "-c", program, str(tmp_path)]
    peak = int(subprocess.run(run, check=True, capture_output=True).stdout)
    assert 1e6 < peak < 3e8 < held.nbytes < cost.peak_bytes()
    alone, helped = (written(tmp_path / name) for name in ("alone", "helped"))
    assert alone["peak_rss_children_mb"] == 0
    assert helped["peak_rss_mb"] < 300 < helped["peak_rss_children_mb"]


def test_a_block_that_fails_costs_nothing(tmp_path):
    with pytest.raises(ValueError), cost.record(tmp_path / "t.parquet"):
        raise ValueError
    assert not list(tmp_path.iterdir())


def test_a_phase_within_a_phase_is_counted_once_and_one_that_fails_ends(tmp_path, ledger):
    with cost.record(tmp_path / "t", rest="reports"):
        with suppress(ValueError), cost.phase("outer"), cost.phase("failing"):
            burn(0.02)
            raise ValueError
        with cost.phase("outer"):
            burn(0.04)
            with cost.phase("inner"):
                burn(0.12)
                with cost.phase("outer"):
                    burn(0.04)
        burn(0.02)
    found = written(tmp_path / "t")
    spent = found["cpu_by_phase_s"]
    assert set(spent) == {"starting", "outer", "failing", "inner", "reports"}
    assert 0.08 <= spent["outer"] < spent["inner"] < 0.3
    assert spent["inner"] >= 0.12
    assert spent["reports"] >= 0.02
    assert sum(spent.values()) == pytest.approx(found["cpu_s"], abs=0.01)
    assert found["cpu_children_s"] == 0


def test_a_file_holds_what_was_spent_since_the_last_one(tmp_path, ledger):
    burn(0.03)
    with cost.phase("long"):
        burn(0.05)
        with cost.record(tmp_path / "first"):
            burn(0.05)
        burn(0.05)
    cost.count_program()
    with cost.record(tmp_path / "second"):
        pass
    first, second = written(tmp_path / "first"), written(tmp_path / "second")
    assert set(first["cpu_by_phase_s"]) == {"starting", "long", "other"}
    assert first["cpu_by_phase_s"]["starting"] >= 0.03
    assert 0.1 <= first["cpu_by_phase_s"]["long"] < 0.2
    assert 0.05 <= second["cpu_by_phase_s"]["long"] < 0.1
    assert 0.05 <= second["cpu_s"] < 0.2
    assert (first["programs"], second["programs"]) == (0, 1)


def test_work_is_part_of_the_open_phase(tmp_path, ledger):
    with cost.record(tmp_path / "t"):
        with cost.work("learners", 30), cost.phase("compiling"):
            burn(0.03)
        with cost.phase("pretraining"), cost.work("learners", 500), cost.phase("compiling"):
            burn(0.03)
        with cost.work("learners", 4):
            burn(0.03)
    found = written(tmp_path / "t")
    assert found["steps"] == {"learners": 34, "pretraining": 500}
    spent = found["cpu_by_phase_s"]
    assert spent["compiling"] >= 0.06
    assert 0.03 <= spent["learners"] < 0.06
    assert spent["pretraining"] < 0.02


def test_the_time_of_started_processes_is_counted(tmp_path, ledger):
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    with cost.record(tmp_path / "t"), cost.phase("compiling"):
        subprocess.run([sys.executable, "-c", busy], check=True)
    found = written(tmp_path / "t")
    assert found["cpu_s"] < 0.2
    assert 0.3 <= found["cpu_children_s"] <= found["cpu_by_phase_s"]["compiling"]


@pytest.mark.parametrize(("imported", "loaded"), [("json", False), ("torch", True)])
def test_a_process_says_whether_it_has_pytorch_and_what_its_start_took(tmp_path, imported, loaded):
    program = f"""
import sys, {imported}
from orla.provenance import cost
with cost.record(sys.argv[1]):
    pass
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "t")], check=True)
    found = written(tmp_path / "t")
    assert found["pytorch"] is loaded
    assert 0 < found["cpu_by_phase_s"]["starting"] <= found["cpu_s"] + found["cpu_children_s"]
    assert found["cpu_by_phase_s"]["starting"] > 0.9 * found["cpu_s"]
