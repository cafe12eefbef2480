"""The summary of refitted decoders against plain means and scipy's t interval."""

import numpy as np
import pytest
from made_up import models, settings
from scipy import stats

from orla.results import base
from orla.study import refits


def refitted(frame, decoder="ridge", drawn=4):
    """The models with one decoder's scores, the same beside every learner and rate of a seed."""
    error, r2 = refits.columns(decoder)
    scores = np.random.default_rng(drawn).uniform(0.5, 0.9, (frame["seed"].nunique(), 2))
    frozen = frame.groupby("seed")["frozen_heldout_error"].transform("first")
    reference = frame.groupby("seed")["reference_error"].transform("first")
    of_seed = scores[frame["seed"]]
    return frame.assign(
        constant_error=1.05 + 0.05 * frame["seed"],
        frozen_heldout_error=frozen,
        reference_error=reference,
        **{error: of_seed[:, 0], r2: of_seed[:, 1]},
    )


def test_a_row_a_decoder_is_the_mean_over_networks():
    frame = refitted(refitted(models(splits=("80-20", "50-50"))), "readout", drawn=5)
    table = base.build("baselines", {"models": frame}, settings())
    assert list(zip(table["split"], table["baseline"], strict=True)) == [
        (split, decoder) for split in ("50-50", "80-20") for decoder in ("ridge", "readout")
    ]
    for row in table.itertuples():
        one = frame[frame["split"] == row.split].drop_duplicates("seed")
        error, r2 = refits.columns(row.baseline)
        gain = one["frozen_heldout_error"] - one[error]
        recovery = 100 * gain / (one["frozen_heldout_error"] - one["reference_error"])
        ends = stats.t.interval(0.95, len(one) - 1, recovery.mean(), stats.sem(recovery))
        assert row.n_seeds == len(one) == 5
        assert row.recovery_percent == pytest.approx(recovery.mean(), rel=1e-12)
        assert (row.t95_low_percent, row.t95_high_percent) == pytest.approx(ends, rel=1e-9)
        zero = np.minimum(one["frozen_heldout_error"], one["constant_error"])
        over_best = 100 * (zero - one[error]) / (zero - one["reference_error"])
        assert row.over_best_percent == pytest.approx(over_best.mean(), rel=1e-12)
        assert over_best.mean() < recovery.mean()
        assert row.heldout_error == pytest.approx(one[error].mean(), rel=1e-12)
        assert row.r2_mean == pytest.approx(one[r2].mean(), rel=1e-12)
