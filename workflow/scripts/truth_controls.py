"""Judge made-up studies, and count right and wrong verdicts."""

from orla.jobs import job
from orla.provenance import collect, merge
from orla.provenance.tables import read_table, write_table
from orla.results import base
from orla.truth import verdicts

params, output = snakemake.params, snakemake.output.controls
with job(snakemake.log[0], output, "truth"):
    tables = {path: read_table(path) for path in snakemake.input.models}
    worlds = {table.attrs["provenance"]["world"]: table for table in tables.values()}
    settings = base.Settings.of({**params.statistics, "resamples": params.truth["resamples"]}, {})
    controls = verdicts.table(worlds, params.truth["seeds"], settings)
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    given[output] = collect.collect("orla.truth.verdicts", config={"truth": dict(params.truth)})
    source = merge.merged(given, allow_mixed=params.allow_mixed)
    write_table(controls, output, source, list(tables))
