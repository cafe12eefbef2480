"""Fingerprints of behaviour: what each part that a verdict depends on does with a small input."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from orla.prereg import part_trials as trials
from orla.prereg import rule_trials
from orla.prereg.demands import find_quantities
from orla.prereg.registration import LATER_PARTS, Registration
from orla.programs import compiling
from orla.study.keys import peer_accuracy_column
from orla.study.plan import Condition, Plan

# Of an array's largest number; what is smaller is the rounding of a difference.
_NOTHING = 1e-12


def behaviour_hashes(
    parts: Mapping[str, partial], cached_results: dict[str, Any] | None = None
) -> dict[str, str]:
    """Part -> hash of its result, computed eagerly, in float64, to eight significant digits.

    A part is a function with its arguments, which may be such parts too. `cached_results` holds
    those of other registrations, and further ones are added to it.
    """
    cached_results = {} if cached_results is None else cached_results
    former_setting = compiling.enabled()
    compiling.configure(compile=False)
    try:
        return {name: value_digest(_run_part(part, cached_results)) for name, part in parts.items()}
    finally:
        compiling.configure(compile=former_setting)


def _run_part(part: Any, cached_results: dict[str, Any]) -> Any:
    """The result of a part; from `cached_results` where it has run before."""
    if not isinstance(part, partial):
        return part
    if (key := repr(part)) not in cached_results:
        cached_results[key] = part.func(*(_run_part(each, cached_results) for each in part.args))
    return cached_results[key]


def value_digest(value: Any) -> str:
    """Hash of numbers, texts, and arrays, tables, mappings and sequences of these."""
    lines = "".join(f"{text}\n" for text in _value_texts(value))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def _value_texts(value: Any) -> Iterator[str]:
    """The lines of text that a value is hashed by."""
    if isinstance(value, pd.DataFrame):
        value = {str(name): value[name].to_numpy() for name in value.columns}
    if isinstance(value, Mapping):
        for name in sorted(value, key=str):
            yield str(name)
            yield from _value_texts(value[name])
    elif isinstance(value, (list, tuple)) and not all(isinstance(v, (int, float)) for v in value):
        for each in value:
            yield from _value_texts(each)
    else:
        array = np.asarray(value)
        yield str(array.shape)
        if array.dtype.kind == "f":
            finite = np.abs(array[np.isfinite(array)])
            array = np.where(np.abs(array) <= _NOTHING * finite.max(initial=0.0), 0.0, array)
            yield " ".join(f"{number:.7e}" for number in array.ravel().astype(float))
        else:
            yield " ".join(map(str, array.ravel()))


def behaviour_trials(
    plan: Plan, conditions: Sequence[Condition], registration: Registration
) -> dict[str, partial]:
    """The trial of every part that a registration depends on, by the part's name."""
    parts: dict[str, partial] = {}
    for condition in conditions:
        task, architecture = condition.task, condition.architecture
        job = _small_job(plan, condition)
        network, optimizer, start = (job[part] for part in ("network", "optimizer", "start"))
        parts[f"episodes of {task}"] = partial(trials.episode_outputs, plan.spec("task", task))
        parts[f"network {architecture}"] = partial(trials.network_outputs, network)
        if plan.takes_pretrained(condition):
            settings = plan.pretraining_settings(architecture)
            name = f"pretraining of {architecture}"
            parts[name] = partial(trials.pretraining_outputs, network, settings)
        name = f"learner {condition.learner} of {architecture}"
        for kind in ("observers", "probes", "interventions"):
            if names := getattr(condition, kind):
                name += f", {kind} {' '.join(names)}"
        parts[name] = partial(trials.learner_outputs, job)
        parts[f"optimizer {condition.optimizer}"] = partial(trials.optimizer_outputs, optimizer)
        parts[f"start {condition.start}"] = partial(trials.start_outputs, start, network)
    diverged = partial(list)
    if conditions:
        models, judged = _models_and_judged_trials(plan, conditions, registration, [0.1, 0.3])
        parts["sweep and choice of the rate"] = partial(trials.rate_selection_outputs, models)
        parts["statistics"] = judged
        too_large = [1e3, 3e3]  # models diverge
        _, diverged = _models_and_judged_trials(plan, conditions, registration, too_large)
    for peer in quantity_peer_model_names(plan, conditions, registration):
        parts[f"River's {peer}"] = partial(trials.peer_model_outputs, peer)
    parts["guards"] = partial(rule_trials.guard_outputs)
    parts["judge"] = partial(rule_trials.judge_outputs, registration)
    generic = rule_trials.generic_registration(registration)
    later = (
        partial(rule_trials.reading_outputs, generic),
        partial(rule_trials.check_outputs, registration),
        partial(rule_trials.leave_one_out_outputs),
        partial(rule_trials.holm_family_outputs, generic),
        partial(trials.early_stopping_outputs),
        partial(rule_trials.drift_outputs, generic),
        diverged,
    )
    part_names = registration.binds.get("parts", LATER_PARTS)
    parts |= {n: part for n, part in zip(LATER_PARTS, later, strict=True) if n in part_names}
    return parts


def _small_job(plan: Plan, condition: Condition) -> dict[str, Any]:
    job = plan.job(condition)
    return job | {"network": trials.shrink_network(job["network"])}


def _models_and_judged_trials(
    plan: Plan,
    conditions: Sequence[Condition],
    registration: Registration,
    first_rates: list[float],
) -> tuple[partial, partial]:
    """Of sweeps of two learners, the first at `first_rates`: the models, and what is judged."""
    job, statistics = _small_job(plan, conditions[0]), plan.config["statistics"]
    settings = {n: job[n] for n in ("start", "stable_windows", "format") if n in job}
    learners = list(dict.fromkeys(condition.learner for condition in conditions))[:2]
    sweeps = [
        partial(trials.learner_sweep, job["network"], settings, plan.spec("learner", name), grid)
        for name, grid in zip(learners, (first_rates, [0.1, 0.3]), strict=False)
    ]
    models = partial(trials.sweep_outputs, job["keys"], learners, *sweeps)
    reads = defaultdict(list)
    for name, columns in registration.required_columns:
        reads[name] += columns
    judged = partial(trials.judged_results_outputs, models, learners, statistics)
    return models, partial(trials.select_columns, judged, dict(reads))


def quantity_peer_model_names(
    plan: Plan, conditions: Sequence[Condition], registration: Registration
) -> list[str]:
    """The names of River's models whose column the registration's quantity reads."""
    columns = {t.column for q in find_quantities(plan, [registration.quantity]) for t in q.terms}
    options = [plan.option("task", c.task, "peers") or {} for c in conditions]
    return sorted(
        {peer for peers in options for peer in peers if peer_accuracy_column(peer) in columns}
    )
