import pytest
from orla.study.conditions import (
    cadence,
    check,
    check_grids,
    check_horizons,
    expand,
    networks,
    ordered,
    tree,
)

from orla.errors import OrlaError

BLOCK = {
    "architectures": ["rnn"],
    "learners": ["immediate", "rtrl"],
    "optimizers": ["adam"],
    "precisions": ["float64"],
    "splits": ["50-50", "80-20"],
    "seeds": 5,
}


def test_a_block_means_every_combination():
    assert [c.path for c in expand([BLOCK])] == [
        "rnn/immediate/adam/float64/50-50",
        "rnn/immediate/adam/float64/80-20",
        "rnn/rtrl/adam/float64/50-50",
        "rnn/rtrl/adam/float64/80-20",
    ]


@pytest.mark.parametrize("reverse", [False, True])
def test_overlapping_blocks_merge_to_the_larger_number_of_seeds(reverse):
    headline = BLOCK | {"learners": ["rtrl"], "splits": ["50-50"], "seeds": 20}
    blocks = [BLOCK, headline]
    conditions = expand(blocks[::-1] if reverse else blocks)
    assert len(conditions) == len({c.path for c in conditions}) == 4
    seeds = {c.path: c.seeds for c in conditions}
    assert seeds["rnn/rtrl/adam/float64/50-50"] == 20
    assert seeds["rnn/rtrl/adam/float64/80-20"] == 5


def test_a_network_needs_the_largest_number_of_seeds_asked_of_it():
    blocks = [BLOCK, BLOCK | {"seeds": 8}, BLOCK | {"precisions": ["float32"], "seeds": 2}]
    assert networks(expand(blocks)) == {"rnn/float64": 8, "rnn/float32": 2}


def test_a_tree_is_reached_by_the_parts_of_its_paths():
    assert tree({"a/b": 1, "a/c/d": 2, "e": 3}) == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}


def test_order_is_that_of_the_names_and_lists_stay_as_they_are():
    values = ordered({"b": {"d": [3, 1], "c": 0}, "a": 1})
    assert repr(values) == "{'a': 1, 'b': {'c': 0, 'd': [3, 1]}}"


def test_cadence_is_in_the_learners_name():
    named = ["immediate", "rtrl", "last-layer", "tbptt-1-1", "tbptt-4-1"]
    assert {cadence(learner) for learner in named} == {"step"}
    assert {cadence(learner) for learner in ["immediate-200", "tbptt-200-200"]} == {"window"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"optimizers": ["adm"]},
            '"conditions[0].optimizers" cannot have "adm"; the nearest is "adam"',
        ),
        (
            {"splits": ["50/50"]},
            '"conditions[0].splits" cannot have "50/50"; the nearest is "50-50"',
        ),
        (
            {"architectures": ["gru"]},
            '"conditions[0].architectures" cannot have "gru"; there are "rnn"',
        ),
    ],
)
def test_a_name_the_study_lacks_is_named_with_the_nearest(change, message):
    names = (["rnn"], ["adam", "sgd"], ["50-50", "80-20"])
    check([BLOCK], *names)
    with pytest.raises(OrlaError) as raised:
        check([BLOCK | change], *names)
    assert message in str(raised.value)


def test_a_grid_with_a_hole_is_named_by_its_key():
    check_grids({"adam": {"step": [1e-4, 3e-4], "window": [1e-3]}})
    with pytest.raises(OrlaError, match=r'config: "grids\.adam\.window": .*holes'):
        check_grids({"adam": {"step": [1e-4], "window": [1e-4, 1e-3]}})


HORIZONS = {"steps": [5000], "split": "80-20", "learners": ["immediate", "rtrl"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": [5000, 5100]}, '"horizons.steps" has 5100, no multiple of parts.cut (200)'),
        ({"split": "80/20"}, 'cannot be "80/20"; the nearest is "80-20"'),
        ({"learners": ["immediat"]}, 'no condition runs on 80-20; the nearest is "immediate"'),
    ],
)
def test_horizons_fall_on_cuts_of_a_split_that_the_learners_run_on(change, message):
    parts = {"cut": 200, "splits": {"50-50": 0.5, "80-20": 0.8}}
    check_horizons(HORIZONS, parts, expand([BLOCK]))
    with pytest.raises(OrlaError) as raised:
        check_horizons(HORIZONS | change, parts, expand([BLOCK]))
    assert message in str(raised.value)
