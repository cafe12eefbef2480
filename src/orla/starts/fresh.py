"""Start from an untrained network."""

from orla.starts.base import Start


class Fresh(Start, name="fresh", label="fresh", order=20, pretrained=False):
    """The network's random initial parameters; no pretraining is run."""
