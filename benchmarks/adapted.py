"""Adapt some models over a whole stream in a process of its own; print errors and hashes as JSON.

`benchmarks.invariance` starts it: the first argument says, as JSON, what the process is held to.
"""

from __future__ import annotations

import hashlib
import json
import sys

from orla.programs import machine

asked = json.loads(sys.argv[1])
machine.restrict_instructions(asked["instructions"])

import numpy as np
import torch

from orla import catalogue
from orla.programs import compiling
from orla.study.run import make_run


def adapted(learner: str, kind: str) -> dict[str, tuple[str, str]]:
    """Seed -> held-out error after the stream, and hash of the final weights."""
    episode = catalogue.make("task", asked["task"]).episode("shift", range(asked["streams"]))
    job = {
        "keys": {"precision": asked["precision"]},
        "seeds": asked["streams"],
        "network": {"kind": kind, "hidden": asked["hidden"]},
        "learner": learner,
        "optimizer": {"kind": "adam"},
        "start": {"kind": "fresh"},
        "observers": {},
        "interventions": [],
        "probes": [],
    }
    run = make_run(job, episode, None, max_models=len(asked["seeds"]))
    seeds = np.array(asked["seeds"])
    whole = run.whole_tensors(seeds)
    adapt = {name: entry[: run.adapt_steps] for name, entry in whole.items()}
    rates = run.tensor(np.full(len(seeds), asked["rate"]))
    state = run.loop.run(
        run.loop.start(run.starting_parameters(seeds), seeds=seeds.tolist()), rates, adapt
    ).state
    errors, _ = run.frozen_scores(state.params, state.network, whole, run.heldout, run.adapt_steps)
    found = {}
    for i, seed in enumerate(asked["seeds"]):
        weights = b"".join(p[i].contiguous().numpy().tobytes() for p in state.params.values())
        found[seed] = float(errors[i]).hex(), hashlib.sha256(weights).hexdigest()
    return found


compiling.configure(compile=asked["compile"], threads=asked["threads"])
answer = {learner: adapted(learner, kind) for learner, kind in asked["learners"]}
print(json.dumps([torch.backends.cpu.get_cpu_capability(), answer]))
