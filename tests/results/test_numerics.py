"""The gap by precision, at its own rates and at another's, against plain loops over rows."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import table

MARKS = {"rolling": "selected", "tail": "selected_on_tail"}
# Precision -> which of full RTRL's three rates each choice marks.
MARKED = {"float64": (0, 0), "float32": (1, 0), "narrow": (1, 2)}


@pytest.fixture(scope="module")
def frame():
    frames = []
    for drawn, (name, places) in enumerate(MARKED.items()):
        one = varied(seeds=[("a", 6)], drawn=drawn, lost=0.1).assign(precision=name)
        tried = sorted(one.loc[one["learner"] == "rtrl", "learning_rate"].unique())
        for mark, place in zip(MARKS.values(), places, strict=True):
            own = one["learning_rate"] == tried[place]
            one[mark] = own.where(one["learner"] == "rtrl", one[mark])
        frames.append(one)
    models = pd.concat(frames, ignore_index=True)
    # The last one has not tried the rate of full RTRL in float64.
    return models[~_of(models, "narrow", "rtrl", tried[0])]


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
def test_every_row_has_the_rates_flips_and_gap_of_its_precision(frame, rates_of):
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
