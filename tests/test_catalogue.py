import dataclasses
import math
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import ClassVar

import pytest

from orla import catalogue
from orla.catalogue import Mark, Part, option
from orla.catalogue import plugins as importing
from orla.catalogue.options import option_schema, options_of
from orla.errors import OrlaError


def loss(name, order=1, label='"a plug-in"'):
    """Code of a plug-in: the squared error by another name."""
    return f"""
from orla.losses.squared_error import SquaredError


class {name.title()}(SquaredError, name="{name}", label={label}, order={order}):
    '''Another name for the squared error.'''
"""


@pytest.fixture(autouse=True)
def without_plugins():
    yield
    catalogue.use_plugins([])


@pytest.fixture
def plugins(tmp_path):
    """Writes a plug-in file and uses its folder."""

    def write(file, code, folder="plugins"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).write_text(code)
        catalogue.use_plugins(sorted(p for p in tmp_path.iterdir() if p.is_dir()))
        return tmp_path / folder / file

    return write


def refusal(call, *arguments, **named):
    with pytest.raises(OrlaError) as refused:
        call(*arguments, **named)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# A kind of its own, whose parts stand in this file.


class Sort(Part):
    kind = "sort"
    declares: ClassVar = {"needs": ()}


@dataclass(frozen=True)
class Wide(Sort, name="wide", label="wide, {steps} steps of {rate:g}", short=("steps", "every")):
    steps: int = option(200, "Steps.", least=1, most=1000)
    every: int = option(50, "Every so many.", least=1)
    rate: float = option(0.5, "A rate.", above=0)
    word: str = option("one", "A word.", choices=("one", "two"))
    flag: bool = option(True, "A flag.")
    pairs: tuple[str, ...] = option((), "Names.")
    least: float | None = option(None, "None or a number.")
    table: dict[str, float] = option({"a": 1.0}, "A table.")


@dataclass(frozen=True)
class Wider(Sort, name="wide-2", order=5, short=("steps",), needs=("models",)):
    steps: int = option(text="Steps; each config gives them.", least=1)
    network: str = "given"


class Bare(Sort, name="bare", mark=Mark("#000000", "o")):
    pass


class Nameless(Wide):
    pass


@pytest.fixture
def sort(monkeypatch):
    """The parts of this file as a kind of the catalogue."""
    monkeypatch.setitem(catalogue._parts, "sort", catalogue._parts_by_name("sort"))


# Discovery


def test_parts_are_the_classes_that_have_a_name_in_their_order(sort):
    parts = [("wide-2", Wider), ("bare", Bare), ("wide", Wide)]
    assert list(catalogue.parts("sort").items()) == parts
    assert Nameless.part is None
    assert (Wider.part.order, Wide.part.order) == (5, 1000)
    assert (Bare.part.label, Bare.part.mark.marker) == ("bare", "o")
    assert (Wider.part.more, Bare.part.more) == ({"needs": ("models",)}, {"needs": ()})


def test_a_class_in_a_function_is_no_part_of_the_catalogue():
    class Hidden(Sort, name="hidden"):
        pass

    assert "hidden" not in catalogue._parts_by_name("sort")


def test_a_class_of_a_prompt_which_stands_in_no_file_is_a_part(monkeypatch):
    prompt = ModuleType("prompt")
    monkeypatch.setitem(sys.modules, "prompt", prompt)
    prompt.Sort = Sort
    exec("class Typed(Sort, name='typed'): pass", vars(prompt))
    assert catalogue._parts_by_name("sort")["typed"] is prompt.Typed


@pytest.mark.parametrize("kind", ["loss", "learner", "optimizer"])
def test_each_part_of_a_room_says_what_it_is(kind):
    for name, part in catalogue.parts(kind).items():
        assert (part.part.name, part.kind) == (name, kind)
        assert part.__doc__ and part.part.label
        for f in options_of(part):
            schema = option_schema(part, f)
            assert schema["description"] and len(schema) > 1, f"{name}.{f.name}"


# Names


def test_a_name_finds_its_part_and_an_unknown_one_the_nearest(sort):
    assert catalogue.part("sort", "bare") is Bare
    said = refusal(catalogue.part, "sort", "bore")
    assert said == "sort 'bore' is unknown; the nearest is \"bare\""
    far = refusal(catalogue.part, "sort", "qqqqqqq")
    assert far.endswith('there are "wide-2", "bare", "wide"')


@pytest.mark.parametrize(
    "form, part, options",
    [
        ("wide", Wide, {}),
        ("wide-100-20", Wide, {"steps": 100, "every": 20}),
        ("wide-2", Wider, {}),
        ("wide-2-7", Wider, {"steps": 7}),
        ("bare", Bare, {}),
    ],
)
def test_a_short_form_is_parsed_into_part_and_options(sort, form, part, options):
    assert catalogue.specification("sort", form) == (part, options)
    forms = ["wide-2", "wide-2-STEPS", "bare", "wide", "wide-STEPS-EVERY"]
    assert catalogue.all_short_forms("sort") == forms


def wide(**options):
    return {"kind": "wide", **options}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wide-100", "write wide or wide-STEPS-EVERY"),
        ("wide-1-2-3", "write wide or wide-STEPS-EVERY"),
        ("wide-2-3-4", "write wide-2 or wide-2-STEPS"),
        ("bare-3", "write bare"),
        ("wide-a-b", 'the nearest is "wide'),
        ("wide-", 'the nearest is "wide'),
        ("wide-٣-٤", "is unknown"),
        ("bear", 'the nearest is "bare"'),
        ("", "is unknown"),
        *((spec, "give a name, or kind: and options") for spec in (None, 3, ["wide"], {})),
        ({"steps": 3}, "give a name, or kind: and options"),
        (wide(stepz=3), 'sort wide: "stepz" is not a known key; the nearest is "steps"'),
        ({"kind": "wide", 3: 3}, '"3" is not a known key'),
        (wide(steps=0), 'sort wide: "steps" must be at least 1, not 0'),
        (wide(steps=1001), '"steps" must be at most 1000, not 1001'),
        ("wide-2000-1", '"steps" must be at most 1000'),
        (wide(steps=1.5), '"steps" must be a whole number, not 1.5'),
        (wide(steps=True), '"steps" must be a whole number, not true'),
        (wide(steps=None), '"steps" must be a whole number, not null'),
        (wide(rate=0), '"rate" must be greater than 0, not 0'),
        (wide(rate="1e-3"), "YAML takes this for text: write 0.001"),
        (wide(rate=math.nan), '"rate" is nan; give a finite number'),
        (wide(rate=math.inf), '"rate" is inf; give a finite number'),
        (wide(least=math.nan), '"least" is nan; give a finite number'),
        (wide(least="x"), '"least" must be a number or nothing'),
        (wide(word="tow"), '"word" cannot be "tow"; the nearest is "two"'),
        (wide(flag="yes"), '"flag" must be true or false'),
        (wide(pairs="a"), '"pairs" must be a list'),
        (wide(pairs=[1]), '"pairs[0]" must be text, not 1'),
        (wide(table={"a": "b"}), '"table.a" must be a number'),
        ("wide-2", 'sort wide-2: "steps" is missing; add it'),
        ({"kind": "wide-2", "network": "mine"}, '"network" is not a known key'),
    ],
)
def test_what_is_no_part_or_option_is_refused_with_what_to_write(sort, spec, message):
    assert message in refusal(catalogue.make, "sort", spec)


def test_options_are_set_in_their_types_and_the_others_keep_their_defaults(sort):
    made = catalogue.make("sort", wide(steps=7, rate=1, word="two", pairs=["a", "b"]))
    assert [type(v) for v in (made.steps, made.rate, made.pairs)] == [int, float, tuple]
    assert (made.steps, made.every, made.rate, made.word) == (7, 50, 1.0, "two")
    assert made.pairs == ("a", "b")
    assert catalogue.make("sort", wide(table={"b": 2})).table == {"b": 2}
    first, second = (catalogue.make("sort", "wide").table for _ in range(2))
    assert first == {"a": 1.0} and first is not second
    # A field that is no option comes from the context.
    assert catalogue.make("sort", "wide-2-3", network="mine").network == "mine"


def test_a_schema_holds_type_bounds_and_text():
    schemas = {f.name: option_schema(Wide, f) for f in options_of(Wide)}
    steps = {"description": "Steps.", "type": "integer", "minimum": 1, "maximum": 1000}
    assert schemas["steps"] == steps
    assert schemas["rate"]["exclusiveMinimum"] == 0
    assert schemas["word"]["enum"] == ["one", "two"]
    assert schemas["pairs"]["items"] == {"type": "string"}
    assert schemas["least"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert schemas["table"]["additionalProperties"] == {"type": "number"}


def test_parts_with_the_same_options_are_equal_and_can_be_keys(sort):
    first, second = (catalogue.make("task", {"kind": "sine", "noise": 1}) for _ in range(2))
    assert first == second and hash(first) == hash(second)
    assert first != catalogue.make("task", "sine")
    assert dataclasses.replace(first, noise=0.0) == catalogue.make("task", "sine")


# Plug-ins


def test_a_plugin_is_a_part_as_long_as_its_folder_is_used(plugins):
    assert "planted" not in catalogue.parts("loss")
    file = plugins("planted.py", loss("planted", 15))
    assert list(catalogue.parts("loss")) == ["squared_error", "planted", "cross_entropy"]
    first = catalogue.part("loss", "planted")
    assert catalogue.make("loss", "planted").part.label == "a plug-in"
    catalogue.use_plugins([])
    assert "planted" not in catalogue.parts("loss")
    catalogue.use_plugins([file.parent])
    assert catalogue.part("loss", "planted") is first


def test_a_plugin_may_import_a_file_beside_it(plugins):
    plugins("_beside_for_test.py", "WORD = 'beside'\n")
    plugins("part.py", "from _beside_for_test import WORD\n" + loss("l").replace('"l"', "WORD"))
    assert "beside" in catalogue.parts("loss")
    catalogue.use_plugins([])
    assert "_beside_for_test" not in sys.modules


@pytest.mark.parametrize("helper", ["_helper_for_test.py", "_helper_for_test/__init__.py"])
def test_two_folders_with_one_helper_are_refused(plugins, tmp_path, helper):
    for folder in ("a", "b"):
        (tmp_path / folder / helper).parent.mkdir(parents=True)
        (tmp_path / folder / helper).write_text(f"WORD = 'of {folder}'\n")
    plugins("one.py", "from _helper_for_test import WORD\n" + loss("one", label="WORD"), "a")
    plugins("two.py", "from _helper_for_test import WORD\n" + loss("two", label="WORD"), "b")
    message = refusal(catalogue.parts, "loss")
    assert "import _helper_for_test could take either of" in message and "rename one" in message
    for folder in ("a", "b"):  # one after the other each has its own
        catalogue.use_plugins([tmp_path / folder])
        [part] = {"one", "two"} & set(catalogue.parts("loss"))
        assert catalogue.part("loss", part).part.label == f"of {folder}"


def test_files_whose_names_differ_only_in_punctuation_are_both_read(plugins):
    plugins("a-b.py", loss("one"))
    plugins("a_b.py", loss("two"))
    assert {"one", "two"} <= set(catalogue.parts("loss"))


BROKEN = "mine/broken.py: the plug-in cannot be imported: "
REFUSED = [
    (
        {"_csv.py": "", "part.py": "import os, _csv\n"},
        "mine/_csv.py: import _csv takes the installed module of that name; rename yours",
    ),
    (
        {"first_for_test.py": loss("first"), "second.py": "from first_for_test import First\n"},
        "mine/first_for_test.py: another plug-in file imports it, and so its parts stand twice; "
        "move what both need to a file whose name begins with an underscore",
    ),
    (
        {"first.py": loss("twice"), "second.py": loss("twice")},
        "two parts of the kind loss are called 'twice': FOLDER/mine/first.py and "
        "FOLDER/mine/second.py; rename one",
    ),
    ({"thief.py": loss("squared_error")}, "loss are called 'squared_error': "),
    (
        {"mine.py": loss("mine").replace("a plug-in", "a {wide} plug-in")},
        "mine/mine.py: the label of the loss mine names {wide}, which is none of its options",
    ),
    ({"broken.py": "import no_such_module"}, BROKEN + "ModuleNotFoundError: No module named"),
    ({"broken.py": "def broken(:"}, BROKEN + "SyntaxError"),
    ({"broken.py": loss("half") + "\n1 / 0\n"}, BROKEN + "ZeroDivisionError"),
    ({"broken.py": loss("l").replace("label=", "units=")}, BROKEN + "TypeError: L: 'units' is not"),
    ({"broken.py": "raise SystemExit('bye')"}, BROKEN + "SystemExit: bye"),
]


@pytest.mark.parametrize(("texts", "message"), REFUSED)
def test_what_cannot_be_a_plugin_is_one_line_that_names_its_file(tmp_path, plugins, texts, message):
    for file, text in texts.items():
        plugins(file, text, "mine")
    said = refusal(catalogue.parts, "loss")
    assert message.replace("FOLDER", str(tmp_path)) in said and f"{tmp_path}/mine" in said
    # It stays refused, and is forgotten where its folder is left.
    assert refusal(catalogue.parts, "loss") == said
    catalogue.use_plugins([])
    assert list(catalogue.parts("loss")) == ["squared_error", "cross_entropy"]


def test_a_broken_plugin_is_read_again_when_it_is_mended(plugins):
    plugins("mended.py", "1 / 0")
    refusal(catalogue.parts, "loss")
    plugins("mended.py", loss("mended"))
    assert "mended" in catalogue.parts("loss")


def test_folders_of_plugins_are_a_list_and_are_there(tmp_path):
    message = refusal(catalogue.use_plugins, [tmp_path / "gone"])
    assert "gone" in message and "plugins" in message
    assert "give a list of folders" in refusal(catalogue.use_plugins, str(tmp_path))
    folders = [tmp_path / folder / "mine" for folder in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
    message = refusal(catalogue.use_plugins, folders)
    assert "two folders called mine" in message and "rename one" in message


def test_a_broken_entry_point_is_one_line(monkeypatch):
    point = EntryPoint("mine", "no_such_module_here:Thing", importing.ENTRY_POINTS)
    monkeypatch.setattr(importing, "entry_points", lambda group: [point])
    monkeypatch.delitem(catalogue._parts, "loss", raising=False)
    message = refusal(catalogue.parts, "loss")
    assert message.startswith("entry point mine (no_such_module_here:Thing): the plug-in cannot")


def test_an_error_of_a_part_from_outside_names_its_file_and_line(plugins):
    code = loss("failing") + "    def f(self): return 1 / 0\n"
    file, division = plugins("failing.py", code), "ZeroDivisionError: division by zero"
    part = catalogue.make("loss", "failing")
    with pytest.raises(OrlaError) as failed, importing.name_failing_part(part):
        part.f()
    message = f"{file}: loss failing fails ({division}, in line {len(code.splitlines())}); mend it"
    assert str(failed.value) == message
    of_orla = importing.name_failing_part(catalogue.make("loss", "squared_error"))
    with pytest.raises(ZeroDivisionError), of_orla:
        part.f()


# Declarations


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"name": "wrong", "need": 1}, '"needs"'),
        ({"label": "wrong"}, "declares .* and no name"),
        ({"name": "my part"}, "'my part' goes into files' names"),
        ({"name": "my/part"}, "letters, digits"),
        ({"name": "mine", "order": "70"}, "order is '70'; make it a number"),
        ({"name": "mine", "mark": "#8a3b12"}, "make it Mark"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(declared, message):
    with pytest.raises(TypeError, match=message):
        type("Mine", (Sort,), {}, **declared)


def test_a_marker_that_matplotlib_does_not_have_is_refused():
    from matplotlib.lines import Line2D

    assert set(catalogue.MARKERS) <= set(Line2D.markers)
    with pytest.raises(TypeError, match="marker 'bogus'"):
        Mark("#000000", "bogus")


@pytest.mark.parametrize(
    ("default", "limits"),
    [(1.99, {"most": 1}), (-1, {"least": 0}), (0, {"above": 0}), ("c", {"choices": ["a", "b"]})],
)
def test_an_option_whose_default_breaks_its_limits_is_refused(default, limits):
    with pytest.raises(TypeError, match="its own limits forbid its default"):
        option(default, "A number.", **limits)


def test_a_part_of_the_package_is_found_without_importing_plug_ins(plugins):
    plugins("mine.py", "raise RuntimeError('imported')\n")
    assert catalogue.part("loss", "squared_error").part.name == "squared_error"
    assert "RuntimeError: imported" in refusal(catalogue.part, "loss", "mine")
    assert "RuntimeError: imported" in refusal(catalogue.parts, "loss")
