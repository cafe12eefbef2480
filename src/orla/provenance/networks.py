"""Networks in a file: safetensors, with provenance and a digest of itself.

PyTorch is imported where networks are written or read, so that provenance can be read without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orla.errors import OrlaError
from orla.files import atomic
from orla.provenance import digest

if TYPE_CHECKING:
    from torch import Tensor


def save(
    networks: Mapping[str, Tensor],
    path: str | Path,
    provenance: Mapping[str, Any],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write named parameters, (seeds, ...) each, and `provenance` in the file's metadata.

    Args:
        networks: The parameters.
        path: The safetensors file.
        provenance: Anything JSON can hold; see `orla.provenance.tables.write_table`.
        inputs: The files that the networks were made from; their digests join the provenance.

    Raises:
        OrlaError: When the disk is full.
    """
    import safetensors.torch

    tensors = {name: tensor.contiguous() for name, tensor in networks.items()}
    source = {**provenance, "inputs": digest.inputs(path, inputs)}
    # In one entry, because safetensors writes several entries in no fixed order.
    entry = json.dumps({"digest": digest.BLANK, "provenance": source}, sort_keys=True)
    with atomic(path) as partial:
        safetensors.torch.save_file(tensors, partial, metadata={"orla": entry})
        digest.seal(partial)


def load(
    path: str | Path, seeds: int | None = None, expect: Mapping[str, Any] | None = None
) -> dict[str, Tensor]:
    """Read what `save` wrote, on the CPU; the first `seeds` networks, or all, in order of name.

    Args:
        path: The safetensors file.
        seeds: Networks wanted.
        expect: Entries that its provenance must have, such as the condition's keys.

    Raises:
        OrlaError: When the file is missing, damaged, not from `save`, of another condition, holds
            fewer networks, or one of its inputs has changed.
    """
    import safetensors.torch

    with digest.open_result(path) as content:
        digest.check(path, _provenance(content), expect or {})
        networks = dict(sorted(safetensors.torch.load(content).items()))  # it gives no fixed order
    for name, tensor in networks.items():
        if seeds is not None and len(tensor) < seeds:
            raise OrlaError(
                f"{path}: {name} holds {len(tensor)} networks, not {seeds}; delete it and run again"
            )
    return {name: tensor[:seeds] for name, tensor in networks.items()}


def provenance(path: str | Path) -> dict[str, Any]:
    """The provenance of a file of networks.

    Raises:
        OrlaError: When the file is missing, damaged or not from `save`.
    """
    with digest.open_result(path) as content:
        return _provenance(content)


def _provenance(content: bytes) -> dict[str, Any]:
    """From the header: its length in 8 bytes, then JSON (safetensors' format)."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["orla"])["provenance"]
