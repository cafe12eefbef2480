"""Reduce two binned recordings to the inputs and targets of the networks."""

from orla.errors import logged
from orla.sessions.binned import Source, read
from orla.sessions.from_bins import prepare_binned
from orla.sessions.parts import parts
from orla.sessions.preparation import Features, Preparation

with logged(snakemake.log[0]):
    source = Source()
    a, b = (read(path, source) for path in (snakemake.input.a, snakemake.input.b))
    cuts = parts(len(a.inputs), len(b.inputs), **snakemake.params.parts)
    prepare_binned(
        a,
        b,
        source,
        Preparation(
            bin_s=snakemake.params.bin_s,
            features=Features(snakemake.params.method, snakemake.params.n_inputs),
        ),
        tail_steps=snakemake.params.parts["tail_steps"],
        b_fit_steps=cuts.first_selection_cut,
        dataset=dict(snakemake.params.dataset),
    ).save(snakemake.output.streams)
