"""Swapped units: a real recording with made drift."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.sessions import simulator
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.from_spikes import bin_session
from orla.sessions.input_transform import InputTransform
from orla.sessions.parts import pretraining_steps
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
    by the pair's seed; from the step on some of them are others of that array (`prepare_streams`).
    All are scaled by session A's pretraining part.
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
            count, n_new = features.count, round(pair.share * features.count)
            if self.pool_size < count + n_new:
                raise OrlaError(
                    f"swapped: {self.pool_size} units are drawn from, fewer than {count} inputs and"
                    f" the {n_new} that replace some of them; raise pool, or lower the share or "
                    "preparation.features.count"
                )

    @property
    def session_names(self) -> list[str]:
        """The one recording."""
        return [self.recording]

    @property
    def pool_size(self) -> int:
        """How many units inputs are drawn from."""
        return self.pool or 2 * self.preparation.features.count

    def simulation_settings(self, pair: str) -> simulator.Settings:
        """Settings of a made-up recording in place of the real one, as fingerprints have it."""
        return replace(self.simulated, seed=self.pairs[pair].seed)

    def dataset_record(self, pair: str, study: str) -> dict[str, Any]:
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

    def prepare_streams(
        self, pair: str, days: Iterator[Session | Binned], dataset: dict[str, Any]
    ) -> Streams:
        """The streams of a pair, of which the recording is the first day; the other is not read.

        The first of a random order of units, drawn from the pair's seed, are inputs. From the step
        on the first round(share * inputs) of these columns hold the units that follow in that
        order. So one seed has the same session A at every share, and a larger share replaces what a
        smaller one does, and more. Each unit keeps its own scale: the drift is of tuning, not of
        rate. "swap" of the record has the columns, or channels, that are inputs `before` and
        `after` the step. OrlaError: as in `bin_session` and `prepare_binned`; the step is not
        inside the recording; fewer units than inputs are drawn from.
        """
        day, draw = next(days), self.pairs[pair]
        day = day if isinstance(day, Binned) else bin_session(day, self.preparation)
        steps, units = day.inputs.shape
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
        features = replace(self.preparation.features, count=self.pool_size)
        pretraining = pretraining_steps(self.step, self.parts.tail_steps)
        whole = prepare_binned(
            day,
            day,
            Correspondence("same", "they are one recording", "swapped"),
            replace(self.preparation, features=features),
            tail_steps=steps - pretraining,
            dataset=dataset,
        )
        count = self.preparation.features.count
        n_new, about = round(draw.share * count), whole.dataset["features"]
        names = about.get("channels") or about["columns"]
        order = np.random.default_rng(draw.seed).permutation(len(names))
        first, second = order[:count], order[:count].copy()
        second[:n_new] = order[count : count + n_new]
        transform, sides, account = InputTransform.from_record(whole.readings["a"]), {}, {}
        of_all = {"channels": count, "of_channels": len(names), "because": "units of one recording"}
        readings = dict(whole.readings)
        spans = {"a": (slice(None, self.step), first), "b": (slice(self.step, None), second)}
        for side, (span, columns) in spans.items():
            stream = whole.a.slice_steps(span)
            sides[side] = replace(stream, X=stream.X[:, columns])
            readings[side] = transform.select_inputs(columns).to_record()
            steps_of_side = {"steps": len(stream), "scored": int(stream.mask.sum())}
            account[side] = whole.dataset["account"]["a"] | of_all | steps_of_side
        swap = {"step": self.step, **vars(draw)}
        swap |= {"before": [names[i] for i in first], "after": [names[i] for i in second]}
        dataset = whole.dataset | {"account": account, "swap": swap}
        return replace(whole, **sides, dataset=dataset, readings=readings)
