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

from orla import __main__ as program
from orla import catalogue
from orla.errors import OrlaError
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table, write_table
from orla.sessions import mat_read, nwb
from orla.sessions.streams import Streams
from orla.study.keys import KEYS
from orla.study.rolling import UNADAPTED

TINY = ROOT / "config/tiny.yaml"
RESULTS = "results/tiny"
LOOP = "orla/engine/loop.py"
SWEEP = "recordings/sweeps/rnn/immediate/adam/80-20"
PART = "recordings/adaptation/rnn/float64/80-20-headline-0"
SESSIONS = ["indy_20160630_01", "indy_20170131_02"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = Study(tmp_path_factory.mktemp("tiny"), TINY)
    study.said = study.made("all")
    return study


@pytest.fixture
def study(finished):
    """The finished study, which the test leaves as it is but for the overlay."""
    yield finished
    finished.changed()


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished study to break."""
    return finished.copy(tmp_path)


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
        "TASK[/PAIR]/sweeps/CONDITION": results / f"{SWEEP}.parquet",
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
    assert f"orla: 1 of 4: {RESULTS}/{SWEEP}" in said
    assert any(line.startswith("orla: 4 conditions to adapt in 1 jobs: about ") for line in said)
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
    ({"registrations": {"assume": {"pair": None}}}, JUDGED),
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
    assert {job.split()[0] for job in jobs} == expected, jobs


def test_a_second_run_does_nothing_nor_does_one_after_a_change_that_decides_nothing(study):
    """The default profile supplies the cores."""
    with study.appended("src/orla/errors.py"):
        status, said = study.snakemake("all")
    assert status == 0 and "Nothing to be done" in said, said


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


DELETED = [
    "recordings/streams.npz",
    f"{PART}.parquet",
    "recordings/sweeps/rnn/tbptt-200-200/sgd/80-20.parquet",
    "traces.parquet",
    "verdicts.parquet",
]


def test_deleted_results_come_back_bit_for_bit(copy):
    """One result of each rule; of a part that was killed, the one condition that it lacks."""
    results, reports = copy.folder / RESULTS, copy.folder / "reports/tiny"
    kinds = (".npz", ".parquet", ".safetensors")
    before = {p: p.read_bytes() for p in results.rglob("*") if p.suffix in kinds}
    before |= {p: p.read_bytes() for p in (reports / "index.html", reports / "table_ratio_gap.csv")}
    for name in DELETED:
        (results / name).unlink()
    (reports / "table_ratio_gap.csv").unlink()
    assert copy.adapted() == {"rnn/tbptt-200-200/sgd/80-20"}
    different = [
        str(p.relative_to(results)) for p, held in before.items() if p.read_bytes() != held
    ]
    assert different == []


@pytest.mark.parametrize(
    ("damaged", "read", "target"),
    [
        (f"{PART}.parquet", read_table, "heldout.parquet"),
        (f"{PART}.npz", read_arrays, ""),
        ("recordings/streams.npz", Streams.load, ""),
        ("gaps.parquet", read_table, ""),
    ],
)
def test_one_flipped_byte_is_one_line(finished, tmp_path, damaged, read, target):
    copy = finished.copy(tmp_path) if target else None
    path = (tmp_path if target else finished.folder) / RESULTS / damaged
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    if not target:
        path = tmp_path / path.name
    path.write_bytes(held)
    with pytest.raises(OrlaError, match=rf"{path.name}: .*delete it and run"):
        read(path)
    if copy:
        (copy.folder / RESULTS / target).unlink()
        line = copy.refused(f"{RESULTS}/{target}", "--rerun-triggers", "mtime")
        assert damaged in line and "delete it and run" in line


NETWORKS = [f"recordings/pretraining/rnn/float64.{end}" for end in ("parquet", "safetensors")]
SWEPT = [
    f"recordings/sweeps/rnn/{learner}/{optimizer}/80-20.{end}"
    for learner in ("immediate", "tbptt-200-200")
    for optimizer in ("adam", "sgd")
    for end in ("npz", "parquet")
]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, {}),
        (
            {"tasks": {"recordings": {"simulated": {"seed": 7}}}},
            {"recordings/streams.npz": "made of other settings (simulated.seed is 1, not 7)"}
            | dict.fromkeys(NETWORKS + SWEPT, "(task.simulated.seed is 1, not 7)"),
        ),
        (
            {"pretraining": {"max_epochs": 9}},
            dict.fromkeys(NETWORKS, "(pretraining.max_epochs is 3, not 9)"),
        ),
        (
            {"tasks": {"recordings": {"parts": {"splits": {"80-20": 0.7}}}}},
            dict.fromkeys(SWEPT, "(task.parts.splits.80-20 is 0.8, not 0.7)"),
        ),
    ],
    ids=["as it is", "seed", "pretraining", "split"],
)  # fmt: skip
def test_every_result_of_another_study_is_named(study, monkeypatch, capsys, changes, told):
    study.changed(**changes)
    monkeypatch.chdir(study.folder)
    command = ["verify", "--configfile", "overlay.yaml"]
    if not told:
        program.main(command)
        assert "results are whole and what is asked for" in capsys.readouterr().out
        return
    with pytest.raises(SystemExit):
        program.main(command)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(told)
    for line, (name, words) in zip(lines, sorted(told.items()), strict=True):
        assert line.startswith(f"{RESULTS}/{name}: ") and words in line, line


def test_a_result_that_was_changed_with_its_old_time_is_found(copy, monkeypatch, capsys):
    path = copy.folder / RESULTS / "recordings/pretraining/rnn/float64.safetensors"
    held, time = bytearray(path.read_bytes()), path.stat()
    held[-1] ^= 1
    path.write_bytes(held)
    os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))
    path.with_name("config.json").write_text("{}")  # as beside a language model
    monkeypatch.chdir(copy.folder)
    with pytest.raises(SystemExit):
        program.main(["verify", "--configfile", "overlay.yaml"])
    assert "float64.safetensors: differs from its own digest" in capsys.readouterr().out


def simulated(study, folder):
    """The sessions of a study's pair as MATLAB files."""
    folder.mkdir(exist_ok=True)
    config = merged(yaml.safe_load((ROOT / "config.yaml").read_text()), study.config)
    settings = catalogue.make("task", config["tasks"]["recordings"]).simulation("indy")
    paths = [folder / f"{name}.mat" for name in SESSIONS]
    made_mat.simulate(*paths, settings)
    return paths


@pytest.fixture
def web(finished, tmp_path):
    """Serve the simulated sessions as Zenodo would; yield (URL, folder, requests)."""
    requested, folder = [], tmp_path / "served"
    simulated(finished, folder)

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requested.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", folder, requested
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


def test_recordings_are_downloaded_once_and_read_with_the_options_of_the_config(study, web):
    url, folder, requested = web
    mats = sorted(folder.glob("*.mat"))
    with_a_spike_outside(mats[1])  # which is refused unless it is to be dropped
    sources = {
        "base_url": url,
        "md5": {path.stem: hashlib.md5(path.read_bytes()).hexdigest() for path in mats},
        "spikes_outside": "drop",
    }

    def changed(**odoherty):
        return study.changed(
            name="recordings",
            tasks={"recordings": {"source": "odoherty", "odoherty": sources | odoherty}},
            pathvars={"results": "results/web", "reports": "reports/web"},
        )

    target = "results/web/recordings/streams.npz"
    changed().made(target)
    ours = Streams.load(study.folder / target)
    theirs = Streams.load(study.folder / RESULTS / "recordings/streams.npz")
    assert np.array_equal(ours.a.X, theirs.a.X) and np.array_equal(ours.a.Y, theirs.a.Y)
    assert len(ours.b) == len(theirs.b)
    assert ours.dataset["account"]["b"]["spikes_dropped"]["outside the positions' times"] == 1
    assert not ours.dataset["simulated"] and "SIMULATED" not in ours.dataset["label"]
    assert len(requested) == len(mats), "each is downloaded once"


def test_nwb_files_of_others_give_streams_in_their_unit(study):
    sessions = {name: f"recordings/{name}.nwb" for name in SESSIONS}
    for mat in simulated(study, study.folder / "recordings"):
        nwb.write_session(mat_read.read_session(mat), mat.with_suffix(".nwb"))
        mat.unlink()
    source = {"files": sessions, "cursor": "finger_pos", "metres_per_unit": 0.0254}
    study.changed(
        tasks={"recordings": {"source": "nwb", "nwb": source}},
        pathvars={"results": "results/inches", "reports": "reports/inches"},
    )
    study.made("results/inches/recordings/streams.npz")
    name = f"results/inches/recordings/sessions/{SESSIONS[0]}.nwb"
    with h5py.File(study.folder / name) as file:
        inches = positions(file, "cursor")
    with h5py.File(study.folder / sessions[SESSIONS[0]]) as file:
        metres = positions(file, "finger")
    assert np.allclose(inches, 0.0254 * metres) and np.abs(metres).max() > 0
    read, tiny = (
        Streams.load(study.folder / results / "recordings/streams.npz")
        for results in ("results/inches", RESULTS)
    )
    assert np.allclose(read.a.X, tiny.a.X)


def positions(file, of):
    """The samples of a series of positions in an NWB file of ours."""
    found = []
    file.visititems(
        lambda name, item: found.append(item[()]) if name.endswith("data") and of in name else None
    )
    [samples] = found
    return samples


def test_binned_recordings_become_streams(study):
    (study.folder / "recordings").mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    for name, units in (("one", 12), ("two", 9)):
        np.savez(
            study.folder / f"recordings/{name}.npz",
            counts=random.poisson(2.0, (2000, units)),
            vel=random.normal(size=(2000, 2)),
            bin_s=0.1,
        )
    binned = {
        "source": "binned",
        "pairs": {"indy": {"a": "one", "b": "two"}},
        "binned": {"files": {name: f"<recordings>/{name}.npz" for name in ("one", "two")}},
        "preparation": {"bin_s": 0.1, "features": {"method": "pca", "count": 6}},
    }
    folders = {"results": "results/bins", "recordings": "recordings"}
    study.changed(tasks={"recordings": binned}, pathvars=folders)
    study.made("results/bins/drift_report.parquet")
    made = Streams.load(study.folder / "results/bins/recordings/streams.npz")
    assert made.b.X.shape == (1600, 6)  # B's components are found on its first fifth


def test_snakemakes_own_report(study):
    status, said = study.snakemake("--report", "report.zip")
    assert status == 0, said
    names = zipfile.ZipFile(study.folder / "report.zip").namelist()
    assert any(name.endswith("report.html") for name in names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"horizons": {"learners": ["imediate"]}},
            '"horizons.learners" cannot be "imediate", of which no condition runs on recordings',
        ),
        pytest.param(
            {"plugins": ["mine"]},
            "broken.py: the plug-in cannot be imported: ModuleNotFoundError",
            marks=pytest.mark.full,
        ),
        pytest.param(
            {"registrations": {"folders": ["prereg", "mine"]}},
            "has mine, which has no LOCK; make one with: mkdir -p mine && touch mine/LOCK",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_mistake_in_the_config_is_one_line_before_anything_runs(study, changes, message):
    (study.folder / "mine").mkdir(exist_ok=True)
    (study.folder / "mine/broken.py").write_text("import no_such_library\n")
    status, said = study.changed(**changes).snakemake("--cores", "2", "all")
    assert status == 1
    errors = [line for line in said.splitlines() if "error" in line.lower()]
    assert len(errors) == 1 and errors[0].startswith("error: "), said
    assert message in errors[0]
    assert "Building DAG" not in said and "Traceback" not in said


def test_the_workflow_is_read_without_pytorch(study, tmp_path):
    (tmp_path / "torch.py").write_text("raise RuntimeError('PyTorch was imported')\n")
    shutil.rmtree(study.folder / "cache", ignore_errors=True)
    status, said = study.snakemake("--dry-run", "all", first_on_path=[tmp_path])
    assert status == 0 and "Nothing to be done" in said, said


def test_recordings_are_prepared_alone_and_simulated_where_they_have_no_source(study):
    bare = {"kind": "recordings", "pairs": {"p": {"a": "first", "b": "second"}}}
    more = [{**study.config["conditions"][0], "tasks": ["bare"]}]
    elsewhere = {"results": "results/prepared", "reports": "prepared"}
    changes = {"tasks": {"bare": bare}, "conditions": study.config["conditions"] + more}
    jobs = study.changed(pathvars=elsewhere, **changes).planned("prepared")
    assert {"Making the streams of bare", "Making the streams of recordings"} <= {*jobs}
    assert not {job.split()[0] for job in jobs} & {"Pretraining", "Adapting", "Writing"}, jobs


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"tasks": {"recordings": {"parts": {"tail_steps": 9000}}}},
            ["a_pretraining is empty", "lower tail_steps"],
        ),
        pytest.param(
            {"horizons": {"steps": [400, 20000]}},
            ["horizons.steps has 20000", "up to the "],
            marks=pytest.mark.full,
        ),
    ],
)
def test_what_a_session_is_too_short_for_is_refused_before_anything_is_trained(
    study, changes, words
):
    study.changed(pathvars={"results": "results/none", "reports": "none"}, **changes)
    line = study.refused("prepared")
    assert all(word in line for word in words), line


def test_a_changed_registration_is_refused(study):
    [path, *_] = sorted((study.folder / "prereg").glob("*.yaml"))
    with study.appended(path.relative_to(study.folder), "# a second thought\n"):
        line = study.refused(f"{RESULTS}/verdicts.parquet", "--forcerun", "verdict")
    assert path.name in line and "differs from its last amendment" in line


def test_a_numeric_configuration_runs_as_it_asks_or_not_at_all(copy):
    [block] = copy.config["conditions"]
    block = block | {"learners": ["immediate"], "optimizers": ["sgd"]}
    narrow = {"precision": "float32", "instructions": "default"}
    wide = {"precision": "float64", "threads": 64}
    precisions = ["float64", "narrow", "wide"]
    changes = {"numerics": {"narrow": narrow, "wide": wide}, "horizons": {"tasks": []}}
    copy.changed(**changes, conditions=[block | {"precisions": precisions}])
    part = PART.replace("float64", "{}")
    assert copy.adapted(f"{RESULTS}/{part.format('narrow')}.parquet") == {
        f"{SWEEP.partition('sweeps/')[2].replace('adam', 'sgd')}/narrow"
    }
    table = read_table(copy.folder / f"{RESULTS}/{part.format('narrow')}.parquet")
    networks = copy.folder / f"{RESULTS}/recordings/pretraining/rnn/narrow.parquet"
    for found in (table, read_table(networks)):
        assert found.attrs["provenance"]["cpu_capability"] == "DEFAULT"
    plain = read_table(copy.folder / f"{RESULTS}/{PART}.parquet")
    assert plain.attrs["provenance"]["cpu_capability"] != "DEFAULT"
    assert "64 threads" in copy.refused(f"{RESULTS}/{part.format('wide')}.parquet")
