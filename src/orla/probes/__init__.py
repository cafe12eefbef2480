"""Probes: what can be measured along an adaptation without changing it."""

from orla.probes.update_ratio import update_ratio

__all__ = ["update_ratio"]
