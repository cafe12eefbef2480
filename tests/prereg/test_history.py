"""LOCK against the history of git: what was committed stays, and dates are those of commits."""

import datetime
import os
import shutil
import subprocess

import pytest

from orla.errors import OrlaError
from orla.files import sha256
from orla.prereg import chain, history, lock

DAY = datetime.date(2026, 11, 21)


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
        lock.write(write.folder, [write({**document, "title": name}, name)], day)

    def commit(day=DAY):
        git("add", ".", day=day)
        git("commit", "-m", "x", "--allow-empty", day=day)

    write.git, write.locked, write.commit = git, locked, commit
    git("init", "-q")
    commit()
    return write


def refused(repository, words="is not the beginning of the present one"):
    with pytest.raises(OrlaError, match=words):
        lock.verify(repository.folder)


def state(folder):
    return {name: found.history for name, found in lock.verify(folder).items()}


def test_a_lock_that_was_committed_on_its_day_agrees(repository):
    repository.locked("one")
    repository.commit()
    repository.locked("two", DAY + datetime.timedelta(days=1))
    assert state(repository.folder) == {"one": "git", "two": "not committed"}
    repository.commit(DAY + datetime.timedelta(days=2))
    assert state(repository.folder) == {"one": "git", "two": "git"}


def test_a_lock_that_was_deleted_and_written_anew_is_refused(repository):
    repository.locked("one")
    repository.commit()
    (repository.folder / "LOCK").unlink()
    repository.locked("one", DAY + datetime.timedelta(days=9))
    refused(repository)
    repository.commit(DAY + datetime.timedelta(days=9))
    refused(repository, r"committed on 2026-11-21 .* restore it with: git checkout")


def test_a_lock_whose_removal_was_committed_is_still_compared(repository):
    repository.locked("one")
    repository.commit()
    (repository.folder / "LOCK").unlink()
    repository.commit()
    repository.locked("two")
    repository.commit()
    (repository.folder / "one.yaml").unlink()
    refused(repository)


def test_a_registration_that_is_removed_with_the_last_line_is_noticed(repository):
    repository.locked("one")
    repository.locked("two")
    repository.commit()
    file = repository.folder / "LOCK"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    (repository.folder / "two.yaml").unlink()
    refused(repository, "a line was changed or removed")


def test_a_chain_that_is_forged_whole_is_noticed(repository):
    """The registration, its hash and the chain are changed together."""
    repository.locked("one")
    repository.commit()
    file = repository.folder / "LOCK"
    path = repository.folder / "one.yaml"
    path.write_text(path.read_text() + "\n")
    file.write_text(chain.extended("", chain.Line("one.yaml", sha256(path), DAY)))
    refused(repository)


@pytest.mark.parametrize(("days", "order"), [(-2, "before"), (2, "after")])
def test_a_date_that_is_not_that_of_the_commit_is_refused(repository, days, order):
    repository.locked("one", DAY + datetime.timedelta(days=days))
    repository.commit()
    refused(repository, rf"more than a day {order} the commit that locked it")


@pytest.mark.parametrize("days", [-1, 1])
def test_a_day_of_difference_is_that_of_time_zones(repository, days):
    repository.locked("one", DAY + datetime.timedelta(days=days))
    repository.commit()
    assert state(repository.folder) == {"one": "git"}


def test_what_cannot_be_compared_is_said(repository, tmp_path, document, write):
    repository.locked("one")
    assert state(repository.folder) == {"one": "not checked"}
    repository.commit()
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(shallow))
    assert state(shallow) == {"one": "not checked"}
    lines = chain.parse((shallow / "LOCK").read_text(), shallow / "LOCK")
    assert "shallow" in history.compare(shallow / "LOCK", lines).why


def test_lines_of_a_repositorys_first_commit_were_copied_there(repository):
    """A copy of a project without its history: nothing says when its lines were written."""
    shutil.rmtree(repository.folder / ".git")
    repository.locked("one")
    repository.git("init", "-q")
    repository.commit(datetime.date(2031, 1, 1))
    assert state(repository.folder) == {"one": "not checked"}


def test_outside_git_nothing_is_checked(write, document):
    lock.write(write.folder, [write(document)], DAY)
    assert state(write.folder) == {"small-gap": "not checked"}


def test_what_was_committed_after_a_removal_stays_too(repository):
    lock_file = repository.folder / "LOCK"
    repository.locked("one")
    repository.commit()
    text = lock_file.read_text()
    lock_file.unlink()
    repository.commit()
    lock_file.write_text(text)
    repository.locked("two")
    repository.commit()
    assert state(repository.folder) == {"one": "git", "two": "git"}
    lock_file.write_text(text)
    repository.locked("two", DAY + datetime.timedelta(days=1))
    refused(repository)
