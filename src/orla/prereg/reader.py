"""The reader of registrations: files of every version into one kind of registration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg import region
from orla.prereg.amendments import seen_in_words
from orla.prereg.documents import load, parse
from orla.prereg.registration import PAIR, QUANTITIES, SEED, Check, Reading, Registration, Value
from orla.prereg.rules.base import MeanRule, rules
from orla.prereg.rules.inside import Inside
from orla.results.scales import PP, SCALES
from orla.schema import nearest

_GAP = ("estimand", "conditions", "comparison", "minus")
_SHARED = ("title", "outcomes")


def read(path: str | Path) -> Registration:
    """Read one registration, a YAML file of any version.

    Raises:
        OrlaError: The file does not fit the schema of its version, a region is malformed, parts
            are missing or too many, or parts contradict one another.
    """
    path = Path(path)
    document = parse(path)
    later = isinstance(document, dict) and "version" in document
    return (_version_3 if later else _version_1)(path)


def read_all(folder: str | Path) -> list[Registration]:
    """Read every registration of a folder, in the order of their names."""
    return [read(path) for path in sorted(Path(folder).glob("*.yaml"))]


def _version_1(path: Path) -> Registration:
    document = load(path, "version-1")
    sample, data = document["sample"], document["existing_data"]
    if sample["minimum"] > sample["size"]:
        raise OrlaError(
            f'{path}: "sample.minimum" is {sample["minimum"]}, more than "sample.size" '
            f"{sample['size']}; lower it"
        )
    for i, criterion in enumerate(document["criteria"]):
        _agree(document["conditions"], criterion["where"], f"{path}: criteria[{i}]")
    return Registration(
        version=1,
        name=path.stem,
        folder=path.parent,
        criteria=tuple(
            _criterion(criterion, f"{path}: criteria[{i}]")
            for i, criterion in enumerate(document["criteria"])
        ),
        checks=_checks(path, document),
        seen=f"when locked: {data['status']} ({' '.join(data['statement'].split())})",
        conditions=document["conditions"],
        seeds=sample["size"],
        least=sample["minimum"],
        max_diverged=document["exclusions"]["max_diverged"],
        **{name: document[name] for name in _SHARED},
    )


def _agree(conditions: Mapping[str, Any], where: Mapping[str, Value], name: str) -> None:
    """Refuse a criterion that reads a row of other conditions than those registered."""
    for key, value in where.items():
        registered = conditions.get(key, value)
        if value not in (registered if isinstance(registered, list) else [registered]):
            raise OrlaError(
                f'{name}.where: {key} is {value}, and "conditions.{key}" is {registered}; make '
                "them agree"
            )


def _criterion(document: Mapping[str, Any], name: str) -> Reading:
    columns = document["columns"]
    order = ("estimate", "low", "high", "n", "diverged", "unreliable")
    return Reading(
        document["result"],
        document["where"],
        {role: columns[role] for role in order if role in columns},
        Inside(region.parse(document["region"], name)),
        document["unit"],
        document["interval"],
    )


def _version_3(path: Path) -> Registration:
    document = load(path, "version-3")
    _check_parts(path, document)
    sample, exclusions = document["sample"], document["exclusions"]
    [(name, value)] = document["claim"].items()
    rule = rules()[name](float(value) if isinstance(value, int) else value)
    return Registration(
        name=path.stem,
        folder=path.parent,
        checks=_checks(path, document),
        rule=rule,
        scale=document.get("scale", PP.unit),
        seen=seen_in_words(document["results_seen"]),
        conditions=document.get("conditions", {}),
        seeds=sample["seeds"],
        max_diverged=exclusions["max_diverged"],
        version=document["version"],
        studies=tuple(document["studies"]),
        pair=document.get("pair", ""),
        estimand=document.get("estimand", ""),
        pairs=sample.get("pairs", 1),
        max_failing=exclusions.get("max_failing", 0),
        comparison=document.get("comparison", ""),
        minus=tuple(document.get("minus", ())),
        must_recover=_must_recover(path, document, rule),
        quantity=document.get("quantity", ""),
        margin_reason=document.get("margin_reason", ""),
        binds=document.get("binds", {}),
        **{name: document[name] for name in (*_SHARED, "primary", "task", "unit", "alpha")},
    )


def _check_parts(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse parts that do not belong to what is read, or to its unit."""
    unit, sample, exclusions = document["unit"], document["sample"], document["exclusions"]
    about = "quantity" in document
    for name in _GAP:
        _demand(path, f"{'a' if about else 'no'} quantity", name, name in document, not about)
    if about:
        _demand(path, "a quantity", "scale", "scale" in document, True)
    elif document.get("scale", PP.unit) not in SCALES:
        raise OrlaError(
            f'{path}: "scale" is {document["scale"]}; a gap is of {" or ".join(SCALES)}'
        )
    if about and exclusions["max_diverged"]:
        raise OrlaError(
            f'{path}: a quantity has no value for a model that diverged; set "exclusions.'
            'max_diverged" to 0'
        )
    # A quantity of a task without pairs has none.
    pair = unit == SEED and (not about or "pair" in document)
    _demand(path, f"unit {unit}", "pair", "pair" in document, pair)
    _demand(path, f"unit {unit}", "sample.pairs", "pairs" in sample, unit == PAIR)
    failing = "max_failing" in exclusions
    _demand(path, f"unit {unit}", "exclusions.max_failing", failing, unit == PAIR)
    if not about and document["minus"][0] == document["minus"][1]:
        raise OrlaError(f'{path}: "minus" subtracts a learner from itself; name two learners')


def _demand(path: Path, having: str, name: str, given: bool, wanted: bool) -> None:
    if given != wanted:
        order = "add it" if wanted else "remove it"
        raise OrlaError(
            f'{path}: with {having}, "{name}" is {"missing" if wanted else "too much"}; {order}'
        )


def _must_recover(path: Path, document: Mapping[str, Any], rule: MeanRule) -> tuple[str, ...]:
    minus = document.get("minus", [])
    learners = document.get("must_recover", minus)
    for learner in learners:
        if learner not in minus:
            raise OrlaError(
                f'{path}: "must_recover" has {learner}, which "minus" does not compare; '
                f"{nearest(learner, minus)}"
            )
    for learner in minus[rule.adapting]:
        if learner not in learners:
            raise OrlaError(
                f'{path}: "must_recover" lacks {learner}, which a claim of {rule.name} needs to be '
                "shown to adapt; add it"
            )
    return tuple(learners)


def _checks(path: Path, document: Mapping[str, Any]) -> tuple[Check, ...]:
    checks = []
    for i, each in enumerate(document.get("manipulation_checks", [])):
        name, wanted, column = f"{path}: manipulation_checks[{i}]", each["region"], each["column"]
        if "equals" in wanted and not isinstance(column, str):
            raise OrlaError(f"{name}: an interval equals no value; name one column, or a region")
        if each["result"] == QUANTITIES and "quantity" not in each["where"]:
            raise OrlaError(f'{name}.where: names no quantity; add "quantity"')
        checks.append(
            Check(
                name=each["name"],
                why=each["why"],
                result=each["result"],
                where={k: v if isinstance(v, list) else [v] for k, v in each["where"].items()},
                ends=(column,) if isinstance(column, str) else tuple(column),
                region=None if "equals" in wanted else region.parse(wanted, name),
                equals=wanted.get("equals"),
            )
        )
    return tuple(checks)
