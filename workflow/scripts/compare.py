"""Compare learners over seeds."""

from orla.errors import logged
from orla.provenance.tables import read_table, write_table
from orla.statistics import comparisons

with logged(snakemake.log[0]):
    settings = snakemake.params.statistics
    models = read_table(snakemake.input.lr_curves)
    horizon = read_table(snakemake.input.horizon)
    resampling = comparisons.Resampling(settings["resamples"], settings["seed"])
    tables = {
        "conditions": comparisons.conditions(models, resampling),
        "gaps": comparisons.gaps(
            models,
            margin_pp=settings["margin_pp"],
            alpha=settings["alpha"],
            resampling=resampling,
        ),
        "gap_seeds": comparisons.gap_seeds(models),
        "selection_price": comparisons.selection_price(models, resampling),
        "ratio_gap": comparisons.ratio_gap(models, resampling=resampling),
        "ratio_gap_order": comparisons.ratio_gap_order(models, resampling=resampling),
        "horizon_gaps": comparisons.horizon_gaps(horizon, resampling=resampling),
    }
    provenance = models.attrs["provenance"] | {"statistics": dict(settings)}
    for name, table in tables.items():
        write_table(table, snakemake.output[name], provenance)
