"""Start from the pretrained network."""

from orla.starts.base import Start


class Pretrained(Start, name="pretrained", label="pretrained", order=10):
    """The pretrained parameters, unchanged."""
