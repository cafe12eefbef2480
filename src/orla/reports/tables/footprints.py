"""What a step of each network costs, by NeuroBench's definitions."""

from collections.abc import Iterator

import pandas as pd

from orla.reports.cells import Row, called, value
from orla.reports.numbers import count, memory
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Table
from orla.study.keys import DEFAULTS


class FootprintsTable(
    Table, name="footprints", label="What a step of each network costs", chapter="breadth",
    order=70, needs=("footprints",),
):  # fmt: skip
    """A panel a task and split, a line a network."""

    says = (
        "NeuroBench's metrics (Yik et al. 2025) of networks that do not adapt: parameters; "
        "share of weights and of units' outputs that are zero; multiplications of a step, gates' "
        "among them, whose factors are not zero (effective) and all (dense); R² (mean over "
        "outputs) on the held-out part, and without drift. Means over seeds (n). What learning "
        "adds is no part of it."
    )
    cells = (
        called("architecture", header="Network"),
        value("Parameters", "footprint_bytes", memory),
        value("Weights", "connection_sparsity", group="Sparsity", digits=2),
        value("Activations", "activation_sparsity", group="Sparsity", digits=2),
        value("Effective", "effective_macs", group="Multiplications", digits=0),
        value("Dense", "dense_macs", group="Multiplications", digits=0),
        value("Held-out", "frozen_r2_mean", group="R²", digits=2),
        value("Reference", "reference_r2_mean", group="R²", digits=2),
        value("n", "n_seeds", count),
    )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        grouped = rows.assign(intervention=DEFAULTS["intervention"])  # none is at work
        for title, _, group in study.groups(grouped, without="architecture"):
            yield title, group.drop(columns="intervention").to_dict("records")
