"""Write two simulated sessions as MATLAB files."""

from orla.errors import logged
from orla.sessions import simulated

with logged(snakemake.log[0]):
    values = snakemake.params.settings
    settings = simulated.Settings(
        task=simulated.TaskSettings(**values.get("task", {})),
        array=simulated.ArraySettings(**values.get("array", {})),
        drift=simulated.DriftSettings(**values.get("drift", {})),
    )
    simulated.write(snakemake.output.a, snakemake.output.b, settings, values["seed"])
