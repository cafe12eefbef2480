"""What a registration binds: the record of its own conditions, and nothing beside."""

import copy

import pytest
import yaml
from made_claims import BINDS, document, seed_document

from orla.errors import OrlaError
from orla.prereg import asked, binding, reader
from orla.study.config import normal_form, plan_from_config

CONFIG = binding.Path(__file__).parents[2] / "config.yaml"


@pytest.fixture(scope="module")
def config():
    found = yaml.safe_load(CONFIG.read_text())
    block = {"name": "arrays", "tasks": ["many-arrays"], "networks": ["rnn"], "seeds": 3}
    block |= {"learners": ["immediate", "rtrl"], "optimizers": ["adam"], "splits": ["80-20"]}
    pairs = {f"pair-{i}": {"a": f"a{i}", "b": f"b{i}", "seed": i} for i in range(12)}
    found["tasks"]["many-arrays"] = copy.deepcopy(found["tasks"]["recordings"]) | {"pairs": pairs}
    found["conditions"].append(block)
    return found


@pytest.fixture
def known(write):
    return reader.read(write(document(studies=["simulated"])))


def bound(config, known):
    return binding.bound(plan_from_config(normal_form(config)), known)


def changed(config, *path, value):
    found = copy.deepcopy(config)
    *parents, last = path
    place = found
    for key in parents:
        place = place[key]
    place[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tasks", "many-arrays", "simulated", "drift", "scale"), 2.0),
        (("tasks", "many-arrays", "pairs", "pair-3", "seed"), 99),
        (("tasks", "many-arrays", "preparation", "features", "count"), 30),
        (("conditions", -1, "seeds"), 4),
        (("networks", "rnn", "hidden"), 32),
        (("grids", "adam", "step"), [0.0001, 0.0003]),
        (("grid_growth",), 2),
        (("stable_windows",), 3),
        (("pretraining", "window"), 7),
        (("comparisons", "per_step", "minus"), ["tbptt-200-200", "immediate"]),
        (("statistics", "alpha"), 0.01),
        (("statistics", "margin_pp"), 9.0),
    ],
)
def test_what_the_results_depend_on_is_bound(config, known, path, value):
    before, after = bound(config, known), bound(changed(config, *path, value=value), known)
    assert before["record_sha256"] != after["record_sha256"]


OF_A_HORIZON = {"learners": ["immediate"], "split": "80-20"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("compute", "threads"), 2),
        (("tasks", "recordings", "preparation", "features", "count"), 30),
        (("grids", "lars", "step"), [0.0003, 0.001]),
        (("conditions", 0, "seeds"), 7),
        (("conditions", -1, "name"), "another"),
        (("horizons", "steps"), [5000]),
        (("horizons",), {"tasks": ["many-arrays"], "steps": [2000, 4000]} | OF_A_HORIZON),
        (("statistics", "main"), "per_step"),
        (("comparisons", "paper", "label"), "x"),
        (("pathvars", "reports"), "elsewhere"),
    ],
)
def test_what_they_do_not_depend_on_is_not(config, known, path, value):
    assert bound(config, known) == bound(changed(config, *path, value=value), known)


def test_a_grid_of_one_rate_is_refused(config, known):
    grids = {"step": [1e-3], "window": [1e-3]}
    refused = bound(changed(config, "grids", "adam", value=grids), known)["refused"]
    assert "tried at 1 learning rates; give grids of at least 3" in refused


def test_only_registrations_for_the_study_are_bound(config, known, write):
    plan = plan_from_config(normal_form(config))
    other = reader.read(write(document(studies=["odoherty"]), "other"))
    assert binding.bound_by(plan, [known, other]) == {"small-gap": binding.bound(plan, known)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"studies": ["odoherty"]}, 'study "simulated" is not among its studies'),
        ({"minus": ["tbptt-200-200", "immediate"]}, r"comparison per_step is \['rtrl', 'immedi"),
        ({"comparison": "per_hour"}, "comparison per_hour is None"),
        ({"sample": {"pairs": 20, "seeds": 3}}, "runs 24 of the 40 conditions"),
        ({"sample": {"pairs": 12, "seeds": 5}}, "12 pairs with 5 seeds"),
        ({"task": "nothing"}, "runs 0 of the 24 conditions"),
    ],
)
def test_what_the_config_would_not_answer_is_not_bound(config, write, changes, words):
    plan = plan_from_config(normal_form(config))
    asked.check_answered(plan, reader.read(write(document(studies=["simulated"]))))
    known = reader.read(write(document(studies=["simulated"]) | changes, "other"))
    with pytest.raises(OrlaError, match=words):
        asked.check_answered(plan, known)


def test_the_pair_of_seeds_is_one_of_the_task(config, write):
    plan = plan_from_config(normal_form(config))
    given = seed_document(studies=["simulated"], task="recordings", sample={"seeds": 5})
    asked.check_answered(plan, reader.read(write(given)))


def test_binds_are_written_over_older_ones(write):
    path = write(document())
    path.write_text("# A comment stays.\n" + path.read_text())
    hashes = BINDS | {"record_sha256": "1" * 64}
    binding.write(path, hashes)
    assert reader.read(path).binds == hashes != BINDS
    assert (
        path.read_text().startswith("# A comment stays.") and path.read_text().count("binds") == 1
    )
    binding.write(path, BINDS)
    assert reader.read(path).binds == BINDS and reader.read(path).outcomes


def test_overlays_are_laid_over_the_config(tmp_path, monkeypatch):
    monkeypatch.chdir(CONFIG.parent)
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("name: other\nstatistics: {alpha: 0.01}\n")
    plan = binding.plan_of([CONFIG, overlay])
    assert plan.config["name"] == "other" and plan.config["statistics"]["alpha"] == 0.01
    assert plan.config["statistics"]["resamples"] == 10000
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OrlaError, match="no such file"):
        binding.plan_of([overlay])


QUANTITY = {
    "label": "gap",
    "unit": "pair",
    "at": {"task": "many-arrays", "architecture": "rnn", "optimizer": "adam", "split": "80-20"},
    "sum": [
        {"plus": "update_ratio", "learner": "rtrl"},
        {"minus": "update_ratio", "learner": "immediate"},
    ],
}


GONE = ("estimand", "conditions", "comparison", "minus")


@pytest.fixture
def about(write):
    """A registration about a quantity of twelve pairs with three seeds."""
    given = document(quantity="gap", scale="", studies=["simulated"])
    given = {k: v for k, v in given.items() if k not in GONE}
    given["exclusions"]["max_diverged"] = 0
    return reader.read(write(given))


@pytest.fixture(scope="module")
def asking(config):
    return config | {"quantities": {"gap": QUANTITY}}


def test_a_quantity_binds_its_conditions_probes_and_terms(asking, about):
    plan = plan_from_config(normal_form(asking))
    asked.check_answered(plan, about)
    paths = asked.sweeps(plan, about)
    assert len(paths) == 24 and "many-arrays/pair-0/sweeps/rnn/rtrl/adam/80-20" in paths
    before = bound(asking, about)
    for path, value in (
        (("quantities", "gap", "sum", 1, "times"), 2.0),
        (("conditions", -1, "seeds"), 4),
        (("conditions", -1, "observers"), ["immediate"]),
        (("pretraining", "window"), 7),
        (("tasks", "many-arrays", "pairs", "pair-3", "seed"), 99),
    ):
        after = bound(changed(asking, *path, value=value), about)
        assert before["record_sha256"] != after["record_sha256"], path
    for path, value in (
        (("compute", "threads"), 2),
        (("grids", "lars", "step"), [0.0003, 0.001]),
        (("comparisons", "per_step", "minus"), ["tbptt-200-200", "immediate"]),
    ):
        assert bound(changed(asking, *path, value=value), about) == before


CHECK = {"name": "moves", "why": "Movement.", "result": "quantities", "column": "value"}
CHECK |= {"where": {"quantity": "sgd"}, "region": {"at_least": 1}}


@pytest.mark.parametrize("kind", ["gap", "quantity"])
def test_the_quantities_that_checks_read_are_bound_too(asking, write, kind):
    given = document(studies=["simulated"], manipulation_checks=[CHECK])
    if kind == "quantity":
        given |= {"quantity": "gap", "scale": ""}
        given = {k: v for k, v in given.items() if k not in GONE}
        given["exclusions"]["max_diverged"] = 0
    known = reader.read(write(given))
    term = {"plus": "recovery_stable_percent", "learner": "immediate", "optimizer": "sgd"}
    blocks = asking["conditions"] + [
        asking["conditions"][-1] | {"optimizers": ["sgd"], "name": "s"}
    ]
    quantities = asking["quantities"] | {"sgd": QUANTITY | {"sum": [term]}}
    config = asking | {"quantities": quantities, "conditions": blocks}
    plan = plan_from_config(normal_form(config))
    asked.check_answered(plan, known)
    paths = asked.sweeps(plan, known)
    assert "many-arrays/pair-0/sweeps/rnn/immediate/sgd/80-20" in paths
    assert len(paths) == (36 if kind == "quantity" else 12)
    of_seeds = QUANTITY | {"unit": "seed", "at": QUANTITY["at"] | {"pair": "pair-3"}}
    before = bound(config, known)
    for path, value in (
        (("quantities", "sgd", "sum", 0, "learner"), "rtrl"),
        (("quantities", "sgd", "sum", 0, "plus"), "update_ratio"),
        (("grids", "sgd", "step"), [0.0003, 0.001]),
    ):
        after = bound(changed(config, *path, value=value), known)
        assert before["record_sha256"] != after["record_sha256"], path
    for path, value, words in (
        (("quantities", "sgd"), of_seeds, 'unit of sgd is "seed"'),
        (("conditions", -1, "seeds"), 4, "the config runs sgd on 12 pairs with"),
        (("quantities",), {"gap": QUANTITY}, 'no quantity "sgd"'),
    ):
        with pytest.raises(OrlaError, match=words):
            asked.check_answered(
                plan_from_config(normal_form(changed(config, *path, value=value))), known
            )


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("conditions", -1, "seeds"), 4, "the config runs gap on 12 pairs with \\[4\\] seeds"),
        (("quantities", "gap", "scale"), "pp", 'scale of gap is "pp" in the config, not ""'),
        (("quantities",), {}, 'the config has no quantity "gap"'),
    ],
)
def test_a_quantity_that_the_study_does_not_answer_so_is_refused(asking, about, path, value, words):
    with pytest.raises(OrlaError, match=words):
        asked.check_answered(
            plan_from_config(normal_form(changed(asking, *path, value=value))), about
        )
