"""Learners: what turns a stream into a gradient."""
