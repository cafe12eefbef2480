"""River's models beside networks: their accuracies as columns of the table of models."""

import pandas as pd

from orla.study.keys import peer_column


def joined(models: pd.DataFrame, peers: pd.DataFrame) -> pd.DataFrame:
    """The models with a column a peer: its accuracy on the stream of their task and seed, or null.

    Equal rows of `peers` (task, seed, peer, prequential_accuracy) count once.
    """
    at = ["task", "seed"]
    once = peers[[*at, "peer", "prequential_accuracy"]].drop_duplicates()
    wide = once.pivot(index=at, columns="peer", values="prequential_accuracy")
    return models.join(wide.rename(columns=peer_column), on=at)
