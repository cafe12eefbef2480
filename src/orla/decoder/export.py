"""The decoder of a study that has run: one network of one condition, adapted or frozen."""

from pathlib import Path

import numpy as np

from orla import catalogue
from orla.architectures.base import Parameters
from orla.decoder import Decoder
from orla.errors import OrlaError
from orla.programs import machine
from orla.provenance import collect, networks
from orla.provenance.tables import read_table
from orla.schema import nearest_hint
from orla.sessions.input_transform import InputTransform
from orla.sessions.streams import Streams
from orla.study import tidy
from orla.study.adaptation import Episodes
from orla.study.condition import Condition
from orla.study.plan import STATIONARY, Plan
from orla.study.run import ConditionRun, make_run

# Largest relative difference of a held-out error from the study's: eager and compiled arithmetic
# round differently, and learning carries that on.
_APART = 1e-3


def write_decoder(
    plan: Plan, path: str, file: str | Path, seed: int = 0, *, is_frozen: bool = False
) -> Decoder:
    """Write the decoder of a condition: the network of a seed, adapted at the selected rate.

    A study keeps no adapted weights. They are made again, and held to the held-out error of the
    study's own table. The working folder is the study's; `path` is the condition's as in results:
    TASK[/PAIR]/sweeps/NETWORK/LEARNER/OPTIMIZER/SPLIT. With `is_frozen` the network is not adapted.
    OrlaError: no such condition or seed, it is not of recordings or has not run, the network
    diverged, or adapting again gives another error than the study's.
    """
    catalogue.use_plugins(plan.config.get("plugins", ()))
    condition = _find_condition(plan, path)
    streams_file = Path(plan.config["pathvars"]["results"]) / condition.domain / "streams.npz"
    streams = Streams.read(streams_file, plan.task_settings(condition.domain))
    if streams.readings is None:
        raise OrlaError(f"{streams_file}: says not how bins are read; delete it and run again")
    run = _make_run(plan, condition, streams_file)
    if not 0 <= seed < run.seeds:
        raise OrlaError(f"decoder: {path} has the seeds 0 to {run.seeds - 1}, not {seed}")
    params = (
        run.starting_parameters(np.array([seed]))
        if is_frozen
        else _adapt_again(plan, condition, run, seed)
    )
    side = "a" if condition.split == STATIONARY else "b"
    record, stream = streams.readings[side], getattr(streams, side)
    target = streams.readings.get("target", {"mean": [0.0], "sd": [1.0]})
    decoder = Decoder(
        {
            "network": dict(plan.job(condition)["network"]),
            "n_out": streams.n_out,
            "transform": record["transform"],
            "channels": record["channels"],
            "categories": streams.dataset["features"].get("categories"),
            "resets": stream.starts is not None,
            "bin_s": streams.bin_s,
        },
        {name: p[0].cpu() for name, p in params.items()},
        InputTransform.from_record(record),
        *(np.asarray(target[name]) for name in ("mean", "sd")),
    )
    source = collect.collect(
        "orla.decoder.export",
        keys=condition.keys,
        dataset=streams.dataset,
        seeds=[seed],
        config={"job": plan.job(condition), "frozen": is_frozen},
    )
    decoder.save(file, source)
    return decoder


def _find_condition(plan: Plan, path: str) -> Condition:
    """The condition of a path; OrlaError where the study has none, or not of recordings."""
    by_path = {c.path: c for c in plan.conditions}
    if path not in by_path:
        raise OrlaError(
            f"decoder: {path} is no condition of the study; {nearest_hint(path, by_path)}"
        )
    if not plan.declaration("task", by_path[path].task)["needs_files"]:
        raise OrlaError(
            f"decoder: {by_path[path].task} is no recording, and has no channels to read"
        )
    return by_path[path]


def _make_run(plan: Plan, condition: Condition, streams_file: Path) -> ConditionRun:
    """The run of a condition on streams in a file, with the study's own networks."""
    compute = plan.compute_settings(condition.precision)
    device = machine.configure(compute, compute["threads"])
    settings = plan.task_settings(condition.domain)
    episode = Episodes(settings, condition.seeds, str(streams_file))[condition.split]
    parameters = None
    if plan.takes_pretrained(condition):
        file = Path(plan.config["pathvars"]["results"]) / f"{condition.networks_path}.safetensors"
        names = {name: condition.keys[name] for name in ("architecture", "precision")}
        parameters = networks.load(file, condition.seeds, expect=names)
    more = {"max_models": compute["batch_models"], "device": device}
    return make_run(plan.job(condition), episode, parameters, **more)


def _adapt_again(plan: Plan, condition: Condition, run: ConditionRun, seed: int) -> Parameters:
    """Networks of a seed, adapted at the selected rate and held to the study's error."""
    path = Path(plan.config["pathvars"]["results"]) / f"{condition.path}.parquet"
    models = tidy.wide_tables([read_table(path, expect=condition.keys)])["models"]
    model = models[models["selected"].astype(bool) & (models["seed"] == seed)].iloc[0]
    if model["diverged"]:
        raise OrlaError(f"{path}: the network of seed {seed} diverged; name another with --seed")
    # As many copies as the study computes together, so that the same program serves.
    index = np.full(run.batch_models, seed)
    rates = run.tensor(np.full(len(index), model["learning_rate"]))
    start = run.loop.start(run.starting_parameters(index), seeds=index.tolist())
    state = run.loop.run(start, rates, run.stream_tensors(run.episode.adapt, index)).state
    error, _ = run.frozen_scores(
        state.params, state.network, run.whole_tensors(index), run.heldout, since=run.adapt_steps
    )
    if not np.isclose(error[0], model["heldout_error"], rtol=_APART, atol=0):
        raise OrlaError(
            f"{path}: adapting again gives a held-out error of {error[0]:.6g}, not "
            f"{model['heldout_error']:.6g}; the results are of another code or machine: run again"
        )
    return state.params
