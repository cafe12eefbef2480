"""The cache: whole, the user's own, closed to others; and what is planted there does not run."""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import threading
from unittest.mock import Mock

import pytest

from orla.programs import compiling, kernels, sources, store
from orla.programs import packages as programs

LIBRARY = 'extern "C" int value() { return 7; }\n'
PLANTED = """
#include <cstdio>
__attribute__((constructor)) static void ran() { std::fclose(std::fopen("%s", "w")); }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, a process that has said nothing, and a short source for the kernels."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ORLA_CACHE", str(folder))
    (tmp_path / "kernels.cpp").write_text(LIBRARY)
    monkeypatch.setattr(kernels, "_SOURCE", tmp_path / "kernels.cpp")
    store._say_once.cache_clear()
    return folder


def made():
    """The library as a job finds or makes it."""
    library = kernels._library.__wrapped__()
    assert library.value() == 7
    return library


def kept(cache):
    """The one folder in which a library is kept."""
    made()
    (folder,) = (cache / "kernels").iterdir()
    return folder


def plant(folder, tmp_path):
    """Put a library with right sums in place of the kept one; it writes a file when loaded."""
    marker = tmp_path / "ran"
    source = tmp_path / "planted.cpp"
    source.write_text(PLANTED % marker + LIBRARY)
    (folder / "kernels.so").unlink()
    command = ["g++", "-shared", "-fPIC", "-o", str(folder / "kernels.so"), str(source)]
    subprocess.run(command, check=True)
    (folder / "kernels.so").chmod(0o600)
    (folder / store._SUMS).write_text(store._sha256sum_text(folder))
    return marker


def count_compilations(monkeypatch):
    calls, compiled = [], kernels._compile_and_keep
    monkeypatch.setattr(
        kernels, "_compile_and_keep", lambda *args: calls.append(1) or compiled(*args)
    )
    return calls


def test_a_library_is_compiled_once_and_loaded_after(cache, monkeypatch):
    calls = count_compilations(monkeypatch)
    made()
    made()
    assert len(calls) == 1
    (cache.parent / "kernels.cpp").write_text(LIBRARY + "\n")
    made()
    assert len(calls) == 2


@pytest.mark.parametrize("where", ["cache", "kind", "program", "library"])
def test_what_others_could_have_planted_does_not_run(where, cache, tmp_path, capsys):
    folder = kept(cache)
    marker, places = plant(folder, tmp_path), {"cache": cache, "kind": cache / "kernels"}
    place = (places | {"program": folder, "library": folder / "kernels.so"})[where]
    place.chmod(0o770)
    made()
    assert not marker.exists()
    said = [line for line in capsys.readouterr().err.splitlines() if "written by others" in line]
    assert len(said) == 1 and f"run chmod -R go-w {place}" in said[0]
    if where in places:  # what is made meanwhile is not kept
        made()
        assert not marker.exists() and "written by others" not in capsys.readouterr().err
        # The control: the same library would run where the user alone can write.
        place.chmod(0o700)
        made()
        assert marker.exists()


def test_what_belongs_to_another_user_is_not_loaded(cache, tmp_path, capsys, monkeypatch):
    marker = plant(kept(cache), tmp_path)
    monkeypatch.setattr(store.os, "geteuid", lambda: os.getuid() + 1)
    made()
    assert not marker.exists()
    said = capsys.readouterr().err
    assert f"{cache} belongs to another user" in said
    assert "set ORLA_CACHE to a folder of your own" in said and "chmod" not in said


@pytest.mark.parametrize("damage", ["cut", "zeroed", "absent", "no sums", "no library"])
def test_a_damaged_library_is_made_again(damage, cache, monkeypatch):
    folder = kept(cache)
    library = folder / "kernels.so"
    whole = library.read_bytes()
    library.unlink()  # this process has it loaded
    if damage in ("cut", "zeroed"):
        library.write_bytes(whole[: len(whole) // 2] if damage == "cut" else bytes(len(whole)))
    elif damage == "no sums":
        library.write_bytes(whole)
        (folder / store._SUMS).unlink()
    elif damage == "no library":  # of which the sums are right
        library.write_text("no library")
        (folder / store._SUMS).write_text(store._sha256sum_text(folder))
        library.chmod(0o600)
    assert store.is_whole(folder) == (damage == "no library")
    calls = count_compilations(monkeypatch)
    made()
    assert len(calls) == 1 and store.is_whole(folder)
    made()
    assert len(calls) == 1 and ctypes.CDLL(str(library)).value() == 7


def test_what_is_kept_is_closed_to_others_whatever_the_umask(cache):
    before = os.umask(0o002)
    try:
        folder = kept(cache)
    finally:
        os.umask(before)
    assert store.is_whole(folder)
    for part in (cache, cache / "kernels", folder, *folder.iterdir()):
        assert not part.stat().st_mode & 0o022, part


def test_a_process_whose_cache_is_unsafe_keeps_to_itself(cache):
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)
    private = store.cache_folder("kernels")
    assert cache not in private.parents and not private.stat().st_mode & 0o077
    assert store.cache_folder("kernels") == private
    with store.scratch(private / "one") as scratch:
        (scratch / "file").touch()
        assert not store.keep(scratch, private / "one")  # not beyond this process
    assert store.is_whole(private / "one")
    shutil.rmtree(private)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86 instruction sets")
@pytest.mark.parametrize("asked, march", [("avx2", "x86-64-v3"), ("", "native")])
def test_kernels_are_made_for_the_instruction_set_that_was_asked_for(
    asked, march, cache, monkeypatch
):
    commands, ran = [], subprocess.run
    monkeypatch.setattr(kernels.subprocess, "run", lambda c, **k: commands.append(c) or ran(c, **k))
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", asked)
    made()
    assert {word for word in commands[0] if word.startswith("-march")} == {f"-march={march}"}
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default" if asked == "avx2" else "avx2")
    made()
    assert len(commands) == len(list((cache / "kernels").iterdir())) == 2


def test_a_compiler_that_fails_is_quoted_and_pytorch_serves(cache, monkeypatch, capsys):
    (cache.parent / "kernels.cpp").write_text("no C++")
    assert kernels._library.__wrapped__() is None
    assert "cannot be compiled (" in (said := capsys.readouterr().err) and "error" in said
    assert list((cache / "kernels").iterdir()) == []
    assert compiling.say is store.say


def test_what_one_process_makes_the_next_ones_wait_for(cache):
    path, order = cache / "programs" / "a.program", []

    def second():
        with store.lock_on(path):
            order.append("second")

    other = threading.Thread(target=second)
    with store.lock_on(path):
        other.start()
        with store.lock_on(cache / "programs" / "b.program"), store.lock_on(None):
            other.join(0.2)
        assert other.is_alive()
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_a_lock_is_released_by_an_exception_and_skipped_where_unsupported(cache, monkeypatch):
    path = cache / "programs" / "a.program"
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), store.lock_on(path):
            raise ZeroDivisionError
    refusal = OSError("no locks available")
    monkeypatch.setattr(store.fcntl, "flock", Mock(side_effect=refusal))
    with store.lock_on(path), store.lock_on(path):
        pass


@pytest.fixture
def question(monkeypatch):
    """Asks one question; and how often it was answered anew."""
    answered = []
    monkeypatch.setattr(sources, "digest", lambda: "one")

    def ask(asked="why"):
        return store.cached_result("kind", asked, lambda: answered.append(asked) or {"said": asked})

    return ask, answered


VERSIONS = {
    "python": lambda patch: patch.setattr(store.sys, "version", "4.0"),
    "torch": lambda patch: patch.setattr(store, "version", lambda name: f"{name == 'torch'}"),
    "numpy": lambda patch: patch.setattr(store, "version", lambda name: f"{name == 'numpy'}"),
    "orla": lambda patch: patch.setattr(store.orla, "__version__", "another"),
}


@pytest.mark.parametrize("changed", VERSIONS)
def test_a_new_version_of_python_torch_numpy_or_orla_reuses_no_cached_result(
    changed, question, monkeypatch
):
    monkeypatch.setattr(store, "version", lambda name: "one")
    ask, answered = question
    ask()
    path, library = programs.program_cache_path("what", "shapes", []), kernels.library_cache_path()
    VERSIONS[changed](monkeypatch)
    assert (
        programs.program_cache_path("what", "shapes", []) != path
        and kernels.library_cache_path() != library
    )
    ask()
    assert len(answered) == 2


def test_an_answer_is_kept_for_the_same_question_and_sources(question, monkeypatch, tmp_path):
    ask, answered = question
    assert ask() == ask() == {"said": "why"} and answered == ["why"]
    assert ask("how") == {"said": "how"} and len(answered) == 2
    monkeypatch.setattr(sources, "digest", lambda: "another")
    ask()
    assert len(answered) == 3
    (tmp_path / "file").touch()
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "file"))  # where none can be kept
    assert ask() == ask() == {"said": "why"} and len(answered) == 5


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"question": "another", "answer": 1}', "null"])
def test_a_damaged_answer_is_given_anew(question, cache, damage):
    ask, answered = question
    ask()
    [file] = (cache / "kind").glob("*.json")
    file.write_text(damage)
    assert ask() == {"said": "why"} and len(answered) == 2
    assert json.loads(file.read_text())["answer"] == {"said": "why"}
