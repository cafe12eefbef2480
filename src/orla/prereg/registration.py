"""A registration: how results will be judged, written before they exist."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orla.errors import OrlaError
from orla.prereg import region
from orla.prereg.documents import SCHEMAS, load, parse
from orla.prereg.region import Region
from orla.schema import nearest

if TYPE_CHECKING:
    from orla.prereg.claimed import ClaimRegistration

Value = str | float | int | bool


@dataclass(frozen=True)
class Criterion:
    """One interval of one row of one result, and the region that it must lie in."""

    result: str
    where: Mapping[str, Value]
    estimate: str
    low: str
    high: str
    n: str
    diverged: str | None
    unreliable: str | None
    interval: str
    unit: str
    region: Region

    @property
    def columns(self) -> list[str]:
        """Every column of the result that is read."""
        read = [self.estimate, self.low, self.high, self.n, self.diverged, self.unreliable]
        return [*self.where, *(column for column in read if column)]


@dataclass(frozen=True)
class Check:
    """A manipulation check: what must lie in a region, or equal a value, on every row.

    `ends` are one column, or the two ends of an interval that must lie in the region wholly.
    """

    name: str
    why: str
    result: str
    where: Mapping[str, list[Value]]
    ends: tuple[str, ...]
    region: Region | None
    equals: Value | None

    @property
    def columns(self) -> list[str]:
        """Every column of the result that is read."""
        return [*self.where, *self.ends]


@dataclass(frozen=True)
class Registration:
    """A registration of version 1 that fits its schema.

    `name` is its file name without the suffix, `folder` the folder that it lies in.
    """

    name: str
    folder: Path
    title: str
    date: str
    question: str
    hypothesis: str
    existing_data: Mapping[str, str]
    data: str
    conditions: Mapping[str, Any]
    criteria: tuple[Criterion, ...]
    margin: Mapping[str, str]
    sample: Mapping[str, Any]
    exclusions: Mapping[str, Any]
    checks: tuple[Check, ...]
    outcomes: Mapping[str, str]

    @property
    def seen(self) -> str:
        """What was known of the data when it was written, in words."""
        known = self.existing_data
        return f"when locked: {known['status']} ({' '.join(known['statement'].split())})"

    @property
    def results(self) -> list[str]:
        """Names of the results that judging needs, sorted."""
        return sorted({part.result for part in self.parts})

    @property
    def parts(self) -> tuple[Criterion | Check, ...]:
        """Everything that reads a result: the criteria, then the checks."""
        return (*self.criteria, *self.checks)


def read(path: str | Path) -> "Registration | ClaimRegistration":
    """Read one registration, of version 1 or 2 (`version: 2`).

    Parameters
    ----------
    path
        A YAML file.

    Raises
    ------
    OrlaError
        When the file does not fit the schema of its version, a region is malformed, more units are
        asked for than are to be run, or criteria contradict the conditions.
    """
    path = Path(path)
    document = parse(path)
    if isinstance(document, dict) and "version" in document:
        from orla.prereg import claimed  # which takes its checks from here

        return claimed.read(path)
    document = load(path, SCHEMAS / "registration.schema.yaml")
    sample = document["sample"]
    if sample["minimum"] > sample["size"]:
        raise OrlaError(
            f'{path}: "sample.minimum" is {sample["minimum"]}, more than "sample.size" '
            f"{sample['size']}; lower it"
        )
    for i, criterion in enumerate(document["criteria"]):
        _agree(document["conditions"], criterion["where"], f"{path}: criteria[{i}]")
    return Registration(
        name=path.stem,
        folder=path.parent,
        criteria=tuple(
            _criterion(criterion, f"{path}: criteria[{i}]")
            for i, criterion in enumerate(document.pop("criteria"))
        ),
        checks=tuple(
            check_of(check, f"{path}: manipulation_checks[{i}]")
            for i, check in enumerate(document.pop("manipulation_checks"))
        ),
        **document,
    )


def _agree(conditions: Mapping[str, Any], where: Mapping[str, Value], name: str) -> None:
    """Refuse a criterion that reads a row of other conditions than those registered."""
    for key, value in where.items():
        known = conditions.get(key, value)
        if value not in (known if isinstance(known, list) else [known]):
            raise OrlaError(
                f'{name}.where: {key} is {value}, and "conditions.{key}" is {known}; make them '
                "agree"
            )


def read_all(folder: str | Path) -> "list[Registration | ClaimRegistration]":
    """Read every registration of a folder, in the order of their names."""
    return [read(path) for path in sorted(Path(folder).glob("*.yaml"))]


def results(registrations: "Iterable[Registration | ClaimRegistration]") -> list[str]:
    """Names of the results that judging these registrations needs, sorted."""
    return sorted({result for registration in registrations for result in registration.results})


def check_columns(
    registration: "Registration | ClaimRegistration", columns: Mapping[str, Collection[str]]
) -> None:
    """Refuse a registration that names a result or a column that does not exist.

    Parameters
    ----------
    registration
        The registration.
    columns
        Result -> its columns.

    Raises
    ------
    OrlaError
        Naming the registration, what it names, and the nearest that exists.
    """
    for part in registration.parts:
        if part.result not in columns:
            raise OrlaError(
                f'registration {registration.name}: there is no result "{part.result}"; '
                f"{nearest(part.result, columns)}"
            )
        for column in part.columns:
            if column not in columns[part.result]:
                raise OrlaError(
                    f'registration {registration.name}: result "{part.result}" has no column '
                    f'"{column}"; {nearest(column, columns[part.result])}'
                )


def _criterion(document: dict[str, Any], name: str) -> Criterion:
    columns = {"diverged": None, "unreliable": None} | document["columns"]
    return Criterion(
        result=document["result"],
        where=document["where"],
        interval=document["interval"],
        unit=document["unit"],
        region=region.parse(document["region"], name),
        **columns,
    )


def check_of(document: dict[str, Any], name: str) -> Check:
    """A manipulation check from its document; `name` names it in an error."""
    wanted, column = document["region"], document["column"]
    if "equals" in wanted and not isinstance(column, str):
        raise OrlaError(f"{name}: an interval equals no value; name one column, or a region")
    return Check(
        name=document["name"],
        why=document["why"],
        result=document["result"],
        where={k: v if isinstance(v, list) else [v] for k, v in document["where"].items()},
        ends=(column,) if isinstance(column, str) else tuple(column),
        region=None if "equals" in wanted else region.parse(wanted, name),
        equals=wanted.get("equals"),
    )
