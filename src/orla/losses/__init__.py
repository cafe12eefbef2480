"""Losses: the error of a step, its derivative and what is reported of it."""
