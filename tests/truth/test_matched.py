"""Controls matched to a study's own scatter, against loops over numbers."""

import numpy as np
import pandas as pd
import pytest
from made_up import varied
from results_by_hand import given, table
from scipy import stats

from orla.truth import matched

MARGIN, STUDIES = 0.02, 6


@pytest.fixture(scope="module")
def models():
    return varied([(name, 2) for name in "abcdefgh"], lost=0.0)


@pytest.fixture(scope="module")
def estimates(models):
    return table("estimates", models, resamples=50)


def rows(models, estimates, scale=1.0):
    """The controls of these models where gaps of errors are `scale` times theirs."""
    gaps = [c for c in estimates if c.startswith("error_gap")]
    estimates = estimates.assign(**{name: scale * estimates[name] for name in gaps})
    table = matched.matched_control_table(models, estimates, given(resamples=50), STUDIES)
    return estimates, table


def test_a_row_is_of_the_centred_gaps_with_margins_added(models, estimates):
    estimates, found = rows(models, estimates, scale=1e-3)
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


def test_wide_scatter_is_undecided_and_the_former_rules_are_a_plain_test(models, estimates):
    _, found = rows(models, estimates, scale=100.0)
    own = found[found["rules"] == "present"]
    assert (own["inconclusive"] >= STUDIES - 1).all()
    former = found[found["rules"] == "former"]
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


def test_two_pairs_alone_give_an_empty_table_of_controls(models, estimates):
    _, found = rows(*(each[each["pair"].isin(["a", "b"])] for each in (models, estimates)))
    pd.testing.assert_frame_equal(found, found.iloc[:0])
