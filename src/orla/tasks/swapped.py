"""Swapped units: a real recording with made drift."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orla.catalogue import option
from orla.errors import OrlaError
from orla.files import sha256
from orla.sessions import nwb, simulator
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.from_spikes import bin_session
from orla.sessions.parts import pretraining_steps
from orla.sessions.session import Session
from orla.sessions.streams import Streams
from orla.sessions.swapping import require_spare, swap
from orla.tasks.recordings import Recordings


@dataclass(frozen=True)
class Swap:
    """Which units are inputs, and which of them others replace."""

    seed: int = option(text="Of the draw of units; pairs of one seed have the same session A.")
    share: float = option(
        text="Share of the inputs that other units replace; 0 is no drift.", least=0, most=1
    )


@dataclass(frozen=True, kw_only=True)
class Swapped(Recordings, name="swapped", label="swapped units", order=11):
    """One recording: session A is what comes before a step, B what follows, with units swapped.

    Spikes and movement are real; the drift is made and known. Inputs are units of one array, drawn
    by the pair's seed; from the step on some of them are others of that array
    (`sessions.swapping`). All are scaled by session A's pretraining part.
    """

    pairs: dict[str, Swap] = option(  # type: ignore[assignment]
        text="Draws of units, by the name of the pair: {seed: 1, share: 0.5}."
    )
    source: str = option(
        "binned", "Where the recording comes from.", choices=("binned", "nwb", "odoherty")
    )
    recording: str = option(text="The recording, a name of the source's files.")
    step: int = option(text="The first step of session B.", least=1)
    pool: int | None = option(
        None,
        "Units are drawn from so many of largest variance over session A's pretraining part; null: "
        "from twice as many as there are inputs.",
        least=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        features = self.preparation.features
        if features.method != "top_channels":
            raise OrlaError(
                f'swapped: "preparation.features.method" is "{features.method}", and units cannot '
                "be swapped in components; set it to top_channels"
            )
        for pair in self.pairs.values():
            require_spare(self.pool_size, features.count, round(pair.share * features.count))

    @property
    def sessions(self) -> list[str]:
        """The one recording."""
        return [self.recording]

    @property
    def pool_size(self) -> int:
        """How many units inputs are drawn from."""
        return self.pool or 2 * self.preparation.features.count

    def simulation(self, pair: str) -> simulator.Settings:
        """Settings of a made-up recording in place of the real one, as fingerprints have it."""
        return replace(self.simulated, seed=self.pairs[pair].seed)

    def dataset(self, pair: str, study: str) -> dict[str, Any]:
        """The description of a pair's data; "drift" says that it is made."""
        draw = self.pairs[pair]
        which = f"{self.recording} from step {self.step}, seed {draw.seed}, {draw.share:.0%}"
        return {
            "name": study,
            "source": "swapped",
            "simulated": False,
            "drift": "made",
            "label": f"real recording, made drift (units replaced by others of its array): {which}",
        }

    def streams(
        self, pair: str, path_a: Path | str, path_b: Path | str, study: str = ""
    ) -> Streams:
        """The streams of a pair, both from one file: an NWB file of ours or a binned .npz.

        Raises:
            OrlaError: As in `prepare` and `prepare_binned`; the step is not inside the recording.
        """
        files = {side: sha256(path) for side, path in (("a", path_a), ("b", path_b))}
        dataset = self.dataset(pair, study) | {"files": files}
        if self.source != "binned":
            return self.streams_of_session(pair, nwb.read_session(path_a), dataset)
        return self._swap_units(pair, self.binned_at(path_a), dataset)

    def streams_of_session(self, pair: str, session: Session, dataset: dict[str, Any]) -> Streams:
        """The streams of a pair, from a session of spikes; errors as in `streams`."""
        return self._swap_units(pair, bin_session(session, self.preparation), dataset)

    def _tail_steps(self, steps: int, units: int) -> int:
        """All of the recording after session A's pretraining part.

        Raises:
            OrlaError: The recording has too few units, the step is not inside it, or nothing is
                left to pretrain on.
        """
        if units < self.pool_size:
            raise OrlaError(
                f"{self.recording}: {units} units, fewer than the {self.pool_size} that inputs "
                "are drawn from; give a lower pool"
            )
        if not self.step < steps:
            raise OrlaError(
                f"{self.recording}: step is {self.step}, and the recording has {steps} steps; give "
                "one inside, so that steps follow"
            )
        return steps - pretraining_steps(self.step, self.parts.tail_steps)

    def _swap_units(self, pair: str, whole: Binned, dataset: dict[str, Any]) -> Streams:
        """The streams of a pair; of the recording, all units that inputs are drawn from."""
        features = replace(self.preparation.features, count=self.pool_size)
        identity = Correspondence("same", "they are one recording", "swapped")
        streams = prepare_binned(
            whole,
            whole,
            identity,
            replace(self.preparation, features=features),
            tail_steps=self._tail_steps(*whole.inputs.shape),
            dataset=dataset,
        )
        draw = self.pairs[pair]
        return swap(streams, self.step, self.preparation.features.count, draw.share, draw.seed)
