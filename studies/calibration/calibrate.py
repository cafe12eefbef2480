"""Measure the simulated sessions of some seeds: ridge decoders, and networks that do not adapt.

    python studies/calibration/calibrate.py                       the config's seed, 5 networks
    python studies/calibration/calibrate.py --set drift.lost=0.5  another magnitude
    python studies/calibration/calibrate.py --seeds 1 2 3 --networks 0 --write seeds

Of the networks (the config's rnn) it gives the error on session B's held-out part and on session
A's: their difference is what the paper's capacity table puts at 0.67. No learner runs, so that no
recovery and no comparison of learners can be seen. --write NAME writes docs/calibration/NAME.csv.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import pandas as pd
import yaml
from search import written
from simulated import ROOT, SPLIT, changed, measured, task_of, written_changes

from orla import catalogue
from orla.engine.loop import loop_of
from orla.errors import exit_in_one_line
from orla.programs import compiling
from orla.progress import bar
from orla.sessions.streams import Streams
from orla.study.pretraining import Pretraining, pretrain
from orla.study.run import ConditionRun
from orla.tasks.recordings import Recordings

NETWORK = "rnn"
# Column of seeds.csv -> magnitude.
COLUMNS = {
    "r2_a": "R2 A, all channels",
    "r2_b": "R2 B, all channels",
    "inputs_r2_a": "R2 A, 10 lags",
    "inputs_r2_b": "R2 B, 10 lags",
    "reference": "ridge reference_error",
    "frozen": "ridge frozen_error",
    "own": "ridge own_error",
    "frozen_r2": "ridge frozen_r2",
    "difference": "ridge frozen_minus_reference",
    "ceiling_percent": "ridge recovery_percent",
}


def network_errors(
    streams: Streams, task: Recordings, config: Path, networks: int
) -> dict[str, float]:
    """Means over networks of the errors on A's and B's held-out parts, and of their difference."""
    options = yaml.safe_load(config.read_text(encoding="utf-8"))
    episode = task.cut(streams, SPLIT)
    loss = catalogue.make("loss", episode.loss)
    # The study is asked for its baseline alone, so the loop never runs.
    job = {"network": options["networks"][NETWORK], "learner": "immediate", "optimizer": "sgd"}
    loop = loop_of(job, episode.n_in, episode.n_out, loss, episode.window)
    rnn = loop.learner.architecture
    given = {k: v for k, v in options["pretraining"].items() if k != "of"}
    trained, _ = pretrain(rnn, episode.pretraining, range(networks), Pretraining(**given), loss)
    study = ConditionRun({}, trained, episode, loop)
    frozen, reference = (
        study.baseline[f"{name}_error"] for name in ("frozen_heldout", "reference")
    )
    return {
        "networks": networks,
        "network_reference": reference.mean(),
        "network_frozen": frozen.mean(),
        "network_difference": (frozen - reference).mean(),
        "network_difference_sd": (frozen - reference).std(ddof=1) if networks > 1 else float("nan"),
    }


def main() -> None:
    """Print a row a seed; --write writes them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=ROOT / "config.yaml")
    parser.add_argument("--seeds", type=int, nargs="+", help="of the simulation; the config's")
    parser.add_argument("--networks", type=int, default=5, help="0: ridge decoders only")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="PART.KEY=V")
    parser.add_argument("--write", metavar="NAME", help="write docs/calibration/NAME.csv")
    arguments = parser.parse_args()
    task = task_of(arguments.config)
    given = changed(task.simulated, written_changes(arguments.changes))
    compute = yaml.safe_load(arguments.config.read_text(encoding="utf-8"))["compute"]
    compiling.configure(compile=compute["compile"], threads=1, device="cpu")
    rows = []
    for seed in bar(arguments.seeds or [given.seed], "seeds"):
        found, streams = measured(replace(given, seed=seed), task)
        row = {"seed": seed} | {column: found[name] for column, name in COLUMNS.items()}
        if arguments.networks:
            row |= network_errors(streams, task, arguments.config, arguments.networks)
            gap = row["network_difference"]
            row["network_ceiling_percent"] = 100 * (row["network_frozen"] - row["own"]) / gap
        rows.append(row)
        print(pd.DataFrame([row]).round(3).to_string(index=False), flush=True)
    if arguments.write:
        written(pd.DataFrame(rows), arguments.write)


if __name__ == "__main__":
    with exit_in_one_line():
        main()
