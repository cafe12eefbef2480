"""The memory model for a workflow that asks while it is read: no PyTorch where it asked before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orla.programs import store

_PARTS = ("network", "learner", "optimizer", "observers", "interventions", "probes")


def job_mb(job: Mapping[str, Any], *, n_in: int, n_out: int, **asked: Any) -> int:
    """Megabytes to ask for a sweep job; PyTorch is imported for a new question alone.

    Args:
        job: From `study.plan.Plan.job`.
        n_in, n_out: Inputs and outputs of the network, where no episode says them yet.
        asked: "most", "device", "steps" and "own_streams" as for `engine.memory.job_mb`.

    Raises:
        OrlaError: A part, an option or the precision is unknown, or the parts do not fit together.
    """
    parts = {name: job[name] for name in _PARTS}
    asked |= sizes(job)

    def answer() -> int:
        from orla.engine import memory
        from orla.engine.loop import loop_of
        from orla.losses.squared_error import SquaredError

        return memory.job_mb(loop_of(parts, n_in, n_out, SquaredError()), **asked)

    return store.remembered("memory", {**parts, "n_in": n_in, "n_out": n_out, **asked}, answer)


def sizes(job: Mapping[str, Any]) -> dict[str, Any]:
    """What `engine.memory.components` takes from a job: its precision, and after how many steps
    the models of a batch are kept until they are scored: the last windows before the selection part
    and before the held-out part, each horizon, and where a horizon's own selection part begins."""
    snapshots = 2 * job["stable_windows"] + 2 * len(job["horizons"])
    return {"precision": job["keys"]["precision"], "snapshots": snapshots}
