"""Named arrays in an .npz file, with provenance and a digest of the file in its comment."""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orla.files import MOST_BYTES, read_npz_arrays_and_names
from orla.provenance import digest

_KEY = "orla"


def write_arrays(
    arrays: Mapping[str, np.ndarray],
    path: str | Path,
    provenance: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write arrays, provenance and digests of `inputs`, as `orla.provenance.tables.write_table`."""
    with digest.write_sealed(path, provenance, inputs) as (partial, source):
        np.savez(partial, **arrays, **{_KEY: np.array(json.dumps(source, sort_keys=True))})
        with zipfile.ZipFile(partial, "a") as archive:
            archive.comment = digest.BLANK.encode()


def read_arrays(
    path: str | Path, expect: Mapping[str, Any] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays of `write_arrays` and their provenance; refused as by `tables.read_table`."""
    with digest.open_result(path) as content:
        arrays, _ = read_npz_arrays_and_names(io.BytesIO(content), most_numbers=MOST_BYTES)
        provenance = json.loads(str(arrays.pop(_KEY)))
        digest.check_provenance(path, provenance, expect or {})
    return arrays, provenance


def read_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance of a file of arrays, without the arrays."""
    with digest.open_result(path) as content:
        return dict(
            json.loads(str(read_npz_arrays_and_names(io.BytesIO(content), [_KEY])[0][_KEY]))
        )
