"""Compiled programs: how loops are traced, compiled, kept on disk and recorded on a device."""
