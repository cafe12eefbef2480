"""Apply each careless edit of the list to a copy of the program and run the tests of its part.

python -m tests.mutants [--jobs N] [--room ROOM ...] [--sample N] [--seed S]

Ends with status 1 where fewer than 95 % of the edits are noticed, or where one that is not has no
reason beside it.
"""

import argparse
import importlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.mutants.edits import ROOT, read

LEAST_SHARE = 0.95
TIMEOUT_S = 600
KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
# Imported once; every test run is forked from the process that holds them.
HEAVY = (
    *("torch", "torch.func", "numpy", "pandas", "pyarrow.parquet", "scipy.stats", "scipy.signal"),
    *("pytest", "hypothesis", "h5py", "pynwb", "jsonschema", "safetensors.torch", "yaml"),
)
FORK = multiprocessing.get_context("fork")


def copied(scratch):
    """Copy the files that git knows or would know into a folder."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            target = scratch / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def pytest_status(scratch, tests):
    """Exit status of pytest on `tests` in a copy, in a process of its own; None after TIMEOUT_S."""
    process = FORK.Process(target=_pytest, args=(scratch, tests))
    process.start()
    process.join(TIMEOUT_S)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return None
    return process.exitcode


def _pytest(scratch, tests):
    os.setsid()
    os.chdir(scratch)
    os.environ["PYTHONPATH"] = str(scratch / "src")
    with open(scratch / "pytest.out", "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "orla")]:
        del sys.modules[name]
    kept = [p for p in sys.path if Path(p or ".").resolve() not in (ROOT, ROOT / "src", scratch)]
    sys.path[:] = [str(scratch / "src"), str(scratch), *kept]
    importlib.invalidate_caches()
    import pytest

    given = ["-x", "-q", "-p", "no:cacheprovider", *tests]
    status = pytest.main(given, plugins=[CasesInTurn()])
    sys.stdout.flush()
    os._exit(int(status))


class CasesInTurn:
    """Runs one case of each test, then another of each: most edits fail in the first turn."""

    def pytest_collection_modifyitems(self, items):
        seen, turn = Counter(), {}
        for item in items:
            test = item.nodeid.split("[")[0]
            turn[item.nodeid], seen[test] = seen[test], seen[test] + 1
        items.sort(key=lambda item: turn[item.nodeid])


def outcome(scratch, edit):
    """What became of one edit, and the seconds it took."""
    path = scratch / edit.file
    was = path.stat()
    original = path.read_text(encoding="utf-8")
    began = time.monotonic()
    path.write_text(edit.applied(original), encoding="utf-8")
    # Kept bytecode goes by the second and the size: each edit has a time that no other has.
    os.utime(path, (was.st_atime, was.st_mtime + 2 + hash((edit.room, edit.number)) % 10**8))
    try:
        status = pytest_status(scratch, edit.tests)
    finally:
        path.write_text(original, encoding="utf-8")
        os.utime(path, (was.st_atime, was.st_mtime))
    # 1: a test failed; 2: a test file did not load, which an edit can do as well.
    found = {None: TIMED_OUT, 0: SURVIVED, 1: KILLED, 2: KILLED}.get(status)
    if found is None:
        raise RuntimeError(f"{edit}: pytest ended with {status}: {_tail(scratch)}")
    return found, time.monotonic() - began


def _tail(scratch):
    return (scratch / "pytest.out").read_text(errors="replace")[-2000:]


def _prepare(folder):
    global SCRATCH
    SCRATCH = Path(tempfile.mkdtemp(dir=folder))
    os.environ["ORLA_CACHE"] = str(SCRATCH / "cache")
    copied(SCRATCH)


def _outcome(edit):
    return outcome(SCRATCH, edit)


def _red(test):
    """What pytest says where a test file fails without any edit."""
    status = pytest_status(SCRATCH, [test])
    return "" if status == 0 else f"{test} fails without an edit: {_tail(SCRATCH)}"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="edits at a time")
    parser.add_argument("--room", nargs="+", default=[], help="names of lists, without .yaml")
    parser.add_argument("--sample", type=int, help="that many edits of each room, drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--without-first", action="store_true", help="take unedited tests as green")
    given = parser.parse_args()
    edits = read(given.room)
    if given.sample:
        draw = random.Random(given.seed)
        rooms = {e.room: [f for f in edits if f.room == e.room] for e in edits}
        edits = [e for r in rooms.values() for e in draw.sample(r, min(given.sample, len(r)))]
    # Slow ones, the workflow's, last.
    edits.sort(key=lambda e: any(t.startswith("tests/workflow") for t in e.tests))
    for edit in edits:
        edit.applied((ROOT / edit.file).read_text(encoding="utf-8"))
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    for name in HEAVY:
        importlib.import_module(name)
    with (
        tempfile.TemporaryDirectory(prefix="orla-mutants-") as folder,
        ProcessPoolExecutor(given.jobs, FORK, _prepare, (folder,)) as pool,
    ):
        if not given.without_first:
            tests = list(dict.fromkeys(t for e in edits for t in e.tests))
            if red := [text for text in pool.map(_red, tests) if text]:
                sys.exit("\n".join(red))
        found = {}
        for edit, (what, seconds) in zip(edits, pool.map(_outcome, edits), strict=True):
            found[edit] = what
            print(f"{what:9} {seconds:5.0f} s  {edit}", flush=True)
    sys.exit(report(found))


def report(found):
    """Print a table by room, and answer the exit status."""
    noticed = {edit: what != SURVIVED for edit, what in found.items()}
    tried, dead = Counter(e.room for e in found), Counter(e.room for e, n in noticed.items() if n)
    print(f"\n{'room':16}{'tried':>6}{'killed':>7}")
    for room in tried:
        print(f"{room:16}{tried[room]:6}{dead[room]:7}")
    share = sum(noticed.values()) / len(found)
    print(f"{'all':16}{len(found):6}{sum(noticed.values()):7}  {share:.1%}")
    bare = [e for e, n in noticed.items() if not n and not e.survives]
    for edit in bare:
        print(f"survives without a reason: {edit}")
    for edit in [e for e, n in noticed.items() if n and e.survives]:
        print(f"has a reason to survive, and died: {edit}")
    return int(share < LEAST_SHARE or bool(bare))


if __name__ == "__main__":
    main()
