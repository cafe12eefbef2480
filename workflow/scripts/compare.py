"""Compare learners over seeds: every statistic of the catalogue."""

from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.provenance import collect, merge
from orla.provenance.tables import read_table, write_table
from orla.results import base

with logged(snakemake.log[0]):
    catalogue.use_plugins(snakemake.params.plugins)
    params = snakemake.params
    settings = base.Settings.of(params.statistics, params.comparisons, params.quantities)
    inputs = {
        "models": snakemake.input.lr_curves,
        "horizon": snakemake.input.horizon,
        "alignment": snakemake.input.alignment,
        "profile": snakemake.input.profile,
    }
    tables = {name: read_table(path) for name, path in inputs.items()}
    outputs = {Path(path).stem: path for path in snakemake.output}
    given = {inputs[name]: table.attrs["provenance"] for name, table in tables.items()}
    chosen = {"statistics": dict(snakemake.params.statistics)}
    for name in base.in_order():
        tables[name] = base.build(name, tables, settings)
        here = collect.collect("orla.results.base", statistic=name, config=chosen)
        source = merge.merged(
            given | {outputs[name]: here}, allow_mixed=snakemake.params.allow_mixed
        )
        write_table(tables[name], outputs[name], source, inputs.values())
