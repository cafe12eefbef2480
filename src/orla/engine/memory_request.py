"""Memory to ask for a job of adaptation while the workflow is read; imports no PyTorch.

What one model takes stands in the file of declarations (`engine.memory`), for two sizes of each
network; other sizes follow the power law through both.
"""

import math
from collections.abc import Mapping
from typing import Any

from orla.catalogue.entries import packaged_declarations

# MB, measured with a cold cache: the job's own process with everything imported and one loop
# compiled; and beside it, at the peak of their sum, Snakemake's process (125) and the C++ compiler
# (370 to 410), less what the job's own process has not taken by then.
PROCESS, BESIDE = 540, 410

# Steps that a job is given memory for before its length is known: 83 minutes of 50 ms.
LONGEST = 100_000

# Of the table: hidden units of its two columns, inputs and outputs, and steps of a window.
SIZES, WIDTH, WINDOW = (32, 64), 40, 200

# MB that are gone through at each step, beyond which few models are computed together.
_FEW = 16

# Copies of what an update changes that are alive at once, measured.
COPIES = 4


def job_mb(
    job: Mapping[str, Any],
    *,
    n_in: int,
    n_out: int,
    models: int,
    steps: int = LONGEST,
    own_streams: int = 0,
) -> int:
    """Megabytes to ask for, a tenth to spare, by a job of `study.plan.Plan.job`.

    models: That are computed together, over a stream of so many `steps` at most.
    own_streams: Seeds that have streams of their own; 0 where all share one.
    """
    kinds, network = packaged_declarations("parts"), job["network"]
    default = kinds["architecture"].get(network["kind"], {"defaults": {}})["defaults"]
    hidden = network.get("hidden", default.get("hidden", SIZES[1]))
    wider = max(1.0, (hidden + max(n_in, n_out)) / (hidden + WIDTH))
    learners = [job["learner"], *job["observers"].values()]
    model_mb = wider * sum(
        _estimated_model_mb(network["kind"], hidden, spec, _window_steps(spec)) for spec in learners
    )
    # Gradients of interventions, states of probes, and networks kept until they are scored.
    params = 8e-6 * (hidden * (hidden + n_in + 1) + n_out * (hidden + 1))
    networks = 2 * job["stable_windows"] + 2 * len(job["horizons"])
    model_mb += params * (networks + 2 * len(job["interventions"]) + 2 * len(job["probes"]))
    unknown = {"more": {"stride": "unknown"}}
    if _window_steps(job["learner"]) == 1:
        # About as `memory.cache_batch_size` has it.
        models = min(models, 1 + int(_FEW / model_mb))
    looks = any(kinds["probe"].get(p["kind"], unknown)["more"]["stride"] for p in job["probes"])
    streams = steps * (n_in + n_out) * (own_streams + models if own_streams else 2)
    streams += steps * models * (4 * n_out + 4)
    peak = PROCESS + BESIDE + models * model_mb + looks * 3 * hidden * params + 8e-6 * streams
    return math.ceil(1.1 * peak)


def _window_steps(learner: Mapping[str, Any]) -> int:
    """Steps of a learner's window by its specification; 1 where it updates at each step."""
    declaration = packaged_declarations("parts")["learner"].get(learner["kind"])
    if not declaration or not declaration["more"]["stride"]:
        return 1
    return max((declaration["defaults"] | learner)[option] for option in declaration["short"])


def _estimated_model_mb(
    network: str, hidden: int, learner: Mapping[str, Any], window: int
) -> float:
    """MB of one model by the file; an unlisted network or learner counts as the plainest."""
    table = packaged_declarations("memory")
    row = table.get(network, next(iter(table.values())))
    name = learner["kind"] if window == 1 else f"{learner['kind']}-{WINDOW}"
    small, large = row.get(name, next(iter(row.values())))
    mb = large * (hidden / SIZES[1]) ** math.log2(large / small)
    return mb * window / WINDOW if window > 1 else mb
