"""Tidy tables in parquet, each with its provenance and a digest of itself inside the file."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from orla.files import atomic
from orla.provenance import digest
from orla.provenance.merge import merge

_KEY = b"orla"


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
    source = {**provenance, "inputs": digest.inputs(path, inputs)}
    metadata[_KEY] = json.dumps(source, sort_keys=True).encode()
    table = table.replace_schema_metadata(metadata)
    with atomic(path) as partial:
        with pq.ParquetWriter(partial, table.schema) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({digest.KEY: digest.BLANK})
        digest.seal(partial)


def read_table(path: str | Path, expect: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """A table of `write_table`, with its provenance in ``.attrs["provenance"]``.

    OrlaError where it is missing, damaged, not ours, or made from an input that has changed; or
    where the provenance, or a row's column, has another value than `expect` says.
    """
    path, expect = Path(path), expect or {}
    with digest.open_result(path) as content:
        table = pq.read_table(pa.BufferReader(content))
        provenance = json.loads(table.schema.metadata[_KEY])
        digest.check(path, provenance, expect)
        frame = table.to_pandas()
    for name in frame.columns.intersection(list(expect)):
        for value in frame[name].unique():
            digest.refuse_other(path, name, value, expect[name])
    frame.attrs["provenance"] = Provenance(provenance)
    return frame


def read_merged(
    paths: Iterable[str], allow_mixed: bool = False
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Tables by path, and the provenance of what is made from them alone (`merge.merge`)."""
    tables = {path: read_table(path) for path in paths}
    sources = {path: table.attrs["provenance"] for path, table in tables.items()}
    return tables, merge(sources, allow_mixed)


def provenance(path: str | Path) -> dict[str, Any]:
    """The provenance of a table, without its rows."""
    with digest.open_result(path) as content:
        schema = pq.read_schema(pa.BufferReader(content))
        return dict(json.loads(schema.metadata[_KEY]))
