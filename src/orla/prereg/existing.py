"""Results that a registration would read, and that exist already."""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow.parquet

from orla.prereg import rows
from orla.prereg.documents import parse
from orla.prereg.registration import Registration
from orla.study.keys import KEYS

_PATH = ("architecture", "learner", "optimizer", "split")


def folders(registration: Registration) -> list[Path]:
    """Folders of results of the configs here that a registration is for, by their names."""
    found = []
    for path in (Path("config.yaml"), *sorted(Path("config").glob("*.yaml"))):
        config = parse(path) if path.is_file() else None
        if isinstance(config, Mapping) and config.get("name") in registration.studies:
            found.append(Path(config.get("pathvars", {}).get("results", "results")))
    return list(dict.fromkeys(found))


def results(registration: Registration, folder: Path) -> list[Path]:
    """Files in a study's folder of results that the registration would read, sorted.

    They are results of its conditions, and tables that hold a row that it reads.
    """
    return sorted({*_conditions(registration, folder), *_tables(registration, folder)})


def _conditions(registration: Registration, folder: Path) -> Iterator[Path]:
    files = (folder / f"{path}.parquet" for path in registration.binds.get("sweeps", ()))
    yield from filter(Path.is_file, files)
    if registration.quantity:
        return
    keys = dict(registration.conditions)
    if registration.tested:
        keys["learner"] = list(registration.minus)
    values = [keys.get(key, "*") for key in _PATH]
    task = registration.task or "*"
    for parts in product(*([each] if isinstance(each, str) else each for each in values)):
        for place in (task, f"{task}/*"):
            path = f"{place}/sweeps/{'/'.join(parts)}"
            yield from folder.glob(f"{path}.parquet")
            yield from folder.glob(f"{path}/**/*.parquet")


def _tables(registration: Registration, folder: Path) -> Iterator[Path]:
    for reading in registration.readings:
        path = folder / f"{reading.result}.parquet"
        if path.is_file():
            present = set(pyarrow.parquet.read_schema(path).names)
            table = pd.read_parquet(path, columns=sorted(present & {*reading.where, *KEYS}))
            where = {k: v for k, v in reading.where.items() if k in present}
            if not rows.matching(table, where).empty:
                yield path
