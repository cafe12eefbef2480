"""Two small recordings, in the kinds of files that a study is made from."""

from pathlib import Path

import numpy as np
import pytest

from orla.__main__ import main
from orla.sessions.nwb import write_session
from orla.sessions.session import Session


def session(name, seconds=30.0, channels=6, seed=0):
    """A session whose channels fire the faster, the faster the cursor moves."""
    rng, time_s = np.random.default_rng(seed), np.arange(0.0, seconds, 0.01)
    position = 0.1 * np.stack([np.sin(time_s), np.cos(1.3 * time_s)], axis=1)
    speed = np.abs(np.gradient(position, time_s, axis=0)) @ rng.random((2, channels))
    events = rng.random(speed.shape) < 0.02 + 2.0 * speed
    spikes = [time_s[fired] + 0.001 for fired in events.T]
    spikes = [train[train < time_s[-1]] for train in spikes]
    names, ones = [f"M1 {i:03d}" for i in range(channels)], np.ones(channels, bool)
    return Session(name, names, spikes, np.arange(channels), ones, time_s, {"cursor_pos": position})


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """The working folder, to which a command's change of it is undone."""
    monkeypatch.chdir(Path.cwd())


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """A folder (with a space in its name) of day 1 and day 2.nwb, and a.npz, b.npz, labels.npz."""
    folder = tmp_path_factory.mktemp("my recordings")
    rng = np.random.default_rng(0)
    for seed, name in enumerate(("day 1", "day 2")):
        write_session(session(name, seed=seed), folder / f"{name}.nwb")
    for name, steps in (("a", 700), ("b", 500)):
        counts = rng.poisson(2.0, (steps, 5))
        np.savez(folder / f"{name}.npz", counts=counts, vel=counts[:, :2] + 0.1, bin_s=0.1)
    names = {"emg": rng.normal(size=(600, 4)), "label": rng.integers(0, 3, 600)}
    for name in ("labels", "labels 2"):
        names["emg"] += 1.0
        np.savez(folder / f"{name}.npz", **names, trial=np.arange(600) // 300, bin_s=0.01)
    np.savez(folder / "odd.npz", signal=np.ones((600, 4)), bin_s=0.01)
    return folder


@pytest.fixture(scope="session")
def made(recordings):
    """Makes a study in a folder, as `orla new FOLDER --from ...` does, and answers the folder."""

    def make(folder, *given):
        named = (str(recordings / name) if "." in name else name for name in given)
        main(["new", str(folder), "--from", *named])
        return folder

    return make
