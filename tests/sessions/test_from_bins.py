"""Streams of binned sessions: what is fitted, on which steps, and what cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ortho_group

from orla.errors import OrlaError
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.input_transform import InputTransform
from orla.sessions.preparation import Features, Preparation
from orla.sessions.session import Account

DATASET = {"name": "test", "source": "made here", "simulated": True, "label": "SIMULATED"}
CHANNELS, FIT, STEPS = 24, 800, 3000
UNSTABLE = np.arange(0, CHANNELS, 4)  # a quarter, which change places on day B
METHODS = [("pca", "procrustes"), ("factors", "procrustes"), ("factors", "aligned_factors")]


def binned_days(columns=(17, 15)):
    """Days of 900 and 830 steps; two latents drive the counts and are the targets."""
    rng, days = np.random.default_rng(4), []
    latent = [rng.standard_normal((n, 2)) for n in (900, 830)]
    for name, z, width in zip("AB", latent, columns, strict=True):
        rates = np.exp(0.6 * z @ rng.standard_normal((2, width)) + 1.0)
        counts = rng.poisson(rates).astype(float)
        days.append(Binned(counts, z * 100.0, 0.1, name=f"session {name}"))
    return days


def array_days(unstable=()):
    """Two days of one array and one latent space, of which the target is a turn.

    No direction of that space has more variance than another, so that each day's own components
    are turned by chance. Channels `unstable` change places on day B.
    """
    rng = np.random.default_rng(2)
    loadings = ortho_group.rvs(CHANNELS, random_state=3)[:3] * 5.0
    turn = ortho_group.rvs(3, random_state=1)
    keys = [("array", f"array {i}") for i in range(CHANNELS)]
    days = []
    for name, steps in (("A", 2000), ("B", STEPS)):
        z = rng.standard_normal((steps, 3))
        order = np.arange(CHANNELS)
        if name == "B" and len(unstable):
            order[unstable] = np.roll(unstable, 1)
        rows = z @ loadings[:, order] + 0.5 * rng.standard_normal((steps, CHANNELS)) + 5.0
        days.append(Binned(rows, z @ turn, 0.1, name=f"session {name}", keys=keys))
    return days


# Of binned days, pretraining is on the first 630 steps of A, and B's components on its first 320.


def made(a, b, columns="different", method="pca", count=5, transform="sqrt", named=True, **given):
    features = Features(method, count, **{"own_fit": 320, "stable": 0.75} | given)
    preparation = Preparation(bin_s=0.1, transform=transform, features=features)
    known = Correspondence(columns, "the test says so", "binned.columns", named)
    return prepare_binned(a, b, known, preparation, tail_steps=0.3, dataset=DATASET)


def aligned(a, b, method="factors", align="aligned_factors", columns="different", **given):
    return made(a, b, columns, method, 3, "none", align=align, own_fit=FIT, **given)


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
    # Targets of both days are scaled by the pretraining part of A.
    mean, sd = a.targets[:630].mean(0), a.targets[:630].std(0)
    np.testing.assert_allclose(streams.a.Y * sd + mean, a.targets, atol=1e-9)
    np.testing.assert_allclose(streams.b.Y * sd + mean, b.targets[320:], atol=1e-9)


@pytest.mark.parametrize("columns", ["different", "same"])
def test_no_input_of_b_depends_on_a_later_step(columns):
    """Steps count from where B's stream begins: the 320 steps before are fitted on and left out."""
    a, b = binned_days((17, 17))
    plain = made(a, b, columns, of="own")
    for step in (0, 1, 509):
        counts = b.inputs.copy()
        counts[320 + step :] = counts[320 + step :, ::-1] * 2 + 1
        other = made(a, replace(b, inputs=counts, targets=b.targets * 3), columns, of="own")
        np.testing.assert_array_equal(other.b.X[:step], plain.b.X[:step])
        assert np.abs(other.b.X[step:] - plain.b.X[step:]).max() > 0.1
    # The control: what changes in the fitted steps changes the components.
    counts = b.inputs.copy()
    counts[:320] //= 2
    assert np.abs(made(a, replace(b, inputs=counts), columns, of="own").b.X - plain.b.X).max() > 0.1


def test_own_components_are_fitted_on_a_fraction_or_a_number_of_steps():
    a, b = binned_days()
    fraction = made(a, b, own_fit=0.2)
    assert len(fraction.b) == 664
    np.testing.assert_array_equal(made(a, b, own_fit=166).b.X, fraction.b.X)
    np.testing.assert_array_equal(fraction.b.Y[-510:], made(a, b).b.Y)


def test_trial_boundaries_are_unscored_if_state_carries_over_and_starts_if_reset():
    a, b = binned_days()
    begins = {"begins": np.isin(np.arange(900), [0, 100, 250])}
    b = replace(b, begins=np.isin(np.arange(830), [0, 100, 340]))
    kept, reset = (made(replace(a, **begins, state=state), b) for state in ("kept", "reset"))
    assert np.flatnonzero(~kept.b.scored).tolist() == [20]
    assert kept.a.starts is None and np.flatnonzero(~kept.a.scored).tolist() == [100, 250]
    assert reset.a.scored is None and np.flatnonzero(reset.a.starts).tolist() == [0, 100, 250]
    assert [x.dataset["account"]["a"]["scored"] for x in (kept, reset)] == [898, 900]


def test_columns_that_correspond_are_chosen_and_scaled_on_a_alone():
    a, b = binned_days((17, 17))
    streams = made(a, b, "same", "top_channels")
    kept = sorted(np.argsort(a.inputs[:630].var(0))[-5:])
    assert streams.dataset["features"]["columns"] == kept
    rows, fitted = np.sqrt(b.inputs[:, kept]), np.sqrt(a.inputs[:630, kept])
    np.testing.assert_allclose(streams.b.X, (rows - fitted.mean(0)) / fitted.std(0))
    account = Account(**streams.dataset["account"]["b"])
    assert (account.steps, account.channels, account.of_channels) == (830, 5, 17)
    # Nothing is fitted on B or on A's tail; the control changes the pretraining part.
    tail = a.inputs.copy()
    tail[630:] *= 3
    other = made(replace(a, inputs=tail), b, "same", "top_channels")
    np.testing.assert_array_equal(other.b.X, streams.b.X)
    tail[:300] *= 3
    other = made(replace(a, inputs=tail), b, "same", "top_channels")
    assert np.abs(other.b.X - streams.b.X).max() > 0.1
    # Signals that swing about zero may be rectified.
    swing = np.where(np.arange(17) % 2, -1.0, 1.0)
    days = [replace(day, inputs=day.inputs * swing) for day in (a, b)]
    found = made(*days, "same", "top_channels", 17, "absolute")
    fitted = a.inputs[:630]
    np.testing.assert_allclose(found.b.X, (b.inputs - fitted.mean(0)) / fitted.std(0))


def test_components_of_columns_that_correspond_are_those_of_a():
    a, b = binned_days((17, 17))
    streams = made(a, b, "same", count=2)
    roots = np.sqrt(a.inputs[:630])
    values, vectors = np.linalg.eigh(np.cov(roots.T))
    vectors = vectors[:, ::-1][:, :2] * np.where(vectors[:, ::-1][:, :2].sum(0) < 0, -1, 1)
    sd = np.sqrt(values[::-1][:2] * 629 / 630)
    expected = (np.sqrt(b.inputs) - roots.mean(0)) @ vectors / sd
    np.testing.assert_allclose(streams.b.X, expected, atol=1e-8)
    np.testing.assert_array_equal(made(a, b, "same", count=2, of="shared").b.X, streams.b.X)
    # The control: each day's own components are others, whatever the columns are.
    own = made(a, b, "same", count=2, of="own")
    assert np.abs(own.b.X - streams.b.X[320:]).max() > 0.1
    np.testing.assert_array_equal(own.b.X, made(a, b, count=2).b.X)


LABELS = np.resize([7, 3, 11], 900)


def labelled(a, b, of_a=LABELS, of_b=11):
    about = {"about": {"target": "label"}}
    of_b = np.full(830, of_b)
    b = replace(b, inputs=b.inputs[::-1], targets=of_b, **about)
    return replace(a, targets=of_a, **about), b, "same"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (np.sqrt, "inputs of session A are whole numbers, those of session B are not; prepare bo"),
        (lambda x: 20 * x, r"inputs of session B have a standard deviation of \d+"),
        (lambda x: 5 * x, "inputs of session B are all multiples of 5, those of the other session"),
        (lambda x: -x, "inputs of session B are negative in part, those of session A are not"),
    ],
)
def test_inputs_that_were_prepared_otherwise_on_one_day_are_refused(change, words):
    a, b = binned_days((17, 17))
    with pytest.raises(OrlaError, match=words):
        made(a, replace(b, inputs=change(b.inputs)), "same", transform="none")
    with pytest.raises(OrlaError, match=r"are whole|are negative|have a standard"):
        made(replace(a, inputs=change(a.inputs)), b, "same", transform="none")
    nearly = b.inputs.copy()
    nearly[:3] += 0.5
    made(a, replace(b, inputs=nearly), "same", transform="none")


def test_a_day_that_is_a_part_of_the_other_is_refused():
    a, b = binned_days((17, 17))
    part = replace(b, inputs=a.inputs[70:], targets=a.targets[70:] + 1.0)
    for days in ((a, part), (part, a)):
        with pytest.raises(OrlaError, match=r"\d+% of the inputs of .* step for step"):
            made(*days, "same")
    # Steps without a spike stand in both, and a few in common are chance.
    silent = [
        replace(day, inputs=day.inputs * (np.arange(len(day.inputs)) % 300 > 99)[:, None])
        for day in (a, b)
    ]
    silent[1].inputs[700:750] = silent[0].inputs[700:750]
    made(*silent, "same")


def test_categories_are_numbered_by_the_pretraining_part():
    streams = made(*labelled(*binned_days((17, 17))))
    assert (streams.categories, streams.n_out) == (3, 3)
    assert streams.dataset["features"]["categories"] == [3, 7, 11]
    assert streams.a.Y[:4].tolist() == [1, 0, 2, 1] and set(streams.b.Y) == {2}


def score(streams):
    """R2 on day B of a linear decoder of day A."""
    on_a = np.column_stack([streams.a.X, np.ones(len(streams.a))])
    weights, *_ = np.linalg.lstsq(on_a[:1400], streams.a.Y[:1400], rcond=None)
    outputs = np.column_stack([streams.b.X, np.ones(len(streams.b))]) @ weights
    y = streams.b.Y
    return 1 - ((y - outputs) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()


@pytest.mark.parametrize(("method", "align"), METHODS)
def test_a_decoder_of_day_a_reads_day_b_by_aligned_components_alone(method, align):
    a, b = array_days()
    streams = aligned(a, b, method, align)
    assert score(streams) > 0.9 and score(aligned(a, b, method, None)) < 0.3
    share = "18" if align == "aligned_factors" else "24"
    for account in streams.dataset["account"].values():
        said = f"turned onto A's by {align} over {share} of the 24 channels"
        assert said in str(Account(**account))
    assert len(streams.b) == STEPS - FIT
    # An array listed in another order is the same array; without names columns are taken wrongly.
    order = np.random.default_rng(0).permutation(CHANNELS)
    listed = replace(b, inputs=b.inputs[:, order], keys=[b.keys[i] for i in order])
    np.testing.assert_allclose(aligned(a, listed, method, align).b.X, streams.b.X, atol=1e-5)
    unnamed = [replace(day, keys=[*range(CHANNELS)]) for day in (a, listed)]
    assert score(aligned(*unnamed, method, align)) < 0.5 * score(streams)
    # No step after those that components are aligned on changes the projection.
    later, earlier = b.inputs.copy(), b.inputs.copy()
    later[FIT:] = later[FIT:, ::-1] * 2 + 1
    earlier[FIT - 1] *= 2
    for day, same in (
        (replace(b, inputs=later, targets=3 * b.targets), True),
        (replace(b, inputs=earlier), False),
    ):
        readings = aligned(a, day, method, align).readings["b"]
        assert (readings == streams.readings["b"]) == same


def test_stable_alignment_names_stable_channels_and_outscores_procrustes():
    a, b = array_days(unstable=UNSTABLE)
    stable = aligned(a, b)
    expected = [f"array {i}" for i in range(CHANNELS) if i not in UNSTABLE]
    assert stable.dataset["features"]["stable"] == expected
    assert score(stable) > score(aligned(a, b, align="procrustes"))


@pytest.mark.parametrize(
    ("method", "align", "columns"),
    [(*METHODS[0], "different"), (*METHODS[2], "different"), ("pca", None, "same")]
    + [("factors", None, "same"), ("top_channels", None, "same")],
)
def test_saved_input_transform_reproduces_the_stream_inputs(method, align, columns):
    a, b = array_days()
    streams = aligned(a, b, method, align, columns)
    for side, day, steps in (("a", a, 0), ("b", b, STEPS - len(streams.b))):
        transform = InputTransform.from_record(streams.readings[side])
        inputs = getattr(streams, side).X
        np.testing.assert_allclose(transform(day.inputs[steps:]), inputs, atol=1e-9)
        two = transform.select_inputs(np.array([2, 0]))
        np.testing.assert_allclose(two(day.inputs[steps:]), inputs[:, [2, 0]], atol=1e-9)
    target = streams.readings["target"]
    np.testing.assert_allclose(streams.a.Y * target["sd"] + target["mean"], a.targets, atol=1e-9)


A, B = binned_days()
C, D = array_days()
FEWER = replace(
    D, inputs=D.inputs[:, :20], keys=[("other", str(i)) for i in range(18)] + D.keys[:2]
)
NUMBERED = [replace(day, keys=[*range(day.inputs.shape[1])]) for day in (C, FEWER)]
UNLIKE = r"channels of session A and session B are different \(the test says so\)"
ALIGN = {"method": "factors", "count": 3, "transform": "none", "align": "aligned_factors"}
NARROW, FINE = replace(B, targets=B.targets[:, :1]), replace(B, bin_s=0.05)
RESTING = replace(A, targets=np.full((900, 2), 5.0))
HALF = replace(A, targets=A.targets * [1, 0])
LATE = np.where(np.arange(900) == 700, 12, LABELS)


@pytest.mark.parametrize(
    ("days", "arguments", "message"),
    [
        ((A, B), {"count": 16}, r"session B: 15 .*fewer than the 16 .*lower features"),
        ((A, B), {"own_fit": 830}, "session B: features.own_fit is 830, .*0 of 830"),
        ((A, B), {"own_fit": 1.5}, "session B: features.own_fit is 1.5, .*0 of 830"),
        ((A, B), {"own_fit": 0.0001}, "session B: features.own_fit is 0.0001, .*830 of"),
        ((A, B), {"own_fit": 5}, "session B: 4 principal components, fewer than the 5"),
        ((A, FINE), {}, "session B: bin_s is 0.05, but 0.1 in session A; bin both"),
        ((replace(A, bin_s=0.05), FINE), {}, r"A: bin_s is .* but .*\.bin_s .* 0.1"),
        ((A, B, "same"), {}, "session B: 15 columns, but 17 in session A"),
        ((A, B), {"method": "top_channels"}, f'method is "top_channels", but {UNLIKE}'),
        ((A, B), {"of": "shared"}, f'of is "shared", but {UNLIKE}'),
        ((A, A, "same", "top_channels"), {"of": "own"}, 'of is "own", but method is "top_chan'),
        ((A, NARROW), {}, r"session B: vel has shape \(830, 1\), but \(900, 2\) in session A"),
        ((RESTING, B), {}, "A: vel column 0 is constant .*; decode another series or array, or"),
        ((HALF, B), {}, "A: vel column 1 is constant .*; leave that column out of the array, or"),
        (labelled(A, A, of_b=4), {}, "session B: label 4 does not occur in the pretraining part"),
        (labelled(A, A, LATE), {}, "session A: label 12 does not occur"),
        (labelled(A, A, np.full(900, 7)), {}, "session A: label is 7 all over the pretraining"),
        ((C, FEWER), ALIGN, r"session B: 2 channels that both sessions have, fewer than the 3"),
        ((C, D), ALIGN | {"stable": 2}, r"session B: 2 stable channels, fewer than the 3 factors"),
        ((C, D), ALIGN | {"stable": 25}, r"session B: features.stable is 25 of 24 channels"),
        ((C, D), ALIGN | {"method": "pca"}, 'align is "aligned_factors", but method is "pca"; set'),
        ((C, D, "same"), ALIGN | {"of": "shared"}, 'align.*but of is "shared"'),
        ((C, D, "same"), ALIGN | {"method": "top_channels"}, 'align is "ali.*", but method is "t'),
        ((C, D), ALIGN | {"named": False}, "no channel of session A has a name that lasts"),
        (NUMBERED, ALIGN, "session B has 20 columns and session A 24, so that their numbers name"),
    ],
)
def test_days_and_feature_options_that_do_not_fit_are_refused(days, arguments, message):
    names = [replace(day, name=f"session {name}") for name, day in zip("AB", days, strict=False)]
    with pytest.raises(OrlaError, match=message) as caught:
        made(*names, *days[2:], **arguments)
    assert "\n" not in str(caught.value)


def test_a_width_from_single_precision_or_the_difference_of_two_edges_is_the_configs():
    for bin_s in (float(np.float32(0.1)), 2.1 - 2.0):
        assert made(A, replace(B, bin_s=bin_s)).bin_s == 0.1
