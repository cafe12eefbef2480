"""Put the tables of docs/calibration/ into docs/calibration.md, between their marks.

python studies/calibration/page.py
"""

import re
from pathlib import Path

import pandas as pd

from orla.files import atomic

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "calibration.md"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _cell(value: float) -> str:
    if pd.isna(value):
        return ""
    if float(value).is_integer() and abs(value) >= 1:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _range(low: float, high: float) -> str:
    return f"{_cell(low)} to {_cell(high)}"


def _reached(value: float, off: float) -> str:
    """A value, and in brackets how far it is below or above its range."""
    if off == 0:
        return _cell(value)
    return f"{_cell(value)} ({_cell(abs(off))} {'below' if off < 0 else 'above'})"


def _targets(t: pd.DataFrame) -> pd.DataFrame:
    places = list(dict.fromkeys(t["place"]))
    return pd.DataFrame(
        {
            "target": t["name"].str.replace("1 lags", "1 lag").str.replace("_", " "),
            "published": map(_range, t["low"], t["high"]),
            "the study's settings": map(_reached, t["present"], t["present_off"]),
            "the same, other draws": map(_reached, t["again"], t["again_off"]),
            "best of the search": map(_reached, t["found"], t["found_off"]),
            "place": [places.index(place) + 1 for place in t["place"]],
        }
    )


def _places(t: pd.DataFrame) -> str:
    places = dict.fromkeys(t["place"])
    return "\n".join(f"{i}. {place}" for i, place in enumerate(places, 1)) + "\n"


def _ceiling(t: pd.DataFrame) -> pd.DataFrame:
    (row,) = t.to_dict("records")
    n = _cell(row["networks"])
    return pd.DataFrame(
        [
            ["reference: session A's held-out part", "reference", "network_reference"],
            ["frozen: session B's held-out part", "frozen", "network_frozen"],
            ["frozen minus reference", "difference", "network_difference"],
            ["decoder fitted on all of B's adapt part at once", "own", ""],
            ["recovery that this decoder has (%)", "ceiling_percent", "network_ceiling_percent"],
        ],
        columns=["mean squared error (z-scores)", "ridge", f"{n} networks"],
    ).map(lambda key: _cell(row[key]) if key in row else key)


def _plain(t: pd.DataFrame) -> pd.DataFrame:
    return t.map(lambda v: v if isinstance(v, str) else _cell(v)).rename(
        columns=lambda name: name.replace("_", " ")
    )


def _markdown(table: pd.DataFrame) -> str:
    rows = [list(table), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def block(name: str) -> str:
    """The text of a block: a table of docs/calibration/, or the places of the targets."""
    source = {"places": "targets", "ceiling": "networks"}.get(name, name)
    table = pd.read_csv(DOCS / "calibration" / f"{source}.csv")
    if name == "places":
        return _places(table)
    made = {"targets": _targets, "ceiling": _ceiling}.get(name, _plain)(table)
    return _markdown(made)


def page(text: str) -> str:
    """The page with its blocks written anew."""
    return _BLOCK.sub(lambda found: found[1] + block(found[2]) + found[3], text)


if __name__ == "__main__":
    with atomic(PAGE) as partial:
        partial.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
