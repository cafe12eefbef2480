"""Recordings as they are met: taken for what they are, or refused in one line."""

import re

import pytest
import tables_of_docs
from recording_cases import CASES, NAMES, Case, rows, written

from orla import catalogue
from orla.errors import OrlaError
from orla.sessions import nwb

READ = {}


def streams(folder, one, unchanged):
    """The streams of a pair of days; `unchanged` is the file of a day A of which nothing is said.

    Where day B has names of others or more tables, they are made by way of our own NWB, as by the
    rules.
    """
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
    settings, sessions, ours = repr(task.nwb), [], [folder / "a-ours.nwb", folder / "b-ours.nwb"]
    if one.a:
        written(folder / "a.nwb", 1, **one.a)
        sessions.append(nwb.read_session(folder / "a.nwb", task.nwb))
    else:  # read once by each way of reading
        if settings not in READ:
            READ[settings] = nwb.read_session(unchanged, task.nwb)
        sessions.append(READ[settings])
    written(folder / "b.nwb", 2, **one.b)
    sessions.append(nwb.read_session(folder / "b.nwb", task.nwb))
    if one.kind != NAMES and "fill" not in one.b:
        return task.prepare_streams("p", iter(sessions), task.dataset_record("p", ""))
    for session, path in zip(sessions, ours, strict=True):
        nwb.write_session(session, path)
    return task.read_streams("p", *ours)


@pytest.fixture(scope="module")
def control(tmp_path_factory):
    """The file of day A as it is, and the streams of both days."""
    folder = tmp_path_factory.mktemp("control")
    written(folder / "unchanged.nwb", 1)
    return folder / "unchanged.nwb", streams(folder, Case("", ""), folder / "unchanged.nwb")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.what)
def test_what_is_met_is_taken_rightly_or_refused(one, control, tmp_path, capsys):
    unchanged, expected = control
    if one.refused:
        with pytest.raises(OrlaError, match=one.refused) as caught:
            streams(tmp_path, one, unchanged)
        assert "\n" not in str(caught.value)
    else:
        found = streams(tmp_path, one, unchanged)
        assert one.held(found, expected), found.dataset["account"]["b"]
        assert re.search(one.said, capsys.readouterr().err)


def test_the_table_in_reliability_md_is_up_to_date():
    assert tables_of_docs.held("met") == rows(), "run python tests/recording_cases.py"
