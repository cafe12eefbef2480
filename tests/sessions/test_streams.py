import numpy as np
import pytest

from orla.errors import OrlaError
from orla.provenance.arrays import write_arrays
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream


def session(steps, seed, **changes):
    rng = np.random.default_rng(seed)
    whole = {"X": rng.standard_normal((steps, 4)), "Y": rng.standard_normal((steps, 2))}
    return Stream(**whole | changes)


def streams(**changes) -> Streams:
    about = {"name": "x", "simulated": True, "channels": ["M1 001"]}
    whole = {"a": session(30, 1), "b": session(20, 2), "bin_s": 0.05, "dataset": about}
    return Streams(**whole | changes)


def test_a_file_of_other_things_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", counts=np.zeros(3))
    with pytest.raises(OrlaError, match=r"other\.npz: written by another program"):
        Streams.load(tmp_path / "other.npz")
    write_arrays({"a_X": np.ones((3, 2))}, tmp_path / "sweep.npz", {})
    with pytest.raises(OrlaError, match=r"sweep\.npz: no streams \("):
        Streams.load(tmp_path / "sweep.npz")


TASK = {"kind": "recordings", "pairs": {"indy": {"a": "a", "b": "b", "seed": 1}}}
TASK |= {"parts": {"tail_steps": 9, "cut": 5}, "preparation": {"features": {"count": 3}}}


def test_streams_of_other_settings_are_refused_by_name(tmp_path):
    path = tmp_path / "streams.npz"
    streams().write(path, TASK)
    for change, told in (
        ({"pairs": {"indy": {"a": "a", "b": "b", "seed": 2}}}, "pairs.indy.seed is 1, not 2"),
        ({"pairs": {"indy": {"a": "b", "b": "a", "seed": 1}}}, "pairs.indy.a is 'a', not 'b'"),
        ({"parts": {"tail_steps": 8}}, "parts.tail_steps is 9, not 8"),
        ({"simulated": {"seed": 0}}, "simulated.seed is None, not 0"),
    ):
        with pytest.raises(OrlaError, match=rf"{path}: made of other settings \({told}\); delete"):
            Streams.read(path, TASK | change)
    assert Streams.read(path, TASK | {"parts": {"tail_steps": 9, "cut": 50}}).bin_s == 0.05
    streams().save(path)
    with pytest.raises(OrlaError, match=r"kind is None, not 'recordings'"):
        Streams.read(path, TASK)
