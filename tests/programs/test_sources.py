"""The digest of sources: every file that a result may depend on changes it."""

from types import SimpleNamespace

import pytest

from orla import catalogue
from orla.programs import sources


@pytest.fixture
def plugins(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "part.py").write_text("from helper import X\n")
    (folder / "helper.py").write_text("X = 1\n")
    before = catalogue.plugin_folders()
    catalogue.use_plugins([folder])
    yield folder
    catalogue.use_plugins(before)


def digest():
    sources._digest_with_plugins.cache_clear()
    return sources.digest()


def test_plug_in_sources_and_files_named_like_a_module_change_the_digest(plugins):
    for file, counts in {
        "helper.py": True,
        "deeper/another.py": True,
        "alone.cpp": True,
        "part.css": True,  # beside a module, under its name
        "other.css": False,
        "notes.txt": False,
    }.items():
        before = digest()
        assert digest() == before
        (plugins / file).parent.mkdir(exist_ok=True)
        (plugins / file).write_text("X = 2\n")
        assert (digest() != before) == counts, file
    within = digest()
    catalogue.use_plugins([])
    assert digest() != within


def test_every_source_of_the_package_is_read(monkeypatch):
    read, sha256 = [], sources.files.sha256
    monkeypatch.setattr(sources.files, "sha256", lambda f: read.append(f.name) or sha256(f))
    digest()
    for name in ("kernels.cpp", "kernels.py", "loop.py", "rnn.py", "plugins.py", "page.css"):
        assert name in read
    assert len(read) > 100


def test_packages_and_single_files_of_entry_points_are_part_of_it(tmp_path, monkeypatch):
    package = tmp_path / "of_others"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "alone.py").write_text("X = 1\n")
    seen = {digest()}
    points = [SimpleNamespace(module="of_others.parts"), SimpleNamespace(module="alone")]
    monkeypatch.setattr(sources, "entry_points", lambda group: points)
    for file in (None, package / "helper.py", tmp_path / "alone.py"):
        if file:
            file.write_text("X = 2\n")
        seen.add(digest())
    assert len(seen) == 4
    (tmp_path / "neighbour.py").touch()
    assert digest() in seen
