"""``python -m orla prereg``: bind and lock registrations, verify their locks, tell their power.

Commands import pandas and SciPy themselves: `orla run` reads this file and needs neither.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from orla import catalogue
from orla.errors import OrlaError
from orla.prereg import amendments, lock, reader
from orla.prereg.registration import check_columns


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``prereg bind``, ``lock``, ``verify`` and ``power`` to a program's subcommands."""
    parser = subparsers.add_parser("prereg", help="bind, lock and verify registrations")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., None], words: str) -> argparse.ArgumentParser:
        subcommand = commands.add_parser(name, help=words)
        subcommand.set_defaults(run=run)
        return subcommand

    bind_parser = command("bind", _bind_registration, "write hashes of config and code into a file")
    lock_parser = command("lock", _lock_documents, "add files to LOCK, with today's date")
    verify_parser = command("verify", _verify_locks, "check every registration against its lock")
    power_parser = command("power", _print_power, "power against the true gap, and units for 80 %%")
    for each in (bind_parser, power_parser):
        each.add_argument("file", type=Path, metavar="FILE")
    several = {"type": Path, "nargs": "+", "default": []}
    words = "overlays of config.yaml, as snakemake is given them"
    bind_parser.add_argument("--configfile", **several, help=words)
    lock_parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    lock_parser.add_argument("--folder", type=Path, help="default: that of the first file")
    verify_parser.add_argument("--folder", type=Path, default="prereg", help="default: prereg")
    power_parser.add_argument("--sd", type=float, help="standard deviation of a unit's gap")
    words = "pairs that fail a guard; default: 0"
    power_parser.add_argument("--failing", type=int, default=0, metavar="N", help=words)
    words = "default: those of the configs that the files are for"
    lock_parser.add_argument("--results", type=Path, help=words)
    for each in (verify_parser, power_parser):
        each.add_argument("--results", type=Path, default="results", help="default: results")
    for each in (lock_parser, verify_parser):
        each.add_argument("--plugins", **several, help="folders of further statistics")


def _bind_registration(arguments: argparse.Namespace) -> None:
    from orla.prereg import binding, demands, lockable
    from orla.study.config import read_plan

    claim = reader.read_registration(arguments.file)
    lockable.check_margin(claim)
    plan = read_plan(arguments.configfile)
    demands.check_study_answers(plan, claim)
    judged_folders = plan.config["registrations"]["folders"]
    if claim.folder.resolve() not in [Path(folder).resolve() for folder in judged_folders]:
        judges = f'study "{plan.config["name"]}" judges {", ".join(judged_folders) or "no folder"}'
        place = f'{claim.folder} under "registrations.folders" of its config'
        raise OrlaError(f"{arguments.file}: {judges}; name {place}")
    catalogue.use_plugins(plan.config.get("plugins", []))
    folders = [Path(plan.config["pathvars"]["results"]), *lockable.result_folders(claim)]
    claim = replace(claim, binds={})  # so that every part is bound
    sums = binding.recording_hashes(plan, claim)
    binds = binding.config_binding(plan, claim) | binding.behaviour_fingerprints(plan, claim)
    binds |= {"results": list(dict.fromkeys(map(str, folders))), "recordings": sums}
    if sweeps := demands.quantity_condition_paths(plan, claim):
        binds["sweeps"] = sweeps
    binding.write_binds(arguments.file, binds)
    recordings = f"the contents of {', '.join(sums)}; " if sums else ""
    print(
        f"bound: {', '.join(binds['parts'])}, each by small trials of what it computes; the study's"
        f" settings; {recordings}results in {', '.join(binds['results'])}. They stand in the file"
        " under binds."
    )
    print(f"next: orla prereg lock {arguments.file}")


def _lock_documents(arguments: argparse.Namespace) -> None:
    from orla.prereg import lockable

    if (folder := arguments.folder) is None:
        first = arguments.files[0].parent
        folder = first.parent if first.name == amendments.AMENDMENTS else first
    columns, lock_lines = _available_columns_by_result(arguments), lock.read_lock(folder)
    for path in arguments.files:
        if path.parent.name == amendments.AMENDMENTS:
            _check_stated_results_seen(path, folder, arguments)
            continue
        registration = reader.read_registration(path)
        check_columns(registration, columns)
        if path.name not in lock_lines:
            lockable.check_lockable(registration)
            if present := lockable.existing_results(registration, arguments.results):
                more = f", and {len(present) - 1} more" if len(present) > 1 else ""
                raise OrlaError(
                    f"registration {registration.name}: {present[0]} exists, which it would read"
                    f"{more}; a registration is locked before its results"
                )
    lockable.check_one_primary_per_study(folder)
    new_lines = lock.lock_files(folder, arguments.files)
    for line in new_lines:
        print(f"locked {line.file} {line.sha256} {line.date}")
    if new_lines:
        print(f"commit {folder / lock.LOCK} and these files today")


def _check_stated_results_seen(
    amendment_path: Path, folder: Path, arguments: argparse.Namespace
) -> None:
    """Refuse an amendment that says that no result was seen where one exists."""
    from orla.prereg import lockable

    for amendment in amendments.read_amendments(amendment_path):
        registration = reader.read_registration(folder / amendment.registration)
        present = lockable.existing_results(registration, arguments.results)
        if present and not amendment.saw_something:
            wrong = f"says that no result had been seen, and {present[0]} exists"
            raise OrlaError(f"{amendment_path}: {wrong}; state in results_seen what had been seen")


def _verify_locks(arguments: argparse.Namespace) -> None:
    from orla.prereg import lockable

    locks = lock.verify_folder(arguments.folder)
    columns = _available_columns_by_result(arguments)
    registrations = reader.read_registrations(arguments.folder)
    lockable.check_one_primary_per_study(arguments.folder)
    for registration in registrations:
        check_columns(registration, columns)
        line = locks[registration.name]
        note = " (amended)" if line.amendments else ""
        print(f"{line.date} {registration.name}{note} (history: {line.history})")
    if any(locks[registration.name].history == lock.UNCHECKED for registration in registrations):
        print(
            "not checked: no git history from before the lock, whose commits would show its day; "
            "commit the folder of the study before you lock"
        )


def _available_columns_by_result(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Result -> its columns: all statistics, and the tables in the folder of results."""
    import pyarrow.parquet

    from orla.results.base import columns_by_statistic

    catalogue.use_plugins(arguments.plugins)
    return {
        path.stem: pyarrow.parquet.read_schema(path).names
        for path in (arguments.results or Path("results")).glob("*.parquet")
    } | columns_by_statistic()


def _print_power(arguments: argparse.Namespace) -> None:
    import pandas as pd

    from orla.prereg import power

    claim, sd = reader.read_registration(arguments.file), arguments.sd
    if sd is None:
        path = arguments.results / f"{claim.query.result}.parquet"
        sd = power.gap_sd(claim, {path.stem: pd.read_parquet(path)} if path.is_file() else {})
        if np.isnan(sd):
            lacks = f"{arguments.file}: {path} has no row of it to take the scatter from"
            raise OrlaError(f"{lacks}; give --sd, the standard deviation of a {claim.unit}'s gap")
    family = [
        not each.primary and not set(each.studies).isdisjoint(claim.studies)
        for each in reader.read_registrations(arguments.file.parent)
    ]
    family_size = 1 if claim.primary else max(1, sum(family))
    table = power.power_by_gap(claim, sd, family_size, failing_pairs=arguments.failing)
    first = table.iloc[0]
    units = f"{'sound ' if arguments.failing else ''}{claim.unit}s"
    print(
        f"{claim.name}: {claim.rule.region.describe(claim.scale)}, {first['n']} {units}, standard "
        f"deviation {sd:.3g} {claim.scale}, alpha {first['alpha']:.3g}"
    )
    print(f"{'true gap':>9} {'supported':>9} {'falsified':>9} {claim.unit + 's for 80 %':>14}")
    for row in table.itertuples():
        units_80 = "never" if np.isnan(row.n_80) else f"{row.n_80:.0f}"
        print(f"{row.true_gap:9.3g} {row.supported:9.3f} {row.falsified:9.3f} {units_80:>14}")
