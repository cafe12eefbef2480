"""Defaults, overlays and schema in step; a mistake in the config in one line."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config

from orla import __main__ as program
from orla.catalogue.entries import FILE as DECLARATIONS
from orla.errors import OrlaError
from orla.schema import validate
from orla.sessions import simulator
from orla.study.config import plan_from_config, sort_and_drop_nulls
from orla.study.config_checks import CHAPTERS
from orla.study.config_schema import config_schema
from orla.study.declarations import SECTIONS, read_declarations
from orla.study.pretraining import Pretraining
from orla.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "workflow/schemas/config.schema.yaml"
SCHEMA = yaml.safe_load(FILE.read_text())
SECOND_STUDY = ROOT / "tests/workflow/second_study.yaml"
OVERLAYS = [*sorted((ROOT / "config").glob("*.yaml")), SECOND_STUDY]


def merged(overlay=None):
    config = load_configfile(ROOT / "config.yaml")
    if overlay:
        update_config(config, load_configfile(overlay))
    return sort_and_drop_nulls(config)


def walk(schema, path=""):
    """Yield (path, schema) of every key that the schema names, a name of ours as ``*``."""
    for key, child in schema.get("properties", {}).items():
        yield f"{path}{key}", child
        yield from walk(child, f"{path}{key}.")
    for part in schema.get("allOf", []):
        yield from walk(part["then"], path)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], f"{path}*.")
    if "items" in schema:
        yield from walk(schema["items"], f"{path}[].")


def keys(value, path=""):
    if isinstance(value, dict):
        for key, child in value.items():
            yield f"{path}{key}"
            yield from keys(child, f"{path}{key}.")
    elif isinstance(value, list):
        for child in value:
            yield from keys(child, f"{path}[].")


def test_the_schema_in_the_repository_is_the_one_that_parts_declare(tmp_path):
    assert json.loads(json.dumps(config_schema(read_declarations()))) == SCHEMA
    made, parts = tmp_path / "made.yaml", tmp_path / "made.json"
    program.main(["schema", str(made), str(parts)])
    assert made.read_bytes() == FILE.read_bytes(), "run: make reference"
    assert parts.read_bytes() == DECLARATIONS.read_bytes(), "run: make reference"


def test_no_two_studies_write_into_one_folder():
    folders = [read_yaml(path)["pathvars"] for path in (ROOT / "config.yaml", *OVERLAYS)]
    for name in ("results", "reports"):
        assert len({paths[name] for paths in folders}) == len(folders), name


def test_every_key_of_the_schema_outside_parts_has_a_default():
    # Instances, numerics, quantities and whole chapters are named by those who want some.
    named_by_users = {*SECTIONS.values(), *CHAPTERS, "numerics", "quantities"}
    own = [name for name in SCHEMA["properties"] if name not in named_by_users]
    named = {
        path for path, _ in walk({"properties": {name: SCHEMA["properties"][name] for name in own}})
    }
    given = set(keys(merged()))
    for path in [path for path in given if path.startswith(("grids.", "comparisons."))]:
        section, _, rest = path.split(".", 2) if path.count(".") > 1 else (path, "", "")
        given.add(f"{section}.*.{rest}")
    of_blocks = ("precisions", "interventions", "starts", "observers", "probes")
    optional = {"plugins", *(f"conditions.[].{name}" for name in of_blocks)}
    optional |= {f"pretraining.of.*.{field.name}" for field in fields(Pretraining)}
    optional |= {"pretraining.optimizer", "pretraining.frozen", "statistics.rates_of"}
    assert named - given == optional


def test_every_key_is_described_and_typed():
    named = list(walk(SCHEMA))
    assert len(named) > 150
    for path, schema in named:
        assert schema.get("description"), path
        if not path.endswith(".kind"):
            assert {"type", "enum", "anyOf", "pattern"} & set(schema), path
        if schema.get("type") == "object":
            assert "additionalProperties" in schema, path


def test_the_defaults_of_simulation_and_pretraining_are_the_librarys():
    given = merged()["tasks"]["recordings"]["simulated"]
    assert simulator.TaskSettings(**given["task"]) == simulator.TaskSettings()
    assert simulator.ArraySettings(**given["array"]) == simulator.ArraySettings()
    assert simulator.DriftSettings(**given["drift"]) == simulator.DriftSettings()
    pretraining = merged()["pretraining"]
    pretraining.pop("of")
    assert Pretraining(**pretraining) == Pretraining()


def test_a_rate_that_yaml_takes_for_text_is_explained():
    config = merged()
    config["grids"]["adam"]["step"] = yaml.safe_load("[1e-3]")
    with pytest.raises(OrlaError, match=r'"grids.adam.step\[0\]" must be a number.*write 0.001'):
        validate(config, SCHEMA, "config")


def leaves(value, path=()):
    """(path, value) of every number, text, truth and list of a config."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    else:
        yield path, value


# The one device that every machine has; threads, of which a test takes one; our registrations;
# the task and the source that need no file of anyone's.
SAME = {("compute", "device"), ("compute", "threads"), ("registrations", "folders")}
SAME |= {("tasks", "hands", "kind"), ("tasks", "hands", "source")}


def test_the_other_study_has_no_setting_at_its_default():
    """Else a workflow that drops a setting would pass."""
    default, other = merged(), merged(SECOND_STUDY)
    assert plan_from_config(other).conditions
    default["tasks"]["hands"] = default["tasks"]["recordings"]
    before, after = dict(leaves(default)), dict(leaves(other))
    shared = [path for path, value in after.items() if before.get(path, ()) == value]
    assert set(shared) <= SAME
    sections = ("preparation", "parts", "simulated")
    for path in before:
        if path[:2] == ("tasks", "hands") and path[2] in sections and "splits" not in path:
            assert path in after, f"{path} stands in config.yaml alone"
    for kind, section in SECTIONS.items():
        for name, spec in other.get(section, {}).items():
            defaults = read_declarations()[kind][spec["kind"]]["defaults"]
            kept = [o for o in spec if o in defaults and spec[o] == defaults[o]]
            assert set(kept) <= {"source"}, name
