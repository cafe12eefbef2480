import numpy as np
import pytest

from orla.errors import OrlaError
from orla.tasks.stream import Stream, concatenate


def values(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def spoiled(array, at, value):
    array = array.copy()
    array[at] = value
    return array


X, Y = values(6, 3), values(6, 2)
WORDS = np.arange(6)

REFUSED = {
    "X in float32": (dict(X=X.astype(np.float32), Y=Y), "X is float32 (6, 3)"),
    "X without steps": (dict(X=X[0], Y=Y), "X is float64 (3,)"),
    "Y in float32": (dict(X=X, Y=Y.astype(np.float32)), "Y float32 (6, 2) do not fit"),
    "Y too short": (dict(X=X, Y=Y[1:]), "Y float64 (5, 2) do not fit"),
    "Y of one seed for streams of two": (dict(X=values(2, 6, 3), Y=Y), "do not fit"),
    "values without outputs": (dict(X=X, Y=Y[:, 0]), "do not fit"),
    "categories in int32": (dict(X=X, Y=WORDS.astype(np.int32)), "Y int32 (6,) do not fit"),
    "categories with outputs": (dict(X=X, Y=WORDS[:, None]), "do not fit"),
    "category below 0": (dict(X=X, Y=WORDS - 1), "category -1"),
    "NaN in X": (dict(X=spoiled(X, (4, 1), np.nan), Y=Y), "X is not finite at (4, 1)"),
    "infinite X": (dict(X=spoiled(X, (0, 2), -np.inf), Y=Y), "X is not finite at (0, 2)"),
    "NaN in Y": (dict(X=X, Y=spoiled(Y, (5, 0), np.nan)), "Y is not finite at (5, 0)"),
    "mask of numbers": (dict(X=X, Y=Y, scored=np.ones(6)), "scored is float64 (6,)"),
    "mask too short": (dict(X=X, Y=Y, scored=np.ones(5, bool)), "scored is bool (5,)"),
    "mask of one seed": (
        dict(X=values(2, 6, 3), Y=values(2, 6, 2), starts=np.ones(6, bool)),
        "starts is bool (6,); give bool (2, 6)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_stream_is_refused_by_name(case):
    arrays, message = REFUSED[case]
    with pytest.raises(OrlaError) as refusal:
        Stream(**arrays)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("lead", [(6,), (2, 6)])
@pytest.mark.parametrize("target", ["values", "categories"])
def test_a_stream_says_what_it_is(lead, target):
    categories = target == "categories"
    stream = Stream(values(*lead, 3), np.zeros(lead, np.int64) if categories else values(*lead, 1))
    assert len(stream) == 6
    assert stream.n_in == 3
    assert stream.per_seed == (len(lead) == 2)
    assert stream.categories == categories


def test_a_part_is_a_view_of_its_steps_in_all_arrays():
    mask = np.array([1, 0, 1, 1, 0, 1], bool)
    whole = Stream(values(2, 6, 3), np.tile(WORDS, (2, 1)), scored=np.tile(mask, (2, 1)))
    part = whole.part(slice(2, 5))
    assert np.shares_memory(part.X, whole.X)
    assert part.X.tobytes() == whole.X[:, 2:5].tobytes()
    assert part.Y.tolist() == [[2, 3, 4]] * 2
    assert part.scored.tolist() == [[True, True, False]] * 2
    assert part.starts is None
    shared = Stream(X, Y, starts=mask).part(slice(4, None))
    assert shared.starts.tolist() == [False, True]
    assert shared.X.tolist() == X[4:].tolist()


@pytest.mark.parametrize("own", [False, True])
def test_parts_that_are_joined_are_the_whole(own):
    shape = (2, 6) if own else (6,)
    mask = np.broadcast_to(np.array([1, 0, 1, 1, 0, 1], bool), shape).copy()
    whole = Stream(values(*shape, 3), values(*shape, 2), scored=mask, starts=~mask)
    again = concatenate(whole.part(slice(4)), whole.part(slice(4, None)))
    for name in ("X", "Y", "scored", "starts"):
        assert getattr(again, name).tolist() == getattr(whole, name).tolist()


def test_where_one_of_two_has_no_mask_its_steps_count_and_begin_no_trial():
    mask = np.zeros(6, bool)
    plain, masked = Stream(X, Y), Stream(X, Y, scored=mask, starts=~mask)
    assert concatenate(plain, plain).scored is None
    assert concatenate(plain, masked).scored.tolist() == [True] * 6 + [False] * 6
    assert concatenate(masked, plain).starts.tolist() == [True] * 6 + [False] * 6
