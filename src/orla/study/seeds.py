"""Seeds of simulated pairs that follow from a lock, so that nobody can pick them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orla.errors import OrlaError


def add_lock_seeds(tasks: Mapping[str, Any]) -> dict[str, Any]:
    """The tasks of a config, with the seeds of pairs with `seed_from` whose file is locked."""
    with_seeds = {}
    for task, spec in tasks.items():
        pairs = {
            name: _add_lock_seed(task, name, pair) for name, pair in spec.get("pairs", {}).items()
        }
        with_seeds[task] = spec | {"pairs": pairs} if pairs else spec
    return with_seeds


def remove_lock_seeds(task: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A task without the seeds that `add_lock_seeds` gave it: what a registration can bind."""
    if not task or "pairs" not in task:
        return task
    pairs = {
        name: {k: v for k, v in pair.items() if k != "seed" or "seed_from" not in pair}
        for name, pair in task["pairs"].items()
    }
    return {**task, "pairs": pairs}


def _add_lock_seed(task: str, name: str, pair: Mapping[str, Any]) -> Mapping[str, Any]:
    if "seed_from" not in pair:
        return pair
    if "seed" in pair:
        raise OrlaError(
            f'config: "tasks.{task}.pairs.{name}" has seed and seed_from; keep one of them'
        )
    file = Path(pair["seed_from"])
    lock = file.parent / "LOCK"
    for line in map(str.split, lock.read_text().splitlines() if lock.is_file() else ()):
        if line[2:3] == [file.name]:
            # Of the SHA-256 of the registration as it was locked, and the pair's name.
            seed = hashlib.sha256(f"{line[0]} {name}".encode()).digest()[:4]
            return {**pair, "seed": int.from_bytes(seed, "big")}
    return pair
