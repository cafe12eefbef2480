"""Verification of every result of a study against its digest, its inputs and the config.

A job looks at what it reads; this looks at all that stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.files import results_in
from orla.provenance import arrays, digest, networks, tables
from orla.sessions.streams import Streams, episode_settings
from orla.study.chapter_jobs import language_jobs, vision_jobs
from orla.study.plan import Plan

SEALED = {".parquet": tables, ".npz": arrays, ".safetensors": networks}
_STREAMS = "streams.npz"
# Files of language models, by their paths below the results.
_OF_OTHERS = "language/*/pretrained/*"


def read_verified_provenance(path: Path) -> dict[str, Any]:
    """The provenance of a result, which is refused where it is damaged or an input has changed."""
    source = SEALED[path.suffix].read_provenance(path)
    digest.check_provenance(path, source, {})
    return source


def sealed_files(results: Path) -> list[Path]:
    """Every result of a study that holds a digest; no files that transformers writes."""
    paths = (path for path in results_in(results) if path.suffix in SEALED)
    return [path for path in paths if not path.relative_to(results).match(_OF_OTHERS)]


def faulty_results(plan: Plan, results: Path, *, check_left_over: bool = True) -> Iterator[str]:
    """One line for each result that is damaged or not what is asked; `check_left_over`: others too.

    A result made from a damaged one is not reported: only the damaged one is.
    """
    problems: dict[Path, OrlaError] = {}
    config_entries = {results / name: entries for name, entries in _expected_entries(plan).items()}
    for path in sealed_files(results):
        if not check_left_over and path not in config_entries:
            continue
        try:
            if path.name == _STREAMS:
                if path in config_entries:
                    Streams.read(path, config_entries[path])
                continue
            config = read_verified_provenance(path).get("config", {})
            for name, value in config_entries.get(path, {}).items():
                digest.refuse_other_settings(path, config.get(name), value, name)
        except OrlaError as error:
            problems[path] = error
    for error in problems.values():
        if not (isinstance(error, digest.ChangedInput) and error.path in problems):
            yield str(error)


def _expected_entries(plan: Plan) -> dict[str, dict[str, Any]]:
    """Result below the folder of results -> what the config asks it to be made of."""
    by_path: dict[str, dict[str, Any]] = {}
    for c in plan.conditions:
        settings = plan.task_settings(c.domain)
        if plan.declaration("task", c.task)["needs_files"]:
            by_path[f"{c.domain}/{_STREAMS}"] = settings
        networks_task = plan.task_settings_without_peers(c.domain)
        job = {"job": plan.job(c), "task": episode_settings(networks_task, c.split)}
        by_path |= {f"{c.path}{end}": job for end in (".parquet", ".npz")}
        if plan.takes_pretrained(c):
            entries = {
                "network": plan.spec("architecture", c.architecture),
                "pretraining": plan.pretraining_settings(c.architecture),
                "task": episode_settings(networks_task),
            }
            by_path |= {f"{c.networks_path}{end}": entries for end in (".parquet", ".safetensors")}
        for seed in range(max(plan.seeds_by_peer_column(c.task).values(), default=0)):
            by_path[f"{c.domain}/peers/{seed}.parquet"] = {"task": settings}
    for path, entries in language_jobs(plan.config).items():
        by_path |= {f"{path}.{end}.parquet": entries for end in ("losses", "norms")}
    if vision := plan.config.get("vision"):
        for (adapts, name), entries in vision_jobs(plan.config).items():
            by_path[f"vision/{adapts}/{name}.parquet"] = entries
        entries = {key: vision.get(key) for key in ("images", "network")}
        by_path["vision/network.safetensors"] = entries
    return by_path
