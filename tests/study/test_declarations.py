"""Declarations as plain data: what they hold."""

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.results.base import MADE_BY_RULES
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
    assert list(found) == list(catalogue.KIND_PACKAGES)
    tbptt = found["learner"]["tbptt"]
    assert tbptt["forms"] == catalogue.short_form_templates(catalogue.part("learner", "tbptt"))
    assert tbptt["defaults"] == {"errors": "all", "window": 200, "update_every": 200}
    assert tbptt["more"]["stride"] == "update_every"
    assert found["task"]["recordings"]["needs_files"] is True
    assert found["task"]["recordings"]["split_names"] is None
    assert found["task"]["sine"]["split_names"] == ["shift", "stationary"]
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


COLUMNS = {
    "probe": """
from orla.probes.base import Probe
class P(Probe, name="mine", label="mine", columns={"{column}": "a number"}):
    def measure(self, state, update):
        return state, {}
""",
    "statistic": """
from orla.results.base import Statistic
class S(Statistic, name="{column}"):
    columns = {"task": "Task."}
    def table(self, models, *, settings):
        return models[["task"]]
""",
    "table": """
from orla.reports.tables.base import Table
class T(Table, name="mine", label="mine", chapter="trust", order=1, needs=("{column}",)):
    says, cells = "Mine.", ()
""",
    "figure": """
from orla.reports.figures.base import Figure
class F(Figure, name="mine", label="mine", chapter="trust", order=1):
    def select(self, {column}, *, study): return None
    def plot(self, selection, study): return None
    def numbers_in_words(self, rows): return ""
""",
}


@pytest.mark.parametrize(
    ("kind", "column", "message"),
    [
        ("probe", "learning_rate", 'its column "learning_rate" is also of every table'),
        ("probe", "amplification", 'its column "amplification" is also of amplification'),
        ("statistic", "verdicts", "verdicts is the name of a result that a rule makes"),
        ("statistic", "models", "models is the name of a result that a rule makes"),
        ("table", "gapz", 'table mine: needs "gapz"; the nearest is "gaps"'),
        ("figure", "heldouts", 'figure mine: needs "heldouts"; the nearest is "heldout"'),
    ],
)
def test_a_name_that_is_taken_or_that_nothing_has_is_refused(tmp_path, kind, column, message):
    for folder, name in (("wrong", column), ("right", "mine" if kind == "probe" else "gaps")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.py").write_text(COLUMNS[kind].replace("{column}", name))
    with pytest.raises(OrlaError) as refused:
        read_declarations([tmp_path / "wrong"])
    assert str(refused.value).startswith(f"{tmp_path / 'wrong/part.py'}: {kind}")
    assert message in str(refused.value)
    if kind != "statistic":
        assert "mine" in read_declarations([tmp_path / "right"])[kind]


def test_every_table_and_figure_of_the_package_needs_what_is_made():
    parts = read_declarations()
    made = {*MADE_BY_RULES, *parts["statistic"]}
    for kind in ("table", "figure"):
        for name, part in parts[kind].items():
            assert made.issuperset(part["more"]["needs"]), name
