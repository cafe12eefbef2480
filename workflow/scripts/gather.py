"""Tables of all models, and every statistic of the catalogue."""

from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.provenance import collect, cost, merge
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table, write_table
from orla.results import base, tidy

with logged(snakemake.log[0]), cost.measured(snakemake.output[0]):
    params = snakemake.params
    catalogue.use_plugins(params.plugins)
    outputs = {Path(path).stem: path for path in snakemake.output}
    tables = {path: read_table(path) for path in snakemake.input.tables}
    for (path, table), keys in zip(tables.items(), params.expected, strict=True):
        tidy.refuse_others(path, table, keys)
    traces = {path: read_arrays(path)[0] for path in snakemake.input.traces}
    given = {path: table.attrs["provenance"] for path, table in tables.items()}
    here = collect.collect("orla.results.tidy", config=dict(params.study))
    source = merge.merged(given | {"": here}, allow_mixed=params.allow_mixed)
    wide = tidy.frames(tables.values(), traces.values(), params.windows, params.exact)
    for name, frame in wide.items():
        write_table(frame, outputs[name], source, tables)
        frame.attrs["provenance"] = source

    settings = base.Settings.of(params.statistics, params.comparisons, params.quantities)
    results = wide | {"models": wide["lr_curves"]}
    for name in base.in_order():
        results[name] = base.build(name, results, settings)
        chosen = {"statistics": dict(params.statistics)}
        own = collect.collect("orla.results.base", statistic=name, config=chosen)
        write_table(
            results[name],
            outputs[name],
            merge.merged({"": source, name: own}, allow_mixed=params.allow_mixed),
            tables,
        )
