"""Tables, networks and arrays come back as they were; damage, exchange and changes are noticed."""

import argparse
import hashlib
import shutil
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from orla.errors import OrlaError
from orla.provenance import digest, networks
from orla.provenance.arrays import read_arrays, write_arrays
from orla.provenance.tables import read_table, write_table
from orla.study import cli

KEYS = {"task": "recordings", "pair": "", "learner": "rtrl", "precision": "float64"}
SOURCE = {"keys": KEYS, "seeds": [0, 1]}
FRAME = pd.DataFrame({**KEYS, "seed": [0, 1], "mse": [0.5, np.nan], "diverged": [False, True]})
NETWORKS = {"W": torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2), "b": torch.ones(3)}
NETWORKS["turned"] = NETWORKS["W"].transpose(1, 2)
ARRAYS = {"mse": np.arange(6.0).reshape(2, 3), "frozen_mse": np.float32([1, np.nan])}


KINDS = {
    "table": (FRAME, write_table, read_table),
    "network": (NETWORKS, networks.save, networks.load),
    "array": (ARRAYS, write_arrays, read_arrays),
}


@pytest.fixture(params=KINDS)
def make(request):
    """Writes a result of a kind; answers its path and what reads it."""
    content, write, read = KINDS[request.param]

    def make(path, source=SOURCE, **more):
        write(content, path, source, **more)
        return path, read

    return make


def refused(read, path, words, **more):
    with pytest.raises(OrlaError, match=words) as error:
        read(path, **more)
    message = str(error.value)
    assert str(path) in message and "delete" in message and "\n" not in message


def test_a_table_comes_back_with_its_provenance(tmp_path):
    path = tmp_path / "deep" / "t.parquet"
    write_table(FRAME, path, SOURCE)
    back = read_table(path)
    pd.testing.assert_frame_equal(back, FRAME, check_dtype=False)
    provenance = back.attrs["provenance"]
    assert provenance == SOURCE | {"inputs": {}}
    # What is done with a table does not copy its provenance.
    for made in (back[back["seed"] > 0], back.copy(), back.iloc[0]):
        assert made.attrs["provenance"] is provenance
    assert pq.read_table(path)["mse"].null_count == 1
    write_table(back, tmp_path / "again.parquet", SOURCE)
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()
    write_table(FRAME.iloc[::-1], path, SOURCE)
    assert list(read_table(path).index) == [0, 1]
    assert pq.read_table(path).column_names == list(FRAME)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(OrlaError, match=r"t\.parquet: written by another program"):
        read_table(path)


def test_networks_come_back_in_their_precision(tmp_path):
    path = tmp_path / "rnn" / "float64.safetensors"
    networks.save(NETWORKS, path, SOURCE)
    back = networks.load(path)
    assert list(back) == sorted(NETWORKS)
    for name, tensor in NETWORKS.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor)
    assert torch.equal(networks.load(path, 2)["W"], NETWORKS["W"][:2])
    with pytest.raises(OrlaError, match="holds 3 networks, not 4"):
        networks.load(path, 4)
    assert networks.read_provenance(path) == SOURCE | {"inputs": {}}


def test_arrays_come_back_from_a_sound_archive_that_numpy_reads(tmp_path):
    path = tmp_path / "t.npz"
    write_arrays(ARRAYS, path, SOURCE)
    back, provenance = read_arrays(path, expect={"seeds": [0, 1]})
    assert back.keys() == ARRAYS.keys() and provenance == SOURCE | {"inputs": {}}
    assert zipfile.ZipFile(path).testzip() is None
    with np.load(path) as plain:
        for name, values in ARRAYS.items():
            assert back[name].dtype == values.dtype
            np.testing.assert_array_equal(back[name], values)
            np.testing.assert_array_equal(plain[name], values)


def test_any_flipped_byte_and_a_missing_or_foreign_file_are_refused(make, tmp_path):
    path, read = make(tmp_path / "result.npz")
    whole = path.read_bytes()
    places = [*range(0, len(whole), 47), *range(len(whole) - 12, len(whole))]
    mark = whole.index(b"orla-digest")
    places += range(mark - 2, min(mark + 80, len(whole)))
    for place in places:
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << (place % 8)
        path.write_bytes(spoilt)
        with pytest.raises(OrlaError, match="delete it and run again"):
            read(path)
    for spoilt in (whole[:-1], whole + b"\0", b"", whole + whole, b"PAR1 and nothing of the kind"):
        path.write_bytes(spoilt)
        refused(read, path, "damaged")
    path.write_bytes(whole)
    read(path)
    path.unlink()
    with pytest.raises(OrlaError, match="no such result; let snakemake make it"):
        read(path)


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


def test_a_table_with_rows_of_other_keys_than_expected_is_refused(tmp_path):
    write_table(FRAME.assign(learner=["rtrl", "other"]), tmp_path / "t.parquet", SOURCE)
    refused(read_table, tmp_path / "t.parquet", "learner is 'other', not 'rtrl'", expect=KEYS)


def test_a_result_of_other_inputs_copied_over_is_refused(make, tmp_path):
    """Two studies of the same condition, that differ in the stream only; a folder may be moved."""
    for study in ("one", "two"):
        (tmp_path / study).mkdir()
        stream = tmp_path / study / "stream.npz"
        stream.write_bytes(study.encode())
        path, read = make(tmp_path / study / "deep/result.npz", inputs=[stream])
        read(path)
    shutil.copytree(tmp_path / "two", tmp_path / "elsewhere")
    read(tmp_path / "elsewhere/deep/result.npz")
    shutil.copy(tmp_path / "one" / "deep" / "result.npz", path)
    refused(read, path, r"made from another .*two/stream\.npz than the one that stands there")
    stream.unlink()
    read(path)


def test_inputs_are_named_from_the_result_with_their_sha256(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/in.npz").write_bytes(b"content")
    expected = hashlib.sha256(b"content").hexdigest()
    assert digest.input_digests("results/x/t.parquet", ["a/in.npz"]) == {"../../a/in.npz": expected}
    path, read = make(tmp_path / "result.npz", inputs=["a/in.npz"])
    module = sys.modules[read.__module__]
    assert module.read_provenance(path)["inputs"] == {"a/in.npz": expected}


def test_equal_results_are_equal_bytes(make, tmp_path):
    sources = {"a": {}, "b": {}, "c": KEYS}
    paths = [make(tmp_path / f"{name}.npz", source)[0] for name, source in sources.items()]
    a, b, c = (path.read_bytes() for path in paths)
    assert a == b != c


def test_provenance_is_printed_of_results_alone(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    parser = argparse.ArgumentParser()
    cli.add_commands(parser.add_subparsers())
    for name, words in (("", "no such file"), ("b.csv", "no such file"), ("a.csv", "no record")):
        arguments = parser.parse_args(["provenance", str(tmp_path / name)])
        with pytest.raises(OrlaError, match=f"{name}: .*{words}"):
            arguments.run(arguments)
