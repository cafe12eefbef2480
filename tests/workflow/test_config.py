"""Defaults, overlays and schema in step; a mistake in the config in one line."""

import dataclasses
from pathlib import Path

import pytest
import yaml
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config

from orla.architectures import ARCHITECTURES
from orla.errors import OrlaError
from orla.optimizers import OPTIMIZERS
from orla.schema import validate
from orla.sessions import simulator
from orla.study import conditions
from orla.study.pretraining import Pretraining

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
OVERLAYS = sorted(path.name for path in (ROOT / "config").glob("*.yaml"))
# Overrides of the simulation's own defaults: none need stand in config.yaml.
OPTIONAL = "dataset.simulated."


def merged(overlay=None):
    config = load_configfile(ROOT / "config.yaml")
    if overlay:
        update_config(config, load_configfile(ROOT / "config" / overlay))
    return config


def resolve(schema):
    while "$ref" in schema:
        reference = schema["$ref"].removeprefix("#/$defs/")
        schema = SCHEMA["$defs"][reference] | {k: v for k, v in schema.items() if k != "$ref"}
    return schema


def walk(schema, path=""):
    """Yield (path, schema) of every key that the schema names."""
    schema = resolve(schema)
    for key, child in schema.get("properties", {}).items():
        yield f"{path}{key}", resolve(child)
        yield from walk(child, f"{path}{key}.")
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


@pytest.mark.parametrize("overlay", [None, *OVERLAYS])
def test_every_config_fits_the_schema_and_names_what_there_is(overlay):
    config = merged(overlay)
    validate(config, SCHEMA, "config")
    conditions.check(
        config["conditions"], config["architectures"], config["grids"], config["parts"]["splits"]
    )
    conditions.check_grids(config["grids"])
    conditions.check_horizons(
        config["horizons"], config["parts"], conditions.expand(config["conditions"])
    )


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_two_studies_write_into_one_folder(overlay):
    others = [merged(other) for other in [None, *OVERLAYS] if other != overlay]
    for folder in ("results", "reports"):
        own = merged(overlay)["pathvars"][folder]
        assert own not in [config["pathvars"][folder] for config in others]


def test_every_key_of_the_schema_has_a_default():
    missing = {key for key, _ in walk(SCHEMA)} - set(keys(merged()))
    assert {key for key in missing if not key.startswith(OPTIONAL)} == set()
    assert missing, "the simulation's own defaults should have shown"


def test_every_key_is_typed_described_and_closed():
    for path, schema in walk(SCHEMA):
        assert {"type", "enum", "anyOf"} & set(schema), path
        assert "description" in schema, path
        if schema.get("type") == "object":
            assert "additionalProperties" in schema, path


def test_the_schema_names_the_architectures_and_optimizers_there_are():
    properties = SCHEMA["properties"]
    assert set(properties["architectures"]["properties"]) == set(ARCHITECTURES)
    assert set(properties["grids"]["properties"]) == set(OPTIMIZERS)


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        ("task", simulator.TaskSettings),
        ("array", simulator.ArraySettings),
        ("drift", simulator.DriftSettings),
    ],
)
def test_the_schema_names_every_magnitude_of_the_simulation(section, settings):
    words = {int: "integer", float: "number", "int": "integer", "float": "number"}
    named = SCHEMA["properties"]["dataset"]["properties"]["simulated"]["properties"][section]
    types = {key: value["type"] for key, value in named["properties"].items()}
    fields = {f.name: words.get(f.type, "array") for f in dataclasses.fields(settings)}
    assert types == fields


def test_the_default_durations_are_those_of_the_simulation():
    task = merged()["dataset"]["simulated"]["task"]
    assert simulator.TaskSettings(**task) == simulator.TaskSettings()


def test_the_defaults_of_pretraining_are_the_librarys():
    assert Pretraining(**merged()["pretraining"]) == Pretraining()


def test_a_rate_that_yaml_takes_for_text_is_explained():
    config = merged()
    config["grids"]["adam"]["step"] = yaml.safe_load("[1e-3]")
    with pytest.raises(OrlaError, match=r'"grids.adam.step\[0\]" must be a number.*write 0.001'):
        validate(config, SCHEMA, "config")
