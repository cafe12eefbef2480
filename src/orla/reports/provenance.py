"""Provenance as lines of text: all of them, and the main ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SHORT = ("code", "cpu_capability", "platform", "threads", "prereg_lock_sha256")
_SHORT_VERSIONS = ("orla", "python", "torch", "numpy")


def lines(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Nested provenance as {"versions, torch": value, ...}."""
    return dict(_flat(provenance))


def short(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Code without its files, main versions, machine and lock."""
    return {name: value for name, value in _flat(provenance) if _is_short(name)}


def _is_short(name: str) -> bool:
    head, _, rest = name.partition(", ")
    if head == "versions":
        return rest in _SHORT_VERSIONS
    return head in _SHORT and not rest.startswith("files")


def _flat(provenance: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in provenance.items():
        name = f"{prefix}, {key}" if prefix else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value)) or "none"
        else:
            yield name, "unknown" if value is None else str(value)
