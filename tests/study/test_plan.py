"""Which conditions a config means, where each stands, and what its job is told."""

import copy

import pytest

from orla.errors import OrlaError
from orla.study import config_checks
from orla.study.declarations import expand_parts, job_parts, read_declarations
from orla.study.keys import KEYS
from orla.study.plan import Plan

BLOCK = {
    "name": "some",
    "tasks": ["days"],
    "networks": ["small"],
    "learners": ["immediate", "rtrl"],
    "optimizers": ["adam"],
    "splits": ["50-50", "80-20"],
    "seeds": 5,
}
CONFIG = {
    "tasks": {
        "days": {
            "kind": "recordings",
            "pairs": {"one": {"a": "x", "b": "y"}},
            "parts": {"cut": 100, "splits": {"50-50": 0.5, "80-20": 0.8}},
        },
        "wave": {"kind": "sine", "window": 50},
        "tone": {"kind": "sine"},
    },
    "networks": {"small": {"kind": "rnn", "hidden": 3}, "wide": {"kind": "rnn", "hidden": 9}},
    "learners": {
        "slow": {"kind": "trace", "decay": 0.5},
        "far": {"kind": "immediate", "window": 7},
    },
    "interventions": {"matched": {"kind": "match-norm", "observer": "rtrl"}},
    "probes": {"past": {"kind": "past_gradient", "full": "rtrl"}},
    "probes_of_all": ["update_ratio"],
    "grids": {"adam": {"step": [0.001], "window": [0.003]}},
    "grid_growth": 3,
    "stable_windows": 4,
    "horizons": {"tasks": ["days"], "steps": [100], "learners": ["rtrl"], "split": "80-20"},
}


def plan(*blocks, **changes):
    config = copy.deepcopy(CONFIG) | changes
    return Plan(config | {"conditions": list(blocks) or [BLOCK]}, read_declarations())


def paths(*blocks, **changes):
    return [c.path for c in plan(*blocks, **changes).conditions]


def test_a_block_means_every_combination():
    assert paths() == [
        "days/sweeps/small/immediate/adam/50-50",
        "days/sweeps/small/immediate/adam/80-20",
        "days/sweeps/small/rtrl/adam/50-50",
        "days/sweeps/small/rtrl/adam/80-20",
    ]


def test_what_is_not_the_default_stands_at_the_end_of_a_path():
    block = BLOCK | {
        "learners": ["slow"],
        "splits": ["50-50"],
        "precisions": ["float64", "float32"],
        "interventions": ["none", "matched+matched"],
        "starts": ["fresh"],
        "observers": ["rtrl"],
    }
    assert paths(block) == [
        "days/sweeps/small/slow/adam/50-50/fresh",
        "days/sweeps/small/slow/adam/50-50/matched+matched/fresh",
        "days/sweeps/small/slow/adam/50-50/float32/fresh",
        "days/sweeps/small/slow/adam/50-50/float32/matched+matched/fresh",
    ]
    [_, chained, single, _] = plan(block).conditions
    assert chained.interventions == ("matched", "matched")
    assert chained.networks_path == "days/pretraining/small/float64"
    assert single.networks_path == "days/pretraining/small/float32"


def test_two_pairs_have_a_folder_each_and_one_has_none():
    tasks = copy.deepcopy(CONFIG["tasks"])
    tasks["days"]["pairs"]["two"] = {"a": "x", "b": "z"}
    both = plan(BLOCK | {"splits": ["50-50"], "learners": ["rtrl"]}, tasks=tasks)
    assert {c.domain: c.pair for c in both.conditions} == {"days/one": "one", "days/two": "two"}
    assert both.domains == {"days/one": ("days", "one"), "days/two": ("days", "two")}
    assert plan().domains == {"days": ("days", "one")}
    assert plan(BLOCK | {"tasks": ["wave"], "splits": ["shift"]}).domains == {"wave": ("wave", "")}


@pytest.mark.parametrize("reverse", [False, True])
def test_overlapping_blocks_merge_to_the_larger_number_of_seeds(reverse):
    headline = BLOCK | {"learners": ["rtrl"], "splits": ["50-50"], "seeds": 20}
    headline |= {"observers": ["immediate"], "probes": ["past"]}
    blocks = [BLOCK, headline]
    conditions = plan(*(blocks[::-1] if reverse else blocks)).conditions
    assert len(conditions) == 4
    found = {c.path: c for c in conditions}
    both = found["days/sweeps/small/rtrl/adam/50-50"]
    assert both.seeds == 20 and both.observers == ("immediate",)
    assert set(both.probes) == {"update_ratio", "past"}
    other = found["days/sweeps/small/rtrl/adam/80-20"]
    assert (other.seeds, other.observers, other.probes) == (5, (), ("update_ratio",))


def test_a_name_is_an_instance_a_part_or_a_short_form():
    known = plan()
    assert known.spec("learner", "slow") == {"kind": "trace", "decay": 0.5}
    assert known.spec("learner", "rtrl") == {"kind": "rtrl"}
    short = {"kind": "tbptt", "window": 20, "update_every": 10}
    assert known.spec("learner", "tbptt-20-10") == short
    assert known.declaration("architecture", "wide")["name"] == "rnn"


def test_cadence_follows_from_the_stride_that_a_learner_declares():
    one = dict.fromkeys(("immediate", "rtrl", "last-layer", "slow", "tbptt-4-1"), 1)
    strides = one | {"immediate-200": 200, "tbptt-200-50": 50, "far": 7, "tbptt": 200}
    study = plan()
    assert {learner: study.stride(learner) for learner in strides} == strides
    cadences = {learner: study.cadence(learner) for learner in strides}
    assert cadences == dict.fromkeys(strides, "window") | dict.fromkeys(one, "step")


def test_grids_are_those_of_the_cadence_and_an_optimizer_has_its_own(monkeypatch):
    block = BLOCK | {"learners": ["rtrl", "far"], "splits": ["50-50"]}
    study = plan(block)
    assert [study.grid(c) for c in study.conditions] == [[0.001], [0.003]]
    own = plan(block, grids={})
    declared = own.declarations["optimizer"]["adam"]["more"]
    steps_and_windows = [declared["grid"][cadence] for cadence in ("step", "window")]
    assert [own.grid(c) for c in own.conditions] == steps_and_windows
    lacking = plan(block, grids={"adam": {"step": [0.001]}})
    with pytest.raises(OrlaError, match=r'"grids.adam" has no rates .* each window; add "window"$'):
        lacking.grid(lacking.conditions[1])
    monkeypatch.setitem(declared, "grid", None)
    with pytest.raises(OrlaError, match=r'; add "step", or declare grid= in the class$'):
        own.grid(own.conditions[0])


def test_windows_variants_and_steps_of_probes_are_what_parts_declare():
    probes = {
        "seldom": {"kind": "condition_number", "stride": 70},
        "far": {"kind": "past_structure", "immediate": "immediate", "window": 400},
    }
    study = plan(probes=CONFIG["probes"] | probes)
    tone = study.declarations["task"]["sine"]["defaults"]["window"]
    assert [study.window_steps(task) for task in ("days", "wave", "tone")] == [100, 50, tone]
    assert study.split_names("days") == ["50-50", "80-20", "stationary"]
    assert study.split_names("wave") == ["shift", "stationary"]
    looks = {"seldom": 70, "condition_number": 1000, "past": 0}
    assert {name: study.steps_of_declared_option("probe", name) for name in looks} == looks
    kept = {"seldom": 0, "past": 0, "far": 400}
    assert {name: study.steps_of_declared_option("probe", name, "kept") for name in kept} == kept


def test_horizons_concern_one_task_its_split_and_the_named_learners():
    blocks = [BLOCK, BLOCK | {"tasks": ["wave"], "splits": ["shift"]}]
    scored = {c.path for c in plan(*blocks).conditions if plan(*blocks).adapt_horizons(c)}
    assert scored == {"days/sweeps/small/rtrl/adam/80-20"}
    other = plan(*blocks, horizons=CONFIG["horizons"] | {"split": "shift"})
    assert not any(other.adapt_horizons(c) for c in other.conditions), (
        "a task that horizons do not name"
    )


def test_a_job_is_all_that_its_result_depends_on():
    block = BLOCK | {"learners": ["slow"], "splits": ["50-50"], "interventions": ["matched"]}
    study = plan(block | {"observers": ["rtrl"], "starts": ["fresh"], "precisions": ["float32"]})
    [condition] = study.conditions
    job = study.job(condition)
    values = ("days", "one", "small", "slow", "adam", "float32", "50-50", "matched", "fresh")
    assert job == {
        "keys": dict(zip(KEYS, values, strict=True)),
        "seeds": 5,
        "network": {"kind": "rnn", "hidden": 3},
        "learner": {"kind": "trace", "decay": 0.5},
        "optimizer": {"kind": "adam"},
        "start": {"kind": "fresh"},
        "observers": {"rtrl": {"kind": "rtrl"}},
        "interventions": [{"kind": "match-norm", "observer": "rtrl"}],
        "probes": [{"kind": "update_ratio"}],
        "learning_rates": [0.001],
        "growth": 3,
        "horizons": [],
        "stable_windows": 4,
        "for_resamples": False,
    }
    assert job_parts(job, study.declarations) == [
        ("architecture", "rnn"),
        ("intervention", "match-norm"),
        ("learner", "rtrl"),
        ("learner", "trace"),
        ("optimizer", "adam"),
        ("probe", "update_ratio"),
        ("start", "fresh"),
    ]


def test_conditions_whose_stable_scores_a_quantity_over_seeds_resamples_are_marked():
    at = {"task": "days", "architecture": "small", "optimizer": "adam", "split": "50-50"}
    terms = [{"plus": "recovery_stable_percent"}, {"minus": "recovery_stable_percent"}]
    terms[1]["learner"] = "rtrl"

    def marked(**entry):
        entry = {"label": "", "at": at | {"learner": "slow"}, "sum": terms} | entry
        study = plan(BLOCK | {"learners": ["slow", "rtrl", "immediate"]}, quantities={"q": entry})
        return {c.learner for c in study.conditions if study.job(c)["for_resamples"]}

    assert marked() == {"slow", "rtrl"}
    assert marked(sum=[terms[0], terms[1] | {"architecture": "other"}]) == {"slow"}
    assert marked(unit="pair") == set()
    assert marked(sum=[{"plus": "recovery_heldout_percent"}], estimand="stable") == set()


def test_a_result_depends_on_each_part_of_a_list_of_parts():
    inner = {"kind": "stack", "hidden": 2, "layers": ["lstm", {"kind": "ctrnn", "hidden": 2}]}
    networks = {"small": {"kind": "stack", "hidden": 3, "layers": [inner, "gru"]}}
    study = plan(networks=networks)
    used = [name for kind, name in job_parts(study.job(study.conditions[0]), study.declarations)]
    assert used == ["ctrnn", "gru", "lstm", "stack", "immediate", "adam", "update_ratio"] + [
        "pretrained"
    ]
    short = ("learner", "tbptt-8-4")
    assert expand_parts([short], study.declarations) == [short]


def test_each_name_of_a_chain_is_looked_up():
    with pytest.raises(OrlaError, match=r'^config: .*"matcd" is unknown; .* "matched"'):
        chain = BLOCK | {"interventions": ["matched+matcd"]}
        config_checks.check_block_names(plan(), "conditions[0]", chain)


def test_starts_and_learners_are_what_they_declare_whatever_they_are_called():
    learners = {"slow": {"kind": "rtrl", "block": 9}, "rtrl-like": {"kind": "trace"}}
    study = plan(BLOCK | {"starts": ["pretrained", "fresh"]}, learners=learners)
    taking = {c.start: study.takes_pretrained(c) for c in study.conditions}
    assert taking == {"pretrained": True, "fresh": False}
    exact = {"slow": True, "rtrl": True, "rtrl-like": False, "tbptt-9-9": False}
    assert {name: study.is_exact(name) for name in exact} == exact


def test_pretraining_depends_on_the_network_and_on_the_optimizer_that_is_named():
    networks = CONFIG["networks"] | {"tall": {"kind": "stack", "layers": ["lstm", "rnn"]}}
    of = {"small": {"optimizer": {"kind": "muon", "steps": 3}}, "wide": {"optimizer": "lion"}}
    made = plan(networks=networks, pretraining={"window": 50, "of": of})
    assert made.pretraining_dependencies("small") == [
        ("architecture", "rnn"),
        ("optimizer", "muon"),
    ]
    assert made.pretraining_dependencies("wide") == [("architecture", "rnn"), ("optimizer", "lion")]
    of_tall = [("architecture", name) for name in ("stack", "lstm", "rnn")]
    assert made.pretraining_dependencies("tall") == of_tall


def test_every_condition_is_in_one_part_of_its_chapter_stream_network_and_split():
    more = BLOCK | {"chapter": "choices", "optimizers": ["adam", "sgd"]}
    study = plan(BLOCK, more, grids={n: {"step": [0.001, 0.003]} for n in ("adam", "sgd")})
    assert list(dict.fromkeys(study.chapters.values())) == ["headline", "choices"]
    assert {study.chapters[c] for c in study.conditions if c.optimizer == "adam"} == {"headline"}
    conditions = [c for part in study.condition_groups for c in part.conditions]
    assert sorted(conditions, key=str) == sorted(study.conditions, key=str)
    for part in study.condition_groups:
        assert {study.chapters[c] for c in part.conditions} == {part.chapter}
        assert len({(c.domain, c.architecture, c.precision, c.split) for c in part.conditions}) == 1
    assert [part.path for part in study.condition_groups] == [
        f"days/adaptation/small/float64/{split}-{chapter}-0"
        for chapter in ("headline", "choices")
        for split in ("50-50", "80-20")
    ]


def test_exact_learners_of_many_seeds_are_jobs_of_their_own():
    heavy = BLOCK | {"splits": ["80-20"], "seeds": 30}
    study = plan(heavy)
    learners = [[c.learner for c in part.conditions] for part in study.condition_groups]
    assert learners == [["rtrl"], ["immediate"]]
    light = plan(heavy | {"seeds": 2})
    assert [[c.learner for c in part.conditions] for part in light.condition_groups] == [
        ["immediate", "rtrl"]
    ]


NUMERICS = {"narrow": {"precision": "float32", "instructions": "avx2", "threads": 2}}
COMPUTE = {"threads": 1, "device": "cpu", "compile": True, "batch_models": 5}


def test_a_numeric_configuration_is_a_precision_with_a_place_and_a_job_of_its_own():
    both = plan(BLOCK | {"precisions": ["float64", "narrow"]}, numerics=NUMERICS, compute=COMPUTE)
    first, second = (c for c in both.conditions if c.split == "80-20" and c.learner == "rtrl")
    assert second.path == f"{first.path}/narrow" and second.networks_path.endswith("/small/narrow")
    assert both.compute_settings("narrow") == COMPUTE | {"threads": 2, "instructions": "avx2"}
    plain = plan(BLOCK, compute=COMPUTE)
    # With the section, or without: what names a format alone is planned as before it.
    for one in (both, plain):
        assert one.compute_settings("float64") == COMPUTE and one.format_entry("float64") == {}
    job = plain.job(first)
    assert both.job(first) == job and "format" not in job
    keys = job["keys"] | {"precision": "narrow"}
    assert both.job(second) == job | {"format": "float32", "keys": keys}
    assert {p.path for p in plain.condition_groups} == {
        p.path for p in both.condition_groups if "narrow" not in p.path
    }
