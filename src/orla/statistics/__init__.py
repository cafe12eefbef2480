"""Tests and intervals: thin names over scipy."""
