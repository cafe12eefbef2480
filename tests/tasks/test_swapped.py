"""Which units are where, worked out from the file itself."""

from dataclasses import replace
from pathlib import Path

import made_mat
import numpy as np
import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.sessions import mat_read, nwb, simulator
from orla.sessions.input_transform import InputTransform
from orla.study.simulated import simulated_streams
from orla.tasks.recordings import Recordings
from orla.tasks.swapped import Swapped

M1 = Path(__file__).parents[3] / "shared/data/m1/m1_stevenson_2011.npz"
STEPS, UNITS, STEP, TAIL, COUNT, POOL = 900, 30, 600, 200, 8, 20


def task(**changes) -> Swapped:
    """A task on the recording that `recording` writes."""
    given = {
        "kind": "swapped",
        "recording": "day",
        "step": STEP,
        "pool": POOL,
        "pairs": {"one": {"seed": 1, "share": 0.5}},
        "binned": {"files": {"day": "day.npz"}},
        "preparation": {"features": {"count": COUNT}},
        "parts": {"cut": 20, "tail_steps": TAIL, "tail_stream_steps": 100},
    }
    return catalogue.make("task", given | changes)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording whose units have rates of their own, and its arrays."""
    draws = np.random.default_rng(0)
    rates = draws.permutation(np.linspace(0.5, 6.0, UNITS))
    arrays = {
        "counts": draws.poisson(rates, (STEPS, UNITS)),
        "vel": draws.normal(size=(STEPS, 2)),
        "bin_s": np.array(0.05),
        "trial": np.arange(STEPS) // 70,
    }
    path = tmp_path_factory.mktemp("recording") / "day.npz"
    np.savez(path, **arrays)
    return path


@pytest.fixture(scope="module")
def counts(recording):
    return np.load(recording)["counts"]


def streams(path, share=0.5, seed=1, **changes):
    made = task(pairs={"one": {"seed": seed, "share": share}}, **changes)
    return made.read_streams("one", path, path, "study")


def units_of(inputs, counts, rows, fitted):
    """The unit that each input is over these rows, from the counts of all units."""
    roots = np.sqrt(counts.astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = (roots - roots[:fitted].mean(0)) / roots[:fitted].std(0)
    found = []
    for column in inputs.T:
        [unit] = np.flatnonzero(np.abs(scaled[rows] - column[:, None]).max(0) < 1e-9)
        found.append(int(unit))
    return found


def held(found, counts, step, fitted):
    """The units before and from a step on, found without the task's help."""
    assert len(found.a) == step and len(found.b) == len(counts) - step
    before = units_of(found.a.X, counts, slice(0, step), fitted)
    after = units_of(found.b.X, counts, slice(step, None), fitted)
    # Each unit is at one place alone, none that goes stays, and none comes twice.
    assert len({*before}) == len(before) and len({*after}) == len(after)
    moved = {j: after[j] for j in range(len(before)) if before[j] != after[j]}
    assert not {*before} & {*moved.values()}
    assert found.dataset["swap"]["before"] == before and found.dataset["swap"]["after"] == after
    return before, after, moved


def test_from_the_step_on_a_share_of_the_columns_is_other_units(recording, counts):
    plain, moves = streams(recording, 0.0), []
    for share in (0.0, 0.25, 0.5, 1.0):
        found = streams(recording, share)
        before, after, moved = held(found, counts, STEP, STEP - TAIL)
        assert len(moved) == round(share * COUNT)
        # The pool is of the largest variance over session A's pretraining part.
        variance = counts[: STEP - TAIL].var(0)
        assert {*before, *after} <= {*np.argsort(-variance, kind="stable")[:POOL].tolist()}
        assert found.dataset["swap"]["step"] == STEP and found.dataset["swap"]["share"] == share
        for side, span in (("a", slice(STEP)), ("b", slice(STEP, None))):
            transform = InputTransform.from_record(found.readings[side])
            np.testing.assert_allclose(transform(counts[span]), getattr(found, side).X, atol=1e-9)
        moves.append(moved)
        # A larger share replaces what a smaller one does, and more; session A stays.
        if share:
            assert (found.a.X == plain.a.X).all()
            assert moves[-2].items() < moved.items()
        else:  # the negative control: session B goes on where session A ends, in all columns
            assert before == after


def test_a_seed_is_a_draw(recording):
    ours, again, other = (streams(recording, seed=seed) for seed in (1, 1, 2))
    for side in "ab":
        x, y, z = (getattr(found, side).X for found in (ours, again, other))
        assert (x == y).all() and (x != z).any()
    assert {*ours.dataset["swap"]["before"]} != {*other.dataset["swap"]["before"]}


def test_targets_and_trials_go_on_across_the_step(recording):
    velocity, trial = (np.load(recording)[name] for name in ("vel", "trial"))
    bounds = {"files": {"day": "day.npz"}, "boundaries": {"changes": ["trial"], "state": "reset"}}
    found = streams(recording, binned=bounds)
    fitted = velocity[: STEP - TAIL]
    expected = (velocity - fitted.mean(0)) / fitted.std(0)
    np.testing.assert_allclose(np.concatenate([found.a.Y, found.b.Y]), expected)
    starts = np.concatenate([[True], np.diff(trial) != 0])
    np.testing.assert_array_equal(np.concatenate([found.a.starts, found.b.starts]), starts)
    assert found.dataset["account"]["b"]["steps"] == STEPS - STEP


def test_nothing_is_fitted_after_the_pretraining_part(recording, tmp_path):
    """Other numbers in A's tail and in B leave the pretraining part and the draw as they are."""
    arrays = dict(np.load(recording))
    arrays["counts"][STEP - TAIL :] *= 3
    arrays["vel"][STEP - TAIL :] += 5.0
    path = tmp_path / "other.npz"
    np.savez(path, **arrays)
    ours, other = streams(recording), streams(path)
    early, late = slice(None, STEP - TAIL), slice(STEP - TAIL, None)
    for name in "XY":
        x, y = getattr(ours.a, name), getattr(other.a, name)
        assert (x[early] == y[early]).all() and (x[late] != y[late]).any()
    assert ours.dataset["swap"] == other.dataset["swap"]


def test_sizes_of_parts_are_of_session_a(recording, counts):
    made = task(parts={"cut": 20, "tail_steps": 0.25, "tail_stream_steps": 0.4})
    found = made.read_streams("one", recording, recording)
    held(found, counts, STEP, 450)
    episode = made.cut(found, "80-20")
    assert (len(episode.pretraining), len(episode.adapt), len(episode.heldout)) == (450, 240, 60)
    assert (len(episode.reference), episode.reference_from) == (150, 60)
    assert not episode.simulated and episode.label.startswith("real recording, made drift")
    # What a pair, its parts and the control are is declared once.
    assert Swapped.cut is Recordings.cut and Swapped.split_names is Recordings.split_names


def test_the_pool_is_twice_the_inputs_unless_given_and_the_last_step_can_be_session_b(
    recording, counts
):
    found = streams(recording, 1.0, pool=None)
    before, after, _ = held(found, counts, STEP, STEP - TAIL)
    assert len({*before, *after}) == 2 * COUNT == found.dataset["account"]["a"]["of_channels"]
    found = streams(recording, step=STEPS - 1)
    assert len(found.a) == STEPS - 1 and len(found.b) == 1


PCA = {"features": {"count": COUNT, "method": "pca"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": {}}, '"pairs" is empty'),
        ({"pool": 11}, "11 units are drawn from, fewer than 8 inputs and the 4 that replace"),
        ({"preparation": PCA}, "units cannot be swapped in components; set it to top_channels"),
        ({"step": STEPS}, "day: step is 900, and the recording has 900 steps; give one inside"),
        ({"step": TAIL}, "a_pretraining is empty: session A has 200 steps"),
        ({"pool": UNITS + 1}, "day: 30 units, fewer than the 31 that inputs are drawn from"),
    ],
)
def test_a_swap_that_the_recording_cannot_serve_is_refused(recording, changes, message):
    with pytest.raises(OrlaError, match=message) as caught:
        task(**changes).read_streams("one", recording, recording)
    assert "\n" not in str(caught.value)


def test_a_recording_of_spikes_is_swapped_as_its_counts_are(tmp_path):
    """A simulated session in the place of one, from its file and in memory."""
    mats = [tmp_path / "day.mat", tmp_path / "later.mat"]
    lengths = simulator.TaskSettings(duration_a_s=61.0, duration_b_s=8.0)
    array = simulator.ArraySettings(n_channels=UNITS)
    simulated = simulator.Settings(lengths, array, seed=1)
    made_mat.simulate(*mats, simulated)
    session = mat_read.read_session(mats[0])
    path = tmp_path / "day.nwb"
    nwb.write_session(session, path)
    found = streams(path, source="nwb", nwb={"files": {"day": str(path)}})
    # The counts of each channel, by a histogram of all of its units' events.
    edges = session.time_s[0] + 0.05 * np.arange(len(found.a) + len(found.b) + 1)
    counts = np.zeros((len(edges) - 1, UNITS))
    for spikes, channel in zip(session.unit_spikes, session.unit_channel, strict=True):
        counts[:, channel] += np.histogram(spikes, edges)[0]
    before = units_of(found.a.X, counts, slice(0, STEP), STEP - TAIL)
    after = units_of(found.b.X, counts, slice(STEP, None), STEP - TAIL)
    assert found.dataset["swap"]["before"] == [session.channels[i] for i in before]
    assert found.dataset["swap"]["after"] == [session.channels[i] for i in after]
    assert sum(b != a for b, a in zip(before, after, strict=True)) == COUNT / 2
    made = replace(task(), source="simulated", simulated=simulated)
    for side in "ab":
        ours, theirs = getattr(found, side), getattr(simulated_streams(made, "one"), side)
        assert (ours.X == theirs.X).all() and (ours.Y == theirs.Y).all()


@pytest.mark.skipif(not M1.is_file(), reason="the recording m1 is not beside the project")
def test_units_of_a_real_recording_are_swapped():
    """M1 of one macaque: from bin 9,000 on half of 40 units are others of its 171."""
    given = {"preparation": {}, "parts": {"tail_steps": 1800, "tail_stream_steps": 600}}
    found = streams(M1, 0.5, 2, step=9_000, pool=120, **given)
    before, _, moved = held(found, np.load(M1)["counts"], 9_000, 7_200)
    assert len(before) == 40 and len(moved) == 20
