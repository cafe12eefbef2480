"""Judge registrations of version 2: claims about a mean, the secondary ones as a family."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from orla.prereg import claim_rows, decide, quantity_rows
from orla.prereg.claim_rows import Estimate, Reading
from orla.prereg.claimed import PAIR, ClaimRegistration
from orla.prereg.rows import show
from orla.prereg.verdict import Verdict

Binding = Mapping[str, str]
_LEAST_P = 1e-4


def judge(
    registrations: Sequence[ClaimRegistration],
    tables: Mapping[str, pd.DataFrame],
    bindings: Mapping[str, Binding] | None = None,
) -> list[Verdict]:
    """Judge all registrations of version 2 of one folder and study together.

    A claim is supported when its p is below alpha, falsified when that of its opposite is. The p of
    those that are not primary are Holm-corrected as a family, in which an untestable one counts
    with p 1. A verdict that would be another with diverged models scored as the frozen network, or
    without the pairs that fail a guard, is inconclusive.

    Parameters
    ----------
    registrations
        All of them, the primary one included.
    tables
        Result -> its table.
    bindings
        Registration -> `config_sha256` and `code_sha256` of the study, as from
        `orla.prereg.binding.of`.

    Returns
    -------
    list
        A verdict each, in the same order.

    Raises
    ------
    OrlaError
        When a result or column is missing, a row is not single, or a row's numbers disagree.
    """
    readings = [
        (quantity_rows if known.quantity else claim_rows).read(
            known, tables, (bindings or {}).get(known.name)
        )
        for known in registrations
    ]
    ways = sorted({way for reading in readings for way in reading.others})
    first = _outcomes(readings)
    others = {way: _outcomes([_other(reading, way) for reading in readings]) for way in ways}
    return [
        _verdict(
            reading,
            *first[i],
            {way: found[i][0] for way, found in others.items() if way in reading.others},
        )
        for i, reading in enumerate(readings)
    ]


def _other(reading: Reading, way: str) -> Reading:
    return replace(reading, estimate=reading.others.get(way, reading.estimate))


def _outcomes(readings: Sequence[Reading]) -> list[tuple[str, tuple[float, float, float, float]]]:
    """Outcome of each, and its p, Holm's p, the opposite's p and Holm's p of that."""
    each = [
        (1.0, 1.0)
        if reading.obstacles
        else decide.p_values(
            reading.registration.claim,
            reading.estimate.mean,
            reading.estimate.standard_error,
            reading.estimate.dof,
        )
        for reading in readings
    ]
    family = [i for i, reading in enumerate(readings) if not reading.registration.primary]
    adjusted = [list(ps) for ps in each]
    for side in (0, 1):
        corrected = decide.holm([each[i][side] for i in family])
        for i, p in zip(family, corrected, strict=True):
            adjusted[i][side] = p
    found = []
    for reading, (p, opposite), (p_holm, opposite_holm) in zip(
        readings, each, adjusted, strict=True
    ):
        alpha = reading.registration.alpha
        if reading.obstacles:
            outcome = "untestable"
        elif p_holm < alpha:
            outcome = "supported"
        else:
            outcome = "falsified" if opposite_holm < alpha else "inconclusive"
        found.append((outcome, (p, p_holm, opposite, opposite_holm)))
    return found


def _verdict(
    reading: Reading,
    outcome: str,
    ps: tuple[float, float, float, float],
    others: Mapping[str, str],
) -> Verdict:
    known, estimate = reading.registration, reading.estimate
    reason = "; ".join(reading.obstacles) or _say(reading, outcome, ps)
    differing = [f"{other} {way}" for way, other in others.items() if other != outcome]
    if differing and outcome != "untestable":
        reason += f"; it would be {' and '.join(differing)}, so it is inconclusive"
        outcome = "inconclusive"
    blocked = bool(reading.obstacles)
    return Verdict(
        registration=known.name,
        title=known.title,
        outcome=outcome,
        reason=reason,
        meaning=" ".join(known.outcomes[outcome].split()),
        estimate=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        threshold=known.claim.region.describe(known.scale),
        n=reading.n,
        limits=_limits(known),
        p=np.nan if blocked else ps[0],
        p_holm=np.nan if blocked else ps[1],
        primary=known.primary,
    )


def _say(reading: Reading, outcome: str, ps: tuple[float, float, float, float]) -> str:
    known, estimate = reading.registration, reading.estimate
    unit, scale = f"{known.unit}s", f" {known.scale}" if known.scale else ""
    claim, opposite = (_tell(known, *ps[i : i + 2]) for i in (0, 2))
    level = f"{100 * (1 - 2 * known.alpha):g} % t interval"
    return (
        f"{known.measured} is {show(estimate.mean)}{scale}, {level} over "
        f"{reading.n} {unit} {_interval(estimate)}{scale}, n = {reading.n}: that it is "
        f"{known.claim.region.describe(known.scale)} has {claim}, that it is not has {opposite}"
        + "".join(f"; {note}" for note in reading.notes)
    )


def _tell(known: ClaimRegistration, p: float, adjusted: float) -> str:
    if known.primary:
        return f"p {_p(p)}"
    return f"p {_p(p)} (Holm {_p(adjusted)})"


def _p(p: float) -> str:
    return f"< {_LEAST_P:g}" if p < _LEAST_P else f"= {p:.2g}"


def _interval(estimate: Estimate) -> str:
    return f"[{show(estimate.low)}, {show(estimate.high)}]"


def _limits(known: ClaimRegistration) -> str:
    level = f"{100 * (1 - 2 * known.alpha):g} % t interval"
    if known.quantity:
        of = f"pairs of sessions of {known.task}" if known.unit == PAIR else "seeds"
        more = "" if known.unit == PAIR else ": it holds none of the variation between pairs"
        return f"{level} over {of}, with the choice of rates in its standard error{more}"
    if known.unit == PAIR:
        return (
            f"{level} over pairs of sessions of {known.task}; its standard error holds the scatter "
            "of pairs, seeds and the choice of rates, for this network, optimizer and split alone"
        )
    return (
        f"{level} over seeds of the pair {known.pair} of {known.task}: it holds none of the "
        "variation between pairs"
    )
