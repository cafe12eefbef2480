"""Tests, intervals and the tables that compare learners: thin names over scipy."""
