"""Adapt a language model online, with adapters of one rank."""

from pathlib import Path

import torch

from orla.jobs import job
from orla.provenance import collect
from orla.provenance.code import files_of_parts
from orla.provenance.tables import write_table

params, output = snakemake.params, snakemake.output
with job(snakemake.log[0], output.losses):
    from orla.language import VERSIONS, adaptation, models, texts

    torch.set_num_threads(1)
    settings, adapters = params.config["settings"], params.config["adapters"]
    folder = snakemake.input.get("folder")
    paths = Path(folder).glob("[!.]*") if folder else map(Path, snakemake.input.get("files"))
    files = [*(path for path in paths if path.is_file()), *map(Path, snakemake.input.texts)]
    domains = {
        n: texts.split_text(source, settings["shares"]) for n, source in settings["texts"].items()
    }
    room = adaptation.room_request(settings, adapters, params.grids)
    model = models.open_model(params.config["model"], folder, room)
    losses, norms = adaptation.losses_and_norms(model, domains, settings, adapters, params.grids)
    parts = files_of_parts(("optimizer", name) for name in adapters["optimizers"])
    source = collect.collect("orla.language.adaptation", *parts, config=params.config, datasets={})
    source["versions"] |= VERSIONS
    more = {"model": snakemake.wildcards.model, "parameters": model.parameters}
    for frame, path in ((losses, output.losses), (norms, output.norms)):
        write_table(frame.assign(**more), path, source, files)
