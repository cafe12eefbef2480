"""What holds for every task that needs no files of rules, plug-ins included."""

import dataclasses
import itertools
from functools import cache

import numpy as np
import pytest

from orla import catalogue
from orla.catalogue.options import defaults_of, options_of
from orla.errors import OrlaError
from orla.tasks.base import STATIONARY
from orla.tasks.episode import Episode
from orla.tasks.shift import Shift

STREAMS = ("pretraining", "adapt", "heldout", "reference")
TASKS = [name for name, task in catalogue.parts("task").items() if not task.needs_files]
SHIFTS = [name for name in TASKS if issubclass(catalogue.part("task", name), Shift)]
VARIANTS = [(name, v) for name in TASKS for v in catalogue.make("task", name).split_names()]
LENGTHS = dict(pretraining=400, adapt=600, heldout=200, window=100)
QUICK = {"lorenz": {"dt": 0.01}}  # as fine as its integration


def small(name, **options):
    """A task of few steps, if it is one that can be made so."""
    lengths = LENGTHS if name in SHIFTS else {}
    return catalogue.make("task", {"kind": name} | lengths | QUICK.get(name, {}) | options)


@cache
def episode(name, variant, *seeds):
    return small(name).episode(variant, [*seeds])


def arrays(episode, place=slice(None)):
    """All numbers of an episode, or those of one of its seeds."""
    streams = (getattr(episode, name) for name in STREAMS)
    return [array[place] for stream in streams if stream for array in arrays_of(stream)]


def same(first, second):
    return len(first) == len(second) and all(
        a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(first, second, strict=True)
    )


def arrays_of(stream):
    return [array for array in vars(stream).values() if array is not None]


@pytest.mark.parametrize("name, variant", VARIANTS)
def test_each_variant_is_an_episode_that_its_loss_takes(name, variant, tmp_path):
    found = episode(name, variant, 7, 2)
    loss = catalogue.part("loss", found.loss)
    assert (loss.part.more["targets"] == "categories") == found.adapt.has_categories
    assert found.label and "{" not in found.label
    about = found.dataset
    assert (about["name"], about["label"]) == (name, found.label)
    assert about["simulated"] is found.simulated and about["source"]
    for part in (found.adapt, found.heldout, found.adapt.slice_steps(slice(found.selection_cut))):
        assert len(part) % found.window == 0
    assert 0 < found.selection_cut < len(found.adapt)
    found.save(tmp_path / "episode.npz")
    assert same(arrays(Episode.load(tmp_path / "episode.npz")), arrays(found))
    # It is the same each time.
    assert same(arrays(small(name).episode(variant, [7, 2])), arrays(found))


@pytest.mark.parametrize("name", TASKS)
def test_each_option_has_a_text_and_a_default_that_is_allowed(name):
    task = catalogue.part("task", name)
    options = options_of(task)
    assert {f.name for f in options} == {f.name for f in dataclasses.fields(task)}
    for f in options:
        assert f.metadata["text"].endswith("."), f.name
    made = catalogue.make("task", {"kind": name} | defaults_of(task))
    lengths = [made.pretraining, made.adapt, made.heldout]
    assert not any(length % made.window for length in lengths) and made.adapt >= 2 * made.window
    with pytest.raises(OrlaError, match="no-such-variant"):
        small(name).episode("no-such-variant", [0])


@pytest.mark.parametrize("name", SHIFTS)
def test_a_seed_has_its_own_stream_whatever_other_seeds_there_are(name):
    for variant in small(name).split_names():
        together, alone = episode(name, variant, 7, 2), episode(name, variant, 2)
        assert same(arrays(together, 1), arrays(alone, 0))
        for part in STREAMS:
            assert not np.array_equal(*getattr(together, part).X)


def test_tasks_draw_different_numbers_for_one_seed():
    drawn = {catalogue.make("task", name)._random_generator(0).random() for name in SHIFTS}
    assert len(drawn) == len(SHIFTS) > 1


@pytest.mark.parametrize("name", SHIFTS)
def test_the_parts_follow_each_other_and_the_reference_is_what_did_not_change(name):
    shift, stationary = (episode(name, variant, 2) for variant in ("shift", STATIONARY))
    # Pretraining is the same; so is what follows it, until the change.
    assert same(arrays_of(shift.pretraining), arrays_of(stationary.pretraining))
    assert same(arrays_of(shift.reference), arrays_of(stationary.reference))
    assert same(arrays_of(stationary.whole), arrays_of(stationary.reference))
    assert not same(arrays_of(shift.adapt), arrays_of(stationary.adapt))
    assert not np.array_equal(shift.adapt.X[:, :200], shift.heldout.X)
    assert [len(getattr(shift, part)) for part in STREAMS] == [400, 600, 200, 800]
    assert shift.reference_from == 600
    assert shift.selection_cut == 400  # 80 % of 600 in whole windows of 100
    # The numbers of pretraining, scaling included, do not depend on what comes after it.
    longer = small(name, adapt=800).episode("shift", [2])
    assert same(arrays_of(longer.pretraining), arrays_of(shift.pretraining))


# Options, and how many steps later the target is an input.
MOVED = {
    "sine": ({"ahead": 50, "noise": 0.1}, 50),
    "lorenz": ({"noise": 0.1}, 1),
    "ar1": ({"delay": 50, "inputs": 2, "noise": 0.1}, -50),
    "ar2": ({"delay": 50}, -50),
}


@pytest.mark.parametrize("variant", ["shift", STATIONARY])
@pytest.mark.parametrize("name", MOVED)
def test_the_target_is_a_later_or_an_earlier_input(name, variant):
    options, by = MOVED[name]
    made = small(name, **options).episode(variant, [1, 2])
    for part in (made.pretraining, made.whole):
        first, then = (part.Y, part.X) if by > 0 else (part.X, part.Y)
        assert np.array_equal(first[:, : -abs(by)], then[:, abs(by) :])
    if by < 0:  # what is copied across the change is the input before it
        assert np.array_equal(made.adapt.Y[:, :-by], made.pretraining.X[:, by:])
    else:  # the unchanged stream goes on where pretraining ends
        assert np.array_equal(made.pretraining.Y[:, -by:], made.reference.X[:, :by])
        # Noise and all, one step has one value where the rule changes.
        last, first = made.pretraining.Y[:, -by], made.adapt.X[:, 0]
        np.testing.assert_allclose(first, last, atol=1e-10)
    assert made.n_in == made.n_out == made.adapt.X.shape[-1]


@pytest.mark.parametrize("name", ["sine", "lorenz", "ar1"])
def test_noise_has_the_standard_deviation_that_is_asked_for(name):
    quiet, noisy = (small(name, noise=n).episode("shift", range(9)) for n in (0, 0.3))
    for part, array in itertools.product(("pretraining", "adapt", "reference"), "XY"):
        with_noise, without = (getattr(getattr(e, part), array) for e in (noisy, quiet))
        assert (with_noise - without).std() == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize(
    "options, seeds, message",
    [
        ({"adapt": 250}, [0], '"adapt" is 250 steps, no multiple of the window of 100'),
        ({"heldout": 50}, [0], '"heldout" is 50 steps'),
        ({"pretraining": 401}, [0], '"pretraining" is 401 steps'),
        ({"adapt": 100}, [0], '"adapt" is one window of 100 steps'),
        ({}, [], "no seed"),
    ],
)
def test_lengths_that_are_no_windows_and_no_seed_are_refused(name, options, seeds, message):
    with pytest.raises(OrlaError, match=f"task {name}: .*{message}"):
        small(name, **options).episode("shift", seeds)


@pytest.mark.parametrize("windows, cut", [(2, 1), (3, 2), (5, 4), (10, 8)])
def test_the_selection_cut_leaves_windows_on_both_sides(windows, cut):
    made = small("sine", adapt=windows * 100).episode("shift", [0])
    assert made.selection_cut == cut * 100
