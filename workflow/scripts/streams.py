"""Bin two sessions and reduce them to the inputs and targets of the networks."""

from orla.catalogue import settings
from orla.errors import logged
from orla.sessions import nwb
from orla.sessions.from_spikes import prepare
from orla.sessions.preparation import Preparation

with logged(snakemake.log[0]):
    prepare(
        nwb.read_session(snakemake.input.a),
        nwb.read_session(snakemake.input.b),
        settings(Preparation, snakemake.params.preparation, "config: preparation"),
        tail_steps=snakemake.params.tail_steps,
        dataset=dict(snakemake.params.dataset),
    ).save(snakemake.output.streams)
