"""Choose the parameters of the synthetic tasks, on a small grid.

    python studies/choosing/choose.py            what comes nearest to the paper's errors
    python studies/choosing/choose.py --write    and write it into config and docs

Some ten minutes on one core. tasks.yaml says what is tried. Of each candidate two errors over the
adapt part are compared with the paper's: that of networks that do not adapt, and that of the
immediate learner with Adam while it learns. No other learner runs. The networks are the study's,
pretrained as config/synthetic.yaml says, with seeds from 1000 on, which no study has. What was
chosen is then measured on other such seeds, as the study scores it.

--write writes the tasks of config/synthetic.yaml and the tables of docs/tasks/, and puts these into
docs/tasks.md.
"""

import argparse
import re
import time
from collections.abc import Mapping
from typing import Any

import pandas as pd
import published
import tables
import yaml
from measure import OVERLAY, Bench, bench, by_length, scored

from orla.errors import OrlaError, exit_in_one_line
from orla.files import atomic
from orla.programs import compiling
from orla.progress import bar

SEEDS = range(1000, 1003)
AGAIN = range(1100, 1105)
_BLOCK = re.compile(r"(?<=  # chosen by studies/choosing/choose.py\n).*?(?=  # end\n)", re.DOTALL)


def tried(entry: Mapping[str, Any], wanted: pd.DataFrame, on: Bench) -> pd.DataFrame:
    """A row a candidate, length of the adapt part and instance, in the order of tasks.yaml.

    Columns: candidate (a number), the options, frozen, immediate, learning_rate; and distance, that
    of the candidate with this length, over all instances.
    """
    lengths = entry["tried"]["adapt"]
    found = []
    for number, options in enumerate(bar(published.candidates(entry), "candidates")):
        for instance, own in entry["instances"].items():
            study = on.study({**options, **own, "adapt": max(lengths)})
            table = by_length(study, on.rates, lengths)
            found.append(table.assign(candidate=number, instance=instance, **{**options, **own}))
    table = pd.concat(found, ignore_index=True)
    key = ["candidate", "adapt"]
    far = {at: published.distance(rows, wanted) for at, rows in table.groupby(key)}
    return table.assign(distance=[far[at] for at in table[key].itertuples(index=False, name=None)])


def nearest(table: pd.DataFrame, entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Options of each instance at the smallest distance; of several such, the first tried."""
    best = table.loc[table["distance"].idxmin()]
    options = published.candidates(entry)[int(best["candidate"])] | {"adapt": int(best["adapt"])}
    return {instance: {**options, **own} for instance, own in entry["instances"].items()}


def overlay(text: str, chosen: Mapping[str, Mapping[str, Any]]) -> str:
    """The overlay with the chosen tasks between its marks."""
    if not _BLOCK.search(text):
        raise OrlaError(f"{OVERLAY}: the marks of the chosen tasks are missing; put them back")
    lines = yaml.safe_dump(dict(chosen), sort_keys=False, default_flow_style=None, width=200)
    block = "".join(f"  {line}\n" for line in lines.splitlines())
    return _BLOCK.sub(lambda _: block, text)


def compared(
    measured: pd.DataFrame, chosen: Mapping[str, Mapping[str, Any]], on: Bench
) -> pd.DataFrame:
    """A row a task: what the search measured of what was chosen, and what `on` scores of it."""
    found = []
    for instance, options in bar(chosen.items(), "scoring"):
        row = {"instance": instance}
        own = measured[measured["instance"] == instance]
        if len(own):
            best = own.loc[own["distance"].idxmin()]
            row |= {n: best[n] for n in (*published.ERRORS, "learning_rate", "distance")}
        found.append(row | scored(on.study(options), on))
    return pd.DataFrame(found)


def searched() -> tuple[pd.DataFrame, dict[str, dict[str, Any]]]:
    """All that was tried, from `tried`, and the options chosen or given, by task."""
    entries, on = published.load(), bench(SEEDS)
    wanted, found, chosen = published.errors(entries), [], {}
    for entry in entries:
        if "tried" in entry:
            found.append(tried(entry, wanted, on))
            chosen |= nearest(found[-1], entry)
        else:
            chosen |= {name: {**entry["given"], **own} for name, own in entry["instances"].items()}
    return pd.concat(found, ignore_index=True), chosen


def main() -> None:
    """Print what is chosen; --write writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write config and docs")
    arguments = parser.parse_args()
    compiling.configure(compile=True, threads=1, device="cpu")
    start = time.perf_counter()
    measured, chosen = searched()
    result = compared(measured, chosen, bench(AGAIN))
    print(result.to_string(index=False))
    print(yaml.safe_dump(chosen, sort_keys=False, default_flow_style=None))
    print(f"{len(measured)} rows tried, {time.perf_counter() - start:.0f} s")
    if arguments.write:
        with atomic(OVERLAY) as partial:
            text = overlay(OVERLAY.read_text(encoding="utf-8"), chosen)
            partial.write_text(text, encoding="utf-8")
        for name, table in (("candidates", measured), ("chosen", result)):
            tables.written(table, name)
        tables.written(published.errors(published.load()), "paper")
        tables.renew()


if __name__ == "__main__":
    with exit_in_one_line():
        main()
