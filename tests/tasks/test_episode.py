"""Streams and episodes: what is none, their parts, and their file."""

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.provenance.arrays import read_arrays, write_arrays
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream, concatenate


def values(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def spoiled(array, at, value):
    array = array.copy()
    array[at] = value
    return array


X, Y, WORDS = values(6, 3), values(6, 2), np.arange(6)
MASK = np.array([1, 0, 1, 1, 0, 1], bool)

NO_STREAMS = [
    (dict(X=X.astype(np.float32), Y=Y), "X is float32 (6, 3)"),
    (dict(X=X[0], Y=Y), "X is float64 (3,)"),
    (dict(X=X, Y=Y.astype(np.float32)), "Y float32 (6, 2) do not fit"),
    (dict(X=X, Y=Y[1:]), "Y float64 (5, 2) do not fit"),
    (dict(X=values(2, 6, 3), Y=Y), "do not fit"),
    (dict(X=X, Y=Y[:, 0]), "do not fit"),
    (dict(X=X, Y=WORDS.astype(np.int32)), "Y int32 (6,) do not fit"),
    (dict(X=X, Y=WORDS[:, None]), "do not fit"),
    (dict(X=X, Y=WORDS - 1), "category -1"),
    (dict(X=spoiled(X, (4, 1), np.nan), Y=Y), "X is not finite at (4, 1)"),
    (dict(X=spoiled(X, (0, 2), -np.inf), Y=Y), "X is not finite at (0, 2)"),
    (dict(X=X, Y=spoiled(Y, (5, 0), np.nan)), "Y is not finite at (5, 0)"),
    (dict(X=X, Y=Y, scored=np.ones(6)), "scored is float64 (6,)"),
    (dict(X=X, Y=Y, scored=np.ones(5, bool)), "scored is bool (5,)"),
    (dict(X=values(1, 6, 3), Y=values(1, 6, 2), starts=MASK), "starts is bool (6,); give bool (1,"),
]


@pytest.mark.parametrize("own", [False, True])
def test_stream_sizes_and_kinds_are_told_and_slices_are_views_that_concatenate(own):
    lead = (2, 6) if own else (6,)
    mask = np.broadcast_to(MASK, lead).copy()
    whole = Stream(values(*lead, 3), values(*lead, 1), scored=mask, starts=~mask)
    assert (len(whole), whole.n_in, whole.per_seed, whole.has_categories) == (6, 3, own, False)
    words = Stream(whole.X, np.zeros(lead, np.int64))
    assert words.has_categories
    part = whole.slice_steps(slice(2, 5))
    assert np.shares_memory(part.X, whole.X)
    for name in ("X", "Y", "scored", "starts"):
        array = getattr(whole, name)
        expected = array[:, 2:5] if own else array[2:5]
        np.testing.assert_array_equal(getattr(part, name), expected)
        joined = concatenate(whole.slice_steps(slice(4)), whole.slice_steps(slice(4, None)))
        np.testing.assert_array_equal(getattr(joined, name), array)
    assert words.slice_steps(slice(2, 5)).starts is None
    # Where one of two has no mask its steps count and begin no trial.
    plain = Stream(whole.X, whole.Y)
    assert concatenate(plain, plain).scored is None
    scored, starts = concatenate(plain, whole).scored, concatenate(whole, plain).starts
    np.testing.assert_array_equal(scored, np.concatenate([mask | True, mask], axis=-1))
    np.testing.assert_array_equal(starts, np.concatenate([~mask, mask & False], axis=-1))


def stream(steps, n_in=2, n_out=1, seeds=None, **masks):
    lead = (steps,) if seeds is None else (seeds, steps)
    return Stream(values(*lead, n_in), values(*lead, n_out), **masks)


def words(steps, highest=4):
    return Stream(np.ones((steps, 2)), np.arange(steps) % (highest + 1))


def episode(**changes):
    parts = dict(adapt=stream(6), heldout=stream(3), selection_cut=4, n_out=1, window=2)
    return Episode(**(parts | changes))


def nowhere(steps):
    return stream(steps, scored=np.zeros(steps, bool))


def until(step):
    return stream(6, scored=np.arange(6) < step)


TWO = stream(6, seeds=2)
ONE_MASKED = np.array([[1, 1, 1], [0, 0, 0]], bool)
NO_EPISODES = [
    (dict(selection_cut=0), "selection_cut is 0 of 6 steps"),
    (dict(selection_cut=6), "selection_cut is 6 of 6 steps"),
    (dict(adapt=stream(0)), "selection_cut is 4 of 0 steps"),
    (dict(heldout=stream(0)), "heldout has no scored step from 0 to 0"),
    (dict(pretraining=stream(0)), "pretraining has no scored step"),
    (dict(reference=stream(3), reference_from=3), "reference_from is 3 of 3"),
    (dict(reference=stream(3), reference_from=-1), "reference_from is -1 of 3"),
    (dict(window=0), "window is 0 steps"),
    (dict(heldout=nowhere(3)), "heldout has no scored step from 0 to 3"),
    (dict(adapt=until(4)), "adapt has no scored step from 4 to 6"),
    (dict(adapt=stream(6, scored=np.arange(6) > 4)), "adapt has no scored step from 0 to 4"),
    (dict(reference=until(2), reference_from=2), "reference has no scored step from 2 to 6"),
    (dict(adapt=TWO, heldout=stream(3, seeds=2, scored=ONE_MASKED)), "heldout has no scored step"),
    (dict(heldout=stream(3, n_in=3)), "heldout has X (3, 3)"),
    (dict(heldout=stream(3, n_out=2)), "targets of 2 values, and n_out is 1"),
    (dict(n_out=2), "adapt has targets of 1 values, and n_out is 2"),
    (dict(adapt=TWO, heldout=stream(3, seeds=3)), "has X (3, 3, 2), Y float64 and adapt has X (2,"),
    (dict(pretraining=TWO), "pretraining has X (2, 6, 2)"),
    (dict(heldout=words(3)), "heldout has X (3, 2), Y int64"),
    (dict(adapt=words(6), heldout=words(3), n_out=4), "adapt has category 4, and n_out is 4"),
]


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [(Stream, *case) for case in NO_STREAMS] + [(episode, *case) for case in NO_EPISODES],
    ids=[message for _, message in NO_STREAMS + NO_EPISODES],
)
def test_what_is_no_stream_or_episode_is_refused_by_name(make, arguments, message):
    with pytest.raises(OrlaError) as refusal:
        make(**arguments)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


FULL = dict(
    pretraining=stream(5),
    reference=stream(4),
    reference_from=1,
    adapt=stream(6, scored=np.arange(6) % 2 == 0, starts=np.arange(6) == 3),
    loss="squared_error",
    label="a label, ±",
    simulated=False,
    dataset={"name": "made up", "sessions": ["a", "b"]},
)
CASES = {
    "least": {},
    "full": FULL,
    "categories": dict(adapt=words(6), heldout=words(3), n_out=5, loss="cross_entropy"),
    "own": dict(
        adapt=stream(9, seeds=3).slice_steps(slice(2, 8)),  # a view that is not contiguous
        heldout=stream(3, seeds=3),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, case):
    saved, path = episode(**CASES[case]), tmp_path / "folder" / "a.npz"
    saved.save(path)
    loaded = Episode.load(path)
    for name, ours in vars(saved).items():
        theirs = getattr(loaded, name)
        if isinstance(ours, Stream):
            np.testing.assert_equal(vars(theirs), vars(ours))
            assert (theirs.X.dtype, theirs.Y.dtype) == (ours.X.dtype, ours.Y.dtype)
        else:
            assert theirs == ours, name
    # The same episode is the same file.
    loaded.save(tmp_path / "b.npz")
    episode(**CASES[case] | {"label": "another"}).save(tmp_path / "c.npz")
    a, b, c = (each.read_bytes() for each in (path, tmp_path / "b.npz", tmp_path / "c.npz"))
    assert a == b != c


def test_whole_is_adapt_and_then_heldout():
    made = episode(**FULL)
    assert made.n_in == 2
    assert made.whole.X.tolist() == [*made.adapt.X.tolist(), *made.heldout.X.tolist()]
    assert made.whole.scored.tolist() == [True, False] * 3 + [True] * 3


@pytest.mark.parametrize(
    "changes, fields, message",
    [
        ({"adapt_X": np.full((6, 2), np.nan)}, None, "stream: X is not finite at (0, 0)"),
        ({"heldout_Y": np.ones((2, 1))}, None, "do not fit"),
        ({"adapt_Z": np.ones(2)}, None, "no episode ("),
        ({}, {}, "no episode ("),
        ({}, {"selection_cut": 9, "n_out": 1}, "selection_cut is 9"),
    ],
)
def test_a_file_with_a_right_digest_and_wrong_contents_is_refused_by_name(
    tmp_path, changes, fields, message
):
    path = tmp_path / "episode.npz"
    episode().save(path)
    arrays, about = read_arrays(path)
    about["fields"] = about["fields"] if fields is None else fields
    write_arrays(arrays | changes, path, about)
    with pytest.raises(OrlaError) as refusal:
        Episode.load(path)
    assert str(refusal.value).startswith(f"{path}: ") and message in str(refusal.value)
