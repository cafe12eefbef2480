import json
import os
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
    assert 0.05 <= found["wall_s"] < 30 and found["pytorch"] is True
    assert held.nbytes / 1e6 < found["peak_rss_mb"] < 1e5 and not result.exists()
    (tmp_path / "deep" / "t.parquet.cost.json").unlink()
    with pytest.raises(ValueError), cost.record(result):
        raise ValueError
    assert not list((tmp_path / "deep").iterdir())  # a block that fails costs nothing


def test_memory_and_start_are_the_process_own_and_those_of_started_ones_apart(tmp_path):
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
    # What a process did before the first block is its start.
    assert 0.9 * alone["cpu_s"] < alone["cpu_by_phase_s"]["starting"] <= alone["cpu_s"]
    assert alone["pytorch"] is False


def test_a_phase_within_a_phase_is_counted_once_and_one_that_fails_ends(tmp_path, ledger):
    with cost.record(tmp_path / "t", default_phase="reports"):
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
        with cost.work_phase("learners", 30), cost.phase("compiling"):
            burn(0.03)
        with cost.phase("pretraining"), cost.work_phase("learners", 500), cost.phase("compiling"):
            burn(0.03)
        with cost.work_phase("learners", 4):
            burn(0.03)
    found = written(tmp_path / "t")
    assert found["steps"] == {"learners": 34, "pretraining": 500}
    spent = found["cpu_by_phase_s"]
    assert spent["compiling"] >= 0.06
    assert 0.03 <= spent["learners"] < 0.06
    assert spent["pretraining"] < 0.02


def test_the_time_of_started_processes_is_counted(tmp_path, ledger):
    busy = "import time\nwhile time.process_time() < 0.1: pass"
    with cost.record(tmp_path / "t"), cost.phase("compiling"):
        subprocess.run([sys.executable, "-c", busy], check=True)
    found = written(tmp_path / "t")
    assert found["cpu_s"] < 0.1 <= found["cpu_children_s"] <= found["cpu_by_phase_s"]["compiling"]


# Sums of cost files, and the estimate of what is planned


@pytest.fixture
def folders(tmp_path):
    results, reports = tmp_path / "results", tmp_path / "reports"
    for file, spent in (
        (results / "a.parquet", {"starting": 2.0, "learners": 5.0, "compiling": 3.0}),
        (results / "deep" / "b.parquet", {"learners": 9.0, "scoring": 0.04}),
        (reports / "page.html", {"starting": 0.5, "reports": 0.5}),
    ):
        file.parent.mkdir(parents=True)
        file.with_name(f"{file.name}.cost.json").write_text(json.dumps({"cpu_by_phase_s": spent}))
    return results, reports


def test_the_line_has_all_phases_of_all_files_the_largest_first(folders):
    assert cost.cpu_summary(*folders) == (
        "CPU 20 s: learners 70 %, compiling 15 %, starting 12 %, reports 2 %"
    )
    assert cost.cpu_summary(folders[1]) == "CPU 1 s: starting 50 %, reports 50 %"


def test_files_of_earlier_runs_damaged_or_old_ones_are_passed_over(folders, tmp_path):
    expected = cost.cpu_summary(*folders)
    (folders[0] / "c.cost.json").write_text("{")
    (folders[0] / "d.cost.json").write_text('{"wall_s": 3.0}')
    assert cost.cpu_summary(*folders, tmp_path / "no folder") == expected
    os.utime(folders[0] / "a.parquet.cost.json", (1e9, 1e9))
    assert cost.cpu_summary(*folders, since=1.5e9).startswith("CPU 10 s: learners 90 %")
    assert cost.cpu_summary(*folders, since=2e10) == "CPU 0 s: no job ran"


def test_other_sizes_are_near_what_was_measured():
    work = [("exact", 64), ("window", 64), ("step", 32), ("exact", 32)]
    planned = [cost.planned_cpu_s(kind, 10**6, hidden) for kind, hidden in work]
    assert planned == pytest.approx([239.0, 7.8, 4.8, 59.0], rel=0.15)


def test_jobs_run_beside_each_other_and_none_ends_before_its_own_time():
    assert cost.forecast_text([22.3] * 4, cores=2) == "about 45 s on 2 cores (CPU 89 s)"
    assert cost.forecast_text([22.3, 241.5], cores=2) == "about 4 min on 2 cores (CPU 264 s)"
    assert cost.forecast_text([241.5]) == "about 4 min on 1 core (CPU 242 s)"
    assert cost.forecast_text([], 2) == "about 0 s on 2 cores (CPU 0 s)"
