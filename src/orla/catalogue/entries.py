"""The package's own parts as `make reference` wrote them down, to be read without importing any."""

import functools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("declarations.json")


@functools.cache
def read_entry(what: str) -> Any:
    """One entry of the file: "parts" (`study.declarations.describe_parts`), "memory"
    (`engine.memory.memory_of_parts`) or "fits", the questions of this repository's configs
    to which `study.fitting` found no refusal. Not to be changed.
    """
    return json.loads(FILE.read_text(encoding="utf-8"))[what]
