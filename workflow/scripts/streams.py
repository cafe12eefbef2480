"""Bin two sessions and reduce them to the inputs and targets of the networks."""

from orla.errors import logged
from orla.sessions import features, nwb

with logged(snakemake.log[0]):
    preparation = snakemake.params.preparation
    settings = features.FeatureSettings(
        bin_s=preparation["bin_s"],
        n_inputs=preparation["features"]["count"],
        units=preparation["units"],
        target=preparation["target"]["signal"],
        lag_s=preparation["target"]["lag_s"],
        reduction=preparation["features"]["method"],
    )
    features.prepare(
        nwb.read_session(snakemake.input.a),
        nwb.read_session(snakemake.input.b),
        settings,
        tail_steps=snakemake.params.tail_steps,
        dataset=dict(snakemake.params.dataset),
    ).save(snakemake.output.streams)
