"""Streams of two binned sessions."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions import channels, input_transform
from orla.sessions.binned import Binned
from orla.sessions.input_transform import METHODS, TRANSFORMS, InputTransform, Projection, Scaling
from orla.sessions.parts import pretraining_steps
from orla.sessions.preparation import Features, Preparation
from orla.sessions.session import Account
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream

# What the account of a session says where components are not shared.
OWN_COMPONENTS = "each session's own"


def prepare_binned(
    a: Binned,
    b: Binned,
    correspondence: channels.Correspondence,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
) -> Streams:
    """The streams of two binned sessions: one to pretrain on, one to adapt to.

    Where columns correspond, channels or components are chosen on A's pretraining part and used on
    both, unless `features.of` is "own" or they are aligned. Else each session is reduced to
    components of its own, B's fitted on its first `features.own_fit` steps, after which its stream
    begins, so that no input depends on a later step; on these `features.align` turns them onto A's,
    by the channels of one name. Scaling is by A alone. A's tail is `tail_steps` as in
    `parts.cut_sessions`; the record is `dataset` with what was done. OrlaError: as
    `channels.require_compatible`; too few columns or steps, columns that B lacks, a constant input
    or target, or a category that A's pretraining part lacks.
    """
    channels.require_compatible(a, b, correspondence, preparation)
    features, days = preparation.features, (a, b)
    fit_steps = _own_fit_steps(b, correspondence, features)
    n = pretraining_steps(len(a.inputs), tail_steps)
    components, alignment = METHODS.get(features.method, ""), ""
    about: dict[str, Any] = {"reduction": features.method, "transform": preparation.transform}
    about |= a.about | {"fitted_on": "pretraining part of session A"}
    columns: Sequence[slice | np.ndarray] = (slice(None), slice(None))
    if fit_steps:
        about["fitted_on"] += (
            f"; session B's {components}, without targets, on its first {fit_steps} steps, which "
            "are left out of its stream"
        )
        alignment = f"{OWN_COMPONENTS} {components}"
    else:
        input_transform.require_enough(a.inputs.shape[1], features.count, a.name, "channels")
        on_a = np.arange(a.inputs.shape[1])
        if components:
            alignment = f"{components} of session A"
        else:
            on_a = channels.top_channels(a.inputs[:n], features.count)
        columns = on_a, np.array(channels.find_same_channels(on_a, a, b))
        about["columns" if a.by_number else "channels"] = [a.channel_labels[i] for i in on_a]
    inputs, readings, stable_pairs = _transform_and_align_inputs(
        days, columns, n, preparation, fit_steps
    )
    if features.align:
        stable, pairs = stable_pairs
        names = [a.channel_labels[i] for i in pairs[stable, 0]]
        about |= {"align": features.align, "stable": names}
        alignment += (
            f", B's turned onto A's by {features.align} over {len(stable)} of the {len(pairs)} "
            "channels that both have"
        )
    if a.targets.ndim > 1:
        target_scaling = Scaling.fit(a.targets[:n], a.outputs, a.name, _constant_target_hint(a, n))
        categories = None
        targets = [target_scaling(day.targets) for day in days]
        readings["target"] = {name: value.tolist() for name, value in vars(target_scaling).items()}
    else:
        classes = _pretraining_categories(a, b, n)
        targets, categories = [np.searchsorted(classes, day.targets) for day in days], len(classes)
        about["categories"] = classes.tolist()
    streams, accounts = [], {}
    for side, day, rows, target in zip("ab", days, inputs, targets, strict=True):
        stream, account = Stream(rows, target, *day.scored_and_start_masks()), dict(day.account)
        if side == "b" and fit_steps:
            stream = stream.slice_steps(slice(fit_steps, None))
            seconds_of_fit = {"B's components are fitted on it": round(fit_steps * b.bin_s, 3)}
            account["seconds_dropped"] = account.get("seconds_dropped", {}) | seconds_of_fit
        streams.append(stream)
        accounts[side] = Account(
            steps=len(stream),
            scored=int(stream.mask.sum()),
            stretches=1 if day.begins is None else int(day.begins.sum()),
            channels=day.inputs.shape[1] if fit_steps else len(columns[0]),
            of_channels=day.inputs.shape[1],
            correspondence=correspondence.columns,
            because=correspondence.because,
            alignment=alignment,
            **account,
        )
    if not dataset.get("simulated"):
        for day, account in zip(days, accounts.values(), strict=True):
            print(f"{day.name}: {account}", file=sys.stderr)
        of_a = accounts["a"]
        if 2 * of_a.channels < of_a.of_channels:
            print(
                f"warning: only {of_a.channels} of {of_a.of_channels} channels are inputs; "
                "features.count says how many",
                file=sys.stderr,
            )
    account_records = {side: asdict(account) for side, account in accounts.items()}
    record = dataset | {"features": about, "account": account_records}
    return Streams(*streams, preparation.bin_s, record, categories, readings)


def _transform_and_align_inputs(
    days: tuple[Binned, Binned],
    columns: Sequence[slice | np.ndarray],
    n_pretraining: int,
    preparation: Preparation,
    b_fit_steps: int,
) -> tuple[list[np.ndarray], dict[str, Any], tuple[np.ndarray, np.ndarray] | None]:
    """Inputs of both sessions (steps, inputs) of their `columns`, scaled by A's pretraining part.

    B's components are A's, or its own, fitted on its first `b_fit_steps`. Also the records of the
    `InputTransform` of "a" and of "b"; and, where B's components are aligned, the rows of pairs
    that are stable, and the pairs (channels, 2), columns of A and B of one array and name.
    """
    features, (a, b), alignment = preparation.features, days, None
    transform, method, count = TRANSFORMS[preparation.transform], features.method, features.count
    rows = [transform(day.inputs[:, part]) for day, part in zip(days, columns, strict=True)]
    projections: tuple[Projection | None, ...] = (None, None)
    if method in METHODS:
        names = [f"component {i + 1}" for i in range(count)]
        projection_b = projection_a = Projection.fit(rows[0][:n_pretraining], count, a.name, method)
        if b_fit_steps:
            projection_b = Projection.fit(rows[1][:b_fit_steps], count, b.name, method)
        if features.align:
            pairs = [(i, b.keys.index(key)) for i, key in enumerate(a.keys) if key in b.keys]
            pairs = np.array(pairs, dtype=int).reshape(-1, 2)
            projection_b, stable = input_transform.align_b_on_stable_pairs(
                projection_a, projection_b, pairs, features.align, features.stable, b.name
            )
            alignment = stable, pairs
        projections = projection_a, projection_b
        rows = [projection_a(rows[0]), projection_b(rows[1])]
    else:
        names = [a.columns[i] for i in columns[0]]
    mend = "ask for fewer inputs (features.count)"
    if preparation.units == "sorted":
        mend = f'set preparation.units to "all", {mend}'
    scaling, readings = Scaling.fit(rows[0][:n_pretraining], names, a.name, mend), {}
    for side, day, part, projection in zip("ab", days, columns, projections, strict=True):
        weights, offset = np.eye(len(scaling.sd)), -scaling.mean
        if projection:
            weights, offset = projection.weights, offset - projection.mean @ projection.weights
        numbers = np.arange(day.inputs.shape[1])[part]
        affine = weights / scaling.sd, offset / scaling.sd
        whole = InputTransform(preparation.transform, day.channel_labels, numbers, *affine)
        readings[side] = whole.to_record()
    return [scaling(each) for each in rows], readings, alignment


def _constant_target_hint(a: Binned, n_pretraining: int) -> str:
    """What may be decoded where a column of the target is constant over A's pretraining part."""
    if not (vary := np.flatnonzero(np.ptp(a.targets[:n_pretraining], axis=0)).tolist()):
        return "decode another series or array"
    return "leave that column out of the array" if a.by_number else f"set nwb.columns to {vary}"


def _own_fit_steps(b: Binned, correspondence: channels.Correspondence, features: Features) -> int:
    """First steps of B that its own components are fitted on; 0 where A's serve both."""
    is_own = features.align or correspondence.columns != "same"
    if features.of == "shared" or not (features.of or is_own):
        return 0
    size, steps = features.own_fit, len(b.inputs)
    fit_steps = size if isinstance(size, int) else int(size * steps + 1e-9)
    if not 0 < fit_steps < steps:
        raise OrlaError(
            f"{b.name}: features.own_fit is {size}, which leaves {max(steps - fit_steps, 0)} of "
            f"{steps} steps to adapt to; give fewer steps, or a fraction in (0, 1)"
        )
    return fit_steps


def _pretraining_categories(a: Binned, b: Binned, n_pretraining: int) -> np.ndarray:
    """The categories of A's pretraining part, two at least, which all steps of both have."""
    target, classes = a.about["target"], np.unique(a.targets[:n_pretraining])
    if len(classes) < 2:
        raise OrlaError(
            f"{a.name}: {target} is {classes[0]} all over the pretraining part; there is "
            "nothing to tell apart"
        )
    for day in (a, b):
        if (strange := np.setdiff1d(day.targets, classes)).size:
            raise OrlaError(
                f"{day.name}: {target} {strange[0]} does not occur in the pretraining "
                f"part of {a.name}; lower parts.tail_steps, or leave those steps out"
            )
    return classes
