import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream

TASK = {"kind": "recordings", "pairs": {"indy": {"a": "a", "b": "b", "seed": 1}}}
TASK |= {"parts": {"tail_steps": 9, "cut": 5}, "preparation": {"features": {"count": 3}}}


def test_streams_of_other_settings_are_refused_by_name(tmp_path):
    path, rng = tmp_path / "streams.npz", np.random.default_rng(1)
    a, b = (Stream(rng.standard_normal((9, 4)), rng.standard_normal((9, 2))) for _ in "ab")
    streams = Streams(a, b, 0.05, {"name": "x", "simulated": True, "channels": ["M1 001"]})
    streams.write(path, TASK)
    for change, told in (
        ({"pairs": {"indy": {"a": "a", "b": "b", "seed": 2}}}, "pairs.indy.seed is 1, not 2"),
        ({"pairs": {"indy": {"a": "b", "b": "a", "seed": 1}}}, "pairs.indy.a is 'a', not 'b'"),
        ({"parts": {"tail_steps": 8}}, "parts.tail_steps is 9, not 8"),
        ({"simulated": {"seed": 0}}, "simulated.seed is None, not 0"),
    ):
        with pytest.raises(OrlaError, match=rf"{path}: made of other settings \({told}\); delete"):
            Streams.read(path, TASK | change)
    assert Streams.read(path, TASK | {"parts": {"tail_steps": 9, "cut": 50}}).bin_s == 0.05
    streams.save(path)
    with pytest.raises(OrlaError, match=r"kind is None, not 'recordings'"):
        Streams.read(path, TASK)
