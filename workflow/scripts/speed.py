"""Read what a row of a stream took: of River's models, and of the networks."""

import pandas as pd

from orla.jobs import job
from orla.provenance import collect
from orla.provenance.tables import read_merged, write_table
from orla.streams import speed

params, output = snakemake.params, snakemake.output[0]
with job(snakemake.log[0], output, plugins=params.plugins):
    tables, _ = read_merged(snakemake.input.peers, params.allow_mixed)
    jobs = dict(zip(snakemake.input.adapted, params.jobs, strict=True))
    speeds = pd.concat([speed.peer_costs(tables), speed.network_costs(jobs)], ignore_index=True)
    config = {"tasks": [*pd.concat(tables.values())["task"].unique()]}
    source = collect.collect("orla.streams.speed", config=config)
    write_table(speeds, output, source, [*tables, *snakemake.input.adapted])
