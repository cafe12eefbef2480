"""Whatever stands in a file: the same numbers, one line, or what no check could tell apart."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
import tables_of_docs
from hostile.readers import OTHER, READERS, REFUSED, SAME
from hypothesis import HealthCheck, Phase, example, given, settings

FEW, MANY = 8, 600  # of each reader; the second makes 10,000 of all
# What readers once met with a traceback, a wait or gigabytes: they are tried each time.
FOUND = {
    ".mat": [
        ("huge", 939071, "bytes", None),
        ("references", 1002, "same", 170),
        ("link", 3, "external", None),
        ("in its place", "fifo"),
    ],
    ".nwb of others": [("huge", 0, "bytes", None), ("link", 4, "external", None)],
    "binned .npz": [
        ("header", 3582, "long", None),
        ("member", 2149, "twice", None),
        ("in its place", "zero"),
    ],
    "gradients: stream": [("kind of number", 384, "f16", None), ("in its place", "fifo")],
    "registration": [
        ("line", 375, "timestamp", 1176),
        ("moved", 59, None, 1),
        ("in its place", "loop"),
        ("in its place", "sparse"),
        ("in its place", "fifo"),
    ],
    "LOCK": [("in its place", "folder"), ("text after", 6462, 255), ("in its place", "zero")],
    "registration in LOCK": [("in its place", "dangling"), ("in its place", "sparse")],
    "config": [("node", 271410, "path", None), ("line", 375, "timestamp", 1176)],
    "table, sealed again": [("cut short", 2412, 0), ("provenance", "nothing")],
    "streams, sealed again": [("provenance", "long"), ("deleted", 56624, None, 1484)],
    "networks, sealed again": [("flipped bit", 0, 0), ("provenance", "no JSON")],
}


def tried(reader, count):
    """Answers of a reader to so many mutations, those of `FOUND` first."""
    answers = Counter()

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(reader.strategy)
    def answer(mutation):
        with tempfile.TemporaryDirectory() as room:
            kind, _ = reader.answer(Path(room) / "files", mutation)
        assert kind != OTHER or mutation[0] in reader.other
        answers[kind] += 1

    for mutation in FOUND.get(reader.name, ()):
        answer = example(mutation)(answer)
    answer()
    return answers


@pytest.mark.parametrize(
    "count", [FEW, pytest.param(MANY, marks=pytest.mark.full)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", READERS)
def test_a_hostile_file_is_one_line_or_what_no_check_could_tell(name, count):
    answers = tried(READERS[name], count)
    assert answers[REFUSED] > count / 10


@pytest.mark.parametrize(
    ("name", "mutation", "words"),
    [
        (".mat", ("references", 1002, "same", 170), "the events of another cell"),
        (".nwb of others", ("link", 4, "raw", None), "lies in another file; use one file that ho"),
        (".nwb of others", ("link", 4, "virtual", None), "lies in another file"),
        ("binned .npz", ("member", 0, "twice", None), "it holds bin_s twice"),
        ("LOCK", ("in its place", "folder"), "a folder, not a file; mend the path"),
        ("config", ("in its place", "fifo"), "no plain file; mend the path"),
        ("table", ("in its place", "sparse"), "bytes, more than the 2147483648 that are read"),
    ],
)
def test_the_refusal_names_the_damage(tmp_path, name, mutation, words):
    kind, said = READERS[name].answer(tmp_path / "files", mutation)
    assert kind == REFUSED and words in said


def rows(answers):
    """Cells of each reader."""
    for name, reader in READERS.items():
        reasons = {
            why: [k for k in reader.other if reader.other[k] == why]
            for why in dict.fromkeys(reader.other.values())
        }
        told = "; ".join(f"{', '.join(kinds)}: {why}" for why, kinds in reasons.items())
        seen = answers.get(name, Counter())
        yield [name, sum(seen.values()), seen[REFUSED], seen[SAME], seen[OTHER], told or "none"]


HEAD = ["reader", "tried", "one line", "the same", "other numbers", "which, and why they are taken"]


def test_the_table_of_the_docs_is_of_these_readers():
    told = [(cells[0], cells[-1]) for cells in tables_of_docs.held("hostile")]
    assert told == [(cells[0], cells[-1]) for cells in rows({})], (
        "run python tests/hostile/table.py"
    )
