"""Tidy tables in parquet, each with its provenance inside the file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from orla.errors import OrlaError
from orla.files import atomic

_KEY = b"orla"


def write_table(frame: pd.DataFrame, path: str | Path, provenance: Mapping[str, Any]) -> None:
    """Write `frame` as parquet, atomically, with `provenance` in the file's schema metadata.

    Args:
        frame: Any tidy table; the index is dropped. NaN is stored as null. Equal frames and
            provenances give equal bytes.
        path: The parquet file.
        provenance: Anything JSON can hold, as from `orla.provenance.collect`.

    Raises:
        OrlaError: When the disk is full.
    """
    frame = frame.copy(deep=False)
    frame.attrs = {}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = dict(table.schema.metadata or {})
    metadata[_KEY] = json.dumps(provenance, sort_keys=True).encode()
    with atomic(path) as partial:
        pq.write_table(table.replace_schema_metadata(metadata), partial)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of `write_table`; its provenance is in ``.attrs["provenance"]``.

    Raises:
        OrlaError: When the file is missing, is no parquet, or was not written by `write_table`.
    """
    path = Path(path)
    if not path.is_file():
        raise OrlaError(f"{path}: no such table; let snakemake make it: snakemake {path}")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise OrlaError(
            f"{path}: not a parquet table ({error}); delete it and run again"
        ) from error
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise OrlaError(
            f"{path}: written by another program, it has no provenance under the key orla; "
            "delete it and run again"
        )
    frame = table.to_pandas()
    frame.attrs["provenance"] = json.loads(metadata[_KEY])
    return frame
