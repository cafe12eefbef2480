"""Summaries of networks that do not learn online: refitted decoders, and what a step costs."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.results.grids import Key
from orla.results.summary import DENOMINATOR, Sample, Summary, mean, seeds, shared_value
from orla.study import refits
from orla.study.efficiency import MEASURES
from orla.study.keys import KEYS
from orla.study.recovery import recovery_percent

_NETWORKS = {
    name: KEYS[name] for name in ("task", "pair", "architecture", "precision", "split", "start")
}
_NETWORK_COLUMNS = ["frozen_heldout_error", "reference_error", "constant_error", "unreliable"]


def _networks_by_condition(models: pd.DataFrame) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Each condition's networks, a row a seed: they are the same beside each learner and rate."""
    for key, group in models.groupby(list(_NETWORKS), sort=True) if len(models) else ():
        networks = group.drop_duplicates("seed").sort_values("seed")
        yield dict(zip(_NETWORKS, key, strict=True)), networks


class Baselines(Summary, name="baselines"):
    """Held-out scores of decoders refitted on the adapt part, beside the networks of a condition.

    Source: docs/protocol.md, Baselines.
    """

    keys = _NETWORKS | {
        "baseline": f"The decoder: {'; '.join(map(', '.join, refits.DECODERS.items()))}."
    }
    cells = (
        seeds("recovery", "Networks beside which it stands."),
        mean("heldout_error", "Mean held-out error", t95="heldout_error_t95_{}"),
        mean("recovery_percent", "Mean held-out recovery", source="recovery", t95="t95_{}_percent"),
        mean(
            "over_best_percent",
            "The same over the better of the frozen network and the best constant",
        ),
        mean("r2_mean", "Mean held-out R2, outputs weighted equally"),
        mean("frozen_heldout_error", "Mean held-out error of the networks that do not adapt"),
        mean("reference_error", "Mean error without drift"),
        mean("constant_error", "Mean error of the best constant outputs, held-out part"),
        *DENOMINATOR,
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        for key, networks in _networks_by_condition(models):
            for decoder in refits.DECODERS:
                error, r2 = refits.score_columns(decoder)
                if error not in networks or networks[error].isna().all():
                    continue
                names = {error: "heldout_error", r2: "r2_mean"}
                table = networks[[*names, *_NETWORK_COLUMNS]].rename(columns=names).astype(float)
                frozen, reference, constant, _ = table[_NETWORK_COLUMNS].to_numpy().T
                ours = table["heldout_error"], reference
                table["recovery"] = recovery_percent(frozen, *ours)
                table["over_best_percent"] = recovery_percent(np.fmin(frozen, constant), *ours)
                table["denominator"] = frozen - reference
                yield key | {"baseline": decoder}, table.__getitem__


class Footprints(Summary, name="footprints"):
    """NeuroBench's measures of every network before it adapts (Yik et al. 2025), over seeds."""

    keys: ClassVar = _NETWORKS
    cells = (
        seeds("dense_macs", "Networks."),
        shared_value("footprint_bytes", MEASURES["footprint_bytes"]),
        *(
            mean(name, "Mean. " + text.removesuffix("."))
            for name, text in MEASURES.items()
            if name != "footprint_bytes"
        ),
        mean("frozen_r2_mean", "Mean R2 on the held-out part, outputs weighted equally"),
        mean("reference_r2_mean", "The same without drift"),
    )

    def samples(self, models: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        for key, networks in _networks_by_condition(models):
            if "dense_macs" in networks and networks["dense_macs"].notna().any():
                names = dict.fromkeys(cell.column for cell in self.cells)
                values = networks.reindex(columns=list(names)).astype(float)
                yield key, lambda name, values=values: values[name].to_numpy()
