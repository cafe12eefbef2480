"""Learners: what turns a stream into a gradient."""

from __future__ import annotations

import re

from orla.architectures import Architecture
from orla.errors import OrlaError
from orla.learners.base import Carry, Learner
from orla.learners.immediate import Immediate
from orla.learners.last_layer import LastLayer
from orla.learners.rtrl import RTRL
from orla.learners.tbptt import TBPTT

FORMS = ("immediate", "immediate-WINDOW", "last-layer", "rtrl", "tbptt-WINDOW-STRIDE")


def learner(name: str, architecture: Architecture) -> Learner:
    """The learner called `name` (one of FORMS, numbers for the capitals) for `architecture`.

    Raises OrlaError when no learner has that name.
    """
    if name == "immediate":
        return Immediate(architecture)
    if name == "rtrl":
        return RTRL(architecture)
    if name == "last-layer":
        return LastLayer(architecture)
    if match := re.fullmatch(r"immediate-([1-9]\d*)", name):
        return Immediate(architecture, window=int(match[1]))
    if match := re.fullmatch(r"tbptt-([1-9]\d*)-([1-9]\d*)", name):
        return TBPTT(architecture, window=int(match[1]), update_every=int(match[2]))
    raise OrlaError(f"learner {name!r} is unknown; write one of {', '.join(FORMS)}")


__all__ = ["FORMS", "RTRL", "TBPTT", "Carry", "Immediate", "LastLayer", "Learner", "learner"]
