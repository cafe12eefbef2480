"""Streams made in memory against those of the files of the same sessions."""

from dataclasses import replace

import made_mat
import numpy as np
import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.sessions import mat_read, nwb
from orla.study.simulated import simulated_streams

PREPARATIONS = {
    "first": {"features": {"count": 5}},
    "second": {
        "bin_s": 0.1,
        "units": "sorted",
        "transform": "none",
        "features": {"method": "pca", "count": 3},
        "target": {"signal": "finger", "lag_s": 0.1},
    },
}


def task(pair, **array):
    return catalogue.make(
        "task",
        {
            "kind": "recordings",
            "pairs": {"first": {"a": "a1", "b": "b1", "seed": 3}, "second": {"a": "a2", "b": "b2"}},
            "simulated": {
                "task": {"duration_a_s": 24.0, "duration_b_s": 12.0},
                "array": {"n_channels": 8, "sorted_shares": [0.1, 0.5, 0.4], **array},
            },
            "preparation": PREPARATIONS[pair],
            "parts": {"tail_steps": 0.2, "splits": {"half": 0.5}},
        },
    )


def of_files(made, pair, folder):
    """The streams by way of MATLAB and NWB files."""
    sessions = made.pairs[pair].a, made.pairs[pair].b
    mats = [folder / f"{name}.mat" for name in sessions]
    made_mat.simulate(*mats, made.simulation_settings(pair))
    for mat in mats:
        session = mat_read.read_session(mat, source="simulated")
        nwb.write_session(session, mat.with_suffix(".nwb"))
    return made.read_streams(pair, *(mat.with_suffix(".nwb") for mat in mats), "tiny")


@pytest.mark.parametrize("pair", PREPARATIONS)
def test_streams_in_memory_are_those_of_files(tmp_path, pair):
    made = task(pair)
    ours, expected = simulated_streams(made, pair, "tiny"), of_files(made, pair, tmp_path)
    for one, other in ((ours.a, expected.a), (ours.b, expected.b)):
        assert one.X.tobytes() == other.X.tobytes() and one.X.shape == other.X.shape
        assert one.Y.tobytes() == other.Y.tobytes() and one.Y.dtype == other.Y.dtype
        assert one.scored is one.starts is None
    assert (ours.bin_s, ours.categories) == (expected.bin_s, expected.categories)
    assert ours.dataset["simulated"] is True
    sums = ours.dataset.pop("streams")
    expected.dataset.pop("files")
    assert ours.dataset == expected.dataset
    assert {len(digest) for digest in sums.values()} == {64}


def test_the_record_tells_other_data_apart_and_each_pair_has_the_seed_that_it_names():
    made = replace(task("first"), simulated=replace(task("first").simulated, seed=3))
    named, shared = (simulated_streams(made, pair) for pair in ("first", "second"))
    np.testing.assert_array_equal(named.a.X, shared.a.X)
    assert named.dataset["label"] != shared.dataset["label"]
    one, other = (
        simulated_streams(t, "first").dataset for t in (task("first"), task("first", unit_hz=7.0))
    )
    assert one == named.dataset
    assert one["streams"]["a"] != other["streams"]["a"]
    assert one["account"]["a"]["spikes"] != other["account"]["a"]["spikes"]
    assert {**one, "streams": 0, "account": 0} == {**other, "streams": 0, "account": 0}


def test_an_array_without_events_is_refused():
    made = task("first", silent=1.0, noise_rate=1e-12)
    with pytest.raises(OrlaError, match="constant over the pretraining part"):
        simulated_streams(made, "first")
