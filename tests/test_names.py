"""Each built-in part's name stands in the code of one file of src/orla: the one that declares it.

What counts: a string constant that is the whole name, or a short form of it (``tbptt-200-200``),
anywhere in a module's code. Whoever writes such a string decides by a name what a declaration or
the config should say, and a part from outside would be forgotten there.

What does not count, and why:
- docstrings and sentences, which only speak of a part; uses of a part's class, which a file imports
  by its module (pretraining is by TBPTT with Adam, whatever a config names);
- reports/paper, which holds what the paper ran, by name;
- ``needs=`` and ``paper=`` in a class statement, ``results.get(...)`` and ``condition_of(...)``:
  they name a result or a table of the paper, which is a file, not the part that makes it;
- a part of another kind with the same name (table and statistic ratio_gap), in its own file;
- `OTHERWISE`: words that also mean something else, or a choice that has to be made somewhere. Each
  with its files, and no file more.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import orla
from orla import catalogue

HOME = Path(orla.__file__).parent
PARTS = [(kind, name) for kind in catalogue.ROOMS for name in catalogue.parts(kind)]

OTHERWISE = {
    ("learner", "trace"): {"study/sweep.py"},  # errors along the stream
    # the result
    ("figure", "lr_curves"): {"results/frames.py", "prereg/trials.py", "reports/beside.py"},
    ("loss", "squared_error"): {  # a task says what its episodes are scored by, as a config would
        "tasks/episode.py",
        "tasks/recordings.py",
    },
    ("loss", "cross_entropy"): {
        "tasks/bytes.py",
        "tasks/recordings.py",
        "reports/tables/breadth.py",  # the paper's column
    },
    ("start", "pretrained"): {  # what a condition has by default; what a start says it is given
        "study/keys.py",
        "starts/base.py",
        "study/plan.py",
        "study/adaptation.py",
    },
    ("probe", "update_ratio"): {  # the column of that name, which the probe adds to all models
        "results/conditions.py",
        "results/gaps.py",
        "reports/tables/drift.py",
        "reports/tables/cadence.py",
        "reports/figures/mechanism.py",
    },
    ("learner", "diagonal"): {"reports/words.py"},  # the glossary: a comparison
    ("probe", "cosine"): {  # its column
        "results/conditions.py",
        "reports/tables/breadth.py",
        "reports/figures/breadth.py",
        "reports/tables/past.py",  # the paper's column
        "reports/tables/grids.py",
    },
    ("probe", "gradient_ratio"): {"reports/figures/breadth.py"},  # its column, and the paper's
    ("probe", "condition_number"): {
        "reports/figures/breadth.py",
        "reports/tables/networks.py",
    },
    ("table", "structure"): {"reports/paper_rows.py"},  # a table of the paper
    ("statistic", "learners"): {  # the key of a config, and the room; of a loop, what they carry
        "catalogue/__init__.py",
        "study/config.py",
        "study/fitting.py",
        "study/plan.py",
        "study/trial.py",
        "engine/loop.py",
        "engine/steps.py",
        "engine/windows.py",
    },
    ("statistic", "baselines"): {"reports/answer.py"},
    ("statistic", "conditions"): {  # the key of a config and of a registration
        "reports/answer.py",
        "study/config.py",
        "study/fitting.py",
        "study/plan.py",
        "prereg/reader.py",
        "prereg/binding.py",
    },
    ("table", "optimizers"): {  # the key of a config, the room, and the paper's rows
        "catalogue/__init__.py",
        "study/fitting.py",
        "study/plan.py",
        "study/trial.py",
        "reports/tables/rates.py",
    },
    ("table", "architectures"): {"catalogue/__init__.py"},  # the room
    ("table", "horizon"): {  # a result, a column, and the chapter of its figure
        "study/tidy.py",
        "reports/chapters.py",
        "reports/figures/curves.py",
        "results/base.py",
    },
    ("figure", "pairs"): {  # the key of a config and of a registration
        "study/config.py",
        "study/plan.py",
        "study/seeds.py",
        "prereg/binding.py",
        "prereg/agreement.py",
        "prereg/reader.py",
        "study/quantities.py",
        "reports/study.py",
    },
    ("statistic", "quantity_pairs"): {"prereg/registration.py"},
    ("statistic", "quantities"): {  # the key of a config
        "study/config.py",
        "prereg/binding.py",
        "prereg/registration.py",
    },
    ("figure", "power"): {"prereg/cli.py"},  # a command
    ("statistic", "estimates"): {"prereg/registration.py", "truth/verdicts.py"},
    ("statistic", "over_pairs"): {"prereg/registration.py", "truth/verdicts.py"},
    ("table", "heldout"): {  # a part of an episode, and the estimand that is about it
        "reports/estimates.py",
        "reports/beside.py",
        "reports/tables/breadth.py",
        "results/estimands.py",
        "study/config.py",
        "study/quantities.py",
        "results/frames.py",
        "study/measurement.py",
        "study/run.py",
        "tasks/episode.py",
        "tasks/shift.py",
        "truth/studies.py",
        "prereg/intervals.py",  # an estimand
    },
    ("table", "cadence"): {
        "reports/page.py",  # a chapter, and a word of the glossary
        "reports/chapters.py",
        "reports/figures/gaps.py",
        "reports/tables/gaps.py",
        "reports/words.py",
    },
    ("table", "intervention"): {  # a kind of part, and the key column of that name
        "catalogue/__init__.py",
        "engine/loop.py",
        "interventions/base.py",
        "prereg/binding.py",
        "reports/study.py",
        "study/condition.py",
        "study/config.py",
        "study/keys.py",
        "study/plan.py",
    },
    ("table", "verdict"): {"reports/terminal.py"},  # a column's heading
}


def docstrings(tree):
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def of_results(tree):
    """Constants that name a result or a table of the paper."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for keyword in node.keywords:
                if keyword.arg in ("needs", "paper"):
                    yield from ast.walk(keyword.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "results.get",
            "condition_of",
        ):
            yield from node.args


def names_in(source):
    """String constants of a module's code that may be names, without the numbers of short forms."""
    tree = ast.parse(source)
    passed = {id(node) for node in (*docstrings(tree), *of_results(tree))}
    return {
        re.sub(r"(-\d+)+$", "", node.value) if not is_a_part(node.value) else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed
    }


def is_a_part(text):
    return any(text == name for _, name in PARTS)


@pytest.fixture(scope="module")
def standing():
    """Name -> the files in whose code it stands."""
    found = defaultdict(set)
    for file in HOME.rglob("*.py"):
        place = file.relative_to(HOME).as_posix()
        # What the paper says, and worlds, which are configs of made-up studies.
        if not place.startswith("reports/paper/") and place != "truth/worlds.py":
            for name in names_in(file.read_text(encoding="utf-8")):
                found[name].add(place)
    return found


def declaring(kind, name):
    module = catalogue.part(kind, name).__module__
    return module.removeprefix("orla.").replace(".", "/") + ".py"


def test_a_name_stands_in_one_file(standing):
    for kind, name in PARTS:
        namesakes = {declaring(k, n) for k, n in PARTS if n == name}
        otherwise = {f for (_, n), files in OTHERWISE.items() if n == name for f in files}
        assert declaring(kind, name) in standing[name], (kind, name)
        assert standing[name] - namesakes - otherwise == set(), (kind, name)


def test_no_exception_outlives_its_reason(standing):
    for (kind, name), files in OTHERWISE.items():
        assert files <= standing[name] - {declaring(kind, name)}, name


@pytest.mark.parametrize(
    "code, found",
    [
        ('if learner == "rtrl": pass', {"rtrl"}),
        ('FULL = ["tbptt-200-200"]', {"tbptt"}),
        ('LAST = {"last-layer": 1}', {"last-layer"}),
        ('def f():\n    """rtrl"""\n    return results.get("rtrl")', set()),
        ('class T(Table, needs=("rtrl",), paper="sgd"): pass', set()),
        ('class T(Table, name="rtrl"): pass', {"rtrl"}),
        ('print("rtrl is exact")', {"rtrl is exact"}),
    ],
)
def test_what_counts_as_a_name(code, found):
    assert names_in(code) == found
