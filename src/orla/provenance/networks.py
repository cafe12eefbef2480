"""Networks in a file: safetensors, with provenance."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from orla.errors import OrlaError
from orla.files import atomic


def save(networks: Mapping[str, Tensor], path: str | Path, provenance: Mapping[str, Any]) -> None:
    """Write named parameters, (seeds, ...) each, and `provenance` in the file's metadata.

    Raises:
        OrlaError: When the disk is full.
    """
    tensors = {name: tensor.contiguous() for name, tensor in networks.items()}
    with atomic(path) as partial:
        save_file(tensors, partial, metadata={"orla": json.dumps(provenance, sort_keys=True)})


def load(path: str | Path, seeds: int | None = None) -> dict[str, Tensor]:
    """Read what `save` wrote, on the CPU; the first `seeds` networks, or all.

    Raises:
        OrlaError: When the file is missing, is no such file, or holds fewer networks.
    """
    path = Path(path)
    if not path.is_file():
        raise OrlaError(f"{path}: no such networks; let snakemake make them: snakemake {path}")
    try:
        networks = load_file(path)
    except SafetensorError as error:
        raise OrlaError(
            f"{path}: not a safetensors file ({error}); delete it and run again"
        ) from error
    for name, tensor in networks.items():
        if seeds is not None and len(tensor) < seeds:
            raise OrlaError(
                f"{path}: {name} holds {len(tensor)} networks, not {seeds}; delete it and run again"
            )
    return {name: tensor[:seeds] for name, tensor in networks.items()}
