"""What holds for every task that needs no files of rules, plug-ins included."""

import dataclasses
import itertools

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
VARIANTS = [(name, v) for name in TASKS for v in catalogue.make("task", name).variants()]


def small(name, **options):
    """A task of few steps, if it is one that can be made so."""
    if name in SHIFTS:
        options = dict(pretraining=400, adapt=600, heldout=200, window=100) | options
    return catalogue.make("task", {"kind": name, **options})


def arrays(episode, seed=None):
    """All numbers of an episode, or those of one of its seeds."""
    return [
        (array if seed is None else array[seed])
        for name in STREAMS
        if (stream := getattr(episode, name)) is not None
        for array in (stream.X, stream.Y, stream.scored, stream.starts)
        if array is not None
    ]


def same(first, second):
    return len(first) == len(second) and all(
        a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("name, variant", VARIANTS)
def test_each_variant_is_an_episode_that_its_loss_takes(name, variant, tmp_path):
    episode = small(name).episode(variant, [0, 1])
    loss = catalogue.part("loss", episode.loss)
    assert (loss.part.more["targets"] == "categories") == episode.adapt.categories
    assert episode.label and "{" not in episode.label
    assert episode.dataset["name"] == name
    assert episode.dataset["label"] == episode.label
    assert episode.dataset["simulated"] is episode.simulated
    assert episode.dataset["source"]
    for part in ("adapt", "heldout"):
        assert len(getattr(episode, part)) % episode.window == 0
    assert episode.selection_cut % episode.window == 0
    assert 0 < episode.selection_cut < len(episode.adapt)
    episode.save(tmp_path / "episode.npz")
    assert same(arrays(Episode.load(tmp_path / "episode.npz")), arrays(episode))


@pytest.mark.parametrize("name, variant", VARIANTS)
def test_a_variant_is_the_same_each_time(name, variant):
    first, again = (small(name).episode(variant, [3, 5]) for _ in range(2))
    assert same(arrays(first), arrays(again))


@pytest.mark.parametrize("name", TASKS)
def test_the_defaults_give_an_episode(name):
    task = catalogue.make("task", name)
    assert len(task.episode(task.variants()[0], [0]).adapt) > 0


@pytest.mark.parametrize("name", TASKS)
def test_a_variant_that_does_not_exist_is_refused(name):
    with pytest.raises(OrlaError, match="no-such-variant"):
        small(name).episode("no-such-variant", [0])


@pytest.mark.parametrize("name", SHIFTS)
def test_a_seed_has_its_stream_whatever_other_seeds_there_are(name):
    for variant in small(name).variants():
        together = small(name).episode(variant, [7, 2, 11])
        for place, seed in enumerate((7, 2, 11)):
            alone = small(name).episode(variant, [seed])
            assert same(arrays(together, place), arrays(alone, 0))


@pytest.mark.parametrize("name", SHIFTS)
def test_streams_of_two_seeds_differ(name):
    episode = small(name).episode("shift", [0, 1])
    for part in STREAMS:
        X = getattr(episode, part).X
        assert not np.array_equal(X[0], X[1])


def test_tasks_draw_different_numbers_for_one_seed():
    drawn = {catalogue.make("task", name)._draws(0).random() for name in SHIFTS}
    assert len(drawn) == len(SHIFTS) > 1


@pytest.mark.parametrize("name", SHIFTS)
def test_the_parts_follow_each_other_and_the_reference_is_what_did_not_change(name):
    task = small(name)
    shift, stationary = (task.episode(v, [4]) for v in ("shift", STATIONARY))
    # Pretraining is the same; so is what follows it, until the change.
    assert same(arrays_of(shift.pretraining), arrays_of(stationary.pretraining))
    assert same(arrays_of(shift.reference), arrays_of(stationary.reference))
    assert same(arrays_of(stationary.whole), arrays_of(stationary.reference))
    assert not same(arrays_of(shift.adapt), arrays_of(stationary.adapt))
    assert [len(getattr(shift, part)) for part in STREAMS] == [400, 600, 200, 800]
    assert shift.reference_from == 600
    assert shift.selection_cut == 400  # 80 % of 600 in whole windows of 100


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
    episode = small(name, **options).episode(variant, [1, 2])
    for part in (episode.pretraining, episode.whole):
        first, then = (part.Y, part.X) if by > 0 else (part.X, part.Y)
        assert np.array_equal(first[:, : -abs(by)], then[:, abs(by) :])
    if by < 0:  # what is copied across the change is the input before it
        assert np.array_equal(episode.adapt.Y[:, :-by], episode.pretraining.X[:, by:])
    else:  # the unchanged stream goes on where pretraining ends
        assert np.array_equal(episode.pretraining.Y[:, -by:], episode.reference.X[:, :by])
        # Noise and all, one step has one value where the rule changes.
        last, first = episode.pretraining.Y[:, -by], episode.adapt.X[:, 0]
        np.testing.assert_allclose(first, last, atol=1e-10)
    assert episode.n_in == episode.n_out == episode.adapt.X.shape[-1]


@pytest.mark.parametrize("name", ["sine", "lorenz", "ar1"])
def test_noise_has_the_standard_deviation_that_is_asked_for(name):
    quiet, noisy = (small(name, noise=n).episode("shift", range(9)) for n in (0, 0.3))
    for part, array in itertools.product(("pretraining", "adapt", "reference"), "XY"):
        with_noise, without = (getattr(getattr(e, part), array) for e in (noisy, quiet))
        assert (with_noise - without).std() == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("sine", "frequency", [0, 0.6]),
        ("sine", "shifted", [-0.1]),
        ("sine", "ahead", [0]),
        ("sine", "noise", [-1]),
        ("ar1", "rho", [1, -1.0]),
        ("ar1", "shifted", [0.9995]),
        ("ar1", "delay", [0]),
        ("ar1", "inputs", [0]),
        ("ar1", "noise", [-1]),
        ("ar2", "radius", [0, 1]),
        ("ar2", "frequency", [0.5]),
        ("ar2", "shifted", [0]),
        ("ar2", "delay", [0]),
    ],
)
def test_options_out_of_range_are_refused(name, option, values):
    for value in values:
        with pytest.raises(OrlaError, match=f'task {name}: "{option}" must be'):
            catalogue.make("task", {"kind": name, option: value})


def arrays_of(stream):
    return [stream.X, stream.Y]


@pytest.mark.parametrize("name", SHIFTS)
def test_the_end_of_pretraining_does_not_know_the_change(name):
    """The numbers of pretraining, scaling included, do not depend on what comes after it."""
    longer = small(name, adapt=800).episode("shift", [4])
    shorter = small(name).episode("shift", [4])
    assert same(arrays_of(longer.pretraining), arrays_of(shorter.pretraining))


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize(
    "options, message",
    [
        ({"adapt": 250}, '"adapt" is 250 steps, no multiple of the window of 100'),
        ({"heldout": 50}, '"heldout" is 50 steps'),
        ({"pretraining": 401}, '"pretraining" is 401 steps'),
        ({"adapt": 100}, '"adapt" is one window of 100 steps'),
    ],
)
def test_lengths_that_are_no_windows_are_refused(name, options, message):
    with pytest.raises(OrlaError) as refusal:
        small(name, **options).episode("shift", [0])
    assert message in str(refusal.value)
    assert name in str(refusal.value)


@pytest.mark.parametrize("name", SHIFTS)
def test_no_seed_is_refused(name):
    with pytest.raises(OrlaError, match="no seed"):
        small(name).episode("shift", [])


@pytest.mark.parametrize("windows, cut", [(2, 1), (3, 2), (5, 4), (10, 8)])
def test_the_selection_cut_leaves_windows_on_both_sides(windows, cut):
    episode = small("sine", adapt=windows * 100).episode("shift", [0])
    assert episode.selection_cut == cut * 100


@pytest.mark.parametrize("name", TASKS)
def test_each_option_has_a_text_and_a_default_that_is_allowed(name):
    task = catalogue.part("task", name)
    options = options_of(task)
    assert {f.name for f in options} == {f.name for f in dataclasses.fields(task)}
    for f in options:
        assert f.metadata["text"].endswith("."), f.name
    catalogue.make("task", {"kind": name} | defaults_of(task))
