"""Results: one file a table that compares learners, with its columns."""
