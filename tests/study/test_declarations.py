"""Declarations as plain data: what they hold."""

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.study.declarations import read_declarations

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


@pytest.fixture(autouse=True)
def without_plugins():
    yield
    catalogue.use_plugins([])


def test_they_are_what_the_parts_say_of_themselves():
    found = read_declarations()
    assert list(found) == list(catalogue.ROOMS)
    tbptt = found["learner"]["tbptt"]
    assert tbptt["forms"] == catalogue.short_form_patterns(catalogue.part("learner", "tbptt"))
    assert tbptt["defaults"] == {"errors": "all", "window": 200, "update_every": 200}
    assert tbptt["more"]["stride"] == "update_every"
    assert found["task"]["recordings"]["needs_files"] is True
    assert found["task"]["recordings"]["variants"] is None
    assert found["task"]["sine"]["variants"] == ["shift", "stationary"]
    assert found["start"]["fresh"]["more"]["pretrained"] is False
    assert found["intervention"]["match-norm"]["schema"]["required"] == ["observer"]


def test_a_plug_in_is_among_them(tmp_path):
    (tmp_path / "mine.py").write_text(PART)
    found = read_declarations([tmp_path])
    mine = found["optimizer"]["mine"]
    assert mine["defaults"]["pace"] == 0.25 and mine["doc"] == "Plain descent."
    assert mine["schema"]["properties"]["pace"]["exclusiveMinimum"] == 0
    assert mine["more"]["grid"] == {"step": [0.1]}
    assert list(found["optimizer"]) == list(catalogue.parts("optimizer"))
    without = read_declarations()
    assert "mine" not in without["optimizer"]
    assert without == found | {"optimizer": without["optimizer"]}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "@dataclass(frozen=True)\n",
            "",
            'Mine has the option "pace" and is no dataclass; write @',
        ),
        ("s.sgd import", "s.base import Optimizer as", "Mine does not give update"),
    ],
)
def test_a_class_that_is_not_finished_is_one_line_that_names_its_file(
    tmp_path, before, after, message
):
    file = tmp_path / "part.py"
    file.write_text(PART.replace(before, after))
    with pytest.raises(OrlaError) as refused:
        read_declarations([tmp_path])
    assert f"{file}: optimizer mine: {message}" in str(refused.value)
