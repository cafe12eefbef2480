# The study as it is asked for: the checked config, its chapters, and what each job is given.
import os
import re
import sys
from functools import cache

from orla.engine.memory_request import job_mb
from orla.errors import OrlaError, exit_in_one_line
from orla.programs import store
from orla.provenance.code import code_hash, files_of_parts
from orla.sessions.streams import stream_settings
from orla.study.chapter_jobs import SHIPPED_TEXTS, language_files, language_jobs, vision_jobs
from orla.study.config import plan_from_config
from orla.study.forecast import MB_OF_FILE, Forecast, session_lengths
from orla.study.declarations import SECTIONS, job_parts
from orla.study.plan import CONTROLS, STATIONARY
from orla.study.workflow import reset_future_times
from orla.yaml_files import read_yaml

# Jobs keep the memory that they free: the C library would return it to the system at every window.
os.environ.setdefault("GLIBC_TUNABLES", store.MALLOC)

with exit_in_one_line():
    for file in workflow.configfiles:
        read_yaml(Path(file))  # Snakemake takes the last of two equal keys without a word
    PLAN = plan_from_config(config)
STUDY = PLAN.config
RESULTS = STUDY["pathvars"]["results"]
PLUGINS = STUDY.get("plugins", [])
COMPUTE = STUDY["compute"]
ALLOW_MIXED = STUDY["provenance"]["allow_mixed"]


def sessions(task, pair):
    """The two sessions of a pair; both are of one recording where its units are swapped."""
    spec = STUDY["tasks"][task]
    return dict.fromkeys("ab", spec["recording"]) if "recording" in spec else spec["pairs"][pair]


# Folder of the streams -> task, pair and sessions, for tasks whose streams are made from sessions.
PAIRS = {
    domain: sessions(task, pair) | {"task": task, "pair": pair}
    for domain, (task, pair) in PLAN.domains.items()
    if PLAN.declaration("task", task)["needs_files"]
}
SOURCES = {pair["task"]: STUDY["tasks"][pair["task"]]["source"] for pair in PAIRS.values()}
PARTS = {part.path: part for part in PLAN.condition_groups}

# Chapters are targets: what a run adapts and shows is those it asks for and those that are there.
EVERY_CHAPTER = [*dict.fromkeys(PLAN.chapters.values())]
EVERY_CHAPTER += [CONTROLS] if STUDY["truth"]["studies"] else []
# Chapters that a table or figure shows by the results that it needs; others show the first one.
CHAPTER_OF = {"over_pairs": "pairs", "multiverse": "choices", "truth_controls": CONTROLS}


def needed_chapters(target):
    """The chapters that a word of the command line asks for; none where it is no such target."""
    if target == CONTROLS:
        return [*EVERY_CHAPTER[:1], CONTROLS]
    if target in EVERY_CHAPTER:
        return [target]
    named = re.search(r"(table|figure)_(\w+)\.\w+$", target)
    if not named or named[2] not in PLAN.declarations[named[1]]:
        return []
    needs = PLAN.declarations[named[1]][named[2]]["more"]["needs"]
    chapters = [CHAPTER_OF[need] for need in needs if CHAPTER_OF.get(need) in EVERY_CHAPTER]
    return chapters or EVERY_CHAPTER[:1]


def present(chapter):
    """Whether everything of a chapter has been made before."""
    paths = [part.path for part in PLAN.condition_groups if part.chapter == chapter] or [
        "truth_controls"
    ]
    return all(os.path.exists(f"{RESULTS}/{path}.parquet") for path in paths)


# Snakemake tells rules no target, so it is read from the command line. A job that runs in a process
# of its own, as on a cluster, reads what the run was asked for.
FIRST_READING = "ORLA_CHAPTERS" not in os.environ
if FIRST_READING:
    reset_future_times(RESULTS, STUDY["pathvars"]["reports"])
    asked = {chapter for word in sys.argv[1:] for chapter in needed_chapters(word)}
    os.environ["ORLA_CHAPTERS"] = " ".join(
        chapter for chapter in EVERY_CHAPTER if not asked or chapter in asked or present(chapter)
    )
CHAPTERS = os.environ["ORLA_CHAPTERS"].split()
RUN = [part for part in PLAN.condition_groups if part.chapter in CHAPTERS]
CONDITIONS = [condition for part in RUN for condition in part.conditions]


envvars:
    "ORLA_CHAPTERS",


wildcard_constraints:
    domain="[^/]+(?:/[^/]+)?",
    task="[^/]+",
    session="[^/+]+",
    a="[^/+]+",
    b="[^/+]+",
    network="[^/]+",
    precision="[^/]+",
    part="[^/]+",


@cache
def hash_of(modules, parts):
    return code_hash(*modules, *files_of_parts(parts))


def recordings_mb(rule):
    """Memory of a job that reads whole recordings, as much again at each further attempt."""

    def mem_mb(wildcards, input, attempt):
        largest = max(input.size_files_mb, default=0)
        return attempt * round(2000 + MB_OF_FILE[rule] * largest)

    return mem_mb


def code(*modules, parts=()):
    """A hash of the code that a rule's results depend on: modules, and parts as (kind, name)."""
    return hash_of(modules, tuple(parts))
