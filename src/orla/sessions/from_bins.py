"""Streams of two sessions that come binned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.binned import Binned, Source
from orla.sessions.parts import pretraining_steps
from orla.sessions.preparation import (
    Features,
    Pair,
    Preparation,
    columns_of,
    component_names,
    reduced,
    transformed,
)
from orla.sessions.projection import Projection
from orla.sessions.scaling import Scaling
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream


def prepare_binned(
    a: Binned,
    b: Binned,
    source: Source,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    b_fit_steps: int,
    dataset: dict[str, Any],
    names: tuple[str, str] = ("session A", "session B"),
) -> Streams:
    """Make the streams of two sessions that come binned.

    Where column i of one session is not the unit of column i of the other (`columns: different`),
    no weights fitted on A can be applied to B's columns. Each session is then reduced to the
    principal components of its own inputs: A's are fitted on its pretraining part, B's without any
    target on its first `b_fit_steps` steps, which no split scores on. Components are in order of
    variance, their signs fixed by the sum of their loadings. Scaling is by A alone. Where columns
    correspond, channels or components are chosen on A's pretraining part and used on both.

    Args:
        a: the recording to pretrain on.
        b: the recording to adapt to.
        source: what the files hold and what their columns and boundaries mean.
        preparation: bins, transform and features.
        tail_steps: A's tail, as `parts.parts` takes it.
        b_fit_steps: steps of B that its own components are fitted on;
            `Parts.first_selection_cut` is what every split may learn on.
        dataset: as `prepare` takes it.
        names: what errors call the two sessions.

    Raises:
        OrlaError: bins of another width than the config's or each other's, too few columns or
            steps, numbers of columns that cannot correspond, a constant input or target, or a
            category that A's pretraining part lacks.
    """
    for name, recording in zip(names, (a, b), strict=True):
        if recording.bin_s != preparation.bin_s:
            raise OrlaError(
                f"{name}: bin_s is {recording.bin_s:g}, but preparation.bin_s of the config is "
                f"{preparation.bin_s:g}; set it to {recording.bin_s:g}, and bin both alike"
            )
    if a.targets.shape[1:] != b.targets.shape[1:]:
        raise OrlaError(
            f"{names[1]}: {source.target} has shape {b.targets.shape}, but {a.targets.shape} in "
            f"{names[0]}; give both the same columns"
        )
    features = preparation.features
    n_pretraining = pretraining_steps(len(a.inputs), tail_steps)
    if source.columns == "same":
        columns, fitted_on = _same_columns(a, b, n_pretraining, features, names)
        inputs, input_names = reduced(
            (a.inputs[:, columns], b.inputs[:, columns]),
            [f"{source.inputs} column {i}" for i in columns],
            n_pretraining,
            preparation,
            names[0],
        )
    else:
        columns, fitted_on = (
            None,
            (
                "pretraining part of session A; session B's principal components, without targets, "
                f"on its first {b_fit_steps} steps, because columns do not correspond"
            ),
        )
        inputs, input_names = _own_components(a, b, n_pretraining, b_fit_steps, preparation, names)
    x = Scaling.fit(inputs[0][:n_pretraining], input_names, names[0])
    targets, categories = _targets(a, b, n_pretraining, source, names)
    record: dict[str, Any] = {
        "features": {
            "reduction": features.method,
            "transform": preparation.transform,
            "target": source.target,
            "fitted_on": fitted_on,
        },
        "kept": {},
    }
    if columns is not None:
        record["features"]["columns"] = [int(i) for i in columns]
    if categories is not None:
        record["features"]["categories"] = categories
    streams = []
    for side, recording, rows, target in zip("ab", (a, b), inputs, targets, strict=True):
        scored, starts = recording.masks(source.boundaries.state)
        streams.append(Stream(x(rows), target, scored, starts))
        record["kept"][side] = {
            "steps": len(rows),
            "scored": len(rows) if scored is None else int(scored.sum()),
            "units": recording.inputs.shape[1] if columns is None else len(columns),
            "of_units": recording.inputs.shape[1],
        }
    n = None if categories is None else len(categories)
    return Streams(*streams, a.bin_s, dataset | record, categories=n)


def _same_columns(
    a: Binned, b: Binned, n_pretraining: int, features: Features, names: tuple[str, str]
) -> tuple[np.ndarray, str]:
    if a.inputs.shape[1] != b.inputs.shape[1]:
        raise OrlaError(
            f"{names[1]}: {b.inputs.shape[1]} columns, but {a.inputs.shape[1]} in {names[0]}, so "
            'they do not correspond; set binned.columns to "different", or take other files'
        )
    return (
        columns_of(a.inputs[:n_pretraining], features, names[0]),
        "pretraining part of session A",
    )


def _own_components(
    a: Binned,
    b: Binned,
    n_pretraining: int,
    b_fit_steps: int,
    preparation: Preparation,
    names: tuple[str, str],
) -> tuple[Pair, list[str]]:
    """Each session's own principal components."""
    if preparation.features.method != "pca":
        raise OrlaError(
            f'config: preparation.features.method is "{preparation.features.method}", but columns '
            "of these recordings do not correspond across days; set it to pca, or binned.columns to"
            ' "same" where they do'
        )
    count = preparation.features.count
    rows_a, rows_b = transformed(a.inputs, preparation), transformed(b.inputs, preparation)
    on_a = Projection.fit(rows_a[:n_pretraining], count, names[0])
    on_b = Projection.fit(rows_b[:b_fit_steps], count, names[1])
    return (on_a(rows_a), on_b(rows_b)), component_names(count)


def _targets(
    a: Binned, b: Binned, n_pretraining: int, source: Source, names: Sequence[str]
) -> tuple[Pair, list[int] | None]:
    """Values z-scored by A's pretraining part; or the indices of its categories, and those."""
    if source.kind == "values":
        columns = [f"{source.target} column {i}" for i in range(a.targets.shape[1])]
        y = Scaling.fit(a.targets[:n_pretraining], columns, names[0])
        return (y(a.targets), y(b.targets)), None
    known = np.unique(a.targets[:n_pretraining])
    if len(known) < 2:
        raise OrlaError(
            f"{names[0]}: {source.target} is {known[0]} all over the pretraining part; there is "
            "nothing to tell apart"
        )
    for name, labels in zip(names, (a.targets, b.targets), strict=True):
        if (strange := np.setdiff1d(labels, known)).size:
            raise OrlaError(
                f"{name}: {source.target} {strange[0]} does not occur in the pretraining part of "
                f"{names[0]}; lower parts.tail_steps, or leave those steps out"
            )
    return (np.searchsorted(known, a.targets), np.searchsorted(known, b.targets)), known.tolist()
