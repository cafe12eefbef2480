"""What tables say, kept in tests/golden: cells as they are shown, numbers to 1e-9.

`pytest --golden` writes the files anew; the difference is then read by whoever commits it.
"""

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).with_name("golden")


def cells(document):
    """A row a line of a table of the reports: its panel and its cells, by the columns' heads."""
    heads = [f"{i} {c.group} {c.header}" for i, c in enumerate(document.columns)]
    rows = [(panel.title, *row) for panel in document.panels for row in panel.rows]
    return pd.DataFrame(rows, columns=["panel", *heads], dtype="str")


def hold(name, frame, write=False):
    """Assert that a frame is the kept one, or keep it."""
    path = FOLDER / f"{name}.csv"
    if write:
        frame.to_csv(path, index=False, float_format="%.12g", lineterminator="\n")
    kept = pd.read_csv(path, dtype=str)
    found = frame.reset_index(drop=True)
    assert list(kept) == list(found), "other columns; see --golden"
    for column in found:
        ours, theirs = found[column], kept[column]
        if pd.api.types.is_numeric_dtype(ours) and not pd.api.types.is_bool_dtype(ours):
            ours, theirs = ours.astype(float), theirs.astype(float)
        else:
            # An empty cell and one that is absent look alike in a file.
            ours, theirs = (v.map(lambda x: "" if pd.isna(x) else str(x)) for v in (ours, theirs))
        pd.testing.assert_series_equal(
            ours, theirs, rtol=1e-9, atol=1e-12, check_dtype=False, obj=f"{name}, {column}"
        )
