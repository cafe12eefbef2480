"""Convert one recording to NWB in SI units, with all that is to be known of its clocks."""

from orla.catalogue import options
from orla.jobs import job
from orla.sessions import mat_read, nwb

with job(snakemake.log[0], snakemake.output.nwb, "simulating"):
    recording, source = snakemake.input.recording, snakemake.params.source
    settings = snakemake.params.settings
    if source == "nwb":
        nwb_source = options.parse_settings(nwb.Source, dict(settings), "config: nwb")
        session = nwb.read_session(recording, nwb_source)
    else:
        outside = settings.get("spikes_outside", "refuse")
        session = mat_read.read_session(recording, source=source, spikes_outside=outside)
    nwb.write_session(session, snakemake.output.nwb)
