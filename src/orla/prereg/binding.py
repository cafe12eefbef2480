"""What a registration binds: a public record of each condition, and the behaviour of every part.

The behaviour is that of `orla.prereg.fingerprint`; the syntax of the code is shown beside it, and
decides nothing.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.files import atomic
from orla.prereg.documents import parse
from orla.prereg.registration import Registration
from orla.provenance.code import files_of, hash_of, source_digests
from orla.results.guards import LEAST_RATES
from orla.schema import nearest
from orla.study.config import normal_form, plan_from_config
from orla.study.plan import Condition, Plan
from orla.study.quantities import Quantity, quantity_of
from orla.study.seeds import without_locks

_BLOCK = re.compile(r"^binds:.*\n(?:[ \t]+.*\n?)*", re.MULTILINE)
_ROOTS = ("orla.study.sweep", "orla.study.pretraining", "orla.results.base", "orla.prereg.judge")


def bound(plan: Plan, registration: Registration) -> dict[str, Any]:
    """What a study binds of a registration, behaviour apart; quick, without PyTorch.

    The record holds the task with its source, the settings of pretraining for the network, the
    comparison or quantity, the statistics, and for each condition its network, learner, optimizer,
    start, rates, their growth, and seeds. It holds nothing of reports, of how fast it is computed,
    of other conditions, or of seeds that follow from a lock.

    Returns:
        `record_sha256`, and `refused`, why the study does not answer the registration as it says.
    """
    record = {"study": record_of(plan, registration)}
    record["checks"] = {
        name: _quantity_record(plan, each) if (each := _quantity(plan, name)) else None
        for name in registration.checked
    }
    try:
        check_answered(plan, registration)
    except OrlaError as error:
        return {"record_sha256": _digest(record), "refused": str(error)}
    return {"record_sha256": _digest(record)}


def record_of(plan: Plan, registration: Registration) -> dict[str, Any]:
    """The public record of all that a registration's results depend on, code apart."""
    config, about = plan.config, _quantity(plan, registration.quantity)
    if registration.quantity:
        return _quantity_record(plan, about) if about else {}
    comparison = config["comparisons"].get(registration.comparison, {}).get("minus")
    return _records(plan, conditions(plan, registration)) | {"comparison": comparison}


def _quantity_record(plan: Plan, about: Quantity) -> dict[str, Any]:
    record = _records(plan, _conditions(plan, about))
    return record | {"quantity": plan.config["quantities"][about.name]}


def _records(plan: Plan, run: Iterable[Condition]) -> dict[str, Any]:
    run, config = list(run), plan.config
    return {
        "conditions": [_record(plan, condition) for condition in run],
        "tasks": {name: _task(config["tasks"][name], run) for name in {c.task for c in run}},
        "pretraining": {c.architecture: plan.pretraining(c.architecture) for c in run},
        "statistics": {k: v for k, v in config["statistics"].items() if k != "main"},
    }


def _task(task: Mapping[str, Any], run: Iterable[Condition]) -> Mapping[str, Any]:
    """A task with the pairs that conditions are run on, without seeds that follow from a lock."""
    names = {c.pair for c in run}
    pairs = {name: pair for name, pair in task.get("pairs", {}).items() if name in names}
    return without_locks({**task, "pairs": pairs} if pairs else task)


def _record(plan: Plan, condition: Condition) -> dict[str, Any]:
    c = condition
    return {
        "condition": c.keys,
        "networks a pair": c.seeds,
        "network": plan.spec("architecture", c.architecture),
        "learner": plan.spec("learner", c.learner),
        "optimizer": plan.spec("optimizer", c.optimizer),
        "start": plan.spec("start", c.start),
        "interventions": [plan.spec("intervention", name) for name in c.interventions],
        "observers": {name: plan.spec("learner", name) for name in c.observers},
        "probes": [plan.spec("probe", name) for name in c.probes],
        "learning rates": plan.grid(c),
        "growth of the grid": plan.config["grid_growth"],
        "freezing points": plan.config["stable_windows"],
    }


def _digest(record: Any) -> str:
    text = json.dumps(normal_form(record), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def behaviour(
    plan: Plan, registration: Registration, answers: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`parts`, the fingerprint of every part that a registration depends on, and `syntax_sha256`.

    It runs the parts, in a few seconds; those of other registrations that `answers` holds are not
    run again.
    """
    from orla.prereg import fingerprint  # imports PyTorch

    run = read_conditions(plan, registration)
    parts = fingerprint.parts(plan, run, registration)
    return {"parts": fingerprint.fingerprint(parts, answers), "syntax_sha256": syntax(plan, run)}


def syntax(plan: Plan, run: Iterable[Condition]) -> str:
    """Hash of the syntax trees, docstrings apart, of the code that conditions are computed by."""
    named = {part for c in run for part in _parts_of(plan, c)}
    files = [file for kind, name in sorted(named) for file in files_of(kind, name)]
    home = Path(__file__).parents[2]
    known = source_digests(*_ROOTS, *files)
    paths = {name: home / name for name in known if (home / name).is_file()}
    paths |= {file.name: file for file in files}
    trees = {name: _tree(path) for name, path in paths.items() if path.suffix == ".py"}
    return hash_of(trees)


def _parts_of(plan: Plan, condition: Condition) -> list[tuple[str, str]]:
    c = condition
    kinds = {"task": [c.task], "architecture": [c.architecture], "start": [c.start]}
    kinds |= {"learner": [c.learner, *c.observers], "optimizer": [c.optimizer]}
    kinds |= {"probe": c.probes, "intervention": c.interventions}
    return [
        (kind, plan.spec(kind, name)["kind"]) for kind, names in kinds.items() for name in names
    ]


def _tree(path: Path) -> str:
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def read_conditions(plan: Plan, registration: Registration) -> list[Condition]:
    """The conditions that a registration compares, and those that its checks read."""
    quantities = (_quantity(plan, name) for name in registration.checked)
    checks = (c for about in quantities if about for c in _conditions(plan, about))
    return list(dict.fromkeys([*conditions(plan, registration), *checks]))


def sweeps(plan: Plan, registration: Registration) -> list[str]:
    """Paths below the results of the conditions of all quantities that a registration reads."""
    names = [name for name in (registration.quantity, *registration.checked) if name]
    read = [about for name in names if (about := _quantity(plan, name))]
    return sorted({condition.path for about in read for condition in _conditions(plan, about)})


def bound_by(plan: Plan, registrations: Iterable[Registration]) -> dict[str, dict[str, Any]]:
    """What the plan's study binds of each registration that is for it, by name."""
    study = plan.config["name"]
    return {each.name: bound(plan, each) for each in registrations if study in each.studies}


def conditions(plan: Plan, registration: Registration) -> list[Condition]:
    """The conditions of a plan that a registration compares, of all its pairs."""
    if registration.quantity:
        about = _quantity(plan, registration.quantity)
        return _conditions(plan, about) if about else []
    where = registration.assumed | dict(registration.conditions)
    wanted = {key: value for key, value in where.items() if key != "estimand"}
    return [
        condition
        for condition in plan.conditions
        if condition.learner in registration.minus and wanted.items() <= condition.keys.items()
    ]


def _conditions(plan: Plan, about: Quantity) -> list[Condition]:
    return [
        condition
        for condition in plan.conditions
        if any(term.where.items() <= condition.keys.items() for term in about.terms)
        and about.pair in ("", condition.pair)
    ]


def check_answered(plan: Plan, registration: Registration) -> None:
    """Refuse a registration that the study would not answer as it says.

    Raises:
        OrlaError: Naming what differs: the study, the comparison, the pairs, the learners or the
            seeds, or a grid of fewer than three rates.
    """
    name, config = f"registration {registration.name}", plan.config
    if config["name"] not in registration.studies:
        raise OrlaError(
            f'{name}: study "{config["name"]}" is not among its studies '
            f"({', '.join(registration.studies)}); name the config that it is for"
        )
    for condition in read_conditions(plan, registration):
        if len(rates := plan.grid(condition)) < LEAST_RATES:
            raise OrlaError(
                f"{name}: {condition.learner} with {condition.optimizer} is tried at {len(rates)} "
                f"learning rates; give grids of at least {LEAST_RATES}"
            )
    for quantity in registration.checked:
        _check_quantity(plan, registration, quantity)
    if registration.quantity:
        _check_quantity(plan, registration, registration.quantity, registration.scale)
        return
    minus = config["comparisons"].get(registration.comparison, {}).get("minus")
    if minus != list(registration.minus):
        raise OrlaError(
            f"{name}: the config's comparison {registration.comparison} is {minus}, not "
            f'{list(registration.minus)}; correct "minus" or "comparison"'
        )
    run = conditions(plan, registration)
    wanted = registration.pairs * 2
    if len(run) != wanted or {c.seeds for c in run} != {registration.seeds}:
        texts = sorted({f"{c.pair or c.task}, {c.learner}: {c.seeds} seeds" for c in run})
        raise OrlaError(
            f"{name}: the config runs {len(run)} of the {wanted} conditions, two learners on "
            f"each of {registration.pairs} pairs with {registration.seeds} seeds "
            f'({"; ".join(texts[:4]) or "none"}); correct "sample" or the config'
        )


def _check_quantity(
    plan: Plan, registration: Registration, quantity: str, scale: str | None = None
) -> None:
    name, about = f"registration {registration.name}", _quantity(plan, quantity)
    if about is None:
        raise OrlaError(
            f'{name}: the config has no quantity "{quantity}"; '
            f"{nearest(quantity, plan.config.get('quantities', {}))}"
        )
    wanted = {"unit": registration.unit} | ({} if scale is None else {"scale": scale})
    for what, registered in wanted.items():
        if (has := getattr(about, what)) != registered:
            raise OrlaError(
                f'{name}: {what} of {quantity} is "{has}" in the config, not "{registered}"; '
                f'correct "{what}"'
            )
    run = _conditions(plan, about)
    pairs, columns = {c.pair for c in run}, {term.column for term in about.terms}
    # A seed counts where each of River's models that is read was run on it.
    fewer = [n for c in run for name, n in plan.peers(c.task).items() if name in columns]
    seeds = {min([c.seeds, *fewer]) for c in run}
    if len(pairs) != registration.pairs or seeds != {registration.seeds}:
        raise OrlaError(
            f"{name}: the config runs {quantity} on {len(pairs)} pairs with {sorted(seeds)} seeds, "
            f'not {registration.pairs} with {registration.seeds}; correct "sample" or the config'
        )


def _quantity(plan: Plan, name: str) -> Quantity | None:
    """A quantity of the config; None where it has none of this name."""
    entry = plan.config.get("quantities", {}).get(name)
    return quantity_of(name, entry) if entry else None


def write(path: Path, binds: Mapping[str, Any]) -> None:
    """Write ``binds`` into a registration's file, in place of an older one."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    block = yaml.safe_dump({"binds": dict(binds)}, sort_keys=False)
    with atomic(path) as partial:
        partial.write_text(text.rstrip("\n") + "\n" + block, encoding="utf-8")


def plan_of(files: Iterable[Path]) -> Plan:
    """The plan of ``config.yaml`` with overlays, as Snakemake reads them with --configfile.

    Args:
        files: Overlays, a later one first where they differ. ``config.yaml`` itself may be among
            them.

    Raises:
        OrlaError: A file is missing or the config has a mistake.
    """
    base = Path("config.yaml")
    config: dict[str, Any] = {}
    for path in [base, *(file for file in files if file.resolve() != base.resolve())]:
        _lay_over(config, parse(path) or {})
    return plan_from_config(normal_form(config))


def results_folders(registration: Registration) -> list[Path]:
    """Folders of results of the configs here that a registration is for, by their names."""
    folders = []
    for path in (Path("config.yaml"), *sorted(Path("config").glob("*.yaml"))):
        config = parse(path) if path.is_file() else None
        if isinstance(config, Mapping) and config.get("name") in registration.studies:
            folders.append(Path(config.get("pathvars", {}).get("results", "results")))
    return list(dict.fromkeys(folders))


def _lay_over(config: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            _lay_over(config[key], value)
        else:
            config[key] = value
