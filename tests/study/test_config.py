"""What a schema cannot say of a config, and what an overlay may take away."""

import copy
import re
from pathlib import Path

import one_task
import pytest
import yaml
from one_task import CONFIG, said_of

from orla import catalogue
from orla.errors import OrlaError
from orla.prereg.documents import document_schema
from orla.study.config import plan_from_config, read_plan, sort_and_drop_nulls
from orla.study.config_checks import HIGHEST_ALPHA

ROOT = Path(__file__).parents[2]


def refusal(path, value):
    """What is said of the default config with one value in another's place."""
    config = copy.deepcopy(CONFIG)
    *folders, last = (int(key) if key.isdigit() else key for key in path.split("."))
    at = config
    for key in folders:
        at = at[key] if isinstance(at, list) else at.setdefault(key, {})
    at[last] = value
    return said_of(config)


def test_a_plan_has_the_whole_config_and_what_was_given_stays_as_it_is():
    given = copy.deepcopy(CONFIG)
    del given["tasks"]["recordings"]["source"]
    given["tasks"]["many-arrays"] = None
    before = copy.deepcopy(given)
    whole = plan_from_config(given).config
    assert given == before
    assert whole["tasks"].keys() == {"recordings"} and whole["name"] == CONFIG["name"]
    assert whole["tasks"]["recordings"] == CONFIG["tasks"]["recordings"]
    assert plan_from_config(whole).config == whole


def test_networks_of_one_kind_may_differ_in_pretraining_alone():
    config = copy.deepcopy(CONFIG)
    config["networks"]["far"] = config["networks"]["rnn"]
    own = {"window": 200, "frozen": [], "optimizer": {"kind": "adam"}}
    config["pretraining"] |= {"frozen": ["b_out"], "optimizer": "sgd", "of": {"far": own}}
    plan = plan_from_config(config)
    of_all = {k: v for k, v in config["pretraining"].items() if k != "of"}
    assert plan.pretraining_settings("rnn") == of_all
    assert plan.pretraining_settings("far") == of_all | own


# A value of the config, and words of its refusal; ~ is the value's place.
MISTAKES = r"""
tasks.recordings.parts.cutt: 200 -> "~" is not a known key; the nearest is "cut"
tasks.recordings.parts.cut: 100 -> immediate-200 updates every 200 ... of recordings has 100; make
tasks.recordings.source: odohery -> "~" cannot be "odohery"; the nearest is "odoherty"
tasks.recordings.source: nwb -> recordings.nwb.files" has no session ... pair indy ... indy: null
tasks.mine: {kind: recordings, source: binned, pairs: {p: {a: one, b: two}}, \
binned: {files: {one: 1, tow: 2}}} -> "~.binned.files.one" must be text, not 1 ... in quotes
tasks.mine: {kind: recordings, source: nwb, pairs: {p: {a: one, b: two}}, \
nwb: {files: {one: x, two: x}}} -> the pair p of tasks.mine is one recording twice
tasks.mine: {kind: recordings, source: nwb, pairs: {p: {a: one, b: two}, q: {a: too, b: two}}, \
nwb: {files: {one: x, too: x, two: y}}} -> the pairs p and q of tasks.mine are the same data
tasks.mine: {kind: recordings, pairs: {p: {a: a, b: b}, q: {a: c, b: d}}} -> p and q ... same data
tasks.mine: {kind: recordings, simulated: {seed: 3}, pairs: {p: {a: a, b: b}, \
q: {a: c, b: d, seed: 3}}} -> the pairs p and q of tasks.mine are the same data
tasks.mine: {kind: swapped, recording: night, step: 9, binned: {files: {night: x}}, \
pairs: {p: {seed: 1, share: 0}, q: {share: 0, seed: 1}}} -> p and q of tasks.mine are the same data
tasks.mine: {kind: recordings, source: nwb, pairs: {p: {a: one, b: two}}, \
nwb: {files: {one: x, tow: y}}} -> "~.nwb.files" has no session two of the pair p; ... is "tow"
tasks.mine: {kind: swapped, recording: nigt, step: 9, pairs: {p: {seed: 1, share: 0}}, \
binned: {files: {night: x}}} -> "~.recording" cannot be "nigt" ... the nearest is "night"
tasks.recordings.pairs.indy.a: 20160630_01 -> "~" must be text, not 2016063001 ... in quotes
tasks.recordings.pairs: {20170131_02: {a: x, b: y}} -> the key 2017013102 under "~" is no text
tasks.recordings.pairs: {2017-01-31: {a: x, b: y}, z: {a: x, b: y}} -> the key 2017-01-31 under "~"
tasks.mine: {kind: sinus} -> "~.kind" cannot be "sinus"; the nearest is "sine"
tasks.mine: {kind: lorenz, roh: 30} -> "~.roh" is not a known key; the nearest is "rho"
networks.deep: {kind: stack, layers: [rn]} -> "~.layers[0]" cannot be "rn"; the nearest is "rnn"
networks.deep: {kind: stack, layers: [{kind: rnn, hidden: 0}]} -> "~.layers[0].hidden" must be at
networks.deep: {kind: stack, layers: [{hidden: 3}]} -> "~.layers[0].kind" is missing; add it
networks.deep: {kind: stack, layers: [{kind: stack, layers: [lstn]}]} -> "~.layers[0].layers[0]" ca
learners.slow: {kind: trace, decay: 2} -> "~.decay" must be at most 1, not 2
optimizers.mine: {kind: adamm} -> "~.kind" cannot be "adamm"; the nearest is "adam"
probes.update_ratio: {kind: condition_number, stride: 300} -> every 300 ... has 200; give
probes_of_all: [ratio] -> probe "ratio" is unknown; the nearest is "update_ratio"
conditions: [] -> "~" is empty; give a block
conditions.0.tasks: [recording] -> "~" cannot be "recording"; the nearest is "recordings"
conditions.0.tasks: [lorenz] -> "~": lorenz is a kind; give it a name under tasks
conditions.0.networks: [rn] -> "~" cannot be "rn"; the nearest is "rnn"
conditions.0.learners: [tbptt-200] -> "~": learner "tbptt-200" is unknown; the nearest is "tbptt"
conditions.0.precisions: [float46] -> "~" cannot be "float46"; the nearest is "float64"
numerics.float32: {precision: float32} -> "~" is a format too; give another name
numerics.fresh: {precision: float32} -> "~" is the name of a part (start) too; give another
numerics.match-norm: {precision: float32} -> "~" is the name of a part (intervention) too
numerics.narrow: {compile: false} -> "~.precision" is missing; add it
statistics.rates_of: float32 -> "~" cannot be "float32"
conditions.0.splits: [80-2] -> "~" cannot be "80-2" for recordings; the nearest is "80-20"
conditions.0.interventions: [match_norm] -> "~": intervention ... nearest is "match-norm"
conditions.0.interventions: [match-norm] -> no default for "observer"; ... "interventions"
conditions.0.observers: [rtl] -> "~": learner "rtl" is unknown; the nearest is "rtrl"
grids.sgd.step: [0.1, 0.2] -> "~": 0.2 is not a half-decade
grids.adam.window: [0.0001, 0.001] -> "~": [0.0001, 0.001] has holes
grids.sgd.step: [.nan] -> "~[0]" is nan; give a finite number
conditions.0.seeds: 3.0 -> "~" must be a whole number, not 3.0 (write 3)
tasks.recordings.preparation.features.count: 12.0 -> "~" must be ... (write 12)
statistics.resamples: 1e4 -> "~" must be a whole number, not "1e4" (write 10000)
statistics.resamples: 1.0e+300 -> "~" is 1e+300; give a finite number
statistics.main: "a\0b" -> "~" holds the character 0; write text
pretraining: text -> "~" must be a mapping, not "text"
grids.adem: {step: [0.1]} -> "grids": optimizer "adem" is unknown; the nearest is "adam"
grids.adam: {step: [0.001]} -> "~" has no rates for an update each window
horizons.tasks: [record] -> "~" cannot be "record"; the nearest
horizons.steps: [5000, 5100] -> "~" has 5100; give multiples of the window of recordings (200)
horizons.steps: [200, 400] -> "~" has 200; give multiples of the window of recordings (200), two win
horizons.split: 80/20 -> "~" cannot be "80/20"; the nearest is "80-20"
horizons.learners: [immediat] -> "~" cannot ... on recordings, 80-20; ... "immediate"
comparisons.paper.minus: [imediate, rtrl] -> "comparisons.paper": learner ... is "immediate"
statistics.main: papr -> "~" cannot be "papr"; the nearest is "paper"
statistics.alpha: 0.2 -> "~" is 0.2; lower it, or set truth.studies to 0
truth.steps.adapt: 90 -> "~" is 90 steps, no multiple of the window of 40; change one of them
pretraining.of.rmn: {window: 200} -> "pretraining.of" cannot be "rmn"; the nearest is "rnn"
pretraining.optimizer: adem -> "~" cannot be "adem"; the nearest is "adam"
pretraining.optimizer: {kind: adam, beta: 0.5} -> "~.beta" is not a known key; ... "beta2"
pretraining.of.rnn-window-50.frozen: [W_hx] -> names W_hx ... W_ih, W_hh, b_h, W_out, b_out
plugins: parts -> "~" must be a list of folders
plugins: [no/such] -> "~" has no/such, which is no folder; mend the path (it leads to /
"""


@pytest.mark.parametrize("mistake", MISTAKES.strip().replace("\\\n", "").splitlines())
def test_a_mistake_is_one_line_that_names_the_key(mistake):
    given, _, words = mistake.partition(" -> ")
    path, _, value = given.partition(": ")
    place = re.sub(r"\.(\d+)", r"[\1]", path)
    said = refusal(path, yaml.safe_load(value))
    for part in words.replace("~", place).split(" ... "):
        assert part in said


def synthetic(**sections):
    """The default config with one synthetic task, which immediate alone runs on, and sections."""
    comparisons = {"comparisons": CONFIG["comparisons"]}
    return one_task.config({"optimizers": ["adam"]}, **(comparisons | sections))


def test_the_nearest_name_may_be_an_instance_and_a_stack_keeps_its_layers():
    learners = {"slow": {"kind": "trace", "decay": 0.99}}
    line = one_task.refusal({"learners": ["slwo"]}, learners=learners)
    assert 'the nearest is "slow"' in line
    layers = ["rnn", {"kind": "lstm", "hidden": 32}, "rnn"]
    deep = {"deep": {"kind": "stack", "hidden": 64, "layers": layers}}
    plan = plan_from_config(synthetic(networks=CONFIG["networks"] | deep))
    assert plan.spec("architecture", "deep")["layers"] == layers


def test_horizons_may_be_left_out():
    config = {name: value for name, value in CONFIG.items() if name != "horizons"}
    plan = plan_from_config(config)
    assert not any(map(plan.adapt_horizons, plan.conditions))
    assert any(map(plan_from_config(CONFIG).adapt_horizons, plan.conditions))
    assert plan_from_config(plan.config).config == plan.config


def test_horizons_of_a_task_that_is_not_run_are_refused():
    assert said_of(synthetic(horizons=CONFIG["horizons"])) == (
        'config: "horizons.tasks" has recordings, on which no condition runs; set horizons: '
        "{tasks: []}, or name a task that is run"
    )


def test_the_main_comparison_is_run_where_any_is():
    config = synthetic()
    assert plan_from_config(config).config["statistics"]["main"] == "paper"  # no comparison is run
    config["conditions"].append(config["conditions"][0] | {"learners": ["immediate", "rtrl"]})
    # Both learners of the main one run, but never in conditions that differ in nothing else.
    other = {"learners": ["tbptt-200-200"], "optimizers": ["sgd"]}
    config["tasks"]["wave"] = {"kind": "sine", "window": 200}
    config["conditions"].append(config["conditions"][0] | other)
    assert said_of(config) == (
        'config: "statistics.main" is paper, and no condition has both of its learners '
        "(tbptt-200-200 and immediate); name one that is run: per_step"
    )
    config["statistics"] = config["statistics"] | {"main": "per_step"}
    assert plan_from_config(config)
    del config["statistics"]["main"]
    assert "is missing; name one of" in said_of(config)
    assert plan_from_config(config | {"comparisons": {}})  # nothing is compared


@pytest.mark.parametrize("part", ["pretraining", "adapt", "heldout"])
def test_a_part_of_a_synthetic_task_is_whole_windows(part):
    task = {"kind": "sine", "window": 30, "pretraining": 300, "adapt": 300, "heldout": 300}
    task[part] = 290
    assert said_of(synthetic(tasks=CONFIG["tasks"] | {"wave": task})) == (
        f'config: "tasks.wave.{part}" is 290 steps, no multiple of the window of 30; change one of'
        " them"
    )


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ('{"step": [0.0003, 0.0007]}', 'optimizer mine, "step": 0.0007 is not a half-decade learn'),
        ('{"window": [0.01, 0.1]}', 'optimizer mine, "window": [0.01, 0.1] has holes or repeats'),
        ('{"steps": [0.001]}', 'an optimizer: "mine.steps" is not a known key; the nearest is "st'),
    ],
)
def test_rates_that_a_class_declares_are_checked_as_those_of_a_config(tmp_path, grid, message):
    (tmp_path / "mine.py").write_text(
        "from orla.optimizers.sgd import SGD\n"
        f'class Mine(SGD, name="mine", label="mine", grid={grid}):\n    "Plain descent."\n'
    )
    said = said_of(synthetic(plugins=[str(tmp_path)]))
    assert said.startswith("grid= in the class of ") and message in said
    catalogue.use_plugins([])


def test_null_takes_a_name_away_and_stays_where_it_is_a_value():
    config = {
        "tasks": {"days": {"pairs": {"b": {"seed": None}, "a": None}, "nwb": {"cursor": None}}},
        "networks": {"rnn": None, "lstm": {"kind": "lstm"}},
        **{"comparisons": {"paper": None}, "quantities": {"gap": None}},
        **{"grids": {"adam": None}, "numerics": {"narrow": None}},
        "name": None,
    }
    normal = {
        **{"comparisons": {}, "grids": {}},
        "name": None,
        **{"networks": {"lstm": {"kind": "lstm"}}, "numerics": {}, "quantities": {}},
        "tasks": {"days": {"nwb": {"cursor": None}, "pairs": {"b": {"seed": None}}}},
    }
    assert sort_and_drop_nulls(config) == normal
    assert repr(sort_and_drop_nulls(config)) == repr(normal), "keys are sorted, wherever they stood"
    config |= {"pretraining": {"of": {"rnn": {}, "lstm": {}}}}
    config["conditions"] = [{"networks": ["rnn", "lstm"], "learners": ["b", "a"]}]
    config["conditions"] += [{"networks": ["rnn"]}]
    assert sort_and_drop_nulls(config) == normal | {
        "pretraining": {"of": {"lstm": {}}},
        "conditions": [{"networks": ["lstm"], "learners": ["b", "a"]}],
    }


def test_alpha_may_exceed_that_of_registrations_where_no_study_is_simulated():
    assert document_schema("registration")["properties"]["alpha"]["maximum"] == HIGHEST_ALPHA
    config = copy.deepcopy(CONFIG)
    config["statistics"]["alpha"], config["truth"]["studies"] = 0.2, 0
    assert plan_from_config(config).conditions


def test_a_gradient_is_not_rescaled_for_an_optimizer_that_does_not_see_it():
    interventions = {
        "matched": {"kind": "match-norm", "observer": "rtrl"},
        "routed": {"kind": "route", "immediate": "rtrl"},
    }

    def asked(optimizer, *chains):
        block = {"optimizers": [optimizer], "observers": ["rtrl"], "interventions": [*chains]}
        return one_task.config(block, interventions=interventions)

    # What follows a rescaled gradient may tell its size.
    for optimizer, more in (("lars", []), ("adam", ["routed+matched"])):
        plan_from_config(asked(optimizer, "none", "routed", "matched+routed", *more))
    assert said_of(asked("lars", "routed+matched")) == (
        'config: "conditions[0]" has matched with lars, whose updates do not depend on the'
        " gradient's scale, so that it changes nothing; take one out"
    )


def test_overlays_are_laid_over_the_config(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("name: other\nstatistics: {alpha: 0.01}\n")
    plan = read_plan([ROOT / "config.yaml", overlay])
    assert plan.config["name"] == "other" and plan.config["statistics"]["alpha"] == 0.01
    assert plan.config["statistics"]["resamples"] == 10000
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OrlaError, match="no such file"):
        read_plan([overlay])
