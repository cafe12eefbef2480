"""RFLO and e-prop against their papers' recursions, from dense derivatives of one step."""

import numpy as np
import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    all_learn,
    built,
    distance,
    initial,
    networks,
    stream,
    watch,
)

from orla.engine.state import fixed_noise
from orla.learners.feedback import RFLO, EProp

EXACT, STEPS, SEEDS = 1e-10, 16, (3, 11)
RNN, LSTM, LEAKY = NETWORKS["rnn"][0], NETWORKS["lstm"][0], built("ctrnn", dt_over_tau=0.3)


def with_h_held(step):
    """As `step` in every value; its derivatives are those with h held fixed in W_hh h."""

    def stepped(params, state, x):
        h = state[: params["W_hh"].shape[1]]
        # W_hh (h.detach() - h) is zero, and takes the derivative by h out of W_hh h.
        held = params["W_hh"].detach() @ (h.detach() - h)
        return step(params | {"b_h": params["b_h"] + held}, state, x)

    return stepped


def by_rule(network, used, X, Y, B=None, leak=None, kept=1.0):
    """Murray (2019): p <- (1 - leak) p + leak phi'(u) (x, h, 1); without a leak e-prop.

    Bellec et al. (2020): eps <- J eps + D, J without what passes through other units. The gradient
    is (B dL/dy) p, B being W_out^T where none is given. Anything but 1 for `kept` is wrong.
    """
    rate = getattr(network, "dt_over_tau", 1.0)
    textbook = oracles.lstm_step if network is LSTM else oracles.rnn_step
    step = lambda p, state, x: state + rate * (textbook(p, state, x) - state)  # noqa: E731
    P, answers = None, []
    for J, D, on_state, direct in oracles.linearised(
        with_h_held(step), initial(network), used, X, Y
    ):
        if leak is not None:  # D is `rate` phi'(u) (x, h, 1)
            J = (1.0 - leak) * torch.eye(len(J)).double()
            D = {n: leak / rate * d for n, d in D.items()}
        P = D if P is None else {n: torch.tensordot(kept * J, P[n], 1) + d for n, d in D.items()}
        if B is not None:  # the readout's bias has dL/dy as its gradient
            padding = 0, len(J) - network.hidden
            on_state = torch.nn.functional.pad(torch.as_tensor(B) @ direct["b_out"], padding)
        answers.append({n: torch.tensordot(on_state, P[n], 1) + direct[n] for n in direct})
    return answers


def random(scale):
    return {"feedback": "random", "feedback_scale": scale}


# A learner, the leak of its trace, and the scale of a random feedback.
CASES = {
    "RFLO": (RFLO(RNN), 0.1, None),
    "RFLO, a leak of 1": (RFLO(RNN, leak=1.0), 1.0, None),
    "RFLO, the leak of its network": (RFLO(LEAKY), 0.3, None),
    "RFLO, another leak": (RFLO(LEAKY, leak=0.1), 0.1, None),
    "RFLO, random": (RFLO(RNN, leak=0.2, **random(0.5)), 0.2, 0.5),
    "RFLO, leaky, random": (RFLO(LEAKY, leak=0.2, **random(0.5)), 0.2, 0.5),
    "e-prop, RNN": (EProp(RNN), None, None),
    "e-prop, leaky, random": (EProp(LEAKY, **random(1.0)), None, 1.0),
    "e-prop, LSTM": (EProp(LSTM), None, None),
    "e-prop, LSTM, random": (EProp(LSTM, **random(0.7)), None, 0.7),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_papers_recursion_while_weights_move(case):
    (learner, leak, scale), (X, Y) = CASES[case], stream(STEPS)
    network = learner.architecture
    ours, used = watch(learner, networks(network), X, Y, rate=0.05, seeds=SEEDS).model(1)
    drawn = fixed_noise(SEEDS, 10, X).view(2, 5, 2).numpy() / np.sqrt(2)
    B = None if scale is None else scale * drawn[1]
    truth = by_rule(network, used, X, Y, B, leak)
    assert distance(ours, truth) < EXACT and all_learn(truth)
    assert distance([used[-1]], [used[0]]) > 0.01
    assert distance(ours, by_rule(network, [used[0]] * STEPS, X, Y, B, leak)) > 1e-3
    off = {"kept": 0.99} if leak is None else {"leak": leak - 0.01}
    alike = network is RNN and leak is None  # an RNN keeps nothing
    assert alike or distance(ours, by_rule(network, used, X, Y, B, **{"leak": leak} | off)) > 1e-4
    # Another feedback: of another model, of another scale, or none that is random.
    others = [drawn[1]] if scale is None else [None, scale * drawn[0], 1.5 * scale * drawn[1]]
    for other in others:
        assert distance(ours, by_rule(network, used, X, Y, other, leak)) > 1e-2
