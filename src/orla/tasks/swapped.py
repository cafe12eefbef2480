"""Swapped units: a real recording with made drift."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.files import sha256
from orla.sessions import nwb, simulator
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.from_spikes import bin_session
from orla.sessions.parts import pretraining_steps
from orla.sessions.reading import Reading
from orla.sessions.session import Session
from orla.sessions.streams import Streams
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
    by the pair's seed; from the step on some of them are others of that array (`swap`). All are
    scaled by session A's pretraining part.
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
            _require_spare(self.pool_size, features.count, round(pair.share * features.count))

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
        dataset = self.dataset(pair, study) | {"files": {"a": sha256(path_a), "b": sha256(path_b)}}
        if self.source != "binned":
            return self.streams_of_session(pair, nwb.read_session(path_a), dataset)
        return self._swap_units(pair, self.binned_at(path_a), dataset)

    def streams_of_session(self, pair: str, session: Session, dataset: dict[str, Any]) -> Streams:
        """The streams of a pair, from a session of spikes; errors as in `streams`."""
        return self._swap_units(pair, bin_session(session, self.preparation), dataset)

    def _tail_steps(self, steps: int, units: int) -> int:
        """All of the recording after session A's pretraining part."""
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


def swap(whole: Streams, step: int, count: int, share: float, seed: int) -> Streams:
    """The sessions before and from a step of one recording, with units swapped in the second.

    The recording is `whole.a`, of more columns than inputs; `whole.b` is not read. A random order
    of the columns, drawn from the seed, says which units are inputs: the first `count`. From the
    step on the first round(share * count) of these columns hold the units that follow in that
    order; the others go on. So one seed has the same session A at every share, and the columns that
    a larger share replaces include those of a smaller one. Each unit keeps its own scale: the drift
    is of tuning, not of rate. The dataset record has what was done under "swap": the columns, or
    channels, of the recording that are inputs `before` and `after` the step.
    """
    n_new = round(share * count)
    features = whole.dataset["features"]
    names = features["channels"] if "channels" in features else features["columns"]
    _require_spare(len(names), count, n_new)
    order = np.random.default_rng(seed).permutation(len(names))
    before, after = order[:count], order[:count].copy()
    after[:n_new] = order[count : count + n_new]
    a, b = whole.a.part(slice(None, step)), whole.a.part(slice(step, None))
    a, b = replace(a, X=a.X[:, before]), replace(b, X=b.X[:, after])
    of_all = {"channels": count, "of_channels": len(names), "because": "units of one recording"}
    account = {}
    for side, stream in (("a", a), ("b", b)):
        scored = len(stream) if stream.scored is None else int(stream.scored.sum())
        steps = {"steps": len(stream), "scored": scored}
        account[side] = whole.dataset["account"]["a"] | of_all | steps
    done = {
        "step": step,
        "seed": seed,
        "share": share,
        "before": [names[i] for i in before],
        "after": [names[i] for i in after],
    }
    reading = Reading.from_record(whole.readings["a"])
    sides = {"a": reading.part(before).record(), "b": reading.part(after).record()}
    dataset = whole.dataset | {"account": account, "swap": done}
    return replace(whole, a=a, b=b, dataset=dataset, readings=whole.readings | sides)


def _require_spare(units: int, count: int, n_new: int) -> None:
    """Refuse a pool of units that does not hold the inputs and those that replace some."""
    if units < count + n_new:
        raise OrlaError(
            f"swapped: {units} units are drawn from, fewer than {count} inputs and the "
            f"{n_new} that replace some of them; raise pool, or lower the share or "
            "preparation.features.count"
        )
