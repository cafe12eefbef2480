"""Which channels of two sessions are the same, and refusals of sessions that do not fit."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from orla.errors import OrlaError
from orla.sessions.binned import Binned
from orla.sessions.input_transform import METHODS
from orla.sessions.preparation import Features, Preparation
from orla.sessions.session import Session

# Steps in a row that are told by, and the share of them that two recordings may have in common.
_SPAN, _MOST_SHARED = 20, 0.1
_ENOUGH = 20_000  # steps by which inputs are compared
_FEWEST_NUMBERS = 3  # that a common divisor is told by
_MOST_SCALE = 8.0  # between standard deviations of inputs, or of targets, of two sessions


@dataclass(frozen=True)
class Correspondence:
    """Whether a channel of session A is the channel of that identity in session B.

    Attributes:
        columns: "same" or "different".
        because: how that is known, or why it is not.
        option: the key of the config that declares it; "" where none does.
        names_last: whether an array and a name mean one electrode on both days, stable or not: what
            components may be aligned by. The number of a sorted unit does not.
    """

    columns: str
    because: str
    option: str = ""
    names_last: bool = True


def judge_correspondence(
    a: Session, b: Session, declared_channels: str | None = None
) -> Correspondence:
    """Whether two sessions have the same channels: declared, or proved by their arrays.

    A channel is proved to be the same by the names of its array and of itself, in recordings of
    one subject. The number of a sorted unit proves nothing: each day's sorter numbers anew.
    """
    if declared_channels is not None:
        return Correspondence(declared_channels, "the config says so")
    different = partial(Correspondence, "different", names_last=False)
    for session in (a, b):
        if not all(session.arrays):
            return different(
                f"units of {session.name} have no electrodes of their own, and each sorting "
                "numbers units anew"
            )
    is_one_subject = a.subject.casefold() == b.subject.casefold()
    if a.subject and b.subject and not is_one_subject:
        return different(f"{a.name} is of subject {a.subject}, {b.name} of {b.subject}")
    numbers = all(name.startswith("electrode ") for name in (*a.channels, *b.channels))
    if numbers and (a.channels, a.arrays) != (b.channels, b.arrays):
        counts = f"{len(a.channels)} of {a.name}, {len(b.channels)} of {b.name}"
        return different(f"electrodes have numbers alone: {counts}", names_last=True)
    for verb, word, attribute in (("is", "in", "areas"), ("lies", "at", "places")):
        places_a, places_b = (
            dict(zip(zip(s.arrays, s.channels, strict=True), getattr(s, attribute), strict=False))
            for s in (a, b)
        )
        for array, name in sorted(places_a.keys() & places_b.keys()):
            here, there = places_a[array, name], places_b[array, name]
            if here.casefold() != there.casefold() and "unknown" not in (here, there):
                at = f"{word} {here} in {a.name} and {word} {there} in {b.name}"
                return different(f"{array} {name} {verb} {at}")
    is_named = is_one_subject and a.subject
    whose = f"subject {a.subject}" if is_named else "no other subject is named"
    return Correspondence("same", f"names of arrays and electrodes; {whose}")


def find_same_channels(columns: Sequence[int], a: Binned, b: Binned) -> list[int]:
    """Columns of session B that are the channels of these columns of session A."""
    keys, on_b = [a.keys[i] for i in columns], {key: i for i, key in enumerate(b.keys)}
    if absent := [key for key in keys if key not in on_b]:
        array, name = absent[0] if isinstance(absent[0], tuple) else ("", str(absent[0]))
        first = name if name.startswith(array) else f"{array} {name}"
        raise OrlaError(
            f"{b.name}: lacks {len(absent)} of the {len(keys)} channels of {a.name} (the first is "
            f"'{first}'); take two sessions of one array, or declare other channels: "
            "channels: different, with features {method: pca, of: own}"
        )
    return [on_b[key] for key in keys]


def require_compatible(
    a: Binned, b: Binned, correspondence: Correspondence, preparation: Preparation
) -> None:
    """Refuse bins of another width, other targets, features that the channels do not allow.

    A recording that was saved twice, under two names, is refused too: nothing drifts in it. One
    that is given as both, itself, is meant: drift is made in it.
    """
    target, columns, option = a.about["target"], correspondence.columns, correspondence.option
    if not np.isclose(a.bin_s, b.bin_s, rtol=1e-6, atol=0):
        raise OrlaError(
            f"{b.name}: bin_s is {b.bin_s:g}, but {a.bin_s:g} in {a.name}; bin both alike"
        )
    for recording in (a, b):
        if not np.isclose(recording.bin_s, preparation.bin_s, rtol=1e-6, atol=0):
            raise OrlaError(
                f"{recording.name}: bin_s is {recording.bin_s:g}, but preparation.bin_s of the "
                f"config is {preparation.bin_s:g}; set it to {recording.bin_s:g}"
            )
    if a.targets.shape[1:] != b.targets.shape[1:]:
        raise OrlaError(
            f"{b.name}: {target} has shape {b.targets.shape}, but {a.targets.shape} in "
            f"{a.name}; give both the same columns"
        )
    if columns == "same" and a.by_number and a.inputs.shape[1] != b.inputs.shape[1]:
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
    key = "of" if features.of == "own" else "align"
    if features.method not in METHODS and (features.of == "own" or features.align):
        raise OrlaError(
            f'config: preparation.features.{key} is "{getattr(features, key)}", but method is '
            f'"{features.method}", which takes the same channels of both sessions; set method to '
            f"pca or factors, or leave {key} out"
        )
    if features.align:
        _require_alignable(a, b, correspondence, features)
    if a is not b:
        _require_other_steps(a, b)
        _require_alike_inputs(a, b)
        if a.targets.ndim == 2:
            _require_one_scale(a, b, "targets", [a.targets, b.targets])


def _require_other_steps(a: Binned, b: Binned) -> None:
    """Refuse sessions of which one is the other, or a part of it, saved under another name.

    Equal targets are printed: some stimuli are the same on every day.
    """
    if np.array_equal(a.inputs, b.inputs) and np.array_equal(a.targets, b.targets):
        raise OrlaError(f"{a.name} and {b.name} hold the same steps; give two recordings")
    if (share := _shared_steps(a.inputs, b.inputs)) > _MOST_SHARED:
        raise OrlaError(
            f"{share:.0%} of the inputs of {b.name} stand in {a.name} too, step for step; give two "
            "recordings that share no time"
        )
    if a.targets.ndim == 2 and (share := _shared_steps(a.targets, b.targets)) > _MOST_SHARED:
        print(
            f"{share:.0%} of the targets of {b.name} stand in {a.name} too, step for step: a "
            "network has seen them in pretraining, unless this is one stimulus on both days",
            file=sys.stderr,
        )


def _shared_steps(on_a: np.ndarray, on_b: np.ndarray) -> float:
    """The share of spans of steps of B that are spans of A too."""
    keys, tells = [], []
    for values in (on_a, on_b):
        rows = np.array([hash(row.tobytes()) for row in values])
        spans = np.lib.stride_tricks.sliding_window_view(rows, min(_SPAN, len(rows)))
        keys.append((spans * 3 ** np.arange(spans.shape[1])).sum(axis=1))
        # A row over and over, as where all is silent, tells nothing.
        tells.append((np.diff(spans, axis=1) != 0).sum(axis=1) > _SPAN // 2)
    return float((tells[1] & np.isin(keys[1], keys[0][tells[0]])).mean())


def _require_alike_inputs(a: Binned, b: Binned) -> None:
    """Refuse inputs of which only one session's are whole numbers, negative, or far larger."""
    if not (a.by_number and b.by_number):
        return
    some = [day.inputs[:: len(day.inputs) // _ENOUGH + 1] for day in (a, b)]
    for words, holds, (low, high) in (
        ("whole numbers", lambda x: x == np.floor(x), (0.95, 0.99)),
        ("negative in part", lambda x: x < 0, (0.001, 0.1)),
    ):
        shares = [holds(x).mean() for x in some]
        if min(shares) < low and max(shares) > high:
            one, other = (a, b) if shares[0] > shares[1] else (b, a)
            raise OrlaError(
                f"inputs of {one.name} are {words}, those of {other.name} are not; prepare both "
                "alike"
            )
    if a.inputs.shape[1] == b.inputs.shape[1]:
        _require_one_scale(a, b, "inputs", some)
    divisors = [*map(_common_divisor, some)]
    if max(divisors) > 1 == min(divisors):
        day = a if divisors[0] > 1 else b
        raise OrlaError(
            f"inputs of {day.name} are all multiples of {max(divisors)}, those of the other session"
            " are not; give the spikes of each bin of both, no rates"
        )


def _common_divisor(inputs: np.ndarray) -> int:
    """The largest number that divides all inputs; 1 of fractions, and of too few to tell."""
    numbers = np.unique(np.abs(inputs[inputs != 0]))
    is_whole = len(numbers) >= _FEWEST_NUMBERS and (numbers == np.floor(numbers)).all()
    return int(np.gcd.reduce(numbers.astype(np.int64))) if is_whole else 1


def _require_one_scale(a: Binned, b: Binned, what: str, values: list[np.ndarray]) -> None:
    """Refuse inputs, or targets, of which one session's are far larger than the other's."""
    sizes = [np.median(x.std(axis=0)) for x in values]
    if min(sizes) > 0 and max(sizes) > _MOST_SCALE * min(sizes):
        raise OrlaError(
            f"{what} of {b.name} have a standard deviation of {sizes[1]:.3g}, those of {a.name} of "
            f"{sizes[0]:.3g}; give both in one unit"
        )


def _require_alignable(
    a: Binned, b: Binned, correspondence: Correspondence, features: Features
) -> None:
    """Refuse an alignment that the features or the names of channels do not allow."""
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
    if a.by_number and len(a.keys) != len(b.keys):
        raise OrlaError(
            f"{place}, but {b.name} has {len(b.keys)} columns and {a.name} {len(a.keys)}, so that "
            "their numbers name no channel; save the same channels in one order"
        )


def top_channels(counts: np.ndarray, n_inputs: int) -> np.ndarray:
    """Columns of `counts` (steps, channels) with the largest variance, in ascending column order.

    Ties go to the earlier column.
    """
    parts = (counts[:, i : i + 50] for i in range(0, counts.shape[1], 50))  # as float64 in memory
    variance = np.concatenate([part.var(axis=0) for part in parts])
    return np.sort(np.argsort(-variance, kind="stable")[:n_inputs])
