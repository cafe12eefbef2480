# What jobs ask for, where it follows from the config.
from orla.engine import memory


def sweep_mb(wildcards, attempt):
    """What the memory model predicts, doubled after a job that was killed."""
    w = wildcards
    condition = SWEEPS[w.architecture][w.learner][w.optimizer][w.precision][w.split]
    return attempt * memory.job_mb(
        w.architecture,
        w.learner,
        w.optimizer,
        most=config["compute"]["batch_models"],
        device=config["compute"]["device"],
        precision=w.precision,
        snapshots=memory.snapshots(**condition),
        n_in=config["preparation"]["features"]["count"],
        **config["architectures"][w.architecture],
    )
