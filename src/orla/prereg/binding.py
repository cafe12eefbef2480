"""What a registration of version 2 binds: the config and the code that its results depend on."""

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
from orla.provenance.code import files_of, hash_of, sources
from orla.schema import nearest
from orla.study.config import checked, settled
from orla.study.plan import Condition, Plan
from orla.study.quantities import Quantity, quantity_of

# What is only measured beside: it changes no held-out result.
_BESIDE = ("observers", "probes", "horizons")
# The catalogue makes parts of the config's options, which are bound, and computes nothing.
_MAKING = "orla/catalogue/"
_BLOCK = re.compile(r"^binds:.*\n(?:[ \t]+.*\n?)*", re.MULTILINE)


def of(plan: Plan, registration: Registration) -> dict[str, str]:
    """Hashes of the config and the code that a registration's results depend on.

    The config: the task with its pairs and source, the settings of pretraining for the network, the
    comparison, the statistics, and for each condition its network, learner, optimizer, start,
    rates, their growth, and seeds. The code: all that makes the task's episodes, the simulator
    included. Neither holds anything of reports, of how fast it is computed, or of other conditions.

    Args:
        plan: The plan of the study's config.
        registration: The registration; one whose conditions the study does not run has a hash of
            its own too.

    Returns:
        `config_sha256`, `code_sha256` and, where manipulation checks read quantities,
        `checks_sha256`, that of the config that those depend on; in hexadecimal.

    Raises:
        OrlaError: A part that the config names is no file of the package or of a plug-in.
    """
    config, about = plan.config, _quantity(plan, registration.quantity)
    if registration.quantity:
        bound = _of_quantity(plan, about) if about else {}
    else:
        comparison = config["comparisons"].get(registration.comparison, {})
        bound = _of_jobs(plan, conditions(plan, registration)) | {
            "task": config["tasks"].get(registration.task),
            "comparison": comparison.get("minus"),
            "pretraining": _pretraining(
                config["pretraining"], registration.conditions["architecture"]
            ),
        }
    names = {term.where["task"] for term in about.terms} if about else {registration.task}
    tasks = [config["tasks"].get(name) for name in sorted(names)]
    kinds = dict.fromkeys(task["kind"] for task in tasks if task)
    files = [file for kind in kinds for file in files_of("task", kind)]
    code = {
        name: digest
        for name, digest in sources("orla.tasks.episode", *files).items()
        if not name.startswith(_MAKING)
    }
    checked = {name: _quantity(plan, name) for name in registration.checked}
    read = {name: _of_quantity(plan, each) if each else None for name, each in checked.items()}
    return {
        "config_sha256": _digest(bound),
        "code_sha256": hash_of(code),
        **({"checks_sha256": _digest(read)} if read else {}),
    }


def _of_jobs(plan: Plan, run: Iterable[Condition]) -> dict[str, Any]:
    jobs = [plan.job(condition) for condition in run]
    return {
        "jobs": [{k: v for k, v in job.items() if k not in _BESIDE} for job in jobs],
        "stable_windows": plan.config.get("stable_windows"),
        "statistics": {k: v for k, v in plan.config["statistics"].items() if k != "main"},
    }


def _of_quantity(plan: Plan, about: Quantity) -> dict[str, Any]:
    config, run = plan.config, _conditions(plan, about)
    tasks = sorted({term.where["task"] for term in about.terms})
    networks = sorted({condition.architecture for condition in run})
    return _of_jobs(plan, run) | {
        "tasks": {name: config["tasks"].get(name) for name in tasks},
        "quantity": config["quantities"][about.name],
        # What a probe measures of these models is the quantity itself.
        "watched": [{k: plan.job(c)[k] for k in ("observers", "probes")} for c in run],
        "pretraining": {n: _pretraining(config["pretraining"], n) for n in networks},
    }


def _digest(bound: Any) -> str:
    text = json.dumps(settled(bound), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sweeps(plan: Plan, registration: Registration) -> list[str]:
    """Paths below the results of the sweeps of all quantities that a registration reads."""
    names = [name for name in (registration.quantity, *registration.checked) if name]
    read = [about for name in names if (about := _quantity(plan, name))]
    return sorted({condition.path for about in read for condition in _conditions(plan, about)})


def of_all(plan: Plan, registrations: Iterable[Registration]) -> dict[str, dict[str, str]]:
    """`of` each registration of version 2 that is for the plan's study, by name."""
    return {
        known.name: of(plan, known)
        for known in registrations
        if plan.config["name"] in known.studies
    }


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


def demand(plan: Plan, registration: Registration) -> None:
    """Refuse a registration that the study would not answer as it says.

    Raises:
        OrlaError: Naming what differs: the study, the comparison, the pairs, the learners or the
            seeds.
    """
    name, config = f"registration {registration.name}", plan.config
    if config["name"] not in registration.studies:
        raise OrlaError(
            f'{name}: study "{config["name"]}" is not among its studies '
            f"({', '.join(registration.studies)}); name the config that it is for"
        )
    for quantity in registration.checked:
        _demand_quantity(plan, registration, quantity)
    if registration.quantity:
        _demand_quantity(plan, registration, registration.quantity, registration.scale)
        return
    minus = config["comparisons"].get(registration.comparison, {}).get("minus")
    if minus != list(registration.minus):
        raise OrlaError(
            f"{name}: the config's comparison {registration.comparison} is {minus}, not "
            f'{list(registration.minus)}; correct "minus" or "comparison"'
        )
    found = conditions(plan, registration)
    wanted = registration.pairs * 2
    if len(found) != wanted or {c.seeds for c in found} != {registration.seeds}:
        told = sorted({f"{c.pair or c.task}, {c.learner}: {c.seeds} seeds" for c in found})
        raise OrlaError(
            f"{name}: the config runs {len(found)} of the {wanted} conditions, two learners on "
            f"each of {registration.pairs} pairs with {registration.seeds} seeds "
            f'({"; ".join(told[:4]) or "none"}); correct "sample" or the config'
        )


def _demand_quantity(
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
    found = _conditions(plan, about)
    pairs, seeds = {c.pair for c in found}, {c.seeds for c in found}
    if len(pairs) != registration.pairs or seeds != {registration.seeds}:
        raise OrlaError(
            f"{name}: the config runs {quantity} on {len(pairs)} pairs with {sorted(seeds)} seeds, "
            f'not {registration.pairs} with {registration.seeds}; correct "sample" or the config'
        )


def _quantity(plan: Plan, name: str) -> Quantity | None:
    """A quantity of the config; None where it has none of this name."""
    given = plan.config.get("quantities", {}).get(name)
    return quantity_of(name, given) if given else None


def write(path: Path, hashes: Mapping[str, Any]) -> None:
    """Write ``binds`` into a registration's file, in place of an older one."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    block = yaml.safe_dump({"binds": dict(hashes)}, sort_keys=False)
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
    return checked(settled(config))


def _lay_over(config: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            _lay_over(config[key], value)
        else:
            config[key] = value


def _pretraining(given: Mapping[str, Any], network: str) -> dict[str, Any]:
    """Settings of pretraining for a network."""
    own = given.get("of", {}).get(network, {})
    return {k: v for k, v in given.items() if k != "of"} | own
