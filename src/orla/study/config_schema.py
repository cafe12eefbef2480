"""The schema of a config, made from the parts' declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orla.study.declared import Declared
from orla.study.keys import KEYS
from orla.study.plan import SECTIONS
from orla.study.quantities import PAIRS, SEEDS

_FRACTION = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_NAMES = {"type": "array", "minItems": 1, "items": {"type": "string"}}
_LIST = {"type": "array", "items": {"type": "string"}}
_RATES = {"type": "array", "minItems": 1, "items": {"type": "number", "exclusiveMinimum": 0}}
_WHOLE = {"type": "integer", "minimum": 1}
_TEXT = {"type": "string", "minLength": 1}
_PRETRAINING = {
    "learning_rate": {
        "description": "Rate of the optimizer.",
        "type": "number",
        "exclusiveMinimum": 0,
    },
    "window": {"description": "Steps that gradients reach back, and between two updates."} | _WHOLE,
    "validation_fraction": {
        "description": "Last share of that part, which only early stopping sees."
    }
    | _FRACTION,
    "max_epochs": {"description": "Most passes over the rest of that part."} | _WHOLE,
    "patience": {"description": "Epochs without a lower error after which a network stops."}
    | _WHOLE,
}
# A name that becomes part of a path.
_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"


def config_schema(parts: Declared) -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a config that may name these parts."""
    pretraining = _PRETRAINING | {
        "optimizer": _said(
            _part("optimizer", parts),
            "Optimizer: a name, or a mapping of kind and options. Adam by default.",
        ),
        "frozen": _said(_LIST, "Parameters that stay as they were initialised; none by default."),
    }
    properties = {
        "name": _said(_TEXT, "What the study is called in its results, tables and figures."),
        "pathvars": _mapping(
            "Where results and reports go, so that one study never overwrites another.",
            results=_said(_TEXT, "Folder of everything that is computed."),
            reports=_said(_TEXT, "Folder of the tables, figures and the page."),
        ),
        "plugins": _said(_LIST, "Folders of parts that are not in the package."),
        "registrations": _mapping(
            "What was registered before the results.",
            folders=_said(_LIST, "Folders of registrations, each with its own LOCK."),
            assume=_mapping(
                "Task and pair of a registration that names none.",
                task=_said(_TEXT, "The task."),
                pair=_said({"type": ["string", "null"]}, "The pair; null for any."),
            ),
        ),
        **{section: _instances(kind, section, parts) for kind, section in SECTIONS.items()},
        "probes_of_all": _said(_LIST, "Probes of every condition whose block names none."),
        "pretraining": _mapping(
            "How networks are pretrained on the first part of an episode.",
            required=_PRETRAINING,
            of={
                "description": "Other settings for the networks of these names.",
                "type": "object",
                "additionalProperties": _mapping("Of one.", required=(), **pretraining),
            },
            **pretraining,
        ),
        "conditions": {
            "description": "Blocks of conditions; a block means every combination of its entries. "
            "A condition that several blocks share is run once, with the largest number of seeds.",
            "type": "array",
            "minItems": 1,
            "items": _block(),
        },
        "grids": {
            "description": "Half-decade grids of learning rates by optimizer and cadence; an "
            "optimizer that is not named has its own.",
            "type": "object",
            "additionalProperties": _mapping(
                "Of one optimizer.",
                required=(),
                step=_said(_RATES, "Rates of learners that update at each step."),
                window=_said(_RATES, "Rates of learners that update once a window."),
            ),
        },
        "grid_growth": _said(
            {"type": "integer", "minimum": 0},
            "Half decades a side that a grid may grow by. It grows while its best rate is "
            "on the edge.",
        ),
        "stable_windows": _said(
            _WHOLE,
            "Windows at the end of a part to adapt to: the stable errors are means over weights "
            "frozen after each of them.",
        ),
        "horizons": _mapping(
            "The held-out gap after adapting for a shorter part of the stream.",
            tasks=_said(_LIST, "Tasks that are scored at horizons."),
            steps=_said({"type": "array", "items": _WHOLE}, "Lengths of the adaptation, in steps."),
            learners=_said(_LIST, "Learners that are compared; conditions must run them."),
            split=_said(_TEXT, "Split whose adapt part is cut short."),
        ),
        "comparisons": {
            "description": "Which learner minus which, by the comparison's name.",
            "type": "object",
            "additionalProperties": _mapping(
                "One comparison.",
                required=("minus",),
                minus=_said(_NAMES | {"minItems": 2, "maxItems": 2}, "The first minus the second."),
                label=_said(_TEXT, "What the difference is called."),
            ),
            "propertyNames": {"pattern": _NAME},
        },
        "quantities": _quantities(),
        "statistics": _mapping(
            "Equivalence tests and intervals.",
            margin_pp=_said(
                {"type": "number", "exclusiveMinimum": 0},
                "Margin of equivalence in percentage points of recovery.",
            ),
            alpha=_said(_FRACTION | {"exclusiveMaximum": 0.5}, "Level of each one-sided test."),
            resamples=_said({"type": "integer", "minimum": 100}, "Samples of a bootstrap."),
            seed=_said({"type": "integer", "minimum": 0}, "Seed of the bootstrap."),
            main=_said(_TEXT, "Comparison that tables of one comparison are about."),
        ),
        "truth": _mapping(
            "Made-up studies with known answers, judged as this one is.",
            studies=_said({"type": "integer", "minimum": 0}, "Made-up studies of each kind."),
            pairs=_said({"type": "integer", "minimum": 2}, "Pairs of sessions a study."),
            seeds=_said(_WHOLE, "Networks a pair and learner."),
            resamples=_said({"type": "integer", "minimum": 100}, "Samples of a bootstrap."),
            steps=_mapping(
                "Steps of the parts of their streams.",
                pretraining=_said({"type": "integer", "minimum": 400}, "Steps to pretrain on."),
                adapt=_said(_WHOLE, "Steps to adapt to: whole windows of 40."),
                heldout=_said(_WHOLE, "Steps to score."),
            ),
        ),
        "compute": _mapping(
            "How results are computed; another setting may change their last digits.",
            threads=_said(_WHOLE, "Threads of each job."),
            device=_said(
                {"type": "string", "pattern": "^(cpu|cuda(:[0-9]+)?|mps)$"},
                "Where PyTorch computes, such as cpu or cuda.",
            ),
            compile=_said({"type": "boolean"}, "Whether loops are compiled by the C++ compiler."),
            batch_models=_said(
                _WHOLE,
                "Most models that are computed together: fewer where the job's memory or the "
                "processor's cache holds fewer. A model's numbers do not depend on the others of "
                "its batch; another batch size changes them by rounding.",
            ),
        ),
        "provenance": _mapping(
            "Which results may be combined.",
            allow_mixed=_said(
                {"type": "boolean"},
                "Whether results of different code, data or locks may stand in one table.",
            ),
        ),
    }
    optional = {
        "plugins",
        "quantities",
        "learners",
        "optimizers",
        "interventions",
        "starts",
        "probes",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The study",
        "description": "Every key of config.yaml and of the overlays in config/.",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def _said(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"description": text, **schema}


def _mapping(
    text: str, *, required: Iterable[str] | None = None, **properties: Any
) -> dict[str, Any]:
    return {
        "description": text,
        "type": "object",
        "additionalProperties": False,
        "required": list(properties if required is None else required),
        "properties": properties,
    }


def _instances(kind: str, section: str, parts: Declared) -> dict[str, Any]:
    """A section that names instances: each a mapping with ``kind`` and that part's options."""
    known = parts[kind]
    choices = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": part["schema"]
            | {"properties": {"kind": {"description": part["doc"]}, **_options(part, parts)}},
        }
        for name, part in known.items()
    ]
    one = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"description": f"The {kind}.", "enum": list(known)}},
        "allOf": choices,
    }
    return {
        "description": f"Instances of {section} by name: the kind and its options.",
        "type": "object",
        "propertyNames": {"pattern": _NAME},
        "additionalProperties": one,
    }


def _options(part: Mapping[str, Any], parts: Declared) -> dict[str, Any]:
    """The schemas of a part's options; the entries of a list of parts are checked as instances."""
    found = dict(part["schema"]["properties"])
    for option, kind in part["lists"].items():
        found[option] = found[option] | {"items": _part(kind, parts)}
    return found


def _part(kind: str, parts: Declared) -> dict[str, Any]:
    """A part of a kind: a short form, or a mapping that is checked as an instance."""
    instance = f"#/properties/{SECTIONS[kind]}/additionalProperties"
    entry = {"if": {"type": "object"}, "then": {"$ref": instance}}
    return {**_short_form(parts[kind]), **entry}


def _short_form(known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Text that is a short form of a part, or a mapping."""
    forms = [re.escape(name) + "(-[0-9]+)" * len(part["short"]) for name, part in known.items()]
    forms += [re.escape(name) for name, part in known.items() if part["short"]]
    return {
        "type": ["string", "object"],
        "pattern": f"^({'|'.join(forms)})$",
        "examples": [form for part in known.values() for form in part["forms"]],
    }


def _quantities() -> dict[str, Any]:
    keys = [key for key in KEYS if key != "pair"]
    every = {key: _said(_TEXT, f"The {key} of terms that name none.") for key in keys}
    where = {key: _said(_TEXT, f"The term's {key}, in place of that under at.") for key in keys}
    term = {
        **_mapping(
            "A column of one condition's models.",
            required=(),
            plus=_said(_TEXT, "The column; it is added."),
            minus=_said(_TEXT, "The column; it is subtracted."),
            times=_said({"type": "number"}, "A factor; 1 by default."),
            absolute=_said({"type": "boolean"}, "Whether its absolute value is taken."),
            **where,
        ),
        "anyOf": [{"required": ["plus"]}, {"required": ["minus"]}],
    }
    terms = {"type": "array", "minItems": 1, "items": term}
    along = {
        "anyOf": [
            {"enum": [SEEDS, PAIRS]},
            {
                "type": "object",
                "additionalProperties": _NAMES | {"minItems": 3, "uniqueItems": True},
                "propertyNames": {"enum": list(where)},
                "minProperties": 1,
                "maxProperties": 1,
            },
        ]
    }
    return {
        "description": "Numbers put together from the table of models, by name; a registration may "
        "be about one.",
        "type": "object",
        "propertyNames": {"pattern": _NAME},
        "additionalProperties": _mapping(
            "One quantity.",
            required=("label", "sum"),
            label=_said(_TEXT, "What it is, in words."),
            scale=_said({"type": "string"}, "Its unit of measurement, such as pp; none if empty."),
            unit=_said({"enum": ["seed", "pair"]}, "Unit of replication; the seed by default."),
            estimand=_said(
                {"enum": ["heldout", "stable", "adapt"]},
                "By which choice of the rate models are taken; heldout by default.",
            ),
            at=_mapping(
                "The condition of every term that does not say otherwise.",
                required=(),
                pair=_said(_TEXT, "The pair of sessions, where the unit is the seed."),
                **every,
            ),
            sum=_said(terms, "The terms; their sum is formed seed by seed."),
            rank=_mapping(
                "Not the sum but its rank correlation.",
                required=("along",),
                along=_said(along, "seeds, pairs, or the values of a key column, in their order."),
                **{"with": _said(terms, "The other side; that order itself if absent.")},
            ),
        ),
    }


def _block() -> dict[str, Any]:
    return _mapping(
        "One block.",
        required=("name", "tasks", "networks", "learners", "optimizers", "splits", "seeds"),
        name=_said({"type": "string"}, "What the block is for."),
        tasks=_said(_NAMES, "Names of tasks; a task stands for all of its pairs."),
        networks=_said(_NAMES, "Names of networks."),
        learners=_said(_NAMES, "Names of learners, or short forms such as tbptt-200-200."),
        optimizers=_said(_NAMES, "Names of optimizers."),
        precisions=_said(
            {"type": "array", "minItems": 1, "items": {"enum": ["float64", "float32"]}},
            "Floating-point numbers; float64 by default.",
        ),
        splits=_said(_NAMES, "Names of splits, or of another variant of the tasks."),
        interventions=_said(_NAMES, "Interventions, in a row as FIRST+SECOND; none by default."),
        starts=_said(_NAMES, "What networks start from; pretrained by default."),
        observers=_said(_LIST, "Learners that watch the same trajectories."),
        probes=_said(_LIST, "Probes: what is measured at each update."),
        seeds=_said(_WHOLE, "How many networks, with seeds 0, 1, 2, ..."),
        chapter=_said(
            {"enum": ["headline", "pairs", "choices"]},
            "The target that runs these conditions: `snakemake headline` (the default), `pairs` or "
            "`choices`.",
        ),
    )
