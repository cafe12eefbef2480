"""Every reader of a file that is not ours: a small valid file, and the numbers that it gives."""

import hashlib
import json
import resource
import shutil
import signal
import warnings
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import made
import made_mat
import numpy as np
import pandas as pd
import recording_cases
import torch
import yaml
from hostile import mutations
from running import ROOT, merged

from orla import catalogue, yaml_files
from orla.errors import OrlaError
from orla.gradients import frozen as gradient_files
from orla.gradients.frozen import gradients
from orla.prereg import lock
from orla.prereg import reader as registrations
from orla.provenance import arrays, digest, networks, tables
from orla.sessions import binned, mat_read, nwb
from orla.sessions.streams import Streams
from orla.study.config import plan_from_config
from orla.tasks.stream import Stream

MOST_BYTES, MOST_S = 2 << 30, 20
SAME, REFUSED, OTHER = "same", "refused", "other"


def numbers(value):
    """A digest of all that a reader gives."""
    sha = hashlib.sha256()

    def take(value):
        if isinstance(value, torch.Tensor):
            value = value.numpy()
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value)
            sha.update(repr((value.shape, value.dtype.str)).encode())
            sha.update(
                repr(value.tolist()).encode() if value.dtype.kind == "O" else value.tobytes()
            )
        elif isinstance(value, pd.DataFrame):
            take(value.to_dict("list"))
        elif is_dataclass(value):
            take(vars(value))
        elif isinstance(value, dict):
            for key in sorted(value, key=str):
                take(str(key))
                take(value[key])
        elif isinstance(value, (list, tuple)):
            sha.update(b"[")
            for each in value:
                take(each)
        else:
            sha.update(repr(value).encode(errors="replace"))

    take(value)
    return sha.hexdigest()


class TooLong(BaseException):
    """A reader took more than its seconds."""


@contextmanager
def bounded():
    """At most so many seconds, and so many bytes more than there are."""

    def late(*_):
        raise TooLong

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    resource.setrlimit(resource.RLIMIT_AS, (held + MOST_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Reader:
    """A reader: `write` makes a valid file (and others beside it), `read` gives its numbers.

    Of a mutation of a kind in `other` it may give other numbers, for the reason that stands there.
    """

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], object]
    file: str
    strategy: object
    form: Callable
    other: dict[str, str] = field(default_factory=dict)
    after: Callable[[Path], None] = lambda path: None

    def answer(self, folder: Path, mutation: tuple) -> tuple[str, str]:
        """Its answer to a mutated file, and the words of a refusal; any other error is raised."""
        valid, expected = _valid(self.name)
        shutil.copytree(valid.name, folder, symlinks=True)
        path = folder / self.file
        try:
            mutations.apply(path, mutation, self.form)
        except (KeyError, ValueError, TypeError, OSError, RuntimeError, IndexError, OverflowError):
            return SAME, "not done"  # no such mutation of this file
        self.after(path)
        with warnings.catch_warnings(action="ignore"), redirect_stderr(StringIO()), bounded():
            try:
                found = numbers(self.read(path))
            except OrlaError as error:
                words = " ".join(str(error).split())  # as `errors.exit_in_one_line` prints it
                assert words, mutation
                return REFUSED, words
        return (SAME if found == expected else OTHER), ""


@cache
def _valid(name):
    """A folder with the reader's valid file, which goes with the process, and its numbers."""
    reader = READERS[name]
    folder = TemporaryDirectory()
    path = Path(folder.name, reader.file)
    reader.write(path)
    with redirect_stderr(StringIO()):
        return folder, numbers(reader.read(path))


def foreign_nwb(path):
    """A small NWB file by pynwb, with what others put into theirs."""

    def fill(file):
        file.add_invalid_time_interval(start_time=1.0, stop_time=1.2, tags=["lost"])
        file.add_trial(start_time=0.1, stop_time=1.9)

    recording_cases.written(
        path,
        1,
        spikes=lambda trains: [x[x < 1.9] for x in trains],
        series=lambda t, p: [recording_cases.hand(p[:500])],
        columns={
            "quality": ["good"] * 7 + ["mua"],
            "obs_intervals": [[[0.0, 1.0], [1.1, 1.99]]] * recording_cases.UNITS,
        },
        fill=fill,
    )


def our_nwb(path):
    given = made.session(seconds=2.0)
    given.left_out = [("a pause", 3.5, 3.6)]
    nwb.write_session(given, path)


def binned_npz(path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (40, 5))
    np.savez(path, counts=counts, vel=rng.normal(size=(40, 2)), bin_s=0.1, trial=np.arange(40) // 9)


def read_binned(path):
    source = binned.Source(boundaries=binned.Boundaries(changes=["trial"]))
    found = binned.read_binned(path, source)
    found.name = ""
    return found


NETWORK = {"kind": "rnn", "n_in": 3, "n_out": 2, "hidden": 4}


def gradient_npz(path):
    rng = np.random.default_rng(0)
    network = catalogue.make("architecture", {"kind": "rnn", "hidden": 4}, n_in=3, n_out=2)
    shapes = network.shapes().items()
    np.savez(path.with_name("weights.npz"), **{n: rng.normal(size=s) for n, s in shapes})
    np.savez(path.with_name("stream.npz"), X=rng.normal(size=(6, 3)), Y=rng.normal(size=(6, 2)))


def read_gradients(path):
    X, Y = gradient_files.read_stream(path.with_name("stream.npz"))
    weights = path.with_name("weights.npz")
    network, params = gradient_files.read_weights(
        weights, "rnn", X.shape[1], Y.shape[1], torch.float64
    )
    rule = catalogue.make("learner", "immediate", architecture=network)
    return gradients(rule, params, X, Y)


def a_registration(path, name="many-arrays-adam-gradient"):
    shutil.copy2(sorted((ROOT / "prereg").glob(f"*{name}*.yaml"))[0], path)


def read_registration(path):
    found = dict(vars(registrations.read_registration(path)))
    return {**found, "folder": ""}


def a_lock(path):
    folder = path.parent
    names = ("adam-equivalence", "lars-advantage", "many-arrays-adam-gradient")
    for name in names:
        a_registration(folder / f"{name}.yaml", name)
    lock.lock_files(folder, [folder / f"{name}.yaml" for name in names])


def read_lock(path):
    return lock.verify_folder(path.parent)


@cache
def defaults():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def an_overlay(path):
    tiny = yaml.safe_load((ROOT / "config/tiny.yaml").read_text())
    whole = merged(defaults(), tiny)
    path.write_text(yaml.safe_dump(whole | {"registrations": {"folders": []}}, sort_keys=False))


def read_config(path):
    yaml_files.read_yaml(path)
    with path.open() as file:
        given = yaml.load(file, Loader=yaml_files._LOADER)  # as Snakemake does
    if given is None:
        given = {}
    return plan_from_config(merged(defaults(), given)).config if isinstance(given, dict) else given


ABOUT = {"keys": {"learner": "immediate"}, "seeds": [0, 1], "dataset": {"simulated": True}}


def a_table(path):
    tables.write_table(pd.DataFrame({"x": [0.1, 2.0], "n": [1, 2], "w": ["a", "b"]}), path, ABOUT)


def read_table(path):
    found = tables.read_table(path, {"seeds": [0, 1]})
    return {"frame": found, "about": dict(found.attrs["provenance"])}


def some_arrays(path):
    arrays.write_arrays({"x": np.arange(9.0), "y": np.eye(3)}, path, ABOUT)


def some_networks(path):
    networks.save({"W": torch.ones(2, 3, 3), "b": torch.zeros(2, 3)}, path, ABOUT)


def some_streams(path):
    rng = np.random.default_rng(0)
    a, b = (Stream(rng.normal(size=(9, 3)), rng.normal(size=(9, 2))) for _ in "ab")
    Streams(a, b, 0.05, {"name": "made up"}).save(path)


def sealed_again(path):
    """As whoever wrote the file on purpose would: its digest is right."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > 1 << 24:
        return
    content = path.read_bytes()
    marks = list(digest._MARK.finditer(content))
    if len(marks) != 1:
        return
    blank = content[: marks[0].start()] + digest.BLANK.encode() + content[marks[0].end() :]
    path.write_bytes(blank)
    digest.write_digest(path)


def parquet_about(path, kind, how):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), b"orla": mutations.about(how, None).encode()}
    )
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({digest.KEY: digest.BLANK})


def npz_about(path, kind, how, *rest):
    if kind != "provenance":
        return mutations.npz(path, kind, how, *rest)
    with np.load(path) as file:
        held = dict(file)
    held["orla"] = np.array(mutations.about(how, None))
    import zipfile

    np.savez(path, **held)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = digest.BLANK.encode()


def safetensors_about(path, kind, how):
    import safetensors.torch

    tensors = safetensors.torch.load(path.read_bytes())
    about = mutations.about(how, None)
    try:
        about = json.loads(about)
    except (ValueError, RecursionError):
        entry = about
    else:
        entry = json.dumps({"digest": digest.BLANK, "provenance": about})
    safetensors.torch.save_file(tensors, path, metadata={"orla": entry, "d": digest.BLANK})


def why(**reasons):
    """Kind of mutation -> reason."""
    return {kind.replace("_", " "): reason for kind, reason in reasons.items()}


BYTE = "bytes of the numbers themselves, of which such a file has no digest"
NUMBER = "a number that may be so, of another value or kind"
PART = "a part that a recording may have, lack, or have otherwise"
HDF5 = why(
    flipped_bit=BYTE,
    zeros=BYTE,
    value=NUMBER,
    kind_of_number=NUMBER,
    shape=PART,
    deleted=PART,
    renamed=PART,
    swapped=PART,
    twice=PART,
    another_kind=PART,
    link=PART,
    attribute=PART,
    references="times of another array, in order and on the same clock",
)
NPZ = why(value=NUMBER, kind_of_number=NUMBER, swapped=NUMBER, shape="a square matrix, turned",
          header="numbers in the order that the header says")  # fmt: skip
WRITTEN = dict.fromkeys(
    ["flipped bit", "zeros", "cut short", "text before", "text after", "node", "dropped", "key",
     "moved", "line", "in its place"]
)  # fmt: skip
REGISTRATION = dict.fromkeys(WRITTEN, "another registration, which LOCK refuses: see there")
CONFIG = dict.fromkeys(WRITTEN, "another study: each result holds the settings that it was made of")
SEALED = dict.fromkeys(
    ["flipped bit", "zeros", "provenance", *NPZ, "member", "renamed", "directory"],
    "whoever seals a file again may put any numbers into it",
)

_R = mutations
READERS = {
    r.name: r
    for r in [
        Reader(".mat", lambda p: made_mat.write_session(p, **made.arrays()),
               mat_read.read_session, "indy_20160630_01.mat", _R.HDF5, _R.hdf5, HDF5),
        Reader(".nwb of others", foreign_nwb, nwb.read_session, "day.nwb", _R.HDF5, _R.hdf5,
               HDF5),
        Reader(".nwb of ours", our_nwb, nwb.read_session, "day.nwb", _R.HDF5, _R.hdf5, HDF5),
        Reader("binned .npz", binned_npz, read_binned, "day.npz", _R.NPZ, _R.npz, NPZ),
        Reader("gradients: weights", gradient_npz, read_gradients, "weights.npz", _R.NPZ, _R.npz,
               NPZ),
        Reader("gradients: stream", gradient_npz, read_gradients, "stream.npz", _R.NPZ, _R.npz,
               NPZ),
        Reader("registration", a_registration, read_registration, "one.yaml", _R.YAML, _R.as_yaml,
               REGISTRATION),
        Reader("LOCK", a_lock, read_lock, "LOCK", _R.LOCK, _R.as_lines),
        Reader("registration in LOCK", a_lock, read_lock, "lars-advantage.yaml",
               _R.YAML, _R.as_yaml),
        Reader("config", an_overlay, read_config, "overlay.yaml", _R.YAML, _R.as_yaml, CONFIG),
        Reader("table", a_table, read_table, "x.parquet", _R.RESULT, parquet_about),
        Reader("arrays", some_arrays, arrays.read_arrays, "x.npz", _R.RESULT, npz_about),
        Reader("networks", some_networks, lambda p: networks.load(p, 2), "x.safetensors",
               _R.RESULT, safetensors_about),
        Reader("table, sealed again", a_table, read_table, "x.parquet", _R.RESULT, parquet_about,
               SEALED, sealed_again),
        Reader("streams, sealed again", some_streams, Streams.load, "streams.npz",
               _R.st.one_of(_R.RESULT, _R.NPZ), npz_about, SEALED, sealed_again),
        Reader("networks, sealed again", some_networks, lambda p: networks.load(p, 2),
               "x.safetensors", _R.RESULT, safetensors_about, SEALED, sealed_again),
    ]
}  # fmt: skip
