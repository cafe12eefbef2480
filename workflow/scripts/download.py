"""Download one recording from Zenodo."""

from orla.catalogue import options
from orla.errors import OrlaError, logged
from orla.schema import nearest
from orla.sessions import zenodo

with logged(snakemake.log[0]):
    session = snakemake.wildcards.session
    source = options.settings(zenodo.Source, dict(snakemake.params.source), "config: odoherty")
    if session not in source.md5:
        raise OrlaError(
            f'config: "odoherty.md5" has no checksum of {session}; {nearest(session, source.md5)}'
        )
    zenodo.download(
        zenodo.file_url(source.base_url, f"{session}.mat"),
        snakemake.output.mat,
        source.md5[session],
        retries=source.retries,
        timeout_s=source.timeout_s,
    )
