import functools
import hashlib
import platform
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.tasks import bytes as module
from orla.tasks.bytes import Bytes, read_text

LENGTHS = dict(pretraining=600, adapt=400, heldout=200, window=200)


def read(part, seed=0):
    """The bytes that a part was made from, NUL standing for those that are not told apart."""
    words = module.VOCABULARIES["printable"] + b"\x00"
    shown = np.frombuffer(words, np.uint8)
    return bytes(shown[part.X[seed].argmax(-1)]), bytes(shown[part.Y[seed]])


@functools.cache
def known(name):
    """A text as the vocabulary `printable` tells it, twice, for a seed may read over the end."""
    others = bytes({*range(256)} - {*module.VOCABULARIES["printable"]})
    return read_text(name).translate(bytes.maketrans(others, bytes(len(others)))) * 2


def test_prose_is_the_manual_and_code_the_library():
    import pydoc_data.topics

    assert pydoc_data.topics.topics["assert"].encode() in read_text("prose")
    library = Path(sysconfig.get_path("stdlib"))
    assert (library / "abc.py").read_bytes() in read_text("code")
    assert read_text("code").index(b'"""A generic class to build line-oriented') < read_text(
        "code"
    ).index(b'"""Python part of the warnings subsystem')
    # Written when Python is built, with the paths of that machine.
    assert b"build_time_vars = {" not in read_text("code")


@pytest.mark.parametrize("first, second, seed", [("prose", "code", 0), ("code", "code", 1)])
def test_each_part_is_a_stretch_of_its_text(first, second, seed):
    episode = Bytes(**LENGTHS, first=first, second=second).episode("shift", [seed])
    assert episode.label == f"bytes, {first} to {second}" and episode.simulated is False
    for part, name in (("pretraining", first), ("reference", first), ("whole", second)):
        shown, following = read(getattr(episode, part))
        assert shown[1:] + following[-1:] == following
        assert shown + following[-1:] in known(name)
        assert shown not in known("code" if name == "prose" else "prose")
    assert read(episode.pretraining)[1][-1:] == read(episode.reference)[0][:1]
    source = episode.dataset["source"]
    assert platform.python_version() in source
    for name in (first, second):
        assert f"{name} {hashlib.sha256(read_text(name)).hexdigest()[:12]}" in source


def test_seeds_begin_anywhere_in_both_texts_and_are_read_on_from_their_start(monkeypatch):
    monkeypatch.setattr(module, "read_text", lambda name: bytes(range(256)) * 5)
    episode = Bytes(**LENGTHS, vocabulary="all").episode("shift", range(30))
    for part in (episode.pretraining, episode.adapt):
        begins = part.X[:, 0].argmax(-1)
        assert np.ptp(begins) > 150 and len(set(begins.tolist())) > 20
        assert np.array_equal(part.Y, (part.X.argmax(-1) + 1) % 256)
    assert (episode.pretraining.X[:, 0] != episode.adapt.X[:, 0]).any(-1).sum() > 20


@pytest.mark.parametrize(
    ("vocabulary", "count", "expected"),
    [
        ("letters", 29, [0, 0, 25, 26, 27, 28, 28, 28]),
        ("printable", 97, [65, 33, 90, 0, 95, 96, 96, 16]),
        ("all", 256, [97, 65, 122, 32, 10, 9, 195, 48]),
    ],
)
def test_inputs_are_one_hot_and_targets_the_categories_of_the_next(vocabulary, count, expected):
    table, _ = module._category_table(vocabulary)
    assert table[list(b"aAz \n\t\xc30")].tolist() == expected
    episode = Bytes(**LENGTHS, vocabulary=vocabulary).episode("shift", [1])
    assert episode.n_in == episode.n_out == count and episode.loss == "cross_entropy"
    X, Y = episode.pretraining.X[0], episode.pretraining.Y[0]
    assert X.sum(1).tolist() == [1.0] * 600 and set(np.unique(X)) == {0.0, 1.0}
    assert X.argmax(1)[1:].tolist() == Y[:-1].tolist()


def test_a_text_is_joined_in_the_order_of_names_and_a_python_without_it_is_refused(
    monkeypatch, tmp_path
):
    fresh = read_text.__wrapped__
    monkeypatch.setattr("pydoc_data.topics.topics", {"b": "second", "a": "first"})
    assert fresh("prose") == b"first\nsecond"
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(OrlaError, match="the text prose is missing"):
        fresh("prose")
    monkeypatch.setattr(module.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(OrlaError, match=f"the text code is missing .*{tmp_path}"):
        fresh("code")


def test_more_steps_than_bytes_are_refused():
    with pytest.raises(OrlaError, match=r"text prose has \d+ bytes and 900000601 are needed"):
        Bytes(**LENGTHS | {"pretraining": 900_000_000}).episode("shift", [0])
