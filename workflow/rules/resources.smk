# What jobs ask for, where it follows from the config.
from orla import memory


def sweep_mb(wildcards, attempt):
    """What the memory model predicts, doubled after a job that was killed."""
    w = wildcards
    condition = SWEEPS[w.architecture][w.learner][w.optimizer][w.precision][w.split]
    return attempt * memory.job_mb(
        wildcards.architecture,
        wildcards.learner,
        wildcards.optimizer,
        most=config["compute"]["batch_models"],
        device=config["compute"]["device"],
        precision=wildcards.precision,
        snapshots=memory.snapshots(**condition),
        n_in=config["preparation"]["features"]["count"],
        **config["architectures"][wildcards.architecture],
    )
