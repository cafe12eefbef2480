"""Make up studies of one world: pretrain and adapt all of their networks."""

from orla.jobs import job
from orla.programs import machine
from orla.provenance import collect
from orla.provenance.code import files_of_parts
from orla.provenance.tables import write_table
from orla.truth import studies, worlds

params, world, output = snakemake.params, snakemake.wildcards.world, snakemake.output.models
with job(snakemake.log[0], output):
    truth, compute = params.truth, params.compute
    machine.configure(compute, snakemake.threads)
    numbers = range(truth["studies"])
    models = studies.simulate_models(world, numbers, truth["pairs"], truth["seeds"], truth["steps"])
    files = files_of_parts(worlds.PARTS)
    config = {"truth": dict(truth), "compute": dict(compute)}
    source = collect.collect("orla.truth.studies", *files, world=world, config=config)
    write_table(models, output, source)
