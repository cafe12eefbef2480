"""What a registration asks of a study: its conditions, and whether the config answers it."""

from collections.abc import Iterable, Sequence
from itertools import chain, product

from orla.errors import OrlaError
from orla.prereg.registration import QUANTITIES, Registration
from orla.results.guards import LEAST_RATES
from orla.results.scales import PP, VARIANCE
from orla.schema import nearest_hint
from orla.study.keys import KEYS
from orla.study.plan import Condition, Plan
from orla.study.quantities import Quantity, parse_quantity


def compared_conditions(plan: Plan, registration: Registration) -> list[Condition]:
    """The conditions of a plan that a registration compares, of all its pairs."""
    if registration.quantity:
        return quantity_conditions(plan, [registration.quantity])
    return [each for each in plan.conditions if registration.compares(each.keys)]


def compared_and_checked_conditions(plan: Plan, registration: Registration) -> list[Condition]:
    """The conditions that a registration compares, and those that its checks read."""
    check_conditions = quantity_conditions(plan, registration.checked_quantities)
    return list(dict.fromkeys([*compared_conditions(plan, registration), *check_conditions]))


def quantity_condition_paths(plan: Plan, registration: Registration) -> list[str]:
    """Paths below the results of the conditions of all quantities that a registration reads."""
    quantities = [registration.quantity, *registration.checked_quantities]
    return sorted({condition.path for condition in quantity_conditions(plan, quantities)})


def find_quantities(plan: Plan, names: Iterable[str]) -> list[Quantity]:
    """The quantities of these names that the config has."""
    entries = plan.config.get("quantities", {})
    return [parse_quantity(name, entries[name]) for name in names if name in entries]


def quantity_conditions(plan: Plan, names: Iterable[str]) -> list[Condition]:
    """The conditions of a plan that the quantities of these names are made of."""
    return [
        condition
        for about in find_quantities(plan, names)
        for condition in plan.conditions
        if any(term.where.items() <= condition.keys.items() for term in about.terms)
        and about.pair in ("", condition.pair)
    ]


def check_study_answers(plan: Plan, registration: Registration) -> None:
    """Refuse (OrlaError) a registration that the study would not answer as it says."""
    name, config = f"registration {registration.name}", plan.config
    if config["name"] not in registration.studies:
        studies = ", ".join(registration.studies)
        raise OrlaError(f'{name}: study "{config["name"]}" is not among its studies ({studies})')
    bound_conditions = compared_and_checked_conditions(plan, registration)
    for condition in bound_conditions:
        if len(rates := plan.grid(condition)) < LEAST_RATES:
            text = f"{condition.learner} with {condition.optimizer} is tried at {len(rates)}"
            raise OrlaError(f"{name}: {text} learning rates; give grids of at least {LEAST_RATES}")
    for quantity in registration.checked_quantities:
        _check_quantity(plan, registration, quantity, ["unit"])
    _check_read_conditions(registration, bound_conditions)
    if registration.quantity:
        _check_quantity(plan, registration, registration.quantity, ["unit", "scale"])
        return
    minus = config["comparisons"].get(registration.comparison, {}).get("minus")
    if minus != list(registration.minus):
        raise OrlaError(
            f"{name}: the config's comparison {registration.comparison} is {minus}, not "
            f'{list(registration.minus)}; correct "minus" or "comparison"'
        )
    conditions, count = compared_conditions(plan, registration), 2 * registration.pairs
    if len(conditions) != count or {c.seeds for c in conditions} != {registration.seeds}:
        texts = sorted({f"{c.pair or c.task}, {c.learner}: {c.seeds} seeds" for c in conditions})
        raise OrlaError(
            f"{name}: the config runs {len(conditions)} of the {count} conditions, two learners on "
            f"each of {registration.pairs} pairs with {registration.seeds} seeds "
            f'({"; ".join(texts[:4]) or "none"}); correct "sample" or the config'
        )
    if registration.scale == VARIANCE.unit and plan.loss(registration.task) != "squared_error":
        raise OrlaError(
            f"{name}: errors of {registration.task} are cross-entropies, which have no unit of the"
            f' target\'s variance; give "scale: {PP.unit}"'
        )


def _check_read_conditions(
    registration: Registration, bound_conditions: Sequence[Condition]
) -> None:
    """Refuse a check that reads another condition than these, since nothing binds it."""
    for check in registration.checks:
        if check.result == QUANTITIES:
            continue
        names = [key for key in check.where if key in KEYS]
        bound_values = {tuple(c.keys[key] for key in names) for c in bound_conditions}
        for values in product(*(check.where[key] for key in names)):
            if values not in bound_values:
                raise OrlaError(
                    f'registration {registration.name}: manipulation check "{check.name}" reads '
                    f"{', '.join(map(str, values))}, which it does not compare, so that nothing "
                    "binds it; give a quantity of it"
                )


def _check_quantity(
    plan: Plan, registration: Registration, quantity: str, fields_to_match: Iterable[str]
) -> None:
    """Refuse a quantity that the config lacks, or of other `fields_to_match` or another sample."""
    name = f"registration {registration.name}"
    if not (matches := find_quantities(plan, [quantity])):
        near = nearest_hint(quantity, plan.config.get("quantities", {}))
        raise OrlaError(f'{name}: the config has no quantity "{quantity}"; {near}')
    [about] = matches
    for what in fields_to_match:
        if (value := getattr(about, what)) != (registered_value := getattr(registration, what)):
            differs = f'{what} of {quantity} is "{value}" in the config, not "{registered_value}"'
            raise OrlaError(f'{name}: {differs}; correct "{what}"')
    conditions = quantity_conditions(plan, [quantity])
    pairs, columns = {c.pair for c in conditions}, {term.column for term in about.terms}
    # A seed counts where each of River's models that is read was run on it.
    peers = [*chain(*(plan.seeds_by_peer_column(c.task).items() for c in conditions))]
    fewer = [n for peer, n in peers if peer in columns]
    seeds = {min([c.seeds, *fewer]) for c in conditions}
    if len(pairs) != registration.pairs or seeds != {registration.seeds}:
        raise OrlaError(
            f"{name}: the config runs {quantity} on {len(pairs)} pairs with {sorted(seeds)} seeds, "
            f'not {registration.pairs} with {registration.seeds}; correct "sample" or the config'
        )
