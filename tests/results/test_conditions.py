"""Means over the seeds of conditions, probes, observers and networks, by plain loops over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION, RATES, models, settings
from results_by_hand import t_ends

from orla.errors import OrlaError
from orla.results import base
from orla.results.conditions import SCORES
from orla.study import refits
from orla.study.efficiency import MEASURES
from orla.study.keys import KEYS

PROBED = ["update_ratio", "past_cosine", "condition_number"]


def build(name, frame):
    return base.build(name, {base.needed_tables(name)[0]: frame}, settings())


def with_probes(**more):
    """Models with the columns of three probes, each number drawn by itself."""
    frame = models(["immediate", "rtrl"], **more)
    names = ("past_cosine", "condition_number", "no_probes_column")
    drawn = np.random.default_rng(4).uniform(-1, 1, (3, len(frame)))
    return frame.assign(**dict(zip(names, drawn, strict=True)))


def test_every_measure_of_every_condition_has_its_mean_and_intervals():
    frame = with_probes(optimizers=["adam", "sgd"], splits=["80-20", "stationary"], seeds=3)
    found = build("measured", frame.sample(frac=1, random_state=0))
    wanted = {*SCORES, *PROBED}
    assert set(found["measure"]) == wanted
    assert len(found) == 2 * 2 * 2 * len(wanted) and found["mean"].nunique() == len(found)
    models_by_key = dict(list(frame.groupby([*KEYS])))
    for row in found.to_dict("records"):
        some, measure = models_by_key[tuple(row[key] for key in KEYS)], row["measure"]
        some = some[some["selected_on_adapt" if measure.startswith("adapt") else "selected"]]
        values = some[measure].to_numpy()
        expected = [values.mean(), values.std(ddof=1), 3, 0, *t_ends(values), *t_ends(values, 0.9)]
        assert [*row.values()][-8:] == pytest.approx(expected)


def test_what_was_not_measured_has_no_row_but_a_score_has():
    frame = with_probes()
    own = frame["learner"] == "immediate"
    frame.loc[own, "past_cosine"] = np.nan
    found = build("measured", frame)
    assert set(found.loc[found["measure"] == "past_cosine", "learner"]) == {"rtrl"}
    frame.loc[own, [*SCORES, *PROBED]] = np.nan
    found = build("measured", frame.assign(diverged=own))
    gone = found[found["learner"] == "immediate"]
    assert set(gone["measure"]) == set(SCORES)
    assert (gone["n_seeds"] == 0).all() and (gone["n_diverged"] == 5).all()
    assert gone[["mean", "sd", "t95_low", "t90_high"]].isna().all(axis=None)
    with pytest.raises(OrlaError, match="marks 2 learning rates"):
        build("measured", frame.assign(selected=True))
    assert build("measured", frame.iloc[:0]).empty


def test_each_observers_gradient_has_a_row_with_means_over_seeds():
    observers, generator = ("immediate", "near", "exact"), np.random.default_rng(3)
    frame = pd.DataFrame(
        [
            CONDITION
            | {"observer": observer, "against": against, "seed": seed, "learning_rate": rate}
            | {"selected": rate == RATES[0], "diverged": False, "carried_bytes": 8 * len(observer)}
            | {"cosine": generator.uniform(-1, 1), "positive_share": generator.uniform(0, 1)}
            | {"norm_ratio": generator.uniform(0, 9)}
            for rate in RATES
            for against in observers[1:]
            for observer in observers
            for seed in range(4)
        ]
    )
    found = build("learners", frame).set_index(["observer", "against"])
    assert len(found) == 6
    for key, own in frame[frame["selected"]].groupby(["observer", "against"]):
        cosine, share, norm = own[["cosine", "positive_share", "norm_ratio"]].to_numpy().T
        expected = [4, 0, cosine.mean(), *t_ends(cosine), share.mean(), norm.mean()]
        expected += [*t_ends(norm), 8 * len(key[0])]
        assert found.loc[key].tolist()[-len(expected) :] == pytest.approx(expected, abs=1e-12)
    # A gradient without a cosine keeps its cost.
    frame.loc[frame["observer"] == "near", "cosine"] = np.nan
    row = build("learners", frame).set_index(["observer", "against"]).loc[("near", "exact")]
    assert np.isnan(row["cosine"]) and np.isnan(row["cosine_t95_low"]) and row["n_seeds"] == 0
    assert row["norm_ratio"] > 0 and row["carried_bytes"] == 32


def refitted(frame, decoder, drawn):
    """The models with one decoder's scores, the same beside every learner and rate of a seed."""
    scores = np.random.default_rng(drawn).uniform(0.5, 0.9, (frame["seed"].nunique(), 2))
    columns = dict(zip(refits.score_columns(decoder), scores[frame["seed"]].T, strict=True))
    for name in ("frozen_heldout_error", "reference_error"):
        columns[name] = frame.groupby("seed")[name].transform("first")
    return frame.assign(constant_error=1.05 + 0.05 * frame["seed"], **columns)


def test_a_row_of_baselines_is_the_mean_over_networks_of_a_decoder():
    frame = refitted(models(splits=("80-20", "50-50")), "ridge", 4)
    frame = refitted(frame, "readout", 5)
    table = build("baselines", frame)
    assert list(zip(table["split"], table["baseline"], strict=True)) == [
        (split, decoder) for split in ("50-50", "80-20") for decoder in ("ridge", "readout")
    ]
    for _, row in table.iterrows():
        one = frame[frame["split"] == row["split"]].drop_duplicates("seed")
        error, r2 = (one[column] for column in refits.score_columns(row["baseline"]))
        frozen, reference = one["frozen_heldout_error"], one["reference_error"]
        recovery = 100 * (frozen - error) / (frozen - reference)
        zero = np.minimum(frozen, one["constant_error"])
        over_best = 100 * (zero - error) / (zero - reference)
        assert row["n_seeds"] == len(one) == 5 and over_best.mean() < recovery.mean()
        expected = [recovery.mean(), *t_ends(recovery), over_best.mean(), error.mean(), r2.mean()]
        names = ["recovery_percent", "t95_low_percent", "t95_high_percent", "over_best_percent"]
        ours = row[[*names, "heldout_error", "r2_mean"]].tolist()
        assert ours == pytest.approx(expected, rel=1e-9)


def test_what_networks_cost_is_the_mean_over_seeds():
    frame = models(splits=("80-20", "50-50"))
    costs = {name: frame["seed"] * (i + 1.0) for i, name in enumerate(MEASURES)}
    expected = {name: 2.0 * (i + 1) for i, name in enumerate(MEASURES)}
    costs |= {"footprint_bytes": 800.0, "frozen_r2_mean": 0.1 * frame["seed"]}
    expected |= {"footprint_bytes": 800.0, "frozen_r2_mean": 0.2, "n_seeds": 5}
    table = build("footprints", frame.assign(**costs))
    assert list(table["split"]) == ["50-50", "80-20"] and table["reference_r2_mean"].isna().all()
    for name, value in expected.items():
        assert table[name].tolist() == pytest.approx([value] * 2), name
