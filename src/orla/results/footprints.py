"""Summary of what networks cost a step, beside how well they decode."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.results.baselines import OF_NETWORKS
from orla.results.grids import Key
from orla.results.summary import Sample, Summary, first, mean, seeds
from orla.study.efficiency import MEASURES
from orla.study.keys import KEYS


class Footprints(Summary, name="footprints"):
    """NeuroBench's measures of every network before it adapts (Yik et al. 2025), over seeds."""

    keys: ClassVar = {name: KEYS[name] for name in OF_NETWORKS}
    cells = (
        seeds("dense_macs", "Networks."),
        first("footprint_bytes", MEASURES["footprint_bytes"]),
        *(
            mean(name, "Mean. " + text.removesuffix("."))
            for name, text in MEASURES.items()
            if name != "footprint_bytes"
        ),
        mean("frozen_r2_mean", "Mean R2 on the held-out part, outputs weighted equally"),
        mean("reference_r2_mean", "The same without drift"),
    )

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        groups = needed.groupby(list(OF_NETWORKS), sort=True) if len(needed) else ()
        for key, models in groups:
            if "dense_macs" in models and models["dense_macs"].notna().any():
                # They are the same beside each learner, optimizer and rate.
                networks = models.drop_duplicates("seed").sort_values("seed")
                columns = {cell.column: networks.get(cell.column, np.nan) for cell in self.cells}
                values = {n: np.full(len(networks), one, float) for n, one in columns.items()}
                yield dict(zip(self.keys, key, strict=True)), values.__getitem__
