"""Adapt a language model online, with adapters of one rank."""

import torch

from orla.jobs import job
from orla.provenance import collect
from orla.provenance.code import files_of_parts
from orla.provenance.tables import write_table

params, output = snakemake.params, snakemake.output
with job(snakemake.log[0], output.losses):
    from orla.language import adaptation, models, texts
    from orla.study.chapter_jobs import language_files, language_job_size, rates_to_try

    torch.set_num_threads(1)
    settings, adapters = params.config["settings"], params.config["adapters"]
    folder, spec = snakemake.input.get("folder"), params.config["model"]
    files = [*language_files({"load": folder} if folder else spec), *snakemake.input.texts]
    domains = {n: texts.split_text(t, settings["shares"]) for n, t in settings["texts"].items()}
    rates = rates_to_try(adapters, params.grids)
    model = models.open_model(spec, folder, language_job_size(settings, rates))
    tables = adaptation.losses_and_norms(model, domains, settings, adapters["rank"], rates)
    parts = files_of_parts(("optimizer", name) for name in adapters["optimizers"])
    about = {"packages": ["transformers", "peft", "tokenizers"], "config": params.config}
    source = collect.collect("orla.language.adaptation", *parts, datasets={}, **about)
    more = {"model": snakemake.wildcards.model, "parameters": model.parameters}
    for frame, path in zip(tables, output, strict=True):
        write_table(frame.assign(**more), path, source, files)
