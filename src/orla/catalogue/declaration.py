"""Parts and what they declare in their class statements."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from orla.schema import nearest_hint

# Matplotlib's markers of one letter.
MARKERS = tuple(".,ov^<>12348spP*hH+xXDd|_")


@dataclass(frozen=True)
class Mark:
    """Colour, marker and line of a series in figures, as Matplotlib writes them."""

    color: str
    marker: str
    line: Any = "-"

    def __post_init__(self) -> None:
        if self.marker not in MARKERS:
            raise TypeError(
                f"a mark has the marker {self.marker!r}; it is one of {' '.join(MARKERS)}"
            )

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Mark:
        """The mark of its fields, as JSON holds them."""
        line = plain["line"]
        if not isinstance(line, str):
            line = (line[0], tuple(line[1]))
        return cls(plain["color"], plain["marker"], line)


@dataclass(frozen=True)
class Declaration:
    """What a part declares.

    `label` is its name in reports, with options in braces; parts are sorted by `order`, then name;
    `short` are the options that a short form gives after the name (``tbptt-200-200``); `more` is
    what this kind of part alone declares, such as the results that a table needs.
    """

    name: str
    label: str = ""
    order: float = 1000
    chapter: str = ""
    mark: Mark | None = None
    short: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


class Part:
    """Base of every part. A subclass with a ``name`` is a part of its kind.

    The base class of a kind sets ``kind`` and ``declares``: further keywords of its class
    statements, with their defaults, which go to `Declaration.more`.
    """

    kind: ClassVar[str] = ""
    declares: ClassVar[Mapping[str, Any]] = {}
    part: ClassVar[Declaration | None] = None

    def __init_subclass__(cls, *, name: str | None = None, **keywords: Any) -> None:
        super().__init_subclass__()
        cls.part = None
        if name is None:
            if keywords:
                raise TypeError(f"{cls.__name__} declares {sorted(keywords)} and no name")
            return
        fields = {f.name for f in dataclasses.fields(Declaration)} - {"name", "more"}
        more = {word: keywords.pop(word, default) for word, default in cls.declares.items()}
        for word in sorted(keywords.keys() - fields):
            near = nearest_hint(word, sorted(fields | more.keys()))
            raise TypeError(f"{cls.__name__}: {word!r} is not declared; {near}")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
            raise TypeError(
                f"{cls.__name__}: the name {name!r} goes into files' names; write it in letters, "
                "digits, - and _"
            )
        cls.part = Declaration(name=name, more=more, **({"label": name} | keywords))
        if not isinstance(order := cls.part.order, (int, float)):
            raise TypeError(f"{cls.__name__}: order is {order!r}; make it a number")
        if not isinstance(mark := cls.part.mark, Mark | None):
            raise TypeError(f"{cls.__name__}: mark is {mark!r}; make it Mark(colour, marker, line)")
