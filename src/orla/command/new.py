"""``orla new``: the folder of a study, with a config that fits two recordings."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from math import floor
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from orla.errors import OrlaError

if TYPE_CHECKING:
    from orla.command.files import Pair  # which reads NWB, and `orla plan` uses `render` alone

# Where recordings may come from, as `orla new --from` takes them.
SOURCES = ("nwb", "binned", "odoherty", "simulated")
# Updates of a window learner, at least; the window is the longest of these that leaves so many.
UPDATES, WINDOWS = 40, (200, 100, 50, 20, 10, 5, 2)
SPLIT = 0.8
# The part of session A that is never pretrained on.
TAIL = 0.3
# Most inputs of the first networks, of columns and of components; the paper has 40. Exact RTRL
# takes as long again for each 100.
MOST_INPUTS = {"top_channels": 100, "pca": 40}
SEEDS = 3
# The part of session B that its own components are fitted on.
OWN_FIT = 0.2
_TEMPLATES = ("config.yaml", "README.md", "prereg/example.yaml.txt")


def template_values(pair: Pair, name: str) -> dict[str, Any]:
    """What the templates of a study are filled with."""
    separate = not pair.same
    fit_steps = int(OWN_FIT * pair.steps[1]) if separate else 0
    adapt = SPLIT * (pair.steps[1] - fit_steps)
    window = next((window for window in WINDOWS if adapt // window >= UPDATES), WINDOWS[-1])
    quarters = {max(2, round(share * adapt / window)) * window for share in (0.25, 0.5, 0.75)}
    method = "pca" if separate else "top_channels"
    return {
        "name": name,
        "pair": pair,
        "files": dict(zip(pair.names, map(str, pair.files), strict=False)),
        "cut": window,
        "updates": floor(adapt / window),
        "horizons": sorted(quarters),
        "method": method,
        "count": min(pair.live, MOST_INPUTS[method], *([fit_steps - 1] if separate else [])),
        "own_fit": OWN_FIT,
        "tail": TAIL,
        "seeds": SEEDS,
    }


def write_study(folder: Path, pair: Pair) -> dict[str, Any]:
    """Write the folder of a study, or nothing where that fails; answers its settings."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OrlaError(f"{folder}: is there already; name another folder, or remove it")
    if "{" in str(folder.resolve()) or "}" in str(folder.resolve()):
        raise OrlaError(f"{folder}: braces in a path mean something to Snakemake; rename it")
    # The name becomes part of paths.
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", folder.resolve().name).strip("-.")
    values = template_values(pair, name or "study")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise OrlaError(f"{folder}: {error.strerror}; name a folder that you may write") from None
    try:
        for path in _TEMPLATES:
            (partial / path).parent.mkdir(parents=True, exist_ok=True)
            (partial / path).write_text(render(Path(path).name, values), encoding="utf-8")
        (partial / "prereg/LOCK").touch()
        (partial / "plugins").mkdir()
        partial.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return values


def next_steps_text(folder: Path, values: Mapping[str, Any]) -> str:
    """What was written, and what comes next."""
    place = {"folder": folder, "quoted": shlex.quote(str(folder)), "least": UPDATES}
    return render("summary.txt", {**values, **place}).rstrip("\n")


def render(template: str, values: Mapping[str, Any]) -> str:
    """The text of a template of this command, filled in."""
    environment = Environment(
        loader=PackageLoader("orla.command", "template"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{template}.jinja").render(values)
