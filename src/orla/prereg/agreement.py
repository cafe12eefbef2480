"""What a registration must agree with: labels, units and natural ranges of the columns it reads."""

import re

import numpy as np

from orla.errors import OrlaError
from orla.prereg.registration import LATER_PARTS, PAIR, RESULT, Registration

ALPHA = 0.05
"""Level at which the tables of a registration of version 1 must have been made."""

WIDE = {"pp": 5.0, "variance": 0.033}
"""Scale -> the widest margin that needs no reason: of recovery, and of the target's variance."""

# The interval of a rank correlation is of no mean.
_OF_RANKS = "95 % bootstrap interval (seeds resampled jointly, both means formed anew)"
_KINDS = {
    r"(^|_)t90_": "90 % t interval",
    r"(^|_)t95_": "95 % t interval",
    r"(^|_)resampled_90_": "90 % bootstrap interval",
    r"(^|_)resampled_": "95 % bootstrap interval",
    r"(^|_)prediction_": "95 % prediction interval",
    r"(^|_)mixed_": "95 % interval of a mixed model",
}
_RANGES = {
    r"_gap|gap_": (-np.inf, np.inf),
    r"^n_|^updates|ratio|norm|(^|_)error|^sd_|_sd_|delta_star|learning_rate": (0, np.inf),
    r"_p$|_share$": (0, 1),
    r"^spearman$|^rho$": (-1, 1),
    r"^r2_": (-np.inf, 1),
}


def interval_label(result: str, column: str, estimate: str = "") -> str:
    """What the interval is of which `column` is an end, such as "90 % t interval over seeds"."""
    if estimate == "spearman":
        return _OF_RANKS
    plain = "95 % t interval" if result in RESULT.values() else "95 % bootstrap interval"
    kind = next((text for pattern, text in _KINDS.items() if re.search(pattern, column)), plain)
    return f"{kind} over {'pairs' if result == RESULT[PAIR] else 'seeds'}"


def natural_range(column: str) -> tuple[float, float]:
    """The values that a column can hold whatever the results: a ratio of norms, from 0 up."""
    ranges = (ends for pattern, ends in _RANGES.items() if re.search(pattern, column))
    return next(ranges, (-np.inf, np.inf))


def check_criterion_labels_and_units(registration: Registration) -> None:
    """Refuse (OrlaError) criteria whose label or unit is not that of the columns they read."""
    for criterion in registration.criteria:
        ends = criterion.columns["low"], criterion.columns["high"]
        name = f"registration {registration.name}: {' and '.join(ends)} of {criterion.result}"
        labels = {
            interval_label(criterion.result, end, criterion.columns["estimate"]) for end in ends
        }
        if labels != {criterion.interval}:
            ends_of = " and of the ".join(sorted(labels))
            raise OrlaError(f'{name} are the ends of the {ends_of}; correct "interval"')
        unit = "pp" if ends[0].endswith("_pp") else "%"
        if ends[0].endswith(("_pp", "_percent")) and criterion.scale != unit:
            raise OrlaError(f'{name} are in {unit}, not in "{criterion.scale}"; correct "unit"')


def check_margin(registration: Registration) -> None:
    """Refuse (OrlaError) a wide margin without a reason."""
    rule, widest = registration.rule, WIDE.get(registration.scale, np.inf)
    if rule and rule.margin and not registration.margin_reason and rule.value > widest:
        wide = f"a margin of {rule.value:g} {registration.scale} is wider than {widest:g}"
        name = f"registration {registration.name}"
        raise OrlaError(f'{name}: {wide}; say in "margin_reason" why it says something')


def check_lockable(registration: Registration) -> None:
    """Refuse (OrlaError) missing binds, a wide margin without a reason, and what is always true."""
    check_criterion_labels_and_units(registration)
    name = f"registration {registration.name}"
    parts, binds = registration.binds.get("parts", {}), registration.binds
    unbound_parts = [f'part "{part}"' for part in LATER_PARTS if part not in parts]
    unbound_parts += ["recordings"] if "recordings" not in binds else []
    if registration.is_tested and unbound_parts:
        path = registration.folder / f"{registration.name}.yaml"
        what = f"no {unbound_parts[0]}" if binds else "neither config nor behaviour"
        raise OrlaError(f"{name}: binds {what}; run: orla prereg bind {path}")
    check_margin(registration)
    claims = [("a criterion", c.columns["estimate"], c.rule.region) for c in registration.criteria]
    claims += [
        (f'manipulation check "{each.name}"', column, each.region)
        for each in registration.checks
        for column in each.ends
        if each.region is not None
    ]
    for what, column, region in claims:
        low, high = natural_range(column)
        if region.contains(np.nextafter(low, np.inf), np.nextafter(high, -np.inf)):
            always = f"{column} cannot be other than {region.describe()}"
            raise OrlaError(f"{name}: {what} is always true: {always}; ask what it could miss")
