"""Recordings as they are met: small files of a made-up day, and what orla answers to each.

`CASES` make the table of docs/reliability.md: `python tests/recording_cases.py` writes it.
"""

import gzip
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pynwb
import tables_of_docs
from pynwb.behavior import BehavioralTimeSeries, Position, SpatialSeries
from pynwb.misc import Units

HZ, SECONDS, UNITS = 250, 40.0, 8
BLOSC = 32001


@cache
def signals(day):
    """Sample times (s), position (k, 2) in metres and spike times of each unit; one tuning."""
    rng = np.random.default_rng(day)
    time_s = np.arange(int(SECONDS * HZ) + 1) / HZ
    f, phase = rng.uniform(0.2, 1.0, (2, 4)), rng.uniform(0, 2 * np.pi, (2, 4))
    position = 0.03 * np.sin(2 * np.pi * f[:, :, None] * time_s + phase[:, :, None]).sum(1).T
    velocity = np.gradient(position, time_s, axis=0)
    tuning = np.random.default_rng(7).normal(size=(UNITS, 2))
    rate = np.exp(np.clip(2.5 + 6 * velocity @ tuning.T, -2, 5))
    counts = rng.poisson(rate / HZ)
    spikes = [np.sort(np.repeat(time_s, n) + rng.uniform(0, 1 / HZ, n.sum())) for n in counts.T]
    return time_s, position, [x[x < time_s[-1]] for x in spikes]


def hand(data, name="hand", **about):
    about = {"unit": "meters", "reference_frame": "table", "rate": float(HZ)} | about
    if "timestamps" in about:
        del about["rate"]
    with warnings.catch_warnings(action="ignore"):
        return SpatialSeries(name=name, data=data, **about)


def written(
    path: Path,
    day: int,
    *,
    spikes=lambda spikes: spikes,
    series=lambda time_s, position: [hand(position)],
    arrays=("M1",) * UNITS,
    labels=tuple(f"ch{i}" for i in range(UNITS)),
    electrodes=True,
    area="",
    places=None,
    columns=None,
    subject="",
    fill=lambda file: None,
    own_units=True,
    after=lambda path: None,
):
    """An NWB file of a day; each argument changes one thing of it."""
    time_s, position, trains = signals(day)
    file = pynwb.NWBFile(
        session_description="Made up.",
        identifier=f"day {day}",
        session_start_time=datetime(2020, 1, day, tzinfo=UTC),
        session_id=f"day_{day}",
        subject=pynwb.file.Subject(subject_id=subject) if subject else None,
    )
    if electrodes:
        add_electrodes(file, arrays, labels, area, places)
    behavior = file.create_processing_module("behavior", "behavior")
    for one in series(time_s, position):
        behavior.add(one)
    if own_units:
        channels = {"electrodes": [[i] for i in range(UNITS)]} if electrodes else {}
        add_units(file, spikes(trains), **channels | (columns or {}))
    fill(file)
    with warnings.catch_warnings(action="ignore"), pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)
    after(path)


def add_electrodes(file, arrays, labels=(), area="", places=None):
    """Electrodes of arrays, with labels, and heights (um) along a probe that begin at `places`."""
    device = file.create_device("device")
    groups = {
        a: file.create_electrode_group(re.sub("[/:]", "_", a), a, a, device)
        for a in dict.fromkeys(arrays)
    }
    if labels:
        file.add_electrode_column("label", "its name")
    for i, array in enumerate(arrays):
        more = {"label": labels[i]} if labels else {}
        more |= {} if places is None else {"rel_x": 0.0, "rel_y": places + 40.0 * i}
        file.add_electrode(location=area or array, group=groups[array], **more)


def add_units(file, trains, **columns):
    for name in sorted(columns.keys() - {"electrodes", "obs_intervals"}):
        file.add_unit_column(name, name)
    for i, times in enumerate(trains):
        file.add_unit(spike_times=times, **{name: column[i] for name, column in columns.items()})


@dataclass
class Case:
    """A situation, and the answer to it.

    Attributes:
        kind, what: the situation, in words; `what` is of day B unless it says both.
        b: arguments of `written` for day B; `a`: for day A.
        nwb, preparation: settings.
        refused: the words of the refusal; "" where the recording is taken.
        said: the words of a line that is printed where it is taken.
        held: of the streams and those of the control, what holds; `told`: the same in words.
    """

    kind: str
    what: str
    b: dict[str, Any] = field(default_factory=dict)
    a: dict[str, Any] = field(default_factory=dict)
    nwb: dict[str, Any] = field(default_factory=dict)
    preparation: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    said: str = ""
    told: str = "taken"
    held: Callable[[Any, Any], bool] = lambda found, control: same(found, control)


def same(found, control):
    return all(
        np.array_equal(getattr(getattr(found, side), name), getattr(getattr(control, side), name))
        for side in "ab"
        for name in "XY"
    )


def account(side="b", **wanted):
    """Whether an account has these entries; of a mapping the ones named."""

    def held(found, control):
        ours = found.dataset["account"][side]
        return all(
            (value.items() <= ours[name].items())
            if isinstance(value, dict)
            else ours[name] == value
            for name, value in wanted.items()
        )

    return held


def decoded(outputs):
    """Whether there are so many outputs, x and y of the hand the first."""
    return lambda found, control: (
        found.n_out == outputs and np.allclose(found.b.Y[:, :2], control.b.Y)
    )


def both(what):
    return {"a": what, "b": what}


def moved(seconds):
    return {"spikes": lambda trains: [x + seconds for x in trains]}


def scaled(factor):
    return {"spikes": lambda trains: [factor * x for x in trains]}


def all_scaled(factor):
    return scaled(factor) | {"series": at(timestamps=lambda t: factor * t)}


def restarted(trains):
    half = SECONDS / 2
    return [np.concatenate([x[x < half], x[x >= half] - half]) for x in trains]


def sorted_again(trains):
    return [np.sort(x) for x in restarted(trains)]


def at(**about):
    """The hand at sample times that a function makes of its own."""
    return lambda t, p: [hand(p, **{k: f(t) for k, f in about.items()})]


def twice(t, p):
    raw = Position(name="RawPosition", spatial_series=hand(p * [1, -1]))
    return [raw, Position(name="Position", spatial_series=hand(p))]


def lost(rows, name="hand"):
    """NaN in the rows of a time between two seconds."""

    def series(t, p):
        values = p.copy()
        values[rows(t)] = np.nan
        whole = [hand(p)] if name != "hand" else []
        return [*whole, hand(values, name)]

    return series


def invalid(*rows):
    def fill(file):
        for start, stop in rows:
            file.add_invalid_time_interval(start_time=start, stop_time=stop, tags=["lost"])

    return {"fill": fill}


def random_at_the_end(t, p):
    values = p.copy()
    values[t >= 30] = np.random.default_rng(3).normal(0, 0.2, values[t >= 30].shape)
    return [hand(values)]


def paused(trains):
    return [x[(x < 15) | (x > 25)] for x in trains]


def lost_at_zero(t, p):
    """A hand beside the origin, which stands for lost samples of a second."""
    values = p + 0.4
    values[(t >= 20) & (t < 21)] = 0.0
    return [hand(values)]


def second_half(day):
    time_s, position, trains = signals(day)
    return {
        "spikes": lambda _: [x[x >= 20] - 20 for x in trains],
        "series": lambda *_: [hand(position[time_s >= 20])],
    }


def late_in_single_precision():
    return {
        "spikes": lambda trains: [(x + 2e5).astype(np.float32) for x in trains],
        "series": at(timestamps=lambda t: (t + 2e5).astype(np.float32)),
    }


def as_columns(path):
    """Electrodes of units as MATLAB writes them."""
    for name in ("electrodes", "electrodes_index"):
        rewritten(path, f"units/{name}", lambda values: values[:, None])


EVERY_OTHER_SECOND = np.array([(start, start + 1.5) for start in range(0, 40, 2)])


def observed(rows):
    return {"columns": {"obs_intervals": [rows] * UNITS}}


def trials(rows):
    def fill(file):
        for start, stop in rows:
            file.add_trial(start_time=start, stop_time=stop)

    return {"fill": fill}


def crossings(*names):
    def fill(file):
        module = file.create_processing_module("ecephys", "crossings")
        day = file.session_start_time.day
        for name in names:
            table = Units(name=name, description="c", electrode_table=file.electrodes)
            for i, times in enumerate(signals(day)[2]):
                table.add_unit(spike_times=times, electrodes=[i])
            module.add(table)

    return {"own_units": False, "fill": fill}


def muscles(*names, filtered=False):
    """EMG of muscles, three by default; also filtered, in a second container of that name."""

    def emg(seed):
        values = np.random.default_rng(seed).normal(size=(3, int(SECONDS * HZ) + 1))
        called = zip(names or ("APB", "FCR", "FDS"), values, strict=True)
        series = [pynwb.TimeSeries(name=n, data=x, unit="V", rate=float(HZ)) for n, x in called]
        return BehavioralTimeSeries(name="emg", time_series=series)

    def fill(file):
        file.add_acquisition(emg(file.session_start_time.day))
        if filtered:
            file.processing["behavior"].add(emg(9))

    return {"fill": fill}


def rewritten(path, name, change):
    """Put other values in the place of a dataset, whose attributes stay."""
    with h5py.File(path, "r+") as file:
        about, values = dict(file[name].attrs), file[name][:]
        del file[name]
        file[name] = change(values)
        file[name].attrs.update(about)


def turned(path):
    rewritten(path, "processing/behavior/hand/data", np.transpose)


def copied(path):
    with h5py.File(path, "r+") as file:
        file.copy("processing/behavior/hand", "processing/behavior/hand_backup")


def packed(path):
    with h5py.File(path, "r+") as file:
        group = file["processing/behavior/hand"]
        about, shape = dict(group["data"].attrs), group["data"].shape
        del group["data"]
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((1000, 2))
        plan.set_filter(BLOSC, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple(shape)
        data = h5py.h5d.create(group.id, b"data", h5py.h5t.IEEE_F64LE, space, plan)
        data.write_direct_chunk((0, 0), bytes(60), 0)
        group["data"].attrs.update(about)


def extended(path):
    """An object of an extension, whose definition is not in the file."""
    with h5py.File(path, "r+") as file:
        rig = file.create_group("general/rig")
        rig.attrs.update({"namespace": "ndx-lab", "neurodata_type": "Rig", "object_id": "x"})


def replaced(content):
    return {"after": lambda path: path.write_bytes(content(path.read_bytes()))}


def folder(path):
    path.unlink()
    path.mkdir()


def zarr(path):
    folder(path)
    (path / ".zgroup").write_text("{}")


PATH = "processing/behavior"
CLOCKS, IDENTITY, MEANING = "two clocks", "which channel is which", "what a series is"
HOLES, FILES, NAMES = "what was not recorded", "files that cannot be read", "names of others"
VELOCITY = {"series": lambda t, p: [hand(np.gradient(p, t, axis=0), unit="m/s")]}
NAMED = {"series": lambda t, p: [hand(np.gradient(p, t, axis=0), "hand_vel")]}
LED = {"series": lambda t, p: [hand(np.hstack([p, p + 0.01]))]}
PCA = {"features": {"count": 4, "method": "pca", "of": "own"}}
XYZ = {"series": lambda t, p: [hand(np.column_stack([p, 0.1 * np.sin(3 * t)]))]}
X_Y_Z = {
    "series": lambda t, p: [hand(p[:, 0], "x"), hand(p[:, 1], "y"), hand(0.1 * np.sin(3 * t), "z")]
}
LEFT_RIGHT = {"series": lambda t, p: [hand(p, "left"), hand(2 * p[:, ::-1], "right")]}
XY = {"series": lambda t, p: [hand(p[:, 0], "x"), hand(p[:, 1], "y")]}
GAPPED = {"invalid_times (lost)": 10.004}

CASES = [
    Case(CLOCKS, "spikes in milliseconds, both days", **both(scaled(1e3)),
        refused=r"\(99\.\d%\) lie outside the positions' times; .* look like milliseconds"),
    Case(CLOCKS, "spikes and positions in milliseconds, both days", **both(all_scaled(1e3)),
        refused=r"a\.nwb: hand: samples are 4 s apart and a unit has 0\.0\d+ spikes a second; the "
        "clock is probably not in seconds; give all times of the file in seconds"),
    Case(CLOCKS, "spikes and positions in numbers of samples, bins of 200 s, both days",
        **both(all_scaled(3e4)), preparation={"bin_s": 200.0},
        refused=r"hand: samples are 120 s apart .* the clock is probably not in seconds"),
    Case(CLOCKS, "a position every second, bins of 2 s",
        {"series": lambda t, p: [hand(p[::HZ], rate=1.0)]}, told="taken",
        preparation={"bin_s": 2.0, "features": {"count": 4}},
        held=lambda found, _: len(found.b) == 20),
    Case(CLOCKS, "spikes in numbers of samples", scaled(3e4),
        refused=r"lie outside .* look like numbers of samples at about 3e\+04 Hz"),
    Case(CLOCKS, "spikes in minutes", scaled(1 / 60),
        refused=r"98\.\d% of the positions' time has no spike; .* look like minutes"),
    Case(CLOCKS, "spikes on the clock of an amplifier that started 10 s earlier", moved(10.0),
        refused=r"lie outside .* may be \+10 s apart"),
    Case(CLOCKS, "spikes in seconds since 1970", moved(1.58e9),
        refused=r"\(100\.0%\) lie outside .* may be \+1\.58e\+09 s apart"),
    Case(CLOCKS, "spikes half a second late", moved(0.5), told="taken; spikes outside are counted",
        held=lambda found, _: found.dataset["account"]["b"]["spikes_dropped"][
            "outside the positions' times"] > 20),
    Case(CLOCKS, "spike clock that starts again half way", {"spikes": restarted},
        refused=r"clock of 8 of 8 units starts again, from (19\.\d+|20) s back to 0\.\d+ s; add"),
    Case(CLOCKS, "the same, sorted", {"spikes": sorted_again},
        refused=r"(49|50)\.\d% of the positions' time has no spike"),
    Case(CLOCKS, "positions' clock that starts again half way",
        {"series": at(timestamps=lambda t: t % 20)},
        refused=r"hand, timestamps: .* 0 s follows 19\.996 s; where the clock starts again add"),
    Case(CLOCKS, "trials in milliseconds, `trials: true`", trials(1e3 * EVERY_OTHER_SECOND),
        a=trials(EVERY_OTHER_SECOND), nwb={"trials": True},
        refused="trials: 19 of 20 intervals, which start at 0 to 38000 s, lie outside the record"),
    Case(CLOCKS, "`invalid_times` in milliseconds", invalid((30e3, 40e3)),
        refused="invalid_times: 1 of 1 intervals, .* lie outside the recording, 0 to 40 s; give"),
    Case(CLOCKS, "samples farther apart than bins",
        {"series": lambda t, p: [hand(p[::25], rate=10.0)]},
        refused=r"samples of hand are 0\.1 s apart, more than a bin of 0\.05 s"),
    Case(CLOCKS, "times in single precision",
        {"spikes": lambda trains: [x.astype(np.float32).astype(str).astype(float) for x in trains],
         "series": at(timestamps=lambda t: t.astype(np.float32))},
        held=lambda found, control: np.array_equal(found.b.Y, control.b.Y)),
    Case(CLOCKS, "times in single precision, two days after the clock's start",
        late_in_single_precision(),
        refused=r"timestamps: times of up to 200040 s are stored in single precision, in steps of "
        r"15\.6 ms; write them in double precision, or count"),
    Case(CLOCKS, "the same, of spikes alone",
        late_in_single_precision() | {"series": at(starting_time=lambda t: 2e5)},
        refused=r"units, spike_times: times of up to 2\d+ s are stored in single precision"),
    Case(IDENTITY, "sorted units that list all electrodes of the probe, both days",
        **both({"columns": {"electrodes": [[*range(UNITS)]] * UNITS}}),
        refused=r"different \(units of day_1 have no electrodes of their own, and each sorting"),
    Case(IDENTITY, "the same, each with its neighbours; `channels: same`",
        **both({"columns": {"electrodes": [[*range(max(i - 2, 0), i + 1)] for i in range(UNITS)]}}),
        nwb={"channels": "same"}, told="taken; each unit is a channel"),
    Case(IDENTITY, "units of two tetrodes, both days",
        **both({"columns": {"electrodes": [[*range(4 * (i // 4), 4 * (i // 4) + 4)]
                                           for i in range(UNITS)]}}),
        preparation={"features": {"count": 2}}, told="taken; a tetrode is a channel",
        held=lambda found, _: found.b.X.shape[1] == 2),
    Case(IDENTITY, "the same labels, farther along the probe",
        {"places": 1920.0}, a={"places": 0.0},
        refused=r"are different \(M1 ch0 lies at \(0, 0\) in day_1 and at \(0, 1920\) in day_2\)"),
    Case(IDENTITY, "every spike of a unit twice",
        {"spikes": lambda trains: [np.repeat(trains[0], 2), *trains[1:]]},
        said=r"\d+ spikes have the time of the one before: counted twice\?",
        told="taken; a line asks",
        held=lambda found, control: found.b.X.shape == control.b.X.shape),
    Case(IDENTITY, "one train as two units", {"spikes": lambda trains: [*trains[:7], trains[0]]},
        said="1 units have the spikes of another one: counted twice", told="taken; a line asks",
        held=lambda found, control: found.b.X.shape == control.b.X.shape),
    Case(IDENTITY, "the same electrodes in another area", {"area": "CA1"}, a={"area": "VISp"},
        refused=r"are different \(M1 ch0 is in VISp in day_1 and in CA1 in day_2\)"),
    Case(IDENTITY, "day B is the second half of day A", second_half(1),
        refused=r"100% of the inputs of day_2 stand in day_1 too, step for step; give two"),
    Case(IDENTITY, "electrodes of units as a column, as MATLAB has it", {"after": as_columns}),
    Case(IDENTITY, "sorted units without electrodes, both days", **both({"electrodes": False}),
        refused=r'"top_channels", but channels .* are different \(units of day_1 have no electrod'),
    Case(IDENTITY, "the same, declared the same: `channels: same`",
        **both({"electrodes": False}), nwb={"channels": "same"}),
    Case(IDENTITY, "the same, with components of its own for each day",
        **both({"electrodes": False}), preparation=PCA,
        held=account(
            correspondence="different", alignment="each session's own principal components")),
    Case(IDENTITY, "labels that repeat from array to array; day B has one of the arrays",
        a={"arrays": ("M1",) * 8 + ("PMd",) * 8, "labels": tuple(f"ch{i}" for i in range(8)) * 2}),
    Case(IDENTITY, "the same labels on another array", {"arrays": ("PMd",) * UNITS},
        refused=r"day_2: lacks 4 of the 4 channels of day_1 \(the first is 'M1 ch\d'\)"),
    Case(IDENTITY, "that other array, declared the same: `channels: same`",
        {"arrays": ("PMd",) * UNITS}, nwb={"channels": "same"}),
    Case(IDENTITY, "another subject", {"subject": "Loco"}, a={"subject": "Indy"},
        refused=r"are different \(day_1 is of subject Indy, day_2 of Loco\)"),
    Case(IDENTITY, "electrodes with numbers alone, fewer on day B",
        {"labels": (), "arrays": ("M1",) * 8}, a={"labels": (), "arrays": ("M1",) * 9},
        refused=r"are different \(electrodes have numbers alone: 9 of day_1, 8 of day_2\)"),
    Case(MEANING, "velocities by the names velx and vely, in pynwb's 'meters', both days",
        **both({"series": lambda t, p: [hand(p[:, 0], "velx"), hand(p[:, 1], "vely")]}),
        nwb={"cursor": ["velx", "vely"]},
        refused="velx is in 'meters': a velocity and no position; name a position"),
    Case(MEANING, "a direction of 0 to 2 pi as values, both days",
        **both({"series": lambda t, p: [hand(5 * t % (2 * np.pi), unit="radians")]}),
        nwb={"series": "values"},
        refused="hand is in 'radians' and jumps by its whole range, as an angle that goes round"),
    Case(MEANING, "another frame of reference",
        {"series": lambda t, p: [hand(p, reference_frame="origin at the top, y down")]},
        said="differ in what their files say: day_1: .*hand, table; day_2: .*hand, origin at the t",
        told="taken; a line says so"),
    Case(MEANING, "a series of that name in another container",
        {"series": lambda t, p: [Position(name="RightArm", spatial_series=hand(p))]},
        said="day_1: processing/behavior/hand, .*; day_2: processing/behavior/RightArm/hand",
        told="taken; a line says so"),
    Case(MEANING, "a velocity, in m/s", VELOCITY,
        refused=r"hand is in 'm/s': a velocity and no position; name .* or .*series: values"),
    Case(MEANING, "a velocity by its name, in metres", NAMED, nwb={"cursor": "hand_vel"},
        a=NAMED, refused=r"hand_vel is in 'meters': a velocity and no position"),
    Case(MEANING, "a velocity, in `m s**-1`, `metres_per_unit: 1`, both days",
        **both({"series": lambda t, p: [hand(np.gradient(p, t, axis=0), unit="m s**-1")]}),
        nwb={"metres_per_unit": 1.0}, refused=r"hand is in 'm s.*-1': a velocity and no"),
    Case(MEANING, "a velocity, decoded itself: `series: values`, both days", **both(VELOCITY),
        nwb={"series": "values"}, told="taken; it is not differentiated",
        held=lambda found, control: np.corrcoef(found.b.Y[:, 0], control.b.Y[:, 0])[0, 1] > 0.999),
    Case(MEANING, "values in other units on the two days", a=VELOCITY,
        b={"series": lambda t, p: [hand(p, unit="cm/s")]}, nwb={"series": "values"},
        refused="day_2: its unit is cm/s, but m/s in day_1"),
    Case(MEANING, "an angle", {"series": lambda t, p: [hand(p, unit="degrees")]},
        refused="hand is in 'degrees': an angle and no position"),
    Case(MEANING, "pixels", {"series": lambda t, p: [hand(p, unit="pixels")]},
        refused="hand is in 'pixels', which is no length; give metres_per_unit"),
    Case(MEANING, "the same, on day A alone; `metres_per_unit: 0.001`",
        a={"series": lambda t, p: [hand(1e3 * p, unit="pixels")]}, nwb={"metres_per_unit": 0.001},
        told="taken; a line says that day B's own unit holds",
        held=lambda found, control: np.allclose(found.b.Y, control.b.Y)),
    Case(MEANING, "pixels in 'meters', as pynwb writes where no unit is given",
        {"series": lambda t, p: [hand(1e4 * p)]},
        refused=r"targets of day_2 have a standard deviation of .*, those of day_1 of .*; give"),
    Case(MEANING, "the same on both days", **both({"series": lambda t, p: [hand(1e4 * p)]}),
        told="taken; a line asks whether these are pixels",
        held=lambda found, control: np.allclose(found.b.Y, control.b.Y)),
    Case(MEANING, "two series of one name", {"series": twice},
        refused=f"hand is one of {PATH}/Position/hand, {PATH}/RawPosition/hand; name one"),
    Case(MEANING, "the same, by its path: `cursor: Position/hand`, both days",
        **both({"series": twice}), nwb={"cursor": "Position/hand"}),
    Case(MEANING, "no series of that name", nwb={"cursor": "arm"},
        refused=rf"there is no arm; there are: {PATH}/hand \(10001, 2\) in meters"),
    Case(MEANING, "time in the second axis", {"after": turned},
        refused=r"hand.*shape.* \(2, 10001\).*time comes first, transpose it"),
    Case(MEANING, "eight muscles with time in the second axis: `series: values`",
        {"series": lambda t, p: [hand(np.ones((8, len(t))))]}, nwb={"series": "values"},
        refused=r"hand: its shape is \(8, 10001\): time comes first, transpose it"),
    Case(MEANING, "time, x and y in three columns",
        {"series": lambda t, p: [hand(np.column_stack([t, p]))]},
        refused="hand: column 0 goes up in even steps, as times do; name the others as nwb.col"),
    Case(MEANING, "the same, with `columns: [1, 2]`, both days",
        **both({"series": lambda t, p: [hand(np.column_stack([t, p]))]}), nwb={"columns": [1, 2]}),
    Case(MEANING, "x and y as two series: `cursor: [x, y]`, both days", **both(XY),
        nwb={"cursor": ["x", "y"]}),
    Case(MEANING, "the same, without a word", **both(XY), nwb={"cursor": None},
        refused=f"There are: {PATH}/x, {PATH}/y; name one as nwb.cursor"),
    Case(MEANING, "a container of x and y: `cursor: Position`, both days",
        **both({"series": lambda t, p: [Position(spatial_series=[
            hand(p[:, 1], "y"), hand(p[:, 0], "x")])]}), nwb={"cursor": "Position"}),
    Case(MEANING, "muscles in a container, as FALCON M1 has: `cursor: emg`, `series: values`, both",
        **both(muscles()), nwb={"cursor": "emg", "series": "values"},
        told="taken; each is decoded", held=lambda found, _: found.b.Y.shape == (800, 3)),
    Case(MEANING, "muscles in two containers of one name, raw and filtered",
        muscles(filtered=True), muscles(), nwb={"cursor": "emg", "series": "values"},
        refused=f"emg is one of acquisition/emg, {PATH}/emg; name one"),
    Case(MEANING, "the same, by its path: `cursor: acquisition/emg`",
        muscles(filtered=True), muscles(), nwb={"cursor": "acquisition/emg", "series": "values"},
        told="taken; each is decoded", held=lambda found, _: found.b.Y.shape == (800, 3)),
    Case(MEANING, "a container with another muscle on day B: `cursor: emg`",
        muscles("APB", "FDI", "FDS"), muscles(),
        nwb={"cursor": "emg", "series": "values"},
        refused=r"day_2: its cursor is emg \(APB, FDI, FDS\), but emg \(APB, FCR, FDS\) in day_1"),
    Case(MEANING, "a position from a HighSpeedCamera, in `meter(s)`, both days",
        **both({"series": lambda t, p: [hand(p, "HighSpeedCamera", unit="meter(s)")]}),
        nwb={"cursor": "HighSpeedCamera"}),
    Case(MEANING, "two LEDs in four columns", LED,
        refused=r"shape is \(10001, 4\): which of 4 columns are x and y\? Name nwb\.columns"),
    Case(MEANING, "the same, with `columns: [0, 1]`, both days", **both(LED),
        nwb={"columns": [0, 1]}),
    Case(MEANING, "x, y and z", {"series": lambda t, p: [hand(np.hstack([p, p[:, :1]]))]},
        told="taken; a line says that x and y are"),
    Case(MEANING, "the same, with `columns: [0, 1, 2]`, both days", **both(XYZ),
        nwb={"columns": [0, 1, 2]}, told="taken; three are decoded", held=decoded(3)),
    Case(MEANING, "the same as three series: `cursor: [x, y, z]`, both days", **both(X_Y_Z),
        nwb={"cursor": ["x", "y", "z"]}, told="taken; three are decoded", held=decoded(3)),
    Case(MEANING, "two hands: `cursor: [left, right]`, both days", **both(LEFT_RIGHT),
        nwb={"cursor": ["left", "right"]}, told="taken; four are decoded", held=decoded(4)),
    Case(MEANING, "units in a processing module, both days", **both(crossings("crossings")),
        told="taken; a line names the table"),
    Case(MEANING, "two tables of units in a module", crossings("sorted", "crossings"),
        refused="which of processing/ecephys/crossings, processing/ecephys/sorted"),
    Case(HOLES, "another series with gaps", {"series": lost(lambda t: t % 3 < 0.2, "eye")}),
    Case(HOLES, "one stretch of NaN", {"series": lost(lambda t: (t > 5) & (t < 5.5))},
        told="taken; a gap", held=account(stretches=2, steps=790, scored=789)),
    Case(HOLES, "one sample in 500 missing",
        {"series": lambda t, p: [hand(p[(i := np.arange(len(t))) % 500 != 250],
                                      timestamps=t[i % 500 != 250])]},
        told="taken; bridged", held=account(bridged=20, stretches=1, steps=800)),
    Case(HOLES, "single NaN", {"series": lost(lambda t: np.arange(len(t)) % 500 == 250)},
        told="taken; bridged", held=account(bridged=20, stretches=1, steps=800)),
    Case(HOLES, "a hand that is lost most of the time", {"series": lost(lambda t: t % 3 > 1)},
        refused=r"day_2: 1\d\.\d of 40\.0 s are left, in 14 stretches \(gaps in the positions: "),
    Case(HOLES, "`invalid_times`", invalid((30.0, 40.0)) | {"series": random_at_the_end},
        told="taken without them", held=account(steps=599, seconds_dropped=GAPPED)),
    Case(HOLES, "`invalid_times` of 2 ms, between two samples", invalid((10.001, 10.003)),
        told="taken without that bin", held=account(steps=799, stretches=2)),
    Case(HOLES, "`obs_intervals` of each trial",
        observed(EVERY_OTHER_SECOND), told="taken without the time between",
        held=account(steps=600, scored=581, stretches=20)),
    Case(HOLES, "`obs_intervals` of one unit for a third of the time",
        {"columns": {"obs_intervals": [[[0.0, 40.0]]] * 7 + [[[0.0, 13.0]]]}},
        told="taken without that unit", held=account(steps=800, stretches=1, units=7)),
    Case(HOLES, "trials, `trials: true`, both days", **both(trials(EVERY_OTHER_SECOND)),
        nwb={"trials": True}, told="taken without the time between",
        held=account(steps=600, stretches=20)),
    Case(HOLES, "no trials, `trials: true`", nwb={"trials": True},
        refused="trials: there is no such table"),
    Case(HOLES, "units of quality noise",
        {"columns": {"quality": ["good"] * 7 + ["noise"]}}, told="taken without them",
        held=lambda found, _: found.dataset["account"]["b"]["units"] == 7
        and "units of quality noise" in found.dataset["account"]["b"]["spikes_dropped"]),
    Case(HOLES, "units that Bombcell calls NOISE: `bc_unitType`",
        {"columns": {"bc_unitType": ["GOOD"] * 6 + ["MUA", "NOISE"]}}, told="taken without them",
        held=lambda found, _: found.dataset["account"]["b"]["units"] == 7),
    Case(HOLES, "units of which `is_good` is false",
        {"columns": {"is_good": [True] * 7 + [False]}},
        said="units, is_good: false of 1 units, and not used", told="taken; a line says so"),
    Case(HOLES, "samples with a `control` of each",
        {"series": lambda t, p: [hand(p, control=[int(x > 20) for x in t],
                                      control_description=["seen", "lost"])]},
        said="hand has control of each sample, which is not used: write NaN where it is lost",
        told="taken; a line says so"),
    Case(HOLES, "units of KSLabel mua that a person called noise: `group`",
        {"columns": {"KSLabel": ["good"] * 6 + ["mua"] * 2, "group": ["good"] * 7 + ["noise"]}},
        told="taken without them",
        held=lambda found, _: found.dataset["account"]["b"]["units"] == 7),
    Case(HOLES, "spikes that pause for 10 s", {"spikes": paused}, told="taken without that time",
        held=lambda found, _: len(found.b) in range(598, 603)
        and "no unit fires" in found.dataset["account"]["b"]["seconds_dropped"]),
    Case(HOLES, "a hand that is lost for a second, written as 0", {"series": lost_at_zero},
        told="taken; that second is left out", held=account(jumps=2, stretches=2)),
    Case(NAMES, "areas with a slash or a colon, both days",
        **both({"arrays": ("M1/PMd",) * 4 + ("S1: area 2",) * 4})),
    Case(FILES, "packed by a filter without a plug-in", {"after": packed},
        refused=rf"{PATH}/hand/data is packed by HDF5 filter {BLOSC}.*; pip install hdf5plugin"),
    Case(FILES, "a folder that is no NWB in Zarr", {"after": zarr},
        refused="folder in Zarr; pip install 'orla.zarr|cannot be read as NWB: a part is missing"),
    Case(FILES, "a folder", {"after": folder}, refused="it is a folder, and HDF5 is read"),
    Case(FILES, "an extension whose definition the file lacks", {"after": extended},
        refused="it uses the extension ndx-lab, whose definition it does not hold; pip install"),
    Case(FILES, "two objects of one id", {"after": copied}),
    Case(FILES, "a pointer of Git LFS",
        replaced(lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        refused=r"it is a pointer of Git LFS \(git lfs pull\); get the file itself"),
    Case(FILES, "a web page", replaced(lambda _: b"<!DOCTYPE html><html>Sign in</html>"),
        refused="it is a web page, such as a login"),
    Case(FILES, "packed by gzip", replaced(gzip.compress), refused=r"packed by gzip \(gunzip\)"),
    Case(FILES, "cut short", replaced(lambda whole: whole[: len(whole) // 2]),
        refused="cut short, damaged or of another kind"),
]  # fmt: skip


HEAD = ["kind", "met", "answer"]


def rows() -> list[list[str]]:
    """Cells of the table."""
    return [[one.kind, one.what, "refused" if one.refused else one.told] for one in CASES]


if __name__ == "__main__":
    tables_of_docs.write("met", HEAD, rows())
