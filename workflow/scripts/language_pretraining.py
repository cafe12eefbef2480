"""Pretrain a small language model on text that comes with Python."""

from pathlib import Path

from orla.jobs import job

params, output = snakemake.params, snakemake.output.model
with job(snakemake.log[0], output):
    from orla.language import pretraining, texts

    settings, shares = params.settings, params.settings["shares"]
    sources = {name: settings["texts"][name] for name in settings["pretraining"]["shares"]}
    domains = {n: texts.split_text(t, shares)["pretraining"] for n, t in sources.items()}
    pretraining.pretrain(params.make, domains, settings["pretraining"], Path(output))
