import dataclasses

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.provenance.arrays import read_arrays, write_arrays
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream


def stream(steps, n_in=2, n_out=1, seeds=None, **masks):
    lead = (steps,) if seeds is None else (seeds, steps)
    rng = np.random.default_rng(steps)
    return Stream(rng.normal(size=(*lead, n_in)), rng.normal(size=(*lead, n_out)), **masks)


def words(steps, highest=4):
    return Stream(np.ones((steps, 2)), np.arange(steps) % (highest + 1))


def episode(**changes):
    parts = dict(adapt=stream(6), heldout=stream(3), selection_cut=4, n_out=1, window=2)
    return Episode(**(parts | changes))


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


def nowhere(steps):
    return stream(steps, scored=np.zeros(steps, bool))


def until(step):
    return stream(6, scored=np.arange(6) < step)


REFUSED = {
    "cut at 0": (dict(selection_cut=0), "selection_cut is 0 of 6 steps"),
    "cut at the end": (dict(selection_cut=6), "selection_cut is 6 of 6 steps"),
    "nothing to adapt to": (dict(adapt=stream(0)), "selection_cut is 4 of 0 steps"),
    "empty heldout": (dict(heldout=stream(0)), "heldout has no scored step from 0 to 0"),
    "empty pretraining": (dict(pretraining=stream(0)), "pretraining has no scored step"),
    "lead-in of all": (dict(reference=stream(3), reference_from=3), "reference_from is 3 of 3"),
    "lead-in below 0": (dict(reference=stream(3), reference_from=-1), "reference_from is -1 of 3"),
    "window of 0": (dict(window=0), "window is 0 steps"),
    "heldout masked": (dict(heldout=nowhere(3)), "heldout has no scored step from 0 to 3"),
    "nothing to select on": (dict(adapt=until(4)), "adapt has no scored step from 4 to 6"),
    "nothing to learn on": (
        dict(adapt=stream(6, scored=np.arange(6) > 4)),
        "adapt has no scored step from 0 to 4",
    ),
    "reference masked after its lead-in": (
        dict(reference=until(2), reference_from=2),
        "reference has no scored step from 2 to 6",
    ),
    "one seed of two masked": (
        dict(
            adapt=stream(6, seeds=2),
            heldout=stream(3, seeds=2, scored=np.array([[1, 1, 1], [0, 0, 0]], bool)),
        ),
        "heldout has no scored step",
    ),
    "other inputs": (dict(heldout=stream(3, n_in=3)), "heldout has X (3, 3)"),
    "other outputs": (dict(heldout=stream(3, n_out=2)), "targets of 2 values, and n_out is 1"),
    "fewer outputs": (dict(n_out=2), "adapt has targets of 1 values, and n_out is 2"),
    "other seeds": (
        dict(adapt=stream(6, seeds=2), heldout=stream(3, seeds=3)),
        "heldout has X (3, 3, 2), Y float64 and adapt has X (2, 6, 2)",
    ),
    "shared and own": (dict(pretraining=stream(6, seeds=2)), "pretraining has X (2, 6, 2)"),
    "values and categories": (dict(heldout=words(3)), "heldout has X (3, 2), Y int64"),
    "category too high": (
        dict(adapt=words(6), heldout=words(3), n_out=4),
        "adapt has category 4, and n_out is 4",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_episode_is_refused_by_name(case):
    changes, message = REFUSED[case]
    with pytest.raises(OrlaError) as refusal:
        episode(**changes)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_whole_is_adapt_and_then_heldout():
    made = episode(**FULL)
    assert made.n_in == 2
    assert len(made.whole) == 9
    assert made.whole.X.tolist() == [*made.adapt.X.tolist(), *made.heldout.X.tolist()]
    assert made.whole.scored.tolist() == [True, False] * 3 + [True] * 3


def assert_same(first, second):
    for f in dataclasses.fields(Episode):
        a, b = getattr(first, f.name), getattr(second, f.name)
        if not isinstance(a, Stream):
            assert a == b, f.name
            continue
        for name in ("X", "Y", "scored", "starts"):
            x, y = getattr(a, name), getattr(b, name)
            assert (x is None) == (y is None), name
            if x is not None:
                assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), name


CASES = {
    "least": {},
    "full": FULL,
    "categories": dict(adapt=words(6), heldout=words(3), n_out=5, loss="cross_entropy"),
    "own": dict(
        adapt=stream(9, seeds=3).part(slice(2, 8)),  # a view that is not contiguous
        heldout=stream(3, seeds=3),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, case):
    saved = episode(**CASES[case])
    saved.save(tmp_path / "folder" / "episode.npz")
    assert_same(Episode.load(tmp_path / "folder" / "episode.npz"), saved)


def test_the_same_episode_is_the_same_file(tmp_path):
    episode(**FULL).save(tmp_path / "a.npz")
    episode(**FULL).save(tmp_path / "b.npz")
    episode(**FULL | {"reference_from": 2}).save(tmp_path / "c.npz")
    a, b, c = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"adapt_X": np.full((6, 2), np.nan)}, "stream: X is not finite at (0, 0)"),
        ({"heldout_Y": np.ones((2, 1))}, "do not fit"),
        ({"adapt_Z": np.ones(2)}, "no episode ("),
        ({"fields": {}}, "no episode ("),
        ({"fields": {"selection_cut": 9, "n_out": 1}}, "selection_cut is 9"),
    ],
)
def test_a_file_with_a_right_digest_and_wrong_contents_is_refused_by_name(
    tmp_path, changes, message
):
    path = tmp_path / "episode.npz"
    episode().save(path)
    arrays, about = read_arrays(path)
    about["fields"] = changes.pop("fields", about["fields"])
    write_arrays(arrays | changes, path, about)
    with pytest.raises(OrlaError) as refusal:
        Episode.load(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert message in str(refusal.value)
