"""Made-up estimates, over seeds and over pairs, with the columns that the statistics write."""

import numpy as np
import pandas as pd

SCORES = {  # estimand -> columns of recovery, error and R2
    "heldout": ("recovery_heldout_percent", "heldout_error", "r2_mean"),
    "stable": ("recovery_stable_percent", "heldout_stable_error", "stable_r2_mean"),
    "adapt": ("recovery_adapt_percent", "adapt_error", None),
}
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 20: 2.09}


def make_inference(
    heldout: pd.DataFrame, setting: list[str], comparisons: dict, horizon_gaps: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Estimates over seeds and pairs, the multiverse, power and truth controls."""
    seeds = _seed_gaps(heldout, setting, comparisons)
    estimates = _estimates(seeds, setting)
    return {
        "seed_gaps": seeds,
        "estimates": estimates,
        "over_pairs": _over_pairs(estimates, setting),
        "multiverse": _multiverse(estimates, horizon_gaps),
        "power": _power(),
        "truth_controls": _truth_controls(),
    }


def _seed_gaps(heldout: pd.DataFrame, setting: list[str], comparisons: dict) -> pd.DataFrame:
    models = heldout.assign(
        recovery_stable_percent=heldout["recovery_heldout_percent"] + 1.5,
        heldout_stable_error=heldout["heldout_error"] - 0.01,
        stable_r2_mean=heldout["r2_mean"] + 0.01,
        adapt_error=heldout["heldout_error"] - 0.05,
    )
    parts = []
    for name, (_, full, immediate) in comparisons.items():
        sides = [
            models[models["learner"] == learner].set_index([*setting, "seed"])
            for learner in (full, immediate)
        ]
        first, second = sides[0].align(sides[1], join="inner", axis=0)
        for estimand, (recovery, error, r2) in SCORES.items():
            part = pd.DataFrame(index=first.index)
            part["comparison"], part["estimand"] = name, estimand
            part["learner_full"], part["learner_immediate"] = full, immediate
            part["gap_pp"] = first[recovery] - second[recovery]
            part["r2_gap"] = first[r2] - second[r2] if r2 else np.nan
            part["error_gap"] = second[error] - first[error]
            part["recovery_full_percent"] = first[recovery]
            part["recovery_immediate_percent"] = second[recovery]
            part["diverged"] = first["diverged"] | second["diverged"]
            part["denominator"] = 0.67
            parts.append(part.reset_index())
    return pd.concat(parts, ignore_index=True)


def interval(values: pd.Series) -> tuple[float, float, float, float]:
    """Mean, standard error and the 95 % t interval of what is finite."""
    values = values.dropna()
    if len(values) < 2:
        mean = values.mean() if len(values) else np.nan
        return mean, np.nan, np.nan, np.nan
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    half = T95.get(len(values), 2.2) * error
    return mean, error, mean - half, mean + half


def _estimates(seeds: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    keys = [*setting, "comparison", "learner_full", "learner_immediate", "estimand"]
    rows = []
    for key, part in seeds.groupby(keys, sort=False):
        rows.append(dict(zip(keys, key, strict=True)) | _estimate(part))
    return pd.DataFrame(rows)


def _estimate(part: pd.DataFrame) -> dict:
    mean, error, low, high = interval(part["gap_pp"])
    row = {"n_seeds": int(part["gap_pp"].notna().sum()), "n_diverged": int(part["diverged"].sum())}
    row |= {"gap_pp": mean, "standard_error_pp": error, "t95_low_pp": low, "t95_high_pp": high}
    row |= {"t90_low_pp": low + 0.5, "t90_high_pp": high - 0.5, "delta_star_pp": abs(mean) + 2}
    row |= {"equivalent": abs(mean) + 2 < 3, "margin_pp": 3.0, "alpha": 0.05, "price_pp": 0.4}
    row["r2_gap"], _, row["r2_t95_low"], row["r2_t95_high"] = interval(part["r2_gap"])
    row["error_gap"], _, row["error_t95_low"], row["error_t95_high"] = interval(part["error_gap"])
    row |= {"error_t90_low": row["error_t95_low"] + 0.001, "error_delta_star": 0.03}
    row |= {"error_t90_high": row["error_t95_high"] - 0.001}
    for side in ("full", "immediate"):
        name = f"recovery_{side}"
        mean, _, low, high = interval(part[f"{name}_percent"])
        row |= {f"{name}_percent": mean, f"{name}_t95_low_percent": low}
        row |= {f"{name}_t95_high_percent": high}
    row |= {"updates": 66, "denominator": 0.67, "denominator_se": 0.01}
    return row | {"frozen_error": 1.1, "constant_error": 1.2, "guards": ""}


def _over_pairs(estimates: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    keys = [key for key in setting if key != "pair"]
    keys += ["comparison", "learner_full", "learner_immediate", "estimand"]
    rows = []
    for key, part in estimates.groupby(keys, sort=False):
        gaps = part["gap_pp"].dropna()
        row = dict(zip(keys, key, strict=True)) | _estimate(part.assign(diverged=False))
        spread = gaps.std(ddof=1) if len(gaps) > 1 else np.nan
        row |= {"n_pairs": len(gaps), "n_seeds": int(part["n_seeds"].min())}
        row |= {"n_failing": 0, "n_diverged": int(part["n_diverged"].sum())}
        row |= {"between_sd_pp": spread, "within_sd_pp": 3.1}
        row |= {"prediction_low_pp": row["gap_pp"] - 3 * spread}
        row |= {"prediction_high_pp": row["gap_pp"] + 3 * spread}
        row |= {"mixed_gap_pp": row["gap_pp"], "mixed_low_pp": row["t95_low_pp"]}
        rows.append(row | {"mixed_high_pp": row["t95_high_pp"]})
    drop = ["guards", "denominator", "denominator_se", "frozen_error", "constant_error"]
    return pd.DataFrame(rows).drop(columns=drop)


def _multiverse(estimates: pd.DataFrame, horizon_gaps: pd.DataFrame) -> pd.DataFrame:
    keys = ["task", "pair", "architecture", "optimizer", "comparison", "split"]
    ends = {"t95_low_pp": "low", "t95_high_pp": "high", "gap_pp": "gap"}
    recovery = estimates.rename(columns=ends).assign(metric=estimates["estimand"], unit="pp")
    parts = [recovery]
    for metric, ends in (
        ("r2", {"r2_gap": "gap", "r2_t95_low": "low", "r2_t95_high": "high"}),
        ("error", {"error_gap": "gap", "error_t95_low": "low", "error_t95_high": "high"}),
    ):
        own = estimates[estimates["estimand"] == "stable"].rename(columns=ends)
        parts.append(own.assign(metric=metric, unit=metric))
    parts = [part.assign(freezing_step=np.nan) for part in parts]
    named = {"gap_pp": "gap", "low_pp": "low", "high_pp": "high", "horizon_steps": "freezing_step"}
    own = horizon_gaps.rename(columns=named)
    parts.append(own.assign(metric="heldout", comparison="paper", unit="pp"))
    columns = [*keys, "metric", "freezing_step", "gap", "low", "high", "unit"]
    found = pd.concat([part[columns] for part in parts], ignore_index=True)
    more = found[found["optimizer"].isin(["adam", "lars"]) & (found["architecture"] == "rnn")]
    more = more[(more["split"] == "80-20") & more["freezing_step"].isna()]
    others = [
        more.assign(
            architecture=f"rnn-pretrained-{window}",
            **{
                name: more[name] + shift * np.where(more["unit"] == "pp", 1, 0.01)
                for name in ("gap", "low", "high")
            },
        )
        for window, shift in ((1, -6.0), (200, 4.0))
    ]
    return pd.concat([found, *others], ignore_index=True)


def _power() -> pd.DataFrame:
    rows = []
    for name, unit, n, sd in (
        ("cadence-explains-lars", "pair", 12, 6.2),
        ("gradient-within-3", "pair", 12, 4.0),
        ("adam-equivalence", "seed", 20, 6.2),
        ("sgd-gap", "seed", 5, 8.1),
    ):
        for gap in np.linspace(-6, 6, 13):
            power = float(np.clip(1.1 - (abs(gap) + sd / np.sqrt(n)) / 5, 0, 1))
            row = {"registration": name, "unit": unit, "n": n, "sd": sd, "scale": "pp"}
            row["true_gap"] = gap
            rows.append(row | {"supported": power, "n_80": np.nan if abs(gap) > 3 else 18.0})
    return pd.DataFrame(rows)


def _truth_controls() -> pd.DataFrame:
    columns = ["world", "true_gap", "claim", "studies", "supported", "falsified"]
    columns += ["inconclusive", "untestable", "right", "wrong", "undecided", "wrong_share"]
    columns += ["wrong_low", "wrong_high"]
    rows = [
        ("A/A", 0.0, "within 0.02", 100, 91, 1, 8, 0, 91, 1, 8, 0.01, 0.0003, 0.054),
        ("planted", 0.04, "within 0.02", 100, 2, 83, 15, 0, 83, 2, 15, 0.02, 0.002, 0.07),
        ("delayed", 11.2, "more than 3 pp", 100, 95, 0, 5, 0, 95, 0, 5, 0.0, 0.0, 0.036),
        ("no drift", 0.0, "within 3 pp", 100, 0, 0, 0, 100, 100, 0, 0, 0.0, 0.0, 0.036),
    ]
    return pd.DataFrame(rows, columns=columns)
