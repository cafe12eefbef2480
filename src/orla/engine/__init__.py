"""The loop over a stream, its state, and how much memory it takes."""
