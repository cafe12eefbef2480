"""Draw careless edits of the program, and print those that no test notices.

The tests that could notice run in turn until one fails: the file's own, its room's, then others
that import it. `accepted.yaml` holds edits that no test need notice. Ends with status 1 where too
few of a room's edits die.
"""

import argparse
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import yaml

from tests.mutants.edits import Edit, sites

ROOT = Path(__file__).parents[2]
LEAST = 0.9
STRICT = dict.fromkeys(("prereg", "statistics", "learners", "optimizers", "engine"), 0.95)
FINE = (0, 5)  # pytest's statuses: all passed, and no test there


def draw(rooms: list[str], since: str | None, count: int, seed: int) -> list[Edit]:
    """At most `count` edits, one a place, of some rooms and of lines changed since a revision."""
    homes = tuple(f"src/orla/{r}{end}" for r in rooms for end in ("/", ".py")) or ("src/orla/",)
    changed = _changed(since) if since else None
    places = [
        place
        for file in sorted(_files())
        if file.startswith(homes) and file.endswith(".py")
        for place in sites(file, (ROOT / file).read_bytes())
        if changed is None or (file, place[0].line) in changed
    ]
    generator = random.Random(seed)
    return [generator.choice(p) for p in generator.sample(places, min(count, len(places)))]


def _changed(since):
    """(file, line) of each line that a revision has not."""
    lines, file = set(), ""
    for text in _git("diff", "-U0", since, "--", "src").splitlines():
        if text.startswith("+++ "):
            file = text.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", text):
            lines |= {(file, int(hunk[1]) + n) for n in range(int(hunk[2] or 1))}
    return lines


def _files():
    """The files that git knows or would know."""
    names = _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def _git(*arguments):
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True)


def room(edit: Edit) -> str:
    """The folder or file of src/orla that an edit is in."""
    return Path(edit.file).parts[2].removesuffix(".py")


def survives(copies: SimpleQueue, edit: Edit) -> bool:
    """Whether the tests pass with the edit in one of these copies of the program."""
    copy = copies.get()
    path = copy / edit.file
    source = path.read_bytes()
    try:
        for tests in _stages(copy, edit):
            limit = 60 + 5 * _seconds(copy, tests)
            path.write_bytes(edit.applied(source))
            status, _ = _pytest(copy, tests, limit)
            path.write_bytes(source)
            if status not in FINE:
                return False
        return True
    finally:
        copies.put(copy)


def _stages(copy, edit):
    """The test files that could notice an edit, first those that do it most cheaply."""
    path = Path(edit.file).relative_to("src/orla")
    mirror = f"tests/{path.parent / f'test_{path.name}'}"
    home = (f"tests/{room(edit)}/", f"tests/test_{room(edit)}.py")
    imports = re.compile(rf"import .*\b{path.stem}\b|\b{path.parent.name or 'orla'}\.{path.stem}\b")
    answer = [], [], []
    for test in sorted((copy / "tests").rglob("test_*.py")):
        name = test.relative_to(copy).as_posix()
        if name == mirror:
            answer[0].append(name)
        elif name.startswith(home):
            answer[1].append(name)
        elif "/workflow/" not in name and imports.search(test.read_text("utf-8")):
            answer[2].append(name)
    return [tuple(stage) for stage in answer if stage]


@functools.cache
def _seconds(copy, tests):
    """How long tests take without an edit; the run ends where they fail."""
    began = time.monotonic()
    status, said = _pytest(copy, tests, None)
    if status not in FINE:
        raise SystemExit(f"these fail without an edit: {' '.join(tests)}\n{said[-2000:]}")
    return time.monotonic() - began


def _pytest(copy, tests, limit):
    """Exit status of pytest and what it says; no status after `limit` seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # No bytecode: two edits of one size within a second would share it.
    own = {
        "PYTHONPATH": f"{copy}/src",
        "ORLA_CACHE": f"{copy}/cache",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    settings = {"cwd": copy, "env": os.environ | own, "timeout": limit}
    try:
        done = subprocess.run(command, capture_output=True, text=True, **settings)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def _copied(folder):
    for name in _files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def main() -> int:
    """Run the program and answer its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    rooms = sorted(path.stem for path in (ROOT / "src/orla").iterdir())
    parser.add_argument("--room", nargs="+", default=[], choices=rooms, help="of src/orla")
    parser.add_argument("--since", help="only lines changed since this revision")
    parser.add_argument("--count", type=int, default=40, help="edits")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="edits at a time")
    parser.add_argument("--least", type=float, help="share that dies, in place of each room's")
    options = parser.parse_args()
    edits = draw(options.room, options.since, options.count, options.seed)
    accepted = yaml.safe_load((ROOT / "tests/mutants/accepted.yaml").read_text("utf-8")) or []
    excused = {(entry["function"], entry["kind"]) for entry in accepted}
    tried, died, copies = Counter(), Counter(), SimpleQueue()
    with (
        tempfile.TemporaryDirectory(prefix="orla-mutants-") as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        for job in range(options.jobs):
            copies.put(_copied(Path(folder) / str(job)))
        outcomes = pool.map(functools.partial(survives, copies), edits)
        for edit, alive in zip(edits, outcomes, strict=True):
            print("s" if alive else ".", end="", file=sys.stderr, flush=True)
            if alive and (edit.function, edit.kind) in excused:
                continue
            tried[room(edit)] += 1
            died[room(edit)] += not alive
            if alive:
                print(edit.shown((ROOT / edit.file).read_bytes()), flush=True)
    print(file=sys.stderr)
    few = False
    for name, count in tried.items():
        least = STRICT.get(name, LEAST) if options.least is None else options.least
        few |= died[name] < least * count
        print(f"{name}: {died[name]} of {count} edits died; at least {least:.0%} have to")
    print(f"seed {options.seed}")
    return int(few)


if __name__ == "__main__":
    sys.exit(main())
