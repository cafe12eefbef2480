"""Adaptation of several conditions to one stream: each is written when it is done.

A condition whose kept result was made of what is asked (settings, data, code, versions, machine) is
not adapted again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from orla import catalogue
from orla.architectures.base import Parameters
from orla.engine.state import PRECISIONS
from orla.errors import OrlaError
from orla.programs.store import say
from orla.provenance import collect, cost, digest, merge, networks
from orla.provenance.arrays import read_arrays, write_arrays
from orla.provenance.code import files_of
from orla.provenance.tables import read_table, write_table
from orla.sessions.streams import Streams
from orla.study import tidy
from orla.study.declared import declared
from orla.study.job import architecture_of, study_of
from orla.study.keys import KEYS
from orla.study.plan import parts_of
from orla.study.pretraining import Pretraining, pretrain
from orla.study.sweep import sweep
from orla.tasks.episode import Episode

# Of a job, what its sweep is given.
_SETTINGS = ("learning_rates", "growth", "horizons", "stable_windows")
# Entries of a provenance that decide a result; the commit and the size of batches do not.
_DECIDING = (
    *("versions", "platform", "cpu_capability", "threads"),
    *("keys", "dataset", "seeds", "config", "inputs"),
)


@dataclass(frozen=True)
class Episodes:
    """The episodes of a stream: cut from the streams of two sessions, or drawn by a task.

    Attributes:
        task: the task's specification.
        file: the streams of a pair of sessions; None for a task that draws its own.
        seeds: streams that such a task draws, one a seed.
    """

    task: Mapping[str, Any]
    file: str | None
    seeds: int
    _cut: dict[str, Episode] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """The files that the episodes are made from."""
        return [self.file] if self.file else []

    def __getitem__(self, split: str) -> Episode:
        if split not in self._cut:
            task = catalogue.make("task", self.task)
            self._cut[split] = (
                task.cut(Streams.load(self.file), split)
                if self.file
                else task.episode(split, range(self.seeds))
            )
        return self._cut[split]


def write_networks(
    asked: Mapping[str, Any],
    episodes: Episodes,
    path: Path | str,
    compute: Mapping[str, Any],
    device: torch.device | str = "cpu",
) -> None:
    """Pretrain one network a seed, and write the networks and their learning curves (.parquet).

    Args:
        asked: ``network`` (specification), ``name``, ``precision``, ``seeds``, ``split`` (any of
            the stream's: all have one pretraining part), ``settings`` of pretraining, and ``parts``
            of the catalogue that it depends on, as (kind, name).
        episodes: the stream's.
        path: the safetensors file; one of the same pretraining that stands there is left.
        compute: the config's settings of computation.
        device: where to compute.

    Raises:
        OrlaError: as in `pretraining.pretrain`, or the episode has no pretraining part.
    """
    path, episode = Path(path), episodes[asked["split"]]
    if episode.pretraining is None:
        raise OrlaError(
            f"{path}: this episode has nothing to pretrain on; give its conditions the start fresh"
        )
    source = collect.collect(
        "orla.study.pretraining",
        *(f for kind, name in asked["parts"] for f in files_of(kind, name)),
        *files_of("loss", episode.loss),
        dataset=episode.dataset,
        seeds=list(range(asked["seeds"])),
        keys={"architecture": asked["name"], "precision": asked["precision"]},
        config={"network": asked["network"], "pretraining": asked["settings"]}
        | {"compute": dict(compute)},
    )
    if path.exists():
        try:
            if _same(networks.provenance(path), path, source, episodes.inputs):
                return
        except OrlaError as error:
            say(f"pretrained again: {error}")
    with cost.phase("pretraining"):
        trained, curves = pretrain(
            architecture_of(asked["network"], episode),
            episode.pretraining,
            range(asked["seeds"]),
            Pretraining(**asked["settings"]),
            catalogue.make("loss", episode.loss),
            PRECISIONS[asked["precision"]],
            device,
            compute["batch_models"],
        )
    write_table(curves, path.with_suffix(".parquet"), source, episodes.inputs)
    networks.save(trained, path, source, episodes.inputs)


def adapt(
    jobs: Mapping[str, Mapping[str, Any]],
    episodes: Episodes,
    networks_file: str | None,
    table: str,
    traces: str,
    *,
    compute: Mapping[str, Any],
    plugins: Sequence[str] = (),
    memory_mb: float | None = None,
    device: torch.device | str = "cpu",
) -> None:
    """Adapt every condition, and write the tables of all of them as one.

    Args:
        jobs: path of a condition's result, without a suffix, -> its job (`plan.Plan.job`).
        episodes: those of the conditions' stream.
        networks_file: the pretrained networks; None where no condition starts from any.
        table: the tidy table of all conditions.
        traces: errors by window of the conditions' models (.npz), in the order of `jobs`.
        compute: the config's settings of computation.
        plugins: folders of plug-ins.
        memory_mb: what the job may take; None for no limit.
        device: where to compute.

    Raises:
        OrlaError: as in `sweep.sweep`, `job.study_of` and `networks.load`.
    """
    parts = declared(plugins)
    inputs = [*episodes.inputs, *([networks_file] if networks_file else [])]
    tables: dict[str, pd.DataFrame] = {}
    arrays: dict[str, np.ndarray] = {}
    baselines: dict[str, Mapping[str, np.ndarray]] = {}
    for i, (path, job) in enumerate(jobs.items()):
        keys, episode = job["keys"], episodes[job["keys"]["split"]]
        source = collect.collect(
            "orla.study.sweep",
            "orla.study.job",
            *(f for kind, name in parts_of(job, parts) for f in files_of(kind, name)),
            *files_of("loss", episode.loss),
            dataset=episode.dataset,
            keys=dict(keys),
            seeds=list(range(job["seeds"])),
            config={"job": dict(job), "compute": dict(compute)},
        )
        result = _kept(path, source, inputs)
        say(f"{i + 1} of {len(jobs)}: {path}" + (", kept" if result else ""))
        if result is None:
            run = study_of(
                job,
                episode,
                _starting(job, networks_file),
                most=compute["batch_models"],
                memory_mb=memory_mb,
                device=device,
                baseline=_long_enough(baselines.get(str(job["start"])), job["seeds"]),
            )
            baselines[str(job["start"])] = run.baseline
            swept = sweep(run, **{name: job[name] for name in _SETTINGS})
            source["batch_models"] = run.batch_models
            write_arrays(swept.traces, f"{path}.npz", source, inputs)
            write_table(swept.table, f"{path}.parquet", source, inputs)
            result = _read(path)
        tables[path] = result[0]
        arrays |= {f"{name} {i}": values for name, values in result[1].items()}
    source = merge.merged({path: long.attrs["provenance"] for path, long in tables.items()})
    write_arrays(arrays, traces, source, inputs)
    write_table(tidy.joined(tables.values()), table, source, inputs)


def conditions(
    table: pd.DataFrame, arrays: Mapping[str, np.ndarray], expected: Sequence[Mapping[str, str]]
) -> Iterator[tuple[pd.DataFrame, dict[str, np.ndarray]]]:
    """The long table and the traces of each condition of what `adapt` wrote.

    Args:
        table: the tidy table of all conditions.
        arrays: their traces.
        expected: the keys of each condition, in their order.

    Raises:
        OrlaError: the table holds other conditions.
    """
    groups = dict(iter(table.groupby(list(KEYS), sort=False, observed=True)))
    for i, (keys, wanted) in enumerate(zip_longest(groups, (tuple(e.values()) for e in expected))):
        if keys != wanted:
            raise OrlaError(f"holds {keys} in place of {wanted}; delete it and run again")
        ending = f" {i}"
        own = {n.removesuffix(ending): a for n, a in arrays.items() if n.endswith(ending)}
        yield groups[keys].reset_index(drop=True), own


def _starting(job: Mapping[str, Any], file: str | None) -> Parameters | None:
    """The pretrained networks of a job; None where its start takes none."""
    if not file or not catalogue.make("start", job["start"]).part.more["pretrained"]:
        return None
    wanted = {name: job["keys"][name] for name in ("architecture", "precision")}
    return networks.load(file, job["seeds"], expect=wanted)


def _long_enough(
    baseline: Mapping[str, np.ndarray] | None, seeds: int
) -> Mapping[str, np.ndarray] | None:
    return baseline if baseline and len(baseline["frozen_trace"]) >= seeds else None


def _read(path: str) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    return read_table(f"{path}.parquet"), read_arrays(f"{path}.npz")[0]


def _kept(
    path: str, source: Mapping[str, Any], inputs: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, np.ndarray]] | None:
    """A condition's kept result; None where it is absent, damaged or of something else."""
    if not Path(f"{path}.parquet").exists():
        return None
    try:
        result = _read(path)
    except OrlaError as error:
        say(f"adapted again: {error}")
        return None
    same = _same(result[0].attrs["provenance"], f"{path}.parquet", source, inputs)
    return result if same else None


def _same(
    provenance: Mapping[str, Any],
    path: str | Path,
    source: Mapping[str, Any],
    inputs: Sequence[str],
) -> bool:
    """Whether a file was made of what is asked."""
    asked = json.loads(json.dumps({**source, "inputs": digest.inputs(path, inputs)}))
    if provenance["code"]["files"] != asked["code"]["files"]:
        return False
    return all(provenance.get(name) == asked.get(name) for name in _DECIDING)
