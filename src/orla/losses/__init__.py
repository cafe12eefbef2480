"""Losses: the error of a step, its derivative, and further scores."""
