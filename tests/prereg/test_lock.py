"""The lock refuses every change that no amendment owns up to."""

import datetime
import hashlib

import pytest
import yaml

from orla import files
from orla.errors import OrlaError
from orla.prereg import lock

DAY = datetime.date(2026, 11, 21)


@pytest.fixture
def locked(document, write):
    """A folder with one locked registration."""
    path = write(document)
    lock.write(write.folder, [path], DAY)
    return write


def amend(folder, path, date="2026-12-01", name=None, locked=None, **changes):
    amendment = {
        "registration": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "date": date,
        "changed": "The title.",
        "why": "A slip.",
        "results_seen": False,
    } | changes
    file = folder / "amendments" / f"{name or date + '-' + path.stem}.yaml"
    file.write_text(yaml.safe_dump({k: v for k, v in amendment.items() if v is not None}))
    lock.write(folder, [file], datetime.date.fromisoformat(locked or date))
    return file


def test_a_line_holds_sha256_date_and_file(locked):
    path = locked.folder / "small-gap.yaml"
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    fields = f"{content}  2026-11-21  small-gap.yaml"
    chain = hashlib.sha256(fields.encode()).hexdigest()
    assert (locked.folder / "LOCK").read_text() == f"{fields}  chain={chain}\n"
    verified = lock.verify(locked.folder)
    assert verified == {"small-gap": lock.Locked("small-gap.yaml", content, DAY, content)}
    assert not verified["small-gap"].amended


def test_locking_adds_and_keeps_what_was_there(locked, document):
    other = locked({**document, "title": "Another"}, "another")
    before = (locked.folder / "LOCK").read_text()
    later = datetime.date(2027, 1, 2)
    added = lock.write(locked.folder, [locked.folder / "small-gap.yaml", other], later)
    assert [line.file for line in added] == ["another.yaml"]
    assert (locked.folder / "LOCK").read_text().startswith(before)
    assert lock.verify(locked.folder)["another"].date == later
    assert lock.verify(locked.folder)["small-gap"].date == DAY


def test_a_changed_registration_is_refused_and_never_locked_again(locked, document):
    path = locked({**document, "title": "Changed"})
    with pytest.raises(OrlaError, match="differs from its lock; undo the change, or add a dated"):
        lock.verify(locked.folder)
    before = (locked.folder / "LOCK").read_text()
    fresh = locked(document, "fresh")
    with pytest.raises(OrlaError, match="locked on 2026-11-21 with other content"):
        lock.write(locked.folder, [fresh, path])
    assert (locked.folder / "LOCK").read_text() == before


def test_an_unlocked_registration_is_refused(locked, document):
    locked(document, "new")
    with pytest.raises(OrlaError, match=r"new\.yaml: not in .*LOCK; add it with: python -m orla"):
        lock.verify(locked.folder)


def test_a_lost_registration_is_refused(locked):
    (locked.folder / "small-gap.yaml").unlink()
    with pytest.raises(OrlaError, match="locked on 2026-11-21 but missing"):
        lock.verify(locked.folder)


@pytest.mark.parametrize("date", [str(DAY), "2026-12-01"])
def test_an_amendment_lets_the_change_stand_and_marks_it(locked, document, date):
    path = locked({**document, "title": "Changed"})
    original = lock.read(locked.folder)["small-gap.yaml"].sha256
    amend(locked.folder, path, date=date)
    verified = lock.verify(locked.folder)["small-gap"]
    assert verified.amended and verified.sha256 == original


def test_amended_is_for_ever(locked, document):
    first = locked({**document, "title": "Changed"})
    amend(locked.folder, first)
    path = locked(document)
    with pytest.raises(OrlaError, match="differs from its last amendment"):
        lock.verify(locked.folder)
    amend(locked.folder, path, date="2026-12-05")
    assert files.sha256(path) == lock.read(locked.folder)["small-gap.yaml"].sha256
    assert lock.verify(locked.folder)["small-gap"].amended


def test_the_amendment_that_was_locked_last_counts(locked, document):
    path = locked({**document, "title": "Second"})
    amend(locked.folder, path, date="2026-12-01", name="z-earlier", sha256="0" * 64)
    amend(locked.folder, path, date="2026-12-09", name="a-later")
    assert [a.date for a in lock.verify(locked.folder)["small-gap"].amendments] == [
        "2026-12-01",
        "2026-12-09",
    ]
    amend(locked.folder, path, date="2026-12-10", name="c-latest", sha256="0" * 64)
    with pytest.raises(OrlaError, match="differs from its last amendment"):
        lock.verify(locked.folder)


def test_an_amendment_may_say_what_was_seen_and_change_nothing(locked):
    path = locked.folder / "small-gap.yaml"
    seen = [
        {"data": "made up", "seen": "partly", "by": "us", "statement": "One leg."},
        {"data": "real", "seen": "none", "by": "nobody", "statement": "Not run."},
    ]
    amend(locked.folder, path, results_seen=seen)
    verified = lock.verify(locked.folder)["small-gap"]
    assert verified.amended and verified.judged == verified.sha256
    assert verified.amendments[0].saw_something
    assert verified.amendments[0].seen == (
        "amended on 2026-12-01: made up: partly seen by us (One leg.); "
        "real: none seen by nobody (Not run.)"
    )


def test_an_amendment_is_locked_as_well(locked, document):
    path = locked({**document, "title": "Changed"})
    file = amend(locked.folder, path)
    text = file.read_text()
    file.write_text(text.replace("2026-12-01", "2020-01-01"))
    with pytest.raises(OrlaError, match="differs from its lock; undo the change, and write a fur"):
        lock.verify(locked.folder)
    file.unlink()
    with pytest.raises(OrlaError, match="locked on 2026-12-01 but missing"):
        lock.verify(locked.folder)
    file.write_text(text)
    (file.parent / "another.yaml").write_text(text)
    with pytest.raises(OrlaError, match=r"another\.yaml: not in .*LOCK; add it with"):
        lock.verify(locked.folder)


def test_the_date_of_an_amendments_file_moves_nothing(locked, document):
    path = locked({**document, "title": "Changed", "date": "2020-01-01"})
    amend(locked.folder, path, date="2026-11-22", locked="2026-12-01")
    assert lock.verify(locked.folder)["small-gap"].date == DAY


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"changed": None}, '"changed" is missing'),
        ({"why": None}, '"why" is missing'),
        ({"results_seen": None}, '"results_seen" is missing'),
        ({"date": None}, '"date" is missing'),
        ({"results_seen": "no idea"}, '"results_seen" must be true or false'),
        ({"sha256": "abc"}, '"sha256" must match'),
        ({"registration": "other.yaml"}, 'amends "other.yaml", which is not in'),
        ({"date": "2026-11-20"}, "dated 2026-11-20, not between the days on which small-gap.yaml"),
        ({"date": "2026-12-02", "locked": "2026-12-01"}, "not between the days"),
        ({"sha256": "0" * 64}, "differs from its last amendment"),
    ],
)
def test_an_amendment_that_does_not_fit_is_refused(locked, document, changes, words):
    path = locked({**document, "title": "Changed"})
    amend(locked.folder, path, name="entry", **{"locked": "2026-12-01", **changes})
    with pytest.raises(OrlaError, match=words):
        lock.verify(locked.folder)


def test_a_broken_lock_is_named_by_line(locked):
    file = locked.folder / "LOCK"
    line = file.read_text()
    file.write_text(line + "not a line\n")
    with pytest.raises(OrlaError, match="line 2 is not"):
        lock.verify(locked.folder)
    file.write_text(line + line)
    with pytest.raises(OrlaError, match=r"line 2 locks small-gap\.yaml again"):
        lock.verify(locked.folder)
    file.write_text(line.replace("2026-11-21", "2026-11-31"))
    with pytest.raises(OrlaError, match="not a date"):
        lock.verify(locked.folder)
    file.write_text(line.partition("  chain")[0] + "\n")
    assert lock.verify(locked.folder)["small-gap"].date == DAY  # as lines older than the chain
    file.write_text(file.read_text().replace("2026-11-21", "2026-11-23"))
    with pytest.raises(OrlaError, match="line 1 has no chain"):
        lock.verify(locked.folder)


def chained(locked, document):
    """A folder with three registrations locked on three days; its LOCK and the lines in it."""
    for number in (1, 2):
        path = locked({**document, "title": f"Number {number}"}, f"number-{number}")
        lock.write(locked.folder, [path], DAY + datetime.timedelta(days=number))
    file = locked.folder / "LOCK"
    return file, file.read_text().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [lines[0], lines[1].replace("-22 ", "-21 "), lines[2]], "broken at line 2"),
        (lambda lines: [lines[0].replace("-21 ", "-20 "), *lines[1:]], "broken at line 1"),
        (lambda lines: [lines[0].partition("  chain")[0] + "\n", *lines[1:]], "broken at line 2"),
        (
            lambda lines: [lines[0], lines[1].partition("  chain")[0] + "\n", lines[2]],
            "line 2 has no chain",
        ),
        (lambda lines: [lines[1], lines[0], lines[2]], "broken at line 1"),
        (lambda lines: [*lines[:2], lines[2].replace("2026-11-23", "2026-11-20")], "before the li"),
        (lambda lines: [lines[0], "0" * 64 + lines[1][64:], lines[2]], "broken at line 2"),
        (lambda lines: [lines[0], lines[2]], r"broken at line 2 \(number-2\.yaml\)"),
    ],
)
def test_a_line_that_is_changed_or_moved_breaks_the_chain(locked, document, change, words):
    file, lines = chained(locked, document)
    file.write_text("".join(change(lines)))
    with pytest.raises(OrlaError, match=words):
        lock.verify(locked.folder)


def test_nothing_is_locked_on_an_earlier_day_than_the_last_line(locked, document):
    chained(locked, document)
    later = locked({**document, "title": "Later"}, "later")
    with pytest.raises(OrlaError, match="dated 2026-11-23, after today"):
        lock.write(locked.folder, [later], DAY)


def test_a_lock_without_a_last_newline_is_extended_by_a_line(locked, document):
    file = locked.folder / "LOCK"
    file.write_text(file.read_text().partition("  chain")[0])
    lock.write(locked.folder, [locked({**document, "title": "More"}, "more")], DAY)
    assert len(file.read_text().splitlines()) == 2 and len(lock.verify(locked.folder)) == 2


def test_only_registrations_of_the_folder_are_locked(locked, tmp_path):
    with pytest.raises(OrlaError, match="no such registration"):
        lock.write(locked.folder, [locked.folder / "absent.yaml"])
    stranger = tmp_path / "stranger.yaml"
    stranger.write_text("x: 1")
    with pytest.raises(OrlaError, match="move it there"):
        lock.write(locked.folder, [stranger])


def test_a_folder_without_a_lock_is_refused_with_the_command_that_makes_one(locked, tmp_path):
    lock.require([locked.folder])
    lock.require([])
    with pytest.raises(OrlaError) as refused:
        lock.require([locked.folder, tmp_path / "gone"])
    gone = tmp_path / "gone"
    assert str(refused.value) == (
        f'config: "registrations.folders" has {gone}, which has no LOCK; make one with: '
        f"mkdir -p {gone} && touch {gone}/LOCK"
    )
    gone.mkdir()
    (gone / "LOCK").touch()
    lock.require([gone])
    assert lock.verify(gone) == {}
