"""Write the two simulated sessions of a task's one pair as MATLAB files."""

from orla import catalogue
from orla.jobs import job

with job(snakemake.log[0], snakemake.output.a, "simulating"):
    task = catalogue.make("task", snakemake.params.task)
    [pair] = task.pairs
    task.simulate(pair, snakemake.output.a, snakemake.output.b)
