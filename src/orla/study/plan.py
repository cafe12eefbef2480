"""The plan of a study: its conditions, each once, and what each of them needs.

A plan is made from a config and the parts' declarations (`study.declarations`) as plain data. No
part is imported, so that Snakemake can read it quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from orla.errors import OrlaError, prefix_errors
from orla.study.condition import SILENT, Condition, ConditionGroup, group_conditions
from orla.study.declarations import SECTIONS, Declarations, expand_parts, specification
from orla.study.keys import KEYS, peer_accuracy_column
from orla.study.quantities import STABLE, parse_quantity

# Key column -> the list of a block with its values; pairs follow from the tasks.
_LISTS = {key: SECTIONS.get(key, f"{key}s") for key in KEYS if key != "pair"}
# The split of every recording that adapts to the tail of session A.
STATIONARY = "stationary"
# The target that runs a block of conditions which names none.
HEADLINE, CONTROLS = "headline", "controls"
# A model of an exact learner takes as long as so many others.
_EXACT_COST = 20


@dataclass(frozen=True)
class Plan:
    """A checked config, with the declarations of all parts."""

    config: Mapping[str, Any]
    declarations: Declarations

    def spec(self, kind: str, name: str) -> dict[str, Any]:
        """`specification`, with the instances of the config."""
        return specification(self.declarations, kind, name, self.config.get(SECTIONS[kind], {}))

    def check_name(self, kind: str, name: str, place: str) -> None:
        """Refuse a name that is no part or instance of this kind; the OrlaError names its place."""
        with prefix_errors(f'config: "{place}"'):
            self.spec(kind, name)

    def declaration(self, kind: str, name: str) -> dict[str, Any]:
        """The declaration of the part that a name stands for."""
        return self.declarations[kind][self.spec(kind, name)["kind"]]

    def option(self, kind: str, name: str, option: str) -> Any:
        """An option of what a name stands for; its default, or None, where it is not given."""
        default = self.declaration(kind, name)["defaults"].get(option)
        return self.spec(kind, name).get(option, default)

    def steps_of_declared_option(self, kind: str, name: str, role: str = "stride") -> int:
        """Steps of the option that a learner or probe declares as its `role`; 0 without one.

        Of a probe they are between two looks ("stride") or two kept states ("kept").
        """
        option = self.declaration(kind, name)["more"][role]
        return self.option(kind, name, option) if option else 0

    def stride(self, learner: str) -> int:
        """Steps from one update of a learner to the next."""
        return self.steps_of_declared_option("learner", learner) or 1

    def cadence(self, learner: str) -> str:
        """Whether a learner updates at each "step" or once a "window"."""
        return "window" if self.stride(learner) > 1 else "step"

    def is_exact(self, learner: str) -> bool:
        return self.declaration("learner", learner)["more"]["exactness"] == "exact"

    def takes_pretrained(self, condition: Condition) -> bool:
        return self.declaration("start", condition.start)["more"]["pretrained"]

    def grid(self, condition: Condition) -> list[float]:
        """First learning rates: the config's for the optimizer, or those that it declares."""
        cadence, optimizer = self.cadence(condition.learner), condition.optimizer
        default_grids = self.declaration("optimizer", optimizer)["more"]["grid"] or {}
        grids = self.config["grids"].get(optimizer, default_grids)
        if cadence not in grids:
            has_grids = optimizer in self.config["grids"]
            raise OrlaError(
                f'config: "grids.{optimizer}" has no rates for an update each {cadence};'
                f' add "{cadence}"' + ("" if has_grids else ", or declare grid= in the class")
            )
        return list(grids[cadence])

    def pair_folders(self, task: str) -> dict[str, str]:
        """Folder of each pair: {pair: folder}; {"": folder} for a task without pairs."""
        if not self.declaration("task", task)["needs_files"]:
            return {"": task}
        names = list(self.config["tasks"][task]["pairs"])
        return {names[0]: task} if len(names) == 1 else {name: f"{task}/{name}" for name in names}

    def task_settings(self, domain: str) -> dict[str, Any]:
        """The specification of a folder's task; of recordings, with the folder's pair alone."""
        task, pair = self.domains[domain]
        spec = self.config["tasks"][task]
        if not pair:
            return dict(spec)
        names = ("kind", "source", spec["source"], "recording", "step", "pool")
        settings = {k: spec[k] for k in (*names, "preparation", "parts") if k in spec}
        return settings | {"pairs": {pair: spec["pairs"][pair]}}

    def task_settings_without_peers(self, domain: str) -> dict[str, Any]:
        """`task_settings` without River's models, which networks do not depend on."""
        return {k: v for k, v in self.task_settings(domain).items() if k != "peers"}

    @cached_property
    def domains(self) -> dict[str, tuple[str, str]]:
        """Folder -> (task, pair), of every task that a condition runs on."""
        return {c.domain: (c.task, c.pair) for c in self.conditions}

    @cached_property
    def conditions(self) -> list[Condition]:
        """Every condition once, in the order of its first mention."""
        return list(self.blocks_by_condition)

    @cached_property
    def blocks_by_condition(self) -> dict[Condition, list[int]]:
        """Each condition, and the blocks of the config that mention it.

        A condition of several blocks has the largest of their numbers of seeds, and the observers
        and probes of all of them.
        """
        by_key: dict[tuple[str, ...], tuple[Condition, list[int]]] = {}
        for i, block in enumerate(self.config["conditions"]):
            for condition in self._conditions_in_block(block):
                key = tuple(condition.keys.values())
                old, blocks = by_key.get(key, (condition, []))
                union = replace(
                    condition,
                    seeds=max(old.seeds, condition.seeds),
                    observers=tuple(dict.fromkeys((*old.observers, *condition.observers))),
                    probes=tuple(dict.fromkeys((*old.probes, *condition.probes))),
                )
                by_key[key] = union, [*blocks, i]
        return dict(by_key.values())

    @cached_property
    def chapters(self) -> dict[Condition, str]:
        """The target that runs each condition: that of the first block that mentions it."""
        blocks = self.config["conditions"]
        return {
            c: blocks[first].get("chapter", HEADLINE)
            for c, (first, *_) in self.blocks_by_condition.items()
        }

    @cached_property
    def condition_groups(self) -> list[ConditionGroup]:
        """The conditions in groups; one job adapts each group."""
        costs = {
            c: c.seeds * len(self.grid(c)) * (_EXACT_COST if self.is_exact(c.learner) else 1)
            for c in self.conditions
        }
        return list(group_conditions(self.chapters, costs))

    def _conditions_in_block(self, block: Mapping[str, Any]) -> Iterable[Condition]:
        """The conditions of a block of the config."""
        lists = [block.get(name) or [SILENT[key]] for key, name in _LISTS.items()]
        for values in product(*lists):
            keys = dict(zip(_LISTS, values, strict=True))
            for pair, domain in self.pair_folders(keys["task"]).items():
                yield Condition(
                    **keys,
                    pair=pair,
                    domain=domain,
                    observers=tuple(block.get("observers", ())),
                    probes=tuple(block.get("probes", self.config["probes_of_all"])),
                    seeds=block["seeds"],
                )

    def seeds_by_peer_column(self, task: str) -> dict[str, int]:
        """Column of each of River's models that a task has beside networks, and its seeds."""
        seeds_by_peer = self.option("task", task, "peers") or {}
        return {peer_accuracy_column(peer): seeds for peer, seeds in seeds_by_peer.items()}

    def split_names(self, task: str) -> list[str]:
        """The names that conditions on a task may have under `splits`."""
        names = self.declaration("task", task)["split_names"]
        return list(names) if names else [*self.parts_settings(task)["splits"], STATIONARY]

    def window_steps(self, task: str) -> int:
        """Steps of a window of a task: every cut is a multiple of it."""
        if self.declaration("task", task)["needs_files"]:
            return self.parts_settings(task)["cut"]
        return self.option("task", task, "window") or 1

    def loss(self, task: str) -> str:
        """The loss of a task: of categories the cross-entropy."""
        spec = self.config["tasks"][task]
        if spec.get("source") == "binned" and spec["binned"].get("kind") == "categories":
            return "cross_entropy"
        return self.declaration("task", task)["more"]["loss"]

    def parts_settings(self, task: str) -> dict[str, Any]:
        """How a task cuts its sessions: steps of a window, the tail of A, shares of B."""
        default = self.declaration("task", task)["defaults"]["parts"]
        return default | self.option("task", task, "parts")

    def adapt_horizons(self, condition: Condition) -> list[int]:
        """Steps at which the config asks for scores of a condition; [] for most."""
        if (settings := self.config.get("horizons")) is None:
            return []
        fits = condition.task in settings["tasks"] and condition.learner in settings["learners"]
        return list(settings["steps"]) if fits and condition.split == settings["split"] else []

    @cached_property
    def _resampled_keys(self) -> set[tuple[str, ...]]:
        """Keys, but the pair, of conditions whose stable scores a quantity over seeds resamples."""
        items = self.config.get("quantities", {}).items()
        return {
            tuple(term.where.values())
            for quantity in (parse_quantity(*item) for item in items)
            for term in quantity.terms
            if quantity.unit == "seed" and term.column in STABLE
        }

    def _numerics(self, precision: str) -> dict[str, Any]:
        """What a numeric configuration of the config asks for; {} for a format alone."""
        return self.config.get("numerics", {}).get(precision, {})

    def compute_settings(self, precision: str) -> dict[str, Any]:
        """The config's "compute", with those of a numeric configuration over them."""
        numerics = self._numerics(precision)
        more = {"instructions": None, **numerics} if numerics else {}
        return self.config["compute"] | {k: v for k, v in more.items() if k != "precision"}

    def format_entry(self, precision: str) -> dict[str, str]:
        """{"format": number format} of a numeric configuration; {} of a format itself."""
        numerics = self._numerics(precision)
        return {"format": numerics["precision"]} if numerics else {}

    def pretraining_settings(self, network: str) -> dict[str, Any]:
        """How a network is pretrained: the settings of all, and those of its own name over them."""
        settings = dict(self.config["pretraining"])
        return settings | settings.pop("of", {}).get(network, {})

    def pretraining_dependencies(self, network: str) -> list[tuple[str, str]]:
        """(kind, name or short form) of a network's parts, and of the optimizer that is named."""
        specs = [("architecture", self.spec("architecture", network))]
        if optimizer := self.pretraining_settings(network).get("optimizer"):
            specs.append(("optimizer", optimizer))
        return expand_parts(specs, self.declarations)

    def job(self, condition: Condition) -> dict[str, Any]:
        """All that a sweep of `condition` depends on, its files and code apart; JSON-ready."""
        c = condition
        key_over_pairs = tuple(v for k, v in c.keys.items() if k != "pair")
        return {
            "keys": c.keys,
            "seeds": c.seeds,
            "network": self.spec("architecture", c.architecture),
            "learner": self.spec("learner", c.learner),
            "optimizer": self.spec("optimizer", c.optimizer),
            "start": self.spec("start", c.start),
            "observers": {name: self.spec("learner", name) for name in c.observers},
            "interventions": [self.spec("intervention", name) for name in c.interventions],
            "probes": [self.spec("probe", name) for name in c.probes],
            "learning_rates": self.grid(c),
            "growth": self.config["grid_growth"],
            "horizons": self.adapt_horizons(c),
            "stable_windows": self.config["stable_windows"],
            "for_resamples": key_over_pairs in self._resampled_keys,
            **self.format_entry(c.precision),
        }
