"""Starts: where a network begins to adapt from."""
