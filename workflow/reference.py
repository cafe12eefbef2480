"""Write docs/reference.md: keys of a config, parts with their options, columns of the results.

    python workflow/reference.py > docs/reference.md

All of it is taken from what the code declares, but for the tables in `WRITTEN`.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from orla import catalogue
from orla.catalogue.options import defaults_of
from orla.errors import exit_in_one_line
from orla.prereg import power
from orla.study import drift, efficiency, refits
from orla.study.config_schema import config_schema
from orla.study.declarations import SECTIONS, read_declarations
from orla.study.keys import KEYS
from orla.study.rolling import UNADAPTED
from orla.study.stable import PREFIX
from orla.study.tidy import LONG
from orla.truth import verdicts as truth

HEAD = """# Reference

Written by `make reference` from what the code declares.
"""
LOSS = {"loss": "Name of the loss that errors are counted in."}
MODEL = {name: LONG[name] for name in ("seed", "learning_rate")}
DIVERGED = {"diverged": "Whether the model diverged."}
SELECTED = {"selected": "Whether its rate is the best on validation."}
RECOVERY = {"recovery_heldout_percent": "Recovery on the held-out part (%)."}
WRITTEN = {
    "TASK[/PAIR]/sweeps/CONDITION": LOSS | LONG,
    "heldout, lr_curves": {
        **LOSS,
        **MODEL,
        **DIVERGED,
        "diverged_step": "Step at which it did, from 0; length of the adapt part where only the "
        "held-out error diverged; -1 where neither did.",
        "validation_rolling_error": "Mean error that the rate is chosen by: over weights frozen "
        "after each window of the adapt part's second half, on the three windows after it.",
        "validation_error": "Mean error on the selection part, weights frozen where it begins.",
        "adapt_error": "Mean error over the adapt part, each step before its own update.",
        "last_adapt_error": "The same over the last tenth of the adapt part.",
        "heldout_error": "Mean error on the held-out part, weights frozen at its start.",
        "heldout_stable_error": "The same, mean over weights frozen after each of the last "
        "`stable_windows` windows of the adapt part; the state runs on. At the chosen rate "
        "and its runners-up, else null, as are the other stable scores of the held-out part.",
        "frozen_heldout_error": "Mean error of the network that does not adapt, held-out part.",
        "frozen_adapt_error": "The same over the adapt part.",
        "reference_error": "Its mean error on the reference; null where the task has none.",
        "constant_error": "Mean error of the best constant outputs, held-out part.",
        **{
            column: f"Held-out {score} of a refitted decoder ({text}), the same at every rate."
            for decoder, text in refits.DECODERS.items()
            for column, score in zip(refits.score_columns(decoder), ("error", "R2"), strict=True)
        },
        **efficiency.MEASURES,
        **RECOVERY,
        "recovery_stable_percent": "The same of `heldout_stable_error` (%).",
        "recovery_adapt_percent": "Recovery over the adapt part (%).",
        "recovery_validation_percent": "Recovery on the selection part (%).",
        "unreliable": "Whether recovery's denominator is under 0.05.",
        "updates": "Number of updates.",
        **SELECTED,
        "selected_on_test": "Whether its rate is the best on the held-out part.",
        "selected_on_tail": "Whether its rate is the best by `validation_error`.",
        "selected_on_adapt": "Whether its rate is the best while adapting.",
        "edge": "Whether the best rate lies on the edge of the grid, for all rows of a condition.",
        "edge_on_adapt": "The same of the best rate while adapting.",
        "recovery_vs_rtrl_percent": "Held-out recovery where that of full RTRL is 100 (%).",
        "adapt_vs_best_rtrl_percent": "Recovery while adapting (%), where that of full RTRL with "
        "the optimizer of its lowest error while adapting is 100.",
        "heldout_vs_best_rtrl_percent": "The same on the held-out part.",
    },
    "horizon": {
        "seed": MODEL["seed"],
        "learning_rate": "Rate chosen within the horizon.",
        "horizon_steps": "Steps that the model adapted for.",
        **RECOVERY,
        "validation_rolling_error": "Mean error that it is chosen by, within the horizon.",
        "edge": "Whether that rate lies on the edge of the grid.",
    },
    "alignment": {
        **MODEL,
        "observer": "Learner whose gradient it is; that of `learner` itself stands among them.",
        "against": "Learner whose gradient it is compared with.",
        **DIVERGED,
        **SELECTED,
        "carried_bytes": "Bytes that the observer holds of one model between updates.",
    },
    "profile": {
        "seed": "Seed of the network; only those at the selected rate that did not diverge.",
        "learning_rate": MODEL["learning_rate"],
        "quantity": "The profile of a probe.",
        "index": "What is numbered, from 0.",
        "value": "The number.",
    },
    "peers": {
        "task": KEYS["task"],
        "peer": "One of River's models on the same rows.",
        "seed": "Seed of the stream and of the model.",
        "index": "Window of the adapt part, from 0.",
        "step": "Last row of the window, from 1.",
        "scored": "Whether the window counts for `prequential_accuracy`.",
        "accuracy": "Share of the window's rows right before they were learned from (%).",
        "prequential_accuracy": "The same of all rows that count (%).",
        "bytes": "Bytes of the model at the end, as River counts them.",
    },
    "speed": {
        **KEYS,
        "peer": "One of River's models; empty for a network.",
        "us": "CPU time of a row, prediction and learning (µs); differs between runs.",
        "bytes": "Bytes of a model: of a network weights, optimizer and what the learner carries.",
    },
    "traces": {
        "seed": MODEL["seed"],
        "step": "Last step of the window, from 1.",
        "error": "Mean error of the model in the window.",
        "frozen_error": "Mean error of the network that does not adapt in the window.",
    },
    "pretraining/NETWORK/PRECISION": {
        "seed": MODEL["seed"],
        "epoch": "Epoch, from 0.",
        "training_error": "Mean error over the epoch, each step before its own update.",
        "validation_error": "Mean error on the validation part after the epoch.",
        "best": "Whether the network is kept as it was after this epoch.",
    },
    "drift_report": {key: KEYS[key] for key in ("task", "pair")} | drift.COLUMNS,
    "power": power.COLUMNS,
    "truth_controls": truth.COLUMNS,
    "verdicts": {
        "registration": "Its file's name without the suffix.",
        "title": "Its title.",
        "outcome": "supported, falsified, inconclusive or untestable.",
        "words": "What is shown for it; on simulated data: shown or not shown in simulation.",
        "reason": "What decided, and what the registration says this outcome means.",
        "estimate": "The mean, in the claim's unit.",
        "low": "Lower end of its interval.",
        "high": "Upper end of its interval.",
        "threshold": "Where the mean lies if the claim is true, in words.",
        "n": "Units of replication.",
        "p": "p of the claim; null where it is untestable.",
        "p_holm": "The same, Holm-corrected in the family; that of the primary is not corrected.",
        "primary": "Whether it is the primary registration of its study.",
        "registered_on": "Date of its line in LOCK.",
        "amended": "Whether it was amended.",
        "lock_sha256": "SHA-256 of the registration as it was locked.",
        "judged_sha256": "SHA-256 of the registration as it was judged.",
        "results_seen": "What had been seen when it was locked, and when it was amended.",
        "history": "Whether LOCK was compared with git: git, not committed or not checked.",
        "limits": "What the interval ranges over.",
        "former": "Its outcome by the rules before an amendment; empty without one.",
        "network": "Network that it is about; empty for a quantity.",
        "row": "The result that it reads, and the keys of the row there.",
    },
}
UNKEYED = (
    "peers",
    "speed",
    "pretraining/NETWORK/PRECISION",
    "drift_report",
    "power",
    "truth_controls",
    "verdicts",
)


def reference() -> str:
    """The page, as Markdown."""
    parts = read_declarations()
    lines = [HEAD, "## Keys of a config", "", *_keys(config_schema(parts)), ""]
    for kind, room in catalogue.KIND_PACKAGES.items():
        if kind in ("statistic", "table", "figure"):
            continue
        lines += [f"## {room.capitalize()}", ""]
        if section := SECTIONS.get(kind):
            lines += [f"A config names instances with options of their own under `{section}`.", ""]
        for name, part in parts[kind].items():
            lines += _part(catalogue.part(kind, name), part)
    lines += ["## Columns", "", "Keys, with which every table begins unless it says otherwise:", ""]
    lines += [*_columns(KEYS), ""]
    for name, columns in WRITTEN.items():
        keyed = {} if name in UNKEYED else KEYS
        lines += [f"### {name}", "", *_keyed(keyed | columns), ""]
    declared_columns = {
        "Of the loss, in the tables of models": of_losses(),
        "Of the probes, in the tables of models": of_probes("columns"),
        "Of the probes, in the tables of alignments": of_probes("observed"),
        "Profiles of the probes": of_probes("profiles"),
    }
    for name, columns in declared_columns.items():
        lines += [f"### {name}", "", *_columns(columns), ""]
    for name, part in catalogue.parts("statistic").items():
        lines += [f"### {name}", "", (part.__doc__ or "").partition("\n")[0], ""]
        lines += [*_keyed(part.columns), ""]
    return "\n".join(lines)


def _keys(schema: Mapping[str, Any], before: str = "") -> list[str]:
    rows = [] if before else ["| key | meaning |", "|---|---|"]
    for name, one in schema["properties"].items():
        rows.append(f"| `{before}{name}` | {_cell(one.get('description', ''))} |")
        for inner, mark in _inside(one):
            rows += _keys(inner, f"{before}{name}{mark}.")
    return rows


def _inside(schema: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """What a key holds that has keys: itself, its items, or what stands under each of its names."""
    inner = {"": schema, "[]": schema.get("items"), ".NAME": schema.get("additionalProperties")}
    return [(s, m) for m, s in inner.items() if isinstance(s, Mapping) and s.get("properties")]


def _part(part: type[Any], said: Mapping[str, Any]) -> list[str]:
    lines = [f"**`{said['name']}`**: {said['doc']}"]
    if len(said["forms"]) > 1:
        lines.append(f"Short form: `{said['forms'][1]}`.")
    if "exactness" in said["more"]:
        lines.append(_learner(said["more"]))
    values = defaults_of(part).items()
    plain = {n: dataclasses.asdict(v) if dataclasses.is_dataclass(v) else v for n, v in values}
    rows = list(_options(said["schema"], plain))
    table = ["", "| option | meaning | default |", "|---|---|---|", *rows] if rows else []
    return [*lines, *table, ""]


def _learner(more: Mapping[str, Any]) -> str:
    cost = f"Time a step: {more['time']}. Memory: {more['memory']}."
    return f"Against exact RTRL: {more['exactness']}. {cost} Source: {more['source']}."


def _options(
    schema: Mapping[str, Any], defaults: Mapping[str, Any], before: str = ""
) -> Iterator[str]:
    for name, one in schema["properties"].items():
        if inside := _inside(one):
            for inner, mark in inside:
                yield from _options(inner, defaults.get(name, {}), f"{before}{name}{mark}.")
            continue
        text = _cell(one.get("description", ""))
        if "enum" in one:
            text += " One of " + ", ".join(f"`{value}`" for value in one["enum"]) + "."
        default = f"`{json.dumps(defaults[name])}`" if name in defaults else ""
        yield f"| `{before}{name}` | {text} | {default} |"


def _keyed(columns: Mapping[str, str]) -> list[str]:
    """A table's columns, of its keys only which of them it lacks."""
    lacking = [key for key in KEYS if key not in columns]
    said = "No keys." if len(lacking) == len(KEYS) else "After the keys:"
    if 0 < len(lacking) < len(KEYS):
        said = f"After the keys but {' and '.join(f'`{key}`' for key in lacking)}:"
    return [said, "", *_columns({n: text for n, text in columns.items() if n not in KEYS})]


def _columns(columns: Mapping[str, str]) -> list[str]:
    rows = [f"| `{name}` | {_cell(text)} |" for name, text in columns.items()]
    return ["| column | content |", "|---|---|", *rows]


def of_losses() -> dict[str, str]:
    """Columns that losses add to a table of models."""
    own = {c: t for part in catalogue.parts("loss").values() for c, t in part().columns().items()}
    same = "`{}`, mean over weights frozen after each of the last windows of the adapt part."
    also = {PREFIX + column: same.format(column) for column in own}
    for part, text in zip(UNADAPTED, ("on the held-out part", "without drift"), strict=True):
        also |= {f"{part}_{c}": f"`{c}` of the network that does not adapt, {text}." for c in own}
    return own | also


def of_probes(which: str) -> dict[str, str]:
    """What probes declare as `columns`, `observed` (a row a model and observer) or `profiles`."""
    parts = catalogue.parts("probe").values()
    return {name: text for part in parts for name, text in part.part.more[which].items()}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    with exit_in_one_line():
        print(reference(), end="")
