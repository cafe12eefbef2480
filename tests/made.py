"""Sessions and files of recordings, made for the tests that read them."""

from bisect import bisect_right

import numpy as np

from orla.sessions.session import Session

K = 500
T = 148.984 + 0.004 * np.arange(K)


def session(
    name="day", seed=0, seconds=60.0, rates=(5.0, 20.0, 40.0, 10.0), names=None, start=3.0
) -> Session:
    """Each channel has unsorted crossings and one sorted unit at a fifth of its rate."""
    rng = np.random.default_rng(seed)
    time_s = start + np.arange(round(seconds * 250) + 1) / 250
    phase = time_s[:, None] * [2.0, 3.1] + rng.uniform(0, 6, 2)
    cursor = 0.05 * np.sin(phase) + 0.02 * np.sin(0.37 * phase)
    spikes, channel, is_sorted = [], [], []
    for i, rate in enumerate(rates):
        for part, kind in ((1.0, False), (0.2, True)):
            n = rng.poisson(rate * part * seconds)
            spikes.append(np.sort(rng.uniform(start, start + seconds, n)))
            channel.append(i)
            is_sorted.append(kind)
    return Session(
        name,
        list(names or (f"M1 {i + 1:03d}" for i in range(len(rates)))),
        spikes,
        np.array(channel),
        np.array(is_sorted),
        time_s,
        {"cursor_pos": cursor, "finger_pos": 2 * cursor},
    )


def by_hand_counts(session, edges, units):
    counts = np.zeros((len(edges) - 1, len(session.channels)))
    for times, channel, is_sorted in zip(
        session.unit_spikes, session.unit_channel, session.unit_sorted, strict=True
    ):
        for time in times if units == "all" or is_sorted else ():
            i = bisect_right(edges, time) - 1
            if 0 <= i < len(counts):
                counts[i, channel] += 1
    return counts


def arrays(**changes):
    """Arguments of `made_mat.write_session`."""
    generator = np.random.default_rng(0)
    spikes = [
        [np.sort(generator.uniform(T[0], T[-1], 20)), np.array([T[0], T[-1]])],
        [np.array([]), np.array([T[5]])],
        [np.array([]), np.array([])],
    ]
    whole = {
        "chan_names": ["M1 001", "M1 002", "S1 001"],
        "t": T,
        "cursor_pos": generator.normal(size=(K, 2)),
        "finger_pos": generator.normal(size=(K, 3)),
        "target_pos": generator.normal(size=(K, 2)),
        "spikes": spikes,
    }
    return {**whole, **changes}


def with_spikes(*cells):
    return {"spikes": [[np.asarray(cell, float), np.array([])] for cell in cells]}


def edited(values, index, value):
    values = np.array(values)
    values[index] = value
    return values
