# The config, checked before anything runs: a mistake is one line that names the key.
import re
from functools import cache

from orla.errors import one_line
from orla.programs import store
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
    def answer():
        return code_hash(*modules, *(f for kind, name in parts for f in files_of(kind, name)))

    # Kept between runs, for as long as no source changes: the files of each rule are many.
    return store.remembered("code", [modules, parts], answer)


wildcard_constraints:
    domain=one_of(DOMAINS),
    condition=one_of(CONDITIONS),
