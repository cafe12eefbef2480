"""Seeds of simulated pairs that follow from a lock, so that nobody can pick them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orla.errors import OrlaError
from orla.prereg.lock import read_lock


def add_lock_seeds(tasks: Mapping[str, Any], folders: Sequence[str]) -> dict[str, Any]:
    """The tasks of a config, with the seeds of pairs with `seed_from` whose file is locked.

    folders: of the config's registrations. OrlaError: a file lies in none of them, whose locks
        nothing would verify before a verdict; or its lock is not whole.
    """
    with_seeds = {}
    for task, spec in tasks.items():
        pairs = {
            name: _add_lock_seed(f"tasks.{task}.pairs.{name}", name, pair, folders)
            for name, pair in spec.get("pairs", {}).items()
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


def _add_lock_seed(
    place: str, name: str, pair: Mapping[str, Any], folders: Sequence[str]
) -> Mapping[str, Any]:
    if "seed_from" not in pair:
        return pair
    if "seed" in pair:
        raise OrlaError(f'config: "{place}" has seed and seed_from; keep one of them')
    file = Path(pair["seed_from"])
    if file.parent not in map(Path, folders):
        raise OrlaError(
            f'config: "{place}.seed_from" is {file}, in none of registrations.folders; add'
            f" {file.parent} there"
        )
    if (line := read_lock(file.parent).get(file.name)) is None:
        return pair
    # Of the SHA-256 of the registration as it was locked, and the pair's name.
    seed = hashlib.sha256(f"{line.sha256} {name}".encode()).digest()[:4]
    return {**pair, "seed": int.from_bytes(seed, "big")}
