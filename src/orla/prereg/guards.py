"""Guards of the estimates that a registration of version 1 is about.

The table of estimates names, for each pair and comparison, reasons not to rely on it. Registrations
of version 2 read them themselves; those of version 1 were locked before there were any.
"""

from collections.abc import Mapping

import pandas as pd

from orla.prereg import rows
from orla.prereg.claimed import RESULT, SEED
from orla.prereg.registration import Registration, Value

_ESTIMATES, _ESTIMAND = RESULT[SEED], "heldout"


def of(
    registration: Registration,
    tables: Mapping[str, pd.DataFrame],
    assumed: Mapping[str, Value],
) -> list[str]:
    """Guards of the held-out estimates of a registration's conditions; [] without such a table.

    Where the conditions name both learners of an estimate, each of its guards counts. Where they
    name one learner, a guard counts that every estimate with this learner has, for then it is not
    the other learner's.

    Parameters
    ----------
    registration
        The registration.
    tables
        Result -> its table.
    assumed
        Column -> value, for columns that the conditions do not name.
    """
    if _ESTIMATES not in tables or "learner" not in registration.conditions:
        return []
    table = tables[_ESTIMATES]
    conditions = {
        key: value if isinstance(value, list) else [value]
        for key, value in registration.conditions.items()
    }
    learners = conditions.pop("learner")
    found = rows.assuming(table, conditions, {**assumed, "estimand": _ESTIMAND})
    for key, values in conditions.items():
        if key in found:
            found = found[found[key].isin(values)]
    inside = found[["learner_full", "learner_immediate"]].isin(learners)
    if len(learners) > 1:
        given = _guards(found[inside.all(axis=1)])
        return [f"{row}: {text}" for row, texts in given for text in texts]
    each = [set(texts) for _, texts in _guards(found[inside.any(axis=1)])]
    return sorted(set.intersection(*each)) if each else []


def _guards(found: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """(optimizer and comparison, its guards) of each row."""
    return [
        (f"{row['optimizer']}, {row['comparison']}", split(row["guards"]))
        for row in found.to_dict("records")
    ]


def split(guards: object) -> list[str]:
    """Guards as sentences; a row whose guards are missing has that for one."""
    if not isinstance(guards, str):
        return ["its guards are missing: build the table of estimates again"]
    return [text for text in guards.split("; ") if text]
