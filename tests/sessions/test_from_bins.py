from dataclasses import replace

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.account import Account
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.preparation import Features, Preparation
from orla.sessions.projection import Projection

DATASET = {"name": "test", "source": "made here", "simulated": True, "label": "SIMULATED"}


def binned_days(columns=(17, 15)):
    """Days of 900 and 830 steps; two latents drive the counts and are the targets."""
    rng = np.random.default_rng(4)
    latent = [rng.standard_normal((n, 2)) for n in (900, 830)]
    days = []
    for name, z, width in zip("AB", latent, columns, strict=True):
        rates = np.exp(0.6 * z @ rng.standard_normal((2, width)) + 1.0)
        days.append(
            Binned(rng.poisson(rates).astype(float), z * 100.0, 0.1, name=f"session {name}")
        )
    return days


# Pretraining on the first 630 steps of A; B's own components are fitted on its first 320.


def made(a, b, columns="different", method="pca", n_inputs=5, of=None, own_fit=320):
    preparation = Preparation(bin_s=0.1, features=Features(method, n_inputs, of, own_fit))
    known = Correspondence(columns, "the test says so", "binned.columns")
    return prepare_binned(a, b, known, preparation, tail_steps=0.3, dataset=DATASET)


def test_days_with_other_columns_become_components():
    a, b = binned_days()
    streams = made(a, b)
    assert streams.a.X.shape == (900, 5) and streams.b.X.shape == (510, 5)
    assert streams.bin_s == 0.1
    np.testing.assert_allclose(streams.a.X[:630].std(0), 1.0)
    assert "first 320 steps" in streams.dataset["features"]["fitted_on"]
    one, other = (Account(**streams.dataset["account"][side]) for side in "ab")
    assert (one.steps, one.channels, one.of_channels) == (900, 17, 17)
    assert (other.steps, other.channels, other.of_channels) == (510, 15, 15)
    assert other.seconds_dropped == {"B's components are fitted on it": 32.0}
    assert (one.correspondence, one.because) == ("different", "the test says so")
    # Two latents drive the counts: the first two components must carry them on either day.
    for stream, z in ((streams.a, a.targets), (streams.b, b.targets[320:])):
        fit, *_ = np.linalg.lstsq(stream.X[:, :2], z - z.mean(0), rcond=None)
        assert np.corrcoef((stream.X[:, :2] @ fit).T, z.T)[:2, 2:].diagonal().min() > 0.8


def test_targets_of_both_days_are_scaled_by_the_pretraining_part_of_a():
    a, b = binned_days()
    streams = made(a, b)
    mean, sd = a.targets[:630].mean(0), a.targets[:630].std(0)
    np.testing.assert_allclose(streams.a.Y * sd + mean, a.targets, atol=1e-9)
    np.testing.assert_allclose(streams.b.Y * sd + mean, b.targets[320:], atol=1e-9)


@pytest.mark.parametrize("columns", ["different", "same"])
@pytest.mark.parametrize("step", [0, 1, 200, 509])
def test_no_input_of_b_depends_on_a_later_step(columns, step):
    """Steps count from where B's stream begins: the 320 steps before are fitted on and left out."""
    a, b = binned_days((17, 17))
    plain = made(a, b, columns, of="own")
    counts = b.inputs.copy()
    counts[320 + step :] = counts[320 + step :, ::-1] * 2 + 1
    later = replace(b, inputs=counts, targets=b.targets * 3)
    other = made(a, later, columns, of="own")
    np.testing.assert_array_equal(other.b.X[:step], plain.b.X[:step])
    assert np.abs(other.b.X[step:] - plain.b.X[step:]).max() > 0.1
    # The control: what changes in the fitted steps changes the components.
    counts = b.inputs.copy()
    counts[:320] //= 2
    assert np.abs(made(a, replace(b, inputs=counts), columns, of="own").b.X - plain.b.X).max() > 0.1


def test_components_fitted_on_steps_that_are_kept_depend_on_later_ones():
    """Without leaving steps out, a later step would change an earlier input: what the test above
    would notice."""
    _, b = binned_days()
    rows = np.sqrt(b.inputs)
    changed = rows.copy()
    changed[300:320, ::2] *= 4
    before, after = (Projection.fit(each[:320], 5, "x")(each)[:300] for each in (rows, changed))
    assert np.abs(before - after).max() > 0.1


def test_own_components_are_fitted_on_a_fraction_or_a_number_of_steps():
    a, b = binned_days()
    fraction = made(a, b, own_fit=0.2)
    assert len(fraction.b) == 664
    np.testing.assert_array_equal(made(a, b, own_fit=166).b.X, fraction.b.X)
    np.testing.assert_array_equal(fraction.b.Y[-510:], made(a, b, own_fit=320).b.Y)
    for size, left in ((830, "0 of 830"), (900, "0 of 830"), (1.5, "0 of 830"), (0.0001, "830 of")):
        with pytest.raises(OrlaError, match=f"session B: features.own_fit is {size}, .*{left}"):
            made(a, b, own_fit=size)
    # Fewer steps than components.
    with pytest.raises(OrlaError, match="session B: 4 principal components, fewer than the 5"):
        made(a, b, own_fit=5)


def test_masks_of_b_are_those_of_the_steps_that_are_kept():
    a, b = binned_days()
    begins = np.isin(np.arange(830), [0, 100, 340])
    streams = made(a, replace(b, begins=begins))
    assert np.flatnonzero(~streams.b.scored).tolist() == [20]
    np.testing.assert_array_equal(streams.b.Y, made(a, b).b.Y)


def test_columns_that_correspond_are_chosen_and_scaled_on_a_alone():
    a, b = binned_days((17, 17))
    streams = made(a, b, "same", method="top_channels")
    kept = sorted(np.argsort(a.inputs[:630].var(0))[-5:])
    assert streams.dataset["features"]["columns"] == kept
    rows, fitted = np.sqrt(b.inputs[:, kept]), np.sqrt(a.inputs[:630, kept])
    np.testing.assert_allclose(streams.b.X, (rows - fitted.mean(0)) / fitted.std(0))
    account = Account(**streams.dataset["account"]["b"])
    assert (account.steps, account.channels, account.of_channels) == (830, 5, 17)
    # Nothing is fitted on B or on A's tail; the control changes the pretraining part.
    tail = a.inputs.copy()
    tail[630:] *= 3
    other = made(replace(a, inputs=tail), b, "same", method="top_channels")
    np.testing.assert_array_equal(other.b.X, streams.b.X)
    tail[:300] *= 3
    other = made(replace(a, inputs=tail), b, "same", method="top_channels")
    assert np.abs(other.b.X - streams.b.X).max() > 0.1


def test_signals_that_swing_about_zero_may_be_rectified():
    a, b = binned_days((17, 17))
    swing = np.where(np.arange(17) % 2, -1.0, 1.0)
    preparation = Preparation(0.1, transform="absolute", features=Features("top_channels", 17))
    known = Correspondence("same", "the test says so")
    days = [replace(day, inputs=day.inputs * swing) for day in (a, b)]
    found = prepare_binned(*days, known, preparation, tail_steps=0.3, dataset=DATASET)
    fitted = a.inputs[:630]
    np.testing.assert_allclose(found.b.X, (b.inputs - fitted.mean(0)) / fitted.std(0))


def test_components_of_columns_that_correspond_are_those_of_a():
    a, b = binned_days((17, 17))
    streams = made(a, b, "same", n_inputs=2)
    roots = np.sqrt(a.inputs[:630])
    values, vectors = np.linalg.eigh(np.cov(roots.T))
    vectors = vectors[:, ::-1][:, :2] * np.where(vectors[:, ::-1][:, :2].sum(0) < 0, -1, 1)
    sd = np.sqrt(values[::-1][:2] * 629 / 630)
    expected = (np.sqrt(b.inputs) - roots.mean(0)) @ vectors / sd
    np.testing.assert_allclose(streams.b.X, expected, atol=1e-8)
    np.testing.assert_array_equal(made(a, b, "same", n_inputs=2, of="shared").b.X, streams.b.X)
    # The control: each day's own components are others, whatever the columns are.
    own = made(a, b, "same", n_inputs=2, of="own")
    assert np.abs(own.b.X - streams.b.X[320:]).max() > 0.1
    np.testing.assert_array_equal(own.b.X, made(a, b, n_inputs=2).b.X)


def test_categories_are_numbered_by_the_pretraining_part():
    a, b = binned_days((17, 17))
    labels = np.resize([7, 3, 11], 900)
    label = {"about": {"target": "label"}}
    a, b = replace(a, targets=labels, **label), replace(b, targets=np.full(830, 11), **label)
    streams = made(a, b, "same")
    assert (streams.categories, streams.n_out) == (3, 3)
    assert streams.dataset["features"]["categories"] == [3, 7, 11]
    assert streams.a.Y[:4].tolist() == [1, 0, 2, 1] and set(streams.b.Y) == {2}
    for day, name in ((replace(b, targets=np.full(830, 4)), "session B: label 4"),):
        with pytest.raises(OrlaError, match=f"{name} does not occur in the pretraining part"):
            made(a, day, "same")
    late = labels.copy()
    late[700] = 12
    with pytest.raises(OrlaError, match="session A: label 12 does not occur"):
        made(replace(a, targets=late), b, "same")
    with pytest.raises(OrlaError, match="session A: label is 7 all over the pretraining part"):
        made(replace(a, targets=np.full(900, 7)), b, "same")


@pytest.mark.parametrize("state", ["kept", "reset"])
def test_boundaries_become_masks(state):
    a, b = binned_days()
    begins = np.zeros(900, dtype=bool)
    begins[[0, 100, 250]] = True
    streams = made(replace(a, begins=begins, state=state), b)
    assert streams.b.scored is streams.b.starts is None
    if state == "reset":
        assert streams.a.scored is None
        assert np.flatnonzero(streams.a.starts).tolist() == [0, 100, 250]
        assert streams.dataset["account"]["a"]["scored"] == 900
    else:
        assert streams.a.starts is None
        assert np.flatnonzero(~streams.a.scored).tolist() == [100, 250]
        assert streams.dataset["account"]["a"]["scored"] == 898


def test_days_that_do_not_fit_are_refused():
    a, b = binned_days()
    unlike = r"channels of session A and session B are different \(the test says so\)"
    wide = replace(b, targets=b.targets[:, :1])
    for arguments, message in (
        (
            (a, b, "different", "pca", 16),
            r"session B: 15 .*fewer than the 16 .*lower features",
        ),
        ((a, replace(b, bin_s=0.05)), r"session B: bin_s is 0.05, but preparation.bin_s .* 0.1"),
        ((a, b, "same"), "session B: 15 columns, but 17 in session A"),
        (
            (a, b, "different", "top_channels"),
            f'method is "top_channels", but {unlike}',
        ),
        (
            (a, b, "different", "pca", 5, "shared"),
            f'of is "shared", but {unlike}',
        ),
        ((a, a, "same", "top_channels", 5, "own"), 'of is "own", but method is "top_channels"'),
        ((a, wide), r"session B: vel has shape \(830, 1\), but \(900, 2\) in session A"),
    ):
        with pytest.raises(OrlaError, match=message):
            made(*arguments)
    # A width from single precision, or the difference of two edges, is the config's.
    edges = np.arange(0, 83, 0.1)
    for bin_s in (float(np.float32(0.1)), edges[21] - edges[20]):
        assert made(a, replace(b, bin_s=bin_s)).bin_s == 0.1
    still = replace(a, targets=np.full((900, 2), 5.0))
    with pytest.raises(OrlaError, match="session A: vel column 0 is constant"):
        made(still, b)
