"""Forward and backward through one step of a network."""
