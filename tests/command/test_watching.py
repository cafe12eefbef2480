"""What a run is told as, from lines that Snakemake's events and jobs write."""

import json

import pytest

from orla.command.studies import failure_reason
from orla.command.watching import MARK, Watch, duration_text

NO_RULE = "No rule to produce %s (if you use input functions make sure that they don't raise"


def event(name, **fields):
    return MARK + json.dumps({"event": name, **fields})


def told(watch, *lines):
    return [said.partition("] ")[2] for line in lines for said in watch.messages(line)]


def test_a_job_is_a_line_when_it_is_done(tmp_path):
    watch = Watch(tmp_path)
    lines = [event("run_info", stats={"streams": 1, "all": 1, "total": 2})]
    for jobid, rule, words, mb in (
        (1, "streams", "Making the streams", 9),
        (0, "all", "All", None),
    ):
        job = {"jobid": jobid, "rule_name": rule, "rule_msg": words, "resources": {"mem_mb": mb}}
        lines.append(event("job_info", **job))
    lines += [event("job_finished", job_id=1), event("job_finished", job_id=0)]
    assert told(watch, *lines, event("progress", done=2, total=2)) == ["Making the streams"]
    assert (watch.n_done, watch.total) == (2, 2)


def test_a_condition_is_a_line_when_its_result_is_there(tmp_path):
    paths = [f"results/task/sweeps/rnn/{name}/adam/80-20" for name in ("immediate", "rtrl")]
    watch = Watch(tmp_path, {paths[0]: 10.0, paths[1]: 30.0})
    said = [
        "orla: 2 conditions to adapt in 1 jobs: about 40 s on 1 core (CPU 40 s)",
        f"orla: 1 of 2: {paths[0]}",
        "rnn, rtrl, adam, 80-20: 26800 of 55800, 00:10 gone, 00:10 left",
        *["orla: RNN, forward: compiled before, loaded in 1.4 s"] * 2,
    ]
    assert told(watch, *said) == [said[0].removeprefix("orla: "), said[2]]
    assert [*watch.new_results()] == [] and watch.conditions == 0
    (tmp_path / paths[0]).parent.mkdir(parents=True)
    (tmp_path / f"{paths[0]}.parquet").write_text("")
    watch.start_time -= 20.0  # 10 of 29 CPU seconds, a program being kept: 19/29 of (20 s + 19 s)
    [line] = watch.new_results()
    assert line.partition("] ")[2] == "task: rnn, immediate, adam, 80-20, about 26 s left"
    assert [*watch.new_results()] == [] and watch.conditions == 1
    told(watch, f"orla: 2 of 2: {paths[1]}, kept")
    (tmp_path / paths[1]).parent.mkdir(parents=True)
    (tmp_path / f"{paths[1]}.parquet").write_text("")
    assert "80-20, kept" in next(watch.new_results())


JOB_FAILED = event("job_error", jobid=1, rule_name="streams", log=["results/logs/streams.log"])
FAILED = event("error", message="WorkflowError: At least one job did not complete successfully.")


def told_as(exception, message):
    return [event("error", exception=exception, message=message)]


def no_rule(target):
    return told_as("MissingRuleException", NO_RULE % target)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["error: day_2: too short", JOB_FAILED, FAILED], "day_2: too short"),
        ([JOB_FAILED, FAILED], "the job streams failed (results/logs/str"),
        (
            told_as("MissingInputException", "Missing input files:\n    affected files:\n   a.nwb"),
            "a.nwb: there is no such file; mend the path",
        ),
        (no_rule("a/b.yaml"), "a/b.yaml is a config: orla run --configfile a/b.yaml"),
        (
            no_rule("alll"),
            "alll: there is no such target; give all, a chapter such as headline, or",
        ),
        (told_as("LockException", "Error: Directory"), "-- --unlock"),
        (["__main__.py: error: unrecognized arguments: --x"], "unrecognized arguments: --x"),
        (["usage: snakemake"], "Snakemake ended with status 1"),
    ],
)
def test_the_reason_is_one_line(tmp_path, lines, words):
    watch = Watch(tmp_path)
    assert told(watch, *lines) == []
    assert words in failure_reason(watch, 1, "log")


@pytest.mark.parametrize(
    ("seconds", "words"), [(4.4, "4 s"), (130, "2.2 min"), (1800, "30 min"), (9000, "2 h 30 min")]
)
def test_durations_are_read_at_a_glance(seconds, words):
    assert duration_text(seconds) == words
