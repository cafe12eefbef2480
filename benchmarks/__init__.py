"""What the engine costs, measured beside other ways of computing the same numbers."""
