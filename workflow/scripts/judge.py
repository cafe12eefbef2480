"""Judge the registrations; one that differs from its lock is refused."""

from pathlib import Path

from orla.errors import OrlaError, logged
from orla.prereg import judge, lock, registration
from orla.provenance import collect, merge
from orla.provenance.tables import read_table, write_table

with logged(snakemake.log[0]):
    params = snakemake.params
    folders = [Path(path).parent for path in snakemake.input.locks]
    locks = {name: locked for folder in folders for name, locked in lock.verify(folder).items()}
    tables = {path: read_table(path) for path in snakemake.input.tables}
    here = collect.collect(
        "orla.prereg.judge", prereg_lock_sha256=" ".join(map(lock.digest, folders))
    )
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    given[snakemake.output.verdicts] = here
    mixed = ""
    try:
        source = merge.merged(given)
    except OrlaError as error:
        if not params.allow_mixed:
            raise
        mixed = str(error)  # provenance.allow_mixed lets them stand in a table, not in a verdict
        source = merge.merged(given, allow_mixed=True)
    verdicts = judge.verdicts(
        [found for folder in folders for found in registration.read_all(folder)],
        {Path(path).stem: table for path, table in tables.items()},
        locks,
        params.assumed,
        study=params.study,
        bindings=params.bindings,
        datasets=source.get("datasets", {}),
        mixed=mixed,
    )
    write_table(verdicts, snakemake.output.verdicts, source, list(snakemake.input))
