"""Judge results by the registrations. No registration and no rule has code of its own here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import evidence, sentences
from orla.prereg.lock import Lock
from orla.prereg.registration import Registration, Value, check_primary
from orla.prereg.rows import Case, Tables
from orla.prereg.rules import Ps

Binding = Mapping[str, Any]

VERDICT_COLUMNS = [
    *("registration", "title", "outcome", "words", "reason"),
    *("estimate", "low", "high", "threshold", "n", "p", "p_holm", "primary"),
    *("registered_on", "amended", "lock_sha256", "judged_sha256", "results_seen", "history"),
    *("limits", "former", "network"),
]
LEAST_SAME = 5 / 6
"""Share of the studies with one pair left out in which a verdict must be the same."""


def verdict_table(
    registrations: Iterable[Registration],
    tables: Tables,
    locks: Mapping[str, Lock],
    defaults: Mapping[str, Value] | None = None,
    *,
    study: str = "",
    bindings: Mapping[str, Binding] | None = None,
    datasets: Mapping[str, Any] | None = None,
    provenance_difference: str = "",
    former: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Judge registrations whose locks were verified; those for other studies are left out.

    Args:
        tables: Result -> its table.
        locks: Registration -> its lock, from `orla.prereg.lock.verify_folder`.
        assumed: Column -> value, for columns that a registration of version 1 does not name.
        study: Name of the config.
        bindings: Registration -> what the study binds, as from `orla.prereg.binding.study_record`.
        datasets: TASK[/PAIR]/SPLIT -> data set, from the tables' provenance.
        mixed: How the tables' provenance differs; then every verdict is untestable.
        former: Registration -> the outcome that it had by the rules before an amendment.

    Returns:
        One row a registration, columns `VERDICT_COLUMNS`.

    Raises:
        OrlaError: As in `evidence.read_case`; one is not locked; or not exactly one is primary.
    """
    selection = [each for each in registrations if not each.is_tested or study in each.studies]
    for each in selection:
        if each.name not in locks:
            raise OrlaError(f"registration {each.name} is not locked; lock it before it is judged")
    check_primary("registrations.folders", selection, [study])
    defaults, bindings = defaults or {}, bindings or {}
    lines = []
    for registration, verdict in zip(
        selection, judge_registrations(selection, tables, defaults, bindings), strict=True
    ):
        lock, outcome = locks[registration.name], verdict["outcome"]
        if provenance_difference:
            outcome, verdict["reason"] = "untestable", provenance_difference
        place = registration.task, registration.pair
        if not registration.is_tested:
            place = tuple(str(defaults.get(key, "")) for key in ("task", "pair"))
        display_words = (
            sentences.IN_SIMULATION if sentences.is_simulated(datasets or {}, *place) else {}
        )
        network = str(registration.conditions.get("architecture", ""))
        verdict |= {
            "outcome": outcome,
            "words": display_words.get(outcome, outcome),
            "reason": f"{verdict['reason']}. {' '.join(registration.outcomes[outcome].split())}",
            "registered_on": lock.date.isoformat(),
            "amended": lock.is_amended,
            "lock_sha256": lock.sha256,
            "judged_sha256": lock.judged_sha256,
            "results_seen": "; ".join(
                [registration.seen_text, *(a.seen_text for a in lock.amendments)]
            ),
            "history": lock.history,
            "limits": verdict["limits"]
            + sentences.code_sentence(registration, bindings.get(registration.name)),
            "former": (former or {}).get(registration.name, ""),
            "network": network,
            "title": f"{registration.title} ({network})" if network else registration.title,
        }
        lines.append(verdict)
    return pd.DataFrame(lines, columns=VERDICT_COLUMNS)


def judge_registrations(
    registrations: Sequence[Registration],
    tables: Tables,
    defaults: Mapping[str, Value] | None = None,
    bindings: Mapping[str, Binding] | None = None,
) -> list[dict[str, Any]]:
    """The verdict on each registration of one study: what is decided by its results alone.

    A claim is supported when its p is below alpha, falsified when that of its opposite is. The p of
    those that are tested and not primary are Holm-corrected as a family, in which an untestable one
    counts with p 1. A verdict that would be another with diverged models scored as the frozen
    network, without the pairs that fail a guard, or with a learner at the runner-up of its rates,
    is inconclusive; so is one that is not the same in five of six studies with one pair left out.
    """
    bindings = bindings or {}
    cases = [
        evidence.read_case(each, tables, bindings.get(each.name), defaults or {})
        for each in registrations
    ]
    return judge_cases(cases)


def judge_cases(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """`judge_registrations` of what was read of each registration."""
    fields = ("others", "leave_one_out_estimates")
    variants = (_outcomes_by_variant(cases, field) for field in fields)
    return [
        _verdict_columns(case, *result, by_variant, list(leave_one_out.values()))
        for case, result, by_variant, leave_one_out in zip(
            cases, _outcomes(cases), *variants, strict=True
        )
    ]


def _outcomes_by_variant(cases: Sequence[Case], field: str) -> list[dict[str, str]]:
    """The outcomes of each case with its evidence's estimates of a `field`, by their names."""
    outcomes_by_case: list[dict[str, str]] = [{} for _ in cases]
    estimates_by_case = [[getattr(each, field) for each in case.evidence] for case in cases]
    for name in sorted({n for by_evidence in estimates_by_case for e in by_evidence for n in e}):
        variants = []
        for case, by_evidence in zip(cases, estimates_by_case, strict=True):
            pairs = zip(case.evidence, by_evidence, strict=True)
            changed = (replace(e, estimate=by_name.get(name, e.estimate)) for e, by_name in pairs)
            variants.append(replace(case, evidence=tuple(changed)))
        results = zip(outcomes_by_case, estimates_by_case, _outcomes(variants), strict=True)
        for outcomes, by_evidence, (outcome, _) in results:
            if any(name in by_name for by_name in by_evidence):
                outcomes[name] = outcome
    return outcomes_by_case


def _outcomes(cases: Sequence[Case]) -> list[tuple[str, list[Ps]]]:
    """Outcome of each case, and the p values of each of its readings."""
    tests = [
        [
            (1.0, 1.0) if case.obstacles else each.reading.rule.p_values(each.estimate)
            for each in case.evidence
        ]
        for case in cases
    ]
    # Those of a family have one reading each.
    family = [i for i, case in enumerate(cases) if case.registration.in_family]
    adjusted_by_side = (holm_p_values([tests[i][0][side] for i in family]) for side in (0, 1))
    holm_by_case = dict(zip(family, zip(*adjusted_by_side, strict=True), strict=True))
    outcomes = []
    for i, case in enumerate(cases):
        ps = [Ps(*p_values, *holm_by_case.get(i, p_values)) for p_values in tests[i]]
        alpha = case.registration.alpha
        if case.obstacles:
            outcome = "untestable"
        elif max(p.claim_holm for p in ps) < alpha:
            outcome = "supported"
        else:
            is_refuted = min(p.opposite_holm for p in ps) < alpha
            outcome = "falsified" if is_refuted else "inconclusive"
        outcomes.append((outcome, ps))
    return outcomes


def holm_p_values(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family, in the given order; [] of an empty one.

    That of statsmodels collects garbage at each call, which takes longer than all of a verdict.
    """
    order = np.argsort(p, kind="stable")
    steps = np.sort(np.asarray(p, float)) * np.arange(len(p), 0, -1)
    adjusted_p = np.empty(len(p))
    adjusted_p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted_p.tolist()


def is_robust_to_leave_one_out(outcome: str, leave_one_out_outcomes: Sequence[str]) -> bool:
    """Whether enough of the studies with one pair left out have the same outcome."""
    return leave_one_out_outcomes.count(outcome) >= LEAST_SAME * len(leave_one_out_outcomes)


def _verdict_columns(
    case: Case,
    outcome: str,
    ps: Sequence[Ps],
    outcomes_by_variant: Mapping[str, str],
    leave_one_out_outcomes: Sequence[str],
) -> dict[str, Any]:
    """The columns of a verdict that results alone decide.

    `outcomes_by_variant` are those by other ways to form the estimate, `leave_one_out_outcomes`
    those without one pair.
    """
    registration, alpha = case.registration, case.registration.alpha
    is_decisive = {
        "untestable": [bool(each.obstacles) for each in case.evidence],
        "falsified": [p.opposite_holm < alpha for p in ps],
        "inconclusive": [p.claim_holm >= alpha for p in ps],
        "supported": [True],
    }[outcome]
    decisive_index = is_decisive.index(True) if True in is_decisive else 0
    basis, p = case.evidence[decisive_index], ps[decisive_index]
    if case.obstacles:
        reason = "; ".join(case.obstacles)
    else:
        parts = zip(case.evidence, ps, strict=True) if outcome == "supported" else [(basis, p)]
        reason = "; ".join(sentences.estimate_sentence(registration, *each) for each in parts)
        differences = [
            sentences.outcome_with_variant_text(variant_outcome, variant, basis)
            for variant, variant_outcome in outcomes_by_variant.items()
            if variant_outcome != outcome
        ]
        is_robust = is_robust_to_leave_one_out(outcome, leave_one_out_outcomes)
        if outcome != "inconclusive" and not is_robust:
            n = len(leave_one_out_outcomes)
            n_other_outcomes = n - leave_one_out_outcomes.count(outcome)
            differences.append(
                f"another in {n_other_outcomes} of {n} studies with one pair left out"
            )
        if differences:
            reason += f"; it would be {' and '.join(differences)}, so it is inconclusive"
            outcome = "inconclusive"
    has_p = registration.is_tested and not case.obstacles
    has_no_leave_one_out = registration.by_pairs and not (leave_one_out_outcomes or case.obstacles)
    return {
        "registration": registration.name,
        "title": registration.title,
        "outcome": outcome,
        "reason": reason,
        "estimate": basis.estimate.mean,
        "low": basis.estimate.low,
        "high": basis.estimate.high,
        "threshold": basis.reading.rule.region.describe(basis.reading.scale),
        "n": basis.n,
        "limits": f"{basis.reading.interval}{sentences.limits_sentence(registration)}"
        + sentences.NO_PAIR_LEFT_OUT * has_no_leave_one_out,
        "p": p.claim if has_p else np.nan,
        "p_holm": p.claim_holm if has_p else np.nan,
        "primary": registration.primary,
    }
