"""The package's own parts as `make reference` wrote them down, to be read without importing any."""

import functools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("declarations.json")


@functools.cache
def packaged_declarations(section: str) -> Any:
    """One entry of the file of declarations: "parts", "memory" or "fits". Not to be changed.

    They are of `study.declarations.describe_parts` and `engine.memory.mb_by_network_and_learner`;
    "fits" are digests of the combinations of parts in this repository's configs, none refused.
    """
    return json.loads(FILE.read_text(encoding="utf-8"))[section]
