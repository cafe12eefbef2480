"""Declarations as plain data: what they hold, and that they are kept until a source changes."""

import json

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.programs import sources
from orla.study import declared as module
from orla.study.declared import declared

PART = '''"""An optimizer of one's own."""
from dataclasses import dataclass
from orla.catalogue import option
from orla.optimizers.sgd import SGD

@dataclass(frozen=True)
class Mine(SGD, name="mine", label="mine", grid={"step": [0.1]}):
    """Plain descent.

    More words.
    """

    pace: float = option(0.25, "How fast.", above=0)
'''


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; the catalogue as it was afterwards."""
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache" / "declared"
    catalogue.use_plugins([])


def test_they_are_what_the_parts_say_of_themselves(cache):
    found = declared()
    assert list(found) == list(catalogue.ROOMS)
    for kind in found:
        assert list(found[kind]) == list(catalogue.parts(kind))
    tbptt = found["learner"]["tbptt"]
    assert tbptt["forms"] == catalogue.forms(catalogue.part("learner", "tbptt"))
    assert tbptt["defaults"] == {"window": 200, "update_every": 200}
    assert tbptt["more"]["stride"] == "update_every"
    assert found["task"]["recordings"]["needs_files"] is True
    assert found["task"]["recordings"]["variants"] is None
    assert found["task"]["sine"]["variants"] == ["shift", "stationary"]
    assert found["start"]["fresh"]["more"]["pretrained"] is False
    assert found["intervention"]["match-norm"]["schema"]["required"] == ["observer"]


def test_they_are_kept_and_not_made_a_second_time(cache, monkeypatch):
    first = declared()
    [kept] = cache.glob("*.json")
    monkeypatch.setattr(module, "_imported", lambda: pytest.fail("made a second time"))
    assert declared() == first
    kept.write_text("{ half a fi")
    with pytest.raises(pytest.fail.Exception):
        declared()


def test_a_plug_in_is_among_them_and_a_change_of_its_source_is_seen(cache, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "mine.py").write_text(PART)
    found = declared([folder])["optimizer"]["mine"]
    assert found["defaults"]["pace"] == 0.25 and found["doc"] == "Plain descent."
    assert found["schema"]["properties"]["pace"]["exclusiveMinimum"] == 0
    assert found["more"]["grid"] == {"step": [0.1]}
    assert "mine" not in declared()["optimizer"]
    assert len(list(cache.glob("*.json"))) == 2
    (folder / "mine.py").write_text(PART.replace("0.25", "0.75"))
    sources._digest.cache_clear()  # as in another process
    declared([folder])
    assert len(list(cache.glob("*.json"))) == 3


def test_a_plug_in_that_cannot_be_imported_is_one_line_and_leaves_nothing(cache, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "broken.py").write_text("import no_such_library\n")
    with pytest.raises(OrlaError, match=r"broken\.py: the plug-in cannot be imported: ModuleNot"):
        declared([folder])
    assert not list(cache.glob("*.json"))


def test_a_disk_that_cannot_be_written_costs_time_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "file"))
    assert json.dumps(declared()) == json.dumps(declared())


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "@dataclass(frozen=True)\n",
            "",
            'Mine has the option "pace" and is no dataclass; write @dataclass(frozen=True) above',
        ),
        (
            "from orla.optimizers.sgd import SGD",
            "from orla.optimizers.base import Optimizer as SGD",
            "Mine does not give update; add it to the class",
        ),
    ],
)
def test_a_class_that_is_not_finished_is_one_line_that_names_its_file(
    cache, tmp_path, before, after, message
):
    file = tmp_path / "part.py"
    file.write_text(PART.replace(before, after))
    with pytest.raises(OrlaError) as refused:
        declared([tmp_path])
    assert f"{file}: optimizer mine: {message}" in str(refused.value)
