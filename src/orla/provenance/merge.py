"""The provenance of a table that is made from several results."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orla.errors import OrlaError

MIXED = "mixed"
"""Key of an entry whose values differ: {"mixed": [each distinct value]}."""


def merged(
    provenances: Mapping[str, Mapping[str, Any]], allow_mixed: bool = False
) -> dict[str, Any]:
    """The provenance of a table that is made from several results.

    Equal values are kept; where they differ, ``{"mixed": [...]}`` holds each of them. ``datasets``
    holds every input's ``dataset`` under its task, pair and split. The results' own ``inputs`` are
    left out; `orla.provenance.tables.write_table` adds those of the table.

    Args:
        provenances: Path of an input -> its provenance, as from `orla.provenance.collect`, with the
            source files that it depends on. The step that makes the table may be one of them.
        allow_mixed: Whether inputs may come from different code, data or locks
            (``provenance.allow_mixed`` of the config).

    Raises:
        OrlaError: Two inputs come from different versions of one source file, of one data set or
            of one input, or from different locks, and that is not allowed.
    """
    if not allow_mixed:
        _refuse_mixed(provenances)
    everything = [
        {k: v for k, v in given.items() if k not in ("inputs", "dataset")}
        | {"datasets": _datasets(given)}
        for given in provenances.values()
    ]
    return _joined(everything)


def _datasets(provenance: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(provenance.get("datasets", {}))
    if "dataset" in provenance:
        keys = provenance.get("keys", {})
        name = "/".join(str(keys[k]) for k in ("task", "pair", "split") if keys.get(k))
        found[name] = provenance["dataset"]
    return found


def _refuse_mixed(provenances: Mapping[str, Mapping[str, Any]]) -> None:
    seen: dict[tuple[str, str], dict[str, list[str]]] = {}
    for path, provenance in provenances.items():
        for what, name, value in _identities(path, provenance):
            for each in _values(value):
                seen.setdefault((what, name), {}).setdefault(_text(each), []).append(path)
    different = {k: list(v.values()) for k, v in seen.items() if len(v) > 1}
    if not different:
        return
    what = next(iter(different))[0]
    names = [name for kind, name in different if kind == what]
    one, other = sorted(different[what, names[0]], key=len)[:2]
    raise OrlaError(
        f"results of different {what} cannot stand in one table: {_some(one)} differs from"
        f" {_some(other)} in {_some(names)}; delete what is out of date and run again, or set"
        " provenance.allow_mixed: true in the config"
    )


def _identities(path: str, provenance: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(kind, name, value) of every entry that must agree between inputs."""
    for file, digest in provenance.get("code", {}).get("files", {}).items():
        yield "code", file, digest
    for name, dataset in _datasets(provenance).items():
        yield "data", name or "the data set", dataset
    for relative, digest in provenance.get("inputs", {}).items():
        yield "data", os.path.normpath(os.path.join(os.path.dirname(path), relative)), digest
    if "prereg_lock_sha256" in provenance:
        yield "locks", "prereg/LOCK", provenance["prereg_lock_sha256"]


def _joined(values: Sequence[Any]) -> Any:
    if all(isinstance(value, Mapping) and MIXED not in value for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {n: _joined([value[n] for value in values if n in value]) for n in names}
    distinct = {_text(each): each for value in values for each in _values(value)}
    found = [distinct[text] for text in sorted(distinct)]
    return found[0] if len(found) == 1 else {MIXED: found}


def _values(value: Any) -> list[Any]:
    return value[MIXED] if isinstance(value, Mapping) and MIXED in value else [value]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _some(names: Sequence[str], most: int = 3) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
