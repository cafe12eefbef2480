"""A registration of version 2: a claim about one mean gap or one quantity, over pairs or seeds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg.amendments import seen_in_words
from orla.prereg.documents import SCHEMAS, load
from orla.prereg.region import Region
from orla.prereg.registration import Check, Value, check_of
from orla.schema import nearest
from orla.study.keys import DEFAULTS, SETTING

PAIR, SEED = "pair", "seed"
RESULT = {PAIR: "over_pairs", SEED: "estimates"}
"""Unit -> the result whose row is judged."""
QUANTITIES = "quantities"
"""The result of a registration about a quantity."""

_ROW = [
    *(name for name in SETTING if name != "pair"),
    *("comparison", "learner_full", "learner_immediate", "estimand", "alpha"),
    *("n_seeds", "n_diverged", "gap_pp", "standard_error_pp", "dof"),
    *("t90_low_pp", "t90_high_pp", "gap_frozen_pp", "t90_low_frozen_pp", "t90_high_frozen_pp"),
    *("recovery_full_low_percent", "recovery_immediate_low_percent"),
]
_READ = {
    "estimates": [*_ROW, "pair", "guards"],
    "over_pairs": [
        *_ROW,
        *("n_pairs", "n_failing", "gap_without_failing_pp"),
        *("t90_low_without_failing_pp", "t90_high_without_failing_pp"),
    ],
    QUANTITIES: [
        *("quantity", "scale", "unit", "value", "standard_error", "dof", "t90_low", "t90_high"),
        *("n_pairs", "n_without_meaning", "n_seeds", "n_diverged", "n_failing"),
        *("guards", "alpha"),
        *("value_without_failing", "t90_low_without_failing", "t90_high_without_failing"),
    ],
}
_OF_GAP = ("estimand", "conditions", "comparison", "minus")


@dataclass(frozen=True)
class Claim:
    """A claim about a mean: `kind` is equivalent_within, more_than or less_than."""

    kind: str
    value: float

    @property
    def region(self) -> Region:
        """Where the mean lies if the claim is true."""
        if self.kind == "more_than":
            return Region(low=self.value, strict=True)
        if self.kind == "less_than":
            return Region(high=self.value, strict=True)
        return Region(-self.value, self.value, strict=True)


@dataclass(frozen=True)
class Read:
    """Columns of a result that are read."""

    result: str
    columns: list[str]


@dataclass(frozen=True)
class ClaimRegistration:
    """A registration of version 2 that fits its schema; `name` is its file name without suffix.

    `quantity` is the name of a quantity of the config, or "" for a gap; then `estimand`,
    `conditions`, `comparison` and `minus` say which. `must_recover` names the learners that are
    to be shown to adapt.
    """

    name: str
    folder: Path
    title: str
    question: str
    hypothesis: str
    studies: tuple[str, ...]
    primary: bool
    results_seen: list[Mapping[str, str]]
    task: str
    pair: str
    estimand: str
    unit: str
    pairs: int
    seeds: int
    conditions: Mapping[str, str]
    comparison: str
    minus: tuple[str, str]
    claim: Claim
    alpha: float
    binds: Mapping[str, str]
    max_diverged: int
    max_failing: int
    checks: tuple[Check, ...]
    outcomes: Mapping[str, str]
    quantity: str = ""
    scale: str = "pp"
    must_recover: tuple[str, ...] = ()

    @property
    def result(self) -> str:
        """The result whose row is judged."""
        return QUANTITIES if self.quantity else RESULT[self.unit]

    @property
    def measured(self) -> str:
        """What the claim is about, for a sentence."""
        return self.quantity or "gap_pp"

    @property
    def results(self) -> list[str]:
        """Names of the results that judging needs, sorted."""
        return sorted({part.result for part in self.parts})

    @property
    def parts(self) -> tuple[Read | Check, ...]:
        """Everything that reads a result."""
        own = {QUANTITIES} if self.quantity else {RESULT[self.unit], RESULT[SEED]}
        return (*(Read(name, _READ[name]) for name in sorted(own)), *self.checks)

    @property
    def checked(self) -> list[str]:
        """Names of the quantities that manipulation checks read, sorted."""
        return sorted(
            str(name)
            for check in self.checks
            if check.result == QUANTITIES
            for name in check.where["quantity"]
        )

    @property
    def assumed(self) -> dict[str, Value]:
        """Column -> value, for columns that a manipulation check does not name."""
        if self.quantity:
            return DEFAULTS | {"task": self.task}
        pair = {"pair": self.pair} if self.unit == SEED else {}
        return DEFAULTS | {"task": self.task, "estimand": self.estimand} | pair

    @property
    def where(self) -> dict[str, Value]:
        """Column -> value, of the row that is judged."""
        if self.quantity:
            return {"quantity": self.quantity}
        return self.assumed | dict(self.conditions) | {"comparison": self.comparison}

    @property
    def seen(self) -> str:
        """What had been seen when it was written, in words."""
        return seen_in_words(list(self.results_seen))


def read(path: Path) -> ClaimRegistration:
    """Read one registration of version 2.

    Raises
    ------
    OrlaError
        When the file does not fit its schema, or the parts that a unit has are missing or too many.
    """
    document = load(path, SCHEMAS / "registration-2.schema.yaml")
    unit, sample, exclusions = document["unit"], document["sample"], document["exclusions"]
    about = document.get("quantity", "")
    for name in _OF_GAP:
        _demand(path, f"{'a' if about else 'no'} quantity", name, name in document, not about)
    _demand(path, "no quantity", "scale", "scale" in document, bool(about))
    if about and exclusions["max_diverged"]:
        raise OrlaError(
            f'{path}: a quantity has no value for a model that diverged; set "exclusions.'
            'max_diverged" to 0'
        )
    unit_of = f"unit {unit}"
    # A quantity of a task without pairs has none.
    wanted = unit == SEED and (not about or "pair" in document)
    _demand(path, unit_of, "pair", "pair" in document, wanted)
    _demand(path, unit_of, "sample.pairs", "pairs" in sample, unit == PAIR)
    _demand(path, unit_of, "exclusions.max_failing", "max_failing" in exclusions, unit == PAIR)
    if not about and document["minus"][0] == document["minus"][1]:
        raise OrlaError(f'{path}: "minus" subtracts a learner from itself; name two learners')
    [(kind, value)] = document["claim"].items()
    recovering = _recovering(path, document)
    taken = {"title", "question", "hypothesis", "primary", "results_seen", "task"}
    taken |= {"unit", "alpha", "outcomes"}
    return ClaimRegistration(
        name=path.stem,
        folder=path.parent,
        studies=tuple(document["studies"]),
        pair=document.get("pair", ""),
        pairs=sample.get("pairs", 1),
        seeds=sample["seeds"],
        estimand=document.get("estimand", ""),
        conditions=document.get("conditions", {}),
        comparison=document.get("comparison", ""),
        minus=tuple(document.get("minus", ("", ""))),
        must_recover=recovering,
        quantity=about,
        scale=document.get("scale", "pp"),
        claim=Claim(kind, float(value)),
        binds=document.get("binds", {}),
        max_diverged=exclusions["max_diverged"],
        max_failing=exclusions.get("max_failing", 0),
        checks=tuple(
            _check(check, f"{path}: manipulation_checks[{i}]")
            for i, check in enumerate(document.get("manipulation_checks", []))
        ),
        **{name: document[name] for name in taken},
    )


def _check(document: dict[str, Any], name: str) -> Check:
    found = check_of(document, name)
    if found.result == QUANTITIES and "quantity" not in found.where:
        raise OrlaError(f'{name}.where: names no quantity; add "quantity"')
    return found


def _recovering(path: Path, document: Mapping[str, Any]) -> tuple[str, ...]:
    minus, kind = document.get("minus", []), next(iter(document["claim"]))
    named = document.get("must_recover", minus)
    needed = {"more_than": minus[:1], "less_than": minus[1:]}.get(kind, minus)
    for learner in named:
        if learner not in minus:
            raise OrlaError(
                f'{path}: "must_recover" has {learner}, which "minus" does not compare; '
                f"{nearest(learner, minus)}"
            )
    for learner in needed:
        if learner not in named:
            raise OrlaError(
                f'{path}: "must_recover" lacks {learner}, which a claim of {kind} needs to be '
                "shown to adapt; add it"
            )
    return tuple(named)


def check_primary(folder: Path, registrations: Iterable[Any]) -> None:
    """Refuse a folder in which a study has claims and not exactly one primary.

    Parameters
    ----------
    folder
        The folder, for an error.
    registrations
        Its registrations; those of version 1 have no say.

    Raises
    ------
    OrlaError
        Naming the study and the registrations.
    """
    claims = [known for known in registrations if isinstance(known, ClaimRegistration)]
    for study in sorted({study for known in claims for study in known.studies}):
        primary = [k.name for k in claims if k.primary and study in k.studies]
        if len(primary) != 1:
            raise OrlaError(
                f'{folder}: study "{study}" has {len(primary)} primary registrations '
                f"({', '.join(primary) or 'none'}); exactly one must have primary: true"
            )


def _demand(path: Path, having: str, name: str, given: bool, wanted: bool) -> None:
    if given != wanted:
        order = "add it" if wanted else "remove it"
        raise OrlaError(
            f'{path}: with {having}, "{name}" is {"missing" if wanted else "too much"}; {order}'
        )
