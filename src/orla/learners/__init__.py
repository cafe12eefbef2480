"""Learners: rules that compute a gradient from a stream."""
