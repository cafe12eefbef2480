"""River's models on the rows that networks adapt to, tested and then trained alike."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from river import base, dummy, forest, linear_model, multiclass, preprocessing, tree

from orla import catalogue, progress
from orla.probes.prequential import windows_to_skip
from orla.provenance import cost
from orla.tasks.river import River

# Name -> the model with River's defaults, of a seed where it draws.
PEERS: Mapping[str, Callable[[int], base.Classifier]] = {
    "forest": lambda seed: forest.ARFClassifier(seed=seed),
    "tree": lambda seed: tree.HoeffdingTreeClassifier(),
    "logistic": lambda seed: (
        preprocessing.StandardScaler()
        | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    ),
    "no-change": lambda seed: dummy.NoChangeClassifier(),
    "majority": lambda seed: dummy.PriorClassifier(),
}


def row_hits_and_bytes(
    name: str, seed: int, X: np.ndarray, Y: np.ndarray
) -> tuple[np.ndarray, int]:
    """Whether each row (rows,) was right before it was learned, and the model's bytes at the end.

    Of a key of `PEERS` on features X (rows, features) as they come and categories Y (rows,).
    """
    model, right = PEERS[name](seed), np.zeros(len(Y))
    rows = [dict(enumerate(row)) for row in X.tolist()]
    with cost.work_phase(name, len(rows)):
        bar = progress.bar(rows, f"{name}, seed {seed}", "row")
        for i, (x, y) in enumerate(zip(bar, Y.tolist(), strict=True)):
            right[i] = model.predict_one(x) == y
            model.learn_one(x, y)
    return right, model._raw_memory_usage


def peer_accuracies(task: River, seed: int, probe: Mapping[str, Any]) -> pd.DataFrame:
    """Accuracies of River's models on the task's stream of a seed: a row a model and window.

    Each model that the task names for this seed is tested and then trained on each row. The probe
    of this specification takes means of windows of the adapt part. Columns: docs/reference.md.
    """
    prequential, (X, Y, _) = catalogue.make("probe", probe), task.labelled_rows(seed)
    frames, end, window = [], task.pretraining + task.adapt, prequential.window
    windows = task.adapt // window
    index = np.arange(windows)
    for name in (name for name in PEERS if seed < task.peers.get(name, 0)):
        right, size = row_hits_and_bytes(name, seed, X[:end], Y[:end])
        right = right[task.pretraining :][: windows * window].reshape(1, windows, window)
        series = {"hits": right.sum(-1), "tested": np.full((1, windows), window)}
        [accuracy] = prequential.profile(series)["accuracy"]
        [[mean]] = prequential.summary(series).values()
        row = {"peer": name, "seed": seed, "index": index, "step": window * (index + 1)}
        row |= {"scored": index >= windows_to_skip(windows, prequential.skip), "accuracy": accuracy}
        frames.append(pd.DataFrame(row | {"prequential_accuracy": mean, "bytes": size}))
    return pd.concat(frames, ignore_index=True)


def synthetic_row_hits(name: str) -> np.ndarray:
    """Which of a few hundred made-up rows a peer has right: its behaviour, for registrations."""
    t = np.arange(300.0)
    X = np.stack([np.sin(1.7 * t), np.cos(0.3 * t**1.5)], 1)
    return row_hits_and_bytes(name, 0, X, (X[:, 0] + X[:, 1] * np.sin(t / 90) > 0).astype(int))[0]
