"""The table of divergence: every tried rate counts, and a condition without a loss is left out."""

import numpy as np
import pandas as pd
from report_results import build


def models(optimizer, lost, learner="immediate", task="lorenz"):
    """Two seeds at three rates; `lost` maps (rate, seed) to the step of divergence."""
    rows = [
        {
            **{"task": task, "pair": "", "architecture": "rwkv", "learner": learner},
            **{"optimizer": optimizer, "precision": "float64", "split": "shift", "seed": seed},
            **{"intervention": "none", "start": "pretrained", "learning_rate": rate},
            **{"diverged": (rate, seed) in lost, "diverged_step": lost.get((rate, seed), -1)},
            **{"selected": rate == 0.001, "updates": 100, "unreliable": False},
        }
        for rate in (0.001, 0.01, 0.1)
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows)


def test_models_are_counted_over_all_rates(simulated):
    frame = pd.concat(
        [
            models("adam", {(0.01, 0): 12, (0.01, 1): 30, (0.1, 0): 5}),
            models("sgd", {}),
            models("adam", {}, task="sine"),
        ],
        ignore_index=True,
    )
    document = build("divergence", {"lr_curves": frame}, simulated)
    assert document.ran and len(document.panels) == 1
    data = document.data.set_index("optimizer")
    adam = data.loc["adam"]
    assert (adam["n_models"], adam["n_diverged"], adam["rates"]) == (6, 3, 3)
    assert (adam["first_step"], adam["median_step"], adam["safe_rate"]) == (5, 12, 0.001)
    sgd = data.loc["sgd"]
    assert sgd["n_diverged"] == 0 and np.isnan(sgd["first_step"]) and sgd["safe_rate"] == 0.1
    lines = {line[0]: line for line in document.panels[0].rows}
    assert lines["Adam"][3] == "50 %" and lines["SGD"][3] == "0 %"
