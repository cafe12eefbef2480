"""Tables of all models, and every statistic of the catalogue."""

from pathlib import Path

import numpy as np

from orla.errors import prefix_errors
from orla.jobs import job
from orla.provenance import collect
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import merge_provenances, read_table, write_table
from orla.results import base
from orla.results.frames import join_peer_accuracy, result_frames
from orla.study import adaptation

params = snakemake.params
with job(snakemake.log[0], snakemake.output[0], "statistics", params.plugins):
    outputs = {Path(path).stem: path for path in snakemake.output}
    tables = {path: read_table(path) for path in snakemake.input.tables}
    files = zip(tables.items(), snakemake.input.traces, params.expected, strict=True)
    adapted = []
    for (path, table), traces, keys in files:
        arrays, _ = read_arrays(traces)
        with prefix_errors(path):
            adapted += adaptation.split_by_condition(table, arrays, keys)
    # In the order of the study, whatever jobs adapted them.
    adapted = [adapted[i] for i in np.argsort(params.order)]
    provenances = {path: table.attrs["provenance"] for path, table in tables.items()}
    here = collect.collect("orla.results.frames", config=dict(params.study))
    source = merge_provenances(provenances | {"": here}, allow_mixed=params.allow_mixed)
    results = result_frames(*zip(*adapted, strict=True), params.exact)
    for name, frame in results.items():
        write_table(frame, outputs[name], source, tables)

    results["models"] = results["lr_curves"]
    if snakemake.input.get("peers"):
        peers = read_table(snakemake.input.peers)
        tables[snakemake.input.peers] = peers
        provenances = {"": source, snakemake.input.peers: peers.attrs["provenance"]}
        source = merge_provenances(provenances, allow_mixed=params.allow_mixed)
        results["models"] = join_peer_accuracy(results["models"], peers)
    settings = base.Settings.from_config(params.statistics, params.comparisons, params.quantities)
    config = {"statistics": dict(params.statistics)}
    for name in base.dependency_order():
        results[name] = base.build(name, results, settings)
        record = collect.collect("orla.results.base", statistic=name, config=config)
        merged = merge_provenances({"": source, name: record}, allow_mixed=params.allow_mixed)
        write_table(results[name], outputs[name], merged, tables)
