"""Put the sweeps of all conditions into tables of models, traces, horizons, and what probes saw."""

import pandas as pd

from orla.errors import logged
from orla.provenance import collect, merge
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table, write_table
from orla.results.against_rtrl import BEST, COLUMN, recovery_vs_best_rtrl, recovery_vs_rtrl
from orla.study import traces

with logged(snakemake.log[0]):
    given, params, output = snakemake.input, snakemake.params, snakemake.output
    study = params.study
    sweeps, laid_out = {}, []
    for path, of_traces, keys in zip(given.models, given.traces, params.expected, strict=True):
        models, (arrays, _) = read_table(path, expect=keys), read_arrays(of_traces, expect=keys)
        sweeps[path] = models
        laid_out.append(traces.selected(models, window=params.windows[keys["task"]], **arrays))
    horizons, alignments, profiles = (
        {path: read_table(path, expect=keys) for path, keys in zip(paths, expected, strict=True)}
        for paths, expected in (
            (given.horizons, params.at_horizons),
            (given.alignments, params.aligned),
            (given.profiles, params.profiled),
        )
    )
    here = collect.collect("orla.study.traces", "orla.results.against_rtrl", config=dict(study))
    models = pd.concat(sweeps.values(), ignore_index=True)
    models[COLUMN] = recovery_vs_rtrl(models, params.exact)
    for part, column in BEST.items():
        models[column] = recovery_vs_best_rtrl(models, params.exact, part)

    def written(frame: pd.DataFrame, path: str, made_from: dict[str, pd.DataFrame]) -> None:
        """Write a table with the provenance of all that it was made from."""
        tables = {file: table.attrs["provenance"] for file, table in made_from.items()}
        source = merge.merged(tables | {path: here}, allow_mixed=study["provenance"]["allow_mixed"])
        write_table(frame, path, source, made_from)

    written(models, output.lr_curves, sweeps)
    written(models[models["selected"]], output.heldout, sweeps)
    written(pd.concat(laid_out, ignore_index=True), output.traces, sweeps)
    written(pd.concat(horizons.values(), ignore_index=True), output.horizon, horizons)
    written(pd.concat(alignments.values(), ignore_index=True), output.alignment, alignments)
    written(pd.concat(profiles.values(), ignore_index=True), output.profile, profiles)
