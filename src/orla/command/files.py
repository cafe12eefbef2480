"""Facts of a pair of recordings, read before a study of it is written."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orla.catalogue.options import parse_settings
from orla.command import arrays as named
from orla.command.new import MOST_INPUTS, SOURCES, TAIL
from orla.errors import OrlaError
from orla.files import load_arrays_and_names
from orla.reports.paper import load
from orla.schema import nearest_hint
from orla.sessions import binned, channels, from_spikes, nwb
from orla.sessions.channels import Correspondence
from orla.sessions.hdf5 import is_zarr
from orla.sessions.parts import pretraining_steps
from orla.sessions.preparation import Features, Preparation
from orla.sessions.simulator import Settings
from orla.study.forecast import USUAL_STEPS
from orla.yaml_files import parse_yaml

# Options of `orla new` -> of which sources, and the setting that each gives.
OPTIONS = {
    "cursor": {"nwb": "cursor"},
    "series": {"nwb": "series"},
    "metres_per_unit": {"nwb": "metres_per_unit"},
    "inputs": {"binned": "inputs"},
    "target": {"binned": "target"},
    "columns": {"nwb": "channels", "binned": "columns"},
}
# Suffix of a file that a source does not read -> what to do with it.
_OTHER_FILES = {
    ".nwb": "take --from nwb",
    ".npz": "take --from binned",
    ".mat": "sessions of O'Doherty are --from odoherty SESSION; else save arrays in .npz",
}
BIN_S = 0.05
# Fewer steps than these leave no windows to adapt by.
FEWEST_STEPS = 200


@dataclass(frozen=True)
class Pair:
    """Two recordings, as the template of a config needs them.

    `steps` are of A and B, of `bin_s` seconds; `inputs` columns both have, of which `live` vary in
    A. `options` are further settings of the source, and `preparation` of how it becomes streams;
    `same` says whether input i is one unit in both, and `because` of what; `target`, of binned
    recordings, how it is taken, and what takes it otherwise.
    """

    source: str
    names: tuple[str, str]
    steps: tuple[int, int]
    inputs: int
    live: int
    files: tuple[Path, ...] = ()
    bin_s: float = BIN_S
    categories: bool = False
    options: dict[str, object] = field(default_factory=dict)
    preparation: dict[str, object] = field(default_factory=dict)
    transform: str = "sqrt"
    same: bool = True
    because: str = ""
    target: str = ""


def read_pair(
    source: str, recordings: Sequence[str], assignments: Sequence[str] = (), **options: Any
) -> Pair:
    """Facts of the two recordings that a study is written for.

    `recordings` are two files (nwb, binned), two sessions (odoherty, by default the paper's) or
    none (simulated). `assignments` are settings of the config, such as "preparation.least_kept=0.3"
    or "nwb.trials=true"; `options` those of `OPTIONS`, None where one is not given. OrlaError where
    the recordings cannot be used, which says how a setting that it names is given here.
    """
    if source not in SOURCES:
        raise OrlaError(
            f"--from {source} is no source of recordings; {nearest_hint(source, SOURCES)}"
        )
    for name, value in options.items():
        if value is not None and source not in OPTIONS[name]:
            option = "--" + name.replace("_", "-")
            raise OrlaError(f"{option} says nothing about {source} recordings; leave it out")
    settings = _parse_assignments(source, assignments)
    for name, value in options.items():
        if value is not None:
            settings[source][OPTIONS[name][source]] = value
    try:
        return _read_pair(source, recordings, **settings)
    except OrlaError as error:
        pattern = rf"(?<![\w./-])({'|'.join(settings)})\.\w+"  # and no part of a path
        key = re.search(pattern, str(error)) if settings else None
        mend = f", here by --set {key[0]}=VALUE" if key else ""
        if re.search('to "different"|channels: different', str(error)):
            mend = ", here by --columns different"
        raise OrlaError(f"{error}{mend}") from None


def _parse_assignments(source: str, assignments: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The settings of `source` and of "preparation" that are given as SECTION.KEY=VALUE."""
    is_read = source in _READERS
    kinds = {source: _READERS[source][0], "preparation": Preparation} if is_read else {}
    settings: dict[str, dict[str, Any]] = {section: {} for section in kinds}
    for word in assignments:
        match = re.fullmatch(r"(\w+)\.(\w+)=(.+)", word)
        if not match or match[1] not in kinds or match[2] in ("features", "files"):
            forms = " or ".join(f"{section}.KEY=VALUE" for section in kinds) or "no settings"
            raise OrlaError(f"--set {word}: {source} recordings take {forms}; mend or leave it out")
        settings[match[1]][match[2]] = parse_yaml(match[3], f"--set {word}")
    for section, kind in kinds.items():
        parse_settings(kind, settings[section], f"--set {section}")
    return settings


def _read_pair(source: str, recordings: Sequence[str], **settings: dict[str, Any]) -> Pair:
    """`read_pair`, with the settings by section."""
    if source == "simulated":
        if recordings:
            raise OrlaError(f"simulated sessions are made, not read; leave {recordings[0]} out")
        task = Settings().task
        steps = int(task.duration_a_s / BIN_S), int(task.duration_b_s / BIN_S)
        return Pair(source, ("day_1", "day_2"), steps, 96, 96)
    if source == "odoherty":
        papers = tuple(load().stand_in_sessions)
        names = tuple(recordings) or papers
        _require_two_recordings(names, "sessions, such as " + " ".join(papers))
        return Pair(source, names, (USUAL_STEPS, USUAL_STEPS), 96, 96)
    _require_two_recordings(recordings, f"files, session A and session B: --from {source} A B")
    files = tuple(Path(name).expanduser().resolve() for name in recordings)
    for path in files:
        _require_source_file(path, source)
    if filecmp.cmp(*files, shallow=False):
        raise OrlaError(f"{files[0]} and {files[1]} are the same file; give two recordings")
    preparation = settings["preparation"]
    bins, match, transform, options = _READERS[source][1](files, settings[source], preparation)
    (a, b), steps = bins, tuple(len(day.inputs) for day in bins)
    for count, path in zip(steps, files, strict=True):
        if count < FEWEST_STEPS:
            raise OrlaError(
                f"{path}: {count} steps leave nothing to learn from; take a recording of "
                f"{FEWEST_STEPS} steps or more"
            )
    same, in_b = match.columns == "same", {*b.keys}
    features = Features(method="top_channels" if same else "pca")
    bin_s = preparation.get("bin_s", a.bin_s)
    channels.require_compatible(a, b, match, Preparation(bin_s=bin_s, features=features))
    columns = [i for i, key in enumerate(a.keys) if key in in_b or not same]
    fit_inputs = a.inputs[: pretraining_steps(steps[0], TAIL)]
    live = np.count_nonzero(fit_inputs[:, columns].std(axis=0))
    if same:
        top = channels.top_channels(fit_inputs, min(max(live, 1), MOST_INPUTS["top_channels"]))
        channels.find_same_channels(top, a, b)
    if not live:
        raise OrlaError(
            f"{a.name}: no input varies over the first {len(fit_inputs)} steps, which networks are "
            'pretrained on; take another recording, or set preparation.units to "all"'
        )
    # Components of a session's own are no more than it has columns.
    inputs, live = (min(count, b.inputs.shape[1]) for count in (len(columns), live))
    return Pair(
        *(source, _session_names(files), steps, inputs, live, files),
        bin_s=a.bin_s,
        categories=a.targets.ndim == 1,
        options=options,
        preparation=preparation,
        transform=transform,
        same=same,
        because=match.because,
        target=named.target_type_text(options["target"], a.targets) if source == "binned" else "",
    )


def _require_two_recordings(recordings: Sequence[str], what: str) -> None:
    """Refuse other than two different recordings."""
    if len(recordings) != 2 or recordings[0] == recordings[1]:
        count = "the same twice" if len(recordings) == 2 else len(recordings)
        raise OrlaError(f"a study takes two {what} (you gave {count})")


def _require_source_file(path: Path, source: str) -> None:
    """Refuse a path without a file of the source's format, or that Snakemake cannot read."""
    suffixes = {"nwb": (".nwb", ".h5", ".hdf5"), "binned": (".npz",)}[source]
    if not path.exists():
        raise OrlaError(f"{path}: there is no such file; mend the path")
    if path.suffix.lower() not in suffixes and not (source == "nwb" and is_zarr(path)):
        hint = _OTHER_FILES.get(path.suffix, f"convert it to {suffixes[0]}")
        raise OrlaError(f"{path}: --from {source} reads {suffixes[0]} files; {hint}")
    if "{" in str(path) or "}" in str(path):
        raise OrlaError(f"{path}: braces in a path mean something to Snakemake; rename it")


def _session_names(files: tuple[Path, ...]) -> tuple[str, str]:
    """The files' names as parts of paths, or else day_1 and day_2."""
    stems = [re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem).strip("_.") for path in files]
    return (stems[0], stems[1]) if all(stems) and stems[0] != stems[1] else ("day_1", "day_2")


# Of both days the bins; what corresponds; the transform; and the settings of their source.
_PairFacts = tuple[list[binned.Binned], Correspondence, str, dict[str, Any]]


def _read_nwb_pair(
    files: tuple[Path, ...], settings: dict[str, Any], preparation: dict[str, Any]
) -> _PairFacts:
    source = parse_settings(nwb.Source, settings, "nwb")
    steps = parse_settings(Preparation, {"bin_s": BIN_S} | preparation, "preparation")
    sessions = [nwb.read_session(path, source) for path in files]
    *bins, match = from_spikes.bin_pair(*sessions, steps, source.channels, "nwb.channels")
    return bins, match, steps.transform, settings


def _read_binned_pair(
    files: tuple[Path, ...], settings: dict[str, Any], preparation: dict[str, Any]
) -> _PairFacts:
    _, present = load_arrays_and_names(files[0], [])
    inputs, target = (
        settings.get(what) or named.find_array_name(what, present, files[0])
        for what in ("inputs", "target")
    )
    arrays, _ = load_arrays_and_names(files[0], [inputs, target])
    if absent := [name for name in (inputs, target) if name not in arrays]:
        raise OrlaError(f"{files[0]}: no array {absent[0]}; there are {', '.join(present)}")
    values, targets = arrays[inputs], arrays[target]
    finite = values[np.isfinite(values)] if values.dtype.kind in "biuf" else values[:0]
    counts = finite.size and (finite == np.floor(finite)).all() and finite.min() >= 0
    transform = "sqrt" if counts else "none"
    of_a, of_b = (named.stretch_arrays(path, target) for path in files)
    if of_a != of_b and "boundaries" not in settings:
        name = min(of_a ^ of_b)
        lacks, other = files if name in of_b else files[::-1]
        raise OrlaError(
            f"{lacks}: no array {name}, by which {other} is cut into stretches; save it in both, or"
            " set binned.boundaries"
        )
    boundaries = {"changes": [named.CHANGES] * (named.CHANGES in of_a)}
    boundaries |= {"counter": named.COUNTER} if named.COUNTER in of_a else {}
    options = {
        "inputs": inputs,
        "target": target,
        "kind": "categories" if named.are_categories(target, targets) else "values",
        "columns": "different",
        **({"boundaries": boundaries} if of_a else {}),
        **settings,
    }
    source = parse_settings(binned.Source, options, "binned")
    steps = parse_settings(Preparation, {"transform": transform} | preparation, "preparation")
    bins = [binned.read_binned(path, source, steps) for path in files]
    return bins, Correspondence(source.columns, "", "binned.columns"), steps.transform, options


# Sources whose files are read here, by the kind of their settings.
_READERS = {"nwb": (nwb.Source, _read_nwb_pair), "binned": (binned.Source, _read_binned_pair)}
