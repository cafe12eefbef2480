"""Summary of the decoders that are refitted in place of learning online."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from orla.results.base import Settings
from orla.results.grids import Key
from orla.results.summary import Sample, Summary, mean, seeds, whether
from orla.study import refits
from orla.study.keys import KEYS
from orla.study.scores import recovery_percent

_BESIDE = ("frozen_heldout_error", "reference_error", "constant_error", "unreliable")
OF_NETWORKS = ("task", "pair", "architecture", "precision", "split", "start")


class Baselines(Summary, name="baselines"):
    """Held-out scores of decoders refitted on the adapt part, beside the networks of a condition.

    Source: docs/protocol.md, Baselines.
    """

    keys = {name: KEYS[name] for name in OF_NETWORKS} | {
        "baseline": "The decoder: "
        + "; ".join(f"{n}, {t}" for n, t in refits.DECODERS.items())
        + "."
    }
    cells = (
        seeds("recovery", "Networks beside which it stands."),
        mean("heldout_error", "Mean held-out error", t95="heldout_error_t95_{}"),
        mean(
            "recovery_percent",
            "Mean held-out recovery",
            of="recovery",
            t95="t95_{}_percent",
        ),
        mean(
            "over_best_percent",
            "The same over the better of the frozen network and the best constant",
        ),
        mean("r2_mean", "Mean held-out R2, outputs weighted equally"),
        mean("frozen_heldout_error", "Mean held-out error of the networks that do not adapt"),
        mean("reference_error", "Mean error without drift"),
        mean("constant_error", "Mean error of the best constant outputs, held-out part"),
        whether("unreliable", "Whether recovery's denominator is too small in any seed."),
    )

    def samples(self, needed: pd.DataFrame, settings: Settings) -> Iterator[tuple[Key, Sample]]:
        groups = needed.groupby(list(OF_NETWORKS), sort=True) if len(needed) else ()
        for key, models in groups:
            # The scores of a seed are the same beside each learner, optimizer and rate.
            networks = models.drop_duplicates("seed").sort_values("seed")
            for decoder in refits.DECODERS:
                error, r2 = refits.columns(decoder)
                if error not in networks or networks[error].isna().all():
                    continue
                columns = {"heldout_error": networks[error], "r2_mean": networks[r2]}
                columns |= {name: networks[name] for name in _BESIDE}
                values = {name: one.to_numpy(float) for name, one in columns.items()}
                values["recovery"] = recovery_percent(
                    values["frozen_heldout_error"],
                    values["heldout_error"],
                    values["reference_error"],
                )
                zero = np.fmin(values["frozen_heldout_error"], values["constant_error"])
                values["over_best_percent"] = recovery_percent(
                    zero, values["heldout_error"], values["reference_error"]
                )
                yield dict(zip(self.keys, (*key, decoder), strict=True)), values.__getitem__
