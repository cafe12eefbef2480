"""Pretrain a small language model on text that comes with Python."""

from pathlib import Path

from orla.jobs import job

params, output = snakemake.params, snakemake.output.model
with job(snakemake.log[0], output):
    from orla.language import pretraining, texts

    settings, shares = params.settings, params.settings["shares"]
    domain_texts = {
        name: texts.split_text(settings["texts"][name], shares)["pretraining"]
        for name in settings["pretraining"]["shares"]
    }
    pretraining.pretrain(params.make, domain_texts, settings["pretraining"], Path(output))
