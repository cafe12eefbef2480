"""River's streams and tables in files as tasks: against River, and by hand."""

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from river import preprocessing
from river.datasets import synth

from orla import catalogue
from orla.errors import OrlaError

SMALL = {"kind": "river", "seed": 9, "adapt": 400, "heldout": 20, "window": 20}


def task(**options):
    return catalogue.make("task", SMALL | options)


def test_rows_are_rivers_standardized_by_the_rows_so_far():
    river = task(pretraining=40, parameters={"mag_change": 0.01})
    X, Y, classes = river.labelled_rows(3)
    numbers = np.random.SeedSequence(3, spawn_key=(int.from_bytes(b"river"), 9, 0))
    seed = int(numbers.generate_state(2, np.uint32)[0])
    drawn = list(synth.Hyperplane(seed=seed, mag_change=0.01).take(460))
    assert np.array_equal(X, [list(x.values()) for x, _ in drawn])
    assert np.array_equal(Y, [y for _, y in drawn]) and classes == 2
    assert np.array_equal(river.labelled_rows(3, 50)[0], X[:50])
    episode, scaler = river.episode("stream", [3, 4]), preprocessing.StandardScaler()
    scaled = []
    for x, _ in drawn:
        scaler.learn_one(x)
        scaled.append(list(scaler.transform_one(x).values()))
    parts = [getattr(episode, name).X[0] for name in ("pretraining", "adapt", "heldout")]
    np.testing.assert_allclose(np.concatenate(parts), scaled, atol=1e-9)
    assert not np.array_equal(*episode.adapt.X)  # each seed has its own
    assert (episode.rate_selection_steps, episode.window, len(episode.adapt)) == (40, 20, 400)


@pytest.mark.parametrize("stream", ["SEA", "AnomalySine", "LED"])
def test_categories_are_counted_whatever_river_counts(stream):
    episode = task(stream=stream, parameters={}).episode("stream", [0])
    assert episode.n_out == (10 if stream == "LED" else 2)
    assert {*np.unique(episode.adapt.Y)} <= {*range(episode.n_out)}


def test_an_abrupt_drift_is_another_concept_from_its_row_on():
    plain, drifting = task().labelled_rows(0)[:2], task(drifts=[100, 250]).labelled_rows(0)[:2]
    for steady, changed in zip(plain, drifting, strict=True):
        assert np.array_equal(steady[:100], changed[:100])
    assert not np.array_equal(plain[0][100:200], drifting[0][100:200])
    assert not np.array_equal(drifting[0][100:200], drifting[0][250:350])
    two = task(stream="RandomRBFDrift", parameters={"n_classes": 5, "change_speed": 0.01})
    assert two.labelled_rows(0)[2] == 5
    assert not np.array_equal(task(seed=8).labelled_rows(0)[0], plain[0])


def summed(path, text):
    path.write_text(text)
    return {"file": str(path), "sha256": hashlib.sha256(text.encode()).hexdigest()}


@pytest.fixture
def file(tmp_path):
    frame = pd.DataFrame({"a": np.arange(420.0), "b": 1, "class": np.tile(["UP", "DOWN"], 210)})
    return summed(tmp_path / "rows.csv", frame.to_csv(index=False))


def test_a_file_is_one_stream_for_all_seeds(file):
    episode = task(stream="Rows", **file).episode("stream", [0, 1])
    assert not episode.adapt.per_seed and not episode.simulated and episode.label == "Rows"
    assert list(episode.adapt.Y[:3]) == [1, 0, 1]  # classes are sorted
    assert episode.adapt.X[0, 0] == 0 and not episode.adapt.X[:, 1].any()  # one value: no SD


def test_wrong_files_columns_lengths_and_drifts_are_refused_in_one_line(file, tmp_path):
    def table(text):
        return summed(tmp_path / "other.csv", text)

    def seventh(row):
        rows = [f"{i},1,2" for i in range(420)]
        return table("\n".join(["a,b,class", *rows[:6], row, *rows[7:]]))

    for options, said in (
        (lambda: file | {"sha256": "0" * 64}, f"its SHA-256 is {file['sha256']}, not 0000"),
        (lambda: file | {"adapt": 500}, "420 rows"),
        (lambda: file | {"target": "label"}, "has no column label"),
        (lambda: file | {"target": "a"}, "no numbers|could not convert"),
        (lambda: table("a,class\n1,2\n1,2,3\n"), "cannot be read as a table .*; give a .csv"),
        (lambda: seventh("6,,2"), "other.csv: row 7 of column b is empty or infinite"),
        (lambda: seventh("6,1,-inf"), "other.csv: row 7 of column class is empty or infinite"),
        (lambda: {"file": "nowhere.csv"}, "no such file"),
        (lambda: {"stream": "Nothing"}, "has no Nothing"),
        (lambda: {"stream": "Friedman", "parameters": {}}, "is a stream for regression, not of"),
        (lambda: {"parameters": {"nothing": 1}}, "nothing"),
        (lambda: {"adapt": 410}, '"adapt" is 410 rows, no multiple of the window'),
        (lambda: {"adapt": 200}, "two windows at least"),
        (lambda: {"drifts": [200, 100]}, r'"drifts" is \[200, 100\]; give increasing rows between'),
        (lambda: {"drifts": [-5]}, "give increasing rows"),
        (lambda: {"drifts": [5000]}, "between 0 and adapt"),
        (lambda: file | {"drifts": [100]}, "none with a file"),
    ):
        with pytest.raises(OrlaError, match=said) as error:
            task(**options()).episode("stream", [0])
        assert "\n" not in str(error.value), said
    with pytest.raises(OrlaError, match="'shift' is no split"):
        task().episode("shift", [0])
    with pytest.raises(OrlaError, match="no seed is asked for"):
        task().episode("stream", [])
    assert replace(task(), adapt=420).total_rows == 440
