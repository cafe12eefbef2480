"""Adapt every seed of one condition at every learning rate."""

from orla import catalogue
from orla.errors import logged
from orla.programs import compiling
from orla.provenance import collect, cost, networks
from orla.provenance.arrays import write_arrays
from orla.provenance.code import files_of
from orla.provenance.tables import write_table
from orla.study import sweep
from orla.study.declared import declared
from orla.study.job import study_of
from orla.study.plan import parts_of
from orla.tasks.episode import Episode

with logged(snakemake.log[0]), cost.measured(snakemake.output.table):
    catalogue.use_plugins(snakemake.params.plugins)
    job, compute = snakemake.params.job, snakemake.params.compute
    device = compiling.configure(
        compile=compute["compile"], threads=snakemake.threads, device=compute["device"]
    )
    episode = Episode.load(snakemake.input.episode)
    wanted = {name: job["keys"][name] for name in ("architecture", "precision")}
    file = snakemake.input.get("networks")
    study = study_of(
        job,
        episode,
        networks.load(file, job["seeds"], expect=wanted) if file else None,
        most=compute["batch_models"],
        memory_mb=snakemake.resources.get("mem_mb"),
        device=device,
    )
    asked = ("learning_rates", "growth", "horizons", "stable_windows")
    swept = sweep.sweep(study, **{name: job[name] for name in asked})
    parts = declared(snakemake.params.plugins)
    source = collect.collect(
        "orla.study.sweep",
        "orla.study.job",
        *(f for kind, name in parts_of(job, parts) for f in files_of(kind, name)),
        *files_of("loss", episode.loss),
        dataset=episode.dataset,
        keys=dict(job["keys"]),
        seeds=list(range(job["seeds"])),
        batch_models=study.batch_models,
        config={"job": dict(job), "compute": dict(compute)},
    )
    inputs = list(snakemake.input)
    write_table(swept.table, snakemake.output.table, source, inputs)
    write_arrays(swept.traces, snakemake.output.traces, source, inputs)
