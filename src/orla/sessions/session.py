"""One recording in memory, in SI units."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Session:
    """Spike times and behavior of one recording.

    A unit is one column of a sorter's output on one channel; the unsorted threshold crossings of a
    channel are a unit too, with ``unit_sorted`` False. Units without a spike may be absent.

    Attributes:
        name: the session's name, such as ``indy_20160630_01``.
        channels: names of the n channels, such as ``M1 001``, in the file's order.
        unit_spikes: one ascending float64 array of spike times (seconds) a unit.
        unit_channel: (units,) int, index into ``channels``.
        unit_sorted: (units,) bool, False for unsorted threshold crossings.
        time_s: (k,) float64, ascending sample times (seconds) shared by all of ``behavior``.
        behavior: named (k, 2) float64 arrays: positions in metres (``cursor_pos``,
            ``finger_pos``, ``target_pos``), velocities in metres per second.
        areas: the brain area of each channel, such as ``M1``; "unknown" where none is named.
        source: one sentence on the origin of the recording, such as that it is simulated.
        cursor: the name in the original file of the series that ``cursor_pos`` is.
    """

    name: str
    channels: list[str]
    unit_spikes: list[np.ndarray]
    unit_channel: np.ndarray
    unit_sorted: np.ndarray
    time_s: np.ndarray
    behavior: dict[str, np.ndarray]
    areas: list[str] = field(default_factory=list)
    source: str = ""
    cursor: str = "cursor_pos"

    def __post_init__(self) -> None:
        self.unit_channel = np.asarray(self.unit_channel, dtype=np.int64)
        self.unit_sorted = np.asarray(self.unit_sorted, dtype=bool)
        if not self.areas:
            self.areas = [area_of(channel) for channel in self.channels]


def area_of(channel: str) -> str:
    """The brain area that a channel name begins with: ``M1`` of ``M1 001``; "unknown" if none."""
    head, _, number = channel.strip().partition(" ")
    return head if head and number else "unknown"
