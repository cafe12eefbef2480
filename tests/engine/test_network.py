"""A network whose step does not fit its state is refused with one line that names its file."""

import pytest

from orla import catalogue
from orla.engine import network
from orla.engine.network import network_of
from orla.errors import OrlaError

MINE = '''
from dataclasses import dataclass
import torch
from orla.architectures.base import Architecture, matvec

@dataclass(frozen=True)
class Mine(Architecture, name="mine"):
    """tanh(W_hh h + W_ih x), with {size} numbers in the state."""

    @property
    def state_size(self):
        return {size}

    def recurrent_shapes(self):
        return {{"W_ih": (self.hidden, self.n_in), "W_hh": (self.hidden, self.hidden)}}

    def step(self, params, state, x):
        {first}
        return torch.tanh(matvec(params["W_hh"], state{of}) + matvec(params["W_ih"], x))
'''


@pytest.fixture
def made(tmp_path):
    """Makes the network of a file of this text."""

    def make(size="self.hidden", of="", first="pass"):
        (tmp_path / "mine.py").write_text(MINE.format(size=size, of=of, first=first))
        catalogue.use_plugins([tmp_path])
        return network_of({"kind": "mine", "hidden": 4}, 3, 2)

    yield make
    catalogue.use_plugins([])


def test_a_network_that_fits_is_made_even_where_it_looks_at_values(made):
    network = made(first="assert float(x.sum()) == 0.0")
    assert (network.hidden, network.n_in, network.n_out) == (4, 3, 2)


def test_its_step_is_tried_with_its_own_parameters(made):
    assert made(first='torch.linalg.solve(params["W_hh"], state)').hidden == 4


def test_a_large_network_is_tried_without_numbers(made, monkeypatch):
    monkeypatch.setattr(network, "_MOST_PARAMETERS", 0)
    assert made(first="assert x.is_meta").hidden == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"size": "8", "of": "[:4]"},
            "step gives a state of shape (4,), and state_size is 8; make",
        ),
        (
            {"size": "self.hidden + 1"},
            "step fails on a state of 5 numbers (RuntimeError: The size of tensor a",
        ),
    ],
)
def test_a_network_whose_step_does_not_fit_its_state_size_is_refused(
    made, tmp_path, change, message
):
    with pytest.raises(OrlaError) as refused:
        made(**change)
    assert str(refused.value).startswith(f"{tmp_path / 'mine.py'}: architecture mine: {message}")
