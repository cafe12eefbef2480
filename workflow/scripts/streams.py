"""Make the streams of a pair of sessions: the networks' inputs and targets."""

from orla import catalogue
from orla.errors import logged

with logged(snakemake.log[0]):
    task = catalogue.make("task", snakemake.params.task)
    streams = task.streams(
        snakemake.params.pair, snakemake.input.a, snakemake.input.b, snakemake.params.study
    )
    streams.save(snakemake.output.streams)
