"""Damage, exchange and changed inputs are noticed when a result is read."""

import hashlib
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from orla.errors import OrlaError
from orla.provenance import digest, networks
from orla.provenance.arrays import read_arrays, write_arrays
from orla.provenance.tables import read_table, write_table

KEYS = {"task": "recordings", "pair": "", "learner": "rtrl", "precision": "float64"}
SOURCE = {"keys": KEYS, "seeds": [0, 1]}
FRAME = pd.DataFrame({**KEYS, "seed": [0, 1], "mse": [0.5, np.nan]})
NETWORK = {"W": torch.arange(8, dtype=torch.float64).reshape(2, 4)}


def table(path, source=SOURCE, **more):
    write_table(FRAME, path, source, **more)
    return path, read_table


def network(path, source=SOURCE, **more):
    networks.save(NETWORK, path, source, **more)
    return path, networks.load


def array(path, source=SOURCE, **more):
    write_arrays({"mse": np.arange(5.0)}, path, source, **more)
    return path, read_arrays


@pytest.fixture(params=[table, network, array], ids=["table", "network", "array"])
def make(request):
    return request.param


def refused(read, path, words, **more):
    with pytest.raises(OrlaError, match=words) as error:
        read(path, **more)
    message = str(error.value)
    assert str(path) in message and "delete" in message and "\n" not in message


def test_any_flipped_byte_is_refused(make, tmp_path):
    path, read = make(tmp_path / "result.npz")
    read(path)
    whole = path.read_bytes()
    places = [*range(0, len(whole), 11), *range(len(whole) - 12, len(whole))]
    mark = whole.index(b"orla-digest")
    places += range(mark - 2, min(mark + 80, len(whole)))
    for place in places:
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << (place % 8)
        path.write_bytes(spoilt)
        with pytest.raises(OrlaError, match="delete it and run again"):
            read(path)
    path.write_bytes(whole)
    read(path)


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b"", lambda b: b + b]
)
def test_a_cut_or_longer_file_is_refused(make, tmp_path, spoil):
    path, read = make(tmp_path / "result.npz")
    path.write_bytes(spoil(path.read_bytes()))
    refused(read, path, "damaged")


def test_the_digest_is_sha256_with_zeros_in_its_place(make, tmp_path):
    path, _ = make(tmp_path / "result.npz")
    content = path.read_bytes()
    place = content.index(b"orla-digest:") + len(b"orla-digest:")
    stored = content[place : place + 64]
    blank = content[:place] + b"0" * 64 + content[place + 64 :]
    assert stored.decode() == hashlib.sha256(blank).hexdigest() and content.count(stored) == 1


def test_another_condition_is_refused(make, tmp_path):
    path, read = make(tmp_path / "result.npz")
    read(path, expect=KEYS | {"seeds": [0, 1]})
    for name, value in {"learner": "immediate", "pair": "b", "task": "sine", "seeds": [0]}.items():
        refused(read, path, f"another result .*{name} is .*, not ", expect=KEYS | {name: value})
    bare, read = make(tmp_path / "bare.npz", {})
    refused(read, bare, "learner is None", expect={"learner": "rtrl"})


def test_a_table_whose_rows_are_not_what_it_says_is_refused(tmp_path):
    write_table(FRAME.assign(learner=["rtrl", "other"]), tmp_path / "t.parquet", SOURCE)
    refused(read_table, tmp_path / "t.parquet", "learner is 'other', not 'rtrl'", expect=KEYS)


def test_a_result_of_other_inputs_copied_over_is_refused(make, tmp_path):
    """Two studies of the same condition, that differ in the stream only."""
    for study in ("one", "two"):
        (tmp_path / study / "deep").mkdir(parents=True)
        (tmp_path / study / "stream.npz").write_bytes(study.encode())
        stream = tmp_path / study / "stream.npz"
        path, read = make(tmp_path / study / "deep" / "result.npz", inputs=[stream])
        read(path)
    shutil.copy(tmp_path / "one" / "deep" / "result.npz", path)
    refused(read, path, r"made from another .*two/stream\.npz than the one that stands there")
    stream.unlink()
    read(path)


def test_a_folder_of_results_can_be_moved(make, tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "stream.npz").write_bytes(b"a")
    make(tmp_path / "study" / "result.npz", inputs=[tmp_path / "study" / "stream.npz"])
    shutil.move(tmp_path / "study", tmp_path / "elsewhere")
    _, read = make(tmp_path / "another.npz")
    read(tmp_path / "elsewhere" / "result.npz")
    (tmp_path / "elsewhere" / "stream.npz").write_bytes(b"b")
    refused(read, tmp_path / "elsewhere" / "result.npz", "made from another")


def test_inputs_are_named_from_the_result_with_their_sha256(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "in.npz").write_bytes(b"content")
    expected = hashlib.sha256(b"content").hexdigest()
    assert digest.inputs("results/x/t.parquet", ["a/in.npz"]) == {"../../a/in.npz": expected}
    path, _ = network(tmp_path / "n.safetensors", inputs=["a/in.npz"])
    assert networks.provenance(path)["inputs"] == {"a/in.npz": expected}
    path, read = table(tmp_path / "t.parquet", inputs=["a/in.npz"])
    assert read(path).attrs["provenance"]["inputs"] == {"a/in.npz": expected}


def test_missing_and_foreign_results_are_named(make, tmp_path):
    _, read = make(tmp_path / "result.npz")
    with pytest.raises(OrlaError, match=r"none: no such result; let snakemake make it"):
        read(tmp_path / "none")
    (tmp_path / "x").write_bytes(b"PAR1 and nothing of the kind")
    with pytest.raises(OrlaError, match="x: written by another program, or damaged"):
        read(tmp_path / "x")


def test_equal_results_are_equal_bytes(make, tmp_path):
    made = [
        make(tmp_path / f"{name}.npz", source)[0]
        for name, source in (("a", {}), ("b", {}), ("c", KEYS))
    ]
    a, b, c = (path.read_bytes() for path in made)
    assert a == b != c
