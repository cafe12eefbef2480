"""The engine of this checkout against that of another one: the same rows, in the same minutes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure
from benchmarks.engine import TABLES, Case, cases
from benchmarks.problem import TOLERANCE, WrongNumbers, distance
from orla.errors import OrlaError
from orla.programs.store import MALLOC
from orla.provenance import collect

HERE = Path(__file__).resolve().parent.parent


class _Engine:
    """A process that runs the engine of one checkout."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder, self.made = checkout, folder, 0
        path = os.pathsep.join([str(checkout), str(checkout / "src")])
        # -P: the folder of timed.py is this version's and must not be searched.
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "benchmarks" / "timed.py")],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": path, "GLIBC_TUNABLES": MALLOC},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: Any) -> Any:
        with suppress(BrokenPipeError):  # the missing answer tells
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise OrlaError(
                f"versions: the engine of {self.checkout} ended; mend what it says above"
            )
        return json.loads(answer)

    def make(self, case: Case) -> dict[str, np.ndarray]:
        """Make the next case ready and answer with its final weights."""
        path = self.folder / f"{self.made}.npz"
        self.made += 1
        self.ask(
            {
                "problem": [case.problem.name, case.problem.hidden, case.problem.steps],
                "models": case.models,
                "learner": case.learner,
                "optimizer": case.optimizer,
                "batch": case.batch,
                "weights": str(path),
            }
        )
        with np.load(path) as weights:
            return dict(weights)

    def __enter__(self) -> _Engine:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def versions(other: Path, repeats: int, only: str | None = None) -> None:
    """Time both checkouts' engines in turn, print and keep the ratio of each row.

    Args:
        other: Root of another checkout, with `benchmarks` and `src`.
        repeats: Runs of each row in each version, of which the least CPU time counts.
        only: A learner, where not all of them are wanted.

    Raises:
        OrlaError: `other` is no checkout, or `only` is timed nowhere.
        WrongNumbers: The two versions end with different weights.
    """
    other = other.resolve()
    if not (other / "benchmarks" / "engine.py").is_file() or not (other / "src").is_dir():
        raise OrlaError(f"versions: {other} has no benchmarks/engine.py and src; name a checkout")
    rows = [c for table in TABLES for c in cases(*table) if only in (None, c.learner)]
    if not rows:
        raise OrlaError(
            f"versions: {only} is not timed; choose one of {sorted({t[0] for t in TABLES})}"
        )
    with ExitStack() as stack:
        old, new = (
            stack.enter_context(
                _Engine(checkout, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            )
            for checkout in (other, HERE)
        )
        differences = [_difference(new.make(case), old.make(case), case) for case in rows]
        best = np.full((2, len(rows)), np.inf)
        load = []
        for repeat in range(repeats):
            for i in range(len(rows)):
                # In turn, so that a change of load meets both, and neither is always the first.
                for which in (0, 1) if repeat % 2 else (1, 0):
                    best[which, i] = min(best[which, i], (old, new)[which].ask(i))
            load.append(measure.load_average())
    frame = _frame(rows, best, differences)
    frame = frame.assign(
        repeats=repeats,
        load_average_least=min(load),
        load_average_most=max(load),
        old_commit=_commit(other),
        new_commit=_commit(HERE),
    )
    _show(frame)
    measure.keep(frame, "versions")


def _difference(new: dict[str, np.ndarray], old: dict[str, np.ndarray], case: Case) -> float:
    each = [distance(new, i, {name: w[i] for name, w in old.items()}) for i in range(case.models)]
    if not max(each) <= TOLERANCE:
        raise WrongNumbers(f"{case}: the two versions' weights differ by {max(each):.1e}")
    return max(each)


def _frame(rows: list[Case], best: np.ndarray, differences: list[float]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "table": f"{case.learner} + {case.optimizer}",
            "architecture": case.problem.name,
            "hidden": case.problem.hidden,
            "models": case.models,
            "batch": case.batch or case.models,
            "steps": case.problem.steps,
        }
        for case in rows
    )
    per = 1e6 / frame["steps"].to_numpy() / frame["models"].to_numpy()
    return frame.assign(
        new_over_old=best[1] / best[0],
        us_old=best[0] * per,
        us_new=best[1] * per,
        difference=differences,
    )


def _show(frame: pd.DataFrame) -> None:
    columns = ["table", "architecture", "hidden", "models", "batch", "us_old", "us_new"]
    shown = frame[[*columns, "new_over_old", "difference"]]
    formats = {"us_old": "{:.1f}".format, "us_new": "{:.1f}".format}
    formats |= {"new_over_old": "{:.3f}".format, "difference": "{:.1e}".format}
    print(shown.to_string(index=False, formatters=formats))
    worst = frame.loc[frame["new_over_old"].idxmax()]
    print(
        f"most: {worst['new_over_old']:.3f} of the other version's time"
        f" ({worst['table']}, {worst['architecture']}, {worst['models']} models);"
        f" us: CPU time a model and step, best of {worst['repeats']}"
    )


def _commit(checkout: Path) -> str:
    code = collect.commit_state(checkout / "benchmarks" / "engine.py")
    return code["commit"] + (" and changes" if code["dirty"] else "")
