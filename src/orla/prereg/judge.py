"""Judge results by the registrations. No registration has code of its own here."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from orla.errors import OrlaError
from orla.prereg import claims, intervals
from orla.prereg.claimed import ClaimRegistration, check_primary
from orla.prereg.claims import Binding
from orla.prereg.lock import Locked
from orla.prereg.registration import Registration, Value
from orla.prereg.verdict import VERDICT_COLUMNS, Verdict, simulated, words

Known = Registration | ClaimRegistration


def verdicts(
    registrations: Iterable[Known],
    tables: Mapping[str, pd.DataFrame],
    locks: Mapping[str, Locked],
    assumed: Mapping[str, Value] | None = None,
    *,
    study: str = "",
    bindings: Mapping[str, Binding] | None = None,
    datasets: Mapping[str, Any] | None = None,
    mixed: str = "",
) -> pd.DataFrame:
    """Judge registrations whose locks were verified.

    Parameters
    ----------
    registrations
        The registrations; those of version 2 that are not for this study are left out.
    tables
        Result -> its table.
    locks
        Registration -> its lock, from `orla.prereg.lock.verify`.
    assumed
        Of registrations of version 1, as in `orla.prereg.intervals.judge`.
    study
        Name of the config.
    bindings
        Of registrations of version 2, as in `orla.prereg.claims.judge`.
    datasets
        TASK[/PAIR]/SPLIT -> data set, from the tables' provenance: what is simulated is shown in
        other words.
    mixed
        How the tables' provenance differs; then every verdict is untestable. Empty if it does not.

    Returns
    -------
    pandas.DataFrame
        One row a registration, columns `VERDICT_COLUMNS`. `reason` ends with the registration's
        own words for the outcome; `lock_sha256` is that of the file as it was locked,
        `judged_sha256` of the file as it was judged, and `registered_on` the lock's date.

    Raises
    ------
    OrlaError
        As in the two functions that judge, and on a registration that is not locked or a study
        whose claims have not exactly one primary.
    """
    chosen = [k for k in registrations if isinstance(k, Registration) or study in k.studies]
    for known in chosen:
        if known.name not in locks:
            raise OrlaError(f"registration {known.name} is not locked; lock it before it is judged")
    found = _judged(chosen, tables, assumed, bindings)
    rows = []
    for known in chosen:
        lock, verdict = locks[known.name], found[known.name]
        outcome, reason = verdict.outcome, f"{verdict.reason}. {verdict.meaning}"
        if mixed:
            meaning = " ".join(known.outcomes["untestable"].split())
            outcome, reason = "untestable", f"{mixed}. {meaning}"
        task, pair = _place(known, assumed or {})
        row = vars(verdict) | {
            "outcome": outcome,
            "words": words(outcome, simulated(datasets or {}, task, pair)),
            "reason": reason,
            "registered_on": lock.date.isoformat(),
            "amended": lock.amended,
            "lock_sha256": lock.sha256,
            "judged_sha256": lock.judged,
            "results_seen": "; ".join([known.seen, *(each.seen for each in lock.amendments)]),
            "history": lock.history,
        }
        rows.append({column: row[column] for column in VERDICT_COLUMNS})
    return pd.DataFrame(rows, columns=VERDICT_COLUMNS)


def _judged(
    registrations: Iterable[Known],
    tables: Mapping[str, pd.DataFrame],
    assumed: Mapping[str, Value] | None,
    bindings: Mapping[str, Binding] | None,
) -> dict[str, Verdict]:
    """Verdict of each; the claims of a folder are judged together."""
    found, families = {}, {}
    for known in registrations:
        if isinstance(known, ClaimRegistration):
            families.setdefault(known.folder, []).append(known)
        else:
            found[known.name] = intervals.judge(known, tables, assumed)
    for folder, family in families.items():
        check_primary(folder, family)
        for verdict in claims.judge(family, tables, bindings):
            found[verdict.registration] = verdict
    return found


def _place(known: Known, assumed: Mapping[str, Value]) -> tuple[str, str]:
    """Task and pair of a registration; "" for any."""
    if isinstance(known, ClaimRegistration):
        return known.task, known.pair
    return str(assumed.get("task", "")), str(assumed.get("pair", ""))
