"""Probes: measurements at each update that do not change the adaptation."""
