"""Make the streams of a pair of sessions: the networks' inputs and targets."""

from orla import catalogue
from orla.jobs import job
from orla.study.rates import require_horizons
from orla.study.simulated import simulated_streams

with job(snakemake.log[0], snakemake.output.streams, "simulating"):
    params, task = snakemake.params, catalogue.make("task", snakemake.params.task)
    if snakemake.input:
        streams = task.read_streams(params.pair, snakemake.input.a, snakemake.input.b, params.study)
    else:
        streams = simulated_streams(task, params.pair, params.study)
    # A session that is too short for its parts or for a horizon is refused here.
    whole = catalogue.make("task", params.task | params.parts)
    for split, horizons in params.splits.items():
        episode = whole.cut(streams, split)
        require_horizons(horizons, episode.window, len(episode.adapt), split)
    streams.write(snakemake.output.streams, params.task)
