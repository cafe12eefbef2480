"""Reads numbers out of the paper's LaTeX and compares them with rows of orla/reports/paper."""

import math
import re
from collections.abc import Iterator

# Digits that are part of a name.
NAMES = re.compile(
    r"d\{?=\}?0(?![.\d])|\\ni 0|CI of 0|contains 0|top-1|AVX-\d+|50/50|80/20"
    r"|\$?95\\%\$? (?:bootstrap )?CI|\\multicolumn\{\d\}|\\(?:ref|label|cite\w*)\{[^}]*\}|\[\d+pt\]"
)
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)-])[-+])?(?<![A-Za-z_.^\d])(?P<digits>\d+(?:\{,\}\d{3})*(?:\.\d+)?)"
    r"(?:(?P<times>\s*\{?\\times\}?\s*10)?\^\{?(?P<power>-?\d+)\}?)?"
    r"(?P<unit>[kKMB](?![A-Za-z]))?"
)
UNITS = {None: 1, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}


def matches(latex: str) -> Iterator[re.Match]:
    yield from NUMBER.finditer(NAMES.sub(lambda name: " " * len(name[0]), latex))


def printed(latex: str) -> list[float]:
    numbers = []
    for match in matches(latex):
        number = float(match["digits"].replace("{,}", ""))
        if match["power"]:
            power = int(match["power"])
            number = number * 10.0**power if match["times"] else number**power
        numbers.append((-1 if match["sign"] == "-" else 1) * number * UNITS[match["unit"]])
    return numbers


def quotes_of(fields: dict) -> list[str]:
    quote = fields["quote"]
    return quote if isinstance(quote, list) else [quote]


def numbers_in(key: str, value: object) -> list[float]:
    if isinstance(value, bool) or value is None or key == "ours":
        return []
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(key, part)]
    if isinstance(value, str):
        counted = key in ("model", "verdict") or key.endswith("_text")
        return printed(value) if counted else []
    return [float(value)]


def transcribed(fields: dict, columns: int = 0) -> list[float]:
    """The numbers of a row in the order of the printed one: condition by condition."""
    worded = {key.removesuffix("_text") for key in fields if key.endswith("_text")}
    worded = {name for name in worded if printed(fields[f"{name}_text"])}
    keys = [
        key
        for key in fields
        if key not in ("quote", "also", "place", "ours")
        and (key.endswith("_text") or key.rpartition("_")[0] not in worded)
    ]
    lists = [key for key in keys if columns and isinstance(fields[key], list)]
    first = keys.index(lists[0]) if lists else len(keys)
    order = [(key, fields[key]) for key in keys[:first]]
    order += [(key, fields[key][column]) for column in range(columns) for key in lists]
    order += [(key, fields[key]) for key in keys[first:] if key not in lists]
    return [number for key, value in order for number in numbers_in(key, value)]


def same(found: list[float], wanted: list[float]) -> bool:
    return len(found) == len(wanted) and all(map(math.isclose, found, wanted))


def misread(file: dict) -> list[str]:
    """The quotes of a file whose numbers are not those of their row."""
    columns = len(file.get("across", ()))
    parts = [(entry, columns) for entry in file["rows"]]
    parts += [(entry["also"], columns) for entry in file["rows"] if "also" in entry]
    return [
        f"{quotes_of(fields)} has {found}, the row {wanted}"
        for fields, across in parts
        for found in [[number for quote in quotes_of(fields) for number in printed(quote)]]
        for wanted in [transcribed(fields, across)]
        if not same(found, wanted)
    ]


def unread(latex: str, file: dict) -> list[str]:
    """The numbers of a piece of LaTeX that stand in no quote of a file."""
    covered = set()
    every = [quote for entry in file["rows"] for quote in quotes_of(entry)]
    for quote in [*every, *file.get("quotes", ()), *([file["head"]] if "head" in file else ())]:
        for place in re.finditer(re.escape(quote), latex):
            covered.update(range(*place.span()))
    return [
        latex[max(match.start() - 20, 0) : match.end() + 5]
        for match in matches(latex)
        if not covered.issuperset(range(*match.span()))
    ]


def every_quote(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("quote", "quotes", "head"):
                yield from value if isinstance(value, list) else [value]
            else:
                yield from every_quote(value)
    elif isinstance(node, list):
        for value in node:
            yield from every_quote(value)


def environments(source: str, kind: str) -> dict[str, str]:
    """Tables or figures by label, in their order; one without a label has that of its section."""
    found = {}
    for match in re.finditer(rf"\\begin\{{{kind}\}}.*?\\end\{{{kind}\}}", source, re.DOTALL):
        own = re.search(r"\\label\{(.*?)\}", match[0])
        above = re.findall(r"\\label\{((?:app|sec):.*?)\}", source[: match.start()])
        found[own[1] if own else above[-1]] = match[0]
    return found


def sections(source: str) -> dict[str, str]:
    """The paper's sections by the names that it prints, "Section 3" or "Appendix D"."""
    main, appendix = source.split("\\appendix")
    pieces = {f"Section {n}": text for n, text in enumerate(main.split("\\section{")) if n}
    letters = "ABCDEFGHIJKLMNOPQRS"
    parts = appendix.split("\\section{")[1:]
    assert len(parts) == len(letters)
    return pieces | {
        f"Appendix {letter}": text for letter, text in zip(letters, parts, strict=True)
    }
