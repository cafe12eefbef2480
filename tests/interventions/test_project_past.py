"""The leading direction of the past gradients so far, by NumPy's SVD and by hand."""

import numpy as np
import pytest
import torch
from harness import NETWORKS, make_learner, networks, stream, watch
from torch.func import vmap

from orla.interventions.base import Gradients
from orla.interventions.past import ProjectPast
from orla.programs import compiling
from orla.programs.compiling import Compiled

SHAPES = {"a": (2, 3), "b": (4,)}
D = 10


@pytest.fixture(autouse=True)
def eager_again():
    yield
    compiling.configure(compile=False)


def draws(updates, seed=0):
    """Full and immediate gradients (updates, D) whose past has some direction in common."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=D)
    imm = rng.normal(size=(updates, D))
    past = rng.normal(size=(updates, 1)) * common + rng.normal(size=(updates, D))
    return imm + past, imm


def by_name(vector):
    a, b = np.split(vector, [6])
    return {"a": torch.tensor(a).view(2, 3), "b": torch.tensor(b)}


def flat(gradient):
    return torch.cat([gradient["a"].flatten(), gradient["b"]]).numpy()


def answers(full, imm, **options):
    """The gradient (updates, D) that replaces the full one at each update."""
    part = ProjectPast(immediate="imm", **options)
    params = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    state, found = part.init(params), []
    for f, i in zip(full, imm, strict=True):
        given = Gradients(by_name(f), {"imm": by_name(i)})
        answer, state = part.update(given, state, params)
        found.append(flat(answer))
    return np.array(found)


def leading(columns):
    """u_1 of a matrix whose columns are given as rows."""
    return np.linalg.svd(columns.T)[0][:, 0]


def expected(full, imm, kept=None):
    past, found = full - imm, []
    for t in range(len(past)):
        u = leading(past[max(0, t + 1 - (kept or len(past))) : t + 1])
        found.append(full[t] - u * (u @ past[t]))
    return np.array(found)


def test_it_is_numpys_svd_of_the_columns_so_far_or_of_the_last():
    full, imm = draws(12)
    ours, theirs = answers(full, imm, windows=12), expected(full, imm)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    few = answers(full, imm, windows=4)
    np.testing.assert_allclose(few, expected(full, imm, kept=4), rtol=1e-10, atol=1e-12)
    assert np.abs(few[4:] - theirs[4:]).max() > 1e-3
    # The negative control: by the present column alone, all of the past would go.
    np.testing.assert_allclose(answers(full, imm, windows=1), imm, rtol=1e-10, atol=1e-12)
    assert np.abs(ours[1:] - imm[1:]).max(1).min() > 0.1


def test_in_a_run_each_model_has_columns_of_its_own():
    network = NETWORKS["rnn"][0]
    parts = {"observers": {"imm": make_learner("immediate-4", network)}}
    parts["interventions"] = [ProjectPast(immediate="imm", windows=3)]
    learner = make_learner("tbptt-8-4", network)
    run = watch(learner, networks(network), *stream(32), rate=0.05, **parts)
    for model in range(2):
        given, full, imm = (
            np.array([torch.cat([g.flatten() for g in one.values()]).numpy() for one in gradients])
            for gradients in (run.model(model, of)[0] for of in ("gradient", "learned", "of imm"))
        )
        theirs = expected(full, imm, kept=3)
        np.testing.assert_allclose(given, theirs, rtol=1e-8, atol=1e-10)
        assert np.abs(given - full).max(1).min() > 1e-3


def test_without_a_past_the_gradient_stays_bit_for_bit():
    full, imm = draws(4, seed=4)
    full[0], full[3] = imm[0], imm[3]
    found = answers(full, imm)
    assert np.array_equal(found[[0, 3]], full[[0, 3]]) and not np.allclose(found[2], full[2])


def test_an_observers_past_is_taken_out_of_the_learners_gradient():
    full, imm = draws(3, seed=5)
    own = np.random.default_rng(9).normal(size=(3, D))
    part = ProjectPast(immediate="imm", full="full")
    assert part.observers() == ("full", "imm")
    params = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    state = part.init(params)
    for o, f, i, e in zip(own, full, imm, expected(full, imm), strict=True):
        given = Gradients(by_name(o), {"imm": by_name(i), "full": by_name(f)})
        answer, state = part.update(given, state, params)
        np.testing.assert_allclose(flat(answer), o - (f - e), rtol=1e-10, atol=1e-12)


def test_parameters_that_one_gradient_lacks_are_no_part_of_the_past():
    part = ProjectPast(immediate="imm")
    params = {"a": torch.zeros(2), "b": torch.zeros(1)}
    own = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([5.0])}
    answer, state = part.update(
        Gradients(own, {"imm": {"b": torch.tensor([2.0])}}), part.init(params), params
    )
    assert answer["a"].tolist() == [1.0, 2.0] and answer["b"].tolist() == [2.0]
    assert state["columns"][0].tolist() == [0.0, 0.0, 3.0]
    answer, state = part.update(
        Gradients({"b": own["b"]}, {"imm": own | {"b": torch.ones(1)}}), part.init(params), params
    )
    assert answer.keys() == {"b"} and state["columns"][0].tolist() == [0.0, 0.0, 4.0]


def test_a_model_that_diverges_is_nan_and_ends_no_other():
    full, imm = (torch.tensor(g) for g in draws(3, seed=6))
    part = ProjectPast(immediate="imm", windows=3)
    params = {"a": torch.zeros(2, D, dtype=torch.float64)}
    state, found = vmap(part.init)(params), []
    for t in range(3):
        wild = full[t] * torch.tensor([[1.0], [1e200 if t == 1 else 1.0]])
        given = Gradients({"a": wild}, {"imm": {"a": imm[t].expand(2, D)}})
        answer, state = vmap(part.update)(given, state, params)
        found.append(answer["a"])
    theirs = expected(full.numpy(), imm.numpy())
    for t, answer in enumerate(found):
        np.testing.assert_allclose(answer[0], theirs[t], rtol=1e-10, atol=1e-12)
        assert answer[1].isnan().all() == (t > 0)


@pytest.mark.full
def test_compiled_for_several_models_it_is_the_same():
    part, made = ProjectPast(immediate="imm", windows=3), []
    params = {"a": torch.zeros(2, D, dtype=torch.float64)}
    for compiled in (False, True):
        compiling.configure(compile=compiled)
        update = Compiled(lambda *given: vmap(part.update)(*given), "projecting", [part])
        state = vmap(part.init)(params)
        for full, imm in zip(*(torch.tensor(g) for g in draws(5, seed=7)), strict=True):
            both = torch.stack([full, full.flip(0)])
            given = Gradients({"a": both}, {"imm": {"a": imm.expand(2, D)}})
            answer, state = update(given, state, params)
            made.append((answer["a"], state))
    for (one, before), (two, after) in zip(made[:5], made[5:], strict=True):
        torch.testing.assert_close(two, one, rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-13)
