"""Measure the three published magnitudes that the simulated sessions are calibrated to.

    python workflow/calibration/calibrate.py                       what the study's config gives
    python workflow/calibration/calibrate.py --set drift.lost=0.5  what another magnitude would give

1. Error of the frozen networks on session B's held-out part less that of the same networks on
   session A's (rnn, 64 units): 0.67, the denominator of the paper's capacity table.
2. Within-session R2 of a plain decoder, trained on the first 80 % of a session and tested on the
   rest: 0.5 to 0.65 (NeuroBench's baselines on these two sessions).
3. Held-out recovery of the immediate learner with adam at 80/20: about 42 %.

No other learner is run, so that no comparison between learners can steer a magnitude. The sessions
pass through the files and the readers that the study uses. docs/calibration.md says how the
magnitudes were found and what was reached; --table writes the figures that stand there.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml

from orla.architectures import architecture
from orla.errors import one_line
from orla.files import atomic
from orla.options import settings
from orla.programs import compiling
from orla.sessions import mat_read, nwb, simulator
from orla.sessions.binning import bin_edges, bin_velocities, channel_counts
from orla.sessions.from_spikes import prepare
from orla.sessions.parts import Sizes, parts
from orla.sessions.preparation import Preparation
from orla.sessions.session import Session
from orla.sessions.streams import Streams
from orla.study.pretraining import Pretraining, pretrain
from orla.study.sweep import Study, sweep

ROOT = Path(__file__).parents[2]
SPLIT = "80-20"
TRAINED_SHARE = 0.8
LAGS = 5
PENALTY_PER_STEP = 1e-3


def ridge_r2(session: Session, bin_s: float) -> float:
    """Mean over x and y of the R2 of a ridge decoder within one session.

    Inputs: square roots of all channels' counts in a bin and the four before it, z-scored on the
    first 80 % of the session, on which the decoder is fitted too; the rest is the test.
    """
    edges = bin_edges(session.time_s, bin_s)
    roots = np.sqrt(channel_counts(session, edges))
    Y = bin_velocities(session.time_s, session.behavior["cursor_pos"], edges)
    trained = int(TRAINED_SHARE * len(Y))
    z = (roots - roots[:trained].mean(0)) / roots[:trained].std(0)
    lagged = [
        np.concatenate([np.zeros((lag, z.shape[1])), z[: len(z) - lag]]) for lag in range(LAGS)
    ]
    X = np.column_stack([*lagged, np.ones(len(z))])
    fit, test = slice(0, trained), slice(trained, None)
    gram = X[fit].T @ X[fit] + PENALTY_PER_STEP * trained * np.eye(X.shape[1])
    residual = Y[test] - X[test] @ np.linalg.solve(gram, X[fit].T @ Y[fit])
    total = Y[test] - Y[test].mean(0)
    return float(np.mean(1 - (residual**2).sum(0) / (total**2).sum(0)))


def sessions(settings: simulator.Settings) -> tuple[Session, Session]:
    """Both simulated sessions, written and read as the study does."""
    with tempfile.TemporaryDirectory() as folder:
        mats = [Path(folder) / f"{name}.mat" for name in (simulator.SESSION_A, simulator.SESSION_B)]
        simulator.write(*mats, settings)
        for mat in mats:
            nwb.write_session(mat_read.read_session(mat), mat.with_suffix(".nwb"))
        a, b = (nwb.read_session(mat.with_suffix(".nwb")) for mat in mats)
    return a, b


def streams_of(a: Session, b: Session, config: dict[str, Any]) -> Streams:
    """The study's features of two sessions."""
    return prepare(
        a,
        b,
        settings(Preparation, config["preparation"], "config: preparation"),
        tail_steps=config["parts"]["tail_steps"],
        dataset={"simulated": True},
    )


def network_figures(streams: Streams, config: dict[str, Any], networks: int) -> dict[str, float]:
    """Frozen and reference errors, and recovery by the immediate learner with adam."""
    cuts = parts(len(streams.a), len(streams.b), Sizes(**config["parts"]))
    rnn = architecture(
        "rnn",
        n_in=streams.a.X.shape[1],
        n_out=streams.a.Y.shape[1],
        **config["architectures"]["rnn"],
    )
    trained, _ = pretrain(
        rnn,
        streams.a.part(cuts.a_pretraining),
        range(networks),
        Pretraining(**config["pretraining"]),
        torch.float64,
    )
    study = Study(rnn, trained, streams, cuts, SPLIT, "immediate", "adam", config["parts"]["cut"])
    models = sweep(study, config["grids"]["adam"]["step"], config["grid_growth"]).models
    chosen = models[models["selected"]]
    gap = chosen["frozen_heldout_mse"] - chosen["reference_mse"]
    return {
        "reference_mse": chosen["reference_mse"].mean(),
        "frozen_mse": chosen["frozen_heldout_mse"].mean(),
        "frozen_minus_reference_mse": gap.mean(),
        "learning_rate": chosen["learning_rate"].iloc[0],
        "recovery_percent": chosen["recovery_heldout_percent"].mean(),
        "recovery_sd": chosen["recovery_heldout_percent"].std(),
    }


def measure(given: simulator.Settings, config: dict[str, Any], networks: int) -> dict[str, float]:
    """One row of the table: all magnitudes of the sessions of one seed."""
    start = time.perf_counter()
    a, b = sessions(given)
    bin_s = config["preparation"]["bin_s"]
    row = {"seed": given.seed, "r2_a": ridge_r2(a, bin_s), "r2_b": ridge_r2(b, bin_s)}
    row |= {"made_in_s": time.perf_counter() - start}
    if networks:
        row |= network_figures(streams_of(a, b, config), config, networks)
    return row


def settings_of(values: dict[str, Any], changes: list[str], seed: int) -> simulator.Settings:
    """The config's magnitudes with changes such as ``drift.lost=0.5``."""
    values = {part: dict(values.get(part, {})) for part in ("task", "array", "drift")}
    for change in changes:
        key, value = change.split("=")
        part, name = key.split(".")
        values[part][name] = yaml.safe_load(value)
    return settings(simulator.Settings, values | {"seed": seed}, "config: dataset.simulated")


def main() -> None:
    """Print a row a seed; --table writes them too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=ROOT / "config.yaml")
    parser.add_argument("--seeds", type=int, nargs="+", help="of the simulation; the config's")
    parser.add_argument(
        "--networks", type=int, default=5, help="0: sessions and plain decoder only"
    )
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="PART.KEY=V")
    parser.add_argument("--table", type=Path, help="a .csv to write")
    arguments = parser.parse_args()
    config = yaml.safe_load(arguments.config.read_text())
    values = config["dataset"]["simulated"]
    compiling.configure(compile=config["compute"]["compile"], threads=1, device="cpu")
    rows = []
    for seed in arguments.seeds or [values["seed"]]:
        given = settings_of(values, arguments.changes, seed)
        rows.append(measure(given, config, arguments.networks))
        print(pd.DataFrame(rows[-1:]).round(4).to_string(index=False), file=sys.stdout, flush=True)
    if arguments.table:
        with atomic(arguments.table) as partial:
            pd.DataFrame(rows).drop(columns="made_in_s").round(4).to_csv(partial, index=False)


if __name__ == "__main__":
    with one_line():
        main()
