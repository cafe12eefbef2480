"""Make up studies of one world: pretrain and adapt all of their networks."""

from orla.errors import logged
from orla.programs import compiling
from orla.provenance import collect, cost
from orla.provenance.tables import write_table
from orla.truth import studies

with logged(snakemake.log[0]), cost.measured(snakemake.output.models):
    params, world = snakemake.params, snakemake.wildcards.world
    truth = params.truth
    compiling.configure(
        compile=params.compute["compile"],
        threads=snakemake.threads,
        device=params.compute["device"],
    )
    models = studies.models(
        world, range(truth["studies"]), truth["pairs"], truth["seeds"], dict(truth["steps"])
    )
    source = collect.collect(
        "orla.truth.studies",
        world=world,
        config={"truth": dict(truth), "compute": dict(params.compute)},
    )
    write_table(models, snakemake.output.models, source, [])
