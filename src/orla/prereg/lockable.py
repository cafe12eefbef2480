"""What stands in the way of a lock: results, no binds, a wide margin, another primary."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

from orla.errors import OrlaError
from orla.prereg import reader, rows
from orla.prereg.registration import LATER_PARTS, Registration, check_primary
from orla.study.condition import Condition
from orla.study.keys import KEYS
from orla.yaml_files import read_yaml

_SWEEP_FOLDERS = ("sweeps", "adaptation")
"""Folders of what a condition came to, and of what a job wrote of all its conditions."""

WIDE = {"pp": 5.0, "variance": 0.033}
"""Scale -> the widest margin that needs no reason: of recovery, and of the target's variance."""

# Pattern of columns -> the values that they can hold whatever the results; the first one counts.
_RANGES = {
    r"_gap|gap_": (-np.inf, np.inf),
    r"^n_|^updates|ratio|norm|(^|_)error|^sd_|_sd_|delta_star|learning_rate": (0, np.inf),
    r"_p$|_share$": (0, 1),
    r"^spearman$|^rho$": (-1, 1),
    r"^r2_": (-np.inf, 1),
    "": (-np.inf, np.inf),
}


def existing_results(registration: Registration, folder: Path | None) -> list[Path]:
    """Results of a registration: in a folder, where it is bound to, and by the configs here."""
    folders = [folder] if folder else []
    folders += [*map(Path, registration.binds.get("results", ())), *result_folders(registration)]
    paths: list[Path] = []
    for each in dict.fromkeys(folders) or [Path("results")]:
        paths += sorted({*_sweep_files(registration, each), *_table_files(registration, each)})
    return paths


def check_one_primary_per_study(folder: Path) -> None:
    """Refuse a study of a folder's registrations without exactly one primary registration.

    It may stand in any folder that the study's config here judges by; without such a config, in
    this folder.
    """
    configs, families = _read_configs_here(), {}
    for config in configs:
        settings = {**configs[0], **config}.get("registrations", {})
        folders = [*map(Path, settings.get("folders", ()))]
        if folder in folders:
            families[config.get("name")] = [each for each in folders if each.is_dir()]
    registrations = reader.read_registrations(folder)
    for study in sorted({study for each in registrations for study in each.studies}):
        folders = families.get(study, [folder])
        check_primary(", ".join(map(str, folders)), reader.read_folders(folders), study)


def _read_configs_here() -> list[Mapping[str, Any]]:
    """The configs here, config.yaml first."""
    files = (Path("config.yaml"), *sorted(Path("config").glob("*.yaml")))
    configs = [read_yaml(path) for path in files if path.is_file()]
    return [config for config in configs if isinstance(config, Mapping)]


def result_folders(registration: Registration) -> list[Path]:
    """Folders of results of the configs here that a registration is for, by their names."""
    return [
        Path(config.get("pathvars", {}).get("results", "results"))
        for config in _read_configs_here()
        if config.get("name") in registration.studies
    ]


def _sweep_files(registration: Registration, folder: Path) -> Iterator[Path]:
    """Files in a folder of results that hold a sweep which a registration would read."""
    sweeps = registration.binds.get("sweeps", ())
    tasks = sorted({registration.task, *(path.split("/")[0] for path in sweeps)})
    for kind, task in product(_SWEEP_FOLDERS, tasks):
        for path in folder.glob(f"{task}/**/{kind}/**/*.parquet"):
            domain = path.relative_to(folder).as_posix().partition(f"/{kind}/")[0]
            table = pd.read_parquet(path, columns=[*KEYS]).drop_duplicates()
            conditions = (Condition(**keys, domain=domain) for keys in table.to_dict("records"))
            if any(c.path in sweeps or registration.compares(c.keys) for c in conditions):
                yield path


def _table_files(registration: Registration, folder: Path) -> Iterator[Path]:
    """Tables in a folder of results that hold a row which a registration would read."""
    query = registration.query
    path = folder / f"{query.result}.parquet"
    if path.is_file():
        present = set(pyarrow.parquet.read_schema(path).names)
        where = {k: v for k, v in query.where.items() if k in present}
        if len(rows.matching_rows(pd.read_parquet(path, columns=[*where]), where)):
            yield path


def check_margin(registration: Registration) -> None:
    """Refuse (OrlaError) a wide margin without a reason."""
    rule, widest = registration.rule, WIDE.get(registration.scale, np.inf)
    if rule.margin and not registration.margin_reason and rule.value > widest:
        raise OrlaError(
            f"registration {registration.name}: a margin of {rule.value:g} {registration.scale} is "
            f'wider than {widest:g}; say in "margin_reason" why it says something'
        )


def check_lockable(registration: Registration) -> None:
    """Refuse (OrlaError) missing binds, a wide margin without a reason, and what is always true."""
    name = f"registration {registration.name}"
    parts, binds = registration.binds.get("parts", {}), registration.binds
    unbound_parts = [f'part "{part}"' for part in LATER_PARTS if part not in parts]
    unbound_parts += ["recordings"] if "recordings" not in binds else []
    if unbound_parts:
        path = registration.folder / f"{registration.name}.yaml"
        what = f"no {unbound_parts[0]}" if binds else "neither config nor behaviour"
        raise OrlaError(f"{name}: binds {what}; run: orla prereg bind {path}")
    check_margin(registration)
    for check in registration.checks:
        for column in check.ends if check.region else ():
            low, high = next(e for pattern, e in _RANGES.items() if re.search(pattern, column))
            if check.region.contains(np.nextafter(low, np.inf), np.nextafter(high, -np.inf)):
                raise OrlaError(
                    f'{name}: manipulation check "{check.name}" is always true: {column} cannot be '
                    f"other than {check.region.describe()}; ask what it could miss"
                )
