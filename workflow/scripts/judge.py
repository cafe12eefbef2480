"""Judge the registrations, and refuse those that differ from their lock."""

from pathlib import Path

from orla.errors import logged
from orla.prereg import judge, lock, registration
from orla.provenance.tables import read_table, write_table

with logged(snakemake.log[0]):
    folder = Path(snakemake.input.lock).parent
    locks = lock.verify(folder)
    tables = {Path(path).stem: read_table(path) for path in snakemake.input.tables}
    provenance = next(iter(tables.values())).attrs["provenance"]
    verdicts = judge.verdicts(registration.read_all(folder), tables, locks)
    write_table(
        verdicts,
        snakemake.output.verdicts,
        provenance | {"prereg_lock_sha256": lock.digest(folder)},
    )
