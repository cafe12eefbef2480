"""The memory model for a workflow that asks while it is read: no PyTorch where it asked before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orla import catalogue, files
from orla.errors import OrlaError
from orla.programs import sources, store

# A part as a config writes it: a short form, or a mapping of `kind` and options.
Spec = str | Mapping[str, Any]


def job_mb(
    architecture: Spec,
    learner: Spec,
    optimizer: Spec,
    *,
    n_in: int,
    n_out: int,
    most: int,
    observers: Mapping[str, Spec] | None = None,
    interventions: Sequence[Spec] = (),
    probes: Sequence[Spec] = (),
    **sizes: Any,
) -> int:
    """`engine.memory.job_mb` of a condition in plain words: megabytes to ask for.

    Answers are kept in the cache folder, by their question and all source files of package and
    plug-ins; PyTorch is imported for a new question alone.

    Args:
        architecture, learner, optimizer, observers, interventions, probes: Of the condition.
        n_in, n_out: Inputs and outputs of the network.
        most: Models computed together, at most.
        sizes: "device", "precision", "steps", "snapshots", "own_streams" as for `engine.memory`.

    Raises:
        OrlaError: A part, an option or the precision is unknown, or the parts do not fit together.
    """
    asked = {
        "architecture": architecture,
        "learner": learner,
        "optimizer": optimizer,
        "n_in": n_in,
        "n_out": n_out,
        "most": most,
        "observers": dict(observers or {}),
        "interventions": list(interventions),
        "probes": list(probes),
        **sizes,
    }
    question = json.dumps(asked, sort_keys=True)
    path = store.folder("memory") / f"{sources.digest()[:32]}.json"
    answers = _read(path)
    if question not in answers:
        answers[question] = _counted(**asked)
        try:
            with files.atomic(path) as partial:
                partial.write_text(json.dumps(answers))
        except (OSError, OrlaError):
            pass  # a full or read-only disk: the next asks again
    return answers[question]


def _read(path: Path) -> dict[str, int]:
    """Answers that were given; none where the file is absent, damaged or not the user's own."""
    try:
        answers = json.loads(path.read_text()) if store.safe(path) else {}
    except (OSError, ValueError):
        return {}
    right = isinstance(answers, dict) and all(type(mb) is int for mb in answers.values())
    return answers if right else {}


def _counted(
    *,
    architecture: Spec,
    learner: Spec,
    optimizer: Spec,
    n_in: int,
    n_out: int,
    observers: Mapping[str, Spec],
    interventions: Sequence[Spec],
    probes: Sequence[Spec],
    **sizes: Any,
) -> int:
    from orla.engine import memory

    network = catalogue.make("architecture", architecture, n_in=n_in, n_out=n_out)
    return memory.job_mb(
        network,
        catalogue.make("learner", learner, architecture=network),
        catalogue.make("optimizer", optimizer),
        observers={
            name: catalogue.make("learner", spec, architecture=network)
            for name, spec in observers.items()
        },
        interventions=[catalogue.make("intervention", spec) for spec in interventions],
        probes=[catalogue.make("probe", spec) for spec in probes],
        **sizes,
    )
