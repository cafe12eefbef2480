"""Optimizers: rules that compute an update from a gradient."""
