"""What a registration binds: the record of its own conditions, and nothing beside."""

import copy
import dataclasses
import hashlib
import re
from pathlib import Path

import pytest
from made_claims import BINDS, GONE, document, seed_document

from orla.errors import OrlaError
from orla.prereg import binding, demands, reader
from orla.study.config import plan_from_config, sort_and_drop_nulls
from orla.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
AT = {"task": "many-arrays", "architecture": "rnn", "optimizer": "adam", "split": "80-20"}
GAP = {
    "label": "gap",
    "unit": "pair",
    "at": AT,
    "sum": [
        {"plus": "update_ratio", "learner": "rtrl"},
        {"minus": "update_ratio", "learner": "immediate"},
    ],
}
SGD = {"plus": "recovery_stable_percent", "learner": "immediate", "optimizer": "sgd"}
OF_SEEDS = GAP | {"sum": [SGD], "unit": "seed", "at": AT | {"pair": "pair-3"}}


def plan_of(config):
    return plan_from_config(sort_and_drop_nulls(config))


@pytest.fixture(scope="module")
def config():
    found = read_yaml(ROOT / "config.yaml")
    block = {"name": "arrays", "tasks": ["many-arrays"], "networks": ["rnn"], "seeds": 3}
    block |= {"learners": ["immediate", "rtrl"], "optimizers": ["adam"], "splits": ["80-20"]}
    pairs = {f"pair-{i}": {"a": f"a{i}", "b": f"b{i}", "seed": i} for i in range(12)}
    found["tasks"]["many-arrays"] = copy.deepcopy(found["tasks"]["recordings"]) | {"pairs": pairs}
    found["conditions"] += [block | {"optimizers": ["sgd"], "name": "sgd"}, block]
    found["quantities"] = {"gap": GAP, "sgd": GAP | {"sum": [SGD]}}
    return found


def changed(config, *path, value):
    found = copy.deepcopy(config)
    *parents, last = path
    place = found
    for key in parents:
        place = place[key]
    place[last] = value
    return found


def without_seeds(task):
    """The pairs of a task, as of recorded sessions."""
    return {name: {side: pair[side] for side in "ab"} for name, pair in task["pairs"].items()}


CHECK = {"name": "moves", "why": "Movement.", "result": "quantities", "column": "value"}
CHECK |= {"where": {"quantity": "sgd"}, "region": {"at_least": 1}}


def of_condition(optimizer):
    """A check of a column of a condition, in place of a quantity."""
    return CHECK | {"result": "conditions", "where": {"optimizer": optimizer}}


def given(kind):
    """A registration's document about a gap or a quantity of twelve pairs, or with a check too."""
    checks = {"manipulation_checks": [CHECK]} if kind.startswith("checked") else {}
    found = document(studies=["simulated"], **checks)
    if kind.endswith("quantity"):
        found |= {"quantity": "gap", "scale": ""}
        found = {k: v for k, v in found.items() if k not in GONE}
        found["exclusions"]["max_diverged"] = 0
    return found


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A registration of each kind."""
    folder, kinds = tmp_path_factory.mktemp("prereg"), ("gap", "quantity")
    found = {}
    for kind in (*kinds, *(f"checked {kind}" for kind in kinds)):
        path = folder / f"{kind}.yaml"
        path.write_text(binding.yaml.safe_dump(given(kind)))
        found[kind] = reader.read_registration(path)
    return found


@pytest.fixture(scope="module")
def before(config, known):
    """What the config binds of each."""
    plan = plan_of(config)
    return {kind: binding.config_binding(plan, each) for kind, each in known.items()}


GAPS, EVERY = {"gap", "checked gap"}, {"gap", "quantity", "checked gap", "checked quantity"}
OF_SGD = {"checked gap", "checked quantity"}
HORIZONS = {"tasks": ["many-arrays"], "steps": [2000, 4000]}


@pytest.mark.parametrize(
    ("path", "value", "differing"),
    [
        (("tasks", "many-arrays", "simulated", "drift", "scale"), 2.0, EVERY),
        (("tasks", "many-arrays", "pairs", "pair-3", "seed"), 99, EVERY),
        (("tasks", "many-arrays", "preparation", "features", "count"), 30, EVERY),
        (("conditions", -1, "seeds"), 4, EVERY),
        (("conditions", -1, "observers"), ["immediate"], EVERY),
        (("networks", "rnn", "hidden"), 32, EVERY),
        (("grids", "adam", "step"), [0.0001, 0.0003], EVERY),
        (("grid_growth",), 2, EVERY),
        (("stable_windows",), 3, EVERY),
        (("pretraining", "window"), 7, EVERY),
        (("statistics", "alpha"), 0.01, EVERY),
        (("statistics", "margin_pp"), 9.0, EVERY),
        (("comparisons", "per_step", "minus"), ["tbptt-200-200", "immediate"], GAPS),
        (("quantities", "gap", "sum", 1, "times"), 2.0, EVERY - GAPS),
        (("quantities", "sgd", "sum", 0, "learner"), "rtrl", OF_SGD),
        (("quantities", "sgd", "sum", 0, "plus"), "update_ratio", OF_SGD),
        (("grids", "sgd", "step"), [0.0003, 0.001], OF_SGD),
        (("compute", "threads"), 2, set()),
        (("tasks", "recordings", "preparation", "features", "count"), 30, set()),
        (("grids", "lars", "step"), [0.0003, 0.001], set()),
        (("conditions", 0, "seeds"), 7, set()),
        (("conditions", -1, "name"), "another", set()),
        (("horizons", "steps"), [5000], set()),
        (("horizons",), HORIZONS | {"learners": ["immediate"], "split": "80-20"}, set()),
        (("statistics", "main"), "per_step", set()),
        (("comparisons", "paper", "label"), "x", set()),
        (("pathvars", "reports"), "elsewhere", set()),
        (("registrations", "folders"), [], EVERY),
    ],
)
def test_what_the_results_depend_on_is_bound_and_nothing_else(
    config, known, before, path, value, differing
):
    plan = plan_of(changed(config, *path, value=value))
    after = {
        kind: binding.config_binding(plan, each)["record_sha256"] for kind, each in known.items()
    }
    assert {kind for kind in known if after[kind] != before[kind]["record_sha256"]} == differing


def test_what_recordings_hold_is_bound_and_not_where_they_lie(config, write, tmp_path):
    task, asks = config["tasks"]["many-arrays"], reader.read_registration(write(given("gap")))
    pairs = without_seeds(task) | {"unread": {"a": "a0", "b": "gone"}}

    def plan(folder, kind="binned"):
        files = {
            day: str(tmp_path / folder / f"{day}.npz") for p in pairs.values() for day in p.values()
        }
        spec = task | {"source": kind, "pairs": pairs, kind: {"files": files}}
        made = plan_of(changed(config, "tasks", "many-arrays", value=spec))
        for name in files:
            path = Path(files[name])
            path.parent.mkdir(exist_ok=True)
            path.write_text(name)
        return made

    def bound(made):
        return binding.config_binding(made, asks)["record_sha256"], binding.recording_hashes(
            made, asks
        )

    first, moved = plan("one"), plan("two")
    record, sums = bound(first)
    assert bound(moved) == (record, sums) != bound(plan("one", "nwb"))
    assert sums["many-arrays/a3"] == hashlib.sha256(b"a3").hexdigest()
    task = moved.config["tasks"]["many-arrays"]
    moved.config["pathvars"]["recordings"] = str(tmp_path / "two")
    task["binned"]["files"] = {name: f"<recordings>/{name}.npz" for name in task["binned"]["files"]}
    assert bound(moved) == (record, sums)
    (tmp_path / "two" / "a3.npz").write_text("trimmed")
    other = binding.recording_hashes(moved, asks)
    assert {name for name in sums if other[name] != sums[name]} == {"many-arrays/a3"}
    (tmp_path / "two" / "b5.npz").unlink()
    with pytest.raises(OrlaError, match=r"b5.npz: no such file; what it holds is bound by small-g"):
        binding.recording_hashes(moved, asks)


def test_downloads_are_bound_by_the_sums_of_their_own_sessions(config, known):
    task = config["tasks"]["many-arrays"]

    def record(**md5):
        spec = task | {"source": "odoherty", "odoherty": {"md5": md5}}
        spec["pairs"] = without_seeds(task)
        made = plan_of(changed(config, "tasks", "many-arrays", value=spec))
        return binding.config_binding(made, known["gap"])["record_sha256"]

    assert record(a1="0" * 32) == record(a1="0" * 32, unread="1" * 32) != record(a1="2" * 32)


def test_changed_numerics_change_the_bound_record(config, known):
    own = copy.deepcopy(config)
    own["quantities"], own["numerics"] = {}, {"mine": {"precision": "float64"}}
    for block in own["conditions"][-2:]:
        block["precisions"] = ["mine"]
    conditions = known["gap"].conditions | {"precision": "mine"}
    asks = dataclasses.replace(known["gap"], conditions=conditions)
    other = changed(own, "numerics", "mine", "precision", value="float32")
    assert binding.config_binding(plan_of(own), asks) != binding.config_binding(
        plan_of(other), asks
    )


def test_a_binding_older_than_recordings_is_hashed_in_its_older_form(config, known, before):
    former = {name: value for name, value in BINDS.items() if name != "recordings"}
    asks = dataclasses.replace(known["gap"], binds=former)
    other = changed(config, "registrations", "folders", value=[])
    records = [binding.config_binding(plan_of(made), asks) for made in (config, other)]
    assert records[0] == records[1] != before["gap"]


def test_only_registrations_for_the_study_are_bound(config, known, before, write):
    other = reader.read_registration(write(document(studies=["odoherty"]), "other"))
    found = binding.config_bindings(plan_of(config), [known["gap"], other])
    assert found == {"gap": before["gap"]}


def test_the_sweeps_of_all_quantities_are_bound(config, known):
    plan = plan_of(config)
    sweeps = {kind: demands.quantity_condition_paths(plan, each) for kind, each in known.items()}
    numbers = {"gap": 0, "quantity": 24, "checked gap": 12, "checked quantity": 36}
    assert {kind: len(paths) for kind, paths in sweeps.items()} == numbers
    assert "many-arrays/pair-0/sweeps/rnn/rtrl/adam/80-20" in sweeps["quantity"]
    assert "many-arrays/pair-0/sweeps/rnn/immediate/sgd/80-20" in sweeps["checked gap"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"studies": ["odoherty"]}, 'study "simulated" is not among its studies'),
        ({"minus": ["tbptt-200-200", "immediate"]}, r"comparison per_step is \['rtrl', 'immedi"),
        ({"comparison": "per_hour"}, "comparison per_hour is None"),
        ({"sample": {"pairs": 20, "seeds": 3}}, "runs 24 of the 40 conditions"),
        ({"sample": {"pairs": 12, "seeds": 5}}, "12 pairs with 5 seeds"),
        ({"task": "nothing"}, "runs 0 of the 24 conditions"),
        (seed_document(task="recordings", studies=["simulated"]), ""),
        ({"manipulation_checks": [of_condition("adam")]}, ""),
        (
            {"manipulation_checks": [of_condition("lars")]},
            'check "moves" reads lars, which it does not compare, so that nothing binds it',
        ),
    ],
)
def test_what_the_config_would_not_answer_is_not_bound(config, write, changes, words):
    plan, asks = plan_of(config), reader.read_registration(write(given("gap") | changes))
    if not words:
        return demands.check_study_answers(plan, asks)
    with pytest.raises(OrlaError, match=words):
        demands.check_study_answers(plan, asks)


def test_categories_have_no_unit_of_the_targets_variance(config, write):
    task = config["tasks"]["many-arrays"]
    pairs = without_seeds(task)
    files = {day: f"{day}.npz" for pair in pairs.values() for day in pair.values()}
    plans = [
        plan_of(changed(config, "tasks", "many-arrays", value=task | binned))
        for binned in (
            {"source": "binned", "pairs": pairs, "binned": {"files": files} | more}
            for more in ({}, {"kind": "categories"})
        )
    ]
    asks = {
        scale: reader.read_registration(write(given("gap") | {"scale": scale}, scale))
        for scale in ("pp", "variance")
    }
    for plan, scale in ((plans[0], "pp"), (plans[0], "variance"), (plans[1], "pp")):
        demands.check_study_answers(plan, asks[scale])
    with pytest.raises(OrlaError, match=r"many-arrays are cross-entropies, .*scale: pp"):
        demands.check_study_answers(plans[1], asks["variance"])


@pytest.mark.parametrize(
    ("kind", "path", "value", "words"),
    [
        ("gap", ("grids", "adam"), {"step": [1e-3], "window": [1e-3]}, "tried at 1 learning rates"),
        ("quantity", ("conditions", -1, "seeds"), 4, r"runs gap on 12 pairs with \[4\] seeds"),
        ("quantity", ("quantities", "gap", "scale"), "pp", 'scale of gap is "pp" in the config, n'),
        ("quantity", ("quantities",), {}, 'the config has no quantity "gap"'),
        ("checked gap", ("quantities", "sgd"), OF_SEEDS, 'unit of sgd is "seed"'),
        ("checked gap", ("conditions", -2, "seeds"), 4, "the config runs sgd on 12 pairs with"),
        ("checked gap", ("quantities",), {"gap": GAP}, 'no quantity "sgd"'),
    ],
)
def test_a_config_with_other_rates_seeds_or_quantities_is_bound_as_refused(
    config, known, kind, path, value, words
):
    plan = plan_of(changed(config, *path, value=value))
    assert re.search(words, binding.config_binding(plan, known[kind])["refused"])


def test_binds_are_written_over_older_ones(write):
    path = write(document())
    path.write_text("# A comment stays.\n" + path.read_text())
    hashes = BINDS | {"record_sha256": "1" * 64}
    binding.write_binds(path, hashes)
    text = path.read_text()
    assert reader.read_registration(path).binds == hashes != BINDS
    assert text.startswith("# A comment stays.") and text.count("binds") == 1
    binding.write_binds(path, BINDS)
    assert reader.read_registration(path).binds == BINDS and reader.read_registration(path).outcomes
