"""Power of the registrations of version 2, at the scatter that was seen."""

from pathlib import Path

import pandas as pd

from orla.errors import logged
from orla.prereg import power, registration
from orla.prereg.claimed import ClaimRegistration
from orla.provenance import collect, merge
from orla.provenance.tables import read_table, write_table

with logged(snakemake.log[0]):
    params = snakemake.params
    tables = {path: read_table(path) for path in snakemake.input.tables}
    folders: dict[Path, list[ClaimRegistration]] = {}
    for path in map(Path, snakemake.input.registrations):
        known = registration.read(path)
        if isinstance(known, ClaimRegistration) and params.study in known.studies:
            folders.setdefault(path.parent, []).append(known)
    by_name = {Path(path).stem: table for path, table in tables.items()}
    found = [power.table(known, by_name) for known in folders.values()]
    found = pd.concat(found, ignore_index=True) if found else power.table([], by_name)
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    given[snakemake.output.power] = collect.collect("orla.prereg.power")
    source = merge.merged(given, allow_mixed=params.allow_mixed)
    write_table(found, snakemake.output.power, source, list(snakemake.input))
