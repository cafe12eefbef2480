"""What stands in the way of a lock: results that are there already, and another primary."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet

from orla.prereg import reader, rows
from orla.prereg.documents import read_yaml
from orla.prereg.registration import Registration, check_primary
from orla.study.condition import Condition
from orla.study.keys import KEYS

_PATH = ("architecture", "learner", "optimizer", "split")


def existing_results(registration: Registration, folder: Path | None) -> list[Path]:
    """Results of a registration: in a folder, where it is bound to, and by the configs here."""
    folders = [folder] if folder else []
    folders += [*map(Path, registration.binds.get("results", ())), *result_folders(registration)]
    return [
        path
        for folder in dict.fromkeys(folders) or [Path("results")]
        for path in sorted(
            {*_sweep_files(registration, folder), *_table_files(registration, folder)}
        )
    ]


def check_one_primary_per_study(folder: Path) -> None:
    """Refuse a study of a folder's registrations without exactly one primary registration.

    It may stand in any folder that the study's config here judges by; without such a config, in
    this folder.
    """
    configs, families = _configs(), {}
    for config in configs:
        settings = {**configs[0], **config}.get("registrations", {})
        folders = [*map(Path, settings.get("folders", ()))]
        if folder in folders:
            families[config.get("name")] = [each for each in folders if each.is_dir()]
    registrations = reader.read_registrations(folder)
    for study in sorted({study for each in registrations for study in each.studies}):
        folders = families.get(study, [folder])
        together = [each for place in folders for each in reader.read_registrations(place)]
        check_primary(", ".join(map(str, folders)), together, [study])


def _configs() -> list[Mapping[str, Any]]:
    """The configs here, config.yaml first."""
    files = (Path("config.yaml"), *sorted(Path("config").glob("*.yaml")))
    configs = [read_yaml(path) for path in files if path.is_file()]
    return [config for config in configs if isinstance(config, Mapping)]


def result_folders(registration: Registration) -> list[Path]:
    """Folders of results of the configs here that a registration is for, by their names."""
    return [
        Path(config.get("pathvars", {}).get("results", "results"))
        for config in _configs()
        if config.get("name") in registration.studies
    ]


def _sweep_files(registration: Registration, folder: Path) -> Iterator[Path]:
    """Files in a folder of results that hold a sweep which a registration would read."""
    for path in folder.glob("**/sweeps/**/*.parquet"):
        if _reads_sweep(registration, path.relative_to(folder).with_suffix("").as_posix()):
            yield path
    for path in folder.glob("**/adaptation/**/*.parquet"):
        domain = path.relative_to(folder).as_posix().partition("/adaptation/")[0]
        table = pd.read_parquet(path, columns=[*KEYS]).drop_duplicates()
        conditions = (Condition(**keys, domain=domain) for keys in table.to_dict("records"))
        if any(_reads_sweep(registration, condition.path) for condition in conditions):
            yield path


def _reads_sweep(registration: Registration, path: str) -> bool:
    """Whether a registration reads the sweep of this path, TASK[/PAIR]/sweeps/NETWORK/..."""
    if path in registration.binds.get("sweeps", ()):
        return True
    if registration.quantity:
        return False
    domain, _, rest = path.partition("/sweeps/")
    keys = dict(registration.conditions) | {"task": registration.task or None}
    if registration.is_tested:
        keys["learner"] = list(registration.minus)
    parts = dict(zip(_PATH, rest.split("/"), strict=False)) | {"task": domain.split("/")[0]}
    criteria = {key: [v] if isinstance(v, str) else v for key, v in keys.items() if v is not None}
    return all(
        parts.get(key) in values for key, values in criteria.items() if key in (*_PATH, "task")
    )


def _table_files(registration: Registration, folder: Path) -> Iterator[Path]:
    """Tables in a folder of results that hold a row which a registration would read."""
    for reading in registration.readings:
        path = folder / f"{reading.result}.parquet"
        if path.is_file():
            present = set(pyarrow.parquet.read_schema(path).names)
            table = pd.read_parquet(path, columns=sorted(present & {*reading.where, *KEYS}))
            where = {k: v for k, v in reading.where.items() if k in present}
            if not rows.matching_rows(table, where).empty:
                yield path
