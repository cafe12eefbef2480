"""The summary of what networks cost against plain means."""

import numpy as np
import pytest
from made_up import models, settings

from orla.results import base
from orla.study.efficiency import MEASURES


def test_a_row_a_network_is_the_mean_over_its_seeds():
    frame = models(splits=("80-20", "50-50"))
    costs = {name: frame["seed"] * (i + 1.0) for i, name in enumerate(MEASURES)}
    costs |= {"footprint_bytes": 800.0, "frozen_r2_mean": 0.1 * frame["seed"]}
    table = base.build("footprints", {"models": frame.assign(**costs)}, settings())
    assert list(table["split"]) == ["50-50", "80-20"] and (table["n_seeds"] == 5).all()
    assert (table["footprint_bytes"] == 800.0).all()
    for i, name in enumerate(MEASURES):
        if name != "footprint_bytes":
            assert table[name].tolist() == pytest.approx([2.0 * (i + 1)] * 2)
    assert table["frozen_r2_mean"].tolist() == pytest.approx([0.2, 0.2])
    assert np.isnan(table["reference_r2_mean"]).all()
