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
    """A table's provenance, which is not changed once it is read.

    pandas makes a deep copy of what a frame carries at nearly every operation, for each row of a
    loop too; this one answers such a copy with itself.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def write_table(
    frame: pd.DataFrame,
    path: str | Path,
    provenance: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write `frame` as parquet, atomically, with `provenance` in the file's schema metadata.

    Args:
        frame: Any tidy table; the index is dropped. NaN is stored as null. Equal frames,
            provenances and inputs give equal bytes.
        path: The parquet file.
        provenance: Anything JSON can hold, as from `orla.provenance.collect`; `read_table` can
            check its entries and those under ``keys``.
        inputs: The files that the table was made from; their digests join the provenance.

    Raises:
        OrlaError: When the disk is full.
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
    """Read a table of `write_table`; its provenance is in ``.attrs["provenance"]``.

    Args:
        path: The parquet file.
        expect: Entries that its provenance must have, such as the condition's keys and ``seeds``;
            a column of the same name must hold this value in every row.

    Raises:
        OrlaError: When the file is missing, damaged, not from `write_table`, of another condition
            than expected, or one of its inputs has changed.
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
    """The provenance of a table, without its rows.

    Raises:
        OrlaError: When the file is missing, damaged or not from `write_table`.
    """
    with digest.open_result(path) as content:
        schema = pq.read_schema(pa.BufferReader(content))
        return dict(json.loads(schema.metadata[_KEY]))
