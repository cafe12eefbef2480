"""Names of parts and values in reports, and their order; templates of text.

Labels and orders come from what each part declares.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from orla import catalogue
from orla.catalogue import Mark
from orla.errors import OrlaError
from orla.study.declarations import Declarations, read_declarations, specification

# A verdict is shown by word and sign, never by colour alone.
NOT_RUN = "not run"
OUTCOME_SIGNS = {"supported": "✓", "falsified": "✗", "inconclusive": "~", "untestable": "?"}
# What a verdict on simulated sessions is called; the other outcomes keep their names.
SIMULATED_OUTCOMES = {"supported": "shown in simulation", "falsified": "not shown in simulation"}
_BY_STEPS = ", by the last steps of input that it reads"
# Measure of the drift report -> what the terminal calls it; others have their own name.
DRIFT_MEASURES = {
    "scored": "share of steps with a target",
    "inputs": "inputs used",
    "spread": "SD of the target, in that of A",
    "kept": "used of the recording",
    "updates": "updates of each learner on B's part to adapt to",
    "inputs_moved": "shift of the inputs' means from A to B, median, in SD",
    "inputs_moved_within": "the same from A's first part to its last",
    "tuning": "correlation of the inputs' tuning in A with that in B",
    "tuning_within": "the same within A",
    "within_a": f"ridge decoder of A on A's last part{_BY_STEPS}",
    "within_b": f"ridge decoder of B on B's held-out part{_BY_STEPS}",
    "a_to_b": f"ridge decoder of A on B's held-out part{_BY_STEPS}",
    "loss": "lost, within B less A to B",
    "constant": "mean of A on B's held-out part",
    "chance": "decoders of targets shifted in time",
    "ceiling": "recovery in % of the decoder refitted on B",
    "made": "lost between halves of A by components of their own",
}


@functools.cache
def _declarations(plugins: tuple[Path, ...]) -> Declarations:
    """The declarations of all parts, those of plug-ins too, read once."""
    return read_declarations(plugins)


@dataclass(frozen=True, kw_only=True)
class PartNames:
    """Parts of a config as a reader knows them: kind -> name -> specification; and its tasks."""

    instances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def _look_up(self, kind: str, slug: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """The declaration of the part that a name stands for, and its options; {} for no part.

        Declarations are read from the file that `study.declarations` keeps, because importing every
        part takes seconds.
        """
        if kind not in catalogue.KIND_PACKAGES:
            return {}, {}
        parts = _declarations(tuple(catalogue.plugin_folders()))
        specifications = self.tasks if kind == "task" else self.instances.get(kind, {})
        try:
            options = specification(parts, kind, slug, specifications)
        except OrlaError:
            return {}, {}
        return parts[kind][options.pop("kind")], options

    def changed_options(self, kind: str, slug: str) -> dict[str, Any]:
        """The options in which a named part differs from its part's defaults."""
        part, options = self._look_up(kind, slug)
        return {k: value for k, value in options.items() if value != part["defaults"].get(k)}

    def options(self, kind: str, slug: str) -> dict[str, Any]:
        """The options of a named part, those with their default values too; {} for no part."""
        part, options = self._look_up(kind, slug)
        return part.get("defaults", {}) | options

    def declaration(self, kind: str, slug: str) -> Mapping[str, Any]:
        """The declared name of a part, and its kind's own keywords, such as a learner's exactness.

        {} where `slug` stands for no part.
        """
        part, _ = self._look_up(kind, slug)
        return {"name": part["name"], **part["more"]} if part else {}

    def stride(self, learner: str) -> int | None:
        """Steps between two updates of a learner; None where it is no part of the catalogue."""
        option = self.declaration("learner", learner).get("stride")
        if option is None:
            return None
        return int(self.options("learner", learner)[option]) if option else 1

    def mark(self, kind: str, slug: str) -> Mark | None:
        """The mark that a named part declares, where it does."""
        mark = self._look_up(kind, slug)[0].get("mark")
        return Mark.from_json(mark) if mark else None

    def called(self, kind: str, slug: str) -> str:
        """The name of a part or value in reports: its declared label, then options.

        Options are named where they differ from their default and are not in the label; a task has
        its label alone, or its own name. A learner's cadence comes last ("exact RTRL, per step"). A
        value that is no part keeps its name, with a slash in a split (80/20).
        """
        part, options = self._look_up(kind, slug)
        if not part:
            return re.sub(r"(?<=\d)-(?=\d)", "/", slug) if kind == "split" else slug
        if kind == "task" and slug != part["name"]:
            return slug  # several tasks of a kind differ in options that no title has room for
        values = part["defaults"] | options
        for option, part_kind in part["lists"].items():
            values[option] = " + ".join(
                _list_entry_name(part_kind, entry) for entry in values.get(option, ())
            )
        label = part["label"].format_map(values).strip()
        if kind == "task":
            return label
        label_fields = {field for _, field, _, _ in Formatter().parse(part["label"])}
        label_fields.add(part["more"].get("stride"))
        names = [label]
        for option, value in self.changed_options(kind, slug).items():
            if option not in label_fields:
                spoken = re.sub(r"^beta(?=\d)", "β", option).replace("_", " ")
                names.append(f"{spoken} {f'{value:g}' if isinstance(value, float) else value}")
        if kind in ("architecture", "learner") and slug != part["name"]:
            instances = self.instances.get(kind, {})
            is_plain = kind == "architecture" and names == [part["label"]]
            if is_plain or [*instances.values()].count(instances.get(slug)) > 1:
                names[-1] += f" ({slug})"  # such as a network that is pretrained otherwise
        if kind == "learner":
            steps = self.stride(slug)
            names.append("per step" if steps == 1 else f"per {steps} steps")
        return ", ".join(names)

    def sort_names(self, kind: str, slugs: Iterable[str]) -> list[str]:
        """Names in the declared order of their parts; then other values, by decreasing number."""
        names = PartNames(instances=self.instances)  # a task that is no kind has no place

        def sort_key(slug: str) -> tuple:
            if part := names._look_up(kind, slug)[0]:
                return 0, part["order"], self.stride(slug) if kind == "learner" else 0, slug
            numbers = re.findall(r"\d+", slug)
            return 1, -int(numbers[0]) if numbers else 0, 0, slug

        return sorted(set(slugs), key=sort_key)


def _list_entry_name(kind: str, entry: str | Mapping[str, Any]) -> str:
    """The name of one of a list of parts, with its own options in brackets."""
    part = {"kind": entry} if isinstance(entry, str) else entry
    names = PartNames(instances={kind: {part["kind"]: part}})
    first, *more = names.called(kind, part["kind"]).split(", ")
    return f"{first} ({', '.join(more)})" if more else first


def data_in_words(labels: Iterable[str]) -> str:
    """Labels of data sets in one line: those of one kind, "KIND: WHICH", are told together."""
    parts = [label.partition(": ") for label in dict.fromkeys(labels)]
    texts = []
    for kind in dict.fromkeys(kind for kind, _, _ in parts):
        which = [data for of_kind, _, data in parts if data and of_kind == kind]
        few = which if len(which) <= 2 else [which[0], f"… {which[-1]} ({len(which)} pairs)"]
        texts.append(f"{kind}: {'; '.join(few)}" if which else kind)
    return "; ".join(texts)


def join_names(names: Sequence[str]) -> str:
    """Names in one phrase; names that hold commas stand between semicolons."""
    if any(", " in name for name in names):
        return "; ".join(names)
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def pluralize(number: int, what: str) -> str:
    """A number and what it counts: 1 pair, 2 pairs."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def jinja_templates(filters: Mapping[str, Callable] | None = None) -> Environment:
    """The templates of this folder; HTML is escaped."""
    environment = Environment(
        loader=PackageLoader("orla", "reports"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters or {}
    return environment
