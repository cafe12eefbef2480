"""Recordings as they are met: taken for what they are, or refused in one line."""

import re
from pathlib import Path

import pytest
from recording_cases import CASES, Case, table, written

from orla import catalogue
from orla.errors import OrlaError
from orla.sessions import nwb


def streams(folder, one, a=None):
    """The streams of a pair of days by way of our own NWB, as the rules make them."""
    task = catalogue.make(
        "task",
        {
            "kind": "recordings",
            "source": "nwb",
            "pairs": {"p": {"a": "a", "b": "b"}},
            "nwb": {"files": {"a": "a.nwb", "b": "b.nwb"}, "cursor": "hand"} | one.nwb,
            "preparation": {"features": {"count": 4}} | one.preparation,
            "parts": {"tail_steps": 0.3},
        },
    )
    ours = {}
    for day, side in ((1, "a"), (2, "b")):
        ours[side] = folder / f"{side}-ours.nwb"
        if side == "a" and a and not (one.a or one.nwb):
            ours["a"] = a
            continue
        written(folder / f"{side}.nwb", day, **getattr(one, side))
        session = nwb.read_session(folder / f"{side}.nwb", task.nwb)
        nwb.write_session(session, ours[side])
    return task.read_streams("p", ours["a"], ours["b"])


@pytest.fixture(scope="module")
def control(tmp_path_factory):
    """Our own file of day A as it is, and the streams of both days."""
    folder = tmp_path_factory.mktemp("control")
    return folder / "a-ours.nwb", streams(folder, Case("", ""))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.what)
def test_what_is_met_is_taken_rightly_or_refused(one, control, tmp_path, capsys):
    first, expected = control
    if one.refused:
        with pytest.raises(OrlaError, match=one.refused) as caught:
            streams(tmp_path, one, first)
        assert "\n" not in str(caught.value)
    else:
        found = streams(tmp_path, one, first)
        assert one.held(found, expected), found.dataset["account"]["b"]
        assert re.search(one.said, capsys.readouterr().err)


def test_the_table_in_reliability_md_is_up_to_date():
    page = Path(__file__).parents[2] / "docs/reliability.md"
    assert table() in page.read_text(encoding="utf-8"), "run python tests/recording_cases.py"
