"""The wide tables of a study, with recovery measured against full RTRL: the score of tasks that
have no undrifted reference."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.results.estimands import ESTIMANDS
from orla.results.grids import require_columns
from orla.study import tidy
from orla.study.keys import KEYS, SETTING, peer_accuracy_column

COLUMN = "recovery_vs_rtrl_percent"
BEST = {"adapt": "adapt_vs_best_rtrl_percent", "heldout": "heldout_vs_best_rtrl_percent"}


def result_frames(
    tables: Iterable[pd.DataFrame],
    traces: Iterable[Mapping[str, np.ndarray]],
    exact_learners: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """The tables that statistics and reports read, by the name of their file.

    "lr_curves": a row a model; "heldout": those at the selected rate; "traces": a row a window of
    those; "horizon", "alignment" and "profile": see `orla.study.tidy.wide_tables`.

    Args:
        tables, traces: The long table (`orla.study.sweep.Sweep`) and the traces of each condition.
        exact_learners: Names of learners that are full RTRL, for recovery measured against it.
    """
    wide = tidy.wide_tables(tables)
    models = wide.pop("models")
    models[COLUMN] = recovery_vs_rtrl(models, exact_learners)
    for part, column in BEST.items():
        models[column] = recovery_vs_rtrl(models, exact_learners, part, best_optimizer=True)
    along = tidy.error_trace_table(models, traces)
    return {"lr_curves": models, "heldout": models[models["selected"]], "traces": along, **wide}


def recovery_vs_rtrl(
    models: pd.DataFrame,
    exact_learners: Sequence[str],
    part: str = "heldout",
    best_optimizer: bool = False,
) -> np.ndarray:
    """Recovery (rows,) in percent where full RTRL's is 100 %, for each row of a table of models.

    ``100 (frozen - adapted) / (frozen - rtrl)``, all errors on one part ("heldout", or "adapt" for
    those while learning); `rtrl` is the error of full RTRL in the same setting and seed at the rate
    that is chosen for the part: of the first of the `exact_learners` that ran there. NaN where it
    was not run, diverged, or is no better than the frozen network. With `best_optimizer` full RTRL
    has one optimizer for all others of a setting, that of its lowest mean error that the rate is
    chosen by, so that optimizers are compared on one scale. Source: docs/protocol.md, Recovery.

    Raises:
        OrlaError: A column is missing, or RTRL has a seed twice at its chosen rate.
    """
    estimand = ESTIMANDS[part]
    errors = [estimand.frozen, estimand.error, *[estimand.validation] * best_optimizer]
    require_columns(models, [*KEYS, "seed", "learning_rate", estimand.selected, *errors])
    setting = [key for key in SETTING if not (best_optimizer and key == "optimizer")]
    rtrl = models[models[estimand.selected].astype(bool) & models["learner"].isin(exact_learners)]
    place = rtrl["learner"].map(list(exact_learners).index)
    rtrl = rtrl[place == place.groupby([rtrl[key] for key in setting]).transform("min")]
    if best_optimizer:
        means = rtrl.groupby([*setting, "optimizer"], as_index=False)[estimand.validation].mean()
        first = means.sort_values([*setting, estimand.validation]).drop_duplicates(setting)
        rtrl = rtrl.merge(first[[*setting, "optimizer"]], on=[*setting, "optimizer"])
    keys = [*setting, "seed"]
    if (double := rtrl[rtrl.duplicated(keys)]).size:
        raise OrlaError(
            f"{'/'.join(filter(None, double.iloc[0][setting]))}: {estimand.selected} marks seed "
            f"{double['seed'].iloc[0]} of full RTRL twice; give one row and one rate a model"
        )
    full = rtrl.set_index(keys)[estimand.error].reindex(pd.MultiIndex.from_frame(models[keys]))
    frozen, adapted = (models[c].to_numpy(float) for c in (estimand.frozen, estimand.error))
    denominator = frozen - full.to_numpy(float)
    return 100.0 * (frozen - adapted) / np.where(denominator > 0, denominator, np.nan)


def join_peer_accuracy(models: pd.DataFrame, peers: pd.DataFrame) -> pd.DataFrame:
    """The models with a column a peer: its accuracy on the stream of their task and seed, or null.

    Equal rows of `peers` (task, seed, peer, prequential_accuracy) count once.
    """
    keys = ["task", "seed"]
    once = peers[[*keys, "peer", "prequential_accuracy"]].drop_duplicates()
    wide = once.pivot(index=keys, columns="peer", values="prequential_accuracy")
    return models.join(wide.rename(columns=peer_accuracy_column), on=keys)
