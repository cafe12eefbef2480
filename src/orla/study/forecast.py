"""Forecast of CPU seconds, memory and disk of a study, from its plan and sessions' lengths."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from orla.catalogue.entries import packaged_declarations
from orla.engine.memory_request import BESIDE, job_mb
from orla.provenance.cost import PROGRAM_S, START_S, UNCOMPILED_US, planned_cpu_s
from orla.study.condition import Condition
from orla.study.plan import STATIONARY, Plan

# Steps of a session that nobody has read yet: half an hour of 50 ms.
USUAL_STEPS = 36_000
# Of jobs that adapt nothing, as measured: CPU seconds with the start of their process, more for
# each condition of the study, and the most memory in megabytes.
TORCH_MB = 650.0
OF_JOB = {
    "download": (5.0, 0.0, 100.0),
    "convert": (2.5, 0.0, 370.0),
    "streams": (2.5, 0.0, 410.0),
    "speed": (4.0, 0.0, TORCH_MB),
    "programs": (START_S, 0.0, TORCH_MB),
    "vision_network": (0.0, 0.0, 800.0),  # the seconds of these: chapter_jobs
    "vision_adapt": (0.0, 0.0, 800.0),
    "language_pretraining": (0.0, 0.0, 1020.0),
    "language_adaptation": (0.0, 0.0, 1100.0),
    "join": (2.0, 0.0, 400.0),  # of River's models, of images, of language models
    "drift": (6.0, 0.0, TORCH_MB),
    "inspection": (4.0, 0.0, 400.0),
    "truth_studies": (80.0, 0.0, 3800.0),
    "truth_controls": (70.0, 0.0, 600.0),
    "statistics": (3.0, 0.03, 510.0),
    "verdict": (2.0, 0.0, 490.0),
    "reports": (9.0, 0.05, 410.0),
    "findings": (8.0, 0.0, 400.0),
}
# Megabytes that a job which reads whole recordings takes for each of the largest file, as measured
# on two hours of 1,000 units.
MB_OF_FILE = {"convert": 5.0, "streams": 10.0, "drift": 5.0}
# CPU microseconds of a row of River's models, as measured.
PEER_US = {"forest": 800.0, "tree": 50.0, "logistic": 20.0, "no-change": 1.0, "majority": 3.0}
# Of a job of adaptation, beside what `memory_request` counts: what the allocator keeps.
_ALLOCATOR_MB = 150.0
# Rates by which a grid grows, usually.
_GROWTH = 1
# Share of all epochs after which networks stop early, usually.
_EPOCHS = 0.6
# Megabytes of a condition's table and traces, of a network, and of reports.
_MB_CONDITION, _MB_NETWORK, _MB_REPORTS = 0.15, 0.06, 3.0
# Of a step of a session that is converted to NWB, with some hundred units.
_MB_CONVERTED, _CONVERTED = 0.001, ("nwb", "odoherty")
_BYTES, _INPUTS = 8, 40


class Forecast:
    """CPU seconds (and megabytes) of the jobs of a plan, given how long its sessions are.

    `lengths` is (steps of A, steps of B) by the folder of the streams; of one that is not there the
    config's, or else `USUAL_STEPS`.
    """

    def __init__(self, plan: Plan, lengths: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.plan, self.lengths = plan, lengths or {}

    def session_steps(self, domain: str) -> tuple[int, int]:
        """Steps of session A and of B."""
        if domain in self.lengths:
            return self.lengths[domain]
        spec = self.plan.config["tasks"][self.plan.domains[domain][0]]
        task = spec.get("simulated", {}).get("task", {})
        bin_s = spec.get("preparation", {}).get("bin_s", 0.05)
        seconds = (task.get(f"duration_{side}_s") for side in "ab")
        return tuple(int(s / bin_s) if s else USUAL_STEPS for s in seconds)

    def part_steps(self, c: Condition) -> tuple[int, int, int]:
        """Steps of a condition's pretraining, adapt and held-out part."""
        if not self.plan.declaration("task", c.task)["needs_files"]:
            names = ("pretraining", "adapt", "heldout")
            return tuple(self.plan.option("task", c.task, name) or 0 for name in names)

        def steps(size: float, whole: int) -> int:
            return size if isinstance(size, int) else int(size * whole)

        a, b = self.session_steps(c.domain)
        cuts = self.plan.parts_settings(c.task)
        tail = steps(cuts["tail_steps"], a)
        if c.split == STATIONARY:
            stream = steps(cuts["tail_stream_steps"], tail)
            return a - tail, stream, tail - stream
        adapt = int(cuts["splits"].get(c.split, 0.5) * b)
        return a - tail, adapt, b - adapt

    def sweep_cpu_s(self, c: Condition) -> float:
        """CPU seconds of a condition's sweep, compiling apart."""
        _, adapt, heldout = self.part_steps(c)
        kind = "exact" if self.plan.is_exact(c.learner) else self.plan.cadence(c.learner)
        models = [c.seeds * rates for rates in (len(self.plan.grid(c)), _GROWTH)]
        freezings = self.plan.config["stable_windows"] + len(self.plan.adapt_horizons(c))
        at_all, at_chosen = 1.7 * adapt + heldout, freezings * (0.2 * adapt + heldout)
        return (
            self._cpu_s(c, kind, adapt, models)
            + self._cpu_s(c, "scoring", at_all, models)
            + self._cpu_s(c, "scoring", at_chosen, [c.seeds])
        )

    def pretraining_cpu_s(self, c: Condition, seeds: int) -> float:
        """CPU seconds to pretrain a condition's networks; 0 where it starts from none."""
        if not self.plan.takes_pretrained(c):
            return 0.0
        settings = self.plan.pretraining_settings(c.architecture)
        steps = self.part_steps(c)[0] * max(1.0, _EPOCHS * settings["max_epochs"])
        kind = "pretraining" if settings["window"] > 1 else "step"
        return self._cpu_s(c, kind, steps, [seeds])

    def _cpu_s(self, c: Condition, kind: str, steps: float, models: Sequence[int]) -> float:
        """CPU seconds of one kind of a condition's work, for each number of `models` in turn."""
        compute = self.plan.compute_settings(c.precision)
        if not compute["compile"] or compute["device"] != "cpu":
            batches = sum(math.ceil(count / compute["batch_models"]) for count in models)
            return 1e-6 * batches * steps * UNCOMPILED_US[kind]
        spec, larger = self.plan.spec("architecture", c.architecture), 1.0
        if kind == "exact":  # its sensitivities, over those of an RNN of as many units
            table = packaged_declarations("memory")
            larger = table.get(spec["kind"], table["rnn"])["rtrl"][-1] / table["rnn"]["rtrl"][-1]
        hidden = spec.get("hidden", 64) * len(spec.get("layers", [0]))  # units of all layers
        return planned_cpu_s(kind, sum(models) * steps, hidden, larger)

    def adaptation_cpu_s(self, conditions: Sequence[Condition], pretrains: bool) -> float:
        """CPU seconds of a job of adaptation, which may pretrain its networks itself."""
        seeds = max(c.seeds for c in conditions)
        first = self.pretraining_cpu_s(conditions[0], seeds) if pretrains else 0.0
        return START_S + first + sum(map(self.sweep_cpu_s, conditions))

    def adaptation_mb(self, conditions: Sequence[Condition]) -> float:
        """Megabytes of a job of adaptation, without the compiler that runs beside it."""
        most = self.plan.compute_settings(conditions[0].precision)["batch_models"]
        sizes = (
            job_mb(
                self.plan.job(c), n_in=_INPUTS, n_out=2, models=most, steps=max(self.part_steps(c))
            )
            for c in conditions
        )
        return max(sizes) / 1.1 - BESIDE + _ALLOCATOR_MB

    def peers_cpu_s(self, domain: str, seed: int) -> float:
        """CPU seconds to run River's models on one seed of a task."""
        task = self.plan.spec("task", domain)
        costs = (PEER_US.get(peer, 0.0) for peer, n in task.get("peers", {}).items() if seed < n)
        rows = sum(self.plan.option("task", domain, part) for part in ("pretraining", "adapt"))
        return START_S + 1e-6 * rows * sum(costs)

    def compiling_cpu_s(self, conditions: Iterable[Condition]) -> float:
        """CPU seconds to compile the loops of conditions, where none is kept."""
        conditions = [c for c in conditions if self.plan.compute_settings(c.precision)["compile"]]
        keys = [(c.task, c.architecture, c.precision, c.optimizer, c.learner) for c in conditions]
        forward = {key[:3] for key in keys}
        updates = {key[:4] for key in keys if self.plan.cadence(key[4]) == "window"}
        return PROGRAM_S * (len(set(keys)) + len(updates) + 2 * len(forward))

    def disk_mb(self, conditions: Iterable[Condition]) -> float:
        """Megabytes of all files that a study of these conditions leaves."""
        conditions, size = list(conditions), _MB_REPORTS
        for domain in {c.domain for c in conditions}:
            task, _ = self.plan.domains[domain]
            if self.plan.declaration("task", task)["needs_files"]:
                spec, steps = self.plan.config["tasks"][task], sum(self.session_steps(domain))
                count = spec.get("preparation", {}).get("features", {}).get("count", 40)
                is_converted = spec.get("source") in _CONVERTED
                size += steps * (count + 2) * _BYTES / 1e6 + is_converted * steps * _MB_CONVERTED
        size += _MB_NETWORK * sum({c.networks_path: c.seeds for c in conditions}.values())
        return size + _MB_CONDITION * len(conditions)


def largest_recording_mb(plan: Plan) -> float:
    """Megabytes of the user's largest recording; 0 where all are simulated or to be downloaded."""
    tasks = (plan.config["tasks"][task] for task, _ in plan.domains.values())
    files = {file for t in tasks for file in t.get(t.get("source"), {}).get("files", {}).values()}
    return max((Path(f).stat().st_size / 2**20 for f in files if Path(f).is_file()), default=0.0)


def session_lengths(plan: Plan, folder: str | Path = ".") -> dict[str, tuple[int, int]]:
    """Steps of both sessions by the folder of their streams, where a file tells them quickly."""
    results, steps = Path(folder) / plan.config["pathvars"]["results"], {}
    for domain, (task, pair) in plan.domains.items():
        spec = plan.config["tasks"][task]
        streams = results / domain / "streams.npz"
        with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile):
            if streams.is_file():
                steps[domain] = tuple(_count_rows(streams, f"{side}_X") for side in "ab")
            elif pair and spec.get("source") in ("binned", "nwb"):
                source = spec[spec["source"]]
                files = [Path(folder, source["files"][spec["pairs"][pair][side]]) for side in "ab"]
                if spec["source"] == "binned":
                    array = source.get("inputs", "counts")
                    steps[domain] = tuple(_count_rows(file, array) for file in files)
                else:
                    bin_s = spec.get("preparation", {}).get("bin_s", 0.05)
                    steps[domain] = tuple(int(_series_seconds(file) / bin_s) for file in files)
    return steps


def _count_rows(path: Path, array: str) -> int:
    """Rows of an array of an .npz, by its header alone."""
    with zipfile.ZipFile(path) as file, file.open(f"{array}.npy") as array_file:
        version = np.lib.format.read_magic(array_file)
        reader = {(1, 0): np.lib.format.read_array_header_1_0}
        return reader.get(version, np.lib.format.read_array_header_2_0)(array_file)[0][0]


def _series_seconds(path: Path) -> float:
    """Seconds of the longest SpatialSeries of an NWB file."""
    spans = [0.0]

    def look(_: str, item: Any) -> None:
        if item.attrs.get("neurodata_type") != "SpatialSeries":
            return
        if "timestamps" in item:
            spans.append(float(item["timestamps"][-1] - item["timestamps"][0]))
        elif "starting_time" in item:
            spans.append(len(item["data"]) / float(item["starting_time"].attrs["rate"]))

    with h5py.File(path) as file:
        file.visititems(look)
    return max(spans)
