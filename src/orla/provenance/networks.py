"""Networks in a file: safetensors, with provenance and a digest of itself.

PyTorch is imported where networks are written or read, so that provenance can be read without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orla.errors import OrlaError
from orla.provenance import digest

if TYPE_CHECKING:
    from torch import Tensor


def save(
    networks: Mapping[str, Tensor],
    path: str | Path,
    provenance: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write named parameters, (seeds, ...) each, and `provenance` with digests of `inputs`."""
    import safetensors.torch

    tensors = {name: tensor.contiguous() for name, tensor in networks.items()}
    with digest.write_sealed(path, provenance, inputs) as (partial, source):
        # In one entry, because safetensors writes several entries in no fixed order.
        entry = json.dumps({"digest": digest.BLANK, "provenance": source}, sort_keys=True)
        safetensors.torch.save_file(tensors, partial, metadata={"orla": entry})


def load(
    path: str | Path, first_seeds: int | None = None, expect: Mapping[str, Any] | None = None
) -> dict[str, Tensor]:
    """The `first_seeds` networks of a file, or all, on the CPU; refused as by `read_table`."""
    import safetensors.torch

    with digest.open_result(path) as content:
        digest.check_provenance(path, _parse_provenance(content), expect or {})
        networks = dict(sorted(safetensors.torch.load(content).items()))  # it gives no fixed order
    for name, tensor in networks.items():
        if first_seeds is not None and len(tensor) < first_seeds:
            raise OrlaError(
                f"{path}: {name} holds {len(tensor)} networks, not {first_seeds}; delete it and "
                "run again"
            )
    return {name: tensor[:first_seeds] for name, tensor in networks.items()}


def read_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance of a file of networks, without these."""
    with digest.open_result(path) as content:
        return _parse_provenance(content)


def _parse_provenance(content: bytes) -> dict[str, Any]:
    """From the header: its length in 8 bytes, then JSON (safetensors' format)."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["orla"])["provenance"]
