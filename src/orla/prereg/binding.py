"""What a registration binds: a public record of each condition, and the behaviour of every part."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.files import atomic, sha256
from orla.prereg import demands
from orla.prereg.registration import Registration
from orla.provenance.code import files_of_parts, syntax_hash
from orla.study.config import sort_and_drop_nulls
from orla.study.declarations import job_parts
from orla.study.plan import Condition, Plan
from orla.study.seeds import remove_lock_seeds

_BLOCK = re.compile(r"^binds:.*\n(?:[ \t]+.*\n?)*", re.MULTILINE)
_ROOTS = ("orla.study.sweep", "orla.study.pretraining", "orla.results.base", "orla.prereg.judge")
# What is public of a job, by the names that the record has.
_PARTS = ("network", "learner", "optimizer", "start", "interventions", "observers", "probes")
_RECORD = {part: part for part in _PARTS} | {
    "condition": "keys",
    "networks a pair": "seeds",
    "learning rates": "learning_rates",
    "growth of the grid": "growth",
    "freezing points": "stable_windows",
}


def config_bindings(plan: Plan, registrations: Iterable[Registration]) -> dict[str, dict[str, Any]]:
    """What the plan's study binds of each registration that is for it, by name."""
    study = plan.config["name"]
    return {
        each.name: config_binding(plan, each) for each in registrations if study in each.studies
    }


def config_binding(plan: Plan, registration: Registration) -> dict[str, Any]:
    """`record_sha256`, and `refused`, why the study does not answer the registration as it says.

    The record holds what the results depend on: nothing of reports, of how fast it is computed, of
    seeds that follow from a lock, or of where recordings lie. One that was bound before recordings
    were is compared with the record of then.
    """
    former = bool(registration.binds) and "recordings" not in registration.binds
    if registration.quantity:
        study = _quantity_record(plan, registration.quantity, former) or {}
    else:
        conditions = demands.compared_conditions(plan, registration)
        study = _conditions_record(plan, conditions, former)
        comparison = plan.config["comparisons"].get(registration.comparison, {})
        study["comparison"] = comparison.get("minus")
    checks = {n: _quantity_record(plan, n, former) for n in registration.checked_quantities}
    entries = {"study": study, "checks": checks}
    if not former:
        entries["folders"] = plan.config["registrations"]["folders"]
    text = json.dumps(sort_and_drop_nulls(entries), sort_keys=True)
    record = {"record_sha256": hashlib.sha256(text.encode()).hexdigest()}
    try:
        demands.check_study_answers(plan, registration)
    except OrlaError as error:
        record["refused"] = str(error)
    return record


def _quantity_record(plan: Plan, name: str, former: bool) -> dict[str, Any] | None:
    """The record of a quantity; None where the config has none of this name."""
    if (entry := plan.config.get("quantities", {}).get(name)) is None:
        return None
    conditions = demands.quantity_conditions(plan, [name])
    return _conditions_record(plan, conditions, former) | {"quantity": entry}


def _conditions_record(plan: Plan, conditions: Sequence[Condition], former: bool) -> dict[str, Any]:
    """The record of conditions, with the settings that were bound then or are bound now."""
    settings = _former_bound_settings if former else _bound_settings
    return {
        "conditions": [
            {name: job[key] for name, key in _RECORD.items()} for job in map(plan.job, conditions)
        ],
        "pretraining": {
            c.architecture: plan.pretraining_settings(c.architecture) for c in conditions
        },
        "statistics": {k: v for k, v in plan.config["statistics"].items() if k != "main"},
    } | settings(plan, conditions)


def _bound_settings(plan: Plan, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Tasks of conditions, by pair, and numeric configurations; no file, and no seed of a lock."""
    tasks: dict[str, Any] = {}
    for c in conditions:
        task = tasks[c.domain] = dict(remove_lock_seeds(plan.task_settings(c.domain)))
        if (source := task.get("source")) and source in task:
            own, sums = _session_names(task), task[source].get("md5", {})
            own_sums = {session: sums[session] for session in sums if session in own}
            task[source] = task[source] | {"files": None, "md5": own_sums}
    numerics = plan.config.get("numerics", {})
    return {
        "tasks": tasks,
        "numerics": {c.precision: numerics.get(c.precision) for c in conditions},
    }


def _former_bound_settings(plan: Plan, conditions: Sequence[Condition]) -> dict[str, Any]:
    """What was bound before recordings were: whole tasks, with the paths of their files."""
    tasks, pairs = {}, {c.pair for c in conditions}
    for name in {c.task for c in conditions}:
        task = plan.config["tasks"][name]
        of_task = {pair: each for pair, each in task.get("pairs", {}).items() if pair in pairs}
        tasks[name] = remove_lock_seeds({**task, "pairs": of_task} if of_task else task)
    return {"tasks": tasks}


def _session_names(task: Mapping[str, Any]) -> list[str]:
    """The sessions of a task's pairs, or its one recording."""
    if "recording" in task:
        return [task["recording"]]
    return [pair[side] for pair in task["pairs"].values() for side in "ab"]


def recording_hashes(plan: Plan, registration: Registration) -> dict[str, str]:
    """TASK/SESSION -> SHA-256 of the user's file of each session that it depends on.

    OrlaError where a file is not there. Downloads are held to their sums in the config.
    """
    sums: dict[str, str] = {}
    for c in demands.compared_and_checked_conditions(plan, registration):
        task = plan.task_settings(c.domain)
        files = task.get(task.get("source"), {}).get("files", {})
        for session in _session_names(task) if files else ():
            name, file = f"{c.task}/{session}", Path(files[session])
            if variable := re.match("<(.+?)>", files[session]):  # as of <recordings>/day.npz
                folder = plan.config["pathvars"][variable[1]]
                file = Path(files[session].replace(variable[0], folder))
            if not file.is_file():
                raise OrlaError(
                    f"{file}: no such file; what it holds is bound by {registration.name}"
                )
            sums[name] = sums.get(name) or sha256(file)
    return sums


def behaviour_fingerprints(
    plan: Plan, registration: Registration, cached_results: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Fingerprints of all `parts` that it depends on, and `syntax_sha256`, which decides nothing.

    It takes a few seconds; what `cached_results` holds of other registrations is not run again.
    """
    from orla.prereg import fingerprint  # imports PyTorch

    conditions = demands.compared_and_checked_conditions(plan, registration)
    parts = fingerprint.behaviour_trials(plan, conditions, registration)
    return {
        "parts": fingerprint.behaviour_hashes(parts, cached_results),
        "syntax_sha256": syntax_hash(*code_roots(plan, conditions)),
    }


def code_roots(plan: Plan, conditions: Sequence[Condition]) -> list[str | Path]:
    """Modules, and files of parts, that conditions are computed and judged by."""
    parts = {part for c in conditions for part in job_parts(plan.job(c), plan.declarations)}
    parts |= {("task", plan.spec("task", c.task)["kind"]) for c in conditions}
    return [*_ROOTS, *files_of_parts(sorted(parts))]


def write_binds(path: Path, binds: Mapping[str, Any]) -> None:
    """Write ``binds`` into a registration's file, in place of an older one."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    block = yaml.safe_dump({"binds": dict(binds)}, sort_keys=False)
    with atomic(path) as partial:
        partial.write_text(text.rstrip("\n") + "\n" + block, encoding="utf-8")
