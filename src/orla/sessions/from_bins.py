"""Streams of two binned sessions."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.account import Account
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence, same_channels
from orla.sessions.parts import pretraining_steps
from orla.sessions.preparation import Features, Preparation, columns_of, inputs_of
from orla.sessions.projection import METHODS
from orla.sessions.scaling import Pair, Scaling
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream

# What the account of a session says where components are not shared.
OWN = "each session's own"


def prepare_binned(
    a: Binned,
    b: Binned,
    correspondence: Correspondence,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
) -> Streams:
    """Make the streams of two binned sessions.

    Where column i of one session is not the unit of column i of the other (`columns: different`),
    no weights fitted on A can be applied to B's columns. Each session is then reduced to the
    components of its own inputs: A's are fitted on its pretraining part, B's on its first
    `features.own_fit` steps. The stream of B begins after those steps, so that no input depends on
    a later step. (Components fitted anew as steps arrive would depend on no later step either, but
    they turn and change places, and a network would have to follow that too.) Targets are not used.
    Components are in order of variance; the sum of the loadings fixes their sign. On the same steps
    `features.align` turns B's components onto A's, by the channels of one name, where names last.
    Scaling is by A alone. Where columns correspond, channels or components are chosen on A's
    pretraining part and used on both, unless `features.of` is "own" or they are aligned.

    Args:
        a: the recording to pretrain on.
        b: the recording to adapt to.
        correspondence: whether their columns are the same, and how that is known.
        preparation: bins, transform and features.
        tail_steps: A's tail, as in `parts.parts`; nothing is fitted on it.
        dataset: as in `from_spikes.prepare`.

    Raises:
        OrlaError: bins of another width than the config's, too few columns or steps, columns that
            cannot correspond or that B lacks, features that the columns do not allow, a constant
            input or target, or a category that A's pretraining part lacks.
    """
    _require_alike(a, b, correspondence, preparation)
    features, names, raw = preparation.features, (a.name, b.name), (a.inputs, b.inputs)
    labels, left_out = _names(a.keys), _own_fit_steps(b, correspondence, preparation)
    n = pretraining_steps(len(a.inputs), tail_steps)
    about: dict[str, Any] = {"reduction": features.method, "transform": preparation.transform}
    about |= a.about | {"fitted_on": "pretraining part of session A"}
    if left_out:
        whole, pairs = (slice(None), slice(None)), _pairs(a, b)
        inputs = inputs_of(raw, whole, [], n, preparation, names, left_out, pairs)
        about["fitted_on"] += (
            f"; session B's {METHODS[features.method]}, without targets, on its first "
            f"{left_out} steps, which are left out of its stream"
        )
        alignment, channels = f"{OWN} {METHODS[features.method]}", None
        if features.align:
            about["align"] = features.align
            about["stable"] = [labels[i] for i in pairs[inputs.stable, 0].tolist()]
            alignment += (
                f", B's turned onto A's by {features.align} over {len(inputs.stable)} of the "
                f"{len(pairs)} channels that both have"
            )
    else:
        on_a = columns_of(a.inputs[:n], features, a.name)
        keys = [a.keys[i] for i in on_a]
        on_b = same_channels(keys, b.keys, *names)
        if a.keys[0] == 0:
            about["columns"] = on_a.tolist()
        else:
            about["channels"] = [labels[i] for i in on_a]
        columns = [a.columns[i] if a.columns else f"column {i}" for i in on_a]
        inputs = inputs_of(raw, (on_a, np.array(on_b)), columns, n, preparation, names)
        channels, alignment = len(on_a), ""
        if features.method in METHODS:
            alignment = f"{METHODS[features.method]} of session A"
    readings = {
        side: reading.record() | {"channels": _names(recording.keys)}
        for side, reading, recording in zip("ab", inputs.readings, (a, b), strict=True)
    }
    if a.targets.ndim > 1:
        scaling, classes = Scaling.fit(a.targets[:n], a.outputs, a.name), None
        targets = scaling(a.targets), scaling(b.targets)
        readings["target"] = {name: value.tolist() for name, value in vars(scaling).items()}
    else:
        targets, classes = _category_indices(a, b, n)
        about["categories"] = classes.tolist()
    streams, accounts = [], {}
    for side, recording, rows, target in zip("ab", (a, b), inputs[:2], targets, strict=True):
        stream, account = Stream(rows, target, *recording.masks()), dict(recording.account)
        if side == "b" and left_out:
            stream = stream.part(slice(left_out, None))
            seconds_of_fit = {"B's components are fitted on it": round(left_out * b.bin_s, 3)}
            account["seconds_dropped"] = account.get("seconds_dropped", {}) | seconds_of_fit
        streams.append(stream)
        of_channels = recording.inputs.shape[1]
        accounts[side] = Account(
            steps=len(stream),
            scored=len(stream) if stream.scored is None else int(stream.scored.sum()),
            stretches=1 if recording.begins is None else int(recording.begins.sum()),
            channels=channels or of_channels,
            of_channels=of_channels,
            correspondence=correspondence.columns,
            because=correspondence.because,
            alignment=alignment,
            **account,
        )
        if not dataset.get("simulated"):
            print(f"{recording.name}: {accounts[side]}", file=sys.stderr)
    if not dataset.get("simulated") and 2 * accounts["a"].channels < accounts["a"].of_channels:
        print(
            f"warning: only {accounts['a'].channels} of {accounts['a'].of_channels} channels are "
            "inputs; features.count says how many",
            file=sys.stderr,
        )
    record = {
        "features": about,
        "account": {side: asdict(account) for side, account in accounts.items()},
    }
    categories = None if classes is None else len(classes)
    return Streams(*streams, preparation.bin_s, dataset | record, categories, readings)


def _names(keys: list[Any]) -> list[Any]:
    """Channels in a record: names, with the array where two have one; or numbers of columns."""
    if keys[0] == 0:
        return keys
    count = Counter(name for _, name in keys)
    return [name if count[name] == 1 else f"{array} {name}" for array, name in keys]


def _pairs(a: Binned, b: Binned) -> np.ndarray:
    """(channels, 2): columns of both sessions that have one array and name, or one number."""
    columns = {key: i for i, key in enumerate(b.keys)}
    pairs = [(i, columns[key]) for i, key in enumerate(a.keys) if key in columns]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _require_alike(
    a: Binned, b: Binned, correspondence: Correspondence, preparation: Preparation
) -> None:
    target, columns, option = a.about["target"], correspondence.columns, correspondence.option
    for recording in (a, b):
        if not np.isclose(recording.bin_s, preparation.bin_s, rtol=1e-6, atol=0):
            raise OrlaError(
                f"{recording.name}: bin_s is {recording.bin_s:g}, but preparation.bin_s of the "
                f"config is {preparation.bin_s:g}; set it to {recording.bin_s:g} and bin both alike"
            )
    if a.targets.shape[1:] != b.targets.shape[1:]:
        raise OrlaError(
            f"{b.name}: {target} has shape {b.targets.shape}, but {a.targets.shape} in "
            f"{a.name}; give both the same columns"
        )
    by_number = a.keys[0] == 0
    if columns == "same" and by_number and a.inputs.shape[1] != b.inputs.shape[1]:
        raise OrlaError(
            f"{b.name}: {b.inputs.shape[1]} columns, but {a.inputs.shape[1]} in {a.name}, so they "
            f'do not correspond; set {option} to "different", or take other files'
        )
    features = preparation.features
    if columns != "same" and (features.method not in METHODS or features.of == "shared"):
        key = "of" if features.method in METHODS else "method"
        raise OrlaError(
            f'config: preparation.features.{key} is "{getattr(features, key)}", but channels of '
            f"{a.name} and {b.name} are different ({correspondence.because}); set "
            + (f'{option} to "same" where they are, else ' if option else "")
            + "features to {method: pca, of: own}"
        )
    options = {"of": "own" if features.of == "own" else None, "align": features.align}
    for key, value in options.items():
        if value and features.method not in METHODS:
            raise OrlaError(
                f'config: preparation.features.{key} is "{value}", but method is '
                f'"{features.method}", which takes the same channels of both sessions; set method '
                f"to pca or factors, or leave {key} out"
            )
    if features.align:
        _require_alignable(a, b, correspondence, features)


def _require_alignable(
    a: Binned, b: Binned, correspondence: Correspondence, features: Features
) -> None:
    place = f'config: preparation.features.align is "{features.align}"'
    if features.of == "shared":
        raise OrlaError(
            f'{place}, but of is "shared": components of session A need none; leave one of them out'
        )
    if features.align == "aligned_factors" and features.method != "factors":
        raise OrlaError(f'{place}, but method is "{features.method}"; set method to factors')
    option = correspondence.option
    if not correspondence.names_last:
        raise OrlaError(
            f"{place}, but no channel of {a.name} has a name that lasts ({correspondence.because});"
            " leave align out"
            + (f", or set {option} where names are those of electrodes" if option else "")
        )
    if a.keys[0] == 0 and len(a.keys) != len(b.keys):
        raise OrlaError(
            f"{place}, but {b.name} has {len(b.keys)} columns and {a.name} {len(a.keys)}, so that "
            "their numbers name no channel; save the same channels in one order"
        )


def _own_fit_steps(b: Binned, correspondence: Correspondence, preparation: Preparation) -> int:
    """First steps of B that its own components are fitted on; 0 where A's serve both."""
    features = preparation.features
    separate = features.align or correspondence.columns != "same"
    if (features.of or ("own" if separate else "shared")) == "shared":
        return 0
    size, steps = features.own_fit, len(b.inputs)
    left_out = size if isinstance(size, int) else int(size * steps + 1e-9)
    if not 0 < left_out < steps:
        raise OrlaError(
            f"{b.name}: features.own_fit is {size}, which leaves {max(steps - left_out, 0)} of "
            f"{steps} steps to adapt to; give fewer steps, or a fraction in (0, 1)"
        )
    return left_out


def _category_indices(a: Binned, b: Binned, n_pretraining: int) -> tuple[Pair, np.ndarray]:
    """Indices of the categories of A's pretraining part, and those categories."""
    target, classes = a.about["target"], np.unique(a.targets[:n_pretraining])
    if len(classes) < 2:
        raise OrlaError(
            f"{a.name}: {target} is {classes[0]} all over the pretraining part; there is "
            "nothing to tell apart"
        )
    for recording in (a, b):
        if (strange := np.setdiff1d(recording.targets, classes)).size:
            raise OrlaError(
                f"{recording.name}: {target} {strange[0]} does not occur in the pretraining "
                f"part of {a.name}; lower parts.tail_steps, or leave those steps out"
            )
    return (np.searchsorted(classes, a.targets), np.searchsorted(classes, b.targets)), classes
