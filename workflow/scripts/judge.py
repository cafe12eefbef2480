"""Judge the registrations; one that differs from its lock is refused."""

from pathlib import Path

from orla.errors import logged
from orla.prereg import judge, lock, registration
from orla.provenance import collect, merge
from orla.provenance.tables import read_table, write_table

with logged(snakemake.log[0]):
    folders = [Path(path).parent for path in snakemake.input.locks]
    locks = {name: locked for folder in folders for name, locked in lock.verify(folder).items()}
    tables = {path: read_table(path) for path in snakemake.input.tables}
    verdicts = judge.verdicts(
        [found for folder in folders for found in registration.read_all(folder)],
        {Path(path).stem: table for path, table in tables.items()},
        locks,
        snakemake.params.assumed,
    )
    here = collect.collect(
        "orla.prereg.judge", prereg_lock_sha256=" ".join(map(lock.digest, folders))
    )
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    source = merge.merged(
        given | {snakemake.output.verdicts: here}, allow_mixed=snakemake.params.allow_mixed
    )
    write_table(verdicts, snakemake.output.verdicts, source, list(snakemake.input))
