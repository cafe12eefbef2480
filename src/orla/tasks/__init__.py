"""Tasks: what is to be learned, given as episodes of streams."""
