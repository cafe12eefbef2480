"""Made-up models of a realistic study, and the statistics of them that the library makes."""

from dataclasses import replace

import numpy as np
import pandas as pd

from orla import catalogue
from orla.reports.study import Comparison, StudyFacts
from orla.results import base
from orla.study import refits
from orla.study.drift import COLUMNS
from orla.study.efficiency import MEASURES
from orla.study.keys import DEFAULTS
from orla.study.keys import KEYS as NAMED

OPTIMIZERS = ("sgd", "adafactor", "adam", "lars")
LEARNERS = ("immediate", "immediate-200", "tbptt-200-200", "rtrl", "last-layer")
BEST = {"sgd": 3e-3, "adafactor": 3e-4, "adam": 3e-4, "lars": 1e-3}
LEVELS = {
    "immediate": {"sgd": 42.0, "adafactor": 39.6, "adam": 41.7, "lars": 12.6},
    "tbptt-200-200": {"sgd": 32.1, "adafactor": 32.9, "adam": 41.4, "lars": 38.1},
    "last-layer": dict.fromkeys(OPTIMIZERS, 22.0),
}
COMPARISONS = {
    "per_step": Comparison("full − immediate, per step", "rtrl", "immediate"),
    "per_window": Comparison("full − immediate, per window", "tbptt-200-200", "immediate-200"),
    "cadence_immediate": Comparison("window − step, immediate", "immediate-200", "immediate"),
    "cadence_full": Comparison("window − step, full", "tbptt-200-200", "rtrl"),
    "paper": Comparison("the paper's diagonal", "tbptt-200-200", "immediate"),
}
SIMULATED = StudyFacts(
    name="simulated",
    label="simulated reaching, 96 channels",
    simulated=True,
    reproduces=True,
    recordings=("recordings",),
    comparisons=COMPARISONS,
    instances={
        "architecture": {f"rnn-pretrained-{n}": {"kind": "rnn", "hidden": 64} for n in (1, 200)}
    },
    pretraining={"rnn": 50, "lstm": 50, "rnn-pretrained-1": 1, "rnn-pretrained-200": 200},
)
RECORDED = replace(SIMULATED, name="odoherty", label="indy, M1", simulated=False)
KEYS = [*NAMED]
STEPS = {"80-20": 13200, "50-50": 8200}
LANGUAGE = ["model", "parameters", "rank", "learner", "optimizer", "rate", "edge", "seed", "stream"]
LANGUAGE += ["token", "segment", "domain", "frozen", "loss", "heldout"]
LANGUAGE += ["domain_loss", "domain_error"]
SETTINGS = base.Settings(
    resamples=20, comparisons={name: base.Comparison(*c) for name, c in COMPARISONS.items()}
)
RATIO = {"sgd": 4.30, "adafactor": 4.82, "adam": 6.20, "lars": 10.49}


def build(name: str, results: dict[str, pd.DataFrame], study: StudyFacts):
    """A table of the catalogue, from the results it needs."""
    table = catalogue.part("table", name)
    return table().build(*(results[need] for need in table.part.more["needs"]), study=study)


def make_results(
    n_seeds: int = 5,
    headline_seeds: int | None = None,
    splits: tuple[str, ...] = ("80-20", "50-50"),
    architectures: tuple[str, ...] = ("rnn",),
    pairs: tuple[str, ...] = ("default",),
    names: list[str] | None = None,
) -> dict[str, pd.DataFrame]:
    """Results by file stem, of which one model in a few is lost at high rates.

    Of statistics all, or those of these names and what they need.
    """
    curves = pd.concat(
        [
            _sweep(architecture, learner, optimizer, split, seeds, pair)
            for pair in pairs
            for architecture in architectures
            for split in splits
            for optimizer in OPTIMIZERS
            for learner in LEARNERS
            for headline in [(optimizer, split) == ("adam", "50-50")]
            for seeds in [(headline and headline_seeds) or n_seeds]
        ],
        ignore_index=True,
    )[lambda frame: [*KEYS, *(c for c in frame if c not in KEYS)]]
    models = curves.assign(
        edge_on_adapt=False,
        heldout_stable_error=curves["heldout_error"] - 0.01,
        recovery_stable_percent=curves["recovery_heldout_percent"] + 1.5,
        stable_r2_mean=curves["r2_mean"] + 0.01,
        **past_columns(curves),
        **_refits(),
    )
    heldout = models[models["selected"]].reset_index(drop=True)
    tables = {"models": models, "horizon": _horizon(heldout), "alignment": _alignment(heldout)}
    tables["profile"] = profile(heldout)
    for name in base.dependency_order(names):
        tables[name] = base.build(name, tables, SETTINGS)
        if name == "estimates":  # a rate on the edge of its grid is marked, and guards nothing here
            tables[name]["guards"] = ""
    if names is not None:
        return tables | {"heldout": heldout}
    costs = {measure: 40.0 + i for i, measure in enumerate(MEASURES)}
    counted = {"models": models.assign(**costs, frozen_r2_mean=0.4, reference_r2_mean=0.7)}
    tables["footprints"] = base.build("footprints", counted, SETTINGS)
    return tables | {
        "lr_curves": models,
        "heldout": heldout,
        "adapting": heldout,
        "multiverse": _other_networks(tables["multiverse"]),
        "traces": _traces(heldout),
        "verdicts": _verdicts(),
        "drift_report": _drift_report(pairs),
        "power": _power(),
        "truth_controls": _truth_controls(),
        "peers": pd.DataFrame(columns=["task", "peer", "seed", "prequential_accuracy", "step"]),
        "speed": pd.DataFrame(columns=[*KEYS, "peer", "us", "bytes"]),
        "tta": pd.DataFrame(columns=["adapts", "optimizer", "corruption", "seed", "value"]),
        "language": pd.DataFrame(columns=LANGUAGE),
        "language_norms": pd.DataFrame(columns=[*LANGUAGE, "layer", "norm"]),
    }


def past_columns(heldout: pd.DataFrame) -> dict[str, np.ndarray]:
    """What the probes of the past gradient add, all different, and different for each model."""
    centers = {
        "top1_past": 0.62, "top1_immediate": 0.34, "top1_gap": 0.28, "whh_share": 0.57,
        "turn_cosine": 0.1, "window_cosine": -0.12, "past_cosine": -0.02, "dominance": 14.0,
        "past_wins_share": 0.97, "past_sign_sd": 0.21, "past_sign_sd_coordinates": 0.43,
        "sign_differs_share": 0.36,
    }  # fmt: skip
    names = heldout["learner"] + heldout["optimizer"]
    moved = 1 + names.map(hash_text).to_numpy() % 97 / 1000 + heldout["seed"].to_numpy() / 100
    moved[heldout["diverged"].to_numpy(bool)] = np.nan
    found = {name: center * moved for name, center in centers.items()}
    return found | {"whh_share_null": np.full(len(heldout), 4096 / 6850)}


def _beside(rows: pd.DataFrame, parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Each part beside the one row that it is about."""
    keys = rows.iloc[np.repeat(np.arange(len(rows)), [len(part) for part in parts])]
    return pd.concat([keys.reset_index(drop=True), pd.concat(parts, ignore_index=True)], axis=1)


def profile(models: pd.DataFrame, windows: int = 12, units: int = 64) -> pd.DataFrame:
    """Spectra, turns and maps of the models with full gradients."""
    models = models[models["learner"].isin(["tbptt-200-200", "rtrl"]) & ~models["diverged"]]
    models, parts = models[[*KEYS, "seed", "learning_rate"]].assign(probe="past"), []
    for optimizer, seed in zip(models["optimizer"], models["seed"], strict=True):
        generator = np.random.default_rng([hash_text(optimizer), seed])
        decay = 0.4 + 0.1 * generator.uniform()
        spectrum = decay ** np.arange(windows)
        place = np.abs(generator.standard_normal(units * units)) / units
        of = {
            "singular_past": spectrum / spectrum.sum(),
            "singular_immediate": spectrum**0.5 / (spectrum**0.5).sum(),
            "turn_cosine": generator.uniform(-0.3, 0.6, windows - 1),
            **({"u1_map": place} if seed == 0 else {}),
        }
        of = {quantity: pd.Series(values, name="value") for quantity, values in of.items()}
        parts.append(pd.concat(of, names=["quantity", "index"]).reset_index())
    return _beside(models, parts)


def _sweep(
    architecture: str, learner: str, optimizer: str, split: str, n_seeds: int, pair: str
) -> pd.DataFrame:
    own = [] if pair == "default" else list(pair.encode())
    generator = np.random.default_rng([hash_text(f"{learner}{optimizer}{split}"), *own])
    best = BEST[optimizer] * (3 if "200" in learner else 1)
    rates = best * 10.0 ** np.arange(-1, 1.5, 0.5)
    level = LEVELS.get(learner, {}).get(optimizer, 35.0) + 4.0 * (architecture == "lstm")
    key = ("recordings", pair, architecture, learner, optimizer, "float64", split)
    key, rows = dict(zip(KEYS, (*key, *DEFAULTS.values()), strict=True)), []
    for seed in range(n_seeds):
        of_seed = generator.normal(0, 3)
        for rate in rates:
            distance = np.log10(rate / best)
            recovery = level + of_seed - 60 * max(distance, 0) ** 2 - 12 * min(distance, 0) ** 2
            recovery += generator.normal(0, 1.5)
            lost = distance > 0.9 and (seed + len(learner)) % 2 == 0
            measured = {
                "validation_error": 1.1 - 0.006 * recovery,
                "validation_rolling_error": 1.1 - 0.006 * recovery,
                "heldout_error": 1.1 - 0.0067 * recovery,
                "adapt_error": 1.0 - 0.005 * recovery,
                "adapt_vs_best_rtrl_percent": recovery + 50,
                "heldout_vs_best_rtrl_percent": recovery + 40,
                "recovery_heldout_percent": recovery,
                "recovery_adapt_percent": recovery + 8,
                "r2_mean": 0.01 * recovery,
                "r2_weighted": 0.01 * recovery,
            }
            # With LARS the held-out part, with Adam the tail, would choose a lower rate.
            lower = {"lars": "selected_on_test", "adam": "selected_on_tail"}.get(optimizer)
            choices = ("selected", "selected_on_test", "selected_on_tail", "selected_on_adapt")
            at = {name: best / 10**0.5 if name == lower else best for name in choices}
            rows.append(
                key
                | {"seed": seed, "learning_rate": rate, "diverged": lost}
                | {"diverged_step": 4200 if lost else -1}
                | {name: np.nan if lost else value for name, value in measured.items()}
                | {"frozen_heldout_error": 1.1, "frozen_adapt_error": 1.0}
                | {"reference_error": 0.43, "constant_error": 1.6}
                | {"update_ratio": RATIO[optimizer] + generator.normal(0, 0.2)}
                | {"updates": STEPS[split] // (200 if "200" in learner else 1)}
                | {name: bool(np.isclose(rate, chosen)) for name, chosen in at.items()}
                | {"unreliable": False, "edge": optimizer == "lars" and learner == "immediate"}
            )
    frame = pd.DataFrame(rows)
    if (learner, optimizer, split) == ("tbptt-200-200", "sgd", "80-20"):
        gone = frame["selected"] & (frame["seed"] == 0)
        measures = [name for name in frame if name.startswith(("recovery_", "r2_", "validation"))]
        frame.loc[gone, [*measures, "heldout_error"]] = np.nan
        frame.loc[gone, "diverged"] = True
    return frame


def hash_text(text: str) -> int:
    """A number from a text, the same in every process (hash() is not)."""
    return int.from_bytes(text.encode(), "little") % (2**32)


def _refits() -> dict[str, float]:
    """Scores of two decoders beside each network."""
    scores = {}
    for decoder, percent in (("ridge", 24.0), ("readout", 31.0)):
        error, r2 = refits.score_columns(decoder)
        scores |= {error: 1.1 - (1.1 - 0.43) * percent / 100, r2: 0.3}
    return scores


def _horizon(heldout: pd.DataFrame) -> pd.DataFrame:
    """Recoveries that full learning raises with the horizon."""
    models = heldout.query("learner in ('immediate', 'tbptt-200-200') and split == '80-20'")
    later = 0.3 * (models["learner"] == "tbptt-200-200")
    columns = [*KEYS, "seed", "learning_rate", "recovery_heldout_percent"]
    return pd.concat(
        models[columns].assign(
            horizon_steps=steps,
            recovery_heldout_percent=models["recovery_heldout_percent"] + i * later,
        )
        for i, steps in enumerate((5000, 8000, 11000, 13000))
    )


def _alignment(heldout: pd.DataFrame) -> pd.DataFrame:
    """Gradients along immediate learning with Adam, beside exact RTRL's."""
    driven = heldout.query("learner == 'immediate' and optimizer == 'adam'")
    driven = driven[[*KEYS, "seed", "learning_rate", "diverged", "selected"]]
    watched = {"immediate": (0.81, 0), "trace": (0.62, 54_800), "rtrl": (1.0, 5_900_000)}
    return pd.concat(
        driven.assign(
            observer=observer,
            against="rtrl",
            cosine=cosine + (0.0 if observer == "rtrl" else 0.01) * (driven["seed"] - 2),
            positive_share=min(1.0, cosine + 0.1),
            norm_ratio=cosine,
            carried_bytes=carried,
        )
        for observer, (cosine, carried) in watched.items()
    )


def _other_networks(multiverse: pd.DataFrame) -> pd.DataFrame:
    """The same gaps of networks that were pretrained by other windows, of two optimizers."""
    some = "optimizer in ('adam', 'lars') and architecture == 'rnn' and split == '80-20'"
    more = multiverse.query(some)[lambda rows: rows["freezing_step"].isna()]
    moved = {"rnn-pretrained-1": -6.0, "rnn-pretrained-200": 4.0}
    others = [
        more.assign(
            architecture=network,
            **{end: more[end] + by * more["unit"].eq("pp") for end in ("gap", "low", "high")},
        )
        for network, by in moved.items()
    ]
    return pd.concat([multiverse, *others], ignore_index=True)


def _traces(heldout: pd.DataFrame) -> pd.DataFrame:
    generator, parts = np.random.default_rng(3), []
    for row in heldout[["split", "diverged", "recovery_heldout_percent"]].to_dict("records"):
        steps = np.arange(200, 13001 if row["split"] == "80-20" else 8001, 200)
        frozen = 1.1 + np.random.default_rng(0).normal(0, 0.08, len(steps))
        fall = 0 if row["diverged"] else 0.0067 * row["recovery_heldout_percent"]
        error = frozen - fall * (1 - np.exp(-steps / 3000)) + generator.normal(0, 0.03, len(steps))
        if row["diverged"]:
            error[len(error) // 3 :] = np.nan
        parts.append(pd.DataFrame({"step": steps, "error": error, "frozen_error": frozen}))
    return _beside(heldout[[*KEYS, "seed"]], parts)


def _verdicts() -> pd.DataFrame:
    """One of each outcome, as far as a reader sees it."""
    columns = ["registration", "title", "outcome", "reason", "estimate", "low", "high"]
    columns += ["threshold", "n", "amended"]
    rows = [
        ("adam-equivalence", "Adam at 50/50 is equivalent within ±3 pp", "supported",
         "the 90 % interval lies inside ±3 pp", -0.3, -2.7, 2.1, "between −3 and 3", 20, False),
        ("lars-advantage", "Full RTRL has an advantage with LARS at 80/20", "supported",
         "inside", 25.1, 21.0, 29.3, "at least 10", 5, True),
        ("sgd-gap", "Immediate beats full RTRL with SGD at 80/20", "inconclusive",
         "[−14.0, 1.2] crosses the threshold", -6.1, -14.0, 1.2, "at most −3", 4, False),
        ("ratio-gap-ordering", "The gap follows ‖ΔW_hh‖/‖ΔW_out‖ over the optimizers", "falsified",
         "[−1.0, 0.2] lies wholly under the threshold", -0.4, -1.0, 0.2, 0.5, 5, False),
        ("immediate-lars-fails", "Immediate with LARS fails to adapt", "untestable",
         "3 of 5 seeds diverged; the registration allows 1", *[np.nan] * 3, "at most 15", 2, False),
    ]  # fmt: skip
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(registered_on="2026-11-20", lock_sha256="3f" * 32)


def _drift_report(pairs: tuple[str, ...]) -> pd.DataFrame:
    """Two sessions a pair, which decoders of 1, 5 and 10 steps read."""
    nan, rows = np.nan, []
    for side, session in zip("ab", ("first", "second"), strict=True):
        of = {"session": (nan, session), "seconds": (1335.0, ""), "scored": (1.0, "")}
        of |= {"inputs": (40.0, "of 96"), "about": (nan, "subject indy, area M1")}
        rows += [(measure, side, value, nan, nan, words) for measure, (value, words) in of.items()]
    for at, within_a, within_b, a_to_b in (("1", 0.4, 0.35, 0.2), ("10", 0.6, 0.55, 0.3)):
        scores = {"within_a": within_a, "within_b": within_b, "a_to_b": a_to_b}
        scores["loss"] = within_b - a_to_b
        rows += [(m, at, v, v - 0.05, v + 0.05, "R²") for m, v in scores.items()]
    for measure, value in (("constant", 0.0), ("chance", 0.01), ("ceiling", 83.0)):
        rows.append((measure, "", value, value, value, ""))
    for measure in ("inputs_moved", "inputs_moved_within", "tuning", "tuning_within"):
        rows.append((measure, "", 0.5, nan, nan, ""))
    frame = pd.DataFrame(rows, columns=[*COLUMNS])
    keys = [{"task": "recordings", "pair": pair} for pair in pairs]
    return pd.concat([frame.assign(**key) for key in keys], ignore_index=True)


def _power() -> pd.DataFrame:
    registered = [
        ("cadence-explains-lars", "pair", 12, 6.2, "pp"),
        ("gradient-within-3", "pair", 12, 4.0, "pp"),
        ("adam-equivalence", "seed", 20, 6.2, "pp"),
        ("sgd-gap", "seed", 5, 8.1, "pp"),
    ]
    rows = pd.DataFrame(registered, columns=["registration", "unit", "n", "sd", "scale"])
    rows = rows.merge(pd.DataFrame({"true_gap": np.linspace(-6, 6, 13)}), how="cross")
    size = rows["true_gap"].abs()
    power = (1.1 - (size + rows["sd"] / np.sqrt(rows["n"])) / 5).clip(0, 1)
    return rows.assign(supported=power, n_80=np.where(size > 3, np.nan, 18.0))


def _truth_controls() -> pd.DataFrame:
    columns = ["world", "rules", "margins", "claim", "studies", "supported", "falsified"]
    columns += ["inconclusive", "untestable", "right", "wrong", "undecided"]
    within, nan = "strictly between -0.02 and 0.02", np.nan
    rows = [
        ("a-a", "present", 0, within, 100, 91, 1, 8, 0, 91, 1, 8),
        ("planted-2", "present", 2, within, 100, 2, 83, 15, 0, 83, 2, 15),
        ("delayed", "present", nan, "above 0", 100, 95, 0, 5, 0, 95, 0, 5),
        ("no-drift", "present", nan, within, 100, 0, 0, 0, 100, 100, 0, 0),
        ("", "present", 0, within, 100, 60, 0, 40, 0, 60, 0, 40),
        ("", "former", 0, within, 100, 10, 3, 87, 0, 10, 3, 87),
        ("", "present", 1, within, 100, 1, 4, 95, 0, 0, 5, 95),
        ("", "former", 1, within, 100, 0, 9, 91, 0, 0, 9, 91),
    ]
    table = pd.DataFrame(rows, columns=columns)
    share, own = table["wrong"] / table["studies"], table["world"] != ""
    contrast = {"task": "recordings", "architecture": "rnn", "optimizer": "adam"}
    contrast |= {"precision": "float64", "split": "80-20", "comparison": "paper", **DEFAULTS}
    return table.assign(
        means=np.where(own, "made of " + table["world"], "scatter of the study"),
        true_gap=0.02 * table["margins"],
        wrong_share=share,
        wrong_low=share / 2,
        wrong_high=share + 0.04,
        **{name: np.where(own, "", value) for name, value in contrast.items()},
    )
