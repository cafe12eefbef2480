"""Adaptation of several conditions to one stream: each is written when it is done.

A condition whose kept result was made of what is asked (settings, data, code, versions, machine) is
not adapted again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch

from orla import catalogue
from orla.catalogue.plugins import name_failing_part
from orla.engine.network import network_of
from orla.engine.state import dtype_of
from orla.errors import OrlaError
from orla.programs.store import say
from orla.provenance import collect, cost, digest, networks
from orla.provenance.arrays import read_arrays, write_arrays
from orla.provenance.code import files_of_parts
from orla.provenance.tables import merge_provenances, read_table, write_table
from orla.sessions.streams import Streams, episode_settings
from orla.study import tidy
from orla.study.declarations import job_parts, read_declarations
from orla.study.keys import KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import make_run
from orla.study.sweep import sweep
from orla.tasks.episode import Episode

T = TypeVar("T")

# Of a job, what its sweep is given.
_SETTINGS = ("learning_rates", "growth", "horizons", "stable_windows", "for_resamples")
# Entries of a provenance that decide a result; the commit and the size of batches do not.
_DECIDING = (
    *("versions", "platform", "cpu_capability", "threads"),
    *("keys", "dataset", "seeds", "config", "inputs"),
)


class Episodes(dict[str, Episode]):
    """The episodes of a stream by split: cut from the streams of a file, or drawn, one a seed.

    `files` are those that the task reads by itself.
    """

    def __init__(
        self,
        task: Mapping[str, Any],
        seeds: int,
        streams: str | None = None,
        files: Sequence[str] = (),
    ) -> None:
        self.task, self.seeds, self.streams = task, seeds, streams
        self.files = [*filter(None, [streams]), *files]

    def __missing__(self, split: str) -> Episode:
        task = catalogue.make("task", self.task)
        if self.streams:
            self[split] = task.cut(Streams.read(self.streams, self.task), split)
        else:
            with name_failing_part(task):
                self[split] = task.episode(split, range(self.seeds))
        return self[split]


def pretrain_networks(
    request: Mapping[str, Any],
    episodes: Episodes,
    path: str,
    compute: Mapping[str, Any],
    device: torch.device | str = "cpu",
) -> None:
    """Pretrain one network a seed, and write the networks and their learning curves (.parquet).

    Args:
        request: ``network`` (specification), ``name``, ``precision`` with its ``format`` where that
            is another name, ``seeds``, ``split`` (any of the stream's: all have one pretraining
            part), ``settings`` of pretraining, and ``parts`` of the catalogue that it depends on,
            as (kind, name).
        path: The safetensors file; one of the same pretraining that stands there is left, and
            has the present time for Snakemake.
    """
    episode = episodes[request["split"]]
    if episode.pretraining is None:
        raise OrlaError(
            f"{path}: this episode has nothing to pretrain on; give its conditions the start fresh"
        )
    source = _collect_provenance(
        "orla.study.pretraining",
        parts=request["parts"],
        episode=episode,
        seeds=request["seeds"],
        keys={"architecture": request["name"], "precision": request["precision"]},
        config=_networks_config(request, episodes) | {"compute": dict(compute)},
    )
    curves_path = Path(path).with_suffix(".parquet")
    if curves_path.exists() and _read_if_current(
        path, lambda p: (networks.read_provenance(p), p), source, episodes.files, "pretrained"
    ):
        curves_path.touch()
        Path(path).touch()
        return
    with cost.phase("pretraining"):
        parameters, curves = pretrain(
            network_of(request["network"], episode.n_in, episode.n_out),
            episode.pretraining,
            range(request["seeds"]),
            Pretraining(**request["settings"]),
            catalogue.make("loss", episode.loss),
            dtype_of(request["precision"], request.get("format")),
            device,
            compute["batch_models"],
        )
    write_table(curves, curves_path, source, episodes.files)
    networks.save(parameters, path, source, episodes.files)


def check_networks(path: str, request: Mapping[str, Any], episodes: Episodes) -> None:
    """Refuse networks of an earlier job that were made of other settings than are asked.

    Arguments as those of `pretrain_networks`.
    """
    config, settings = networks.read_provenance(path)["config"], _networks_config(request, episodes)
    digest.refuse_other_settings(path, {name: config.get(name) for name in settings}, settings)


def _networks_config(request: Mapping[str, Any], episodes: Episodes) -> dict[str, Any]:
    """The settings that networks depend on, those of computation apart."""
    return {
        "network": request["network"],
        "pretraining": request["settings"],
        "task": episode_settings(episodes.task),
    }


def adapt(
    jobs: Mapping[str, Mapping[str, Any]],
    episodes: Episodes,
    networks_file: str | None,
    table: str,
    traces: str,
    *,
    compute: Mapping[str, Any],
    plugins: Sequence[str] = (),
    device: torch.device | str = "cpu",
) -> None:
    """Adapt every condition, and write the tables of all of them as one.

    Args:
        jobs: Path of a condition's result, without a suffix, -> its job (`plan.Plan.job`).
        networks_file: The pretrained networks; None where no condition starts from any.
        table, traces: Of all conditions: the tidy table, and errors by window (.npz).
        compute: The config's settings of computation.
    """
    parts, inputs = read_declarations(plugins), [*episodes.files, *filter(None, [networks_file])]
    tables: dict[str, pd.DataFrame] = {}
    arrays: dict[str, np.ndarray] = {}
    baselines: dict[str, Mapping[str, np.ndarray]] = {}
    for i, (path, job) in enumerate(jobs.items()):
        keys, episode, seeds = job["keys"], episodes[job["keys"]["split"]], job["seeds"]
        source = _collect_provenance(
            "orla.study.sweep",
            parts=job_parts(job, parts),
            episode=episode,
            seeds=seeds,
            keys=dict(keys),
            config={
                "job": dict(job),
                "task": episode_settings(episodes.task, keys["split"]),
                "compute": dict(compute),
            },
        )
        result = _read_if_current(f"{path}.parquet", _read_result, source, inputs, "adapted")
        say(f"{i + 1} of {len(jobs)}: {path}" + (", kept" if result else ""))
        if result is None:
            parameters, start = None, catalogue.make("start", job["start"])
            if networks_file and start.part.more["pretrained"]:
                network_keys = {name: keys[name] for name in ("architecture", "precision")}
                parameters = networks.load(networks_file, seeds, expect=network_keys)
            baseline = baselines.get(str(job["start"]))
            if baseline and len(baseline["frozen_trace"]) < seeds:
                baseline = None
            options = {"max_models": compute["batch_models"], "device": device}
            run = make_run(job, episode, parameters, baseline=baseline, **options)
            baselines[str(job["start"])] = run.baseline
            source["batch_models"] = run.batch_models
            outcome = sweep(run, **{name: job[name] for name in _SETTINGS})
            write_arrays(outcome.traces, f"{path}.npz", source, inputs)
            write_table(outcome.table, f"{path}.parquet", source, inputs)
            _, result = _read_result(f"{path}.parquet")
        tables[path] = result[0]
        arrays |= {f"{name} {i}": values for name, values in result[1].items()}
    provenances = {path: long.attrs["provenance"] for path, long in tables.items()}
    if networks_file:
        provenances[networks_file] = {"code": networks.read_provenance(networks_file)["code"]}
    source = merge_provenances(provenances)
    write_arrays(arrays, traces, source, inputs)
    write_table(tidy.concatenate(tables.values()), table, source, inputs)


def split_by_condition(
    table: pd.DataFrame, arrays: Mapping[str, np.ndarray], conditions: Sequence[Mapping[str, str]]
) -> Iterator[tuple[pd.DataFrame, dict[str, np.ndarray]]]:
    """Long table and traces of each condition of what `adapt` wrote; other keys are refused."""
    groups = dict(iter(table.groupby(list(KEYS), sort=False, observed=True)))
    key_values = (tuple(keys.values()) for keys in conditions)
    for i, (keys, values) in enumerate(zip_longest(groups, key_values)):
        if keys != values:
            raise OrlaError(f"holds {keys} in place of {values}; delete it and run again")
        suffix = f" {i}"
        traces = {n.removesuffix(suffix): a for n, a in arrays.items() if n.endswith(suffix)}
        yield groups[keys].reset_index(drop=True), traces


def _collect_provenance(
    module: str, parts: Iterable[tuple[str, str]], episode: Episode, seeds: int, **entries: Any
) -> dict[str, Any]:
    """The provenance of a result of this module, parts, episode and seeds, with further entries."""
    parts = [*parts, ("loss", episode.loss)]
    data = {"dataset": episode.dataset, "seeds": list(range(seeds))}
    return collect.collect(module, *files_of_parts(parts), **data, **entries)


def _read_result(path: str) -> tuple[Mapping[str, Any], tuple[pd.DataFrame, dict[str, np.ndarray]]]:
    """A condition's provenance, and its long table and traces."""
    table = read_table(path)
    return table.attrs["provenance"], (table, read_arrays(path.removesuffix("parquet") + "npz")[0])


def _read_if_current(
    path: str,
    reader: Callable[[str], tuple[Mapping[str, Any], T]],
    source: Mapping[str, Any],
    inputs: Sequence[str],
    verb: str,
) -> T | None:
    """What `reader` finds in a kept file; None if it is absent, damaged or of something else."""
    if not Path(path).exists():
        return None
    try:
        provenance, result = reader(path)
    except digest.ChangedInput:
        return None
    except OrlaError as error:
        say(f"{verb} again: {str(error).rpartition(';')[0]}")
        return None
    current = json.loads(json.dumps({**source, "inputs": digest.input_digests(path, inputs)}))
    is_current = provenance["code"]["files"] == current["code"]["files"]
    is_current &= all(provenance.get(name) == current.get(name) for name in _DECIDING)
    return result if is_current else None
