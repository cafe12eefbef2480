"""Drift that is made: one recording cut in two, other units in some columns of the second part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.reading import Reading
from orla.sessions.streams import Streams


def swap(whole: Streams, step: int, count: int, share: float, seed: int) -> Streams:
    """The sessions before and from a step of one recording, with units swapped in the second.

    A random order of the columns, drawn from the seed, says which units are inputs: the first
    `count`. From the step on the first round(share * count) of these columns hold the units that
    follow in that order; the others go on. So one seed has the same session A at every share, and
    the columns that a larger share replaces include those of a smaller one. Each unit keeps its
    own scale: the drift is of tuning, not of rate.

    Args:
        whole: Streams whose `a` is the recording, of more columns than inputs; `b` is not read.
        step: The first step of session B.
        count: How many inputs.
        share: Share of the columns that other units replace, 0 to 1.
        seed: Of the random order.

    Returns:
        Streams with X (steps, count). Its dataset record has what was done under "swap": the
        columns, or channels, of the recording that are inputs `before` and `after` the step.

    Raises:
        OrlaError: Too few columns.
    """
    n_new = round(share * count)
    features = whole.dataset["features"]
    names = features["channels"] if "channels" in features else features["columns"]
    require_spare(len(names), count, n_new)
    order = np.random.default_rng(seed).permutation(len(names))
    before, after = order[:count], order[:count].copy()
    after[:n_new] = order[count : count + n_new]
    a, b = whole.a.part(slice(None, step)), whole.a.part(slice(step, None))
    a, b = replace(a, X=a.X[:, before]), replace(b, X=b.X[:, after])
    account = {"channels": count, "of_channels": len(names), "because": "units of one recording"}
    record: dict[str, Any] = {
        "account": {
            side: whole.dataset["account"]["a"]
            | account
            | {
                "steps": len(stream),
                "scored": len(stream) if stream.scored is None else int(stream.scored.sum()),
            }
            for side, stream in (("a", a), ("b", b))
        },
        "swap": {
            "step": step,
            "seed": seed,
            "share": share,
            "before": [names[i] for i in before],
            "after": [names[i] for i in after],
        },
    }
    readings = whole.readings
    if readings:
        reading = Reading.from_record(readings["a"])
        sides = {"a": reading.part(before).record(), "b": reading.part(after).record()}
        readings = readings | sides
    return replace(whole, a=a, b=b, dataset=whole.dataset | record, readings=readings)


def require_spare(units: int, count: int, n_new: int) -> None:
    """Refuse a pool of units that does not hold the inputs and those that replace some.

    Raises:
        OrlaError: The pool is too small.
    """
    if units < count + n_new:
        raise OrlaError(
            f"swapped: {units} units are drawn from, fewer than {count} inputs and the "
            f"{n_new} that replace some of them; raise pool, or lower the share or "
            "preparation.features.count"
        )
