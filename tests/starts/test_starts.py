"""What every start answers, plug-ins included."""

import pytest
import torch
from harness import NETWORKS, networks, same

from orla import catalogue
from orla.starts.base import Fresh, Pretrained
from orla.study.batches import apply_start, initial_parameters

STARTS = catalogue.parts("start")


@pytest.mark.parametrize("kind", ["rnn", "stack", "another"])
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_shapes_and_precision_stay_and_a_seed_is_the_same_in_any_company(name, kind, dtype):
    architecture, _ = NETWORKS[kind]
    start, params = catalogue.make("start", name), networks(architecture, models=3, dtype=dtype)
    before = {n: p.clone() for n, p in params.items()}
    begun = apply_start(start, architecture, params, [4, 5, 6])
    assert same(params, before)
    assert list(begun) == list(params)
    assert all(begun[n].shape == p.shape and begun[n].dtype == dtype for n, p in params.items())
    assert same(begun, apply_start(start, architecture, params, [4, 5, 6]))
    last = {n: p[2:] for n, p in params.items()}
    alone = apply_start(start, architecture, last, [6])
    assert same({n: p[0] for n, p in alone.items()}, {n: p[2] for n, p in begun.items()})


def test_a_start_that_draws_is_given_its_seeds_own_generator():
    class Shaken(Pretrained):
        def apply(self, architecture, params, generator):
            return {n: p + torch.rand(p.shape, generator=generator) for n, p in params.items()}

    architecture, _ = NETWORKS["rnn"]
    params = networks(architecture, models=1)
    one, two, again = (apply_start(Shaken(), architecture, params, [seed]) for seed in (1, 2, 1))
    assert same(one, again) and not same(one, two)
    drawn = {n: one[n] - params[n] for n in params}
    fresh = initial_parameters(architecture, [1], torch.float64)
    assert not torch.allclose(drawn["W_ih"], fresh["W_ih"], atol=1e-3)


def test_pretrained_and_fresh_change_no_parameter_and_declare_pretrained():
    architecture, _ = NETWORKS["lstm"]
    params = networks(architecture)
    for start, pretrained in ((Pretrained(), True), (Fresh(), False)):
        assert same(apply_start(start, architecture, params, [0, 1]), params)
        assert start.part.more["pretrained"] is pretrained
