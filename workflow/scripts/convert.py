"""Convert one recording from MATLAB to NWB."""

from orla.errors import logged
from orla.sessions import matfile

with logged(snakemake.log[0]):
    matfile.convert(
        snakemake.input.mat,
        snakemake.output.nwb,
        source=snakemake.params.label,
        spikes_outside=snakemake.params.spikes_outside,
    )
