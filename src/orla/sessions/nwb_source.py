"""Settings by which recordings are read from NWB files, for those that need not import pynwb."""

from dataclasses import dataclass

from orla.catalogue import option


@dataclass(frozen=True)
class Source:
    """NWB files with units and a series to decode."""

    files: dict[str, str] = option({}, "File of each session, by the session's name.")
    cursor: str | list[str] | None = option(
        None,
        "The series to decode, by its name or the end of its path, such as Position/hand; or a "
        "list of series, put side by side; null: cursor_pos, else the only SpatialSeries.",
    )
    series: str = option(
        "position",
        "What the series is: a position, whose velocity is decoded, or values, such as a velocity, "
        "a force or EMG, which are decoded themselves.",
        choices=("position", "values"),
    )
    columns: list[int] | None = option(
        None, "Columns of the series, from 0; null: x and y of a position, all of values."
    )
    metres_per_unit: float | None = option(
        None,
        "Length in metres of a unit that the file does not name; one that it names holds.",
        above=0,
    )
    units: str | None = option(
        None, "Path or name of the table of units; null: units, else the only one there is."
    )
    least_confidence: float | None = option(
        None,
        "Samples whose confidence or likelihood, where the series has one, is less are lost.",
    )
    trials: bool = option(False, "Only what lies inside the trials of the file's table.")
    channels: str | None = option(
        None,
        "Whether a channel of session A is the one of that name in session B; null: the same where "
        "arrays, electrodes and subject prove it, else different.",
        choices=(None, "same", "different"),
    )
    most_outside: float = option(
        0.05,
        "Largest share of spikes that may lie outside the times of the series; with more the "
        "clocks differ.",
        least=0,
        most=1,
    )
