"""Progress of a run: the workflow's output, line by line, as messages for the user."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orla.command.logger.snakemake_logger_plugin_orla import MARK
from orla.provenance.cost import PROGRAM_S

_STARTED = re.compile(r"^orla: \d+ of \d+: (\S.*?)(, kept)?$")
_FORECAST = re.compile(r"^orla: .* on (\d+) cores? \(CPU (\d+) s\)$")
_COMPILED = re.compile(r"^(?:orla: )?(.*: compiled in [\d.]+ s); kept in ")
_LOADED = re.compile(r"^orla: (.*): compiled before, loaded in ")
# What Snakemake says of a word of the command line that nothing makes.
_NO_RULE = re.compile(r"No rule to produce (\S+)")
# The last line of a traceback.
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt): ")
# Of Snakemake's errors, those that only say that a job had one.
_OF_JOBS = ("RuleException", "CalledProcessError", "SystemExit")
_REPETITIONS = ("At least one job did not complete", "Error in rule", "Look above for error")
# Of what jobs write, lines that say how far they are, what they warn of, and what of a session
# is used.
_PROGRESS = re.compile(r", \d+:\d\d(:\d\d)? gone, |^warning: |^\S.*: \d+ steps, [\d.]+ of ")
# How Snakemake ends on a command line that it does not understand.
_USAGE_ERROR = re.compile(r"^(?:snakemake|__main__\.py): error: ")


@dataclass
class Watch:
    """Progress of a run, read from its output.

    `costs` are CPU seconds of each condition by its result's path; None where the run adapts none.
    `is_up_to_date` says that there was nothing to do; `errors` begin with the first reason;
    `failed_job` is a sentence, and `exception` the end of its traceback.
    """

    folder: Path
    costs: Mapping[str, float] | None = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    is_up_to_date: bool = False
    n_done: int = 0
    total: int = 0
    start_time: float = field(default_factory=time.time)
    conditions: int = 0
    failed_job: str = ""
    exception: str = ""
    _messages: dict[int, tuple[str, str]] = field(default_factory=dict)
    _open: dict[str, float] = field(default_factory=dict)
    _cpu_to_do_s: float = 0.0
    _cores: int = 1
    _programs: set[str] = field(default_factory=set)
    _cpu_used_s: float = 0.0

    def messages(self, line: str) -> Iterator[str]:
        """What is shown of a line that the run wrote; progress is kept."""
        if line.startswith(MARK):
            yield from self._process_event(json.loads(line[len(MARK) :]))
        elif line.startswith("error: "):
            self.errors.append(line.removeprefix("error: "))
        elif _USAGE_ERROR.match(line):
            self.errors.append(_USAGE_ERROR.sub("", line))
        elif start := _STARTED.match(line):
            self._open[start[1]] = 0.0 if start[2] else time.time()
        elif compilation := _COMPILED.match(line):
            self._cpu_used_s += PROGRAM_S
            self._programs.add(compilation[1].partition(": compiled in ")[0])
            yield self._prefix_elapsed_time(compilation[1])
        elif load := _LOADED.match(line):
            # The first to be loaded is not compiled, as was foreseen; others load it again.
            self._cpu_to_do_s -= 0.0 if load[1] in self._programs else PROGRAM_S
            self._programs.add(load[1])
        elif line.startswith("orla: "):
            if forecast := _FORECAST.match(line):
                if self.costs is None:
                    return
                self._cores, self._cpu_to_do_s = int(forecast[1]), float(forecast[2])
            yield self._prefix_elapsed_time(line.removeprefix("orla: "))
        elif _RAISED.match(line):
            self.exception = line
        elif _PROGRESS.search(line):
            yield self._prefix_elapsed_time(line.strip())

    def new_results(self) -> Iterator[str]:
        """A line for each condition whose result has appeared since the last call."""
        for path, start_time in list(self._open.items()):
            file = self.folder / f"{path}.parquet"
            if not file.is_file() or file.stat().st_mtime < start_time - 1:
                continue
            del self._open[path]
            self.conditions += 1
            self._cpu_used_s += (self.costs or {}).get(path, 0.0) if start_time else 0.0
            domain, _, name = path.rpartition("results/")[2].partition("/sweeps/")
            name = name.replace("/", ", ") + (", kept" if not start_time else "")
            yield self._prefix_elapsed_time(f"{domain}: {name}{self._time_left()}")

    def _process_event(self, event: Mapping[str, Any]) -> Iterator[str]:
        """What is shown of one of Snakemake's events; progress is kept."""
        match event["event"]:
            case "up_to_date":
                self.is_up_to_date = True
            case "run_info":
                self.total = event["stats"].get("total", 0)
            case "job_info":
                makes = event["resources"]["mem_mb"]  # which targets that gather others have not
                words = event["rule_msg"] if makes else ""
                self._messages[event["jobid"]] = (event["rule_name"], words or "")
            case "job_finished":
                rule, message = self._messages.get(event["job_id"], ("", ""))
                yield from self.new_results()
                if message and rule != "adapt":
                    yield self._prefix_elapsed_time(message)
            case "progress":
                self.n_done, self.total = event["done"], event["total"]
            case "job_error":
                log = ", ".join(event["log"] or [])
                self.failed_job = f"the job {event['rule_name']} failed ({log})"
            case "error":
                self.errors += filter(None, [_snakemake_error(event)])

    def _time_left(self) -> str:
        """How long the rest takes: as foreseen at first, more and more as measured."""
        seconds_to_do = self._cpu_to_do_s - self._cpu_used_s
        if seconds_to_do <= 0 or not self._cpu_used_s:
            return ""
        seconds = time.time() - self.start_time + seconds_to_do / self._cores
        return f", about {duration_text(seconds_to_do / self._cpu_to_do_s * seconds)} left"

    def _prefix_elapsed_time(self, text: str) -> str:
        return f"[{duration_text(time.time() - self.start_time):>7}] {text}"


def _snakemake_error(event: Mapping[str, Any]) -> str:
    """Snakemake's own message in one line; "" where a job has said why it failed."""
    text, exception = event.get("message") or "", event.get("exception")
    if any(words in text for words in _REPETITIONS) or exception in _OF_JOBS:
        return ""
    if exception == "LockException" or "could not be locked" in text.lower():
        return (
            "the folder is locked: another run of this study goes on, or one was killed; in that "
            "case: orla run -- --unlock"
        )
    if exception == "MissingInputException":
        files = text.rpartition("affected files:")[2].split()
        return f"{', '.join(files[:3])}: there is no such file; mend the path"
    if target := _NO_RULE.search(text):
        if target[1].endswith((".yaml", ".yml")):
            return f"{target[1]} is a config: orla run --configfile {target[1]}"
        return (
            f"{target[1]}: there is no such target; give all, a chapter such as headline, or the "
            "path of a result or report"
        )
    return " ".join(text.split())[:400]


def duration_text(seconds: float) -> str:
    """A duration as "40 s", "2.4 min", "12 min" or "3 h 20 min"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 570:
        return f"{seconds / 60:.1f} min"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
