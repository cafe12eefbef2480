import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from orla.provenance import collect as provenance
from orla.tasks import base


@pytest.fixture
def checkout(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        command = ["git", "-C", tmp_path, *identity, *arguments]
        return subprocess.check_output(command, text=True).strip()

    source = tmp_path / "code.py"
    source.write_text("a = 1\n")
    (tmp_path / "docs").mkdir()
    for prose in ("README.md", "docs/figure.png"):
        (tmp_path / prose).write_text("one")
    git("init", "-q")
    git("add", "code.py", "README.md", "docs")
    git("commit", "-qm", "one")
    return source, git("rev-parse", "HEAD")


def test_commit_and_dirty_flag_of_tracked_files(checkout):
    source, commit = checkout
    assert provenance.commit_state(source) == {"commit": commit, "dirty": False}
    for prose in ("README.md", "docs/figure.png"):
        (source.parent / prose).write_text("two")
    assert provenance.commit_state(source) == {"commit": commit, "dirty": False}
    source.write_text("a = 2\n")
    assert provenance.commit_state(source) == {"commit": commit, "dirty": True}
    other = source.with_name("installed.py")
    other.write_text("")
    assert provenance.commit_state(other) == {"commit": "unknown", "dirty": None}


def test_a_part_that_git_has_not_is_uncommitted_code(checkout, monkeypatch):
    source, _ = checkout
    new = source.with_name("plugin.py")
    new.write_text("")

    def dirty(file):
        return provenance.collect("orla.tasks.base", file)["code"]["dirty"]

    monkeypatch.setattr(provenance, "commit_state", lambda: {"commit": "0123abc", "dirty": False})
    assert dirty(source) is False and dirty(new) is True
    source.write_text("a = 3\n")
    assert dirty(source) is True


def test_without_git_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit_state()["commit"] == "unknown"


def test_collect_is_json_repeats_itself_and_names_machine_and_sources():
    given = {"seeds": [0, 1], "precision": "float64"}
    first = provenance.collect("orla.tasks.base", **given)
    assert first == provenance.collect("orla.tasks.base", **given)
    files = first["code"]["files"]
    source = Path(base.__file__).read_bytes()
    assert files["orla/tasks/base.py"] == hashlib.sha256(source).hexdigest()
    assert "orla/tasks/synthetic.py" not in files
    assert json.loads(json.dumps(first)) == first
    assert first["seeds"] == [0, 1] and first["precision"] == "float64"
    assert first["versions"]["torch"] == torch.__version__
    assert first["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
    assert first["threads"] == torch.get_num_threads()


def test_a_process_without_pytorch_does_not_wait_for_it():
    code = """
import json, sys
from orla.provenance import collect
print(json.dumps([sorted(collect.collect()), "torch" in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert json.loads(done.stdout) == [["code", "platform", "versions"], False]
