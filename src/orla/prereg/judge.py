"""Judge results by the registrations. No registration and no rule has code of its own here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import evidence, rows, sentences
from orla.prereg.lock import Lock
from orla.prereg.registration import Registration, check_primary
from orla.prereg.rows import Evidence, Tables
from orla.prereg.rules import Estimate, Ps

VERDICT_COLUMNS = [
    *("registration", "title", "outcome", "words", "reason"),
    *("estimate", "low", "high", "threshold", "n", "p", "p_holm", "primary"),
    *("registered_on", "amended", "lock_sha256", "judged_sha256", "results_seen", "history"),
    *("limits", "former", "network", "row"),
]
LEAST_SAME = 5 / 6
"""Share of the studies with one pair left out in which a verdict must be the same."""


def verdict_table(
    registrations: Iterable[Registration],
    tables: Tables,
    locks: Mapping[str, Lock],
    *,
    study: str,
    bindings: Mapping[str, Mapping[str, Any]] | None = None,
    datasets: Mapping[str, Any] | None = None,
    provenance_difference: str = "",
) -> pd.DataFrame:
    """The verdict on each registration that is for a study, a row each: `VERDICT_COLUMNS`.

    Args:
        tables: Result -> its table.
        locks: Registration -> its lock, from `orla.prereg.lock.verify_folder`.
        bindings: Registration -> what the study binds: `orla.prereg.binding.config_binding`.
        datasets: TASK[/PAIR]/SPLIT -> data set, from the tables' provenance.
        provenance_difference: How that of the tables differs; then every verdict is untestable.

    OrlaError: as in `evidence.read_evidence`; one is not locked; or not exactly one is primary.
    """
    selection = [each for each in registrations if study in each.studies]
    for each in selection:
        if each.name not in locks:
            raise OrlaError(f"registration {each.name} is not locked; lock it before it is judged")
    check_primary("registrations.folders", selection, study)
    bindings, datasets = bindings or {}, datasets or {}
    others = [each.name for each in registrations if study not in each.studies]
    retired = sum(bool(locks[name].amendments) for name in others if name in locks)
    verdicts = judge_registrations(selection, tables, bindings, retired)
    for registration, verdict in zip(selection, verdicts, strict=True):
        lock, binding = locks[registration.name], bindings.get(registration.name)
        if provenance_difference:
            verdict |= {"outcome": "untestable", "reason": provenance_difference}
        outcome = words = verdict["outcome"]
        if sentences.is_simulated(datasets, registration.task, registration.pair):
            words = sentences.IN_SIMULATION.get(outcome, outcome)
        networks = {registration.conditions.get("architecture", "")}
        networks = networks.union((binding or {}).get("networks", ())) - {""}
        network = networks.pop() if len(networks) == 1 else ""
        verdict |= {
            "words": words,
            "reason": f"{verdict['reason']}. {' '.join(registration.outcomes[outcome].split())}",
            "registered_on": lock.date.isoformat(),
            "amended": bool(lock.amendments),
            "lock_sha256": lock.sha256,
            "judged_sha256": lock.judged_sha256,
            "results_seen": "; ".join(
                [registration.seen_text, *(a.seen_text for a in lock.amendments)]
            ),
            "history": lock.history,
            "limits": verdict["limits"]
            + sentences.retired_count_sentence(registration, retired)
            + sentences.binding_sentence(registration, binding),
            "former": next((a.former for a in reversed(lock.amendments) if a.former), ""),
            "network": network,
            "title": f"{registration.title} ({network})" if network else registration.title,
            "row": f"{registration.query.result}: {rows.where_text(registration.query.where)}",
        }
    return pd.DataFrame(verdicts, columns=VERDICT_COLUMNS)


def judge_registrations(
    registrations: Sequence[Registration],
    tables: Tables,
    bindings: Mapping[str, Mapping[str, Any]],
    n_retired: int = 0,
) -> list[dict[str, Any]]:
    """The verdict on each registration of one study, by its results alone.

    A claim is supported when its p is below alpha, falsified when that of its opposite is. The p of
    those that are not primary are Holm-corrected as a family, in which an untestable one counts
    with p 1. A verdict that would be another with diverged models scored as the frozen network,
    without the pairs that fail a guard, or with a learner at the runner-up of its rates, is
    inconclusive; so is one that is not the same in five of six studies with one pair left out.

    `n_retired` registrations, which an amendment may have taken out of the study, count in its
    family as untestable ones do.
    """
    read = [evidence.read_evidence(each, tables, bindings.get(each.name)) for each in registrations]
    return judge_evidence(read, n_retired)


def judge_evidence(family: Sequence[Evidence], n_retired: int = 0) -> list[dict[str, Any]]:
    """The verdict on each registration of a family, by the evidence that was read."""
    fields = ("variants", "leave_one_out_estimates")
    variants = (
        _outcomes_by_variant(family, [getattr(each, field) for each in family], n_retired)
        for field in fields
    )
    results = zip(family, _outcomes(family, n_retired), *variants, strict=True)
    return [
        _verdict_columns(each, *outcome_and_ps, by_variant, list(leave_one_out.values()))
        for each, outcome_and_ps, by_variant, leave_one_out in results
    ]


def _outcomes_by_variant(
    family: Sequence[Evidence], variants_of_each: Sequence[Mapping[str, Estimate]], n_retired: int
) -> list[dict[str, str]]:
    """Of each registration: the outcome by each variant of its estimate, by the variant's name."""
    outcomes: list[dict[str, str]] = [{} for _ in family]
    for name in sorted(set().union(*variants_of_each)):
        changed = [
            replace(each, estimate=variants.get(name, each.estimate))
            for each, variants in zip(family, variants_of_each, strict=True)
        ]
        for i, (outcome, _) in enumerate(_outcomes(changed, n_retired)):
            if name in variants_of_each[i]:
                outcomes[i][name] = outcome
    return outcomes


def _outcomes(family: Sequence[Evidence], n_retired: int) -> list[tuple[str, Ps]]:
    tests = [
        (1.0, 1.0) if each.obstacles else each.registration.rule.claim_and_opposite_p(each.estimate)
        for each in family
    ]
    corrected = [i for i, each in enumerate(family) if not each.registration.primary]
    ps_by_side = ([tests[i][side] for i in corrected] + [1.0] * n_retired for side in (0, 1))
    holm = dict(zip(corrected, zip(*map(holm_p_values, ps_by_side), strict=True), strict=False))
    outcomes = []
    for i, each in enumerate(family):
        p = Ps(*tests[i], *holm.get(i, tests[i]))
        if each.obstacles:
            outcome = "untestable"
        elif p.claim_holm < each.registration.alpha:
            outcome = "supported"
        else:
            is_refuted = p.opposite_holm < each.registration.alpha
            outcome = "falsified" if is_refuted else "inconclusive"
        outcomes.append((outcome, p))
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
    basis: Evidence,
    outcome: str,
    p: Ps,
    outcomes_by_variant: Mapping[str, str],
    leave_one_out_outcomes: Sequence[str],
) -> dict[str, Any]:
    registration, estimate = basis.registration, basis.estimate
    if basis.obstacles:
        reason = "; ".join(basis.obstacles)
    else:
        reason = sentences.estimate_sentence(basis, p)
        differences = [
            sentences.outcome_with_variant_text(variant_outcome, variant, basis)
            for variant, variant_outcome in outcomes_by_variant.items()
            if variant_outcome != outcome
        ]
        is_robust = is_robust_to_leave_one_out(outcome, leave_one_out_outcomes)
        if outcome != "inconclusive" and not is_robust:
            n = len(leave_one_out_outcomes)
            n_others = n - leave_one_out_outcomes.count(outcome)
            differences.append(f"another in {n_others} of {n} studies with one pair left out")
        if differences:
            reason += f"; it would be {' and '.join(differences)}, so it is inconclusive"
            outcome = "inconclusive"
    has_no_leave_one_out = registration.by_pairs and not (leave_one_out_outcomes or basis.obstacles)
    return {
        "registration": registration.name,
        "title": registration.title,
        "outcome": outcome,
        "reason": reason,
        "estimate": estimate.mean,
        "low": estimate.low,
        "high": estimate.high,
        "threshold": registration.rule.region.describe(registration.scale),
        "n": basis.n,
        "limits": f"{registration.query.interval}{sentences.limits_sentence(registration)}"
        + sentences.NO_PAIR_LEFT_OUT * has_no_leave_one_out,
        "p": np.nan if basis.obstacles else p.claim,
        "p_holm": np.nan if basis.obstacles else p.claim_holm,
        "primary": registration.primary,
    }
