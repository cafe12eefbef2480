"""One recording in memory, in SI units; and the account of how much of it its stream holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Session:
    """Spike times and behavior of one recording.

    A unit is one column of a sorter's output on one channel; the unsorted threshold crossings of a
    channel are a unit too, with ``unit_sorted`` False. Units without a spike may be absent.

    Attributes:
        name: such as ``indy_20160630_01``.
        channels: names of the n channels, such as ``M1 001``, in the file's order.
        unit_spikes: one ascending float64 array of spike times (seconds) a unit.
        unit_channel, unit_sorted: (units,) index into ``channels``; False for crossings.
        time_s: (k,) float64, ascending sample times (seconds) shared by all of ``behavior``.
        behavior: named (k, d) float64 arrays: positions in metres (``cursor_pos``, ``finger_pos``,
            ``target_pos``), or ``cursor_values``, which are decoded as they are; NaN where lost.
        areas: the brain area of each channel, such as ``M1``; "unknown" where none is named.
        source: one sentence on the origin of the recording, such as that it is simulated.
        cursor, about_series: the series that is decoded: its name in the original file; where it
            lies there, and what the file says of it.
        arrays: the array of each channel; "" for a channel that is a unit and no electrode. An
            array and a name are what a channel is, on every day.
        places: where each channel lies on its array; [] where the file does not say.
        subject: whose recording it is; "" where the file does not say.
        unit: of ``cursor_values``; "m" for positions.
        left_out: (reason, start, stop): seconds, ends included, that the file itself excludes.
        spikes_dropped: spikes that the file holds and the session does not, by reason.
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
    about_series: str = ""
    arrays: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    subject: str = ""
    unit: str = "m"
    left_out: list[tuple[str, float, float]] = field(default_factory=list)
    spikes_dropped: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.unit_channel = np.asarray(self.unit_channel, dtype=np.int64)
        self.unit_sorted = np.asarray(self.unit_sorted, dtype=bool)
        # The word that a name begins with: ``M1`` of ``M1 001``; "" if there is none.
        words = [channel.strip().partition(" ") for channel in self.channels]
        self.arrays = self.arrays or [head if number else "" for head, _, number in words]
        self.areas = self.areas or [area or "unknown" for area in self.arrays]

    def left_out_interval_index(self) -> np.ndarray:
        """(k,) int: of each sample, which interval of `left_out` it is in, from 1; 0 for none."""
        inside = np.zeros(len(self.time_s), dtype=np.int64)
        for i, (_, start, stop) in enumerate(self.left_out, start=1):
            span = slice(*np.searchsorted(self.time_s, [start, np.nextafter(stop, np.inf)]))
            inside[span][inside[span] == 0] = i
        return inside


@dataclass(frozen=True)
class Account:
    """How much of a session its stream holds, what was left out by reason, and whose channels.

    The dataset record of streams holds the fields of both: `Account(**dataset["account"]["a"])`.

    Attributes:
        steps, scored: Steps of the stream; those that are scored, not the first after a gap.
        stretches: Pieces of consecutive steps that the stream is made of.
        seconds: Length of the recording, from the first sample to the last.
        seconds_dropped: Seconds that are in no step, by reason.
        bridged: Holes between samples, each shorter than a step, bridged by straight lines.
        jumps: Places at which the position jumps, and a stretch ends.
        channels, of_channels: Channels that inputs are made of, and those of the recording.
        units, spikes: All units whose spikes are counted, all spikes; None where bins were given.
        spikes_dropped: Spikes that are in no step, by reason.
        correspondence: "same" where channel i of both sessions is one, else "different".
        because: How that is known, or why it is not.
        alignment: What makes the inputs of two sessions one space.
        source: What the recording says of itself.
    """

    steps: int
    scored: int
    stretches: int = 1
    seconds: float = 0.0
    seconds_dropped: dict[str, float] = field(default_factory=dict)
    bridged: int = 0
    jumps: int = 0
    channels: int = 0
    of_channels: int = 0
    units: int | None = None
    spikes: int | None = None
    spikes_dropped: dict[str, int] = field(default_factory=dict)
    correspondence: str = "same"
    because: str = ""
    alignment: str = ""
    source: str = ""

    def __str__(self) -> str:
        """One line."""
        seconds = self.seconds - sum(self.seconds_dropped.values())
        words = [f"{self.steps} steps, {seconds:.1f} of {self.seconds:.1f} s"]
        words[0] += _reasons_text({why: f"{s:.1f} s" for why, s in self.seconds_dropped.items()})
        if self.bridged:
            words.append(f"{self.bridged} holes of less than a step bridged")
        if self.jumps:
            words.append(f"cut at {self.jumps} jumps of the position (tracking lost, or set anew?)")
        if self.spikes is not None:
            spikes = self.spikes - sum(self.spikes_dropped.values())
            words.append(f"{spikes} of {self.spikes} spikes{_reasons_text(self.spikes_dropped)}")
        words.append(f"{self.channels} of {self.of_channels} channels")
        if self.units is not None and self.units > self.of_channels:
            words[-1] += f", on which {self.units} units are pooled"
        words.append(f"channels are {self.correspondence}: {self.because}")
        words += [f"inputs: {self.alignment}"] * bool(self.alignment)
        return "; ".join(words)


def _reasons_text(by_reason: Mapping[str, object]) -> str:
    """Reasons with their numbers, in brackets; "" for none."""
    return f" ({', '.join(f'{why}: {n}' for why, n in by_reason.items())})" if by_reason else ""
