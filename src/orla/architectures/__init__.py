"""Recurrent networks, each written for one model as pure functions of a dict of named tensors."""
