"""What leaves a model's numbers as they are, to the bit, and how far the rest moves its error.

The tables of docs/reliability.md are made of what is measured here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import measure
from orla import catalogue
from tests.tables_of_docs import put

PAGE = Path(__file__).parents[1] / "docs/reliability.md"
_TASK = {"kind": "lorenz", "pretraining": 600, "heldout": 3000}
USUAL: dict[str, Any] = {
    "task": _TASK | {"adapt": 13_000},
    "streams": 15,
    "hidden": 64,
    "rate": 1e-3,
    "learners": [["immediate", "rnn"], ["tbptt-200-200", "rnn"]],
    "seeds": [0, 1, 2, 3, 4],
    "precision": "float64",
    "instructions": None,
    "threads": 1,
    "compile": True,
}
_NARROW = {"precision": "float32"}
# What is changed -> the changes; those that begin with float32 are compared with float32.
CHANGES: dict[str, dict[str, Any]] = {
    "another process": {},
    "jobs in another order": {"learners": USUAL["learners"][::-1]},
    "another place in the batch": {"seeds": [4, 3, 2, 1, 0]},
    "other seeds in the batch": {"seeds": [0, 11, 12, 13, 14]},
    "batches of one": {"seeds": [0]},
    "two threads": {"threads": 2},
    "AVX-2": {"instructions": "avx2"},
    "no AVX": {"instructions": "default"},
    "uncompiled": {"compile": False},
    "float32 in place of float64": _NARROW,
    "float32: two threads": _NARROW | {"threads": 2},
    "float32: AVX-2": _NARROW | {"instructions": "avx2"},
    "float32: no AVX": _NARROW | {"instructions": "default"},
    "float32: uncompiled": _NARROW | {"compile": False},
}
# Networks of learners that do not take every one.
_NETWORKS = {"diagonal": "lru", "d_rtrl": "lru"}
CATALOGUE = USUAL | {
    "task": _TASK | {"adapt": 2000},
    "streams": 2,
    "seeds": [0, 1],
    "hidden": 8,
    "compile": False,
}


def run(**changes: Any) -> tuple[str, dict[str, dict[str, tuple[float, str]]]]:
    """The instruction set that was used, and by learner and seed the error and the weights' hash.

    Args:
        **changes: Of `USUAL`.
    """
    asked = json.dumps(USUAL | changes)
    ran = [sys.executable, str(Path(__file__).with_name("adapted.py")), asked]
    free = {k: v for k, v in os.environ.items() if k != "ATEN_CPU_CAPABILITY"}
    done = subprocess.run(ran, env=free, stdout=subprocess.PIPE, check=True)
    used, answer = json.loads(done.stdout)
    return used, {
        learner: {seed: (float.fromhex(error), weights) for seed, (error, weights) in of.items()}
        for learner, of in answer.items()
    }


def invariance() -> None:
    """Adapt the same models under each change; print and keep differences, and write the page."""
    rows, before = [], {"float64": run()[1], "float32": run(**_NARROW)[1]}
    for what, changes in CHANGES.items():
        used, after = run(**changes)
        of = before["float32" if what.startswith("float32:") else "float64"]
        rows += [_row(what, learner, used, of[learner], after[learner]) for learner in of]
        print(rows[-2:], flush=True)
    learners = [
        ["tbptt-200-200" if name == "tbptt" else name, _NETWORKS.get(name, "rnn")]
        for name in catalogue.parts("learner")
    ]
    small = CATALOGUE | {"learners": learners}
    (used, wide), (_, narrow) = run(**small), run(**small | _NARROW)
    rows += [_row("catalogue", name, used, wide[name], narrow[name]) for name in wide]
    measure.keep(pd.DataFrame(rows), "invariance")
    write()


def _row(what: str, learner: str, used: str, before: Any, after: Any) -> dict[str, Any]:
    """How far the models that both have are apart."""
    pairs = [(before[seed], after[seed]) for seed in after if seed in before]
    return {
        "what": what,
        "learner": learner,
        "instructions": used,
        "same_bits": all(one == other for one, other in pairs),
        "error_moved": max(abs(one[0] - other[0]) for one, other in pairs),
        "error": max(one[0] for one, _ in pairs),
    }


def tables() -> str:
    """Both tables as Markdown, from the kept numbers."""
    rows = pd.read_csv(measure.RESULTS / "invariance.csv")
    changed, kinds = rows[rows["what"] != "catalogue"], rows[rows["what"] == "catalogue"]
    names = list(changed["learner"].unique())
    lines = [f"| changed | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for what, group in changed.groupby("what", sort=False):
        by = group.set_index("learner")
        lines.append(f"| {what} | {' | '.join(_moved(by.loc[name]) for name in names)} |")
    lines += ["", "| learner | error | float32 moves it by |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {r.learner} | {r.error:.3g} | {_moved(r)} |" for _, r in kinds.iterrows())]
    )


def _moved(row: pd.Series) -> str:
    return "same bits" if row["same_bits"] else f"{row['error_moved']:.1e}"


def write() -> None:
    """Put the tables into docs/reliability.md."""
    put(PAGE, "invariance", tables())
