"""The tables that compare learners, built from one row a model: DataFrame in, DataFrame out.

A model's row holds the columns of ``results/sweeps`` (see `MODEL_COLUMNS`). A difference or mean
is over the seeds in which every member is finite; `n_diverged` counts the other seeds. Where no
seed is finite an estimate is null, and where fewer than two are there is no interval (null) and no
equivalence (p = 1). Intervals are 95 % percentile bootstraps over seeds. Differences of recovery
are in percentage points (pp). A comparison whose learner is not in the input is absent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.statistics.bootstrap import RESAMPLES, Interval, mean_interval, ordering_interval
from orla.statistics.equivalence import tost_paired

CONDITION = ["architecture", "learner", "optimizer", "precision", "split"]
SETTING = ["architecture", "optimizer", "precision", "split"]

MODEL_COLUMNS = [
    *CONDITION,
    "seed",
    "learning_rate",
    "selected",
    "selected_on_test",
    "edge",
    "unreliable",
    "recovery_heldout_percent",
    "recovery_adapt_percent",
    "r2_mean",
    "r2_weighted",
    "update_ratio",
]

COMPARISONS: dict[str, tuple[str, str]] = {
    "paper": ("tbptt-200-200", "immediate"),
    "per_step": ("rtrl", "immediate"),
    "per_window": ("tbptt-200-200", "immediate-200"),
    "cadence_immediate": ("immediate-200", "immediate"),
    "cadence_full": ("tbptt-200-200", "rtrl"),
    "floor": ("immediate", "last-layer"),
}
"""Name of a comparison -> (learner, learner subtracted from it)."""

COLUMNS: dict[str, list[str]] = {
    "conditions": [
        *CONDITION,
        "learning_rate",
        "edge",
        "n_seeds",
        "n_diverged",
        "recovery_percent",
        "low_percent",
        "high_percent",
        "adapt_recovery_percent",
        "adapt_low_percent",
        "adapt_high_percent",
        "r2_mean",
        "r2_weighted",
        "update_ratio",
        "update_ratio_low",
        "update_ratio_high",
        "unreliable",
    ],
    "gaps": [
        *SETTING,
        "comparison",
        "learner_full",
        "learner_immediate",
        "n_seeds",
        "n_diverged",
        "gap_pp",
        "low_pp",
        "high_pp",
        "t90_low_pp",
        "t90_high_pp",
        "margin_pp",
        "tost_p",
        "delta_star_pp",
        "equivalent",
        "unreliable",
    ],
    "gap_seeds": [*SETTING, "comparison", "learner_full", "learner_immediate", "seed", "gap_pp"],
    "selection_price": [
        *CONDITION,
        "recovery_validation_selected_percent",
        "recovery_test_selected_percent",
        "price_pp",
        "low_pp",
        "high_pp",
        "learning_rate",
        "learning_rate_test",
        "n_seeds",
    ],
    "ratio_gap": [
        *SETTING,
        "update_ratio",
        "update_ratio_low",
        "update_ratio_high",
        "gap_pp",
        "low_pp",
        "high_pp",
        "n_seeds",
    ],
    "ratio_gap_order": [
        "architecture",
        "precision",
        "split",
        "n_optimizers",
        "spearman",
        "low",
        "high",
        "n_seeds",
    ],
    "horizon_gaps": [*SETTING, "horizon_steps", "n_seeds", "gap_pp", "low_pp", "high_pp"],
}
"""Name of a table built here -> its columns, in order."""


@dataclass(frozen=True)
class Resampling:
    """How the bootstrap intervals of a table are drawn."""

    resamples: int = RESAMPLES
    seed: int = 0

    def mean(self, values: np.ndarray) -> Interval:
        """Interval of the mean of the finite values; all null where there is none."""
        finite = values[np.isfinite(values)]
        if finite.size == 0:
            return Interval(np.nan, np.nan, np.nan, "none")
        return mean_interval(finite, resamples=self.resamples, seed=self.seed)


def conditions(models: pd.DataFrame, resampling: Resampling = Resampling()) -> pd.DataFrame:
    """Recovery, R2 and update ratio of each condition at its selected rate.

    Parameters
    ----------
    models
        One row a model; rows that are not `selected` are passed over.
    resampling
        The bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row a condition, columns ``COLUMNS["conditions"]``. `unreliable` where any seed is.

    Raises
    ------
    OrlaError
        On a missing column, two selected rates in a condition, or a seed that occurs twice.
    """
    rows = []
    for key, group in _groups(_selected(models), CONDITION):
        learning_rate = _one_rate(group, key, "selected")
        recovery = _measure(group, "recovery_heldout_percent")
        held_out = resampling.mean(recovery)
        adapting = resampling.mean(_measure(group, "recovery_adapt_percent"))
        ratio = resampling.mean(_measure(group, "update_ratio"))
        finite = int(np.isfinite(recovery).sum())
        rows.append(
            {
                **key,
                "learning_rate": learning_rate,
                "edge": bool(group["edge"].any()),
                "n_seeds": finite,
                "n_diverged": len(group) - finite,
                "recovery_percent": held_out.estimate,
                "low_percent": held_out.low,
                "high_percent": held_out.high,
                "adapt_recovery_percent": adapting.estimate,
                "adapt_low_percent": adapting.low,
                "adapt_high_percent": adapting.high,
                "r2_mean": _finite_mean(_measure(group, "r2_mean")),
                "r2_weighted": _finite_mean(_measure(group, "r2_weighted")),
                "update_ratio": ratio.estimate,
                "update_ratio_low": ratio.low,
                "update_ratio_high": ratio.high,
                "unreliable": bool(group["unreliable"].any()),
            }
        )
    return _table(rows, "conditions")


def gaps(
    models: pd.DataFrame,
    *,
    margin_pp: float = 3.0,
    alpha: float = 0.05,
    resampling: Resampling = Resampling(),
) -> pd.DataFrame:
    """Held-out recovery gap between two learners, paired by seed, with its equivalence test.

    Parameters
    ----------
    models
        One row a model; rows that are not `selected` are passed over.
    margin_pp
        Symmetric equivalence margin in pp.
    alpha
        Level of each one-sided test; the t interval covers 1 - 2 alpha.
    resampling
        The bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row a setting and comparison, columns ``COLUMNS["gaps"]``. A gap is `learner_full`
        minus `learner_immediate`, over the seeds that both ran.

    Raises
    ------
    OrlaError
        As in `conditions`.
    """
    rows = []
    for key, pairs in _pairs(_selected(models)):
        gap = pairs["gap_pp"].to_numpy(float)
        finite = gap[np.isfinite(gap)]
        interval = resampling.mean(gap)
        row = {
            **key,
            "n_seeds": finite.size,
            "n_diverged": gap.size - finite.size,
            "gap_pp": interval.estimate,
            "low_pp": interval.low,
            "high_pp": interval.high,
            "t90_low_pp": np.nan,
            "t90_high_pp": np.nan,
            "margin_pp": float(margin_pp),
            "tost_p": 1.0,
            "delta_star_pp": np.nan,
            "equivalent": False,
            "unreliable": bool(pairs["unreliable"].any()),
        }
        if finite.size >= 2:
            test = tost_paired(finite, -margin_pp, margin_pp, alpha)
            row |= {
                "t90_low_pp": test.interval_low,
                "t90_high_pp": test.interval_high,
                "tost_p": test.p,
                "delta_star_pp": test.delta_star,
                "equivalent": test.equivalent,
            }
        rows.append(row)
    return _table(rows, "gaps")


def gap_seeds(models: pd.DataFrame) -> pd.DataFrame:
    """Every finite seed's held-out recovery gap: the points behind `gaps`.

    Returns
    -------
    pandas.DataFrame
        One row a setting, comparison and seed, columns ``COLUMNS["gap_seeds"]``.

    Raises
    ------
    OrlaError
        As in `conditions`.
    """
    rows = [
        {**key, "seed": seed, "gap_pp": gap}
        for key, pairs in _pairs(_selected(models))
        for seed, gap in zip(pairs["seed"], pairs["gap_pp"], strict=True)
        if np.isfinite(gap)
    ]
    return _table(rows, "gap_seeds")


def selection_price(models: pd.DataFrame, resampling: Resampling = Resampling()) -> pd.DataFrame:
    """What selecting the rate on the held-out part adds to the reported recovery.

    Parameters
    ----------
    models
        One row a model, over all rates; used are the rows `selected` and `selected_on_test`.
    resampling
        The bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row a condition, columns ``COLUMNS["selection_price"]``. `price_pp` is the mean over
        seeds of recovery at the rate chosen on the test part minus at the one chosen on validation.

    Raises
    ------
    OrlaError
        As in `conditions`.
    """
    _demand_columns(models)
    rows = []
    for key, group in _groups(models, CONDITION):
        chosen = group[group["selected"].astype(bool)]
        chosen_on_test = group[group["selected_on_test"].astype(bool)]
        if chosen.empty or chosen_on_test.empty:
            continue
        rate = _one_rate(chosen, key, "selected")
        rate_test = _one_rate(chosen_on_test, key, "selected_on_test")
        both = _by_seed(chosen, key).join(_by_seed(chosen_on_test, key), rsuffix="_test")
        recovery = both["recovery_heldout_percent"].to_numpy(float)
        recovery_test = both["recovery_heldout_percent_test"].to_numpy(float)
        finite = np.isfinite(recovery) & np.isfinite(recovery_test)
        price = resampling.mean(np.where(finite, recovery_test - recovery, np.nan))
        rows.append(
            {
                **key,
                "recovery_validation_selected_percent": _finite_mean(recovery[finite]),
                "recovery_test_selected_percent": _finite_mean(recovery_test[finite]),
                "price_pp": price.estimate,
                "low_pp": price.low,
                "high_pp": price.high,
                "learning_rate": rate,
                "learning_rate_test": rate_test,
                "n_seeds": int(finite.sum()),
            }
        )
    return _table(rows, "selection_price")


def ratio_gap(
    models: pd.DataFrame, comparison: str = "paper", resampling: Resampling = Resampling()
) -> pd.DataFrame:
    """Update ratio ||dW_hh|| / ||dW_out|| of the full learner beside the recovery gap.

    Parameters
    ----------
    models
        One row a model; rows that are not `selected` are passed over.
    comparison
        A name in `COMPARISONS`; the ratio is that of its first learner.
    resampling
        The bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row a setting, columns ``COLUMNS["ratio_gap"]``; ratio and gap are over the same seeds.

    Raises
    ------
    OrlaError
        As in `conditions`.
    """
    rows = []
    for key, pairs in _pairs(_selected(models), [comparison]):
        ratios, gap = _ratio_and_gap(pairs)
        ratio, difference = resampling.mean(ratios), resampling.mean(gap)
        rows.append(
            {
                **{name: key[name] for name in SETTING},
                "update_ratio": ratio.estimate,
                "update_ratio_low": ratio.low,
                "update_ratio_high": ratio.high,
                "gap_pp": difference.estimate,
                "low_pp": difference.low,
                "high_pp": difference.high,
                "n_seeds": int(np.isfinite(gap).sum()),
            }
        )
    return _table(rows, "ratio_gap")


def ratio_gap_order(
    models: pd.DataFrame, comparison: str = "paper", resampling: Resampling = Resampling()
) -> pd.DataFrame:
    """Spearman's rho over optimizers between mean update ratio and mean recovery gap.

    Seeds are resampled jointly for all optimizers and both means are formed anew each time, so
    the interval carries the noise of seeds; it says nothing of optimizers that were not run.

    Parameters
    ----------
    models, comparison, resampling
        As in `ratio_gap`.

    Returns
    -------
    pandas.DataFrame
        One row for each (architecture, precision, split) with at least three optimizers that
        have a finite seed, columns ``COLUMNS["ratio_gap_order"]``; `n_seeds` is the smallest
        number of finite seeds that any of these optimizers has.

    Raises
    ------
    OrlaError
        As in `conditions`.
    """
    points = [
        pd.DataFrame(
            {"seed": pairs["seed"], "ratio": ratio, "gap": gap} | {n: key[n] for n in SETTING}
        )
        for key, pairs in _pairs(_selected(models), [comparison])
        for ratio, gap in [_ratio_and_gap(pairs)]
    ]
    if not points:
        return _table([], "ratio_gap_order")
    rows = []
    for key, group in _groups(pd.concat(points), ["architecture", "precision", "split"]):
        ratio = group.pivot(index="optimizer", columns="seed", values="ratio")
        gap = group.pivot(index="optimizer", columns="seed", values="gap")
        present = gap.notna().sum(axis=1)
        kept = present.index[present > 0]
        if len(kept) < 3:
            continue
        interval = ordering_interval(
            ratio.loc[kept], gap.loc[kept], resamples=resampling.resamples, seed=resampling.seed
        )
        rows.append(
            {
                **key,
                "n_optimizers": len(kept),
                "spearman": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "n_seeds": int(present[kept].min()),
            }
        )
    return _table(rows, "ratio_gap_order")


def horizon_gaps(
    horizon: pd.DataFrame, comparison: str = "paper", resampling: Resampling = Resampling()
) -> pd.DataFrame:
    """Held-out recovery gap after adapting for a shorter part of the stream.

    Parameters
    ----------
    horizon
        One row a model and horizon: the condition's columns, `seed`, `horizon_steps`
        and `recovery_heldout_percent`.
    comparison
        A name in `COMPARISONS`.
    resampling
        The bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row a setting and horizon, columns ``COLUMNS["horizon_gaps"]``.

    Raises
    ------
    OrlaError
        On a missing column, or a seed that occurs twice at one horizon.
    """
    wanted = [*CONDITION, "seed", "horizon_steps", "recovery_heldout_percent"]
    _demand_columns(horizon, wanted)
    rows = []
    for steps, models in horizon.groupby("horizon_steps", sort=True):
        for key, pairs in _pairs(models, [comparison]):
            gap = pairs["gap_pp"].to_numpy(float)
            interval = resampling.mean(gap)
            rows.append(
                {
                    **{name: key[name] for name in SETTING},
                    "horizon_steps": int(steps),
                    "n_seeds": int(np.isfinite(gap).sum()),
                    "gap_pp": interval.estimate,
                    "low_pp": interval.low,
                    "high_pp": interval.high,
                }
            )
    return _table(rows, "horizon_gaps").sort_values([*SETTING, "horizon_steps"], ignore_index=True)


def _pairs(
    models: pd.DataFrame, comparisons: Sequence[str] = tuple(COMPARISONS)
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each setting and comparison whose two learners ran, with their rows joined by seed."""
    for setting, group in _groups(models, SETTING):
        learners = {learner: rows for learner, rows in group.groupby("learner")}
        for comparison in comparisons:
            full, immediate = COMPARISONS[comparison]
            if full not in learners or immediate not in learners:
                continue
            key = setting | {
                "comparison": comparison,
                "learner_full": full,
                "learner_immediate": immediate,
            }
            pairs = _by_seed(learners[full], setting | {"learner": full}).join(
                _by_seed(learners[immediate], setting | {"learner": immediate}),
                how="inner",
                lsuffix="_full",
                rsuffix="_immediate",
            )
            if pairs.empty:
                continue
            pairs["gap_pp"] = (
                pairs["recovery_heldout_percent_full"] - pairs["recovery_heldout_percent_immediate"]
            )
            if "unreliable_full" in pairs:
                pairs["unreliable"] = pairs[["unreliable_full", "unreliable_immediate"]].any(axis=1)
            yield key, pairs.reset_index()


def _ratio_and_gap(pairs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Ratio and gap of each seed, (seeds,), both NaN where either is."""
    ratio = pairs["update_ratio_full"].to_numpy(float)
    gap = pairs["gap_pp"].to_numpy(float)
    finite = np.isfinite(ratio) & np.isfinite(gap)
    return np.where(finite, ratio, np.nan), np.where(finite, gap, np.nan)


def _by_seed(rows: pd.DataFrame, key: dict[str, str]) -> pd.DataFrame:
    repeated = rows["seed"][rows["seed"].duplicated()]
    if len(repeated):
        raise OrlaError(
            f"{_name(key)}: seed {repeated.iloc[0]} occurs twice at the selected rate; "
            "give one row a model"
        )
    kept = ["recovery_heldout_percent", "update_ratio", "unreliable"]
    return rows.set_index("seed").sort_index()[[name for name in kept if name in rows]]


def _one_rate(rows: pd.DataFrame, key: dict[str, str], choice: str) -> float:
    rates = rows["learning_rate"].unique()
    if len(rates) != 1:
        raise OrlaError(
            f"{_name(key)}: {choice} marks {len(rates)} learning rates; a condition has one"
        )
    _by_seed(rows, key)
    return float(rates[0])


def _selected(models: pd.DataFrame) -> pd.DataFrame:
    _demand_columns(models)
    return models[models["selected"].astype(bool)]


def _groups(frame: pd.DataFrame, by: list[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for values, group in frame.groupby(by, sort=True):
        yield dict(zip(by, values, strict=True)), group


def _measure(rows: pd.DataFrame, column: str) -> np.ndarray:
    return rows.sort_values("seed")[column].to_numpy(float)


def _finite_mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else np.nan


def _demand_columns(frame: pd.DataFrame, wanted: Sequence[str] = tuple(MODEL_COLUMNS)) -> None:
    missing = [name for name in wanted if name not in frame]
    if missing:
        raise OrlaError(
            f"the table of models lacks the column {missing[0]}; rebuild it with the sweeps rule"
        )


def _name(key: dict[str, str]) -> str:
    return "/".join(str(value) for value in key.values())


def _table(rows: list[dict[str, object]], name: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS[name])
