import hashlib
from dataclasses import replace
from pathlib import Path

import made_mat
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from orla import catalogue
from orla.catalogue.options import option_schema, options_of
from orla.errors import OrlaError
from orla.sessions import mat_read, nwb
from orla.sessions.parts import Sizes, parts
from orla.sessions.streams import Streams
from orla.tasks.recordings import Recordings
from orla.tasks.stream import Stream

DATA = Path(__file__).parents[3] / "shared" / "data"
PAIRS = {"day2": {"a": "one", "b": "two"}}


def task(**options) -> Recordings:
    return catalogue.make("task", {"kind": "recordings", "pairs": PAIRS} | options)


def streams(steps_a=9_000, steps_b=4_321, **changes) -> Streams:
    """Streams whose inputs say which step of which session they are."""
    a, b = (
        Stream(np.column_stack([np.full(n, side), np.arange(n)]).astype(float), np.zeros((n, 1)))
        for n, side in ((steps_a, 0), (steps_b, 1))
    )
    return Streams(**{"a": a, "b": b, "bin_s": 0.05, "dataset": {"label": "l"}} | changes)


def span(stream):
    """Session (0 for A), first step and the step after the last."""
    assert (np.diff(stream.X[:, 1]) == 1).all() and (stream.X[:, 0] == stream.X[0, 0]).all()
    return int(stream.X[0, 0]), int(stream.X[0, 1]), int(stream.X[-1, 1]) + 1


def test_a_split_adapts_to_b_and_its_reference_is_the_tail_of_a():
    episode = task().cut(streams(), "80-20")
    cuts = parts(9_000, 4_321, Sizes(splits={"80-20": 0.8}))
    split = cuts.splits["80-20"]
    assert span(episode.pretraining) == (0, 0, 2_750)
    assert span(episode.adapt) == (1, 0, 3_400) == (1, 0, split.adapt.stop)
    assert span(episode.heldout) == (1, 3_400, 4_321)
    assert episode.selection_cut == split.selection_cut == 2_600
    assert span(episode.reference) == (0, 2_750, 9_000)
    assert span(episode.reference.part(slice(episode.reference_from, None))) == (0, 7_750, 9_000)
    assert (episode.window, episode.n_out, episode.loss) == (200, 1, "squared_error")
    assert (episode.label, episode.simulated) == ("l", False)


def test_the_stationary_control_adapts_to_the_tail_stream_of_a():
    episode = task(parts={"cut": 300, "tail_steps": 6_250}).cut(streams(), "stationary")
    assert span(episode.pretraining) == (0, 0, 2_750)
    assert span(episode.adapt) == (0, 2_750, 7_750)
    assert span(episode.heldout) == (0, 7_750, 9_000)
    # 0.8 of 5,000 steps, down to a multiple of the window.
    assert (episode.selection_cut, episode.window) == (3_900, 300)
    assert episode.reference is None


def test_variants_are_the_splits_and_the_control():
    made = task(parts={"splits": {"30-70": 0.3}})
    assert made.variants() == ["30-70", "stationary"]
    with pytest.raises(OrlaError, match='"80-20" is no variant; the nearest is "30-70"'):
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": {}}, '"pairs" is empty'),
        ({"pairs": {"x": {"a": "one"}}}, r'"pairs\.x\.b" is missing'),
        ({"pairs": {2: PAIRS["day2"]}}, "recordings: 2 becomes part of a path; give a text"),
        ({"pairs": {"x/y": PAIRS["day2"]}}, r"'x/y' becomes part of a path"),
        ({"pairs": {"x": {"a": "..", "b": "two"}}}, r"'\.\.' becomes part of a path"),
        ({"source": "nwbs"}, '"source" cannot be "nwbs"; the nearest is "nwb"'),
        ({"binned": {"boundaries": {"state": "gone"}}}, r'"binned\.boundaries\.state" cannot be'),
        ({"binned": {"bounds": {}}}, r'"binned\.bounds" is not a known key'),
        ({"parts": {"splits": {"stationary": 0.5}}}, 'a split cannot be called "stationary"'),
        ({"parts": {"splits": {"all": 1.0}}}, r'"parts\.splits\.all" is 1\.0'),
        ({"odoherty": {"base_url": "file:///etc"}}, '"base_url" is file:///etc'),
        ({"odoherty": {"md5": {"one": "0" * 31}}}, r'"md5\.one" is 0{31}; give 32 digits'),
        ({"parts": {"tail_steps": "many"}}, r'"parts\.tail_steps" must be a whole number or a num'),
        ({"preparation": {"features": {"of": "all"}}}, r'"preparation\.features\.of" cannot be'),
        ({"preparation": {"features": {"count": 0}}}, r'"preparation\.features\.count" must be at'),
        ({"preparation": {"features": {"method": "ica"}}}, r'features\.method" cannot be "ica"'),
        ({"preparation": {"units": "some"}}, r'"preparation\.units" cannot be "some"; the nearest'),
        ({"preparation": {"target": {"signal": "hand"}}}, r'"preparation\.target\.signal" cannot'),
        ({"preparation": {"bin_s": 0.0}}, r'"preparation\.bin_s" must be greater than 0'),
        ({"preparation": {"bins": 0.05}}, r'"preparation\.bins" is not a known key; .* "bin_s"'),
        ({"simulated": {"drift": {"lost": 2}}}, r'"simulated\.drift\.lost" must be at most 1'),
        ({"nwb": {"metres_per_unit": -1.0}}, r'"nwb\.metres_per_unit" must be greater than 0'),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrlaError, match=message) as caught:
        task(**options)
    assert "\n" not in str(caught.value)


def test_every_option_says_what_it_is():
    def walk(schema, key):
        assert schema.get("description"), key
        for name, inner in schema.get("properties", {}).items():
            walk(inner, f"{key}.{name}")

    options = options_of(Recordings)
    for f in options:
        schema = option_schema(Recordings, f)
        Draft202012Validator.check_schema(schema)
        walk(schema, f.name)
    assert {f.name for f in options} == {
        "pairs", "source", "simulated", "odoherty", "nwb", "binned", "preparation", "parts"
    }  # fmt: skip


def test_a_pair_has_its_label_and_its_own_seed(tmp_path):
    small = {"task": {"duration_a_s": 8.0, "duration_b_s": 8.0}, "array": {"n_channels": 4}}
    pairs = {
        "first": {"a": "one", "b": "two"},
        "again": {"a": "one", "b": "two", "seed": 1},
        "other": {"a": "one", "b": "two", "seed": 2},
    }
    made = task(pairs=pairs, simulated=small)
    assert made.sessions == ["one", "two"]
    record = made.dataset("other", "tiny")
    assert record["label"].startswith("SIMULATED") and record["label"].endswith(": one, two")
    assert (record["name"], record["simulated"], record["source"]) == ("tiny", True, "simulated")
    assert (record["seed"], made.dataset("first", "tiny")["seed"]) == (2, 1)
    written = {}
    for pair in pairs:
        paths = tmp_path / f"{pair}_a.mat", tmp_path / f"{pair}_b.mat"
        made_mat.simulate(*paths, made.simulation(pair))
        written[pair] = [path.read_bytes() for path in paths]
    assert written["first"] == written["again"]
    assert all(x != y for x, y in zip(written["first"], written["other"], strict=True))


def test_zero_is_a_seed_of_a_pair():
    made = task(pairs={"first": PAIRS["day2"] | {"seed": 0}, "other": PAIRS["day2"]})
    assert (made.seed("first"), made.seed("other")) == (0, 1)


def test_simulated_sessions_become_streams(tmp_path):
    small = {"task": {"duration_a_s": 61.0, "duration_b_s": 41.0}, "array": {"n_channels": 12}}
    made = task(
        simulated=small,
        preparation={"features": {"count": 6}},
        parts={"tail_steps": 400, "tail_stream_steps": 200},
    )
    mats = [tmp_path / "one.mat", tmp_path / "two.mat"]
    made_mat.simulate(*mats, made.simulation("day2"))
    for mat in mats:
        nwb.write_session(mat_read.read_session(mat), mat.with_suffix(".nwb"))
    found = made.streams("day2", *(mat.with_suffix(".nwb") for mat in mats), study="tiny")
    assert found.a.X.shape == (1220, 6) and found.b.Y.shape == (820, 2)
    assert found.dataset["simulated"] and found.dataset["name"] == "tiny"
    # What the streams say of session B's spikes is what its file holds.
    channels = found.dataset["features"]["channels"]
    session = nwb.read_session(mats[1].with_suffix(".nwb"))
    spikes = [
        times
        for times, channel in zip(session.unit_spikes, session.unit_channel, strict=True)
        if session.channels[channel] == channels[0]
    ]
    counts = np.histogram(np.concatenate(spikes), 20 + 0.05 * np.arange(821))[0]
    assert np.corrcoef(np.sqrt(counts), found.b.X[:, 0])[0, 1] > 0.9999


def test_a_binned_pair_is_read_from_its_files(tmp_path):
    random = np.random.default_rng(0)
    paths = {}
    for name, steps in (("one", 900), ("two", 700)):
        paths[name] = str(tmp_path / f"{name}.npz")
        np.savez(
            paths[name],
            counts=random.poisson(2.0, (steps, 9)),
            vel=random.normal(size=(steps, 2)),
            bin_s=0.1,
        )
    made = task(
        source="binned",
        binned={"files": paths},
        preparation={"bin_s": 0.1, "features": {"method": "pca", "count": 4}},
        parts={"cut": 20, "tail_steps": 0.3, "tail_stream_steps": 0.5},
    )
    found = made.streams("day2", paths["one"], paths["two"])
    # A fifth of session B gives its components; the stream is what follows.
    assert "first 140 steps" in found.dataset["features"]["fitted_on"]
    assert len(made.cut(found, "50-50").adapt) == 280
    assert (
        found.dataset["files"]["b"] == hashlib.sha256(Path(paths["two"]).read_bytes()).hexdigest()
    )
    assert "seed" not in found.dataset
    with pytest.raises(
        OrlaError, match=r"one\.npz: bin_s is 0\.1, but preparation\.bin_s .* 0\.05"
    ):
        replace(made, preparation=replace(made.preparation, bin_s=0.05)).streams(
            "day2", paths["one"], paths["two"]
        )


def test_inputs_that_are_no_counts_are_read_where_nothing_transforms_them(tmp_path):
    random = np.random.default_rng(0)
    events = random.normal(size=(900, 4))
    paths = {name: str(tmp_path / f"{name}.npz") for name in ("one", "two")}
    for path in paths.values():
        np.savez(path, counts=events, vel=random.normal(size=(900, 2)), bin_s=0.1)
    found = task(
        source="binned",
        binned={"files": paths, "columns": "same"},
        preparation={"bin_s": 0.1, "transform": "none", "features": {"count": 4}},
        parts={"cut": 20, "tail_steps": 0.3, "tail_stream_steps": 0.5},
    ).streams("day2", *paths.values())
    fitted = events[:630]
    np.testing.assert_allclose(found.a.X * fitted.std(0) + fitted.mean(0), events, atol=1e-12)


def recorded(folder, file_a, file_b, binned, preparation, sizes):
    """A pair of recordings that lie beside the project, or a skip where they do not."""
    files = {"one": DATA / folder / file_a, "two": DATA / folder / file_b}
    if not all(path.is_file() for path in files.values()):
        pytest.skip(f"the recordings {folder} are not beside the project")
    named = {name: str(path) for name, path in files.items()}
    made = task(
        source="binned", binned=binned | {"files": named}, preparation=preparation, parts=sizes
    )
    return made, made.streams("day2", *files.values()), [np.load(path) for path in files.values()]


def test_events_and_a_position_are_a_recording():
    """One output, real-valued events, cells that correspond, state reset at each trial."""
    made, found, (_, raw) = recorded(
        "ca1",
        "c6m4_a_day1.npz",
        "c6m4_a_day2.npz",
        {
            "inputs": "events",
            "target": "position",
            "columns": "same",
            "boundaries": {"changes": ["trial"], "state": "reset"},
        },
        {"transform": "none"},
        {},
    )
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


def test_motions_of_an_arm_are_a_recording():
    """22 categories from 8 real-valued inputs, in pieces of 300 steps that stand alone."""
    made, found, (_, raw) = recorded(
        "semg",
        "sub1_day1.npz",
        "sub1_day2.npz",
        {
            "inputs": "emg",
            "target": "label",
            "kind": "categories",
            "columns": "same",
            "boundaries": {"changes": ["label", "trial"], "counter": "timestep", "state": "reset"},
        },
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


@pytest.mark.parametrize("state", ["kept", "reset"])
def test_reaches_with_gaps_in_time_are_a_recording(state):
    """Other neurons on the other day; rows follow each other only where `timestep` rises by one."""
    made, found, (_, raw) = recorded(
        "chewie",
        "chewie_2013-10-03.npz",
        "chewie_2013-12-19.npz",
        {"boundaries": {"changes": ["trial"], "counter": "timestep", "state": state}},
        {"bin_s": 0.1, "features": {"method": "pca"}},
        {"cut": 20, "tail_steps": 0.3, "tail_stream_steps": 0.75},
    )
    follows = (np.diff(raw["timestep"]) == 1) & (np.diff(raw["trial"]) == 0)
    # The first 167 of 835 steps give the components and are left out.
    begins = [step - 167 for step in np.flatnonzero(~follows) + 1 if step >= 167]
    if state == "reset":
        assert np.flatnonzero(found.b.starts).tolist() == begins and found.b.scored is None
    else:
        assert np.flatnonzero(~found.b.scored).tolist() == begins and found.b.starts is None
        assert found.dataset["account"]["b"]["scored"] == 668 - len(begins)
    assert found.dataset["account"]["b"]["of_channels"] == 155
    episode = made.cut(found, "80-20")
    assert (len(episode.adapt), len(episode.heldout)) == (520, 148)


def test_a_recording_against_itself_has_the_same_inputs():
    """Columns correspond: the channels that A's pretraining part chose serve both."""
    made, found, _ = recorded(
        "m1",
        "m1_stevenson_2011.npz",
        "m1_stevenson_2011.npz",
        {"columns": "same"},
        {},
        {},
    )
    np.testing.assert_array_equal(found.a.X, found.b.X)
    assert found.a.X.shape == (15_536, 40)
    assert made.cut(found, "stationary").selection_cut == 4_000
