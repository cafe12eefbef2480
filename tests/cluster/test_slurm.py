"""The workflow through its Slurm profile, on a Slurm of this machine, whatever befalls its jobs.

Run by ``make test-cluster``. ORLA_CLUSTER_CONFIG names the study: config/quick.yaml by default.
"""

import os
import signal
import subprocess
import time
from pathlib import Path
from threading import Thread

import pytest
from running import ROOT, Study

from cluster.slurm import Cluster, missing

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(missing()), reason=f"no Slurm: {missing()}"),
]
CONFIG = ROOT / os.environ.get("ORLA_CLUSTER_CONFIG", "config/quick.yaml")
PROFILE = ("--workflow-profile", "workflow/profiles/slurm", "--jobs", "4")
LOOKS = ("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two idle nodes."""
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    yield cluster
    cluster.stop()


def test_the_study_has_the_bits_of_a_local_run_whatever_befalls_its_jobs(cluster, tmp_path):
    """From a cold cache; each job that was struck starts once more, and no other does."""
    study, log = Study(tmp_path / "cluster", CONFIG), []
    harm = Thread(target=befall, args=(cluster, log), daemon=True)
    harm.start()
    status, said = study.process(*PROFILE, *LOOKS, "all")
    assert status == 0, said[-5000:]
    harm.join(timeout=5)
    assert log == [name for name, _ in HARMS]
    assert said.count("Trying to restart job") == len(JOB_HARMS)
    local = Study(tmp_path / "local", CONFIG)
    if (cache := study.folder / "cache").exists():  # a tiny study compiles nothing
        cache.rename(local.folder / "cache")
    local.made("all")
    ours, theirs = study.contents(), local.contents()
    assert len(ours) > 20
    assert [name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)] == []


def processes(job):
    """The processes of a Slurm job that run a script of the workflow."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"SLURM_JOB_ID={job}".encode() in environment and b".snakemake/scripts" in command:
            yield int(folder.name)


def next_struck(cluster, harmed, state="RUNNING"):
    """A job in that state, added to those harmed: none of their restarts, if one comes in time.

    None is struck three times, for it starts three times.
    """
    until = time.monotonic() + 30
    while True:
        jobs = {job: what for job, what in cluster.jobs(state).items() if job not in harmed}
        if state == "RUNNING":
            jobs = {job: what for job, what in jobs.items() if [*processes(job)]}
        strikes = {job: [*harmed.values()].count(what) for job, what in jobs.items()}
        job = min(strikes, key=strikes.get, default=None)
        if job and (strikes[job] == 0 or (strikes[job] == 1 and time.monotonic() > until)):
            harmed[job] = jobs[job]
            return job
        time.sleep(0.2)


def cancelled(cluster, job, harmed):
    subprocess.check_call(["scancel", job])


def killed(cluster, job, harmed):
    for process in processes(job):
        os.kill(process, signal.SIGKILL)


def short_of_memory(cluster, job, harmed):
    """The next job gets less memory than it asks for; a running one's cannot be changed."""
    _nodes("DRAIN", "node1,node2")
    waiting = next_struck(cluster, harmed, "PENDING")
    subprocess.check_call(["scontrol", "update", f"JobId={waiting}", "MinMemoryNode=20"])
    _nodes("RESUME", "node1,node2")


def out_of_time(cluster, job, harmed):
    """A job that stands still, with a minute to go."""
    for process in processes(job):
        os.kill(process, signal.SIGSTOP)
    subprocess.check_call(["scontrol", "update", f"JobId={job}", "TimeLimit=1"])


def drained(cluster, job, harmed):
    _nodes("DRAIN", "node1")
    time.sleep(5)
    _nodes("RESUME", "node1")


def _nodes(state, names):
    reason = ["Reason=test"] if state == "DRAIN" else []
    subprocess.check_call(["scontrol", "update", f"NodeName={names}", f"State={state}", *reason])


def without_controller(cluster, job, harmed):
    cluster.stop_controller()
    time.sleep(5)
    cluster.start_controller()


JOB_HARMS = [cancelled, killed, short_of_memory, out_of_time]
HARMS = [(harm.__name__, harm) for harm in (*JOB_HARMS, drained, without_controller)]


def befall(cluster, log):
    """Do each harm to a job of its own that is at work, one after the other."""
    harmed = {}  # Slurm's number of a job -> what it does, the same in its restarts
    for name, harm in HARMS:
        harm(cluster, next_struck(cluster, harmed), harmed)
        log.append(name)
