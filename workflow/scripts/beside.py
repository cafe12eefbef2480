"""Join River's models on all streams, and what a row took: of these, and of the networks."""

import pandas as pd

from orla.jobs import job
from orla.provenance import collect
from orla.provenance.tables import read_merged, write_table
from orla.streams import speed

params, output = snakemake.params, snakemake.output
with job(snakemake.log[0], output[0], plugins=params.plugins):
    tables, source = read_merged(snakemake.input.peers, params.allow_mixed)
    task_tables = zip(tables.values(), params.tasks, strict=True)
    peers = pd.concat([table.assign(task=task) for table, task in task_tables], ignore_index=True)
    write_table(peers, output.peers, source, tables)
    of_peers = speed.peer_costs(dict(zip(tables, params.tasks, strict=True)), peers)
    jobs = dict(zip(snakemake.input.adapted, params.jobs, strict=True))
    speeds = pd.concat([of_peers, speed.network_costs(jobs)], ignore_index=True)
    record = collect.collect("orla.streams.speed", config={"tasks": params.tasks})
    write_table(speeds, output.speed, record, [*tables, *snakemake.input.adapted])
