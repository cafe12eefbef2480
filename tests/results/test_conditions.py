"""Means over the seeds of conditions, probes, observers and networks, by plain loops over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION, RATES, models, settings
from results_by_hand import t_ends
from scipy import stats

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


def by_loop(frame, key, measure):
    """Values of a condition in the order of seeds, at the rate that is chosen for the measure."""
    chosen = "selected_on_adapt" if measure.startswith("adapt") else "selected"
    rows = [
        row
        for row in frame.to_dict("records")
        if row[chosen] and all(row[name] == key[name] for name in KEYS)
    ]
    return np.array([row[measure] for row in sorted(rows, key=lambda row: row["seed"])])


def test_every_measure_of_every_condition_has_its_mean_and_intervals():
    frame = with_probes(optimizers=["adam", "sgd"], splits=["80-20", "stationary"])
    found = build("measured", frame.sample(frac=1, random_state=0))
    wanted = {*SCORES, *PROBED}
    assert set(found["measure"]) == wanted
    assert len(found) == 2 * 2 * 2 * len(wanted) and found["mean"].nunique() == len(found)
    for row in found.to_dict("records"):
        values = by_loop(frame, row, row["measure"])
        expected = [values.mean(), values.std(ddof=1), 5, 0, *t_ends(values), *t_ends(values, 0.9)]
        assert [*row.values()][-8:] == pytest.approx(expected)


def test_what_was_not_measured_has_no_row_but_a_score_has():
    frame = with_probes()
    own = frame["learner"] == "immediate"
    frame.loc[own, "past_cosine"] = np.nan
    found = build("measured", frame)
    assert set(found.loc[found["measure"] == "past_cosine", "learner"]) == {"rtrl"}
    frame.loc[own, [*SCORES, *PROBED]] = np.nan
    frame.loc[own, "diverged"] = True
    found = build("measured", frame)
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
    found = build("learners", frame)
    assert len(found) == found["cosine"].round(12).nunique() == 6
    for row in found.to_dict("records"):
        same = [frame["selected"], *(frame[n] == row[n] for n in ("observer", "against"))]
        own = frame[np.all(same, axis=0)]
        for measure in ("cosine", "positive_share", "norm_ratio"):
            assert row[measure] == pytest.approx(own[measure].mean(), abs=1e-12)
        for measure in ("cosine", "norm_ratio"):
            ends = [row[f"{measure}_t95_{end}"] for end in ("low", "high")]
            assert ends == pytest.approx(t_ends(own[measure].to_numpy()), abs=1e-12)
        known = (row["n_seeds"], row["n_diverged"], row["carried_bytes"])
        assert known == (4, 0, 8 * len(row["observer"]))
    # A gradient without a cosine keeps its cost.
    frame.loc[frame["observer"] == "near", "cosine"] = np.nan
    row = build("learners", frame).set_index(["observer", "against"]).loc[("near", "exact")]
    assert np.isnan(row["cosine"]) and np.isnan(row["cosine_t95_low"]) and row["n_seeds"] == 0
    assert row["norm_ratio"] > 0 and row["carried_bytes"] == 32


def refitted(frame, decoder, drawn):
    """The models with one decoder's scores, the same beside every learner and rate of a seed."""
    scores = np.random.default_rng(drawn).uniform(0.5, 0.9, (frame["seed"].nunique(), 2))
    columns = dict(zip(refits.score_columns(decoder), scores[frame["seed"]].T, strict=True))
    of_seed = frame.groupby("seed")
    for name in ("frozen_heldout_error", "reference_error"):
        columns[name] = of_seed[name].transform("first")
    return frame.assign(constant_error=1.05 + 0.05 * frame["seed"], **columns)


def test_a_row_of_baselines_is_the_mean_over_networks_of_a_decoder():
    frame = refitted(models(splits=("80-20", "50-50")), "ridge", 4)
    frame = refitted(frame, "readout", 5)
    table = build("baselines", frame)
    assert list(zip(table["split"], table["baseline"], strict=True)) == [
        (split, decoder) for split in ("50-50", "80-20") for decoder in ("ridge", "readout")
    ]
    for row in table.itertuples():
        one = frame[frame["split"] == row.split].drop_duplicates("seed")
        error, r2 = (one[column] for column in refits.score_columns(row.baseline))
        frozen, reference = one["frozen_heldout_error"], one["reference_error"]
        recovery = 100 * (frozen - error) / (frozen - reference)
        ends = stats.t.interval(0.95, len(one) - 1, recovery.mean(), stats.sem(recovery))
        zero = np.minimum(frozen, one["constant_error"])
        over_best = 100 * (zero - error) / (zero - reference)
        assert row.n_seeds == len(one) == 5 and over_best.mean() < recovery.mean()
        expected = [recovery.mean(), *ends, over_best.mean(), error.mean(), r2.mean()]
        ours = [row.recovery_percent, row.t95_low_percent, row.t95_high_percent]
        ours += [row.over_best_percent, row.heldout_error, row.r2_mean]
        assert ours == pytest.approx(expected, rel=1e-9)


def test_what_networks_cost_is_the_mean_over_seeds():
    frame = models(splits=("80-20", "50-50"))
    costs = {name: frame["seed"] * (i + 1.0) for i, name in enumerate(MEASURES)}
    costs |= {"footprint_bytes": 800.0, "frozen_r2_mean": 0.1 * frame["seed"]}
    table = build("footprints", frame.assign(**costs))
    assert list(table["split"]) == ["50-50", "80-20"] and (table["n_seeds"] == 5).all()
    assert (table["footprint_bytes"] == 800.0).all() and table["reference_r2_mean"].isna().all()
    for i, name in enumerate(MEASURES):
        if name != "footprint_bytes":
            assert table[name].tolist() == pytest.approx([2.0 * (i + 1)] * 2)
    assert table["frozen_r2_mean"].tolist() == pytest.approx([0.2, 0.2])
