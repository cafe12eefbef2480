"""Compile the loops of a study before its jobs need them, and list them."""

from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.programs import compiling
from orla.provenance import cost
from orla.study.adaptation import Episodes
from orla.study.job import study_of
from orla.study.programs import compile_all

with logged(snakemake.log[0]), cost.measured(snakemake.output.programs):
    compute = snakemake.params.compute
    catalogue.use_plugins(snakemake.params.plugins)
    device = compiling.configure(compile=True, threads=snakemake.threads, device=compute["device"])
    runs = (
        study_of(
            job,
            Episodes(task, streams or None, 1)[job["keys"]["split"]],
            None,
            most=compute["batch_models"],
            device=device,
        )
        for task, streams, job in snakemake.params.conditions
    )
    paths = map(str, compile_all(runs))
    Path(snakemake.output.programs).write_text("\n".join(sorted(paths)) + "\n")
