"""Starts: the parameters with which adaptation begins."""
