"""An optimizer that answers with something else than it has to is refused with one line."""

from dataclasses import dataclass

import pytest
import torch

from orla.errors import OrlaError
from orla.optimizers.base import Optimizer
from orla.study.trial import try_optimizer

ZERO = torch.zeros((), dtype=torch.float64)


@dataclass(frozen=True)
class Answering(Optimizer):
    """Plain descent with a counter, whose answers are changed by a function each."""

    begun: callable = lambda state: state
    updates: callable = lambda updates: updates
    after: callable = lambda state: state

    def init(self, params):
        return self.begun({"t": params["W_out"].new_zeros(())})

    def update(self, gradients, state, params, lr):
        updates = {name: -lr * g for name, g in gradients.items()}
        return self.updates(updates), self.after({"t": state["t"] + 1})


def without(name):
    return lambda values: {n: v for n, v in values.items() if n != name}


def test_what_it_has_to_answer_is_taken():
    try_optimizer(Answering())


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {"updates": without("b_out")},
            'update answers no update of "b_out" where a gradient of it is given; answer one for',
        ),
        (
            {"updates": lambda updates: updates | {"V": ZERO}},
            'update answers an update of "V" where no gradient of it is given; answer one for each',
        ),
        (
            {"updates": lambda updates: updates | {"b_out": 0.0}},
            'update answers float as the update of "b_out"; make it a tensor',
        ),
        (
            {"updates": lambda updates: updates | {"b_out": ZERO}},
            'update answers the update of "b_out" of shape (); make it (2,), as it is given',
        ),
        (
            {"after": without("t")},
            'update answers no state "t" where init does; give both the sa',
        ),
        (
            {"after": lambda state: state | {"s": ZERO}},
            'update answers the state "s" where init does not; give both the same keys',
        ),
        (
            {"after": lambda state: {"t": 3}},
            'update answers int as the state "t"; make it a tensor',
        ),
        (
            {"after": lambda state: {"t": torch.zeros(3)}},
            'update answers the state "t" of shape (3,); make it (), as it is given',
        ),
        (
            {"begun": lambda state: {"t": 0}},
            'init answers int as the state "t"; make it a tensor, a',
        ),
    ],
)
def test_another_answer_is_one_line_that_names_the_optimizer(answers, message):
    with pytest.raises(OrlaError) as refused:
        try_optimizer(Answering(**answers))
    assert f"optimizer Answering: {message}" in str(refused.value)
    assert "\n" not in str(refused.value)
