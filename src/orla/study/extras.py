"""Jobs of the chapters whose packages are extras: what they write, and the settings they follow.

Read by the rules of the workflow and by `orla.study.verification`; imports none of the extras.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def language_jobs(config: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path below the results, without its ending -> language model, and what it is adapted by.

    The latter are "model" (its entry of the config), "adapters" and "settings".
    """
    language = config.get("language", {})
    settings = {k: v for k, v in language.items() if k not in ("models", "adapters")}
    return {
        f"language/{name}/rank-{block['rank']}": (
            name,
            {"model": language["models"][name], "adapters": block, "settings": settings},
        )
        for block in language.get("adapters", ())
        for name in block.get("models", language["models"])
        if name in language["models"]
    }


def vision_jobs(config: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Path below the results, without its ending -> what adapts, and its optimizer or "-"."""
    if "vision" not in config:
        return {}
    ways = [("none", "-"), ("statistics", "-")]
    ways += [
        (adapts, name) for adapts, grids in config["vision"]["rates"].items() for name in grids
    ]
    return {f"vision/{adapts}/{name}": (adapts, name) for adapts, name in ways}
