"""The profile for schedulers without a plug-in, tried with stand-ins for Grid Engine's commands."""

import os

import pytest

from tests.running import ROOT, Study

PROFILE = "workflow/profiles/generic"
# Each leaves files below $QUEUE. The first job that is submitted is killed before it runs.
COMMANDS = {
    "qsub": """
        id=$(ls "$QUEUE" | grep -c asked); echo "$*" > "$QUEUE/$id.asked"
        for script in "$@"; do :; done
        (if [ "$id" = 0 ]; then false; else sh "$script" > "$QUEUE/$id.log" 2>&1; fi
         echo "exit_status  $?" > "$QUEUE/$id.done") > /dev/null 2>&1 &
        echo "$id" """,
    "qstat": 'test ! -f "$QUEUE/$2.done"',
    "qacct": 'cat "$QUEUE/$2.done"',
    "qdel": 'echo "$@" > "$QUEUE/cancelled"',
}


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A folder of submitted jobs, and the commands on the path that write it."""
    for name, lines in COMMANDS.items():
        path = tmp_path / "commands" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
    queue = tmp_path / "queue"
    queue.mkdir()
    monkeypatch.setenv("QUEUE", str(queue))
    monkeypatch.setenv("PATH", f"{tmp_path / 'commands'}:{os.environ['PATH']}")
    return queue


def test_a_job_that_the_scheduler_kills_is_submitted_again(tmp_path, queue):
    study = Study(tmp_path / "study", ROOT / "config/tiny.yaml")
    profile = study.folder / PROFILE / "config.yaml"
    profile.write_text(profile.read_text() + "seconds-between-status-checks: 1\n")
    target = "results/tiny/recordings/streams.npz"
    status, said = study.process(target, "--workflow-profile", PROFILE)
    assert status == 0, said
    assert (study.folder / target).is_file()
    asked = [(queue / f"{i}.asked").read_text() for i in range(2)]
    assert "h_vmem=2000M,h_rt=0:120:0" in asked[0] and "-pe smp 1" in asked[0]
    assert [(queue / f"{i}.done").read_text().split()[1] for i in range(2)] == ["1", "0"]
