"""Probes: what is measured along an adaptation without changing it."""
