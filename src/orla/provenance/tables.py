"""Tidy tables in parquet, each with its provenance and a digest of itself inside the file."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from orla.errors import OrlaError
from orla.provenance import digest

_KEY = b"orla"
MIXED = "mixed"
"""Key of an entry whose values differ: {"mixed": [each distinct value]}."""


class Provenance(dict[str, Any]):
    """A table's provenance, unchanged; pandas copies what a frame carries at every operation."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def write_table(
    frame: pd.DataFrame,
    path: str | Path,
    provenance: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a table, without its index, and its provenance (JSON), atomically; NaN becomes null.

    Digests of `inputs` join the provenance. Equal frames, provenances and inputs give equal bytes.
    """
    frame = frame.copy(deep=False)
    frame.attrs = {}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = dict(table.schema.metadata or {})
    with digest.write_sealed(path, provenance, inputs) as (partial, source):
        metadata[_KEY] = json.dumps(source, sort_keys=True).encode()
        table = table.replace_schema_metadata(metadata)
        with pq.ParquetWriter(partial, table.schema) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({digest.KEY: digest.BLANK})


def read_table(path: str | Path, expect: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """A table of `write_table`, with its provenance in ``.attrs["provenance"]``.

    OrlaError where it is missing, damaged, not ours, or made from an input that has changed; or
    where the provenance, or a row's column, has another value than `expect` says.
    """
    path, expect = Path(path), expect or {}
    with digest.open_result(path) as content:
        table = pq.read_table(pa.BufferReader(content))
        provenance = json.loads(table.schema.metadata[_KEY])
        digest.check_provenance(path, provenance, expect)
        frame = table.to_pandas()
    for name in frame.columns.intersection(list(expect)):
        for value in frame[name].unique():
            digest.refuse_other_value(path, name, value, expect[name])
    frame.attrs["provenance"] = Provenance(provenance)
    return frame


def read_merged(
    paths: Iterable[str], allow_mixed: bool = False
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Tables by path, and the provenance of what is made from them alone (`merge_provenances`)."""
    tables = {path: read_table(path) for path in paths}
    sources = {path: table.attrs["provenance"] for path, table in tables.items()}
    return tables, merge_provenances(sources, allow_mixed)


def read_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance of a table, without its rows."""
    with digest.open_result(path) as content:
        schema = pq.read_schema(pa.BufferReader(content))
        return dict(json.loads(schema.metadata[_KEY]))


def merge_provenances(
    provenances: Mapping[str, Mapping[str, Any]], allow_mixed: bool = False
) -> dict[str, Any]:
    """The provenance of what is made from several results, merged from theirs by path.

    Equal values are kept; where they differ, ``{"mixed": [...]}`` holds each of them. ``datasets``
    holds every input's ``dataset`` under its task, pair and split. The results' own ``inputs`` are
    left out. OrlaError where two come from different versions of one source file, data set or
    input, or from different locks, and `allow_mixed` is not set.
    """
    if not allow_mixed:
        _refuse_mixed(provenances)
    entries = [
        {k: v for k, v in provenance.items() if k not in ("inputs", "dataset")}
        | {"datasets": _datasets_by_name(provenance)}
        for provenance in provenances.values()
    ]
    return _merge_or_mark_mixed(entries)


def _datasets_by_name(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The data sets of a result, by task, pair and split."""
    datasets = dict(provenance.get("datasets", {}))
    if "dataset" in provenance:
        keys = provenance.get("keys", {})
        name = "/".join(str(keys[k]) for k in ("task", "pair", "split") if keys.get(k))
        datasets[name] = provenance["dataset"]
    return datasets


def _refuse_mixed(provenances: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse (OrlaError) results of different code, data, inputs or locks."""
    paths_by_value = defaultdict(lambda: defaultdict(list))
    for path, provenance in provenances.items():
        for what, name, value in _identities(path, provenance):
            for item in _mixed_values(value):
                paths_by_value[what, name][_canonical_json(item)].append(path)
    different = {k: list(v.values()) for k, v in paths_by_value.items() if len(v) > 1}
    if not different:
        return
    what = next(iter(different))[0]
    names = [name for kind, name in different if kind == what]
    first, second = sorted(different[what, names[0]], key=len)[:2]
    raise OrlaError(
        f"results of different {what} cannot stand in one table: {_first_names(first)} differs from"
        f" {_first_names(second)} in {_first_names(names)}; delete what is out of date and run"
        " again, or set provenance.allow_mixed: true in the config"
    )


def _identities(path: str, provenance: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(kind, name, value) of every entry that must agree between inputs."""
    for file, sha in provenance.get("code", {}).get("files", {}).items():
        yield "code", file, sha
    for name, dataset in _datasets_by_name(provenance).items():
        yield "data", name or "the data set", dataset
    for relative, sha in provenance.get("inputs", {}).items():
        yield "data", os.path.normpath(os.path.join(os.path.dirname(path), relative)), sha
    if "prereg_lock_sha256" in provenance:
        yield "locks", "prereg/LOCK", provenance["prereg_lock_sha256"]


def _merge_or_mark_mixed(values: Sequence[Any]) -> Any:
    """The value that all have, mappings joined key by key; {"mixed": [...]} where they differ."""
    if all(isinstance(value, Mapping) and MIXED not in value for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {n: _merge_or_mark_mixed([v[n] for v in values if n in v]) for n in names}
    distinct = {_canonical_json(item): item for value in values for item in _mixed_values(value)}
    items = [distinct[text] for text in sorted(distinct)]
    return items[0] if len(items) == 1 else {MIXED: items}


def _mixed_values(value: Any) -> list[Any]:
    """All values of a mixed entry, or the one value of another."""
    return value[MIXED] if isinstance(value, Mapping) and MIXED in value else [value]


def _canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _first_names(names: Sequence[str], most: int = 3) -> str:
    """The first names as a list in words, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
