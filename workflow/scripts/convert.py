"""Convert one recording to NWB in SI units; of an NWB file its longest stretch without gaps."""

from orla.jobs import job
from orla.sessions import mat_read, nwb

with job(snakemake.log[0], snakemake.output.nwb, "simulating"):
    recording, source = snakemake.input.recording, snakemake.params.source
    settings = snakemake.params.settings
    if source == "nwb":
        asked = {key: settings.get(key) for key in ("cursor", "metres_per_unit")}
        session = nwb.read_session(recording, trim=True, **asked)
    else:
        outside = settings.get("spikes_outside", "refuse")
        session = mat_read.read_session(recording, source=source, spikes_outside=outside)
    nwb.write_session(session, snakemake.output.nwb)
