"""Statistics that need each other, and those that do not say what they make."""

import pandas as pd
import pytest
from made_up import settings

from orla import catalogue
from orla.errors import OrlaError
from orla.results import base
from orla.results.base import Statistic


@pytest.fixture
def statistics(monkeypatch):
    """Put made-up statistics, name -> what it needs, in the place of the study's own."""

    def put(**needed):
        found = {}
        for name, needs in needed.items():

            class Made(Statistic, name=name, needs=needs):
                table = None  # these are not built

            found[name] = Made
        monkeypatch.setitem(catalogue._parts, "statistic", found)

    return put


def test_a_statistic_comes_after_what_it_needs(statistics):
    statistics(last=("middle", "horizon"), middle=("first",), first=("models",), alone=("models",))
    assert base.dependency_order(["last"]) == ["first", "middle", "last"]
    whole = base.dependency_order()
    assert sorted(whole) == ["alone", "first", "last", "middle"]
    assert whole.index("first") < whole.index("middle") < whole.index("last")


def test_needs_that_cannot_be_met_are_refused(statistics):
    statistics(first=("model",), second=("third",), third=("second",))
    with pytest.raises(OrlaError, match='statistic first needs "model"; the nearest is "models"'):
        base.dependency_order(["first"])
    with pytest.raises(OrlaError, match=r"in a circle: .*second.*third"):
        base.dependency_order(["third"])
    with pytest.raises(OrlaError, match="statistic 'secnd' is unknown"):
        base.dependency_order(["secnd"])


@pytest.mark.parametrize("made, wrong", [(["rows"], "{'cols'}"), (["cols", "rows"], "the order")])
def test_a_table_that_differs_from_its_declaration_is_refused(statistics, made, wrong):
    statistics(first=("models",))
    first = catalogue.part("statistic", "first")
    first.columns = {"rows": "R.", "cols": "C."}
    first.table = lambda self, *tables, settings: pd.DataFrame(columns=made)
    with pytest.raises(OrlaError, match=f"statistic first: .* differ in {wrong}"):
        base.build("first", {"models": pd.DataFrame()}, settings())
