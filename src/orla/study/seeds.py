"""Seeds of simulated pairs that follow from a lock, so that nobody can pick them.

Source: docs/protocol.md, Registrations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orla.errors import OrlaError


def from_locks(tasks: Mapping[str, Any]) -> dict[str, Any]:
    """The tasks of a config, pairs with `seed_from` given the seed that follows from it.

    A pair whose file is not locked yet has no seed, and cannot be simulated.

    Raises:
        OrlaError: A pair has a seed of its own as well.
    """
    with_seeds = dict(tasks)
    for name, task in tasks.items():
        pairs = task.get("pairs", {})
        if any("seed_from" in pair for pair in pairs.values()):
            with_seeds[name] = {
                **task,
                "pairs": {p: _with_seed(name, p, g) for p, g in pairs.items()},
            }
    return with_seeds


def without_locks(task: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A task without the seeds that `from_locks` gave it: what a registration can bind."""
    if not task or "pairs" not in task:
        return task
    pairs = {
        name: {k: v for k, v in pair.items() if k != "seed" or "seed_from" not in pair}
        for name, pair in task["pairs"].items()
    }
    return {**task, "pairs": pairs}


def seed_of(file: Path, pair: str) -> int | None:
    """The seed of a pair: of the SHA-256 of a registration as it was locked, and the pair's name.

    None where the file stands in no LOCK.
    """
    lock = file.parent / "LOCK"
    lines = lock.read_text().splitlines() if lock.is_file() else []
    for line in map(str.split, lines):
        if line[2:3] == [file.name]:
            digest = hashlib.sha256(f"{line[0]} {pair}".encode()).digest()
            return int.from_bytes(digest[:4], "big")
    return None


def _with_seed(task: str, name: str, pair: Mapping[str, Any]) -> Mapping[str, Any]:
    if "seed_from" not in pair:
        return pair
    if "seed" in pair:
        raise OrlaError(
            f'config: "tasks.{task}.pairs.{name}" has seed and seed_from; keep one of them'
        )
    seed = seed_of(Path(pair["seed_from"]), name)
    return pair if seed is None else {**pair, "seed": seed}
