"""Controls matched to a study's own scatter, against loops over numbers."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import given, table
from scipy import stats

from orla.truth import matched

PAIRS = [(name, 2) for name in "abcdefgh"]
MARGIN, STUDIES = 0.02, 6


def rows(scale=1.0, pairs=PAIRS):
    """The controls of some pairs whose gaps of errors are `scale` times those drawn."""
    models, settings = varied(pairs, lost=0.0), given(resamples=50)
    estimates = table("estimates", models, resamples=50)
    gaps = [c for c in estimates if c.startswith("error_gap")]
    estimates[gaps] *= scale
    return estimates, matched.matched_scatter_table(models, estimates, settings, STUDIES)


def test_a_row_is_of_the_centred_gaps_with_margins_added():
    estimates, found = rows(scale=1e-3)
    own = found[found["rules"] == "present"]
    gaps = estimates[estimates["estimand"] == "stable"]["error_gap"].to_numpy()
    draws = np.random.default_rng(0).integers(0, len(gaps), (STUDIES, len(gaps)))
    for margins, (_, row) in enumerate(own.iterrows()):
        moved = gaps - gaps.mean() + margins * MARGIN
        assert row["true_gap"] == margins * MARGIN
        assert row["gap"] == pytest.approx(moved[draws].mean(), rel=1e-6)
        assert row["between_sd"] == pytest.approx(moved[draws].std(axis=1, ddof=1).mean(), rel=1e-6)
    # Scatter that is nothing beside the margin is decided, and rightly.
    assert own["right"].tolist() == [STUDIES, 0, STUDIES] and not own["wrong"].iloc[[0, 2]].any()


def test_wide_scatter_is_undecided_and_the_former_rules_are_a_plain_test():
    _, found = rows(scale=100.0)
    own = found[found["rules"] == "present"]
    assert (own["inconclusive"] >= STUDIES - 1).all()
    former = found[found["rules"] == "former"]
    models = varied(PAIRS, lost=0.0)
    gaps = []
    for _, pair in models[models["selected_on_tail"]].groupby("pair"):
        wide = pair.pivot(index="seed", columns="learner", values="recovery_heldout_percent")
        gaps.append((wide["rtrl"] - wide["immediate"]).mean())
    gaps = np.array(gaps) - np.mean(gaps)
    draws = np.random.default_rng(0).integers(0, len(gaps), (STUDIES, len(gaps)))
    shown = sum(
        stats.ttest_1samp(g, -3, alternative="greater").pvalue < 0.05
        and stats.ttest_1samp(g, 3, alternative="less").pvalue < 0.05
        for g in gaps[draws]
    )
    assert former["supported"].iloc[0] == shown


def test_few_pairs_are_no_scatter():
    _, found = rows(pairs=PAIRS[:2])
    pd.testing.assert_frame_equal(found, found.iloc[:0])
