"""Download one recording from Zenodo."""

from pathlib import Path

from orla.catalogue import options
from orla.jobs import job
from orla.sessions import checksums, zenodo

with job(snakemake.log[0], snakemake.output.mat, "downloading"):
    session, mat = snakemake.wildcards.session, Path(snakemake.output.mat)
    source = options.settings(zenodo.Source, dict(snakemake.params.source), "config: odoherty")
    zenodo.download(
        zenodo.file_url(source.base_url, f"{session}.mat"),
        mat,
        checksums.md5_of(session, source, mat.parent / "checksums.csv"),
        source,
    )
