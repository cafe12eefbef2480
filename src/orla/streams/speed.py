"""What a row of a stream takes: CPU microseconds from the cost files, and bytes of a model.

It is measured while the study runs, so it differs between runs, and no verdict reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from orla import catalogue
from orla.engine.loop import loop_of
from orla.engine.memory import one_model
from orla.engine.state import PRECISIONS
from orla.errors import OrlaError
from orla.study.keys import KEYS

LEARNERS = "learners"
# A network, its optimizer's state, and what a learner carries; tapes last as long as a row.
_HELD = ("params", "optimizer", "carry", "buffers")


def microseconds(results: Sequence[str], phase: str) -> float:
    """CPU microseconds of a row of one model, over the jobs that made these results.

    Raises:
        OrlaError: A result has no cost file beside it.
    """
    spent: Counter[str] = Counter()
    for result in results:
        file = Path(f"{result}.cost.json")
        if not file.is_file():
            raise OrlaError(f"{result}: its cost file is missing; delete the result and run again")
        cost = json.loads(file.read_text(encoding="utf-8"))
        spent["s"] += cost["cpu_by_phase_s"].get(phase, 0.0)
        spent["rows"] += cost["steps"].get(phase, 0)
    return 1e6 * spent["s"] / spent["rows"] if spent["rows"] else float("nan")


def of_peers(files: Mapping[str, str], peers: pd.DataFrame) -> pd.DataFrame:
    """A row a task and peer: microseconds, and bytes at the end, means over seeds.

    Args:
        files: Path of each table of peers -> its task.
        peers: The tables as one, with their task.
    """
    rows = []
    for (task, peer), group in peers.groupby(["task", "peer"], sort=False):
        here = [path for path, of in files.items() if of == task]
        sizes = group.groupby("seed")["bytes"].first()
        taken = microseconds(here, peer), float(sizes.mean())
        rows.append({"task": task, "peer": peer} | dict(zip(("us", "bytes"), taken, strict=True)))
    return pd.DataFrame(rows)


def of_networks(files: Mapping[str, Sequence[tuple[Mapping[str, Any], Any]]]) -> pd.DataFrame:
    """A row a condition: the mean microseconds of all models of its job, and bytes.

    Args:
        files: Path of each table of models -> (the task's specification, the job) of each
            condition.
    """
    rows = []
    for path, jobs in files.items():
        us = microseconds([path], LEARNERS)
        for task, job in jobs:
            X, _, classes = catalogue.make("task", task).table(0, rows=1)
            loop = loop_of(job, X.shape[1], classes, catalogue.make("loss", "cross_entropy"))
            size = one_model(loop, PRECISIONS[job["keys"]["precision"]])
            keys = {key: job["keys"][key] for key in KEYS}
            rows.append(keys | {"us": us, "bytes": float(sum(size[name] for name in _HELD))})
    return pd.DataFrame(rows)
