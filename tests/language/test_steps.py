"""Our steps beside the library's own models, and adapters in them."""

import copy

import pytest
import torch
from made_language import SIZES, tiny

from orla.language.models import insert_adapters
from orla.language.steps import FAMILIES

TOKENS = torch.randint(0, 20, (2, 15), generator=torch.Generator().manual_seed(1))
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-10}


@pytest.fixture(params=CLOSE, ids=str)
def dtype(request, monkeypatch):
    """A format; in float64 the library's passages through float32 are taken out."""
    if request.param == torch.float64:
        monkeypatch.setattr(torch.Tensor, "float", lambda self: self)
        monkeypatch.setattr(torch, "float32", torch.float64)
    return request.param


def in_pieces(steps, tokens, size):
    state, logits = steps.start(len(tokens)), []
    for piece in tokens.split(size, 1):
        more, state = steps(piece, state)
        logits.append(more)
    return torch.cat(logits, 1)


@pytest.mark.parametrize("family", SIZES)
def test_steps_are_the_librarys_sequences(family, dtype):
    model = tiny(family, dtype)
    expected = model(TOKENS, use_cache=False).logits
    for size in (1, 4, 15):
        found = in_pieces(FAMILIES[family](model), TOKENS, size)
        assert torch.allclose(found, expected, rtol=0, atol=CLOSE[dtype] * expected.abs().max())


@pytest.mark.parametrize("family", SIZES)
def test_adapters_are_what_the_library_computes_with_merged_weights(family):
    plain, model = tiny(family, torch.float64), tiny(family, torch.float64)
    steps = FAMILIES[family](model)
    before = in_pieces(steps, TOKENS, 1)
    weights = insert_adapters(steps, 3, [0, 1])
    assert torch.equal(in_pieces(steps, TOKENS, 1), before)  # B is zero: bit for bit
    for weight in weights.values():
        weight.data = 0.3 * torch.randn(weight.shape, dtype=torch.float64)
    found = in_pieces(steps, TOKENS, 5)
    assert not torch.allclose(found, before)
    for row in range(2):
        merged = copy.deepcopy(plain)
        for place in {name[:-2] for name in weights}:
            layer = merged.get_submodule(place)
            added = weights[f"{place}.B"][row] @ weights[f"{place}.A"][row]
            layer.weight.data += added if isinstance(layer, torch.nn.Linear) else added.T
        expected = in_pieces(FAMILIES[family](merged), TOKENS[row : row + 1], 5)[0]
        assert torch.allclose(found[row], expected, rtol=0, atol=1e-10)


def test_gpt2_begins_anew_where_its_positions_end():
    steps = FAMILIES["gpt2"](tiny("gpt2"))
    tokens = torch.randint(0, 20, (1, 40))
    found = in_pieces(steps, tokens, 7)
    for first in (0, 16, 32):
        part = tokens[:, first : first + 16]
        assert torch.allclose(found[:, first : first + 16], steps.model(part).logits, atol=1e-5)
