"""The reader of registrations: YAML files, checked against their schema and each other's parts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg import region
from orla.prereg.amendments import seen_in_words
from orla.prereg.documents import load_document
from orla.prereg.registration import PAIR, QUANTITIES, SEED, Check, Registration
from orla.prereg.rules import MeanRule, rules_by_name
from orla.results.scales import PP, SCALES
from orla.schema import nearest_hint

_GAP = ("estimand", "conditions", "comparison", "minus")
_COPIED_FIELDS = (
    *("title", "outcomes", "primary", "task", "pair", "estimand", "unit", "alpha"),
    *("scale", "conditions", "comparison", "quantity", "margin_reason", "binds"),
)


def read_registration(path: str | Path) -> Registration:
    """Read one registration, a YAML file; OrlaError for any mistake."""
    path = Path(path)
    document = load_document(path, "registration")
    _check_parts(path, document)
    sample, exclusions = document["sample"], document["exclusions"]
    [(name, value)] = document["claim"].items()
    rule = rules_by_name()[name](float(value) if isinstance(value, int) else value)
    return Registration(
        **{name: document[name] for name in _COPIED_FIELDS if name in document},
        name=path.stem,
        folder=path.parent,
        rule=rule,
        checks=_manipulation_checks(path, document),
        seen_text=seen_in_words(document["results_seen"]),
        seeds=sample["seeds"],
        pairs=sample.get("pairs", 1),
        studies=tuple(document["studies"]),
        max_diverged=exclusions["max_diverged"],
        max_failing=exclusions.get("max_failing", 0),
        minus=tuple(document.get("minus", ())),
        must_recover=_learners_that_must_recover(path, document, rule),
    )


def read_registrations(folder: str | Path) -> list[Registration]:
    """Read every registration of a folder, in the order of their names."""
    return [read_registration(path) for path in sorted(Path(folder).glob("*.yaml"))]


def read_folders(folders: Iterable[str | Path]) -> list[Registration]:
    """Read every registration of several folders; OrlaError where two have one name."""
    registrations = [each for folder in folders for each in read_registrations(folder)]
    for name, count in Counter(each.name for each in registrations).items():
        if count > 1:
            places = " and ".join(str(e.folder) for e in registrations if e.name == name)
            raise OrlaError(f'"{name}.yaml" stands in {places}; locks are told apart by its name')
    return registrations


def _check_parts(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse parts that do not belong to what is read, or to its unit."""
    unit, exclusions = document["unit"], document["exclusions"]
    about, by_pairs = "quantity" in document, unit == PAIR
    quantity_words, unit_words = f"{'a' if about else 'no'} quantity", f"unit {unit}"
    # A quantity of a task without pairs has none.
    pair = unit == SEED and (not about or "pair" in document)
    for condition, name, section, is_required in (
        *((quantity_words, name, document, not about) for name in _GAP),
        (quantity_words, "scale", document, about or "scale" in document),
        (unit_words, "pair", document, pair),
        (unit_words, "sample.pairs", document["sample"], by_pairs),
        (unit_words, "exclusions.max_failing", exclusions, by_pairs),
    ):
        if (name.rpartition(".")[2] in section) != is_required:
            problem = "missing; add it" if is_required else "too much; remove it"
            if is_required and name == "pair":
                problem += " (of a task without pairs register a quantity)"
            raise OrlaError(f'{path}: with {condition}, "{name}" is {problem}')
    if about and exclusions["max_diverged"]:
        problem = "a quantity has no value for a model that diverged"
        raise OrlaError(f'{path}: {problem}; set "exclusions.max_diverged" to 0')
    if about:
        return
    if (scale := document.get("scale", PP.unit)) not in SCALES:
        raise OrlaError(f'{path}: "scale" is {scale}; a gap is of {" or ".join(SCALES)}')
    if document["minus"][0] == document["minus"][1]:
        raise OrlaError(f'{path}: "minus" subtracts a learner from itself; name two learners')


def _learners_that_must_recover(
    path: Path, document: Mapping[str, Any], rule: MeanRule
) -> tuple[str, ...]:
    minus = document.get("minus", [])
    learners = document.get("must_recover", minus)
    if unknown := [learner for learner in learners if learner not in minus]:
        problem = f'"must_recover" has {unknown[0]}, which "minus" does not compare'
        raise OrlaError(f"{path}: {problem}; {nearest_hint(unknown[0], minus)}")
    if absent := [learner for learner in minus[rule.adapting] if learner not in learners]:
        problem = f'"must_recover" lacks {absent[0]}, which a claim of {rule.name} needs'
        raise OrlaError(f"{path}: {problem} to be shown to adapt; add it")
    return tuple(learners)


def _manipulation_checks(path: Path, document: Mapping[str, Any]) -> tuple[Check, ...]:
    checks = []
    for i, each in enumerate(document.get("manipulation_checks", [])):
        name, bounds, column = f"{path}: manipulation_checks[{i}]", each["region"], each["column"]
        if "equals" in bounds and not isinstance(column, str):
            raise OrlaError(f"{name}: an interval equals no value; name one column, or a region")
        if each["result"] == QUANTITIES and "quantity" not in each["where"]:
            raise OrlaError(f'{name}.where: names no quantity; add "quantity"')
        where = {k: v if isinstance(v, list) else [v] for k, v in each["where"].items()}
        ends = (column,) if isinstance(column, str) else tuple(column)
        allowed = None if "equals" in bounds else region.parse_region(bounds, name)
        check = Check(each["name"], each["result"], where, ends, allowed, bounds.get("equals"))
        checks.append(check)
    return tuple(checks)
