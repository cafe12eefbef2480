"""A config in its normal form, checked, as a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orla import schema
from orla.errors import OrlaError
from orla.study import config_checks
from orla.study.compatibility import check_compatibility
from orla.study.config_schema import config_schema
from orla.study.declarations import SECTIONS, Declarations, read_declarations
from orla.study.plan import Plan
from orla.study.seeds import add_lock_seeds
from orla.yaml_files import read_yaml

# Mappings of names, from which an overlay takes an entry away by setting it to null.
_NAME_MAPPINGS = {"numerics", "quantities", "pairs", "comparisons", "grids", "splits", "of"}
_NAME_MAPPINGS |= {*SECTIONS.values(), "models", "texts"}


def read_plan(files: Iterable[Path], values: Mapping[str, Any] | None = None) -> Plan:
    """The plan of ``config.yaml`` with overlays, a later one first, as Snakemake reads them.

    `values` come last, as those of Snakemake's ``--config``.
    """
    base = Path("config.yaml")
    config: dict[str, Any] = {}
    for path in [base, *(file for file in files if file.resolve() != base.resolve())]:
        _merge_overlay(config, read_yaml(path) or {})
    _merge_overlay(config, values or {})
    return plan_from_config(sort_and_drop_nulls(config))


def _merge_overlay(config: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Set in `config` what an overlay says, mapping by mapping."""
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            _merge_overlay(config[key], value)
        else:
            config[key] = value


def plan_from_config(raw: Mapping[str, Any]) -> Plan:
    """The plan of a config in its normal form, with all defaults; `raw` is left as it is."""
    _check_yaml_values(raw)
    config = sort_and_drop_nulls(raw)
    plugins = config.get("plugins", [])
    if not isinstance(plugins, list) or not all(isinstance(p, str) for p in plugins):
        raise OrlaError('config: "plugins" must be a list of folders')
    parts = read_declarations(plugins)
    keys = config_schema(parts)
    schema.validate(config, keys, "config")
    tasks = _add_sources(config["tasks"], parts)
    tasks = add_lock_seeds(tasks, config["registrations"]["folders"])
    plan = Plan(config | {"tasks": tasks}, parts)
    config_checks.check_sessions(plan.config["tasks"])
    for i, block in enumerate(config["conditions"]):
        config_checks.check_block_names(plan, f"conditions[{i}]", block)
    config_checks.check_tasks(plan)
    config_checks.check_numerics(plan)
    for probe in config["probes_of_all"]:
        plan.check_name("probe", probe, "probes_of_all")
    for network in config["pretraining"].get("of", {}):
        config_checks.require_one_of("pretraining.of", network, config["networks"])
    config_checks.check_strides(plan)
    config_checks.refuse_scaling_if_scale_free(plan)
    config_checks.check_truth_alpha(plan)
    config_checks.check_part_lengths(plan)
    config_checks.check_grids(plan, keys["properties"]["grids"])
    config_checks.check_horizons(plan)
    config_checks.check_comparisons(plan)
    config_checks.check_quantities(plan)
    check_compatibility(plan)
    return plan


def _check_yaml_values(values: Any, place: str = "") -> None:
    """Refuse keys that are no text, numbers that are not finite, and texts with the character 0."""
    at = f'"{place.lstrip(".")}"'
    if isinstance(values, list):
        for i, value in enumerate(values):
            _check_yaml_values(value, f"{place}[{i}]")
    if isinstance(values, (int, float)) and not abs(values) < 2**64:
        raise OrlaError(f"config: {at} is {values:.3g}; give a finite number")
    if isinstance(values, str) and "\0" in values:
        raise OrlaError(f"config: {at} holds the character 0; write text")
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if not isinstance(key, str):
            raise OrlaError(
                f"config: the key {key} under {at} is no text: YAML reads "
                "20160630_01 as a number and off as false; put the name in quotes"
            )
        _check_yaml_values(value, f"{place}.{key}")


def _add_sources(tasks: Mapping[str, Any], parts: Declarations) -> dict[str, Any]:
    """The tasks; those that read files get their kind's default "source" where they name none."""
    kinds = {name: parts["task"][spec["kind"]] for name, spec in tasks.items()}
    return {
        name: {"source": kinds[name]["defaults"]["source"], **spec}
        if kinds[name]["needs_files"]
        else spec
        for name, spec in tasks.items()
    }


def sort_and_drop_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with sorted keys, so that their order in a file changes nothing.

    An entry of a mapping of names, such as a pair, is left out where an overlay sets it to null. A
    task or network that is left out is left out of the blocks of conditions too, and a block whose
    last one it was goes with it.
    """
    normal = _sort_keys_and_drop_nulls(config)
    if normal.get("quantities", {}) is None:  # an overlay takes all of them away
        del normal["quantities"]
    with suppress(AttributeError, TypeError):  # where the schema is going to refuse it
        for section in ("tasks", "networks"):
            nulls = {name for name, entry in config.get(section, {}).items() if entry is None}
            if nulls and "conditions" in normal:
                blocks = [(block, block.get(section) or []) for block in normal["conditions"]]
                normal["conditions"] = [
                    {**block, section: [name for name in names if name not in nulls]}
                    for block, names in blocks
                    if not names or not nulls.issuperset(names)
                ]
        per_network = normal.get("pretraining", {}).get("of", {})
        for name in nulls.intersection(per_network):
            del per_network[name]
    return normal


def _sort_keys_and_drop_nulls(values: Any, name: str = "") -> Any:
    """The values with the keys of each mapping sorted, and without names that are set to null."""
    if not isinstance(values, Mapping):
        return values
    entries = {k: v for k, v in values.items() if v is not None or name not in _NAME_MAPPINGS}
    return {key: _sort_keys_and_drop_nulls(entries[key], key) for key in sorted(entries)}
