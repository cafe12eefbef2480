"""Reduce two binned recordings to the inputs and targets of the networks."""

from orla.errors import OrlaError, logged
from orla.sessions import binned, features
from orla.sessions.parts import parts

with logged(snakemake.log[0]):
    a, b = binned.read(snakemake.input.a), binned.read(snakemake.input.b)
    if a.bin_s != snakemake.params.bin_s:
        raise OrlaError(
            f"{snakemake.input.a}: bin_s is {a.bin_s:g}, but preparation.bin_s of the config is "
            f"{snakemake.params.bin_s:g}; set it to {a.bin_s:g}"
        )
    if snakemake.params.method != "pca":
        raise OrlaError(
            f'config: preparation.features.method is "{snakemake.params.method}", but columns of'
            " binned recordings do not correspond across days; set it to pca"
        )
    cuts = parts(len(a.counts), len(b.counts), **snakemake.params.parts)
    features.prepare_binned(
        a,
        b,
        n_inputs=snakemake.params.n_inputs,
        tail_steps=snakemake.params.parts["tail_steps"],
        b_fit_steps=cuts.first_selection_cut,
        dataset=dict(snakemake.params.dataset),
        names=(snakemake.input.a, snakemake.input.b),
    ).save(snakemake.output.streams)
