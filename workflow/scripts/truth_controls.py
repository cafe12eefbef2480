"""Judge made-up studies, and count right and wrong verdicts."""

import pandas as pd

from orla.errors import logged
from orla.provenance import collect, cost, merge
from orla.provenance.tables import read_table, write_table
from orla.results import base
from orla.truth import verdicts

with logged(snakemake.log[0]), cost.measured(snakemake.output.controls, "truth"):
    params = snakemake.params
    tables = {path: read_table(path) for path in snakemake.input.models}
    worlds: dict[str, list[pd.DataFrame]] = {}
    for table in tables.values():
        worlds.setdefault(table.attrs["provenance"]["world"], []).append(table)
    settings = base.Settings.of({**params.statistics, "resamples": params.truth["resamples"]}, {})
    controls = verdicts.table(
        {world: pd.concat(parts, ignore_index=True) for world, parts in worlds.items()},
        params.truth["seeds"],
        settings,
    )
    here = collect.collect("orla.truth.verdicts", config={"truth": dict(params.truth)})
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    given[snakemake.output.controls] = here
    source = merge.merged(given, allow_mixed=params.allow_mixed)
    write_table(controls, snakemake.output.controls, source, list(tables))
