"""The tool that draws careless edits, on a program of one file; what it accepts is there."""

import shutil
import subprocess
import sys

import pytest
import yaml

from tests.mutants import __main__ as tool
from tests.mutants.__main__ import ROOT, draw
from tests.mutants.edits import sites

FILE = "src/orla/tiny/sums.py"
SOURCE = """
def total(a, b):
    return a + b

def least(a):
    return max(a, 5)
"""
TEST = "from orla.tiny.sums import total\n\ndef test_total():\n    assert total(2, 1) == "
ACCEPTED = "- {function: orla.tiny.sums.least, kind: extreme, why: as it is}"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A program in git whose test notices what happens to `total` alone, and the tool."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the tiny test does without
    shutil.copytree(ROOT / "tests/mutants", tmp_path / "tests/mutants")
    _write(tmp_path / "src/orla/__init__.py", "")
    _write(tmp_path / FILE, SOURCE)
    _write(tmp_path / "tests/tiny/test_sums.py", f"{TEST}3")
    _write(tmp_path / "tests/mutants/accepted.yaml", ACCEPTED)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_survivors_that_are_not_accepted_are_printed(tiny):
    command = [sys.executable, "-m", "tests.mutants", "--seed", "7"]
    done = subprocess.run(command, cwd=tiny, capture_output=True, text=True)
    place, before, after, *summary = done.stdout.splitlines()
    assert place == f"{FILE}:6 orla.tiny.sums.least, constant:", done.stderr
    assert before == "    return max(a, 5)" and after.startswith(" -> return max(a, ")
    assert summary == ["tiny: 1 of 2 edits died; at least 90% have to", "seed 7"]
    assert done.returncode == 1 and (tiny / FILE).read_text() == SOURCE


def test_edits_of_changed_lines_alone(tiny, monkeypatch):
    monkeypatch.setattr(tool, "ROOT", tiny)
    assert draw([], "HEAD", 9, 7) == []
    _write(tiny / FILE, SOURCE.replace("a + b", "b + a"))
    assert [(edit.line, edit.new) for edit in draw([], "HEAD", 9, 7)] == [(3, "(b - a)")]


def test_tests_that_fail_without_an_edit_end_the_run(tiny):
    _write(tiny / "tests/tiny/test_sums.py", f"{TEST}4")
    words = "these fail without an edit: tests/tiny/test_sums.py\n(?s:.*)assert 3 == 4"
    with pytest.raises(SystemExit, match=words):
        tool._seconds(tiny, ("tests/tiny/test_sums.py",))


def test_draw_is_of_the_seed_and_the_room():
    edits = draw(["losses"], None, 9, 1)
    assert edits == draw(["losses"], None, 9, 1) != draw(["losses"], None, 9, 2)
    assert {edit.file.split("/")[2] for edit in edits} == {"losses"} and len(set(edits)) == 9


@pytest.mark.parametrize(
    ("source", "edits"),
    [
        ("a - b", ["sign (a + b)"]),
        ("-a // b", ["operator (-a * b)", "sign a // b"]),
        ("a <= b == c", ["bound (a < b == c)", "condition (a <= b != c)"]),
        ("a and not b", ["condition (a or not b)", "condition a and b"]),
        ("x = a if f() else c", ["condition x = a if (not f()) else c"]),
        ("x = min(a, b)", ["extreme x = max(a, b)"]),
        ("x = f(a, b)", ["swapped x = f(b, a)"]),
        ("x = a[3]", [f"constant x = a[{n}]" for n in (0, 1, 4, 6)]),
        ("x = f(axis=-1)", ["axis x = f(axis=0)"]),
        ("x = f(dim=0)", ["axis x = f(dim=(-1))"]),
        ("x = 0.5", [f"constant x = {n}" for n in (0.0, 1.0)]),
        ("x = True", ["constant x = False"]),
        ("f(a)\nx = x.T", ["dropped pass\nx = x.T", "dropped f(a)\npass"]),
        ("raise E(1 + 1)", ["dropped pass"]),
        ('"""1 + 1"""\ndef f(a: 1 < 2) -> 1:\n    "1 < 2"', []),
        ('print(1)\nx = "a" + b + f"{1 + 1}"\nx = Mark(order=3)', []),
        ("if TYPE_CHECKING:\n    x = 1\n@f(1)\ndef __repr__(self):\n    return 1", []),
    ],
)
def test_edits_of_a_line(source, edits):
    made = [e for site in sites("src/orla/a.py", source.encode()) for e in site]
    assert [f"{e.kind} {e.applied(source.encode()).decode()}" for e in made] == edits


def test_accepted_edits_can_be_drawn():
    for entry in yaml.safe_load((ROOT / "tests/mutants/accepted.yaml").read_text("utf-8")):
        places = [entry["function"].rsplit(".", n)[0].replace(".", "/") for n in (1, 2)]
        files = [f for f in (f"src/{place}.py" for place in places) if (ROOT / f).exists()]
        made = [s[0] for f in files for s in sites(f, (ROOT / f).read_bytes())]
        assert (entry["function"], entry["kind"]) in {(e.function, e.kind) for e in made}, entry
        assert entry["why"]
