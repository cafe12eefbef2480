"""The real Snakemake, in a copy of the workflow."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import yaml
from snakemake import cli

from orla.__main__ import main
from orla.prereg import lock
from orla.provenance import code

ROOT = Path(__file__).parents[1]
# The library too: a commit to the checkout in the middle of a test must not change a provenance.
SEALED = (".parquet", ".npz", ".safetensors", ".tex", ".csv")
OVERLAY = ["--configfile", "overlay.yaml"]
PARTS = ["Snakefile", "config.yaml", "config", "workflow", "profiles", "prereg", "src"]


class Study:
    """A copy of the workflow in a folder, and Snakemake in it with one overlay."""

    def __init__(self, folder, overlay, **changes):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            if (ROOT / part).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / part, folder / part, ignore=ignored)
            else:
                shutil.copy2(ROOT / part, folder / part)
        self.config = yaml.safe_load(overlay.read_text())
        self.changed(**changes)

    def copy(self, folder):
        """The same study with all its results in another folder."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        copy = object.__new__(Study)
        copy.folder, copy.config = folder, self.config
        return copy

    def changed(self, **changes):
        """Write the overlay with changes, a mapping into what is there; without any, as it was."""
        text = yaml.safe_dump(merged(self.config, changes))
        (self.folder / "overlay.yaml").write_text(text)
        return self

    @contextmanager
    def appended(self, name, text="# Another line.\n"):
        """A file with more text in it, or made of it; as it was after the block."""
        path = self.folder / name
        held = (path.read_bytes(), path.stat()) if path.exists() else None
        with path.open("a") as file:
            file.write(text)
        yield
        if held is None:
            path.unlink()
        else:
            path.write_bytes(held[0])
            os.utime(path, ns=(held[1].st_atime_ns, held[1].st_mtime_ns))

    def process(self, *arguments, first_on_path=()):
        """Run Snakemake in a process of its own; return (status, what was said)."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments, *OVERLAY],
            cwd=self.folder,
            env=os.environ | self.environment(*first_on_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1800,
        )
        return done.returncode, done.stdout

    def environment(self, *first_on_path):
        """What differs from the environment of the tests."""
        path = os.pathsep.join(map(str, [*first_on_path, self.folder / "src"]))
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        return one | {"ORLA_CACHE": str(self.folder / "cache"), "PYTHONPATH": path}

    def forked(self, program, *arguments):
        """As `process`, of a program's main in a fork of this process, which has imported it."""
        with tempfile.TemporaryFile("w+") as said:
            if not (child := os.fork()):
                status = 70
                try:
                    sys.stdout = sys.stderr = said
                    said.reconfigure(line_buffering=True)
                    for stream in (1, 2):  # of what it starts
                        os.dup2(said.fileno(), stream)
                    os.chdir(self.folder)
                    os.environ |= self.environment()
                    code._HOME = self.folder / "src"
                    sys.argv = ["snakemake", *arguments, *OVERLAY]
                    program(sys.argv[1:])
                    status = 0
                except SystemExit as ended:
                    status = ended.code or 0
                finally:
                    said.flush()
                    os._exit(status)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            return status, said.read()

    def snakemake(self, *arguments):
        """As `process`, without the seconds that Snakemake takes to be imported."""
        return self.forked(cli.main, *arguments)

    def registered(self, path):
        """Bind a registration to the study and lock it, in place of what its folder had locked."""
        folder = path.parent
        shutil.rmtree(folder / "amendments", ignore_errors=True)
        (folder / "LOCK").write_text("")
        status, said = self.forked(main, "prereg", "bind", str(path))
        assert status == 0, said
        lock.lock_files(folder, [path])

    def contents(self):
        """What is sealed, and the tables: path -> bytes."""
        paths = (p for kind in ("results", "reports") for p in (self.folder / kind).rglob("*"))
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in paths
            if path.suffix in SEALED and not path.name.startswith(".")
        }

    def made(self, *targets):
        """Run until the targets are there."""
        status, said = self.snakemake("--cores", "2", *targets)
        assert status == 0, said
        return said

    def refused(self, *arguments):
        """The one line that a run ends with."""
        status, said = self.snakemake("--cores", "2", *arguments)
        assert status == 1 and "Traceback" not in said, said
        [line] = {line for line in said.splitlines() if line.startswith("error: ")}
        return line

    def planned(self, *arguments):
        """Messages of the jobs that a run would do."""
        status, said = self.snakemake("--dry-run", *(arguments or ["all"]))
        assert status == 0, said
        jobs = [line for line in said.splitlines() if line.startswith("Job ")]
        return [line.partition(": ")[2] for line in jobs if not line.startswith("Job stats")]

    def faults(self):
        """The lines of `orla verify`; [] where it is content."""
        status, said = self.forked(main, "verify")
        assert status in (0, 1) and "Traceback" not in said, said
        lines = [
            x for x in said.splitlines() if not x.startswith("error: ") and "are whole" not in x
        ]
        assert bool(lines) == bool(status), said
        return lines


def merged(config, changes):
    """A config with changes in the keys that they name."""
    found = dict(config)
    for key, value in changes.items():
        old = found.get(key)
        both = isinstance(value, dict) and isinstance(old, dict)
        found[key] = merged(old, value) if both else value
    return found
