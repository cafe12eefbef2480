"""Fingerprints: a changed sign, bound or guard is noticed by its part, a docstring is not."""

import datetime
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from made_claims import BINDS, document, gaps, tables, verdicts

from orla.__main__ import main
from orla.learners.tbptt import TBPTT, Immediate
from orla.optimizers.adam import Adam
from orla.prereg import (
    binding,
    demands,
    evidence,
    fingerprint,
    judge,
    means,
    part_trials,
    reader,
    rows,
    rule_trials,
)
from orla.prereg.lock import Lock
from orla.prereg.registration import LATER_PARTS
from orla.prereg.rules import EquivalentWithin
from orla.provenance import code
from orla.results import guards
from orla.results.contrasts import Contrast
from orla.results.grids import Side
from orla.study import pretraining, rates, scores
from orla.study.config import read_plan
from orla.tasks import swapped

ROOT = Path(__file__).parents[2]
LEARNER = "learner {} of rnn-window-50, probes update_ratio"
PRETRAINING, SWEEP = "pretraining of rnn-window-50", "sweep and choice of the rate"
PARTS = BINDS["parts"]
TRAIN_NETWORKS = pretraining._train_networks
GAPS_BY_VARIANT = Contrast.gaps_by_variant


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    """A registration about the default study as bound by the command line, its plan and parts."""
    path = tmp_path_factory.mktemp("prereg") / "equivalence.yaml"
    given = yaml.safe_load((ROOT / "prereg/adam-equivalence.yaml").read_text())
    del given["binds"]
    path.write_text(yaml.safe_dump({**given, "version": 3}, sort_keys=False))
    overlay = path.with_name("overlay.yml")
    overlay.write_text(yaml.safe_dump({"registrations": {"folders": [str(path.parent)]}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        main(["prereg", "bind", str(path), "--configfile", str(overlay)])
        plan = read_plan([overlay])
    registration = reader.read_registration(path)
    conditions = demands.compared_and_checked_conditions(plan, registration)

    def parts(*names):
        found = fingerprint.behaviour_trials(plan, conditions, registration)
        return fingerprint.behaviour_hashes({name: found[name] for name in names})

    return registration, plan, conditions, parts


def test_a_study_is_bound_from_the_command_line(default):
    registration, plan, conditions, parts = default
    binds = dict(registration.binds)
    bound = binds.pop("parts")
    assert bound.keys() == {
        "episodes of recordings",
        *("network rnn-window-50", PRETRAINING, "start pretrained"),
        *(LEARNER.format("tbptt-200-200"), LEARNER.format("immediate"), "optimizer adam"),
        *(SWEEP, "statistics", "guards", "judge", "evidence", "checks", "pairs left out"),
        *("families", "early stopping", "pairs that drift", "diverged models"),
    }
    # Unchanged parts stay as they were bound.
    same = {name for name, _ in CHANGES} - {"diverged models", PRETRAINING}
    assert parts(*same) == {name: bound[name] for name in same}
    syntax = code.syntax_hash(*binding.code_roots(plan, conditions))
    assert binds == binding.config_binding(plan, registration) | {
        "syntax_sha256": syntax,
        "results": ["results"],
        "recordings": {},
    }


def negative(part, name, turn):
    """Replace a method of a class by one whose answer is turned."""
    real = getattr(part, name)
    return part, name, lambda *given, **more: turn(real(*given, **more))


def gradients(answer):
    return answer[0], {n: -g for n, g in answer[1].items()}


def updates(answer):
    return {n: -u for n, u in answer[0].items()}, answer[1]


def patient(loop, settings, *given):
    """Pretraining that goes on for an epoch more without a lower error."""
    return TRAIN_NETWORKS(loop, replace(settings, patience=settings.patience + 1), *given)


def as_usual(contrast):
    """No variant of a gap that scores diverged models as the frozen network."""
    gaps = GAPS_BY_VARIANT(contrast)
    return gaps | {name: gaps[name.replace("_frozen", "")] for name in gaps if "_frozen" in name}


# A part, and a change of the code that it notices.
CHANGES = [
    (LEARNER.format("tbptt-200-200"), negative(TBPTT, "gradient", gradients)),
    (LEARNER.format("immediate"), negative(Immediate, "gradient", gradients)),
    ("optimizer adam", negative(Adam, "update", updates)),
    (PRETRAINING, (pretraining.Pretraining, "learning_rate", 0.002)),
    (SWEEP, (rates, "lowest_error_index", lambda scores: max(scores))),
    (SWEEP, negative(scores, "mean_scores", lambda one: (1.01 * one[0], one[1]))),
    (SWEEP, (rates, "next_rate_index", lambda *given: None)),
    ("guards", (guards, "LEAST_UPDATES", 19)),
    ("guards", (guards, "LEAST_DENOMINATOR", 0.045)),
    ("judge", (means, "LEAST_RECOVERY", 10.0)),
    ("judge", negative(EquivalentWithin, "mean_p_values", lambda ps: ps[::-1])),
    ("evidence", (means, "_variant_estimates", lambda *given: {})),
    ("evidence", (means, "_NEAR", 1.0)),
    ("evidence", (evidence, "_binding_differences", lambda *given: [])),
    ("checks", (rows, "matching_rows", lambda table, where: table.iloc[:0])),
    ("checks", (rows, "check_failures", lambda *given: [])),
    ("checks", (rows, "_check_holds", lambda check, values: True)),
    ("pairs left out", (judge, "LEAST_SAME", 0.8)),
    ("families", (judge, "holm_p_values", list)),
    ("families", (judge, "_outcomes_by_variant", lambda cases, *given: [{} for _ in cases])),
    ("early stopping", (pretraining, "_train_networks", patient)),
    ("diverged models", (Contrast, "gaps_by_variant", as_usual)),
    ("diverged models", (Side, "diverged", property(lambda side: side.at_rate("edge") > 1))),
]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_a_changed_sign_bound_or_guard_is_noticed_by_its_part(default, monkeypatch, name, change):
    registration, plan, _, parts = default
    if change[0] is pretraining.Pretraining:
        settings = {change[1]: change[2]}
        monkeypatch.setitem(plan.config["pretraining"]["of"], "rnn-window-50", settings)
    else:
        monkeypatch.setattr(*change)
    assert parts(name)[name] != registration.binds["parts"][name]


def test_a_change_of_the_task_that_swaps_neurons_is_noticed(monkeypatch):
    def digest(seed=1, share=0.5, pool=12):
        task = {"kind": "swapped", "recording": "day", "step": 9000, "pool": pool}
        task |= {"pairs": {"one": {"seed": seed, "share": share}}}
        task |= {"binned": {"files": {"day": "day.npz"}}, "preparation": {"features": {"count": 6}}}
        return fingerprint.value_digest(part_trials.episode_outputs(task))

    before = digest()
    assert digest() == before
    assert len({before, digest(seed=2), digest(share=0.25), digest(pool=11)}) == 4
    real = swapped.Swapped.prepare_streams

    def all_swapped(task, pair, days, dataset):
        pairs = {pair: replace(task.pairs[pair], share=1.0)}
        return real(replace(task, pairs=pairs), pair, days, dataset)

    monkeypatch.setattr(swapped.Swapped, "prepare_streams", all_swapped)
    assert digest() != before


def test_rounding_decides_nothing_and_the_ninth_digit_neither():
    values = np.array([1.0, -2.5, 1e-9, np.nan])
    same = [values * (1 + 1e-13), values + [0, 0, 1e-14 * 2.5e-7, 0]]
    assert {fingerprint.value_digest(each) for each in same} == {fingerprint.value_digest(values)}
    assert fingerprint.value_digest(values * (1 + 1e-6)) != fingerprint.value_digest(values)
    assert fingerprint.value_digest(-values) != fingerprint.value_digest(values)
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    assert fingerprint.value_digest(table) == fingerprint.value_digest(table[["b", "a"]])
    assert fingerprint.value_digest(table) != fingerprint.value_digest(table.assign(b="x"))


def test_a_verdict_names_the_results_folder_that_was_read_and_edited_code(write):
    registration = reader.read_registration(write(document()))
    locks = {registration.name: Lock("small-gap.yaml", "1" * 64, datetime.date(2026, 11, 25))}
    given = {"locks": locks, "study": "made", "tables": tables(gaps(0.5))}
    for syntax, edited in (("b" * 64, False), ("c" * 64, True)):
        study = BINDS | {"results": "results/other", "syntax_sha256": syntax}
        [row] = judge.verdict_table(
            [registration], bindings={registration.name: study}, **given
        ).to_dict("records")
        assert row["outcome"] == "supported"
        assert "from results/other; the lock looked for earlier results in results" in row["limits"]
        assert row["limits"].endswith("behaves the same on what was bound") == edited


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ({"record_sha256": "c" * 64}, "the config that its conditions depend on is not the one"),
        ({"parts": {"judge": "2" * 16}}, "guards does not behave as registered (none"),
        ({"parts": PARTS | {"loop": "3" * 16}}, "loop does not behave as registered (333"),
        ({"recordings": {"t/a": "c" * 64, "t/b": "d" * 64}}, "t/b is not the one registered (ddd"),
        ({"recordings": {"t/a": "c" * 64}}, "recording t/b is not the one registered (none"),
        ({"refused": "tried at 1 learning rates"}, "tried at 1 learning rates"),
        ({"uncommitted": True}, "made by uncommitted code"),
        (None, "the study does not say which config and code it ran"),
    ],
)
def test_another_record_or_behaviour_is_untestable_by_name(write, study, words):
    sums = {"t/a": "c" * 64, "t/b": "e" * 64}
    registration = reader.read_registration(write(document(binds=BINDS | {"recordings": sums})))
    study = study and BINDS | {"recordings": sums} | study
    [verdict] = verdicts([registration], tables(gaps(0.5)), {registration.name: study})
    assert verdict.outcome == "untestable" and words in verdict.reason


def test_a_check_of_a_quantity_is_part_of_the_fingerprint(monkeypatch):
    checked = reader.read_registration(ROOT / "prereg/odoherty-pairs/pairs-ratio-order.yaml")
    before = fingerprint.value_digest(rule_trials.check_outputs(checked))
    monkeypatch.setattr(means, "quantity_problems", lambda *given, **more: [])
    assert fingerprint.value_digest(rule_trials.check_outputs(checked)) != before


def test_recordings_with_more_features_than_simulated_channels_are_bound_too(default):
    task = default[1].spec("task", "many-arrays") | {"preparation": {"features": {"count": 120}}}
    [episode] = part_trials.episode_outputs(task)
    assert len(episode) == 3


def test_what_was_bound_before_a_part_was_there_lacks_it(default):
    registration, plan, conditions, _ = default
    for bound in ({"guards", "judge"}, {"evidence", "checks"}):
        former = replace(registration, binds={"parts": dict.fromkeys(bound, "x")})
        named = fingerprint.behaviour_trials(plan, conditions, former).keys()
        assert named & {*LATER_PARTS} == bound & {*LATER_PARTS}
