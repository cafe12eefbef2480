"""Results that a registration would read, and that exist already."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet

from orla.prereg import rows
from orla.prereg.claimed import ClaimRegistration
from orla.prereg.registration import Registration
from orla.study.keys import KEYS

_PATH = ("architecture", "learner", "optimizer", "split")


def results(registration: Registration | ClaimRegistration, folder: Path) -> list[Path]:
    """Files in a folder of results that the registration would read.

    Parameters
    ----------
    registration
        The registration.
    folder
        A study's folder of results.

    Returns
    -------
    list
        Sweeps of its conditions, and tables that hold a row it reads, sorted.
    """
    return sorted({*_sweeps(registration, folder), *_tables(registration, folder)})


def _sweeps(registration: Registration | ClaimRegistration, folder: Path) -> Iterator[Path]:
    if isinstance(registration, ClaimRegistration):
        files = (folder / f"{path}.parquet" for path in registration.binds.get("sweeps", ()))
        yield from filter(Path.is_file, files)
        if registration.quantity:
            return
    given: dict[str, Any] = dict(registration.conditions)
    if isinstance(registration, ClaimRegistration):
        given |= {"learner": list(registration.minus)}
    names = [given.get(key, "*") for key in _PATH]
    task = getattr(registration, "task", "*")
    for parts in product(*([name] if isinstance(name, str) else name for name in names)):
        for place in (task, f"{task}/*"):
            path = f"{place}/sweeps/{'/'.join(parts)}"
            yield from folder.glob(f"{path}.parquet")
            yield from folder.glob(f"{path}/**/*.parquet")


def _tables(registration: Registration | ClaimRegistration, folder: Path) -> Iterator[Path]:
    if isinstance(registration, ClaimRegistration):
        wanted = [(registration.result, registration.where)]
    else:
        wanted = [(c.result, c.where) for c in registration.criteria]
    for result, where in wanted:
        path = folder / f"{result}.parquet"
        if path.is_file():
            known = set(pyarrow.parquet.read_schema(path).names)
            table = pd.read_parquet(path, columns=sorted(known & {*where, *KEYS}))
            if not rows.matching(table, {k: v for k, v in where.items() if k in known}).empty:
                yield path
