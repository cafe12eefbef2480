"""Checks of a config's values against each other, each a refusal with its place and a remedy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from typing import Any

from orla import catalogue, schema
from orla.catalogue.entries import packaged_declarations
from orla.errors import OrlaError, prefix_errors
from orla.schema import nearest_hint, require_one_of
from orla.study import rates
from orla.study.condition import split_chain
from orla.study.declarations import PART_LISTS, SECTIONS
from orla.study.keys import FORMATS
from orla.study.plan import Plan
from orla.study.quantities import SCORES, parse_quantity
from orla.truth.worlds import WINDOW

# Sections that may be a whole study, without conditions.
CHAPTERS = {"vision", "language"}

# The highest alpha that src/orla/prereg/schemas.yaml allows.
HIGHEST_ALPHA = 0.1


def check_block_names(plan: Plan, place: str, block: Mapping[str, Any]) -> None:
    """Refuse names of a block that stand for nothing."""
    for key, kind in (("tasks", "task"), ("networks", "architecture")):
        for name in block[key]:
            if name in plan.declarations[kind] and name not in plan.config[key]:
                at = f'config: "{place}.{key}"'
                raise OrlaError(f"{at}: {name} is a kind; give it a name under {key}")
            require_one_of(f"{place}.{key}", name, plan.config[key])
    for key, kind in PART_LISTS.items():
        for name in block.get(key, ()) if key not in ("tasks", "networks") else ():
            for part in split_chain(name) if key == "interventions" else (name,):
                plan.check_name(kind, part, f"{place}.{key}")
    precisions = [*FORMATS, *plan.config.get("numerics", {})]
    for name in block.get("precisions", ()):
        require_one_of(f"{place}.precisions", name, precisions)
    for task, split in product(block["tasks"], block["splits"]):
        require_one_of(f"{place}.splits", split, plan.split_names(task), f" for {task}")


def check_sessions(tasks: Mapping[str, Any]) -> None:
    """Refuse a pair that names a session of no file, and one whose data another pair has too."""
    for task, spec in tasks.items():
        source = spec.get("source")
        files = spec.get(source, {}).get("files", {})
        place = f"tasks.{task}.{source}.files"
        if source in ("nwb", "binned") and "recording" in spec:
            where = f", no session of {place}"
            require_one_of(f"tasks.{task}.recording", spec["recording"], files, where)
        elif source in ("nwb", "binned"):
            for name, pair in spec["pairs"].items():
                _check_pair_files(task, place, files, name, pair)
        names: dict[str, str] = {}
        for name in spec["pairs"] if source else ():
            first = names.setdefault(_pair_data_identity(spec, files, name), name)
            if first != name:
                raise OrlaError(
                    f"config: the pairs {first} and {name} of tasks.{task} are the same data, which"
                    " would count twice; leave one out, or give it a seed or sessions of its own"
                )


def _pair_data_identity(spec: Mapping[str, Any], files: Mapping[str, str], name: str) -> str:
    """What decides a pair's data: the seed and settings of a simulation, or files."""
    data = dict(spec["pairs"][name])
    if "seed_from" in data:
        return name  # a lock gives each name a seed of its own
    if spec["source"] == "simulated":
        settings = {"drift_scale": None, "seed": spec.get("simulated", {}).get("seed")}
        return str([data.get(key, default) for key, default in settings.items()])
    return str(sorted((key, files.get(value, value)) for key, value in data.items()))


def _check_pair_files(
    task: str, place: str, files: Mapping[str, str], name: str, pair: Mapping[str, Any]
) -> None:
    """Refuse a pair of files that is one twice, or names a session of no file."""
    if len({files.get(pair[side], side) for side in "ab"}) == 1:
        raise OrlaError(f"config: the pair {name} of tasks.{task} is one recording twice; give two")
    for session in (pair["a"], pair["b"]):
        if session not in files:
            raise OrlaError(
                f'config: "{place}" has no session {session} of the pair {name}; '
                f"{nearest_hint(session, files)}; name its file, or, where the pair is not "
                f"yours, leave it out with {name}: null"
            )


def check_tasks(plan: Plan) -> None:
    """Refuse settings that a built-in task does not take; jobs check tasks that read files."""
    ours = packaged_declarations("parts")["task"]  # plug-ins are not loaded yet
    for task in dict.fromkeys(c.task for c in plan.conditions):
        kind = plan.spec("task", task)["kind"]
        if kind in ours and not ours[kind]["needs_files"]:
            with prefix_errors(f'config: "tasks.{task}"'):
                catalogue.make("task", plan.spec("task", task))


def check_numerics(plan: Plan) -> None:
    """Refuse numeric configurations of a taken name, unknown `rates_of`, and no conditions."""
    owners = dict.fromkeys(FORMATS, "a format")
    for kind in ("intervention", "start"):
        names = [*plan.declarations[kind], *plan.config.get(SECTIONS[kind], {})]
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


def check_strides(plan: Plan) -> None:
    """Refuse a learner's stride that divides no window, and a probe's that is no multiple of it."""
    for c in plan.conditions:
        window, stride = plan.window_steps(c.task), plan.stride(c.learner)
        if window % stride:
            raise OrlaError(
                f"config: {c.learner} updates every {stride} steps and a window of {c.task} has"
                f" {window}; make the window a multiple of that"
            )
        for probe, role in product(c.probes, ("stride", "kept")):
            if (steps := plan.steps_of_declared_option("probe", probe, role)) % window:
                raise OrlaError(
                    f"config: {probe} measures every {steps} steps and a window of {c.task} has"
                    f" {window}; give the probe a multiple of that"
                )


def refuse_scaling_if_scale_free(plan: Plan) -> None:
    """Refuse an intervention that only scales the gradient of an optimizer that is scale free."""
    for c, (block, *_) in plan.blocks_by_condition.items():
        if c.interventions and plan.declaration("optimizer", c.optimizer)["more"]["scale_free"]:
            last = c.interventions[-1]
            if plan.declaration("intervention", last)["more"]["scales"]:
                raise OrlaError(
                    f'config: "conditions[{block}]" has {last} with {c.optimizer}, whose updates do'
                    " not depend on the gradient's scale, so that it changes nothing; take one out"
                )


def check_truth_alpha(plan: Plan) -> None:
    """Refuse simulated studies at an alpha that no registration may have."""
    alpha = plan.config["statistics"]["alpha"]
    if plan.config["truth"]["studies"] and alpha > HIGHEST_ALPHA:
        raise OrlaError(
            f'config: made-up studies are judged by registrations, whose "alpha" is at most '
            f'{HIGHEST_ALPHA}, and "statistics.alpha" is {alpha}; '
            "lower it, or set truth.studies to 0"
        )


def check_part_lengths(plan: Plan) -> None:
    """Refuse parts that are no whole windows."""
    steps_by_part = plan.config["truth"]["steps"]
    lengths = [(f"truth.steps.{part}", steps, WINDOW) for part, steps in steps_by_part.items()]
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


def check_grids(plan: Plan, grids_schema: Mapping[str, Any]) -> None:
    """Check the grids of the config and those of the optimizers' classes alike."""
    parts = plan.declarations["optimizer"]
    class_grids = {n: part["more"]["grid"] for n, part in parts.items() if part["more"]["grid"]}
    schema.validate(class_grids, grids_schema, "grid= in the class of an optimizer")
    for optimizer in plan.config["grids"]:
        plan.check_name("optimizer", optimizer, "grids")
    for place, grids in (
        ('config: "grids.{}.{}"', plan.config["grids"]),
        ('grid= in the class of optimizer {}, "{}"', class_grids),
    ):
        for optimizer, cadences in grids.items():
            for cadence, values in cadences.items():
                with prefix_errors(place.format(optimizer, cadence)):
                    rates.grid_indices(values)
    for condition in plan.conditions:
        plan.grid(condition)


def check_horizons(plan: Plan) -> None:
    """Refuse horizons of no condition's task, split or learner, or of no whole windows."""
    horizons = plan.config.get("horizons", {})
    for task in horizons.get("tasks", ()):
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
        window = plan.window_steps(task)
        for step in horizons["steps"]:
            if step % window or step < 2 * window:
                raise OrlaError(
                    f'config: "horizons.steps" has {step}; give multiples of the window of {task} '
                    f"({window}), two windows at least: to learn on, and to choose the rate by"
                )


def check_comparisons(plan: Plan) -> None:
    """Refuse comparisons of unknown learners, and a main one whose two learners are not run."""
    learners_of = {name: entry["minus"] for name, entry in plan.config["comparisons"].items()}
    for name, learners in learners_of.items():
        for learner in learners:
            plan.check_name("learner", learner, f"comparisons.{name}")
    if not learners_of:
        return
    if (main := plan.config["statistics"].get("main")) is None:
        raise OrlaError(
            f'config: "statistics.main" is missing; name one of {", ".join(learners_of)}'
        )
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


def check_quantities(plan: Plan) -> None:
    """Refuse a quantity of conditions that are not run, or of columns that they do not have."""
    for name, spec in plan.config.get("quantities", {}).items():
        quantity = parse_quantity(name, spec)
        place = f'config: "quantities.{name}"'
        for term in quantity.terms:
            where = term.where | ({"pair": quantity.pair} if quantity.pair else {})
            conditions = [c for c in plan.conditions if where.items() <= c.keys.items()]
            if not conditions:
                labels = ", ".join(term.where.values())
                mend = "add it, or set the quantity, or all quantities, to null"
                raise OrlaError(f"{place} needs a condition that is not run: {labels}; {mend}")
            if quantity.unit == "seed" and len(conditions) > 1:
                raise OrlaError(f"{place}: {len(conditions)} pairs are run; name one under at.pair")
            c, columns = conditions[0], [*SCORES]
            for probe in c.probes:
                columns += plan.declaration("probe", probe)["more"]["columns"]
            columns += plan.seeds_by_peer_column(c.task)
            if term.column not in columns:
                raise OrlaError(
                    f"{place}: {c.learner} with {c.optimizer} has no column"
                    f" {term.column}; add its probe, or {nearest_hint(term.column, columns)}"
                )
