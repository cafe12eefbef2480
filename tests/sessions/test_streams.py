import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.streams import Stream, Streams


def streams() -> Streams:
    rng = np.random.default_rng(5)
    a = Stream(rng.standard_normal((30, 4)), rng.standard_normal((30, 2)))
    b = Stream(rng.standard_normal((20, 4)), rng.standard_normal((20, 2)))
    return Streams(a, b, 0.05, {"name": "x", "simulated": True, "channels": ["M1 001"]})


def test_what_is_saved_is_loaded(tmp_path):
    saved = streams()
    saved.save(tmp_path / "streams.npz")
    loaded = Streams.load(tmp_path / "streams.npz")
    for one, other in ((saved.a, loaded.a), (saved.b, loaded.b)):
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.Y, other.Y)
        assert other.X.dtype == np.float64
    assert loaded.bin_s == 0.05 and loaded.dataset == saved.dataset


def test_the_same_streams_give_the_same_bytes(tmp_path):
    streams().save(tmp_path / "one.npz")
    streams().save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_part_takes_the_same_steps_of_both():
    stream = streams().a
    part = stream.part(slice(10, 15))
    assert len(part) == 5
    np.testing.assert_array_equal(part.Y, stream.Y[10:15])


def test_inputs_and_targets_of_different_length_are_refused():
    with pytest.raises(OrlaError, match="do not fit"):
        Stream(np.zeros((5, 4)), np.zeros((4, 2)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OrlaError, match=r"absent\.npz.*no such file"):
        Streams.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_a_truncated_file_is_named(tmp_path, keep):
    path = tmp_path / "short.npz"
    streams().save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(OrlaError, match=r"short\.npz.*not a streams file"):
        Streams.load(path)


def test_a_foreign_npz_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", counts=np.zeros(3))
    with pytest.raises(OrlaError, match="not a streams file"):
        Streams.load(tmp_path / "other.npz")
