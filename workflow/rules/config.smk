# The config, checked before anything runs: a mistake is one line that names the key.
import re
from functools import cache

from orla.errors import one_line
from orla.provenance.code import code_hash, files_of
from orla.study.config import checked, settled
from orla.study.keys import DEFAULTS
from orla.study.plan import SECTIONS, parts_of

# Snakemake compares parameters as text, and an overlay's keys come first.
for key, value in settled(config).items():
    config[key] = value
with one_line():
    PLAN = checked(config)
    CONDITIONS = {condition.path: condition for condition in PLAN.conditions}
    JOBS = {path: PLAN.job(condition) for path, condition in CONDITIONS.items()}
    DOMAINS = PLAN.domains
HORIZON_CONDITIONS = [path for path, job in JOBS.items() if job["horizons"]]
ALIGNED_CONDITIONS = [path for path, condition in CONDITIONS.items() if PLAN.aligned(condition)]
PROFILED_CONDITIONS = [path for path, condition in CONDITIONS.items() if PLAN.profiled(condition)]
RESULTS = config["pathvars"]["results"]
PLUGINS = config.get("plugins", [])


def one_of(names):
    """A wildcard's pattern that matches exactly these names; without names it matches nothing."""
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"


def code(*modules, parts=()):
    """A hash of the code that a rule's results depend on: modules, and parts as (kind, name)."""
    return code_of(modules, tuple(parts))


@cache
def code_of(modules, parts):
    files = [file for kind, name in parts for file in files_of(kind, name)]
    return code_hash(*modules, *files)


wildcard_constraints:
    domain=one_of(DOMAINS),
    condition=one_of(CONDITIONS),
