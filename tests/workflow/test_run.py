"""The real Snakemake on config/tiny.yaml: one run, and what follows from a change."""

import hashlib
import os
import re
import shutil
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import h5py
import made_mat
import numpy as np
import pytest
import yaml
from running import ROOT, Study, merged

from orla import catalogue
from orla.errors import OrlaError
from orla.provenance.tables import read_table, write_table
from orla.sessions import mat_read, nwb
from orla.sessions.streams import Streams
from orla.study.keys import KEYS
from orla.study.rates import require_horizons
from orla.study.rolling import UNADAPTED

RESULTS = "results/tiny"
LOOP = "orla/engine/loop.py"
SESSIONS = ["indy_20160630_01", "indy_20170131_02"]
# Two learners by two optimizers; and one of them in a numeric configuration.
SWEPT = [
    f"rnn/{learner}/{optimizer}/80-20"
    for learner in ("immediate", "tbptt-200-200")
    for optimizer in ("adam", "sgd")
]
NARROW = "rnn/immediate/sgd/80-20/narrow"
PRECISIONS = ("float64", "narrow")
PARTS = [f"recordings/adaptation/rnn/{p}/80-20-headline-0.parquet" for p in PRECISIONS]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = Study(tmp_path_factory.mktemp("tiny"), ROOT / "config/tiny.yaml")
    [block] = study.config["conditions"]
    narrow = {"name": "narrow", "learners": ["immediate"], "optimizers": ["sgd"], "seeds": 1}
    study.config |= {
        "conditions": [block, block | narrow | {"precisions": ["narrow"]}],
        "numerics": {"narrow": {"precision": "float32", "instructions": "default"}},
        "pretraining": {"max_epochs": 1, "window": 20},
        "grid_growth": 0,
    }
    status, study.said = study.changed().process("--cores", "2", "all")
    assert status == 0, study.said
    return study


@pytest.fixture
def study(finished):
    """The finished study, which the test leaves as it is but for the overlay."""
    yield finished
    finished.changed()


@pytest.fixture(scope="module")
def copy(finished, tmp_path_factory):
    """A copy of the finished study to break."""
    return finished.copy(tmp_path_factory.mktemp("copy"))


def test_everything_is_there_and_carries_its_provenance(study):
    results, reports = study.folder / RESULTS, study.folder / "reports/tiny"
    tables = [*results.glob("*.parquet"), *(results / "recordings").rglob("*.parquet")]
    assert len(tables) >= 20
    for path in tables:
        provenance = read_table(path).attrs["provenance"]
        datasets = provenance.get("datasets") or {"": provenance["dataset"]}
        assert [dataset["simulated"] for dataset in datasets.values()] == [True], path
        assert {"code", "versions", "cpu_capability", "threads", "inputs"} <= set(provenance), path
    assert "prereg_lock_sha256" in read_table(results / "verdicts.parquet").attrs["provenance"]
    for name in ("ratio_gap", "heldout", "bci_gap", "selection_price", "verdict"):
        assert "SIMULATED" in (reports / f"table_{name}.tex").read_text()
        assert (reports / f"table_{name}.csv").stat().st_size > 0
    for name in ("horizon_gap", "lr_curves", "adaptation_traces", "tost_interval"):
        assert (reports / f"figure_{name}.pdf").stat().st_size > 0
        assert (reports / f"figure_{name}.png").stat().st_size > 0
    page = (reports / "index.html").read_text()
    assert "SIMULATED" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_a_numeric_configuration_runs_with_its_instruction_set(study):
    capabilities = [
        read_table(study.folder / RESULTS / path).attrs["provenance"]["cpu_capability"]
        for path in (*PARTS, "recordings/pretraining/rnn/narrow.parquet")
    ]
    assert capabilities[0] != "DEFAULT" and capabilities[1:] == ["DEFAULT", "DEFAULT"]


def described():
    """Columns by the heading of docs/reference.md that they stand under."""
    columns, heading = {}, ""
    for line in (ROOT / "docs/reference.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif named := re.match(r"\| `(\w+)` \|", line):
            columns.setdefault(heading, set()).add(named[1])
        elif line.startswith("After the keys"):
            columns[heading] = {*KEYS} - {*re.findall(r"`(\w+)`", line)}
    return columns


def test_every_column_of_a_result_is_described(study):
    told, results = described(), study.folder / RESULTS
    files = {name: results / f"{name}.parquet" for name in told} | {
        "TASK[/PAIR]/sweeps/CONDITION": results / f"recordings/sweeps/{SWEPT[0]}.parquet",
        "pretraining/NETWORK/PRECISION": results / "recordings/pretraining/rnn/float64.parquet",
        "heldout, lr_curves": results / "heldout.parquet",
    }
    # Of the losses and probes, those that are run here.
    told["heldout, lr_curves"] |= {"update_ratio", *told["Of the loss, in the tables of models"]}
    for score in ("bits_per_symbol", "accuracy"):
        told["heldout, lr_curves"] -= {score, *(f"{n}_{score}" for n in (*UNADAPTED, "stable"))}
    told["alignment"] -= {"diverged", "selected", "carried_bytes"}
    written = {name: {*read_table(path)} for name, path in files.items() if path.exists()}
    assert len(written) > 15
    for name, columns in written.items():
        assert columns == told[name], name
    assert read_table(results / "lr_curves.parquet").columns.equals(
        read_table(files["heldout, lr_curves"]).columns
    )


def test_a_run_says_what_it_does_and_how_far_it_is(study):
    said = study.said.splitlines()
    assert "Reason:" not in study.said and "Host:" not in study.said
    assert max(map(len, said)) < 200
    assert any(line.endswith("Adapting rnn to recordings, 80-20-headline-0") for line in said)
    assert f"orla: 1 of 4: {RESULTS}/recordings/sweeps/{SWEPT[0]}" in said
    assert any(line.startswith("orla: 5 conditions to adapt in 2 jobs: about ") for line in said)
    assert any(line.startswith("orla: CPU ") and "learners" in line for line in said)
    assert any("steps (100%) done" in line for line in said)


REPORTED = {"Writing", "Complete:"}
JUDGED, COMPARED = {"Judging", *REPORTED}, {"Comparing", "Judging", *REPORTED}
ADAPTED = {"Adapting", *COMPARED}


# A change of each depth of the workflow, of a setting or a source; more with `-m full`.
CHANGES = [
    ({"grids": {"adam": {"step": [0.001, 0.003]}}}, ADAPTED),
    ({"statistics": {"margin_pp": 5.0}}, COMPARED),
    ({"registrations": {"folders": []}}, JUDGED),
    ("src/orla/reports/page.py", REPORTED),
    ("src/orla/sessions/from_spikes.py", {"Making", "Decoding", *ADAPTED}),
]
FURTHER = [
    ("src/orla/engine/loop.py", ADAPTED),
    ({"horizons": {"learners": ["immediate"]}}, ADAPTED),
    ("src/orla/optimizers/sgd.py", ADAPTED),
    ("src/orla/results/gaps.py", COMPARED),
    ("src/orla/prereg/judge.py", JUDGED),
    ("prereg/amendments/later.yaml", JUDGED),
]


@pytest.mark.parametrize(
    ("change", "expected"),
    [*CHANGES, *(pytest.param(*further, marks=pytest.mark.full) for further in FURTHER)],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_a_change_touches_what_depends_on_it_and_no_more(study, change, expected):
    if isinstance(change, dict):
        jobs = study.changed(**change).planned()
    else:
        # A line of a source; or an amendment of the first registration.
        [first, *_] = sorted(path.stem for path in (study.folder / "prereg").glob("*.yaml"))
        text = f"registration: {first}\ndate: 2027-01-01\n" if "yaml" in change else "# Another.\n"
        with study.appended(change, text):
            jobs = study.planned()
    assert {job.split()[0] for job in jobs} - {"Pretraining"} == expected, jobs


def test_a_second_run_does_nothing_nor_does_one_after_a_change_that_decides_nothing(
    study, tmp_path
):
    """The default profile supplies the cores, and the workflow is read without PyTorch."""
    (tmp_path / "torch.py").write_text("raise RuntimeError('PyTorch was imported')\n")
    shutil.rmtree(study.folder / "cache", ignore_errors=True)
    with study.appended("src/orla/errors.py"):
        status, said = study.process("all", "headline", first_on_path=[tmp_path])
    assert status == 0 and "Nothing to be done" in said, said


DELETED = [
    "recordings/streams.npz",
    *PARTS,
    f"recordings/sweeps/{SWEPT[3]}.parquet",
    "traces.parquet",
    "verdicts.parquet",
]


def test_deleted_results_come_back_bit_for_bit_and_the_longest_job_starts_first(copy):
    """One result of each rule; of a part that was killed, the one condition that it lacks."""
    results, before = copy.folder / RESULTS, copy.contents()
    for name in DELETED:
        (results / name).unlink()
    said = copy.made(f"{RESULTS}/verdicts.parquet", f"{RESULTS}/traces.parquet", "--cores", "1")
    reported = re.findall(r"^orla: (\d+) of (\d+): \S+/sweeps/(\S+?)(, kept)?$", said, re.MULTILINE)
    assert [of for place, of, *_ in reported if place == "1"] == ["4", "1"]
    assert {path for *_, path, kept in reported if not kept} == {SWEPT[3]}
    after = copy.contents()
    assert [name for name, held in before.items() if after.get(name) != held] == []


def test_a_forced_pretraining_does_not_rewrite_networks_that_are_as_asked(copy):
    """Else whatever was adapted from them would be adapted again."""
    files = [copy.folder / RESULTS / "recordings" / name for name in PRETRAINED[:2]]
    before = [file.stat() for file in files]
    copy.made(*(str(file.relative_to(copy.folder)) for file in files), "--forcerun", "pretrain")
    after = [file.stat() for file in files]
    assert [stat.st_ino for stat in after] == [stat.st_ino for stat in before]
    assert all(b.st_mtime_ns < a.st_mtime_ns for b, a in zip(before, after, strict=True))


def test_results_of_a_clock_that_was_ahead_stop_no_run(copy):
    """As after a clock was set back by a day: Snakemake makes nothing from files of the future."""
    results, before = copy.folder / RESULTS, copy.contents()
    for path in results.rglob("*.parquet"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 86400))
    (results / "verdicts.parquet").unlink()
    said = copy.made(f"{RESULTS}/verdicts.parquet")
    assert "from a clock that was ahead" in said and "Comparing" not in said
    assert copy.contents() == before


def test_results_of_two_versions_are_mixed_only_where_that_is_allowed(copy):
    path, target = copy.folder / RESULTS / "gaps.parquet", f"{RESULTS}/verdicts.parquet"
    gaps = read_table(path)
    provenance = dict(gaps.attrs["provenance"])
    files = provenance["code"]["files"] | {LOOP: "0" * 64}
    code = {"code": provenance["code"] | {"files": files}}
    write_table(gaps, path, provenance | code, [copy.folder / RESULTS / "lr_curves.parquet"])
    (copy.folder / target).unlink()
    asked = (target, "--rerun-triggers", "mtime")
    line = copy.refused(*asked)
    assert "loop.py" in line and "allow_mixed" in line
    copy.changed(provenance={"allow_mixed": True}).made(*asked)
    assert read_table(copy.folder / target).attrs["provenance"]["code"]["files"][LOOP]["mixed"]


def test_a_changed_registration_is_refused(study):
    [path, *_] = sorted((study.folder / "prereg").glob("*.yaml"))
    with study.appended(path.relative_to(study.folder), "# a second thought\n"):
        line = study.refused(f"{RESULTS}/verdicts.parquet", "--forcerun", "verdict")
    assert path.name in line and "differs from its last amendment" in line


def recorded(**settings):
    return {"tasks": {"recordings": settings}}


def told(names, words):
    return {f"{RESULTS}/recordings/{name}": words for name in names}


PRETRAINED = [f"pretraining/rnn/{p}.{e}" for p in PRECISIONS for e in ("parquet", "safetensors")]
ADAPTED_FILES = [f"sweeps/{c}.{end}" for c in (*SWEPT, NARROW) for end in ("npz", "parquet")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        (
            recorded(simulated={"seed": 7}),
            told(["streams.npz"], "made of other settings (simulated.seed is 1, not 7)")
            | told(PRETRAINED + ADAPTED_FILES, "(task.simulated.seed is 1, not 7)"),
        ),
        (
            {"pretraining": {"max_epochs": 9}},
            told(PRETRAINED, "(pretraining.max_epochs is 1, not "),
        ),
        (recorded(parts={"splits": {"80-20": 0.7}}), told(ADAPTED_FILES, "80-20 is 0.8, not 0.7)")),
    ],
    ids=["as it is", "seed", "pretraining", "split"],
)
def test_verification_names_every_result_of_changed_settings_and_no_other(study, changes, expected):
    lines = study.changed(**changes).faults()
    assert len(lines) == len(expected)
    for line, (name, words) in zip(sorted(lines), sorted(expected.items()), strict=True):
        assert line.startswith(f"{name}: ") and words in line, line


def test_a_result_that_was_changed_with_its_old_time_is_found(copy):
    path = copy.folder / RESULTS / "recordings/pretraining/rnn/float64.safetensors"
    held, time = bytearray(path.read_bytes()), path.stat()
    held[-1] ^= 1
    path.write_bytes(held)
    os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))
    path.with_name("config.json").write_text("{}")  # as beside a language model
    [line] = copy.faults()  # and nothing of what was made from it
    assert "float64.safetensors: differs from its own digest" in line


@pytest.fixture
def mats(finished, tmp_path):
    """The sessions of the study's pair as MATLAB files."""
    config = merged(yaml.safe_load((ROOT / "config.yaml").read_text()), finished.config)
    settings = catalogue.make("task", config["tasks"]["recordings"]).simulation_settings("indy")
    paths = [tmp_path / f"{name}.mat" for name in SESSIONS]
    made_mat.simulate(*paths, settings)
    return paths


@pytest.fixture
def web(mats):
    """Serve the simulated sessions as Zenodo would; yield (URL, requests)."""
    requested = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requested.append(self.path)

    handler = partial(Handler, directory=mats[0].parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requested
    server.shutdown()
    server.server_close()


def with_a_spike_outside(path):
    """The file with its first cell's last spike a minute after the end."""
    with h5py.File(path, "r+") as file:
        for reference in file["spikes"][()].ravel():
            times = file[reference]
            if times.dtype.kind == "f" and times.size > 3:
                flat = times[()]
                flat.flat[-1] += 6000.0
                times[...] = flat
                return


def positions(file, name):
    """The data of a series of positions in an NWB file of ours."""
    return file.visititems(lambda at, it: it if at.endswith("data") and name in at else None)


def test_recordings_of_every_source_become_streams(study, mats, web):
    """Downloaded once and read with the options of the config, in NWB of others, and binned."""
    (study.folder / "recordings").mkdir()
    foreign = {name: f"recordings/{name}.nwb" for name in SESSIONS}
    for mat in mats:
        nwb.write_session(mat_read.read_session(mat), study.folder / foreign[mat.stem])
        with h5py.File(study.folder / foreign[mat.stem], "r+") as file:
            positions(file, "finger").attrs.modify("unit", "a.u.")  # which is then to be said
    random = np.random.default_rng(0)
    for name, units in (("one", 12), ("two", 9)):
        counts, vel = random.poisson(2.0, (2000, units)), random.normal(size=(2000, 2))
        path = study.folder / f"recordings/{name}.npz"
        np.savez(path, counts=counts, vel=vel, bin_s=0.1)
    with_a_spike_outside(mats[1])  # which is refused unless it is to be dropped
    url, requested = web
    sums = {path.stem: hashlib.md5(path.read_bytes()).hexdigest() for path in mats}
    sources = {
        "web": {"odoherty": {"base_url": url, "md5": sums, "spikes_outside": "drop"}},
        "inches": {"nwb": {"files": foreign, "cursor": "finger_pos", "metres_per_unit": 0.0254}},
        "bins": {"binned": {"files": {n: f"<recordings>/{n}.npz" for n in ("one", "two")}}},
        "bare": {},
    }
    pairs = {"indy": dict(zip("ab", SESSIONS, strict=True))}
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    plain = merged(config, study.config)["tasks"]["recordings"]
    plain = {name: plain[name] for name in ("kind", "parts", "preparation")} | {"pairs": pairs}
    tasks = {task: plain | {"source": next(iter(s)), **s} for task, s in sources.items() if s}
    features = {"bin_s": 0.1, "features": {"method": "pca", "count": 6}}
    tasks["bins"] = merged(tasks["bins"], {"preparation": features})
    tasks["bins"]["pairs"] = {"indy": {"a": "one", "b": "two"}}
    tasks["bare"] = {"kind": "recordings", "pairs": {"p": {"a": "first", "b": "second"}}}
    block = study.config["conditions"][0] | {"tasks": [*sources]}
    folders = {"results": "results/read", "reports": "read", "recordings": "recordings"}
    study.changed(tasks=tasks, pathvars=folders, conditions=[block], horizons={"tasks": []})
    jobs = study.planned("prepared")
    assert {f"Making the streams of {task}" for task in sources} <= {*jobs}
    assert {job.split()[0] for job in jobs} == {"Making", "Downloading", "Reading", "The"}, jobs
    block["tasks"].remove("bare")
    study.changed(tasks=tasks, pathvars=folders, conditions=[block], horizons={"tasks": []})
    read, converted = study.folder / "results/read", f"inches/sessions/{SESSIONS[0]}.nwb"
    made = ["web/streams.npz", "bins/streams.npz", converted]
    study.made(*(f"results/read/{path}" for path in made))
    tiny = Streams.load(study.folder / RESULTS / "recordings/streams.npz")
    downloaded, bins = (Streams.load(read / path) for path in made[:2])
    assert np.array_equal(downloaded.a.X, tiny.a.X) and np.array_equal(downloaded.a.Y, tiny.a.Y)
    assert len(downloaded.b) == len(tiny.b)
    dropped = downloaded.dataset["account"]["b"]["spikes_dropped"]
    assert dropped["outside the positions' times"] == 1
    assert not downloaded.dataset["simulated"] and "SIMULATED" not in downloaded.dataset["label"]
    assert len(requested) == len(mats), "each is downloaded once"

    with (
        h5py.File(read / converted) as ours,
        h5py.File(study.folder / foreign[SESSIONS[0]]) as theirs,
    ):
        inches, metres = positions(ours, "cursor")[()], positions(theirs, "finger")[()]
    assert np.allclose(inches, 0.0254 * metres) and np.abs(metres).max() > 0
    assert bins.b.X.shape == (1600, 6)  # B's components are found on its first fifth


def test_a_session_that_is_too_short_for_its_parts_is_refused(study):
    config = merged(yaml.safe_load((ROOT / "config.yaml").read_text()), study.config)
    streams = Streams.load(study.folder / RESULTS / "recordings/streams.npz")
    recordings = config["tasks"]["recordings"]
    task = catalogue.make("task", merged(recordings, {"parts": {"tail_steps": 9000}}))
    with pytest.raises(OrlaError, match=r"a_pretraining is empty.*lower tail_steps"):
        task.cut(streams, "80-20")
    episode = catalogue.make("task", recordings).cut(streams, "80-20")
    with pytest.raises(OrlaError, match=r"horizons\.steps has 20000.* up to the "):
        require_horizons([400, 20000], episode.window, len(episode.adapt), "80-20")


def test_snakemakes_own_report(study):
    status, said = study.snakemake("--report", "report.zip")
    assert status == 0, said
    names = zipfile.ZipFile(study.folder / "report.zip").namelist()
    assert any(name.endswith("report.html") for name in names)


def test_a_mistake_in_the_config_is_one_line_before_anything_runs(study):
    line = study.changed(horizons={"learners": ["imediate"]}).refused("all")
    assert '"horizons.learners" cannot be "imediate", of which no condition runs' in line
