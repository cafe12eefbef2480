"""Made-up studies: what they are made of, and verdicts on tables whose answer is written down."""

import numpy as np
import pandas as pd
import pytest

from orla import catalogue
from orla.prereg import judge as judging
from orla.programs import compiling
from orla.results.base import Settings
from orla.study import rates
from orla.truth import studies, verdicts, worlds

PAIRS, NETWORKS = 2, 2
SETTINGS = Settings(resamples=100)
STEPS = {"pretraining": 320, "adapt": 80, "heldout": 40}


@pytest.fixture(scope="module")
def made():
    """Two short studies of the world without memory, the second alone, and parts by kind, name."""
    real, parts = catalogue.make, set()

    def make(kind, spec, **options):
        parts.add((kind, spec if isinstance(spec, str) else spec["kind"]))
        return real(kind, spec, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "make", make)
        patch.setattr(worlds, "PRETRAINING", worlds.PRETRAINING | {"max_epochs": 1})
        patch.setattr(worlds, "RATES", worlds.RATES[1:])
        patch.setattr(worlds, "GROWTH", 0)
        compiling.configure(compile=False, threads=1, device="cpu")
        both = studies.simulate_models("instant", [0, 1], PAIRS, NETWORKS, STEPS)
        patch.setattr(worlds, "CONTROLS", {"a-a": worlds.CONTROLS["a-a"]})  # of one learner
        second = studies.simulate_models("instant", [1], PAIRS, NETWORKS, STEPS)
    return both, second, parts


def test_both_learners_adapt_the_networks_of_each_pair(made):
    both, *_ = made
    count = both.groupby(["study", "pair", "learner"])["seed"].nunique().unstack()
    assert count.drop_duplicates().to_dict("records") == [
        {worlds.FULL: NETWORKS, worlds.IMMEDIATE: 2 * NETWORKS}
    ]
    assert count.index.get_level_values("pair").nunique() == PAIRS
    frozen = both.groupby(["study", "pair", "seed"])["frozen_heldout_error"].nunique()
    assert (frozen == 1).all()  # both learners start from the same network on the same stream
    assert both.groupby(["study", "pair"])["constant_error"].nunique().max() == 1
    assert both["constant_error"].nunique() == 2 * PAIRS


def test_the_parts_of_made_up_studies_are_named_for_their_provenance(made):
    kinds = {("task", world["kind"]) for world in worlds.WORLDS.values()}
    assert made[2] | kinds == set(worlds.PARTS)


def test_a_study_does_not_depend_on_the_others(made):
    both, second, _ = made
    keys = ["pair", "learner", "seed", "learning_rate"]
    own = both[(both["study"] == 1) & (both["learner"] == worlds.IMMEDIATE)]
    own = own.sort_values(keys, ignore_index=True)
    alone = second.sort_values(keys, ignore_index=True)
    for column in ("heldout_error", "validation_rolling_error", "frozen_heldout_error"):
        np.testing.assert_allclose(own[column], alone[column], rtol=1e-9)


def test_each_pair_chooses_its_rate_as_a_sweep_does(made):
    score = worlds.ESTIMAND.validation
    lower = made[0][made[0]["learning_rate"] < 0.02].assign(learning_rate=0.003)
    lower[score] += np.where(lower["study"] == 1, 0.001, -0.001)
    models = pd.concat([made[0], lower], ignore_index=True)
    models.loc[(models["learning_rate"] > 0.02) & (models["study"] == 1), score] += 0.5
    # One pair loses a network at one rate, another one all, and has its smallest rate then.
    first, second = models["pair"].unique()[:2]
    lost = (models["pair"] == first) & (models["seed"] == 0) & (models["learning_rate"] > 0.02)
    models.loc[lost | (models["pair"] == second), score] = np.nan
    chosen = studies.reselect_rates(models)
    others = [f"selected_on_{part}" for part in ("test", "tail", "adapt")]
    assert not chosen[others].any(axis=None)
    for _, rows in chosen.groupby(["study", "pair", "learner"]):
        scores = {
            rates.half_decade_index(rate): of_rate[score].to_numpy()
            for rate, of_rate in rows.groupby("learning_rate")
        }
        [rate] = rows.loc[rows[worlds.ESTIMAND.selected], "learning_rate"].unique()
        assert rates.half_decade_index(rate) == rates.lowest_error_index(scores)
        assert (rows[worlds.ESTIMAND.edge] == rates.best_on_edge(scores)).all()
    assert chosen[worlds.ESTIMAND.edge].nunique() == 2


def test_plant_gap_subtracts_the_gap_from_errors_and_recomputes_recovery(made):
    rows, estimand = made[0], worlds.ESTIMAND
    rows = rows[rows[estimand.error].notna()]
    more = verdicts.plant_gap(rows, 0.04)
    spread = rows["frozen_heldout_error"] - rows["reference_error"]
    np.testing.assert_allclose(rows[estimand.error] - more[estimand.error], 0.04)
    again = 100 * (rows["frozen_heldout_error"] - more[estimand.error]) / spread
    np.testing.assert_allclose(again, more[estimand.recovery])
    pd.testing.assert_series_equal(more[estimand.validation], rows[estimand.validation])


@pytest.mark.parametrize("name", ["a-a", "planted-2", "instant"])
def test_sides_are_two_learners_or_the_immediate_one_on_other_networks(made, name):
    sides = verdicts.compared_models(worlds.CONTROLS[name], made[0], NETWORKS)
    assert set(sides["seed"]) == set(range(NETWORKS))
    first = worlds.FULL if name == "instant" else worlds.AGAIN
    for _, of_pair in sides.groupby(["study", "pair"]):
        frozen = of_pair.groupby("learner")["frozen_heldout_error"].unique().map(set)
        assert {*frozen.index} == {first, worlds.IMMEDIATE}
        assert bool(frozen[first] & frozen[worlds.IMMEDIATE]) == (name == "instant")


def test_the_judge_is_asked_with_the_controls_own_registration(made, monkeypatch):
    asked, judge = [], judging.judge_registrations

    def asking(registrations, tables, **bindings):
        asked.append((registrations[0], tables["over_pairs"]["task"].unique().tolist()))
        return judge(registrations, tables, **bindings)

    monkeypatch.setattr(judging, "judge_registrations", asking)
    found = verdicts.judge_studies("a-a", worlds.CONTROLS["a-a"], made[0], NETWORKS, SETTINGS)
    assert found["study"].tolist() == [0, 1]
    for known, tasks in asked:
        assert (known.pairs, known.seeds, known.estimand) == (PAIRS, NETWORKS, "stable")
        assert (known.scale, known.minus) == ("variance", (worlds.AGAIN, worlds.IMMEDIATE))
        assert tasks == ["a-a"]


@pytest.mark.parametrize(
    "outcomes, right, wrong, undecided",
    [
        (["supported"] * 3 + ["falsified"], 3, 1, 0),
        (["inconclusive", "untestable", "supported"], 1, 0, 2),
    ],
)
def test_verdicts_are_counted(monkeypatch, outcomes, right, wrong, undecided):
    judged = pd.DataFrame({"outcome": outcomes, "gap": 0.01, "between_sd": 0.03})
    monkeypatch.setattr(verdicts, "judge_studies", lambda *given: judged)
    monkeypatch.setattr(worlds, "CONTROLS", {"a-a": worlds.CONTROLS["a-a"]})
    [row] = verdicts.control_table({"instant": None}, NETWORKS, SETTINGS).to_dict("records")
    assert (row["right"], row["wrong"], row["undecided"]) == (right, wrong, undecided)
    assert row["studies"] == len(outcomes) and row["wrong_share"] == wrong / len(outcomes)
    assert row["wrong_low"] <= row["wrong_share"] <= row["wrong_high"]
    assert verdicts.control_table({}, NETWORKS, SETTINGS).empty  # of a world that was not made


def test_every_control_names_a_world_and_outcomes():
    every = {"supported", "falsified", "inconclusive", "untestable"}
    for control in worlds.CONTROLS.values():
        outcomes = [*control.right, *control.wrong]
        assert control.world in worlds.WORLDS and len({*outcomes} & every) == len(outcomes)
