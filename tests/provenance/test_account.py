import json
import os

import pytest

from orla.provenance import cost
from orla.provenance.cost import planned_cpu_s


def write(file, **changes):
    cost = {
        "wall_s": 9.0,
        "cpu_by_phase_s": {"starting": 2.0, "learners": 5.0, "compiling": 3.0},
        "steps": {"learners": 100, "scoring": 40},
        "programs": 1,
        "pytorch": True,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(cost | changes))
    return file


@pytest.fixture
def folders(tmp_path):
    results, reports = tmp_path / "results", tmp_path / "reports"
    write(results / "a.parquet.cost.json")
    second = {"learners": 9.0, "scoring": 0.04}
    write(results / "deep" / "b.parquet.cost.json", cpu_by_phase_s=second, programs=0)
    report = {"starting": 0.5, "reports": 0.5}
    write(
        reports / "page.html.cost.json", cpu_by_phase_s=report, pytorch=False, programs=0, steps={}
    )
    return results, reports


def test_the_line_has_all_phases_of_all_files_the_largest_first(folders):
    assert cost.cpu_summary(*folders) == (
        "CPU 20 s: learners 70 %, compiling 15 %, starting 12 %, reports 2 %"
    )
    assert cost.cpu_summary(folders[1]) == "CPU 1 s: starting 50 %, reports 50 %"


def test_an_earlier_run_is_not_counted(folders):
    old = folders[0] / "a.parquet.cost.json"
    os.utime(old, (1e9, 1e9))
    assert cost.cpu_summary(*folders, since=2e9).startswith("CPU 0 s")
    assert cost.cpu_summary(*folders, since=1.5e9).startswith("CPU 10 s: learners 90 %")


def test_files_that_are_missing_damaged_or_old_are_passed_over(folders, tmp_path):
    expected = cost.cpu_summary(*folders)
    (folders[0] / "c.cost.json").write_text("{")
    (folders[0] / "d.cost.json").write_text('{"wall_s": 3.0}')
    assert cost.cpu_summary(*folders, tmp_path / "no folder") == expected
    assert cost.cpu_summary(tmp_path / "no folder") == "CPU 0 s: no job ran"


@pytest.mark.parametrize(
    ("planned", "measured_us"),
    [
        (planned_cpu_s("exact", 10**6), 239.0),
        (planned_cpu_s("window", 10**6), 7.8),
        (planned_cpu_s("step", 10**6, hidden=32), 4.8),
        (planned_cpu_s("exact", 10**6, hidden=32), 59.0),
    ],
)
def test_other_sizes_are_near_what_was_measured(planned, measured_us):
    assert planned == pytest.approx(measured_us, rel=0.15)


def test_jobs_run_beside_each_other_and_none_ends_before_its_own_time():
    assert cost.forecast([22.3] * 4, cores=2) == "about 45 s on 2 cores (CPU 89 s)"
    assert cost.forecast([22.3, 241.5], cores=2) == "about 4 min on 2 cores (CPU 264 s)"
    assert cost.forecast([241.5]) == "about 4 min on 1 core (CPU 242 s)"
    assert cost.forecast([], 2) == "about 0 s on 2 cores (CPU 0 s)"
