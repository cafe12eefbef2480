import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.sessions.streams import Streams
from orla.tasks.recordings import Recordings
from orla.tasks.stream import Stream

DATA = Path(__file__).parents[3] / "shared" / "data"
PAIRS = {"day2": {"a": "one", "b": "two"}}


def task(**options) -> Recordings:
    return catalogue.make("task", {"kind": "recordings", "pairs": PAIRS} | options)


def waves(steps):
    return np.sin(np.arange(steps)[:, None] * [0.1, 0.13])


def streams(steps_a=9_000, steps_b=4_321, **changes) -> Streams:
    """Streams whose inputs say which step of which session they are."""
    a, b = (
        Stream(np.column_stack([np.full(n, side), np.arange(n)]).astype(float), waves(n)[:, :1])
        for n, side in ((steps_a, 0), (steps_b, 1))
    )
    return Streams(**{"a": a, "b": b, "bin_s": 0.05, "dataset": {"label": "l"}} | changes)


def span(stream):
    """Session (0 for A), first step and the step after the last."""
    assert (np.diff(stream.X[:, 1]) == 1).all() and (stream.X[:, 0] == stream.X[0, 0]).all()
    return int(stream.X[0, 0]), int(stream.X[0, 1]), int(stream.X[-1, 1]) + 1


def test_a_split_adapts_to_b_and_the_control_to_the_tail_stream_of_a():
    episode = task().cut(streams(), "80-20")
    assert span(episode.pretraining) == (0, 0, 2_750)
    assert span(episode.adapt) == (1, 0, 3_400)
    assert span(episode.heldout) == (1, 3_400, 4_321)
    assert episode.selection_cut == 2_600
    assert span(episode.reference) == (0, 2_750, 9_000)
    assert span(episode.reference)[1] + episode.reference_from == 7_750
    assert (episode.window, episode.n_out, episode.loss) == (200, 1, "squared_error")
    assert (episode.label, episode.simulated) == ("l", False)
    control = task(parts={"cut": 300, "tail_steps": 6_250}).cut(streams(), "stationary")
    assert span(control.pretraining) == (0, 0, 2_750)
    assert span(control.adapt) == (0, 2_750, 7_750)
    assert span(control.heldout) == (0, 7_750, 9_000)
    # 0.8 of 5,000 steps, down to a multiple of the window.
    assert (control.selection_cut, control.window, control.reference) == (3_900, 300, None)


def test_variants_are_the_splits_and_the_control():
    made = task(parts={"splits": {"30-70": 0.3}})
    assert made.split_names() == ["30-70", "stationary"]
    with pytest.raises(OrlaError, match='"80-20" is no split; the nearest is "30-70"'):
        made.cut(streams(), "80-20")
    with pytest.raises(OrlaError, match="call cut"):
        made.episode("30-70", [0])


def test_masks_and_categories_are_cut_with_the_steps():
    whole = streams()
    starts = np.arange(9_000) % 300 == 0
    a = Stream(whole.a.X, np.arange(9_000) % 5, None, starts)
    b = Stream(whole.b.X, np.arange(4_321) % 5, np.arange(4_321) != 3_400)
    episode = task().cut(replace(whole, a=a, b=b, categories=5), "80-20")
    assert (episode.n_out, episode.loss) == (5, "cross_entropy")
    np.testing.assert_array_equal(episode.reference.starts, starts[2_750:])
    assert episode.heldout.scored.tolist() == [False] + [True] * 920
    np.testing.assert_array_equal(episode.heldout.Y, np.arange(3_400, 4_321) % 5)


RESTS = [
    ("b", slice(3_400, None), "80-20", "session B's held-out part"),
    ("b", slice(None, 3_400), "80-20", "session B's adapt part"),
    ("b", slice(None), "50-50", "session B's adapt part"),
    ("a", slice(7_750, None), "80-20", "session A's held-out part"),
    ("a", slice(7_750, None), "stationary", "session A's held-out part"),
    ("a", slice(2_750, 7_750), "stationary", "session A's adapt part"),
]


@pytest.mark.parametrize(
    ("side", "rest", "variant", "part", "column"),
    [(*case, "target column 1") for case in RESTS]
    + [(*RESTS[0], "target column 0"), (*RESTS[3], "the target")],
)
def test_a_target_that_is_constant_where_it_is_scored_is_refused(side, rest, variant, part, column):
    whole, days = streams(), {}
    for name in "ab":
        X = getattr(whole, name).X
        Y = np.arange(len(X)) % 5 if column == "the target" else waves(len(X))
        mask = np.arange(len(X)) % 9 > 0
        if name == side:
            if column == "the target":
                Y[rest] = 3
            else:
                Y[rest, int(column[-1])] = 0.3 + 1e-12 * Y[rest, 0]  # but for rounding
            Y[~mask] = 1  # what is not scored varies nothing
        days[name] = Stream(X, Y, mask)
    made = replace(whole, **days, categories=5 if column == "the target" else None)
    message = rf"l: {part} of {variant}: {column} is constant over its \d+ scored steps"
    with pytest.raises(OrlaError, match=message):
        task().cut(made, variant)
    Y = days[side].Y.copy()
    Y[np.arange(len(Y)) % 900 == 1] = 2  # a step of each part that is not at rest is enough
    task().cut(replace(made, **{side: replace(days[side], Y=Y)}), variant)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": {}}, '"pairs" is empty'),
        ({"pairs": {2: PAIRS["day2"]}}, "recordings: 2 becomes part of a path; give a text"),
        ({"pairs": {"x/y": PAIRS["day2"]}}, r"'x/y' becomes part of a path"),
        ({"pairs": {"x": {"a": "..", "b": "two"}}}, r"'\.\.' becomes part of a path"),
        ({"parts": {"splits": {"stationary": 0.5}}}, 'a split cannot be called "stationary"'),
        ({"parts": {"splits": {"all": 1.0}}}, r'"parts\.splits\.all" is 1\.0'),
        ({"odoherty": {"base_url": "file:///etc"}}, '"base_url" is file:///etc'),
        ({"odoherty": {"md5": {"one": "0" * 31}}}, r'"md5\.one" is 0{31}; give 32 digits'),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrlaError, match=message) as caught:
        task(**options)
    assert "\n" not in str(caught.value)


def test_a_pair_has_its_label_and_its_own_seed():
    pairs = {"first": PAIRS["day2"], "zero": PAIRS["day2"] | {"seed": 0, "drift_scale": 2.0}}
    made = task(pairs=pairs)
    assert made.session_names == ["one", "two"]
    record = made.dataset_record("zero", "tiny")
    assert record["label"].startswith("SIMULATED") and record["label"].endswith(": one, two")
    assert (record["name"], record["simulated"], record["source"]) == ("tiny", True, "simulated")
    assert (record["seed"], made.dataset_record("first", "tiny")["seed"]) == (0, 1)
    first, zero = made.simulation_settings("first"), made.simulation_settings("zero")
    assert (first, first.seed) == (made.simulated, 1)
    assert (zero.seed, zero.drift) == (0, replace(first.drift, scale=2.0))


def binned_task(paths, preparation, **binned):
    return task(
        source="binned",
        binned={"files": paths, **binned},
        preparation={"bin_s": 0.1, **preparation},
        parts={"cut": 20, "tail_steps": 0.3, "tail_stream_steps": 0.5},
    )


def test_a_binned_pair_is_read_from_its_files(tmp_path):
    random = np.random.default_rng(0)
    paths = {name: str(tmp_path / f"{name}.npz") for name in ("one", "two")}
    for path, steps in zip(paths.values(), (900, 700), strict=True):
        counts, vel = random.poisson(2.0, (steps, 9)), random.normal(size=(steps, 2))
        np.savez(path, counts=counts, vel=vel, bin_s=0.1, events=random.normal(size=(steps, 4)))
    made = binned_task(paths, {"features": {"method": "pca", "count": 4}})
    found = made.read_streams("day2", *paths.values())
    # A fifth of session B gives its components; the stream is what follows.
    assert "first 140 steps" in found.dataset["features"]["fitted_on"]
    assert len(made.cut(found, "50-50").adapt) == 280
    digest = hashlib.sha256(Path(paths["two"]).read_bytes()).hexdigest()
    assert found.dataset["files"]["b"] == digest
    assert "seed" not in found.dataset
    other = replace(made, preparation=replace(made.preparation, bin_s=0.05))
    words = r"one\.npz: bin_s is 0\.1, but preparation\.bin_s .* 0\.05"
    with pytest.raises(OrlaError, match=words):
        other.read_streams("day2", *paths.values())
    # Inputs that are no counts are read where nothing transforms them.
    plain = {"transform": "none", "features": {"count": 4}}
    made = binned_task(paths, plain, inputs="events", columns="same")
    found = made.read_streams("day2", *paths.values())
    events = np.load(paths["one"])["events"]
    scaled = found.a.X * events[:630].std(0) + events[:630].mean(0)
    np.testing.assert_allclose(scaled, events, atol=1e-12)


def recorded(folder, file_a, file_b, binned, preparation, parts):
    """A pair of recordings that lie beside the project, or a skip where they do not."""
    files = [str(DATA / folder / file) for file in (file_a, file_b)]
    if not all(Path(path).is_file() for path in files):
        pytest.skip(f"the recordings {folder} are not beside the project")
    binned = binned | {"files": {"one": files[0], "two": files[1]}}
    made = task(source="binned", binned=binned, preparation=preparation, parts=parts)
    return made, made.read_streams("day2", *files), np.load(files[1])


def test_events_and_a_position_are_a_recording():
    """One output, real-valued events, cells that correspond, state reset at each trial."""
    trials = {"boundaries": {"changes": ["trial"], "state": "reset"}}
    names = {"inputs": "events", "target": "position", "columns": "same"} | trials
    files = "ca1", "c6m4_a_day1.npz", "c6m4_a_day2.npz"
    made, found, raw = recorded(*files, names, {"transform": "none"}, {})
    assert found.b.X.shape == (18118, 40) and found.b.Y.shape == (18118, 1)
    account = found.dataset["account"]["b"]
    assert (account["steps"], account["channels"], account["of_channels"]) == (18118, 40, 142)
    cells = found.dataset["features"]["columns"]
    for column, cell in enumerate(cells):
        # Each input is one cell's events, scaled: the same cell on the other day.
        assert np.corrcoef(raw["events"][:, cell], found.b.X[:, column])[0, 1] > 1 - 1e-9
    assert np.flatnonzero(found.b.starts).tolist() == [
        0, *(np.flatnonzero(np.diff(raw["trial"])) + 1)
    ]  # fmt: skip
    assert np.corrcoef(raw["position"], found.b.Y[:, 0])[0, 1] > 1 - 1e-9
    episode = made.cut(found, "80-20")
    assert (episode.n_out, episode.loss, len(episode.adapt)) == (1, "squared_error", 14_400)
    assert episode.adapt.starts.sum() + episode.heldout.starts.sum() == 6


def test_semg_gestures_are_read_as_categories_in_trials_of_300_steps():
    """22 categories from 8 real-valued inputs, in pieces of 300 steps that stand alone."""
    trials = {"changes": ["label", "trial"], "counter": "timestep", "state": "reset"}
    names = {"inputs": "emg", "target": "label", "kind": "categories", "columns": "same"}
    made, found, raw = recorded(
        *("semg", "sub1_day1.npz", "sub1_day2.npz", names | {"boundaries": trials}),
        {"bin_s": 0.005, "transform": "none", "features": {"count": 8}},
        {"cut": 300, "tail_steps": 0.25, "tail_stream_steps": 3300},
    )
    assert found.b.X.shape == (26_400, 8) and found.categories == 22
    np.testing.assert_array_equal(found.b.Y, raw["label"] - 1)
    assert np.flatnonzero(found.b.starts).tolist() == list(range(0, 26_400, 300))
    assert found.dataset["features"]["categories"] == list(range(1, 23))
    episode = made.cut(found, "50-50")
    assert (episode.n_out, episode.loss, episode.window) == (22, "cross_entropy", 300)
    # Two trials of all motions to adapt to, and two held out.
    assert len(episode.adapt) == len(episode.heldout) == 13_200
    assert set(episode.heldout.Y) == set(range(22))
    assert made.cut(found, "stationary").heldout.starts.sum() == 11


def test_the_first_step_after_a_gap_in_time_is_not_scored():
    """Other neurons on the other day; rows follow each other only where `timestep` rises by one."""
    made, found, raw = recorded(
        *("chewie", "chewie_2013-10-03.npz", "chewie_2013-12-19.npz"),
        {"boundaries": {"changes": ["trial"], "counter": "timestep"}},
        {"bin_s": 0.1, "features": {"method": "pca"}},
        {"cut": 20, "tail_steps": 0.3, "tail_stream_steps": 0.75},
    )
    follows = (np.diff(raw["timestep"]) == 1) & (np.diff(raw["trial"]) == 0)
    # The first 167 of 835 steps give the components and are left out.
    begins = [step - 167 for step in np.flatnonzero(~follows) + 1 if step >= 167]
    assert np.flatnonzero(~found.b.scored).tolist() == begins and found.b.starts is None
    assert found.dataset["account"]["b"]["scored"] == 668 - len(begins)
    assert found.dataset["account"]["b"]["of_channels"] == 155
    episode = made.cut(found, "80-20")
    assert (len(episode.adapt), len(episode.heldout)) == (520, 148)
