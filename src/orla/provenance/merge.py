"""The provenance of a table that is made from several results."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orla.errors import OrlaError

MIXED = "mixed"
"""Key of an entry whose values differ: {"mixed": [each distinct value]}."""


def merge(
    provenances: Mapping[str, Mapping[str, Any]], allow_mixed: bool = False
) -> dict[str, Any]:
    """The provenance of a table that is made from several results, from theirs by path.

    Equal values are kept; where they differ, ``{"mixed": [...]}`` holds each of them. ``datasets``
    holds every input's ``dataset`` under its task, pair and split. The results' own ``inputs`` are
    left out. OrlaError where two come from different versions of one source file, data set or
    input, or from different locks, and `allow_mixed` is not set.
    """
    if not allow_mixed:
        _refuse_mixed(provenances)
    entries = [
        {k: v for k, v in provenance.items() if k not in ("inputs", "dataset")}
        | {"datasets": _datasets(provenance)}
        for provenance in provenances.values()
    ]
    return _join(entries)


def _datasets(provenance: Mapping[str, Any]) -> dict[str, Any]:
    datasets = dict(provenance.get("datasets", {}))
    if "dataset" in provenance:
        keys = provenance.get("keys", {})
        name = "/".join(str(keys[k]) for k in ("task", "pair", "split") if keys.get(k))
        datasets[name] = provenance["dataset"]
    return datasets


def _refuse_mixed(provenances: Mapping[str, Mapping[str, Any]]) -> None:
    paths_by_value: dict[tuple[str, str], dict[str, list[str]]] = {}
    for path, provenance in provenances.items():
        for what, name, value in _identities(path, provenance):
            for item in _values(value):
                paths_by_value.setdefault((what, name), {}).setdefault(_text(item), []).append(path)
    different = {k: list(v.values()) for k, v in paths_by_value.items() if len(v) > 1}
    if not different:
        return
    what = next(iter(different))[0]
    names = [name for kind, name in different if kind == what]
    first, second = sorted(different[what, names[0]], key=len)[:2]
    raise OrlaError(
        f"results of different {what} cannot stand in one table: {_some(first)} differs from"
        f" {_some(second)} in {_some(names)}; delete what is out of date and run again, or set"
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


def _join(values: Sequence[Any]) -> Any:
    if all(isinstance(value, Mapping) and MIXED not in value for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {n: _join([value[n] for value in values if n in value]) for n in names}
    distinct = {_text(item): item for value in values for item in _values(value)}
    items = [distinct[text] for text in sorted(distinct)]
    return items[0] if len(items) == 1 else {MIXED: items}


def _values(value: Any) -> list[Any]:
    return value[MIXED] if isinstance(value, Mapping) and MIXED in value else [value]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _some(names: Sequence[str], most: int = 3) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
