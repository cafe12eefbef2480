"""Results on disk, and where they come from."""
