"""The lock refuses every change that no amendment owns up to."""

import datetime
import hashlib

import pytest
import yaml

from orla.errors import OrlaError
from orla.files import sha256
from orla.prereg import lock

DAY = datetime.date(2026, 11, 21)
SEEN = [
    {"data": "made up", "seen": "partly", "by": "us", "statement": "One leg."},
    {"data": "real", "seen": "none", "by": "nobody", "statement": "Not run."},
]


@pytest.fixture
def locked(document, write):
    """A folder with one locked registration, which `write.changed` changes."""
    lock.lock_files(write.folder, [write(document)], DAY)
    write.lock = write.folder / "LOCK"
    write.changed = lambda title: write({**document, "title": title})
    return write


def refused(folder, words):
    with pytest.raises(OrlaError, match=words):
        lock.verify_folder(folder)


def amend(path, date="2026-12-01", name=None, locked=None, **changes):
    amendment = {
        "registration": path.name,
        "sha256": sha256(path),
        "date": date,
        "changed": "The title.",
        "why": "A slip.",
        "results_seen": False,
    } | changes
    file = path.parent / "amendments" / f"{name or date + '-' + path.stem}.yaml"
    file.write_text(yaml.safe_dump({k: v for k, v in amendment.items() if v is not None}))
    lock.lock_files(path.parent, [file], datetime.date.fromisoformat(locked or date))
    return file


def test_a_line_holds_sha256_date_and_file(locked):
    content = sha256(locked.folder / "small-gap.yaml")
    fields = f"{content}  2026-11-21  small-gap.yaml"
    chain = hashlib.sha256(fields.encode()).hexdigest()
    assert locked.lock.read_text() == f"{fields}  chain={chain}\n"
    verified = lock.verify_folder(locked.folder)
    assert verified == {"small-gap": lock.Lock("small-gap.yaml", content, DAY, content)}


def test_locking_adds_and_keeps_what_was_there(locked, document):
    other = locked({**document, "title": "Another"}, "another")
    refused(locked.folder, r"another\.yaml: not in .*LOCK; add it with: orla prereg lock")
    before = locked.lock.read_text()
    later = datetime.date(2027, 1, 2)
    added = lock.lock_files(locked.folder, [locked.folder / "small-gap.yaml", other], later)
    assert [line.file for line in added] == ["another.yaml"]
    assert locked.lock.read_text().startswith(before)
    dates = {name: each.date for name, each in lock.verify_folder(locked.folder).items()}
    assert dates == {"another": later, "small-gap": DAY}
    other.unlink()
    refused(locked.folder, "locked on 2027-01-02 but missing")


def test_a_changed_registration_is_refused_and_never_locked_again(locked, document):
    path = locked.changed("Changed")
    refused(locked.folder, "differs from its lock; undo the change, or lock an amend")
    before = locked.lock.read_text()
    with pytest.raises(OrlaError, match="locked on 2026-11-21 with other content"):
        lock.lock_files(locked.folder, [locked(document, "fresh"), path])
    assert locked.lock.read_text() == before


def test_amended_is_for_ever_and_the_amendment_that_was_locked_last_counts(locked, document):
    original = sha256(locked.folder / "small-gap.yaml")
    amend(locked.changed("Changed"), date=str(DAY))
    verified = lock.verify_folder(locked.folder)["small-gap"]
    assert verified.sha256 == original != verified.judged_sha256
    path = locked(document)
    refused(locked.folder, "differs from its last amendment")
    amend(path, date="2026-12-01", name="z-earlier", sha256="0" * 64)
    amend(path, date="2026-12-09", name="a-later")
    verified = lock.verify_folder(locked.folder)["small-gap"]
    assert verified.judged_sha256 == verified.sha256 == original
    assert [each.date for each in verified.amendments] == ["2026-11-21", "2026-12-01", "2026-12-09"]
    amend(path, date="2026-12-10", name="c-latest", sha256="0" * 64)
    refused(locked.folder, "differs from its last amendment")


def test_an_amendment_may_say_what_was_seen_and_change_nothing(locked):
    amend(locked.folder / "small-gap.yaml", results_seen=SEEN)
    verified = lock.verify_folder(locked.folder)["small-gap"]
    assert verified.judged_sha256 == verified.sha256
    assert verified.amendments[0].saw_something
    assert verified.amendments[0].seen_text == (
        "amended on 2026-12-01: made up: partly seen by us (One leg.); "
        "real: none seen by nobody (Not run.)"
    )


def test_former_outcomes_are_those_of_the_last_amendment_that_has_some(locked):
    path = locked.folder / "small-gap.yaml"
    amend(path, results_seen=SEEN, former={path.name: "falsified"})
    amend(path, date="2026-12-02", results_seen=SEEN)
    outcomes = [a.former for a in lock.verify_folder(locked.folder)["small-gap"].amendments]
    assert outcomes == ["falsified", ""]
    file = locked.folder / "amendments" / "other.yaml"
    with pytest.raises(OrlaError, match=r'"former" has gap\.yaml, which it does not amend'):
        amend(path, date="2026-12-03", name="other", former={"gap.yaml": "supported"})
        lock.verify_folder(locked.folder)
    assert file.exists()


def test_an_amendment_is_locked_as_well(locked, document):
    path = locked({**document, "title": "Changed", "date": "2020-01-01"})
    file = amend(path, date="2026-11-22", locked="2026-12-01")
    assert lock.verify_folder(locked.folder)["small-gap"].date == DAY
    text = file.read_text()
    file.write_text(text.replace("2026-11-22", "2020-01-01"))
    refused(locked.folder, "differs from its lock; undo it, and write a fur")
    file.unlink()
    refused(locked.folder, "locked on 2026-12-01 but missing")
    file.write_text(text)
    (file.parent / "another.yaml").write_text(text)
    refused(locked.folder, r"another\.yaml: not in .*LOCK; add it with")


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
def test_an_amendment_that_does_not_fit_is_refused(locked, changes, words):
    amend(locked.changed("Changed"), name="entry", **{"locked": "2026-12-01", **changes})
    refused(locked.folder, words)


def unchained(line):
    return line.partition("  chain")[0] + "\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, b, c: [a, b, c, "not a line\n"], "line 4 is not"),
        (lambda a, b, c: [a, a, b, c], r"line 2 locks small-gap\.yaml again"),
        (lambda a, b, c: [a.replace("11-21", "11-31"), b, c], "not a date"),
        (lambda a, b, c: [unchained(a.replace("11-21", "11-23"))], "line 1 has no chain"),
        (lambda a, b, c: [a, b.replace("-22 ", "-21 "), c], "broken at line 2"),
        (lambda a, b, c: [a.replace("-21 ", "-20 "), b, c], "broken at line 1"),
        (lambda a, b, c: [unchained(a), b, c], "broken at line 2"),
        (lambda a, b, c: [a, unchained(b), c], "line 2 has no chain"),
        (lambda a, b, c: [b, a, c], "broken at line 1"),
        (lambda a, b, c: [a, b, c.replace("2026-11-23", "2026-11-20")], "before the li"),
        (lambda a, b, c: [a, "0" * 64 + b[64:], c], "broken at line 2"),
        (lambda a, b, c: [a, c], r"broken at line 2 \(number-2\.yaml\)"),
    ],
)
def test_a_line_that_is_changed_or_moved_breaks_the_chain(locked, document, change, words):
    for number in (1, 2):
        path = locked({**document, "title": f"Number {number}"}, f"number-{number}")
        lock.lock_files(locked.folder, [path], DAY + datetime.timedelta(days=number))
    with pytest.raises(OrlaError, match="dated 2026-11-23, after today"):
        lock.lock_files(locked.folder, [locked(document, "later")], DAY)
    lines = locked.lock.read_text().splitlines(keepends=True)
    locked.lock.write_text("".join(change(*lines)))
    refused(locked.folder, words)


def test_a_lock_older_than_the_chain_and_without_a_last_newline_is_extended(locked, document):
    locked.lock.write_text(unchained(locked.lock.read_text()).rstrip())
    assert lock.verify_folder(locked.folder)["small-gap"].date == DAY
    lock.lock_files(locked.folder, [locked(document, "more")], DAY)
    assert (
        len(locked.lock.read_text().splitlines()) == 2
        and len(lock.verify_folder(locked.folder)) == 2
    )


def test_only_registrations_of_the_folder_are_locked(locked, tmp_path):
    with pytest.raises(OrlaError, match="no such registration"):
        lock.lock_files(locked.folder, [locked.folder / "absent.yaml"])
    stranger = tmp_path / "stranger.yaml"
    stranger.write_text("x: 1")
    with pytest.raises(OrlaError, match="move it there"):
        lock.lock_files(locked.folder, [stranger])


def test_a_folder_without_a_lock_is_refused_with_the_command_that_makes_one(locked, tmp_path):
    lock.require_lock_files([locked.folder])
    gone = tmp_path / "gone"
    with pytest.raises(OrlaError) as error:
        lock.require_lock_files([locked.folder, gone])
    assert str(error.value) == (
        f'config: "registrations.folders" has {gone}, which has no LOCK; make one with: '
        f"mkdir -p {gone} && touch {gone}/LOCK"
    )
    gone.mkdir()
    (gone / "LOCK").touch()
    lock.require_lock_files([gone])
    assert lock.verify_folder(gone) == {}
