"""A classifier with River's interface whose learning is the engine's."""

import math
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from river import base
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.engine.loop import Loop, loop_of
from orla.engine.state import State
from orla.errors import OrlaError
from orla.losses.cross_entropy import CrossEntropy
from orla.study.batches import initial_parameters

Row = Mapping[Hashable, Any]


@dataclass(repr=False, eq=False)
class OnlineRNN(base.Classifier):
    """A recurrent network that learns from each row, by a learner and optimizer of the catalogue.

    The rows are the time steps of one stream: each is a step and an update of an
    `engine.loop.Loop`, of cross-entropy in float64. A feature that a row lacks, or that is None or
    NaN, is 0. A new feature or class widens the network by weights drawn as initial ones are. Its
    state, and what its learner carries, begin anew where that changes their shape. Of a row that is
    refused nothing is learned.

    Args:
        network, optimizer: Architecture and optimizer: names of the catalogue.
        learner: In its short form; one that updates at each step.
        learning_rate: Of the optimizer.
        hidden: Units of the network.
        seed: Of the initial weights, and of a learner's random numbers.

    Raises:
        OrlaError: At the first row that is learned: a part is unknown, or the learner updates once
            a window. A value is no number, or is infinite; a class is None or NaN.
    """

    network: str = "rnn"
    learner: str = "immediate"
    optimizer: str = "adam"
    learning_rate: float = 0.001
    hidden: int = 64
    seed: int = 0
    _multiclass: ClassVar[bool] = True
    _features: dict[Hashable, int] = field(default_factory=dict, init=False)
    _classes: dict[Hashable, int] = field(default_factory=dict, init=False)
    _state: State | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        # The loop holds functions; it is made anew of the parameters.
        return {name: value for name, value in vars(self).items() if name != "_loop"}

    @torch.no_grad()
    def learn_one(self, x: Row, y: Hashable) -> None:
        """One update by a row: its features by name, and its class."""
        y = y.item() if isinstance(y, Tensor) and not y.ndim else y  # tensors are no equal keys
        if not isinstance(y, Hashable) or (pd.api.types.is_scalar(y) and pd.isna(y)):
            raise OrlaError(f"the class is {y!r}; leave out rows without one, or give it a name")
        if not isinstance(x, Mapping):
            raise OrlaError(f"a row is {type(x).__name__}; give a mapping of its features")
        x = {name: _feature_value_or_zero(name, value) for name, value in x.items()}
        new = sorted(x.keys() - self._features.keys(), key=repr)  # whatever the row's order
        self._features |= {name: len(self._features) + i for i, name in enumerate(new)}
        if new or y not in self._classes or self._state is None:
            self._classes.setdefault(y, len(self._classes))
            self._grow()
        stream = {"x": self._vector(x)[None], "y": torch.tensor([self._classes[y]])}
        loop, rates = self._loop, torch.tensor([self.learning_rate], dtype=torch.float64)
        loop.driver.advance(self._state, rates, loop.with_noise(stream, self._state), 1)

    def predict_proba_one(self, x: Row) -> dict[Hashable, float]:
        """Probability of each class known so far, the row taken as the next; changes nothing."""
        return self._probabilities([x])[0] if self._state else {}

    def partial_fit(self, X: Any, y: Iterable[Hashable]) -> Self:
        """Learn consecutive rows, one update each: the same bits as `learn_one` row after row.

        X: A table (rows, features) of pandas or NumPy, whose features are numbered, or mappings.
        """
        rows, labels = _row_mappings(X), list(y)
        if len(rows) != len(labels):
            raise OrlaError(f"X has {len(rows)} rows and y {len(labels)}; give a class to each row")
        for row, label in zip(rows, labels, strict=True):
            self.learn_one(row, label)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each of the rows to come, (rows,); nothing is learned or changed.

        The network's state runs through the rows from where it stands; it must have learned some.
        """
        if not self._state:
            raise OrlaError("OnlineRNN has learned nothing yet; call partial_fit before predict")
        rows = self._probabilities(_row_mappings(X))
        labels = np.fromiter((max(shares, key=shares.get) for shares in rows), object, len(rows))
        kinds = {type(name) for name in self._classes}
        # NumPy would turn classes of several types, and tuples, into others.
        is_plain = len(kinds) == 1 and issubclass(*kinds, (bool, int, float, str, np.generic))
        return np.array([*labels], *kinds) if is_plain else labels

    @cached_property
    def _loop(self) -> Loop:
        """The loop for the features and classes that are known."""
        for name in ("learning_rate", "hidden", "seed"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.number)) and 0 <= value < math.inf
            if not number or (name != "learning_rate" and value != int(value)):
                raise OrlaError(f"OnlineRNN: {name} is {value!r}; give a number from 0 up")
        kinds = {"learner": self.learner, "optimizer": self.optimizer}
        kinds["network"] = {"kind": self.network, "hidden": int(self.hidden)}
        loop = loop_of(kinds, len(self._features), len(self._classes), CrossEntropy())
        if (stride := loop.learner.stride) != 1:
            raise OrlaError(
                f"learner {self.learner} updates every {stride} rows; give OnlineRNN one that"
                " updates at each"
            )
        return loop

    def _grow(self) -> None:
        """Make the network as wide as what is known; what it has learned stays."""
        old_state = self._state
        vars(self).pop("_loop", None)
        params = initial_parameters(self._loop.learner.architecture, [self.seed], torch.float64)
        state = self._loop.start(params, seeds=[self.seed])
        if old_state:
            for part in ("params", "optimizer"):
                old, wider = getattr(old_state, part), getattr(state, part)
                for name in old.keys() & wider.keys():  # in its place: the first of each axis
                    wider[name][tuple(map(slice, old[name].shape))] = old[name]
            if old_state.network.shape == state.network.shape:
                state.network = old_state.network
                old, new = (
                    [getattr(leaf, "shape", leaf) for leaf in pytree.tree_leaves(carry)]
                    for carry in ((s.learners, s.buffers) for s in (old_state, state))
                )
                if old == new:
                    state.learners, state.buffers = old_state.learners, old_state.buffers
                    state.step = old_state.step
        self._state = state

    def _vector(self, x: Row) -> Tensor:
        """The row's features (features,); 0 where one is missing."""
        values = torch.zeros(len(self._features), dtype=torch.float64)
        for name in x.keys() & self._features.keys():
            values[self._features[name]] = _feature_value_or_zero(name, x[name])
        return values

    @torch.no_grad()
    def _probabilities(self, rows: Iterable[Row]) -> list[dict[Hashable, float]]:
        """Probability of each class for each row, the state running through the rows."""
        network = self._loop.learner.architecture
        params, state = {n: p[0] for n, p in self._state.params.items()}, self._state.network[0]
        probabilities = []
        for row in rows:
            state = network.step(params, state, self._vector(row))
            shares = torch.softmax(network.readout(params, state), -1).tolist()
            probabilities.append(dict(zip(self._classes, shares, strict=True)))
        return probabilities


def _feature_value_or_zero(name: Hashable, value: Any) -> float:
    """A feature's value; 0 where it is None or NaN."""
    number = math.inf
    if not isinstance(value, str | bytes):  # nor a text of digits, such as a postal code
        with suppress(TypeError, ValueError, OverflowError):
            number = math.nan if value is None or value is pd.NA else float(value)
    if math.isinf(number):
        raise OrlaError(
            f"feature {name!r} is {value!r}, no finite number; encode it, for instance by"
            " river.preprocessing.OneHotEncoder"
        )
    return 0.0 if math.isnan(number) else number


def _row_mappings(X: Any) -> list[Row]:
    """The rows of a table, or of sequences or mappings, as mappings of their features."""
    if isinstance(X, pd.DataFrame) and X.columns.is_unique:
        return X.to_dict("records")
    if isinstance(X, (pd.DataFrame, pd.Series)) or getattr(X, "ndim", 2) != 2:
        raise OrlaError("X is no table of rows whose features have names of their own; give one")
    return [row if isinstance(row, Mapping) else dict(enumerate(row)) for row in X]
