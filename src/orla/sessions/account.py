"""Account of a session: how much of it its stream holds, and why the rest was left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
        words[0] += _reasons({why: f"{s:.1f} s" for why, s in self.seconds_dropped.items()})
        if self.bridged:
            words.append(f"{self.bridged} holes of less than a step bridged")
        if self.spikes is not None:
            spikes = self.spikes - sum(self.spikes_dropped.values())
            words.append(f"{spikes} of {self.spikes} spikes{_reasons(self.spikes_dropped)}")
        words.append(f"{self.channels} of {self.of_channels} channels")
        if self.units is not None and self.units > self.of_channels:
            words[-1] += f", on which {self.units} units are pooled"
        words.append(f"channels are {self.correspondence}: {self.because}")
        return "; ".join([*words, *([f"inputs: {self.alignment}"] if self.alignment else [])])


def _reasons(by_reason: Mapping[str, object]) -> str:
    return f" ({', '.join(f'{why}: {n}' for why, n in by_reason.items())})" if by_reason else ""
