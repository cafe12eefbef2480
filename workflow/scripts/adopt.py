"""Bring any NWB file into the form that the study reads."""

from orla.errors import logged
from orla.sessions import nwb

with logged(snakemake.log[0]):
    nwb.convert(
        snakemake.input.nwb,
        snakemake.output.nwb,
        cursor=snakemake.params.cursor,
        metres_per_unit=snakemake.params.metres_per_unit,
    )
