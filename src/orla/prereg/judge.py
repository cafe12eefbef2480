"""Judge results by the registrations. No registration and no rule has code of its own here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import evidence
from orla.prereg.evidence import Case
from orla.prereg.lock import Locked
from orla.prereg.registration import PAIR, Registration, Value, check_primary
from orla.prereg.rows import Evidence, show
from orla.prereg.rules.base import Ps

Binding = Mapping[str, Any]

VERDICT_COLUMNS = [
    *("registration", "title", "outcome", "words", "reason"),
    *("estimate", "low", "high", "threshold", "n", "p", "p_holm", "primary"),
    *("registered_on", "amended", "lock_sha256", "judged_sha256", "results_seen", "history"),
    *("limits", "former", "network"),
]
LEAST_SAME = 5 / 6
"""Share of the studies with one pair left out in which a verdict must be the same."""
_IN_SIMULATION = {"supported": "shown in simulation", "falsified": "not shown in simulation"}


def verdicts(
    registrations: Iterable[Registration],
    tables: Mapping[str, pd.DataFrame],
    locks: Mapping[str, Locked],
    assumed: Mapping[str, Value] | None = None,
    *,
    study: str = "",
    bindings: Mapping[str, Binding] | None = None,
    datasets: Mapping[str, Any] | None = None,
    mixed: str = "",
    former: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Judge registrations whose locks were verified.

    Args:
        registrations: The registrations; those that are for other studies are left out.
        tables: Result -> its table.
        locks: Registration -> its lock, from `orla.prereg.lock.verify`.
        assumed: Column -> value, for columns that a registration of version 1 does not name.
        study: Name of the config.
        bindings: Registration -> what the study binds, as from `orla.prereg.binding.bound`.
        datasets: TASK[/PAIR]/SPLIT -> data set, from the tables' provenance: what is simulated is
            shown in other words.
        mixed: How the tables' provenance differs; then every verdict is untestable. Empty if it
            does not.
        former: Registration -> the outcome that it had by the rules before an amendment.

    Returns:
        One row a registration, columns `VERDICT_COLUMNS`. `reason` ends with the registration's
        own words for the outcome; `lock_sha256` is that of the file as it was locked,
        `judged_sha256` of the file as it was judged, and `registered_on` the lock's date.

    Raises:
        OrlaError: As in `evidence.read`; a registration is not locked, or the study's
            registrations have not exactly one primary.
    """
    chosen = [each for each in registrations if not each.tested or study in each.studies]
    for each in chosen:
        if each.name not in locks:
            raise OrlaError(f"registration {each.name} is not locked; lock it before it is judged")
    check_primary("registrations.folders", chosen, [study])
    lines = []
    for registration, verdict in zip(chosen, judge(chosen, tables, assumed, bindings), strict=True):
        lock, outcome = locks[registration.name], verdict["outcome"]
        if mixed:
            outcome, verdict["reason"] = "untestable", mixed
        place = registration.task, registration.pair
        if not registration.tested:
            place = tuple(str((assumed or {}).get(key, "")) for key in ("task", "pair"))
        verdict |= {
            "outcome": outcome,
            "words": words(outcome, simulated(datasets or {}, *place)),
            "reason": f"{verdict['reason']}. {' '.join(registration.outcomes[outcome].split())}",
            "registered_on": lock.date.isoformat(),
            "amended": lock.amended,
            "lock_sha256": lock.sha256,
            "judged_sha256": lock.judged,
            "results_seen": "; ".join([registration.seen, *(a.seen for a in lock.amendments)]),
            "history": lock.history,
            "limits": verdict["limits"] + _beside(registration, bindings or {}),
            "former": (former or {}).get(registration.name, ""),
            "network": (network := str(registration.conditions.get("architecture", ""))),
            "title": f"{registration.title} ({network})" if network else registration.title,
        }
        lines.append({column: verdict[column] for column in VERDICT_COLUMNS})
    return pd.DataFrame(lines, columns=VERDICT_COLUMNS)


def judge(
    registrations: Sequence[Registration],
    tables: Mapping[str, pd.DataFrame],
    assumed: Mapping[str, Value] | None = None,
    bindings: Mapping[str, Binding] | None = None,
) -> list[dict[str, Any]]:
    """The verdict on each registration of one study: what is decided by its results alone.

    A claim is supported when its p is below alpha, falsified when that of its opposite is. The p of
    those that are tested and not primary are Holm-corrected as a family, in which an untestable one
    counts with p 1. A verdict that would be another with diverged models scored as the frozen
    network, without the pairs that fail a guard, or with a learner at the runner-up of its rates,
    is inconclusive; so is one that is not the same in five of six studies with one pair left out.

    Args and errors: as in `verdicts`.
    """
    cases = [
        evidence.read(each, tables, (bindings or {}).get(each.name), assumed or {})
        for each in registrations
    ]
    ways = sorted({way for case in cases for each in case.evidence for way in each.others})
    first = _outcomes(cases)
    others = {way: _outcomes([_formed(case, "others", way) for case in cases]) for way in ways}
    pairs = sorted({pair for case in cases for each in case.evidence for pair in each.left_out})
    without = {
        pair: _outcomes([_formed(case, "left_out", pair) for case in cases]) for pair in pairs
    }
    return [
        _verdict(
            case,
            *first[i],
            {way: found[i][0] for way, found in others.items() if _has(case, way)},
            [without[p][i][0] for p in pairs if any(p in e.left_out for e in case.evidence)],
        )
        for i, case in enumerate(cases)
    ]


def words(outcome: str, simulated: bool) -> str:
    """What is displayed for an outcome; on simulated data nothing is supported or falsified."""
    return _IN_SIMULATION.get(outcome, outcome) if simulated else outcome


def simulated(datasets: Mapping[str, Any], task: str, pair: str = "") -> bool:
    """Whether the data of a task, and pair if it is given, are simulated.

    Args:
        datasets: TASK[/PAIR]/SPLIT -> data set, from a table's provenance. Where none is of this
            task, all are looked at.
        task, pair: As a registration names them.
    """
    places = {name: name.split("/") for name in datasets}
    of_task = [
        datasets[name]
        for name, parts in places.items()
        if parts[0] == task and (not pair or pair in parts[1:])
    ]
    each = (one for data in of_task or datasets.values() for one in data.get("mixed", [data]))
    return any(one.get("simulated", False) for one in each)


def _beside(registration: Registration, bindings: Mapping[str, Binding]) -> str:
    """What a verdict says of the results that were read and of the code."""
    binding = bindings.get(registration.name)
    if binding is None or "parts" not in registration.binds:
        return ""
    looked = " and ".join(registration.binds["results"])
    text = f"; read from {binding.get('results', 'no folder')}, looked at before the lock: {looked}"
    if binding.get("syntax_sha256") != registration.binds["syntax_sha256"]:
        text += "; code edited since the lock, behaves the same on what was bound"
    return text


def _has(case: Case, way: str) -> bool:
    return any(way in each.others for each in case.evidence)


def _formed(case: Case, estimates: str, name: str) -> Case:
    """A case with those of its estimates replaced that a mapping of its evidence has by a name.

    estimates: "others", by the way that they are formed, or "left_out", by the pair.
    """
    each = (replace(e, estimate=getattr(e, estimates).get(name, e.estimate)) for e in case.evidence)
    return replace(case, evidence=tuple(each))


def _outcomes(cases: Sequence[Case]) -> list[tuple[str, list[Ps]]]:
    """Outcome of each case, and the p values of each of its readings."""
    ps = [
        [
            (1.0, 1.0) if case.obstacles else e.reading.rule.p_values(e.estimate)
            for e in case.evidence
        ]
        for case in cases
    ]
    family = [
        i
        for i, case in enumerate(cases)
        if case.registration.tested and not case.registration.primary
    ]
    adjusted = [list(each) for each in ps]
    if family:
        sides = [holm([ps[i][0][side] for i in family]) for side in (0, 1)]
        for i, *corrected in zip(family, *sides, strict=True):
            adjusted[i] = [tuple(corrected)]
    found = []
    for case, each, corrected in zip(cases, ps, adjusted, strict=True):
        both = [Ps(*plain, *holms) for plain, holms in zip(each, corrected, strict=True)]
        alpha = case.registration.alpha
        if case.obstacles:
            outcome = "untestable"
        elif max(p.claim_holm for p in both) < alpha:
            outcome = "supported"
        else:
            refuted = min(p.opposite_holm for p in both) < alpha
            outcome = "falsified" if refuted else "inconclusive"
        found.append((outcome, both))
    return found


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family, in the given order; [] of an empty one.

    That of statsmodels collects garbage at each call, which takes longer than all of a verdict.
    """
    order = np.argsort(p, kind="stable")
    steps = np.sort(np.asarray(p, float)) * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


def _verdict(
    case: Case,
    outcome: str,
    ps: Sequence[Ps],
    others: Mapping[str, str],
    without: Sequence[str],
) -> dict[str, Any]:
    registration, blocked = case.registration, bool(case.obstacles)
    alpha = registration.alpha
    deciding = {
        "untestable": [bool(each.obstacles) for each in case.evidence],
        "falsified": [p.opposite_holm < alpha for p in ps],
        "inconclusive": [p.claim_holm >= alpha for p in ps],
        "supported": [True],
    }[outcome]
    at = deciding.index(True) if True in deciding else 0
    shown = case.evidence[at]
    if blocked:
        reason = "; ".join(case.obstacles)
    else:
        said = range(len(ps)) if outcome == "supported" else [at]
        reason = "; ".join(_say(registration, case.evidence[i], ps[i]) for i in said)
    differing = [f"{other} {way}" for way, other in others.items() if other != outcome]
    same = without.count(outcome)
    if outcome in ("supported", "falsified") and same < LEAST_SAME * len(without):
        differing.append(
            f"another in {len(without) - same} of {len(without)} studies with one pair left out"
        )
    if differing and not blocked:
        reason += f"; it would be {' and '.join(differing)}, so it is inconclusive"
        outcome = "inconclusive"
    without = blocked or not registration.tested
    return {
        "registration": registration.name,
        "title": registration.title,
        "outcome": outcome,
        "reason": reason,
        "estimate": shown.estimate.mean,
        "low": shown.estimate.low,
        "high": shown.estimate.high,
        "threshold": shown.reading.rule.region.describe(shown.reading.scale),
        "n": shown.n,
        "limits": _limits(registration, shown),
        "p": np.nan if without else ps[at].claim,
        "p_holm": np.nan if without else ps[at].claim_holm,
        "primary": registration.primary,
    }


def _say(registration: Registration, shown: Evidence, ps: Ps) -> str:
    reading, estimate = shown.reading, shown.estimate
    scale = f" {reading.scale}" if reading.scale else ""
    what, over = registration.quantity or reading.columns["estimate"], ""
    if registration.tested:
        over = f" over {shown.n} {registration.unit}s"
    corrected = registration.tested and not registration.primary
    return (
        f"{what} is {show(estimate.mean)}{scale}, {reading.interval}{over} "
        f"[{show(estimate.low)}, {show(estimate.high)}]{scale}, n = {shown.n}: "
        f"{reading.rule.words(ps, reading.scale, corrected)}"
        + "".join(f"; {note}" for note in shown.notes)
    )


def _limits(registration: Registration, shown: Evidence) -> str:
    """What the interval does not range over."""
    level, task = shown.reading.interval, registration.task
    by_pairs = registration.unit == PAIR
    if not registration.tested:
        return (
            f"{level}, of one pair, one freezing step and one chosen rate: it holds none of the "
            "variation between pairs, steps or rates"
        )
    if registration.quantity:
        of = f"pairs of sessions of {task}" if by_pairs else "seeds"
        more = "" if by_pairs else ": it holds none of the variation between pairs"
        return f"{level} over {of}, with the choice of rates in its scatter{more}"
    if by_pairs:
        return (
            f"{level} over pairs of sessions of {task}, whose scatter holds that of seeds and of "
            "the choice of rates, for this network, optimizer and split alone"
        )
    return (
        f"{level} over seeds of the pair {registration.pair} of {task}: it holds none of the "
        "variation between pairs"
    )
