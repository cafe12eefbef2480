"""Judge made-up studies, and count right and wrong verdicts."""

import pandas as pd

from orla.jobs import job
from orla.provenance import collect
from orla.provenance.tables import merge_provenances, read_table, write_table
from orla.results import base
from orla.truth import matched, verdicts

params, output = snakemake.params, snakemake.output.controls
with job(snakemake.log[0], output, "truth"):
    tables = {path: read_table(path) for path in snakemake.input.models}
    worlds = {table.attrs["provenance"]["world"]: table for table in tables.values()}
    settings = base.Settings.from_config(params.statistics, {})
    controls = verdicts.control_table(worlds, params.truth["seeds"], settings)
    study = {path: read_table(path) for path in snakemake.input.study}
    comparisons = base.Settings.from_config(params.statistics, params.comparisons)
    others = matched.matched_control_table(*study.values(), comparisons, params.truth["studies"])
    controls = pd.concat([controls, others], ignore_index=True) if len(others) else controls
    origins = {path: table.attrs["provenance"] for path, table in {**tables, **study}.items()}
    origins[output] = collect.collect("orla.truth.matched", config={"truth": dict(params.truth)})
    source = merge_provenances(origins, allow_mixed=params.allow_mixed)
    write_table(controls, output, source, [*tables, *study])
