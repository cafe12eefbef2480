"""The series of an NWB file that is decoded: its path, values, times and unit."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pynwb
from pynwb.behavior import SpatialSeries

from orla.errors import OrlaError
from orla.sessions import checks, clocks
from orla.sessions.nwb_source import Source
from orla.sessions.nwb_write import CURSORS

_LENGTHS = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "cm": 1e-2, "centimeter": 1e-2, "centimeters": 1e-2, "centimetre": 1e-2, "centimetres": 1e-2,
    "mm": 1e-3, "millimeter": 1e-3, "millimeters": 1e-3, "millimetre": 1e-3, "millimetres": 1e-3,
    "um": 1e-6, "µm": 1e-6, "micrometer": 1e-6, "micrometers": 1e-6,
    "in": 0.0254, "inch": 0.0254, "inches": 0.0254,
}  # fmt: skip
_ANGLE = re.compile(r"deg|rad|°", re.IGNORECASE)
_TIME = r"([mnuµμ]?s(ec\w*)?|millis\w*|micros\w*|min\w*|h(ours?|r)?|(frame|sample|step|bin)s?)"
_RATE = re.compile(
    rf"(/ ?|\bper ){_TIME}(?![a-z])|s ?(\^|\*\*)?[({{]*[-−][12]|s⁻[¹²]|hz$", re.IGNORECASE
)
# A word of its own, the end of one in camel case, or after the name of what moves: cursorvel, velx.
_MOVES = "cursor|hand|finger|eye|wrist|arm|paw|ball|wheel|head|tip|joystick|[xyz]"
_RATE_NAME = re.compile(
    rf"(?i:(?<![a-z])({_MOVES})?(vel|acc)[xyz]?(?![a-z]))|(?i:(?<![a-z])v_?[xyz](?![a-z]))|"
    r"(?i:velocit|accel)|(?i:speed)(?![A-Za-z])|((?<![A-Za-z])(?i:vel|acc)|(?<=[a-z])(Vel|Acc))(?![a-z])"
)
_EVEN = 0.01  # of a step of a time, that steps differ by
_LONGEST_M, _SHORTEST_M = 30.0, 1e-3  # that a subject moves over
_WRAPS = 0.9  # of the range of an angle, in one step
_PLACES = ("acquisition", "processing", "analysis", "stimulus", "scratch")

Series = Mapping[str, pynwb.TimeSeries]


def find_objects(path: str, item: object, kind: type) -> Iterator[tuple[str, object]]:
    """Objects of a kind at or below an object, with their paths, in the order of their names."""
    if isinstance(item, kind):
        yield path, item
        return
    for child in sorted(getattr(item, "children", ()), key=lambda child: child.name):
        yield from find_objects(f"{path}/{child.name}", child, kind)


def find_path(what: str, name: str, paths: Iterable[str], labels: Sequence[str]) -> str:
    """The path that is `name`, or ends with it."""
    fits = [path for path in paths if f"/{path}".endswith(f"/{name}")]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise OrlaError(f"{what}: {name} is one of {', '.join(fits)}; name one of these")
    raise OrlaError(f"{what}: there is no {name}; there are: {', '.join(labels) or 'none'}")


def read_series(file: pynwb.NWBFile, source: Source, by_orla: bool = False) -> dict[str, Any]:
    """The series to decode, checked, as fields of a Session: metres where it is a position.

    A file `by_orla` holds the columns that were asked for, and no others.
    """
    series: dict[str, pynwb.TimeSeries] = {}
    for place in _PLACES:
        for name, item in sorted(getattr(file, place).items()):
            series.update(find_objects(f"{place}/{name}", item, pynwb.TimeSeries))
    labels = [f"{path} {np.shape(item.data)} in {item.unit}" for path, item in series.items()]
    names = [source.cursor] if isinstance(source.cursor, str) else source.cursor or []
    paths_by_name = {name: _find_series_paths(name, series, labels) for name in names}
    paths = [path for some in paths_by_name.values() for path in some]
    paths = paths or [_default_series_path(series, labels)]
    # Of a container its series belong to the name: the other day must have the same.
    called = [
        name if len(some) == 1 else f"{name} ({', '.join(p.rpartition('/')[2] for p in some)})"
        for name, some in paths_by_name.items()
    ]
    items = [series[path] for path in paths]
    is_position = source.series == "position" and not paths[0].endswith(f"/{CURSORS[1]}")
    time_s = _sample_times(items[0])
    for item in items[1:]:
        alike = len(item.data) == len(time_s) and item.unit == items[0].unit
        if not (alike and np.allclose(_sample_times(item), time_s, rtol=0, atol=1e-9)):
            raise OrlaError(
                f"cursor: {items[0].name} and {item.name} have other times or units; name series of"
                " one clock and one unit"
            )
    only_xy, unit = is_position and not by_orla, str(items[0].unit or "")
    values = np.hstack([_series_values(item, source.columns, only_xy) for item in items])
    if is_position:
        values *= max(_position_scale(item, source.metres_per_unit) for item in items)
        finite = values[np.isfinite(values)]
        if finite.size and not _SHORTEST_M < np.ptp(finite) < _LONGEST_M and not by_orla:
            print(
                f"{paths[0]} ranges over {np.ptp(finite):.4g} m: is this its unit, or pixels? pynwb"
                " writes 'meters' where no unit is given; velocities are then in no unit of length",
                file=sys.stderr,
            )
    elif _ANGLE.match(unit):
        ranges = np.fmax.reduce(values) - np.fmin.reduce(values)
        least = _WRAPS * np.maximum(ranges, np.finfo(float).tiny)
        if (np.abs(np.diff(values, axis=0)) > least).any():
            raise OrlaError(
                f"{items[0].name} is in '{unit}' and jumps by its whole range, as an angle that "
                "goes round: means over bins are none of its; save its sine and cosine"
            )
    for item in items:
        values[_lost_samples(item, source.least_confidence)] = np.nan
    return {
        "cursor": ", ".join(called) or paths[0],
        "about_series": "" if by_orla else "; ".join(map(_describe_series, paths, items)),
        "time_s": time_s,
        "behavior": {CURSORS[not is_position]: values},
        "unit": "m" if is_position else unit.strip(),
    }


def _lost_samples(series: pynwb.TimeSeries, least_confidence: float | None) -> np.ndarray:
    """(k,) bool: samples of less than `least_confidence`; what is not used of them is printed."""
    lost = np.zeros(len(series.data), dtype=bool)
    for name in ("confidence", "likelihood", "control"):
        values = getattr(series, name, None)
        if values is None or np.shape(values) != lost.shape:
            continue
        if name == "control" or least_confidence is None:
            print(
                f"{series.name} has {name} of each sample, which is not used: write NaN where it "
                "is lost" + ", or set nwb.least_confidence" * (name != "control"),
                file=sys.stderr,
            )
        else:
            lost |= ~(checks.read_numbers(name, values) >= least_confidence)
    return lost


def _describe_series(path: str, series: pynwb.TimeSeries) -> str:
    """Where a series lies, and its frame and description, as far as the file has them."""
    texts = (getattr(series, name, "") for name in ("reference_frame", "description"))
    words = (str(text or "").strip() for text in texts)
    return ", ".join([path, *(w for w in words if w not in ("", "no description", "unknown"))])


def _find_series_paths(name: str, series: Series, labels: Sequence[str]) -> list[str]:
    """The path of the series of that name; of a container of 1-D series all of theirs."""
    containers: dict[str, list[str]] = {}
    for path in series:
        before, inside, _ = f"/{path}".partition(f"/{name}/")
        if inside:
            containers.setdefault(f"{before}/{name}"[1:], []).append(path)
    choices = {path: [path] for path in series}
    for container, paths in containers.items():
        if all(np.ndim(series[path].data) == 1 for path in paths):
            others = {path: own for path, own in choices.items() if path not in paths}
            choices = others | {container: paths}
    return choices[find_path("cursor", name, choices, labels)]


def _default_series_path(series: Series, labels: Sequence[str]) -> str:
    """The path of the series called as in our own files, or of the only SpatialSeries."""
    by_name = [path for path in series if path.rpartition("/")[2] in CURSORS]
    places = by_name or [path for path, item in series.items() if isinstance(item, SpatialSeries)]
    if len(places) != 1:
        mend = "name one as nwb.cursor" if series else "use a file that has one"
        raise OrlaError(
            "which series is the cursor's position? "
            f"There are: {', '.join(places or labels) or 'none'}; {mend}"
        )
    if not by_name:
        print(f"{places[0]}, the only SpatialSeries, is taken as the cursor", file=sys.stderr)
    return places[0]


def _sample_times(series: pynwb.TimeSeries) -> np.ndarray:
    """Sample times (s) of a series, ascending."""
    name = f"{series.name}, timestamps"
    if series.timestamps is not None:
        times = checks.squeeze_row_or_column(checks.read_numbers(name, series.timestamps))
        time_s = clocks.convert_stored_times(name, times)
    elif not 0 < (series.rate or 0) < np.inf:
        raise OrlaError(f"{series.name}: its rate is {series.rate}; give samples a second")
    else:
        time_s = (series.starting_time or 0.0) + np.arange(len(series.data)) / series.rate
    clocks.require_sample_times(name, time_s)
    if len(time_s) != len(series.data) or len(time_s) < 2:
        hint = ": time comes first, transpose it" if len(time_s) in np.shape(series.data) else ""
        raise OrlaError(
            f"{series.name} of shape {np.shape(series.data)} has {len(series.data)} samples and "
            f"{len(time_s)} times{hint}; give each sample its time, and two samples or more"
        )
    return time_s


def _series_values(
    series: pynwb.TimeSeries, columns: list[int] | None, only_xy: bool
) -> np.ndarray:
    """Columns of a series, (k, d), after its own conversion and offset; null: all, or x and y."""
    shape = np.shape(series.data)
    place = f"{series.name}: its shape is {shape}"
    if len(shape) == 2 and shape[0] < shape[1]:
        raise OrlaError(f"{place}: time comes first, transpose it")
    if len(shape) > 2:
        raise OrlaError(f"{place}; use a series of samples and columns")
    values = checks.read_numbers(series.name, series.data).reshape(shape[0], -1)
    width = values.shape[1]
    if columns is None:
        if only_xy and width > 3:
            raise OrlaError(f"{place}: which of {width} columns are x and y? Name nwb.columns")
        columns = list(range(min(width, 2) if only_xy else width))
        if len(columns) < width:
            print(f"{place}; the first two columns are taken as x and y", file=sys.stderr)
    if not columns or min(columns) < 0 or max(columns) >= width:
        raise OrlaError(f"{place}: nwb.columns is {columns}; give columns from 0 to {width - 1}")
    gains = getattr(series, "channel_conversion", None)
    gains = 1.0 if gains is None else checks.read_numbers("channel_conversion", gains)[columns]
    values = values[:, columns] * gains * series.conversion + (series.offset or 0.0)
    steps = np.diff(values, axis=0)
    is_time = (steps > 0).all(axis=0) & (np.ptp(steps, axis=0) < _EVEN * np.median(steps, axis=0))
    if is_time.any() and len(steps) > 1:
        raise OrlaError(
            f"{series.name}: column {columns[is_time.argmax()]} goes up in even steps, as times do;"
            " name the others as nwb.columns"
        )
    return values


def _position_scale(series: pynwb.TimeSeries, metres_per_unit: float | None) -> float:
    """Metres a unit of a position; a velocity, an angle, or what is no length is refused."""
    unit = str(series.unit or "").strip()
    is_rate = _RATE.search(unit) or _RATE_NAME.search(series.name)
    if is_rate or _ANGLE.match(unit):
        raise OrlaError(
            f"{series.name} is in '{unit}': {'a velocity' if is_rate else 'an angle'} and no "
            "position; name a position as nwb.cursor, or decode the series itself with "
            "nwb.series: values"
        )
    length = _LENGTHS.get(unit.lower().partition("(")[0].strip(" ."))  # "mm." or "meter(s)"
    if not length and metres_per_unit is None:
        raise OrlaError(f"{series.name} is in '{unit}', which is no length; give metres_per_unit")
    if length and metres_per_unit not in (None, length):
        print(f"{series.name} is in '{unit}', so metres_per_unit is not used", file=sys.stderr)
    return length or metres_per_unit
