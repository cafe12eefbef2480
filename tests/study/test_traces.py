import numpy as np
import pandas as pd

from orla.study.traces import KEYS, selected


def test_only_selected_models_each_beside_its_own_frozen_network():
    keys = {key: "x" for key in KEYS}
    models = pd.DataFrame(
        [keys | {"seed": seed, "selected": chosen} for chosen in (False, True) for seed in (1, 0)]
    )
    error = np.arange(8.0).reshape(4, 2)
    frozen = np.array([[10.0, 11.0], [20.0, 21.0]])
    table = selected(models, error, frozen, window=200)
    assert list(table.columns) == [*KEYS, "seed", "step", "error", "frozen_error"]
    assert table[["seed", "step", "error", "frozen_error"]].to_numpy().tolist() == [
        [1, 200, 4.0, 20.0],
        [1, 400, 5.0, 21.0],
        [0, 200, 6.0, 10.0],
        [0, 400, 7.0, 11.0],
    ]
