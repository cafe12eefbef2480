"""What befalls a running study: a harm at a moment, both drawn from a seed, and what it leaves.

`python tests/interruptions.py` runs all trials and writes the table of docs/reliability.md.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from running import ROOT, Study
from tables_of_docs import write

TINY = ROOT / "config/tiny.yaml"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PATIENCE_S, DAY_S = 20, 86400
# Of one study; more would all strike its last jobs.
MOST_HARMS = 4

# A job dies in the middle of its n-th file: half of it is there, under its temporary name.
DIES_AT_A_WRITE = """\
import os, pathlib, signal
count, replace = pathlib.Path(os.environ["TRIAL_WRITES"]), os.replace
def replaced(old, new):
    if ".partial" in str(old):
        left = int(count.read_text()) - 1
        count.write_text(str(left))
        if left == 0:
            os.truncate(old, os.path.getsize(old) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
    replace(old, new)
os.replace = replaced
"""


class Running:
    """Snakemake at work in a study, as the leader of a process group."""

    def __init__(self, study, *arguments, **environment):
        self.mark, self.spent = f"{study.folder}:{time.monotonic_ns()}", {}
        self.others = set()
        path = [environment.pop("first_on_path", ""), str(study.folder / "src")]
        self.log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "2", "all"]
            + ["--configfile", "overlay.yaml", *arguments],
            cwd=study.folder,
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TRIAL": self.mark}
            | {"PYTHONPATH": os.pathsep.join(filter(None, path)), **environment},
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
            # Ctrl-C is ignored by what a shell started in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def processes(self, jobs=False):
        """Those that descend from it and are alive, orphans too; or of these the jobs' own."""
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if folder.name in self.others:
                    continue
                if f"TRIAL={self.mark}".encode() not in (folder / "environ").read_bytes():
                    self.others.add(folder.name)
                    continue
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                self.spent[folder.name] = TICK_S * (int(fields[11]) + int(fields[12]))
                script = b".snakemake/scripts" in (folder / "cmdline").read_bytes()
                if fields[0] != "Z" and (script or not jobs):
                    yield int(folder.name)

    def reach(self, cpu_s):
        """Wait until its processes have used so many CPU seconds, or it has ended."""
        while self.process.poll() is None:
            list(self.processes())
            if sum(self.spent.values()) >= cpu_s:
                return
            time.sleep(0.2)

    def end(self, patience_s=600):
        """Its exit status, and what outlives it by more than `PATIENCE_S`."""
        status = self.process.wait(patience_s)
        until = time.monotonic() + PATIENCE_S
        while (left := list(self.processes())) and time.monotonic() < until:
            time.sleep(0.2)
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return status, left

    def said(self):
        self.log.seek(0)
        return self.log.read()


@dataclass
class Trial:
    """A harm at a moment, and what was seen of it."""

    harm: str
    seed: int
    by_hand: list[str] = field(default_factory=list)
    partial: int = 0
    faults: list[str] = field(default_factory=list)


def group(how):
    return lambda running, study, draw: os.killpg(running.process.pid, how)


def main_alone(how):
    return lambda running, study, draw: running.process.send_signal(how)


def job_alone(running, study, draw):
    while running.process.poll() is None:
        if jobs := list(running.processes(jobs=True)):
            return os.kill(draw.choice(jobs), signal.SIGKILL)
        time.sleep(0.05)


def clock(study, seconds):
    """Move all that was made so far: as if it had been made by a clock that was so much ahead."""
    for path in [p for n in ("results", "reports") for p in (study.folder / n).rglob("*")]:
        with suppress(FileNotFoundError):
            at = path.stat().st_mtime + seconds
            os.utime(path, (at, at))


def suspended(running, study, draw):
    os.killpg(running.process.pid, signal.SIGSTOP)
    time.sleep(1)
    clock(study, -6 * 3600)
    os.killpg(running.process.pid, signal.SIGCONT)


def clock_set_back(running, study, draw):
    clock(study, DAY_S)
    (study.folder.parent / "offset").write_text("-1d")


def full_disk(running, study, draw):
    size = 1 << 20
    with open(study.folder / "ballast", "wb", buffering=0) as file:
        while size and running.process.poll() is None:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    running.end()
    (study.folder / "ballast").unlink()


def read_only(running, study, draw):
    folder = study.folder / "results"
    subprocess.check_call(["mount", "--bind", folder, folder])
    try:
        subprocess.check_call(["mount", "-o", "remount,bind,ro", folder])
        running.end()
    finally:
        subprocess.check_call(["umount", folder])


def two_at_once(running, study, draw):
    other = Running(study)
    status, _ = other.end()
    # Unless the first was done by then, which leaves nothing to do.
    if status:
        assert "lock" in other.said(), other.said()


HARMS = {
    "kill -9 of the process group": (group(signal.SIGKILL), 5),
    "kill -9 of Snakemake alone": (main_alone(signal.SIGKILL), 4),
    "kill -9 of a job": (job_alone, 5),
    "kill -9 in the middle of a write": (None, 6),
    "Ctrl-C (SIGINT to the group)": (group(signal.SIGINT), 4),
    "SIGTERM to Snakemake": (main_alone(signal.SIGTERM), 3),
    "a closed terminal (SIGHUP to the group)": (group(signal.SIGHUP), 3),
    "suspended for hours, and resumed": (suspended, 2),
    "the clock set back by a day": (clock_set_back, 2),
    "a disk that is full to the last byte": (full_disk, 3),
    "results that turn read-only": (read_only, 1),
    "a second run beside the first": (two_at_once, 2),
}


def trials():
    """All of them, in a mixed order."""
    each = [Trial(harm, seed) for harm, (_, count) in HARMS.items() for seed in range(1, count + 1)]
    return random.Random(0).sample(each, len(each))


@contextmanager
def disk(folder):
    """A folder that is a disk of its own, so that it can be filled."""
    folder.mkdir(exist_ok=True)
    subprocess.check_call(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder])
    try:
        yield folder
    finally:
        subprocess.check_call(["umount", folder])


def undisturbed(folder):
    """The contents of a study that nothing befell, and the CPU seconds of its run."""
    study = Study(folder, TINY)
    running = Running(study)
    running.reach(1e9)
    status, left = running.end()
    assert status == 0 and not left, running.said()
    return study.contents(), sum(running.spent.values())


def befallen(trial, study, room, cpu_s):
    """Start or go on with a run, do the harm, and end it.

    Returns:
        Whether the run ended well, and whether that was before the harm was to come.
    """
    draw = random.Random(f"{trial.harm} {trial.seed}")
    harm, environment = HARMS[trial.harm][0], {}
    partial = {*study.folder.rglob(".*.partial*")}
    if harm is None:
        (room / "sitecustomize.py").write_text(DIES_AT_A_WRITE)
        (room / "writes").write_text(str(draw.randint(1, 12)))
        environment = {"TRIAL_WRITES": str(room / "writes"), "first_on_path": str(room)}
    if harm is clock_set_back and FAKETIME.exists():
        (study.folder.parent / "offset").write_text("+0d")
        environment = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_NO_CACHE": "1", "NO_FAKE_STAT": "1"}
        environment |= {"FAKETIME_TIMESTAMP_FILE": str(study.folder.parent / "offset")}
        environment["DONT_FAKE_MONOTONIC"] = "1"  # which no setting of a clock turns back
    running, missed = Running(study, **environment), False
    if harm:
        # A run that goes on needs a sixth to read the workflow and to begin its first job.
        running.reach(draw.uniform(0.05, 0.5) * cpu_s)
        if not (missed := running.process.poll() is not None):
            with suppress(ProcessLookupError):
                harm(running, study, draw)
    status, left = running.end()
    missed |= harm is None and int((room / "writes").read_text()) > 0
    trial.faults += [f"outliving: {left}"] if left else []
    trial.faults += [f"traceback: {text[-3000:]}" for text in tracebacks(running.said())]
    trial.partial = len({*study.folder.rglob(".*.partial*")} - partial)
    if status and any((study.folder / ".snakemake/locks").glob("*")):
        trial.by_hand.append("snakemake --unlock")
        assert Running(study, "--unlock").end() == (0, [])
    return status == 0, missed


def finished(given, study, expected):
    """Let a study that was disturbed by trials run to its end, and compare."""
    running = Running(study)
    status, left = running.end()
    ours = study.contents()
    names = sorted(n for n in {*ours, *expected} if ours.get(n) != expected.get(n))
    faults = [f"status {status}: {running.said()[-3000:]}"] if status else []
    faults += [f"other bits: {names}"] if names else []
    faults += [f"outliving the last run: {left}"] if left else []
    faults += [f"left: {one}" for one in study.folder.rglob(".*.partial*")]
    for trial in given:
        trial.faults += faults


def tried(given, room, expected, cpu_s, told=print):
    """Do trials one after another, each to the study that the last one left, anew when it is done.

    So a study goes on after several harms, as one of a long night does.
    """
    todo = list(given)
    while todo:
        done, whole = [], False
        with disk(room / "disk") as place:
            study = Study(place / "study", TINY)
            (study.folder / "results").mkdir()
            while todo and not whole and len(done) < MOST_HARMS:
                done.append(todo.pop(0))
                whole, missed = befallen(done[-1], study, room, cpu_s)
                if missed:  # its turn comes again, at the begin of another study
                    todo.insert(0, done.pop())
                    break
            finished(done, study, expected)
            for trial in done:
                told(trial.harm, trial.seed, trial.by_hand, trial.partial, *trial.faults)


def tracebacks(said):
    """Tracebacks that went through a file of ours."""
    found = re.findall(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*.*", said)
    return [text for text in found if re.search(r"src/orla|workflow/scripts", text)]


def rows(given):
    """Cells of each harm."""
    for harm in HARMS:
        here = [t for t in given if t.harm == harm]
        if not here:
            yield harm, "not run", "–", "–", "–"
            continue
        by_hand = Counter(command for t in here for command in t.by_hand)
        told = ", ".join(f"`{command}` ({n} of {len(here)})" for command, n in by_hand.items())
        partial = sum(t.partial for t in here)
        good = sum(not t.faults for t in here)
        yield harm, len(here), good, told or "none", partial


HEAD = ["what befell it", "trials", "same bits", "command by hand", "partial files till the rerun"]


def all_of_them(room, given, told=print):
    """The undisturbed study, and trials."""
    expected, cpu_s = undisturbed(room / "reference")
    tried(given, room, expected, cpu_s, told)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as room:
        os.environ["ORLA_CACHE"] = f"{room}/cache"
        done = trials()
        all_of_them(Path(room), done, told=lambda *words: print(*words, flush=True))
    write("interruptions", HEAD, rows(done))
