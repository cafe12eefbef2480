"""Write the two simulated sessions of a pair as MATLAB files."""

from orla import catalogue
from orla.errors import logged

with logged(snakemake.log[0]):
    task = catalogue.make("task", snakemake.params.task)
    task.simulate(snakemake.params.pair, snakemake.output.a, snakemake.output.b)
