"""Write docs/reference.md: keys of a config, parts with their options, columns of the results.

    python workflow/reference.py > docs/reference.md

All of it is taken from what the code declares, but for the tables in `WRITTEN`.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from orla import catalogue
from orla.catalogue.options import options_of
from orla.errors import one_line
from orla.prereg import power
from orla.study.config_schema import config_schema
from orla.study.declared import declared
from orla.study.keys import KEYS
from orla.study.plan import SECTIONS
from orla.study.stable import PREFIX
from orla.study.tidy import LONG
from orla.truth import verdicts as truth

HEAD = """# Reference

Written by `make reference` from what the code declares.
"""
WRITTEN = {
    "TASK[/PAIR]/sweeps/CONDITION": {"loss": "Name of the loss that errors are counted in."} | LONG,
    "heldout, lr_curves": {
        "loss": "Name of the loss that errors are counted in.",
        "seed": "Seed of the network: 0, 1, 2, ...",
        "learning_rate": "Learning rate.",
        "diverged": "Whether the model diverged.",
        "diverged_step": "Step at which it did, from 0; length of the adapt part where only the "
        "held-out error diverged; -1 where neither did.",
        "validation_error": "Mean error on the selection part, weights frozen where it begins.",
        "validation_stable_error": "The same, mean over weights frozen after each of the last "
        "`stable_windows` windows before it.",
        "adapt_error": "Mean error over the adapt part, each step before its own update.",
        "heldout_error": "Mean error on the held-out part, weights frozen at its start.",
        "heldout_stable_error": "The same, mean over weights frozen after each of the last "
        "`stable_windows` windows of the adapt part; the state runs on. Null at rates that no "
        "resample of seeds chooses, with the other stable scores of the held-out part.",
        "frozen_heldout_error": "Mean error of the network that does not adapt, held-out part.",
        "frozen_adapt_error": "The same over the adapt part.",
        "reference_error": "Its mean error on the reference; null where the task has none.",
        "constant_error": "Mean error of the best constant outputs, held-out part.",
        "recovery_heldout_percent": "Recovery on the held-out part (%).",
        "recovery_stable_percent": "The same of `heldout_stable_error` (%).",
        "recovery_adapt_percent": "Recovery over the adapt part (%).",
        "recovery_validation_percent": "Recovery on the selection part (%).",
        "unreliable": "Whether recovery's denominator is under 0.05.",
        "updates": "Number of updates.",
        "selected": "Whether its rate is the best on validation.",
        "selected_on_test": "Whether its rate is the best on the held-out part.",
        "selected_stable": "Whether its rate is the best by `validation_stable_error`.",
        "edge": "Whether the best rate lies on the edge of the grid, for all rows of a condition.",
        "edge_stable": "The same of the best rate by `validation_stable_error`.",
        "recovery_vs_rtrl_percent": "Held-out recovery where that of full RTRL is 100 (%).",
        "adapt_vs_best_rtrl_percent": "Recovery while adapting (%), where that of full RTRL with "
        "the optimizer of its lowest validation error is 100.",
        "heldout_vs_best_rtrl_percent": "The same on the held-out part.",
    },
    "horizon": {
        "seed": "Seed of the network.",
        "learning_rate": "Rate chosen on the last share of the horizon.",
        "horizon_steps": "Steps that the model adapted for.",
        "recovery_heldout_percent": "Recovery on the held-out part (%).",
        "validation_error": "Mean error on that share, weights frozen where it begins.",
        "edge": "Whether that rate lies on the edge of the grid.",
    },
    "alignment": {
        "seed": "Seed of the network.",
        "learning_rate": "Learning rate.",
        "observer": "Learner whose gradient it is; that of `learner` itself stands among them.",
        "against": "Learner whose gradient it is compared with.",
        "diverged": "Whether the model diverged.",
        "selected": "Whether its rate is the best on validation.",
        "carried_bytes": "Bytes that the observer holds of one model between updates.",
    },
    "profile": {
        "seed": "Seed of the network; only those at the selected rate that did not diverge.",
        "learning_rate": "Learning rate.",
        "quantity": "The profile of a probe.",
        "index": "What is numbered, from 0.",
        "value": "The number.",
    },
    "traces": {
        "seed": "Seed of the network.",
        "step": "Last step of the window, from 1.",
        "error": "Mean error of the model in the window.",
        "frozen_error": "Mean error of the network that does not adapt in the window.",
    },
    "pretraining/NETWORK/PRECISION": {
        "seed": "Seed of the network.",
        "epoch": "Epoch, from 0.",
        "training_error": "Mean error over the epoch, each step before its own update.",
        "validation_error": "Mean error on the validation part after the epoch.",
        "best": "Whether the network is kept as it was after this epoch.",
    },
    "power": power.COLUMNS,
    "truth_controls": truth.COLUMNS,
    "verdicts": {
        "registration": "Its file's name without the suffix.",
        "title": "Its title.",
        "outcome": "supported, falsified, inconclusive or untestable.",
        "words": "What is shown for it; on simulated data: shown or not shown in simulation.",
        "reason": "What decided, and what the registration says this outcome means.",
        "estimate": "Of the criterion that decided, in the criterion's unit.",
        "low": "Lower end of its interval.",
        "high": "Upper end of its interval.",
        "threshold": "The criterion's region, in words.",
        "n": "Units of replication.",
        "p": "p of the claim; null in version 1.",
        "p_holm": "The same, Holm-corrected in the family; that of the primary is not corrected.",
        "primary": "Whether it is the primary registration of its study.",
        "registered_on": "Date of its line in LOCK.",
        "amended": "Whether it was amended.",
        "lock_sha256": "SHA-256 of the registration as it was locked.",
        "judged_sha256": "SHA-256 of the registration as it was judged.",
        "results_seen": "What had been seen when it was locked, and when it was amended.",
        "history": "Whether LOCK was compared with git: git, not committed or not checked.",
        "limits": "What the interval ranges over.",
    },
}
UNKEYED = ("pretraining/NETWORK/PRECISION", "power", "truth_controls", "verdicts")


def reference() -> str:
    """The page, as Markdown."""
    parts = declared()
    lines = [HEAD, "## Keys of a config", "", *_keys(config_schema(parts)), ""]
    for kind, room in catalogue.ROOMS.items():
        if kind in ("statistic", "table", "figure"):
            continue
        lines += [f"## {room.capitalize()}", "", *_section(kind)]
        for name, part in parts[kind].items():
            lines += _part(catalogue.part(kind, name), part)
    lines += ["## Columns", "", "Keys, with which every table begins unless it says otherwise:", ""]
    lines += [*_columns(KEYS), ""]
    for name, columns in WRITTEN.items():
        keyed = {} if name in UNKEYED else KEYS
        lines += [f"### {name}", "", *_keyed(keyed | columns), ""]
    lines += ["### Of the loss, in the tables of models", "", *_columns(of_losses()), ""]
    lines += ["### Of the probes, in the tables of models", "", *_columns(of_probes()), ""]
    lines += ["### Of the probes, in the tables of alignments", "", *_columns(of_observers()), ""]
    lines += ["### Profiles of the probes", "", *_columns(of_profiles()), ""]
    for name, part in catalogue.parts("statistic").items():
        lines += [f"### {name}", "", _first_line(part), "", *_keyed(part.columns), ""]
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
    held = [(schema, ""), (schema.get("items"), "[]")]
    held += [(schema.get("additionalProperties"), ".NAME")]
    return [
        (s, mark) for s, mark in held if isinstance(s, Mapping) and len(s.get("properties", ()))
    ]


def _section(kind: str) -> list[str]:
    if kind not in SECTIONS:
        return []
    return [f"A config names instances with options of their own under `{SECTIONS[kind]}`.", ""]


def _part(part: type[Any], said: Mapping[str, Any]) -> list[str]:
    lines = [f"**`{said['name']}`**: {said['doc']}"]
    if len(said["forms"]) > 1:
        lines.append(f"Short form: `{said['forms'][1]}`.")
    if "exactness" in said["more"]:
        lines.append(_learner(said["more"]))
    rows = list(_options(said["schema"], _defaults(part)))
    table = ["", "| option | meaning | default |", "|---|---|---|", *rows] if rows else []
    return [*lines, *table, ""]


def _learner(more: Mapping[str, Any]) -> str:
    """What a learner declares of its gradient and cost."""
    cost = f"Time a step: {more['time']}. Memory: {more['memory']}."
    return f"Against exact RTRL: {more['exactness']}. {cost} Source: {more['source']}."


def _defaults(part: type[Any]) -> dict[str, Any]:
    found = {}
    for f in options_of(part):
        made = f.default_factory is not dataclasses.MISSING
        default = f.default_factory() if made else f.default
        if default is not dataclasses.MISSING:
            whole = dataclasses.is_dataclass(default)
            found[f.name] = dataclasses.asdict(default) if whole else default
    return found


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
    return own | {PREFIX + column: same.format(column) for column in own}


def of_probes() -> dict[str, str]:
    """Columns that probes add to a table of models."""
    return _of_probes("columns")


def of_observers() -> dict[str, str]:
    """Columns that probes add to a table with a row a model and observer."""
    return _of_probes("observed")


def of_profiles() -> dict[str, str]:
    """What probes number along a run, `quantity` in the table of profiles."""
    return _of_probes("profiles")


def _of_probes(which: str) -> dict[str, str]:
    found = (part.part.more[which] for part in catalogue.parts("probe").values())
    return {column: text for columns in found for column, text in columns.items()}


def _first_line(part: type[Any]) -> str:
    return (part.__doc__ or "").strip().partition("\n")[0]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    with one_line():
        print(reference(), end="")
