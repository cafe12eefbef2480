"""From an episode to the scores of a condition."""
