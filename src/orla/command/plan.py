"""``orla plan``: jobs, time, memory and disk, estimated before anything runs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from orla.command.new import render
from orla.command.studies import Study, failure_reason
from orla.command.watching import MARK, Watch, duration_text
from orla.errors import OrlaError
from orla.study.chapter_jobs import chapter_cpu_s
from orla.study.condition import Condition
from orla.study.forecast import (
    MB_OF_FILE,
    OF_JOB,
    TORCH_MB,
    Forecast,
    largest_recording_mb,
    session_lengths,
)
from orla.study.plan import Plan

# Rules whose jobs run beside each other, stage after stage; all others come last, one by one.
STAGES = (
    ("download", "convert"),
    ("streams", "vision_network"),
    (
        *("programs", "pretrain", "adapt", "peers"),
        *("vision_adapt", "truth_studies", "drift", "inspection"),
    ),
    ("language_pretraining",),
    ("language_adaptation",),
)
# CPU seconds and memory of Snakemake itself, and memory of the C++ compiler.
SNAKEMAKE_S, SNAKEMAKE_MB, COMPILER_MB = 6.0, 130.0, 400.0

_Job = Mapping[str, Any]


def estimate_run(study: Study) -> dict[str, Any]:
    """What a run is going to take, by a dry run of the workflow and the plan.

    It is `jobs` by rule, `conditions` to adapt, `cpu_s` and of these `compiling_s`; `wall_s` on
    `cores` that have nothing else to do, `least_s` on a core for each job; `memory_mb`, the most
    that jobs beside each other may take; and `disk_mb`.
    """
    plan = study.enter_and_plan()
    jobs = list(_dry_run_jobs(study))
    forecast = Forecast(plan, session_lengths(plan))
    groups = {group.path: group.conditions for group in plan.condition_groups}
    adapt = [job for job in jobs if job["rule_name"] == "adapt"]
    conditions = [c for job in adapt for c in groups[_condition_group_path(job)]]
    costs = _rule_cpu_s_and_mb(plan, forecast, jobs, groups)
    table = pd.DataFrame(costs, columns=["rule", "cpu_s", "mb"])
    compiles = (table["rule"] == "programs").any()
    compiling_s = forecast.compiling_cpu_s(conditions) if compiles else 0.0
    stage_of = {rule: i for i, stage in enumerate(STAGES) for rule in stage}
    cores, memory_mb = os.cpu_count() or 1, SNAKEMAKE_MB
    wall_s = least_s = SNAKEMAKE_S
    for stage, part in table.groupby(table["rule"].map(stage_of).fillna(len(STAGES))):
        cpu_s, longest_s = part["cpu_s"].sum(), part["cpu_s"].max()
        wall_s += max(cpu_s / cores, longest_s)
        least_s += longest_s if stage < len(STAGES) else cpu_s
        memory = part["mb"].nlargest(cores).sum()
        if compiling_s and stage == stage_of["adapt"]:  # two jobs at most compile at once
            wall_s += compiling_s / min(cores, 2)
            least_s += compiling_s / 2
            memory += COMPILER_MB * min(cores, 2)
        memory_mb = max(memory_mb, SNAKEMAKE_MB + memory)
    return {
        "jobs": Counter(job["rule_name"] for job in jobs if job["resources"]["mem_mb"]),
        "conditions": len(conditions),
        "cpu_s": table["cpu_s"].sum() + compiling_s + SNAKEMAKE_S,
        "compiling_s": compiling_s,
        "wall_s": wall_s,
        "least_s": least_s,
        "cores": cores,
        "memory_mb": memory_mb,
        "disk_mb": forecast.disk_mb(plan.conditions),
    }


def estimate_text(estimate: Mapping[str, Any]) -> str:
    """The table of a plan as text."""
    if not estimate["jobs"]:
        return "Nothing is left to do: everything has been made of this config. orla show"
    return render("plan.txt", {**estimate, "duration": duration_text}).rstrip("\n")


def _rule_cpu_s_and_mb(
    plan: Plan,
    forecast: Forecast,
    jobs: Sequence[_Job],
    conditions_by_path: Mapping[str, tuple[Condition, ...]],
) -> Iterator[tuple[str, float, float]]:
    """Rule, CPU seconds and megabytes of each job; `conditions_by_path` are by a result's path."""
    results = Path(plan.config["pathvars"]["results"])
    networks = {c.networks_path for c in plan.conditions}
    existing_networks = {n for n in networks if (results / f"{n}.safetensors").is_file()}
    existing_networks |= {_networks_path(job) for job in jobs if job["rule_name"] == "pretrain"}
    file_mb = largest_recording_mb(plan)
    for job in jobs:
        rule, words = job["rule_name"], job["wildcards"]
        base, more, megabytes = OF_JOB.get(rule, (0.0, 0.0, 0.0))
        megabytes += file_mb * MB_OF_FILE.get(rule, 0.0)
        cpu_s = base + more * len(plan.conditions) + chapter_cpu_s(plan.config, rule, words)
        if rule == "adapt":
            group = conditions_by_path[_condition_group_path(job)]
            cpu_s = forecast.adaptation_cpu_s(group, _networks_path(job) not in existing_networks)
            megabytes = forecast.adaptation_mb(group)
        elif rule == "pretrain":
            users = [c for c in plan.conditions if c.networks_path == _networks_path(job)]
            cpu_s = forecast.pretraining_cpu_s(users[0], max(c.seeds for c in users))
            megabytes = TORCH_MB
        elif rule == "peers":
            cpu_s = forecast.peers_cpu_s(words["domain"], int(words["seed"]))
            megabytes = TORCH_MB
        yield rule, cpu_s, megabytes


def _condition_group_path(job: _Job) -> str:
    """The path of the conditions that a job adapts."""
    return "{domain}/adaptation/{network}/{precision}/{part}".format(**job["wildcards"])


def _networks_path(job: _Job) -> str:
    """The path of the networks that a job pretrains or adapts."""
    return "{domain}/pretraining/{network}/{precision}".format(**job["wildcards"])


def _dry_run_jobs(study: Study) -> Iterator[_Job]:
    """The jobs that Snakemake would run: rule_name, wildcards and resources."""
    watch, process = Watch(study.folder), study.start_snakemake("--dry-run", "all")
    lines = process.communicate()[0].split("\n")
    if process.returncode:
        for line in lines:
            list(watch.messages(line))
        raise OrlaError(failure_reason(watch, process.returncode, "\n".join(lines[-3:])))
    for line in lines:
        if line.startswith(MARK) and (event := json.loads(line[1:]))["event"] == "job_info":
            yield event
