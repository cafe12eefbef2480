"""Streams of two binned sessions."""

from __future__ import annotations

from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.binned import Binned, Source
from orla.sessions.parts import Sizes, parts
from orla.sessions.preparation import Preparation, columns_of, inputs_of, kept
from orla.sessions.scaling import Pair, scaled
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream


def prepare_binned(
    a: Binned,
    b: Binned,
    source: Source,
    preparation: Preparation,
    sizes: Sizes,
    dataset: dict[str, Any],
) -> Streams:
    """Make the streams of two binned sessions.

    Where column i of one session is not the unit of column i of the other (`columns: different`),
    no weights fitted on A can be applied to B's columns. Each session is then reduced to the
    principal components of its own inputs: A's are fitted on its pretraining part, B's on its first
    `features.own_fit` steps. The stream of B begins after those steps, so that no input depends on
    a later step. (Components fitted anew as steps arrive would depend on no later step either, but
    they turn and change places, and a network would have to follow that too.) Targets are not used.
    Components are in order of variance; the sum of the loadings fixes their sign. Scaling is by A
    alone. Where columns correspond, channels or components are chosen on A's pretraining part and
    used on both, unless `features.of` is "own".

    Args:
        a: the recording to pretrain on.
        b: the recording to adapt to.
        source: meaning of the files' columns and boundaries.
        preparation: bins, transform and features.
        sizes: how both are cut into parts.
        dataset: as in `prepare`.

    Raises:
        OrlaError: bins of another width than the config's, too few columns or steps, an empty part,
            numbers of columns that cannot correspond, features that the columns do not allow, a
            constant input or target, or a category that A's pretraining part lacks.
    """
    _require_alike(a, b, source, preparation)
    left_out = _own_fit_steps(b, source, preparation)
    n = parts(len(a.inputs), len(b.inputs) - left_out, sizes).a_pretraining.stop
    about: dict[str, Any] = {"fitted_on": "pretraining part of session A"}
    if not left_out:
        columns = columns_of(a.inputs[:n], preparation.features, a.name)
        about["columns"] = columns.tolist()
        named = [f"{source.inputs} column {i}" for i in columns]
        raw = (a.inputs[:, columns], b.inputs[:, columns])
        inputs = inputs_of(raw, named, n, preparation, (a.name, b.name))
    else:
        inputs = inputs_of((a.inputs, b.inputs), [], n, preparation, (a.name, b.name), left_out)
        about["fitted_on"] += (
            "; session B's principal components, without targets, on its first "
            f"{left_out} steps, which are left out of its stream"
        )
    if source.kind == "values":
        named = [f"{source.target} column {i}" for i in range(a.targets.shape[1])]
        targets, known = scaled((a.targets, b.targets), n, named, a.name), None
    else:
        targets, known = _numbered(a, b, n, source)
        about["categories"] = known.tolist()
    streams, units = [], len(about.get("columns", ()))
    for recording, rows, target in zip((a, b), inputs, targets, strict=True):
        streams.append(Stream(rows, target, *recording.masks(source.boundaries.state)))
    streams[1] = streams[1].part(slice(left_out, None))
    record = {
        "features": {
            "reduction": preparation.features.method,
            "transform": preparation.transform,
            "target": source.target,
        }
        | about,
        "kept": {
            side: kept(stream, units or recording.inputs.shape[1], recording.inputs.shape[1])
            for side, stream, recording in zip("ab", streams, (a, b), strict=True)
        },
    }
    categories = None if known is None else len(known)
    return Streams(*streams, a.bin_s, dataset | record, categories)


def _require_alike(a: Binned, b: Binned, source: Source, preparation: Preparation) -> None:
    for recording in (a, b):
        if recording.bin_s != preparation.bin_s:
            raise OrlaError(
                f"{recording.name}: bin_s is {recording.bin_s:g}, but preparation.bin_s of the "
                f"config is {preparation.bin_s:g}; set it to {recording.bin_s:g} and bin both alike"
            )
    if a.targets.shape[1:] != b.targets.shape[1:]:
        raise OrlaError(
            f"{b.name}: {source.target} has shape {b.targets.shape}, but {a.targets.shape} in "
            f"{a.name}; give both the same columns"
        )
    if source.columns == "same" and a.inputs.shape[1] != b.inputs.shape[1]:
        raise OrlaError(
            f"{b.name}: {b.inputs.shape[1]} columns, but {a.inputs.shape[1]} in {a.name}, so they "
            'do not correspond; set binned.columns to "different", or take other files'
        )
    features = preparation.features
    if source.columns != "same" and (features.method != "pca" or features.of == "shared"):
        key = "of" if features.method == "pca" else "method"
        raise OrlaError(
            f'config: preparation.features.{key} is "{getattr(features, key)}", but binned.columns '
            f'is "{source.columns}": column i of {a.name} need not be the unit of column i of '
            f'{b.name}; set binned.columns to "same" where it is, else features to '
            "{method: pca, of: own}"
        )
    if features.of == "own" and features.method != "pca":
        raise OrlaError(
            f'config: preparation.features.of is "own", but method is "{features.method}", which '
            "takes the same channels of both sessions; set method to pca, or leave of out"
        )


def _own_fit_steps(b: Binned, source: Source, preparation: Preparation) -> int:
    """First steps of B that its own components are fitted on; 0 where A's serve both."""
    features = preparation.features
    if (features.of or {"same": "shared"}.get(source.columns, "own")) == "shared":
        return 0
    size, steps = features.own_fit, len(b.inputs)
    left_out = size if isinstance(size, int) else int(size * steps + 1e-9)
    if not 0 < left_out < steps:
        raise OrlaError(
            f"{b.name}: features.own_fit is {size}, which leaves {max(steps - left_out, 0)} of "
            f"{steps} steps to adapt to; give fewer steps, or a fraction in (0, 1)"
        )
    return left_out


def _numbered(a: Binned, b: Binned, n_pretraining: int, source: Source) -> tuple[Pair, np.ndarray]:
    """Indices of the categories of A's pretraining part, and those categories."""
    known = np.unique(a.targets[:n_pretraining])
    if len(known) < 2:
        raise OrlaError(
            f"{a.name}: {source.target} is {known[0]} all over the pretraining part; there is "
            "nothing to tell apart"
        )
    for recording in (a, b):
        if (strange := np.setdiff1d(recording.targets, known)).size:
            raise OrlaError(
                f"{recording.name}: {source.target} {strange[0]} does not occur in the pretraining "
                f"part of {a.name}; lower parts.tail_steps, or leave those steps out"
            )
    return (np.searchsorted(known, a.targets), np.searchsorted(known, b.targets)), known
