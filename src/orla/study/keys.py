"""The columns that say which condition a row of a result belongs to."""

KEYS: dict[str, str] = {
    "task": "Task, as the config names it.",
    "pair": "Pair of sessions; empty for a task without pairs.",
    "architecture": "Network, as the config names it.",
    "learner": "Learner, as the config names it.",
    "optimizer": "Optimizer.",
    "precision": "Floating-point format of the networks, or a numeric configuration of the config.",
    "split": "Variant of the episode, such as the split of a recording.",
    "intervention": 'What is done to the gradient before the optimizer; "none" for nothing.',
    "start": 'Where adaptation begins: "pretrained", or the name of another start.',
}
"""Column -> what it holds, for a condition."""

FORMATS = ("float64", "float32")
"""Floating-point formats: precisions that need no numeric configuration."""

DEFAULTS: dict[str, str] = {"intervention": "none", "start": "pretrained"}
"""What a condition has where a config or a registration says nothing; titles leave it out."""

SETTING: dict[str, str] = {name: text for name, text in KEYS.items() if name != "learner"}
"""Column -> what it holds, for two learners that are compared: all keys but the learner."""


OVER_PAIRS: dict[str, str] = {name: text for name, text in SETTING.items() if name != "pair"}
"""Column -> what it holds, for two learners that are compared over pairs."""


def peer_accuracy_column(peer: str) -> str:
    """The column of prequential accuracy (%) of one of River's models on the same stream."""
    return f"{peer}_accuracy"
