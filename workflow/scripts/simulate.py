"""Write two simulated sessions as MATLAB files."""

from orla.catalogue import settings
from orla.errors import logged
from orla.sessions import simulator

with logged(snakemake.log[0]):
    given = settings(simulator.Settings, snakemake.params.settings, "config: dataset.simulated")
    simulator.write(snakemake.output.a, snakemake.output.b, given)
