"""Measure on a public recording what targets.yaml takes from one.

    python studies/calibration/recording.py ../shared/data/m1/m1_stevenson_2011.npz

The recording is binned: counts (bins, units), vel (bins, 2), bin_s. It was made by another lab, of
another animal that reached from a centre, rested, and went back: its numbers say what such numbers
are like, and their ranges are wide. The range of a decoder's R2 is over both directions (fitted on
the first four fifths, tested on the last; and the second half, tested on the first) and both axes;
that of the velocity over both halves and axes; that of a count is the quartiles over units.
Writes recording.csv beside this file.
"""

import argparse
from pathlib import Path

import magnitudes
import numpy as np
import pandas as pd

from orla.errors import exit_in_one_line
from orla.files import atomic
from orla.sessions.binned import Binned, Source, read_binned
from orla.sessions.channels import top_channels

HERE = Path(__file__).parent
TABLE = HERE / "recording.csv"
PLACE = (
    "measured by recording.py on a recording of M1, centre-out reaching (Stevenson et al. 2011, "
    "J Neurophysiol 106:764; file of KordingLab/spykesML)"
)
CHANNELS = 40


def ranges(recording: Binned) -> pd.DataFrame:
    """A row a magnitude: name, low, high, n (values that the range is over)."""
    counts, velocity, bin_s = recording.inputs, recording.targets, recording.bin_s
    found: dict[str, np.ndarray] = {}
    trained = int(magnitudes.TRAINED * len(counts))
    inputs = np.sqrt(counts[:, top_channels(counts[:trained], CHANNELS)])
    both = [magnitudes.r2_by_lags(inputs, velocity, last=last) for last in (True, False)]
    for lags in magnitudes.LAGS:
        if lags < magnitudes.RATIO_TO:
            found[f"R2, {lags} lags over {magnitudes.RATIO_TO}"] = np.concatenate(
                [r2[lags] / r2[magnitudes.RATIO_TO] for r2 in both]
            )
    half = len(counts) // 2
    halves = [
        magnitudes.of_session(counts[rows], velocity[rows], bin_s)
        for rows in (slice(0, half), slice(half, None))
    ]
    whole = magnitudes.of_session(counts, velocity, bin_s)
    for name, values in whole.items():
        of_velocity = len(values) == velocity.shape[1]
        found[name] = (
            np.concatenate([each[name] for each in halves])
            if of_velocity
            else np.quantile(values, (0.25, 0.75))
        )
    return pd.DataFrame(
        {"name": name, "low": values.min(), "high": values.max(), "place": PLACE}
        for name, values in found.items()
    )


def main() -> None:
    """Print the ranges and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path, help="a binned recording (.npz)")
    table = ranges(read_binned(parser.parse_args().recording, Source())).round(3)
    print(table.drop(columns="place").to_string(index=False))
    with atomic(TABLE) as partial:
        table.to_csv(partial, index=False)


if __name__ == "__main__":
    with exit_in_one_line():
        main()
