"""Facts of two sessions beside their streams, and session A's halves as a pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from orla.files import load_arrays_and_names
from orla.sessions import from_spikes, nwb
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.hdf5 import is_zarr
from orla.sessions.session import Account
from orla.sessions.streams import Streams
from orla.tasks.recordings import Recordings

# Single values of an .npz that describe its recording.
_ABOUT = ("subject", "date", "area", "day", "placement", "recording")


def session_fact_rows(
    streams: Streams, sessions: Sequence[str], files: Sequence[str | Path] = ()
) -> Iterator[tuple[str, str, float, str]]:
    """Facts of two sessions from the streams' record and files: measure, side, value and words.

    Of each side: its "session", "seconds", share of steps "scored", "inputs", the "spread" of its
    target (SD, in that of A), how much was "kept" and why no more, the "recording" and what is
    "about" it. Of both: their "correspondence".
    """
    for i, (side, session) in enumerate(zip("ab", sessions, strict=True)):
        account = Account(**streams.dataset["account"][side])
        yield "session", side, np.nan, session
        yield "seconds", side, account.steps * streams.bin_s, ""
        yield "scored", side, account.scored / account.steps, ""
        yield "inputs", side, account.channels, f"of {account.of_channels}"
        if streams.categories is None:
            yield "spread", side, float(np.nanstd(getattr(streams, side).Y, axis=0).mean()), ""
        yield "kept", side, np.nan, str(account).partition("; channels are ")[0]
        yield "recording", side, np.nan, account.source
        yield "about", side, np.nan, ", ".join(_recording_facts(Path(files[i]))) if files else ""
    words = f"{account.correspondence} inputs in both: {account.because}"
    if account.alignment:
        words += f"; inputs: {account.alignment}"
    yield "correspondence", "", np.nan, words


def _recording_facts(path: Path) -> Iterator[str]:
    """Subject, date and area that a recording's own file names."""
    if path.suffix == ".npz":
        names = [name for name in load_arrays_and_names(path, [])[1] if name in _ABOUT]
        for name, value in load_arrays_and_names(path, names)[0].items():
            if value.ndim == 0:
                yield f"{name} {value}"
    elif (path.suffix == ".nwb" and path.is_file()) or is_zarr(path):
        yield from (f"{name} {value}" for name, value in nwb.recording_facts(path).items())


def prepare_halves(task: Recordings, path_a: str | Path, separate: bool) -> Streams:
    """The streams of session A's two halves as a pair; `separate`: each by its own components."""
    if task.source == "binned":
        whole = task.read_binned(path_a)
    else:
        whole = from_spikes.bin_session(nwb.read_session(path_a, task.nwb), task.preparation)
    half, parts = len(whole.inputs) // 2, []
    for span in (slice(0, half), slice(half, 2 * half)):
        begins = None if whole.begins is None else whole.begins[span].copy()
        if begins is not None:
            begins[0] = True
        inputs, targets = whole.inputs[span], whole.targets[span]
        parts.append(replace(whole, inputs=inputs, targets=targets, begins=begins))
    features = task.preparation.features
    align = features.align if separate else None
    features = replace(features, of="own" if separate else "shared", align=align)
    return prepare_binned(
        *parts,
        Correspondence("different" if separate else "same", "both are halves of one session"),
        replace(task.preparation, features=features),
        tail_steps=task.parts.tail_steps,
        dataset={"simulated": True},  # so that nothing is said of what is no session
    )
