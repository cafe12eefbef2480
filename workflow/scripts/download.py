"""Download one recording from Zenodo."""

from pathlib import Path

from orla.catalogue import options
from orla.jobs import job
from orla.sessions import zenodo

with job(snakemake.log[0], snakemake.output.mat, "downloading"):
    session, mat = snakemake.wildcards.session, Path(snakemake.output.mat)
    source = options.parse_settings(
        zenodo.Source, dict(snakemake.params.source), "config: odoherty"
    )
    zenodo.download(session, mat, source)
