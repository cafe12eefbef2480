"""Memory to ask for a sweep while the workflow is read: an estimate, which imports no PyTorch.

The job itself counts (`engine.memory`), and takes as many models at once as fit into what it got.
What one model takes with options at their defaults stands in the file of declarations; for other
sizes it is scaled as the sensitivities of a dense network, or the tapes of a window, grow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from orla.catalogue.written import written

# Measured with a cold cache: the job's own process with everything imported and one loop compiled;
# and beside it, at the peak of their sum, Snakemake's process (125 MB) and the C++ compiler (370 to
# 410 MB), less what the job's own process has not taken by then.
PROCESS, BESIDE = 540_000_000, 410_000_000

# Steps that a job is given memory for before its length is known: 83 minutes of 50 ms.
LONGEST = 100_000

# Bytes that a step of a whole batch may go through on a CPU: beyond its cache a step takes two to
# three times as long (measured: LSTM of 64 units with Adam, 25 at once against 5).
CACHE = 8_000_000

# Copies of parameters and optimizer state alive at once, measured. A loop of steps changes them in
# place, beside the networks' own, the gradient and the update; updates made apart write new ones.
COPIES_IN_LOOP, COPIES_APART = 3, 5

# Copies of dh/dtheta of one model, in float64, that a probe's look has alive at once.
COPIES_IN_LOOK = 3

# Inputs and outputs, and steps of a window, with which the file's numbers were measured.
WIDTH, WINDOW = 40, 200


def job_mb(
    job: Mapping[str, Any],
    *,
    n_in: int,
    n_out: int,
    most: int,
    device: str = "cpu",
    steps: int = LONGEST,
    own_streams: int = 0,
) -> int:
    """Megabytes to ask for a sweep job, a tenth to spare.

    Args:
        job: From `study.plan.Plan.job`.
        n_in, n_out: Inputs and outputs of the network, the most where no episode says them yet.
        most, device, steps, own_streams: As for `engine.memory.batch_models` and `components`.
    """
    kinds, memory, network = written("parts"), written("memory"), job["network"]
    rows = memory["architecture"]  # of a network that is not among them, the first one
    row = rows.get(network["kind"], next(iter(rows.values())))
    hidden = network.get("hidden", row["hidden"])
    params = row["params"] * _numbers(hidden, n_in, n_out) / _numbers(row["hidden"], WIDTH, WIDTH)
    dense = hidden**2 * (hidden + n_in + 1) / (row["hidden"] ** 2 * (row["hidden"] + WIDTH + 1))
    held, touched, copies = 0.0, 0.0, COPIES_IN_LOOP
    for spec in (job["learner"], *job["observers"].values()):
        scale, known = dense, kinds["learner"].get(spec["kind"])
        if known and known["more"]["stride"]:
            window = max((known["defaults"] | spec)[option] for option in known["short"])
            scale, copies = max(dense, n_out / WIDTH) * window / WINDOW, COPIES_APART
        all_of_it, gone_through = row["carried"].get(spec["kind"], (0, 0))
        held, touched = held + all_of_it * scale, touched + gone_through * scale
    state, *beside = (
        memory[kind].get(spec["kind"], 2)
        for kind, specs in (
            ("optimizer", [job["optimizer"]]),
            ("intervention", job["interventions"]),
            ("probe", job["probes"]),
        )
        for spec in specs
    )
    held += params * (copies * (1 + state) + 2 * sum(beside) + sizes(job)["snapshots"])
    held += params * (len(job["observers"]) + len(job["interventions"]))
    touched += 2 * params * (1 + state)
    models = min(most, 1 + int(CACHE // touched)) if device == "cpu" else most
    looks = any(
        known is None or known["more"]["stride"]
        for known in (kinds["probe"].get(spec["kind"]) for spec in job["probes"])
    )
    peak = PROCESS + BESIDE + models * held + looks * COPIES_IN_LOOK * hidden * params
    peak += streams_bytes(models, n_in, n_out, steps, own_streams)
    return math.ceil(1.1 * peak / 1e6)


def _numbers(hidden: int, n_in: int, n_out: int) -> int:
    """Parameters of the plainest network of this size."""
    return hidden * (hidden + n_in + 1) + n_out * (hidden + 1)


def streams_bytes(models: int, n_in: int, n_out: int, steps: int, own_streams: int) -> int:
    """The stream in float64 and in the study's precision; outputs and errors of each model."""
    outputs = steps * models * (4 * n_out + 4)
    return (steps * (n_in + n_out) * (own_streams + models if own_streams else 2) + outputs) * 8


def sizes(job: Mapping[str, Any]) -> dict[str, Any]:
    """What `engine.memory.components` takes from a job: its precision, and after how many steps
    the models of a batch are kept until they are scored: the last windows before the selection part
    and before the held-out part, each horizon, and where a horizon's own selection part begins."""
    snapshots = 2 * job["stable_windows"] + 2 * len(job["horizons"])
    return {"precision": job["keys"]["precision"], "snapshots": snapshots}
