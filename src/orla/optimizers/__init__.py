"""Optimizers: what turns a gradient into an update."""
