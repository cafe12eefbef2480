import json
import subprocess
import sys
import time

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
with cost.record(sys.argv[1] + "/alone"):
    pass
with cost.record(sys.argv[1] + "/helped"):
    subprocess.run([sys.executable, "-c", "held = b'x' * 300_000_000"], check=True)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    alone, helped = (
        json.loads((tmp_path / f"{name}.cost.json").read_text()) for name in ("alone", "helped")
    )
    assert alone["peak_rss_children_mb"] == 0
    assert helped["peak_rss_mb"] < 300 < helped["peak_rss_children_mb"]


def test_a_block_that_fails_costs_nothing(tmp_path):
    with pytest.raises(ValueError), cost.record(tmp_path / "t.parquet"):
        raise ValueError
    assert not list(tmp_path.iterdir())


def test_a_phase_within_a_phase_is_counted_once(tmp_path, ledger):
    with cost.record(tmp_path / "t", rest="reports"):
        with cost.phase("outer"):
            burn(0.04)
            with cost.phase("inner"):
                burn(0.12)
                with cost.phase("outer"):
                    burn(0.04)
        burn(0.02)
    found = written(tmp_path / "t")
    spent = found["cpu_by_phase_s"]
    assert set(spent) == {"starting", "outer", "inner", "reports"}
    assert 0.08 <= spent["outer"] < spent["inner"] < 0.3
    assert spent["inner"] >= 0.12
    assert spent["reports"] >= 0.02
    assert sum(spent.values()) == pytest.approx(found["cpu_s"], abs=0.01)
    assert found["cpu_children_s"] == 0


def test_a_phase_that_fails_is_counted_and_ends(tmp_path, ledger):
    with pytest.raises(ValueError), cost.phase("failing"), cost.phase("within"):
        burn(0.03)
        raise ValueError
    with cost.record(tmp_path / "t"):
        burn(0.03)
    spent = written(tmp_path / "t")["cpu_by_phase_s"]
    assert 0.03 <= spent["within"] < 0.2
    assert spent["failing"] < 0.02
    assert 0.03 <= spent["other"] < 0.2


def test_a_file_holds_what_was_spent_since_the_last_one(tmp_path, ledger):
    burn(0.03)
    with cost.phase("before"):
        burn(0.05)
    with cost.record(tmp_path / "first"):
        burn(0.02)
    cost.count_program()
    burn(0.06)
    with cost.record(tmp_path / "second"):
        pass
    first, second = written(tmp_path / "first"), written(tmp_path / "second")
    assert set(first["cpu_by_phase_s"]) == {"starting", "before", "other"}
    assert first["cpu_by_phase_s"]["starting"] >= 0.03
    assert first["cpu_by_phase_s"]["before"] >= 0.05
    assert set(second["cpu_by_phase_s"]) == {"other"}
    assert 0.06 <= second["cpu_s"] < 0.2
    assert (first["programs"], second["programs"]) == (0, 1)


def test_a_file_that_is_written_within_a_phase_counts_nothing_twice(tmp_path, ledger):
    with cost.phase("long"):
        burn(0.05)
        with cost.record(tmp_path / "first"):
            burn(0.05)
        burn(0.05)
    with cost.record(tmp_path / "second"):
        pass
    first, second = (written(tmp_path / name)["cpu_by_phase_s"] for name in ("first", "second"))
    assert 0.1 <= first["long"] < 0.2
    assert 0.05 <= second["long"] < 0.1


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
