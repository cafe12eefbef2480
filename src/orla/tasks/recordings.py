"""Recordings: pairs of sessions; a network is pretrained on session A and adapts to session B."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.files import sha256
from orla.schema import nearest_hint
from orla.sessions import binned as binned_files
from orla.sessions import nwb_source, simulator, zenodo
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.from_spikes import prepare_sessions
from orla.sessions.parts import Sizes, cut_sessions, stationary_split
from orla.sessions.preparation import Preparation
from orla.sessions.session import Session
from orla.sessions.streams import Streams
from orla.tasks.base import STATIONARY, Task
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

_LABELS = {
    "simulated": "SIMULATED sessions in the layout of O'Doherty et al. (Zenodo 3854034)",
    "odoherty": "recordings of O'Doherty et al. (Zenodo 3854034)",
    "nwb": "recordings in NWB",
    "binned": "binned recordings",
}
# Of a target in standard deviations of session A: what spreads less is rounding.
_CONSTANT = 1e-6
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class SessionPair:
    """Two sessions."""

    a: str = option(text="Session to pretrain on.")
    b: str = option(text="Session to adapt to.")
    seed: int | None = option(
        None, "Seed of this pair's simulation; null takes simulated.seed.", least=0
    )
    seed_from: str = option(
        "", "Registration from whose lock the seed follows; then seed is left out."
    )
    drift_scale: float | None = option(
        None, "Drift of this pair's simulation; null takes simulated.drift.scale.", least=0.0
    )


@dataclass(frozen=True)
class Recordings(Task, name="recordings", label="recordings", order=10):
    """Pairs of sessions; splits are those of session B and the stationary control.

    OrlaError: a name that cannot be part of a path.
    """

    needs_files: ClassVar[bool] = True

    pairs: dict[str, SessionPair] = option(
        text="Pairs of sessions, by the name of the pair: {a: session, b: session}."
    )
    source: str = option("simulated", "Where sessions come from.", choices=tuple(_LABELS))
    simulated: simulator.Settings = option(simulator.Settings(), "Simulated sessions.")
    odoherty: zenodo.Source = option(zenodo.Source(), "Recordings that are downloaded.")
    nwb: nwb_source.Source = option(nwb_source.Source(), "NWB files.")
    binned: binned_files.Source = option(binned_files.Source(), "Binned recordings in .npz files.")
    preparation: Preparation = option(
        Preparation(), "From sessions to streams of inputs and targets."
    )
    parts: Sizes = option(Sizes(), "How the sessions are cut into parts.")

    def __post_init__(self) -> None:
        if not self.pairs:
            raise OrlaError('recordings: "pairs" is empty; name a pair: {day2: {a: ..., b: ...}}')
        if not self.parts.splits:
            raise OrlaError('recordings: "parts.splits" is empty; name one, such as 50-50: 0.5')
        if STATIONARY in self.parts.splits:
            raise OrlaError(
                f'recordings: a split cannot be called "{STATIONARY}", as the control is; rename it'
            )
        for name, fraction in self.parts.splits.items():
            if not 0 < fraction < 1:
                raise OrlaError(
                    f'recordings: "parts.splits.{name}" is {fraction}; give one between 0 and 1'
                )
        for name in (*self.pairs, *self.session_names, *self.parts.splits):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise OrlaError(
                    f"recordings: {name!r} becomes part of a path; give a text of letters, digits, "
                    "_, - and ."
                )

    @property
    def session_names(self) -> list[str]:
        """Names of the sessions of all pairs."""
        return list(dict.fromkeys(s for pair in self.pairs.values() for s in (pair.a, pair.b)))

    def dataset_record(self, pair: str, study: str) -> dict[str, Any]:
        """The description of a pair's data in the provenance; `study` is the config's name."""
        sessions = self.pairs[pair]
        record = {
            "name": study,
            "source": self.source,
            "simulated": self.source == "simulated",
            "label": f"{_LABELS[self.source]}: {sessions.a}, {sessions.b}",
        }
        return record | ({"seed": self.simulation_seed(pair)} if record["simulated"] else {})

    def simulation_seed(self, pair: str) -> int:
        """Seed of the simulation of a pair."""
        sessions = self.pairs[pair]
        if sessions.seed is None and sessions.seed_from:
            raise OrlaError(
                f"recordings: the seed of {pair} follows from the lock of {sessions.seed_from},"
                f" which is not locked; run: python -m orla prereg lock {sessions.seed_from}"
                f" --folder {Path(sessions.seed_from).parent}"
            )
        return self.simulated.seed if sessions.seed is None else sessions.seed

    def simulation_settings(self, pair: str) -> simulator.Settings:
        """Settings of the simulation of a pair."""
        settings, scale = self.simulated, self.pairs[pair].drift_scale
        if scale is not None:
            settings = replace(settings, drift=replace(settings.drift, scale=scale))
        return replace(settings, seed=self.simulation_seed(pair))

    def read_streams(
        self, pair: str, path_a: Path | str, path_b: Path | str, study: str = ""
    ) -> Streams:
        """The streams of a pair, from two NWB files of `sessions.nwb` or two binned .npz files.

        The dataset record holds the SHA-256 of both files under "files". OrlaError: as in
        `prepare_sessions` and `prepare_binned`, or a part would be empty.
        """
        files, reader = {"files": {"a": sha256(path_a), "b": sha256(path_b)}}, self.read_binned
        if self.source != "binned":
            from orla.sessions.nwb import read_session as reader  # imports pynwb

        days = map(reader, (path_a, path_b))
        return self.prepare_streams(pair, days, self.dataset_record(pair, study) | files)

    def prepare_streams(
        self, pair: str, days: Iterator[Session | Binned], dataset: dict[str, Any]
    ) -> Streams:
        """The streams of two days, read as they are asked for; errors as in `streams`."""
        a, b = days
        about = {"tail_steps": self.parts.tail_steps, "dataset": dataset}
        if self.source == "binned":
            why = "binned.columns of the config says so"
            match = Correspondence(self.binned.columns, why, "binned.columns")
            return prepare_binned(a, b, match, self.preparation, **about)
        if self.source == "nwb":
            about |= {"declared_channels": self.nwb.channels, "declaring_option": "nwb.channels"}
        return prepare_sessions(a, b, self.preparation, **about)

    def read_binned(self, path: Path | str) -> Binned:
        """A binned recording; errors as in `sessions.binned.read_binned`."""
        return binned_files.read_binned(path, self.binned, self.preparation)

    def split_names(self) -> list[str]:
        return [*self.parts.splits, STATIONARY]

    def cut(self, streams: Streams, split: str) -> Episode:
        """The episode of a split of B, or of the stationary control.

        A split adapts to B; its reference is A's tail, scored on A's held-out part. The control
        adapts to A's tail stream, is scored on A's held-out part, and has no reference. OrlaError:
        a part would be empty, or its target is constant.
        """
        if split not in self.split_names():
            raise OrlaError(
                f'recordings: "{split}" is no split; {nearest_hint(split, self.split_names())}'
            )
        a, b, sizes = streams.a, streams.b, self.parts
        cuts = cut_sessions(len(a), len(b), sizes)
        if split == STATIONARY:
            span = stationary_split(cuts, sizes)
            session, reference, reference_from = a, None, 0
        else:
            span, session = cuts.splits[split], b
            reference = a.slice_steps(slice(cuts.a_tail_stream.start, cuts.a_heldout.stop))
            reference_from = cuts.a_heldout.start - cuts.a_tail_stream.start
        episode = Episode(
            pretraining=a.slice_steps(cuts.a_pretraining),
            adapt=session.slice_steps(span.adapt),
            heldout=session.slice_steps(span.heldout),
            selection_cut=span.selection_cut,
            reference=reference,
            reference_from=reference_from,
            window=sizes.cut,
            n_out=streams.n_out,
            loss="squared_error" if streams.categories is None else "cross_entropy",
            label=streams.dataset.get("label", ""),
            simulated=bool(streams.dataset.get("simulated", False)),
            dataset=streams.dataset,
        )
        side, place = "A" if session is a else "B", f"{episode.label}: session"
        _require_varying_target(episode.adapt, f"{place} {side}'s adapt part of {split}")
        _require_varying_target(episode.heldout, f"{place} {side}'s held-out part of {split}")
        if reference is not None:
            scored = reference.slice_steps(slice(reference_from, None))
            _require_varying_target(scored, f"{place} A's held-out part of {split}")
        return episode


def _require_varying_target(part: Stream, where: str) -> None:
    """Refuse a part whose target, or a column of it, is constant: its scores divide by nothing."""
    Y = part.Y[part.mask].reshape(np.count_nonzero(part.mask), -1)
    constant = np.flatnonzero(np.ptp(Y, axis=0) <= _CONSTANT)
    if constant.size:
        column = "the target" if part.has_categories else f"target column {constant[0]}"
        raise OrlaError(
            f"{where}: {column} is constant over its {len(Y)} scored steps, so that no decoder can "
            "be told from a constant; cut elsewhere (parts), or leave that column or recording out"
        )
