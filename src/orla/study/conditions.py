"""The conditions of a study: which network learns how, by which optimizer, on which split."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from orla.errors import OrlaError
from orla.schema import nearest
from orla.study import rates


@dataclass(frozen=True)
class Condition:
    """One row of a table: seeds 0 .. `seeds` - 1 of one way to learn."""

    architecture: str
    learner: str
    optimizer: str
    precision: str
    split: str
    seeds: int

    @property
    def path(self) -> str:
        """The condition as a path: ``rnn/immediate/adam/float64/50-50``."""
        return "/".join(
            (self.architecture, self.learner, self.optimizer, self.precision, self.split)
        )


def expand(blocks: Iterable[Mapping[str, Any]]) -> list[Condition]:
    """Expand blocks of conditions into single ones.

    Args:
        blocks: Each lists ``architectures``, ``learners``, ``optimizers``, ``precisions`` and
            ``splits``, all combinations of which are meant, and a number of ``seeds``.

    Returns:
        Every condition once, in the order of its first mention. One that several blocks share has
        the largest of their numbers of seeds.
    """
    seeds: dict[tuple[str, ...], int] = {}
    for block in blocks:
        for key in product(
            block["architectures"],
            block["learners"],
            block["optimizers"],
            block["precisions"],
            block["splits"],
        ):
            seeds[key] = max(seeds.get(key, 0), block["seeds"])
    return [Condition(*key, n) for key, n in seeds.items()]


def check(
    blocks: Iterable[Mapping[str, Any]],
    architectures: Iterable[str],
    optimizers: Iterable[str],
    splits: Iterable[str],
) -> None:
    """Check that blocks of conditions name only what the study has.

    Args:
        blocks: As `expand` takes them.
        architectures: Names of the architectures that have a size.
        optimizers: Names of the optimizers that have a grid of rates.
        splits: Names of the splits that have a fraction.

    Raises:
        OrlaError: On the first other name: its block and key, and the nearest name there is.
    """
    known = {
        "architectures": list(architectures),
        "optimizers": list(optimizers),
        "splits": list(splits),
    }
    for i, block in enumerate(blocks):
        for key, names in known.items():
            for name in block[key]:
                if name not in names:
                    raise OrlaError(
                        f'config: "conditions[{i}].{key}" cannot have "{name}"; '
                        + nearest(name, names)
                    )


def check_grids(grids: Mapping[str, Mapping[str, Iterable[float]]]) -> None:
    """Check that every grid is one of neighbouring half-decade rates.

    Args:
        grids: Optimizer -> cadence -> rates.

    Raises:
        OrlaError: On the first that is not: its key, and what to write.
    """
    for optimizer, cadences in grids.items():
        for name, values in cadences.items():
            try:
                rates.grid(list(values))
            except OrlaError as error:
                text = str(error).removeprefix("grids: ")
                raise OrlaError(f'config: "grids.{optimizer}.{name}": {text}') from None


def check_horizons(
    horizons: Mapping[str, Any], parts: Mapping[str, Any], conditions: Iterable[Condition]
) -> None:
    """Check that horizons fall on the cuts of the stream, on a split that there is.

    Args:
        horizons: ``steps``, the name of the ``split`` and those of the ``learners``.
        parts: ``cut`` in steps, and ``splits`` by name.
        conditions: Those of the study; each learner must have one on the split.

    Raises:
        OrlaError: On the first that does not: its key, and what to write.
    """
    if horizons["split"] not in parts["splits"]:
        raise OrlaError(
            f'config: "horizons.split" cannot be "{horizons["split"]}"; '
            + nearest(horizons["split"], parts["splits"])
        )
    run = {c.learner for c in conditions if c.split == horizons["split"]}
    for learner in horizons["learners"]:
        if learner not in run:
            raise OrlaError(
                f'config: "horizons.learners" has "{learner}", of which no condition runs on '
                f"{horizons['split']}; {nearest(learner, sorted(run))}"
            )
    for step in horizons["steps"]:
        if step % parts["cut"]:
            raise OrlaError(
                f'config: "horizons.steps" has {step}, no multiple of parts.cut '
                f"({parts['cut']}); round it"
            )


def networks(conditions: Iterable[Condition]) -> dict[str, int]:
    """Return how many seeds each pretrained network, ``architecture/precision``, needs."""
    seeds: dict[str, int] = {}
    for c in conditions:
        path = f"{c.architecture}/{c.precision}"
        seeds[path] = max(seeds.get(path, 0), c.seeds)
    return seeds


def tree(values: Mapping[str, Any]) -> dict[str, Any]:
    """Nest values by the parts of their paths: ``{"a/b": 1}`` becomes ``{"a": {"b": 1}}``."""
    root: dict[str, Any] = {}
    for path, value in values.items():
        *parents, name = path.split("/")
        branch = root
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[name] = value
    return root


def ordered(values: Any) -> Any:
    """Sort the keys of nested mappings, so that their order in a file changes nothing."""
    if isinstance(values, Mapping):
        return {key: ordered(values[key]) for key in sorted(values)}
    return values


def cadence(learner: str) -> str:
    """Return whether a learner updates at each ``step`` or once a ``window``.

    The number that ends a learner's name is how many steps lie between two of its updates
    (``immediate-200``, ``tbptt-200-200``); a learner without one updates at each step.
    """
    stride = learner.rpartition("-")[2]
    return "window" if stride.isdigit() and int(stride) > 1 else "step"
