"""The gap by precision, at its own rates and at another's, against plain loops over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import table

PRECISIONS = ("float64", "float32", "narrow")
MARKS = {"rolling": "selected", "tail": "selected_on_tail"}


@pytest.fixture(scope="module")
def frame():
    for drawn in range(50):
        frames = [
            varied(seeds=[("a", 6)], drawn=drawn + i, lost=0.1).assign(precision=name)
            for i, name in enumerate(PRECISIONS)
        ]
        models = pd.concat(frames, ignore_index=True)
        first, second, third = (
            [_rate(models, name, "rtrl", choice) for choice in MARKS] for name in PRECISIONS
        )
        if first[0] != second[0] and not {*first} & {*third}:
            # The last one has not tried the rate of full RTRL in float64.
            return models[~_of(models, "narrow", "rtrl", first[0])]
    raise AssertionError("no draw has choices that differ")


def _of(models, precision, learner, rate):
    same = (models["precision"] == precision) & (models["learner"] == learner)
    return same & (models["learning_rate"] == rate)


def _rate(models, precision, learner, choice):
    rows = models[(models["precision"] == precision) & (models["learner"] == learner)]
    [rate] = rows.loc[rows[MARKS[choice]].astype(bool), "learning_rate"].unique()
    return rate


def _recoveries(models, precision, learner, rate):
    rows = models[_of(models, precision, learner, rate)].sort_values("seed")
    lost = rows["diverged"].astype(bool)
    return rows["recovery_heldout_percent"].astype(float).where(~lost).to_numpy()


@pytest.mark.parametrize("rates_of", ["float64", "float32"])
def test_every_row(frame, rates_of):
    frame = frame if rates_of == "float64" else frame[frame["precision"] != "narrow"]
    found = table("numerics", frame, rates_of=rates_of)
    rows = found.set_index(["choice", "precision", "rates_of"])
    run = frame["precision"].unique()
    assert {*rows.index} == {(c, p, r) for c in MARKS for p in run for r in (rates_of, p)}
    flips = 0
    for (choice, precision, rates), row in rows.iterrows():
        chosen = [_rate(frame, rates, learner, choice) for learner in ("rtrl", "immediate")]
        own = [_rate(frame, precision, learner, choice) for learner in ("rtrl", "immediate")]
        assert [row["learning_rate_full"], row["learning_rate_immediate"]] == chosen
        assert row["n_flipped"] == sum(a != b for a, b in zip(chosen, own, strict=True))
        flips += row["n_flipped"]
        both = [
            _recoveries(frame, precision, learner, rate)
            for learner, rate in zip(("rtrl", "immediate"), chosen, strict=True)
        ]
        if not len(both[0]):
            assert (precision, rates) == ("narrow", "float64")
            assert row["n_seeds"] == 0 and np.isnan(row["gap_pp"])
            continue
        gap = both[0] - both[1]
        assert row["n_seeds"] == np.isfinite(gap).sum()
        assert row["gap_pp"] == pytest.approx(np.nanmean(gap))
        means = [row["recovery_full_percent"], row["recovery_immediate_percent"]]
        assert means == pytest.approx([np.nanmean(side) for side in both])
    assert flips
