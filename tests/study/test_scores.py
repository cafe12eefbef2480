"""Errors of stretches of a stream, and the step of a divergence."""

import numpy as np
import pytest
import torch
from harness import SQUARED_ERROR

from orla import catalogue
from orla.study import scores


def test_a_divergence_is_at_the_first_step_above_the_limit_or_not_finite():
    errors = np.ones((7, 4))
    errors[1, 2], errors[2, 1], errors[4, 0], errors[6, 3] = np.nan, 2e6, 1e6, np.inf
    heldout = np.array([1.0, 1.0, 1.0, np.inf, 1.0, np.nan, np.nan])
    assert scores.diverged_steps(errors, heldout).tolist() == [-1, 2, 1, 4, -1, 4, 3]


def test_means_of_whole_windows_over_scored_steps():
    values = np.arange(14.0).reshape(2, 7)
    assert scores.window_means(values, None, 3).tolist() == [[1.0, 4.0], [8.0, 11.0]]
    scored = torch.tensor([True, False, True, False, False, False, True])
    for mask in (scored, scored.expand(2, 7)):
        means = scores.window_means(np.where(scored, values, 0.0), mask, 3)
        assert means[:, 0].tolist() == [1.0, 8.0] and np.isnan(means[:, 1]).all()


@pytest.mark.parametrize("own", [False, True])
def test_errors_count_scored_steps_alone(own):
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 12, 3, generator=generator, dtype=torch.float64)
    lead = (12, 2) if own else (12,)
    stream = {
        "x": torch.zeros(*lead, 1),
        "y": torch.randn(*lead, 3, generator=generator, dtype=torch.float64),
        "scored": torch.rand(lead, generator=generator) < 0.6,
    }
    part = slice(3, 12)
    found, _ = scores.mean_scores(SQUARED_ERROR, outputs, stream, part)
    each = scores.step_errors(SQUARED_ERROR, outputs, stream)
    learned = scores.mean_adapting_error(
        each[:, part], scores.entry_models_first({n: m[part] for n, m in stream.items()}, "scored")
    )
    for model in range(2):
        y, scored = (stream[n][:, model] if own else stream[n] for n in ("y", "scored"))
        by_hand = [float(((outputs[model, t] - y[t]) ** 2).mean()) for t in range(12)]
        assert each[model].tolist() == pytest.approx(
            (torch.tensor(by_hand, dtype=torch.float64) * scored).tolist()
        )
        kept = [by_hand[t] for t in range(3, 12) if scored[t]]
        assert [found[model], learned[model]] == pytest.approx([np.mean(kept)] * 2, rel=1e-12)
        assert len(kept) < 9 and found[model] != pytest.approx(np.mean(by_hand[3:]), rel=1e-3)


@pytest.mark.parametrize("name", catalogue.parts("loss"))
def test_further_scores_are_the_losss_own_on_the_part(name):
    loss = catalogue.make("loss", name)
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 12, 3, generator=generator, dtype=torch.float64)
    y = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    if loss.part.more["targets"] == "categories":
        y = y.argmax(-1)
    stream = {"x": torch.zeros(12, 1), "y": y}
    _, found = scores.mean_scores(loss, outputs, stream, slice(4, 10))
    direct = loss.scores(outputs[:, 4:10], y[4:10], None)
    whole = loss.scores(outputs, y, None)
    assert list(found) == list(loss.columns())
    for column in found:
        assert np.array_equal(found[column], direct[column])
        assert not np.array_equal(found[column], whole[column])


def test_unscored_steps_leave_further_scores_as_they_are():
    outputs, y = np.array([1.0, 2.0, 4.0, 9.0]), np.array([1.0, 3.0, 5.0, -9.0])
    stream = {
        "x": torch.zeros(4, 1),
        "y": torch.as_tensor(y)[:, None],
        "scored": torch.tensor([True, True, True, False]),
    }
    _, found = scores.mean_scores(SQUARED_ERROR, torch.as_tensor(outputs)[None, :, None], stream)
    # Residuals 0, 1, 1; the scored targets lie 2, 0, 2 from their mean.
    assert {name: values.tolist() for name, values in found.items()} == {
        name: [1 - 2 / 8] for name in SQUARED_ERROR.columns()
    }
