"""LOCK against the history of git: what was committed stays, and dates are those of commits."""

import datetime
import os
import shutil
import subprocess

import pytest

from orla.errors import OrlaError
from orla.files import sha256
from orla.prereg import lock

DAY = datetime.date(2026, 11, 21)


def after(days):
    return DAY + datetime.timedelta(days=days)


@pytest.fixture
def repository(write, document):
    """A folder of registrations in a repository, with functions to lock and to commit."""

    def git(*arguments, day=DAY):
        when = f"{day}T12:00:00+00:00"
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments],
            cwd=write.folder,
            check=True,
            capture_output=True,
            env=os.environ | {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
        )

    def locked(name, day=DAY):
        lock.lock_files(write.folder, [write({**document, "title": name}, name)], day)

    def commit(day=DAY):
        git("add", ".", day=day)
        git("commit", "-m", "x", "--allow-empty", day=day)

    write.git, write.locked, write.commit = git, locked, commit
    write.lock = write.folder / "LOCK"
    git("init", "-q")
    commit()
    return write


def refused(repository, words="is not the beginning of the present one"):
    with pytest.raises(OrlaError, match=words):
        lock.verify_folder(repository.folder)


def state(folder):
    return {name: found.history for name, found in lock.verify_folder(folder).items()}


def test_a_lock_that_was_committed_on_its_day_agrees(repository, tmp_path):
    repository.locked("one")
    assert state(repository.folder) == {"one": "not checked"}  # LOCK is in no commit
    repository.commit()
    repository.locked("two", after(1))
    assert state(repository.folder) == {"one": "git", "two": "not committed"}
    repository.commit(after(2))  # a day of difference is that of time zones
    assert state(repository.folder) == {"one": "git", "two": "git"}
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(shallow))
    assert state(shallow) == {"one": "not checked", "two": "not checked"}


def written_anew(repository):
    repository.lock.unlink()
    repository.locked("one", after(9))


def removed_with_its_line(repository):
    repository.lock.write_text("")
    (repository.folder / "one.yaml").unlink()


def forged_whole(repository):
    """The registration, its hash and the chain are changed together."""
    path = repository.folder / "one.yaml"
    path.write_text(path.read_text() + "\n")
    repository.lock.write_text(lock.append_line("", lock.Line("one.yaml", sha256(path), DAY)))


@pytest.mark.parametrize("change", [written_anew, removed_with_its_line, forged_whole])
def test_a_committed_line_that_is_changed_or_removed_is_noticed(repository, change):
    repository.locked("one")
    repository.commit()
    change(repository)
    refused(repository)
    repository.commit(after(9))
    refused(repository, r"committed on 2026-11-21 .* restore it with: git checkout")


@pytest.mark.parametrize(("days", "order"), [(-2, "before"), (2, "after"), (-1, ""), (1, "")])
def test_a_date_that_is_not_that_of_the_commit_is_refused(repository, days, order):
    repository.locked("one", after(days))
    repository.commit()
    if order:
        refused(repository, rf"more than a day {order} the commit that locked it")
    else:
        assert state(repository.folder) == {"one": "git"}


def test_lines_of_a_repositorys_first_commit_were_copied_there(repository):
    """A copy of a project without its history: nothing says when its lines were written."""
    shutil.rmtree(repository.folder / ".git")
    repository.locked("one")
    assert state(repository.folder) == {"one": "not checked"}  # outside git
    repository.git("init", "-q")
    repository.commit(datetime.date(2031, 1, 1))
    assert state(repository.folder) == {"one": "not checked"}


def test_locks_committed_before_and_after_LOCK_was_removed_keep_their_history(repository):
    repository.locked("one")
    repository.commit()
    text = repository.lock.read_text()
    repository.lock.unlink()
    repository.commit()
    repository.lock.write_text(text)
    repository.locked("two")
    repository.commit()
    assert state(repository.folder) == {"one": "git", "two": "git"}
    repository.lock.write_text(text)
    repository.locked("two", after(1))
    refused(repository)
