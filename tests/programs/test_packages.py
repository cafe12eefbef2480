"""Programs on disk: by what they are made of, for this machine, whole or made again."""

import os
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from programs.support import stand_in_for_the_compiler
from torch._inductor import codecache

from orla.programs import compiling, sources, store, torch_private
from orla.programs import packages as programs
from orla.programs.compiling import Compiled


@dataclass(frozen=True)
class Affine:
    slope: float

    def __call__(self, x):
        return self.slope * x + 1.0


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path))
    compiling.configure(compile=True)
    yield tmp_path / "programs"
    compiling.configure(compile=False)


@pytest.fixture
def compiled(monkeypatch):
    """What a stand-in for the compiler was given."""
    return stand_in_for_the_compiler(monkeypatch)


def value(slope, size=2):
    made = Affine(slope)
    return Compiled(made, "affine", [made])(torch.ones(size)).tolist()


@pytest.mark.parametrize("right_sums", [True, False])
def test_what_is_no_program_is_made_again(folder, compiled, capsys, right_sums):
    value(2.0)
    (kept,) = folder.glob("*.program")
    (library,) = kept.glob("*.pt2")
    library.write_text("no library")
    if right_sums:
        (kept / store._SUMS).write_text(store._sha256sum_text(kept))
    assert store.is_whole(kept) == right_sums
    for made in ("compiled in", "compiled before"):
        capsys.readouterr()
        assert value(2.0) == [3.0, 3.0] and store.is_whole(kept)
        assert f"affine: {made}" in capsys.readouterr().err


def test_without_a_description_or_a_folder_nothing_is_kept(
    folder, tmp_path, compiled, monkeypatch, capsys
):
    assert Compiled(lambda x: x + 1.0, "nameless")(torch.ones(1)).tolist() == [2.0]
    assert not folder.exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "file"))
    assert value(2.0) == [3.0, 3.0]
    assert "kept in" not in capsys.readouterr().err


def test_the_name_holds_code_fields_and_processor(monkeypatch):
    made = [Affine(2.0), 3, "x", None, [1.5]]
    name = programs.program_cache_path("what", "shapes", made)
    assert programs.program_cache_path("what", "shapes", list(made)) == name
    others = [
        programs.program_cache_path("other", "shapes", made),
        programs.program_cache_path("what", "others", made),
        programs.program_cache_path("what", "shapes", [Affine(2.5), *made[1:]]),
        programs.program_cache_path("what", "shapes", [value]),
    ]
    changes = [
        (programs, "cpu_and_flags", lambda: "another"),
        (torch.backends.cpu, "get_cpu_capability", lambda: "another"),
        (sources, "digest", lambda: "another"),
    ]
    for change in changes:
        with monkeypatch.context() as patch:
            patch.setattr(*change)
            others.append(programs.program_cache_path("what", "shapes", made))
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    others.append(programs.program_cache_path("what", "shapes", made))
    assert len({name, *others}) == 9


def test_the_compilers_own_cache_is_ours_or_one_that_is_safe(folder, tmp_path, monkeypatch):
    own, open_to_all = tmp_path / "own", tmp_path / "open"
    own.mkdir(mode=0o700)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for named, taken in ((own, own), (open_to_all, folder.parent / "inductor")):
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(named))
        compiling.configure(compile=True)
        assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(taken)


def test_precompiled_headers_that_others_could_write_are_not_taken(tmp_path, monkeypatch, capsys):
    assert programs.default_inductor_folder() == Path(codecache._HEADER_DIR).parent
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert programs._headers_are_safe()
    folder = programs.default_inductor_folder() / "precompiled_headers"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert not programs._headers_are_safe()
    assert f"{folder} can be written by others" in capsys.readouterr().err


def test_a_file_that_is_no_library_is_an_error(tmp_path):
    (tmp_path / "program.pt2").write_text("no library")
    with pytest.raises(RuntimeError):
        torch_private.open_package(tmp_path / "program.pt2")


def test_what_a_function_holds_and_its_file_are_part_of_its_name(tmp_path):
    def name(function):
        return programs.program_cache_path("adding", "shapes", [function])

    def closing(number):
        return lambda x: x + number

    def by_default(number):
        def add(x, other=number):
            return x + other

        return add

    def by_keyword(number):
        def add(x, *, other=number):
            return x + other

        return add

    def in_file(number):
        script = tmp_path / "script.py"
        script.write_text(f"def twice(x):\n    return {number} * x\n")
        return runpy.run_path(str(script))["twice"]

    for make in (closing, by_default, by_keyword, in_file):
        assert name(make(1.0)) == name(make(1.0)) != name(make(2.0))
    assert name(closing(torch.ones(1))) is None
    assert name(closing({1: 2})) is None
