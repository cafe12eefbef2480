"""Results that the tests of the reports share."""

from collections.abc import Callable

import pandas as pd
import pytest
from report_results import RECORDED, SIMULATED, make_results

from orla.reports.report import Report
from orla.reports.study import StudyFacts

PROVENANCE = {
    "code": {"commit": "0123abc", "dirty": False},
    "versions": {"torch": "2.13.0+cpu", "h5py": "9.9.9"},
    "cpu_capability": "AVX2",
    "lock_sha256": "3f" * 32,
    "config": {"seeds": [0, 1], "nothing": None},
}


@pytest.fixture(scope="session")
def results() -> dict[str, pd.DataFrame]:
    return make_results(headline_seeds=20)


@pytest.fixture(scope="session")
def few() -> dict[str, pd.DataFrame]:
    """Of two seeds on one split."""
    return make_results(n_seeds=2, splits=("80-20",))


@pytest.fixture(scope="session")
def wide() -> dict[str, pd.DataFrame]:
    """Of two pairs and two networks."""
    sizes = {"pairs": ("one", "other"), "architectures": ("rnn", "lstm")}
    return make_results(n_seeds=2, splits=("80-20",), **sizes)


@pytest.fixture(scope="session")
def many() -> dict[str, pd.DataFrame]:
    """Of five pairs."""
    pairs = tuple(f"array-{i:02}" for i in range(1, 6))
    return make_results(n_seeds=3, splits=("80-20",), pairs=pairs)


@pytest.fixture(scope="session")
def build_results() -> Callable[..., dict[str, pd.DataFrame]]:
    return make_results


@pytest.fixture(scope="session")
def simulated() -> StudyFacts:
    return SIMULATED


@pytest.fixture(scope="session")
def recorded() -> StudyFacts:
    return RECORDED


@pytest.fixture(scope="session")
def report(few) -> Report:
    """All that page and findings show, its tables made once."""
    return Report(few, SIMULATED, PROVENANCE)
