"""The commands of a study's folder with the real Snakemake, before anything is trained."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from orla.__main__ import main
from orla.command import logger, plan
from orla.command.studies import Study
from orla.errors import OrlaError
from orla.study import forecast


@pytest.fixture(scope="module")
def study(made, tmp_path_factory):
    """A study of two NWB files, in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("of mine") / "my study"
    return made(folder, "nwb", "day 1.nwb", "day 2.nwb")


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 1 and said[-1].startswith("error: "), said
    return said[-1]


@pytest.mark.parametrize(
    ("command", "old", "new", "words"),
    [
        # Seen by Snakemake, by the plan, and by a job.
        ("plan", "day 1.nwb", "gone.nwb", "gone.nwb: there is no such file; mend the path"),
        ("run", "optimizers: [adam]", "optimizers: [adma]", 'the nearest is "adam"'),
        ("run prepared", "  steps: [", "  steps: [900000, ", "horizons.steps has 900000"),
    ],
)
def test_a_failure_is_one_line_and_the_last(study, capsys, command, old, new, words):
    config, text = study / "config.yaml", (study / "config.yaml").read_text()
    config.write_text(text.replace(old, new))
    assert words in refused(capsys, *command.split(), "--directory", study)
    config.write_text(text)


def test_plan_tells_what_is_to_run_and_memory_by_the_size_of_recordings(
    made, recordings, tmp_path, capsys, monkeypatch
):
    study = made(tmp_path / "new", "nwb", "day 1.nwb", "day 2.nwb")
    jobs = [*plan._dry_run_jobs(Study(study))]
    monkeypatch.setattr(plan, "_dry_run_jobs", lambda _: jobs)
    capsys.readouterr()
    main(["plan", str(study)])
    told = capsys.readouterr().out
    assert "1 streams" in told and "4 conditions to adapt" in told
    words = [line.split()[0] for line in told.splitlines()]
    assert words == ["jobs", "CPU", "time", "memory", "disk"]
    sizes = [(recordings / f"day {day}.nwb").stat().st_size / 2**20 for day in (1, 2)]
    asked = [job["resources"]["mem_mb"] for job in jobs if job["rule_name"] == "convert"]
    assert sorted(asked) == sorted(round(2000 + 5 * size) for size in sizes)
    assert min(asked) > 2000
    monkeypatch.setitem(forecast.MB_OF_FILE, "convert", 1e5)
    assert plan.estimate_run(Study(study))["memory_mb"] > 1e5 * sum(sizes)


def test_inspect_writes_the_drift_report_and_show_prints_the_answer(study, capsys, monkeypatch):
    monkeypatch.chdir(study.parent)
    main(["inspect", "--directory", str(study)])
    told = capsys.readouterr()
    assert "A: day_1" in told.out and "a ridge decoder" in told.out
    assert [line.partition("] ")[2] for line in told.err.splitlines()][-3:-1] == [
        "Decoding each session by the other",
        "Writing the drift report reports/sessions/index.html",
    ]
    page = (study / "reports/sessions/index.html").read_text()
    assert "a ridge decoder" in page and "No difference between learners" not in page
    assert "there is no answer yet; make one with: orla run" in refused(capsys, "show", study)
    answer = study / "reports/answer.txt"
    answer.write_text("It does.\n")
    main(["show", str(study)])
    assert capsys.readouterr().out == "It does.\n"
    os.utime(answer, (1, 1))
    main(["show", str(study)])
    told = capsys.readouterr().out
    assert "This answer is older than config.yaml: orla run brings it up to date." in told
    main(["run", "prepared", "--directory", str(study)])
    nothing = "Nothing to do: what was asked for is up to date.\n"
    told = capsys.readouterr()
    assert told.out == "" and told.err.endswith(nothing)
    monkeypatch.setattr(Study, "run", lambda *_: 0)
    for target in ("headline", "controls", "all"):
        main(["run", target, "--directory", str(study)])
        assert capsys.readouterr() == ("It does.\n", "")


def test_outside_of_a_study_the_way_in_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in ("run", "plan", "inspect", "show"):
        assert "has no config.yaml" in (said := refused(capsys, command)) and "orla new" in said
    monkeypatch.setattr("orla.__file__", str(tmp_path / "site-packages/orla/__init__.py"))
    (tmp_path / "config.yaml").write_text("")
    assert "gone.yaml: there is no such file" in refused(capsys, "plan", "gone.yaml")
    with pytest.raises(OrlaError, match="install orla from its checkout"):
        Study(tmp_path).snakemake_command("all")
    assert {*logger.__path__} <= {*Study.snakemake_environment()["PYTHONPATH"].split(os.pathsep)}


@pytest.mark.skipif(sys.platform != "linux", reason="a process ends with its parent on Linux")
@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGKILL]
    + [pytest.param(each, marks=pytest.mark.full) for each in (signal.SIGTERM, signal.SIGHUP)],
)
def test_a_run_that_is_ended_says_so_in_two_lines_and_leaves_no_process_or_lock(study, number):
    mark = f"orla-test-{os.getpid()}-{number}"
    paths = {"PYTHONPATH": Study.snakemake_environment()["PYTHONPATH"], "MARK": mark}
    begun = subprocess.Popen(
        [sys.executable, "-m", "orla", "run", "--directory", str(study)],
        env=os.environ | paths | {"ORLA_CACHE": str(study / "cache")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    first = begun.stderr.readline()  # Snakemake has read the workflow by then
    if number == signal.SIGINT:
        time.sleep(1.0)
    begun.send_signal(number)
    if number == signal.SIGKILL:
        begun.wait()
    else:
        said = begun.stderr.read()
        assert begun.wait() == 130 and "conditions to adapt" in first
        last = said.rstrip().splitlines()[-2:]
        assert last[0].startswith("Stopped: ") and "Traceback" not in said
        assert last[1].startswith("Go on with the same command")

    def left():
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                alive = ") Z " not in (folder / "stat").read_text()
                if alive and f"MARK={mark}".encode() in (folder / "environ").read_bytes():
                    yield (folder / "cmdline").read_bytes()

    end = time.monotonic() + 60
    while [*left()] and time.monotonic() < end:
        time.sleep(0.2)
    assert not [*left()]
    assert not [*(study / ".snakemake/locks").glob("*")]


def test_a_dry_run_is_snakemakes_own_and_shows_no_answer(study, capfd):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--directory", str(study), "--", "-n"])
    said = capfd.readouterr()
    assert ended.value.code == 0 and "This was a dry-run" in said.out + said.err
    assert "report: " not in said.out
    assert refused(capfd, "run", "", "--directory", study).endswith("has no name; leave it out")


def test_what_snakemakes_config_option_says_is_in_the_plan(study, capsys):
    options = ("--cores", "1", "--config", "pathvars={reports: elsewhere}", "name=other", "-h")
    config = Study(study, options=options).enter_and_plan().config
    assert (config["pathvars"]["reports"], config["name"]) == ("elsewhere", "other")
    assert (
        config["pathvars"]["results"] == Study(study).enter_and_plan().config["pathvars"]["results"]
    )
    (study / "elsewhere").mkdir()
    (study / "elsewhere/answer.txt").write_text("an answer\n")
    main(["show", str(study), "--", *options])
    assert capsys.readouterr().out == "an answer\n"
    said = refused(capsys, "show", study, "--", "--config", "reports")
    assert said.startswith("error: --config reports: Invalid config definition")
