"""``orla plan``: jobs, time, memory and disk, estimated before anything runs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from orla.command.new import render
from orla.command.studies import Study, failure_reason
from orla.command.watching import MARK, Watch, duration_text
from orla.errors import OrlaError
from orla.study.condition import Condition
from orla.study.forecast import OF_JOB, TORCH_MB, Forecast, session_lengths
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


@dataclass(frozen=True)
class Estimate:
    """What a run is going to take.

    `compiling_s` is part of `cpu_s`; `wall_s` is on `cores` that have nothing else to do, `least_s`
    on a core for each job; `memory_mb` the most that jobs beside each other may take.
    """

    jobs: Mapping[str, int]
    conditions: int
    cpu_s: float
    compiling_s: float
    wall_s: float
    least_s: float
    cores: int
    memory_mb: float
    disk_mb: float


def estimate_run(study: Study, *targets: str) -> Estimate:
    """What a run of targets takes, by a dry run of the workflow and the plan."""
    plan = study.enter_and_plan()
    jobs = list(_dry_run_jobs(study, *(targets or ("all",))))
    job_estimates = _JobEstimates(plan, Forecast(plan, session_lengths(plan)), jobs)
    conditions = [c for job in jobs for c in job_estimates.job_conditions(job)]
    rows = [(job["rule_name"], *job_estimates.job_cost(job)) for job in jobs]
    table = pd.DataFrame(rows, columns=["rule", "cpu_s", "mb"])
    compiles = "programs" in table["rule"].to_list()
    compiling_s = job_estimates.forecast.compiling_cpu_s(conditions) if compiles else 0.0
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
    return Estimate(
        jobs=dict(Counter(job["rule_name"] for job in jobs if job["resources"]["mem_mb"])),
        conditions=len(conditions),
        cpu_s=table["cpu_s"].sum() + compiling_s + SNAKEMAKE_S,
        compiling_s=compiling_s,
        wall_s=wall_s,
        least_s=least_s,
        cores=cores,
        memory_mb=memory_mb,
        disk_mb=job_estimates.forecast.disk_mb(plan.conditions),
    )


class _JobEstimates:
    """CPU seconds and memory of the jobs of a dry run."""

    def __init__(self, plan: Plan, forecast: Forecast, jobs: list[Mapping[str, Any]]) -> None:
        self.plan, self.forecast = plan, forecast
        self.parts = {part.path: part for part in plan.condition_groups}
        results = Path(plan.config["pathvars"]["results"])
        networks = {c.networks_path for c in plan.conditions}
        self.network_files = {n for n in networks if (results / f"{n}.safetensors").is_file()}
        self.network_files |= {
            _networks_path(job) for job in jobs if job["rule_name"] == "pretrain"
        }

    def job_conditions(self, job: Mapping[str, Any]) -> tuple[Condition, ...]:
        """The conditions that a job adapts; () for other jobs."""
        if job["rule_name"] != "adapt":
            return ()
        path = "{domain}/adaptation/{network}/{precision}/{part}".format(**job["wildcards"])
        return self.parts[path].conditions

    def job_cost(self, job: Mapping[str, Any]) -> tuple[float, float]:
        """CPU seconds and megabytes of a job."""
        rule, count = job["rule_name"], len(self.plan.conditions)
        if rule == "adapt":
            part = self.job_conditions(job)
            pretrains = _networks_path(job) not in self.network_files
            return self.forecast.adaptation_cpu_s(part, pretrains), self.forecast.adaptation_mb(
                part
            )
        if rule == "pretrain":
            conditions = [c for c in self.plan.conditions if c.networks_path == _networks_path(job)]
            return self.forecast.pretraining_cpu_s(
                conditions[0], max(c.seeds for c in conditions)
            ), TORCH_MB
        if rule == "peers":
            words = job["wildcards"]
            return self.forecast.peers_cpu_s(words["domain"], int(words["seed"])), TORCH_MB
        base, more, megabytes = OF_JOB.get(rule, (0.0, 0.0, 0.0))
        return base + more * count, megabytes


def estimate_text(what: Estimate) -> str:
    """The table of a plan as text."""
    if not what.jobs:
        return "Nothing is left to do: everything has been made of this config. orla show"
    return render("plan.txt", vars(what) | {"duration": duration_text}).rstrip("\n")


def _networks_path(job: Mapping[str, Any]) -> str:
    """The path of the networks that a job pretrains or adapts."""
    return "{domain}/pretraining/{network}/{precision}".format(**job["wildcards"])


def _dry_run_jobs(study: Study, *targets: str) -> Iterator[Mapping[str, Any]]:
    """The jobs that Snakemake would run: rule_name, wildcards and resources."""
    watch, process = Watch(study.folder), study.start_snakemake("--dry-run", *targets)
    lines = process.communicate()[0].split("\n")
    if process.returncode:
        for line in lines:
            list(watch.messages(line))
        raise OrlaError(failure_reason(watch, process.returncode, "\n".join(lines[-3:])))
    for line in lines:
        if line.startswith(MARK) and (event := json.loads(line[1:]))["event"] == "job_info":
            yield event
