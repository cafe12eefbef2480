"""Compile the loops of a study before its jobs need them, and list them."""

from pathlib import Path

from orla.jobs import job
from orla.programs import compiling
from orla.study.adaptation import Episodes
from orla.study.run import compile_programs, make_run

params, compute = snakemake.params, snakemake.params.compute
with job(snakemake.log[0], snakemake.output.programs, plugins=params.plugins):
    device = compiling.configure(compile=True, threads=snakemake.threads, device=compute["device"])
    runs = (
        make_run(
            condition,
            Episodes(task, 1, streams or None)[condition["keys"]["split"]],
            None,
            max_models=compute["batch_models"],
            device=device,
        )
        for task, streams, condition in params.conditions
    )
    paths = map(str, compile_programs(runs))
    Path(snakemake.output.programs).write_text("\n".join(sorted(paths)) + "\n")
