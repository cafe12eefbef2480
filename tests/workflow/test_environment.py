"""One list of versions, said three times."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = PROJECT["dependencies"] + EXTRAS["workflow"] + EXTRAS["develop"]


def canonical(requirement):
    name, _, version = requirement.partition("==")
    return re.sub(r"[-_.]+", "-", name).lower(), version


def test_everything_is_pinned_exactly():
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in PINS)


def test_environment_yml_says_the_same():
    document = yaml.safe_load((ROOT / "environment.yml").read_text())
    [pip] = [entry["pip"] for entry in document["dependencies"] if isinstance(entry, dict)]
    assert [line for line in pip if not line.startswith("--")] == PINS
    assert "--editable ." in pip


def test_the_lock_says_the_same_of_all_but_pytorch():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    lock = dict(canonical(line) for line in lines if not line.startswith("#"))
    assert "torch" not in lock
    for name, version in map(canonical, PINS):
        if name not in ("torch", "setuptools"):
            assert lock[name] == version, name


def test_make_asks_for_the_same_pytorch():
    asked = re.search(r"^TORCH \?= (\S+)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert asked in PINS
