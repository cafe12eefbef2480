"""Cost of a row of a stream, as measured while the study ran; no verdict reads it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from orla import catalogue
from orla.engine.loop import loop_of
from orla.engine.memory import bytes_per_model
from orla.engine.state import dtype_of
from orla.errors import OrlaError
from orla.provenance.cost import read_cost


def row_microseconds(results: Iterable[str], phase: str) -> float:
    """CPU microseconds of a row of one model, over the jobs that made these results."""
    seconds = rows = 0.0
    for result in results:
        cost = read_cost(Path(f"{result}.cost.json"))
        if cost is None:
            raise OrlaError(f"{result}: its cost file is missing; delete the result and run again")
        seconds += cost["cpu_by_phase_s"].get(phase, 0.0)
        rows += cost["steps"].get(phase, 0)
    return 1e6 * seconds / rows if rows else float("nan")


def peer_costs(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a task and peer: microseconds, and bytes at the end, means over seeds.

    `tables` of River's models, each of one task, by their paths.
    """
    once = pd.concat(tables.values()).drop_duplicates(["task", "peer", "seed"])
    costs = once.groupby(["task", "peer"], as_index=False)["bytes"].mean()
    paths = ([p for p, t in tables.items() if t["task"].eq(task).all()] for task in costs["task"])
    return costs.assign(us=[*map(row_microseconds, paths, costs["peer"])])


def network_costs(jobs_by_table: Mapping[str, Iterable[tuple[Mapping, Any]]]) -> pd.DataFrame:
    """A row a condition: the mean microseconds of all models of its job, and bytes.

    `jobs_by_table`: path of a table of models -> of each condition the task's specification, job.
    """
    rows = []
    for path, jobs in jobs_by_table.items():
        us = row_microseconds([path], "learners")
        for task, job in jobs:
            X, _, classes = catalogue.make("task", task).labelled_rows(0, rows=1)
            loop = loop_of(job, X.shape[1], classes, catalogue.make("loss", "cross_entropy"))
            sizes = bytes_per_model(loop, dtype_of(job["keys"]["precision"], job.get("format")))
            # Tapes, and what a step goes through, last as long as a row.
            lasting = sum(sizes[name] for name in ("params", "optimizer", "carry", "buffers"))
            rows.append(job["keys"] | {"us": us, "bytes": lasting})
    return pd.DataFrame(rows)
