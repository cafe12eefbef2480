"""Tell how far the sessions of each pair drift apart."""

from itertools import islice

import pandas as pd

from orla import catalogue
from orla.jobs import job
from orla.provenance import collect
from orla.provenance.tables import write_table
from orla.sessions.streams import Streams
from orla.study import drift

params, output = snakemake.params, snakemake.output.table
with job(snakemake.log[0], output, "statistics", params.plugins):
    tables, datasets = [], {}
    recordings = iter(snakemake.input.recordings)
    streams_of_pairs = zip(snakemake.input.streams, params.pairs, params.files, strict=True)
    for path, pair, count in streams_of_pairs:
        files = [*islice(recordings, count)]
        streams = Streams.read(path, pair["settings"])
        task = catalogue.make("task", pair["settings"])
        datasets[pair["domain"]] = streams.dataset
        tables.append(
            drift.drift_report_table(
                task,
                streams,
                pair["split"],
                files,
                {"session": pair["sessions"], **{k: pair[k] for k in ("strides", "registrations")}},
            ).assign(task=pair["task"], pair=pair["pair"])
        )
    config = {"pairs": params.pairs}
    source = collect.collect("orla.study.drift", config=config, datasets=datasets)
    frame = pd.concat(tables, ignore_index=True)
    write_table(frame, output, source, snakemake.input)
