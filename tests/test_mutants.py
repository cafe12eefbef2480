"""The list of careless edits fits the source as it stands; `python -m tests.mutants` runs it."""

import ast
from types import SimpleNamespace

import pytest

from tests.mutants.__main__ import CasesInTurn
from tests.mutants.edits import ROOT, read

EDITS = read()


@pytest.mark.parametrize("room", sorted({edit.room for edit in EDITS}))
def test_edits_apply(room):
    for edit in (edit for edit in EDITS if edit.room == room):
        text = (ROOT / edit.file).read_text(encoding="utf-8")
        assert text.count(edit.old) == 1, f"{edit}: stands {text.count(edit.old)} times"
        if edit.file.endswith(".py"):
            changed = ast.dump(ast.parse(edit.applied(text)))
            assert changed != ast.dump(ast.parse(text)), f"{edit}: changes nothing"


def test_named_tests_are_there():
    for edit in EDITS:
        assert edit.tests, edit
        for test in edit.tests:
            file, _, name = test.partition("::")
            assert (ROOT / file).exists(), f"{edit}: no {file}"
            assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_no_edit_stands_twice():
    seen = [(edit.file, edit.old, edit.new) for edit in EDITS]
    assert len(seen) == len(set(seen))


def test_tests_run_case_by_case_in_turn():
    names = ["f::a[1]", "f::a[2]", "f::b", "g::a[x]", "f::a[3]", "g::a[y]"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    CasesInTurn().pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == [names[i] for i in (0, 2, 3, 1, 5, 4)]
