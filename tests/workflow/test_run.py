"""The real Snakemake on config/tiny.yaml, in a copy of the workflow: one run and what follows."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import yaml

from orla.provenance.tables import read_table
from orla.sessions.streams import Streams

ROOT = Path(__file__).parents[2]
# The library too: a commit to the checkout in the middle of a test must not change a provenance.
PARTS = ["Snakefile", "config.yaml", "config", "workflow", "profiles", "prereg", "src"]
SWEEP = "results/tiny/sweeps/rnn/immediate/adam/float64/80-20.parquet"
SESSIONS = ["indy_20160630_01", "indy_20170131_02"]
VERDICTS = "results/tiny/verdicts.parquet"


class Study:
    """A copy of the workflow, and Snakemake in it."""

    def __init__(self, folder):
        self.folder = folder
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / part)

    def snakemake(self, *arguments, overlay="config/tiny.yaml"):
        """Run to the end; return (status, what was said)."""
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "PYTHONPATH": str(self.folder / "src"),
        }
        command = [sys.executable, "-m", "snakemake", *arguments, "--configfile", overlay]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout

    def overlay(self, **changes):
        """Write the tiny config with changes, in place of whole sections; return its path."""
        config = yaml.safe_load((self.folder / "config/tiny.yaml").read_text())
        path = self.folder / "config/changed.yaml"
        path.write_text(yaml.safe_dump(config | changes))
        return "config/changed.yaml"

    def planned(self, overlay="config/tiny.yaml"):
        """Return the messages of the jobs that a run would do."""
        status, said = self.snakemake("all", "--dry-run", overlay=overlay)
        assert status == 0, said
        jobs = [line for line in said.splitlines() if line.startswith("Job ")]
        return [line.partition(": ")[2] for line in jobs if not line.startswith("Job stats")]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = Study(tmp_path_factory.mktemp("study"))
    status, said = study.snakemake("--cores", "2", "all")
    assert status == 0, said
    return study


def test_everything_is_there_and_carries_its_provenance(study):
    results = study.folder / "results/tiny"
    tables = sorted(results.glob("*.parquet"))
    for folder in ("sweeps", "horizons"):
        tables += sorted((results / folder).rglob("*.parquet"))
    assert len(tables) >= 20
    for path in tables:
        provenance = read_table(path).attrs["provenance"]
        assert provenance["dataset"]["simulated"] is True, path
        assert {"code", "versions", "cpu_capability", "threads"} <= set(provenance), path
    assert "prereg_lock_sha256" in read_table(results / "verdicts.parquet").attrs["provenance"]
    reports = study.folder / "reports/tiny"
    for name in ("ratio_gap", "heldout", "bci_gap", "selection_price", "verdict"):
        assert "SIMULATED" in (reports / f"table_{name}.tex").read_text()
        assert (reports / f"table_{name}.csv").stat().st_size > 0
    for name in ("horizon_gap", "lr_curves", "adaptation_traces", "tost_interval"):
        assert (reports / f"figure_{name}.pdf").stat().st_size > 0
        assert (reports / f"figure_{name}.png").stat().st_size > 0
    page = (reports / "index.html").read_text()
    assert "SIMULATED" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_a_second_run_does_nothing(study):
    assert study.planned() == []


def test_horizons_touch_the_sweeps_that_have_them_and_no_other(study):
    steps = yaml.safe_load((study.folder / "config/tiny.yaml").read_text())["horizons"]["steps"]
    jobs = study.planned(study.overlay(horizons={"steps": steps, "learners": ["immediate"]}))
    swept = [job for job in jobs if job.startswith("Sweeping")]
    assert {job.split()[1] for job in swept} == {"tbptt-200-200"} and len(swept) == 2


def test_one_rate_touches_the_conditions_that_use_it_and_no_other(study):
    grids = yaml.safe_load((study.folder / "config/tiny.yaml").read_text())["grids"]
    grids["adam"]["step"] = [0.001, 0.003]
    jobs = study.planned(study.overlay(grids=grids))
    swept = [job for job in jobs if job.startswith("Sweeping")]
    assert [job.split()[1:4] for job in swept] == [["immediate", "with", "adam"]]
    assert not any(job.startswith(("Pretraining", "Simulating", "Converting")) for job in jobs)
    assert any(job.startswith("Comparing") for job in jobs)


def test_the_margin_touches_no_sweep(study):
    jobs = study.planned(study.overlay(statistics={"resamples": 100, "margin_pp": 5.0}))
    assert jobs and not any(job.startswith(("Sweeping", "Gathering")) for job in jobs)


@pytest.fixture
def web(study):
    """Serve the simulated .mat files as Zenodo would; yield (base URL, names requested)."""
    requested = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requested.append(self.path)

    folder = study.folder / "results/tiny/sessions"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requested
    server.shutdown()
    server.server_close()


def test_recordings_are_downloaded_once_checked_and_read(study, web):
    url, requested = web
    mats = sorted((study.folder / "results/tiny/sessions").glob("*.mat"))
    md5 = {path.stem: hashlib.md5(path.read_bytes()).hexdigest() for path in mats}
    dataset = {"source": "odoherty", "odoherty": {"base_url": url, "md5": md5}}
    changes = {
        "name": "recordings",
        "dataset": dataset,
        "pathvars": {"results": "results/web", "reports": "reports/web"},
    }
    target = "results/web/streams.npz"
    status, said = study.snakemake("--cores", "2", target, overlay=study.overlay(**changes))
    assert status == 0, said
    ours, theirs = (Streams.load(study.folder / f) for f in (target, "results/tiny/streams.npz"))
    assert np.array_equal(ours.b.X, theirs.b.X) and np.array_equal(ours.a.Y, theirs.a.Y)
    assert not ours.dataset["simulated"] and "SIMULATED" not in ours.dataset["label"]

    before = len(requested)
    dataset["odoherty"]["timeout_s"] = 45.0
    status, said = study.snakemake("--cores", "2", target, overlay=study.overlay(**changes))
    assert status == 0, said
    assert len(requested) == before, "a recording that is there was downloaded again"

    dataset["odoherty"]["md5"] = md5 | {mats[0].stem: "0" * 32}
    (study.folder / "recordings" / mats[0].name).unlink()
    status, said = study.snakemake("--cores", "2", target, overlay=study.overlay(**changes))
    assert status == 1
    [line] = {line for line in said.splitlines() if line.startswith("error: ")}
    assert mats[0].name in line and "Traceback" not in said
    assert not (study.folder / "recordings" / mats[0].name).exists()


def test_nwb_files_of_others_give_the_same_streams(study):
    sessions = [f"results/tiny/sessions/{name}.nwb" for name in SESSIONS]
    nwb = dict(zip("ab", sessions, strict=True)) | {"cursor": "cursor_pos"}
    pathvars = {"results": "results/nwb", "reports": "reports/nwb"}
    changed = study.overlay(dataset={"source": "nwb", "nwb": nwb}, pathvars=pathvars)
    target = "results/nwb/streams.npz"
    status, said = study.snakemake("--cores", "2", target, overlay=changed)
    assert status == 0, said
    ours, theirs = (Streams.load(study.folder / f) for f in (target, "results/tiny/streams.npz"))
    assert np.allclose(ours.a.X, theirs.a.X) and np.allclose(ours.b.Y, theirs.b.Y)


def test_binned_recordings_become_streams(study):
    (study.folder / "recordings").mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    for name, units in (("one", 12), ("two", 9)):
        np.savez(
            study.folder / f"recordings/{name}.npz",
            counts=random.poisson(2.0, (1000, units)),
            vel=random.normal(size=(1000, 2)),
            bin_s=0.1,
        )
    binned = {"a": "recordings/one.npz", "b": "recordings/two.npz"}
    changes = {
        "dataset": {"source": "binned", "binned": binned},
        "pathvars": {"results": "results/bins", "reports": "reports/bins"},
        "preparation": {"bin_s": 0.1, "features": {"method": "pca", "count": 6}},
    }
    target = "results/bins/streams.npz"
    status, said = study.snakemake("--cores", "2", target, overlay=study.overlay(**changes))
    assert status == 0, said
    assert Streams.load(study.folder / target).b.X.shape == (1000, 6)

    changes["preparation"]["bin_s"] = 0.05
    status, said = study.snakemake("--cores", "2", target, overlay=study.overlay(**changes))
    assert status == 1
    [line] = {line for line in said.splitlines() if line.startswith("error: ")}
    assert "bin_s is 0.1" in line and "set it to 0.1" in line


def test_the_default_profile_supplies_the_cores(study):
    status, said = study.snakemake("reports/tiny/table_ratio_gap.tex")
    assert status == 0, said
    assert "Nothing to be done" in said


def test_snakemakes_own_report(study):
    status, said = study.snakemake("--report", "report.zip")
    assert status == 0, said
    names = zipfile.ZipFile(study.folder / "report.zip").namelist()
    assert any(name.endswith("report.html") for name in names)


def test_a_deleted_result_comes_back_bit_for_bit(study):
    deleted = [study.folder / SWEEP, study.folder / SWEEP.replace(".parquet", ".npz")]
    before = [path.read_bytes() for path in deleted]
    curves = study.folder / "results/tiny/lr_curves.parquet"
    curves_before = curves.read_bytes()
    deleted[0].unlink()
    assert any(job.startswith("Sweeping immediate with adam") for job in study.planned())
    status, said = study.snakemake("--cores", "2", SWEEP, "results/tiny/lr_curves.parquet")
    assert status == 0, said
    assert [path.read_bytes() for path in deleted] == before
    assert curves.read_bytes() == curves_before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pretrainin": {}}, '"pretrainin" is not a known key; the nearest is "pretraining"'),
        ({"parts": {"cutt": 200}}, '"parts.cutt" is not a known key; the nearest is "cut"'),
        ({"parts": {"cut": "many"}}, '"parts.cut" must be a whole number, not "many"'),
        ({"grids": {"sgd": {"step": [0.1, 0.2]}}}, '"grids.sgd.step": 0.2 is not a half-decade'),
        ({"dataset": {"source": "odohery"}}, 'cannot be "odohery"; the nearest is "odoherty"'),
    ],
)
def test_a_mistake_in_the_config_is_one_line_before_anything_runs(study, changes, message):
    status, said = study.snakemake("--cores", "2", "all", overlay=study.overlay(**changes))
    assert status == 1
    errors = [line for line in said.splitlines() if "error" in line.lower()]
    assert len(errors) == 1 and errors[0].startswith("error: config: ")
    assert message in errors[0]
    assert "Building DAG" not in said and "Traceback" not in said


def test_a_split_that_leaves_nothing_ends_the_run_with_one_line(study):
    changes = {
        "parts": {"tail_steps": 9000},
        "pathvars": {"results": "results/none", "reports": "none"},
    }
    status, said = study.snakemake("--cores", "2", "all", overlay=study.overlay(**changes))
    assert status == 1
    [line] = {line for line in said.splitlines() if line.startswith("error: ")}
    assert "a_pretraining is empty" in line and "lower tail_steps" in line
    assert "Traceback" not in said
    assert not list((study.folder / "results/none").rglob("*.safetensors"))


def test_a_changed_registration_is_refused_until_it_is_what_was_locked(study):
    [path, *_] = sorted((study.folder / "prereg").glob("*.yaml"))
    locked = path.read_bytes()
    path.write_bytes(locked + b"# a second thought\n")
    status, said = study.snakemake("--cores", "2", VERDICTS)
    assert status == 1
    [line] = {line for line in said.splitlines() if line.startswith("error: ")}
    assert path.name in line and "differs from its lock" in line
    assert not (study.folder / VERDICTS).exists()
    path.write_bytes(locked)
    status, said = study.snakemake("--cores", "2", VERDICTS)
    assert status == 0, said
    assert len(read_table(study.folder / VERDICTS)) == len(list(path.parent.glob("*.yaml")))
