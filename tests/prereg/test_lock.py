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


def amend(folder, path, date="2026-12-01", name=None, **changes):
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
    return file


def test_a_line_holds_sha256_date_and_file(locked):
    path = locked.folder / "small-gap.yaml"
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (locked.folder / "LOCK").read_text() == f"{content}  2026-11-21  small-gap.yaml\n"
    verified = lock.verify(locked.folder)
    assert verified == {"small-gap": lock.Locked("small-gap.yaml", content, DAY, amended=False)}


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


def test_one_byte_is_a_change(locked):
    path = locked.folder / "small-gap.yaml"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(OrlaError, match="differs from its lock"):
        lock.verify(locked.folder)


def test_an_unlocked_registration_is_refused(locked, document):
    locked(document, "new")
    with pytest.raises(OrlaError, match=r"new\.yaml: not in .*LOCK; add it with: python -m orla"):
        lock.verify(locked.folder)


def test_a_lost_registration_is_refused(locked):
    (locked.folder / "small-gap.yaml").unlink()
    with pytest.raises(OrlaError, match="locked on 2026-11-21 but missing"):
        lock.verify(locked.folder)


def test_an_amendment_lets_the_change_stand_and_marks_it(locked, document):
    path = locked({**document, "title": "Changed"})
    original = lock.read(locked.folder)["small-gap.yaml"].sha256
    amend(locked.folder, path)
    verified = lock.verify(locked.folder)["small-gap"]
    assert verified.amended and verified.sha256 == original


def test_an_amendment_may_be_of_the_day_of_locking(locked, document):
    amend(locked.folder, locked({**document, "title": "Changed"}), date=str(DAY))
    assert lock.verify(locked.folder)["small-gap"].amended


def test_amended_is_for_ever(locked, document):
    first = locked({**document, "title": "Changed"})
    amend(locked.folder, first)
    path = locked(document)
    with pytest.raises(OrlaError, match="differs from its last amendment"):
        lock.verify(locked.folder)
    amend(locked.folder, path, date="2026-12-05")
    assert files.sha256(path) == lock.read(locked.folder)["small-gap.yaml"].sha256
    assert lock.verify(locked.folder)["small-gap"].amended


def test_only_the_latest_amendment_counts(locked, document):
    path = locked({**document, "title": "Second"})
    amend(locked.folder, path, date="2026-12-09", name="a-later")
    amend(locked.folder, path, date="2026-12-01", name="b-earlier", sha256="0" * 64)
    assert lock.verify(locked.folder)["small-gap"].amended
    amend(locked.folder, path, date="2026-12-10", name="c-latest", sha256="0" * 64)
    with pytest.raises(OrlaError, match="differs from its last amendment"):
        lock.verify(locked.folder)


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
        ({"date": "2026-11-20"}, "dated before small-gap.yaml was locked"),
        ({"sha256": "0" * 64}, "differs from its last amendment"),
    ],
)
def test_an_amendment_that_does_not_fit_is_refused(locked, document, changes, words):
    path = locked({**document, "title": "Changed"})
    amend(locked.folder, path, name="entry", **changes)
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


def test_only_registrations_of_the_folder_are_locked(locked, tmp_path):
    with pytest.raises(OrlaError, match="no such registration"):
        lock.write(locked.folder, [locked.folder / "absent.yaml"])
    stranger = tmp_path / "stranger.yaml"
    stranger.write_text("x: 1")
    with pytest.raises(OrlaError, match="move it there"):
        lock.write(locked.folder, [stranger])


def test_the_digest_is_of_the_lock_itself(locked, tmp_path):
    expected = hashlib.sha256((locked.folder / "LOCK").read_bytes()).hexdigest()
    assert lock.digest(locked.folder) == expected
    with pytest.raises(OrlaError, match="missing; lock the registrations"):
        lock.digest(tmp_path)
