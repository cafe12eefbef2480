"""Convert one recording to NWB in SI units."""

from orla.errors import logged
from orla.sessions import matfile, nwb

with logged(snakemake.log[0]):
    source, settings = snakemake.params.source, snakemake.params.settings
    recording, output = snakemake.input.recording, snakemake.output.nwb
    if source == "nwb":
        nwb.convert(
            recording,
            output,
            cursor=settings.get("cursor"),
            metres_per_unit=settings.get("metres_per_unit"),
        )
    else:
        matfile.convert(
            recording,
            output,
            source=source,
            spikes_outside=settings.get("spikes_outside", "refuse"),
        )
