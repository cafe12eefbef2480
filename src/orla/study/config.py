"""Checks of a config beyond its schema, and its normal form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from orla import schema
from orla.errors import OrlaError, prefix_errors
from orla.schema import nearest
from orla.study import rates
from orla.study.config_schema import config_schema
from orla.study.declarations import Declarations, read_declarations
from orla.study.fitting import check_fit
from orla.study.keys import FORMATS
from orla.study.plan import SECTIONS, Plan, require_one_of
from orla.study.quantities import SCORES, parse_quantity
from orla.study.seeds import add_lock_seeds
from orla.truth.worlds import WINDOW

# Sections that may be a whole study, without conditions.
CHAPTERS = {"vision", "language"}

# The highest alpha that src/orla/prereg/schemas.yaml allows.
HIGHEST_ALPHA = 0.1

# Mappings of names, from which an overlay takes an entry away by setting it to null.
_NAME_MAPPINGS = {"numerics", "quantities", "pairs", "comparisons", "grids", "splits", "of"}
_NAME_MAPPINGS |= {*SECTIONS.values(), "models", "texts"}


def plan_from_config(raw: Mapping[str, Any]) -> Plan:
    """The plan of a config in its normal form, with all defaults; `raw` is left as it is."""
    _require_text_keys(raw)
    config = sort_and_drop_nulls(raw)
    plugins = config.get("plugins", [])
    if not isinstance(plugins, list) or not all(isinstance(p, str) for p in plugins):
        raise OrlaError('config: "plugins" must be a list of folders')
    parts = read_declarations(plugins)
    keys = config_schema(parts)
    schema.validate(config, keys, "config")
    plan = Plan(config | {"tasks": add_lock_seeds(_with_sources(config["tasks"], parts))}, parts)
    _check_sessions(plan.config["tasks"])
    _check_numerics(plan)
    for probe in config["probes_of_all"]:
        plan.check_name("probe", probe, "probes_of_all")
    for network in config["pretraining"].get("of", {}):
        require_one_of("pretraining.of", network, config["networks"])
    _check_strides(plan)
    _check_scales(plan)
    _check_part_lengths(plan)
    _check_grids(plan, keys["properties"]["grids"])
    _check_horizons(plan)
    _check_comparisons(plan)
    _check_quantities(plan)
    assumption = config["registrations"]["assume"]
    require_one_of("registrations.assume.task", assumption["task"], config["tasks"])
    if assumption["pair"] is not None and config["registrations"]["folders"]:
        pairs = plan.pair_folders(assumption["task"])
        require_one_of("registrations.assume.pair", assumption["pair"], pairs)
    check_fit(plan)
    return plan


def _require_text_keys(values: Any, place: str = "") -> None:
    """Refuse keys that are no text, numbers that are not finite, and texts with the character 0."""
    at = f'"{place.lstrip(".")}"'
    if isinstance(values, list):
        for i, value in enumerate(values):
            _require_text_keys(value, f"{place}[{i}]")
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
        _require_text_keys(value, f"{place}.{key}")


def _with_sources(tasks: Mapping[str, Any], parts: Declarations) -> dict[str, Any]:
    """The tasks, of which each that reads files says where they come from."""
    kinds = {name: parts["task"][spec["kind"]] for name, spec in tasks.items()}
    return {
        name: {"source": kinds[name]["defaults"]["source"], **spec}
        if kinds[name]["needs_files"]
        else spec
        for name, spec in tasks.items()
    }


def _check_sessions(tasks: Mapping[str, Any]) -> None:
    """Refuse a pair that names a session of no file."""
    for task, spec in tasks.items():
        source = spec.get("source")
        if source not in ("nwb", "binned"):
            continue
        files, place = spec.get(source, {}).get("files", {}), f"tasks.{task}.{source}.files"
        if "recording" in spec:
            where = f", no session of {place}"
            require_one_of(f"tasks.{task}.recording", spec["recording"], files, where)
            continue
        for name, pair in spec["pairs"].items():
            if len({files.get(pair[side], side) for side in "ab"}) == 1:
                raise OrlaError(
                    f"config: the pair {name} of tasks.{task} is one recording twice; give two"
                )
            for session in (pair["a"], pair["b"]):
                if session not in files:
                    raise OrlaError(
                        f'config: "{place}" has no session {session} of the pair {name}; '
                        f"{nearest(session, files)}; name its file, or, where the pair is not "
                        f"yours, leave it out with {name}: null"
                    )


def _check_numerics(plan: Plan) -> None:
    """Refuse a name that would stand in a condition's path for something else."""
    owners = dict.fromkeys(FORMATS, "a format")
    for kind in ("intervention", "start"):
        names = [*plan.declared[kind], *plan.config.get(SECTIONS[kind], {})]
        owners |= dict.fromkeys(names, f"the name of a part ({kind})")
    for name in plan.config.get("numerics", {}):
        if name in owners:
            raise OrlaError(f'config: "numerics.{name}" is {owners[name]} too; give another name')
    precisions = dict.fromkeys(c.precision for c in plan.conditions)
    if precisions:
        rates_of = plan.config["statistics"].get("rates_of", *[*precisions][:1])
        require_one_of("statistics.rates_of", rates_of, precisions)
    elif not CHAPTERS & plan.config.keys():
        raise OrlaError('config: "conditions" is empty; give a block')


def _check_strides(plan: Plan) -> None:
    """Refuse a learner's stride that divides no window, and a probe's that is no multiple of it."""
    for c in plan.conditions:
        window, stride = plan.window(c.task), plan.stride(c.learner)
        if window % stride:
            raise OrlaError(
                f"config: {c.learner} updates every {stride} steps and a window of {c.task} has"
                f" {window}; make the window a multiple of that"
            )
        for probe in c.probes:
            for steps in (
                plan.declared_steps("probe", probe, option) for option in ("stride", "kept")
            ):
                if steps % window:
                    raise OrlaError(
                        f"config: {probe} measures every {steps} steps and a window of {c.task} has"
                        f" {window}; give the probe a multiple of that"
                    )


def _check_scales(plan: Plan) -> None:
    """Refuse an intervention that only scales the gradient of an optimizer that is scale free."""
    for c, (block, *_) in plan.blocks_by_condition.items():
        if c.interventions and plan.declaration("optimizer", c.optimizer)["more"]["scale_free"]:
            last = c.interventions[-1]
            if plan.declaration("intervention", last)["more"]["scales"]:
                raise OrlaError(
                    f'config: "conditions[{block}]" has {last} with {c.optimizer}, whose updates do'
                    " not depend on the gradient's scale, so that it changes nothing; take one out"
                )


def _check_part_lengths(plan: Plan) -> None:
    """Refuse parts that are no whole windows, and an alpha that no registration may have."""
    truth, alpha = plan.config["truth"], plan.config["statistics"]["alpha"]
    if truth["studies"] and alpha > HIGHEST_ALPHA:
        raise OrlaError(
            f'config: made-up studies are judged by registrations, whose "alpha" is at most '
            f'{HIGHEST_ALPHA}, and "statistics.alpha" is {alpha}; '
            "lower it, or set truth.studies to 0"
        )
    lengths = [(f"truth.steps.{part}", steps, WINDOW) for part, steps in truth["steps"].items()]
    for task in dict.fromkeys(c.task for c in plan.conditions):
        names = ("window", "pretraining", "adapt", "heldout")
        window, *steps = (plan.option("task", task, name) for name in names)
        places = (f"tasks.{task}.{part}" for part in names[1:])
        lengths += ((p, n, window) for p, n in zip(places, steps, strict=True) if n and window)
    for place, steps, window in lengths:
        if steps % window:
            raise OrlaError(
                f'config: "{place}" is {steps} steps, no multiple of the window of {window}; '
                "change one of them"
            )


def _check_grids(plan: Plan, keys: Mapping[str, Any]) -> None:
    """Check the grids of the config and those of the optimizers' classes alike."""
    declared = {name: part["more"]["grid"] for name, part in plan.declared["optimizer"].items()}
    of_classes = {name: grid for name, grid in declared.items() if grid}
    schema.validate(of_classes, keys, "grid= in the class of an optimizer")
    for optimizer in plan.config["grids"]:
        plan.check_name("optimizer", optimizer, "grids")
    for place, grids in (
        ('config: "grids.{}.{}"', plan.config["grids"]),
        ('grid= in the class of optimizer {}, "{}"', of_classes),
    ):
        for optimizer, cadences in grids.items():
            for cadence, values in cadences.items():
                with prefix_errors(place.format(optimizer, cadence)):
                    rates.grid_indices(values)
    for condition in plan.conditions:
        plan.grid(condition)


def _check_horizons(plan: Plan) -> None:
    """Refuse horizons of no condition's task, split or learner, or of no whole windows."""
    horizons = plan.config["horizons"]
    for task in horizons["tasks"]:
        require_one_of("horizons.tasks", task, plan.config["tasks"])
        on_task = [c for c in plan.conditions if c.task == task]
        if not on_task:
            raise OrlaError(
                f'config: "horizons.tasks" has {task}, on which no condition runs; set horizons: '
                "{tasks: []}, or name a task that is run"
            )
        require_one_of("horizons.split", horizons["split"], sorted({c.split for c in on_task}))
        learners = sorted({c.learner for c in on_task if c.split == horizons["split"]})
        for learner in horizons["learners"]:
            where = f", of which no condition runs on {task}, {horizons['split']}"
            require_one_of("horizons.learners", learner, learners, where)
        window = plan.window(task)
        for step in horizons["steps"]:
            if step % window or step < 2 * window:
                raise OrlaError(
                    f'config: "horizons.steps" has {step}; give multiples of the window of {task} '
                    f"({window}), two windows at least: to learn on, and to choose the rate by"
                )


def _check_comparisons(plan: Plan) -> None:
    """Refuse comparisons of unknown learners, and a main one whose two learners are not run."""
    learners_of = {name: entry["minus"] for name, entry in plan.config["comparisons"].items()}
    for name, learners in learners_of.items():
        for learner in learners:
            plan.check_name("learner", learner, f"comparisons.{name}")
    if not learners_of:
        return
    main = plan.config["statistics"]["main"]
    require_one_of("statistics.main", main, learners_of)
    run = defaultdict(set)  # learners of conditions that differ in nothing else
    for c in plan.conditions:
        run[tuple(v for k, v in c.keys.items() if k != "learner")].add(c.learner)
    names = [n for n, both in learners_of.items() if any(map(set(both).issubset, run.values()))]
    if names and main not in names:
        raise OrlaError(
            f'config: "statistics.main" is {main}, and no condition has both of its learners '
            f"({' and '.join(learners_of[main])}); name one that is run: {', '.join(names)}"
        )


def _check_quantities(plan: Plan) -> None:
    """Refuse a quantity of conditions that are not run, or of columns that they do not have."""
    for name, spec in plan.config.get("quantities", {}).items():
        quantity = parse_quantity(name, spec)
        place = f'config: "quantities.{name}"'
        for term in quantity.terms:
            where = term.where | ({"pair": quantity.pair} if quantity.pair else {})
            conditions = [c for c in plan.conditions if where.items() <= c.keys.items()]
            if not conditions:
                labels = ", ".join(term.where.values())
                raise OrlaError(f"{place} needs a condition that is not run: {labels}; add it")
            if quantity.unit == "seed" and len(conditions) > 1:
                raise OrlaError(f"{place}: {len(conditions)} pairs are run; name one under at.pair")
            c, columns = conditions[0], [*SCORES]
            for probe in c.probes:
                columns += plan.declaration("probe", probe)["more"]["columns"]
            columns += plan.seeds_by_peer_column(c.task)
            if term.column not in columns:
                raise OrlaError(
                    f"{place}: {c.learner} with {c.optimizer} has no column"
                    f" {term.column}; add its probe, or {nearest(term.column, columns)}"
                )


def sort_and_drop_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with sorted keys, so that their order in a file changes nothing.

    An entry of a mapping of names, such as a pair, is left out where an overlay sets it to null. A
    task or network that is left out is left out of the blocks of conditions too, and a block whose
    last one it was goes with it.
    """
    normal = _sort_keys(config)
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


def _sort_keys(values: Any, name: str = "") -> Any:
    """The values with the keys of each mapping sorted, and without names that are set to null."""
    if not isinstance(values, Mapping):
        return values
    entries = {k: v for k, v in values.items() if v is not None or name not in _NAME_MAPPINGS}
    return {key: _sort_keys(entries[key], key) for key in sorted(entries)}
