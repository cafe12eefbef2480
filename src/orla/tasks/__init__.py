"""Tasks: what is to be learned, as episodes of streams."""
