"""Put the sweeps of all conditions into tables of models, traces, horizons, and what probes saw."""

from orla.errors import logged
from orla.provenance import collect, merge
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table, write_table
from orla.results.frames import frames

with logged(snakemake.log[0]):
    given, params = snakemake.input, snakemake.params
    read = list(zip(given.tables, given.traces, params.expected, strict=True))
    tables = {path: read_table(path, expect=keys) for path, _, keys in read}
    traces = [read_arrays(path, expect=keys)[0] for _, path, keys in read]
    here = collect.collect("orla.results.frames", config=dict(params.study))
    made_from = {path: table.attrs["provenance"] for path, table in tables.items()}
    allowed = params.study["provenance"]["allow_mixed"]
    for name, frame in frames(tables.values(), traces, params.exact).items():
        path = snakemake.output[name]
        source = merge.merged(made_from | {path: here}, allow_mixed=allowed)
        write_table(frame, path, source, tables)
