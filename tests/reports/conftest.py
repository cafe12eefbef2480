"""Results that the tests of the reports share."""

from collections.abc import Callable

import pandas as pd
import pytest
from report_results import RECORDED, SIMULATED, make_results

from orla.reports.study import StudyFacts


@pytest.fixture(scope="session")
def results() -> dict[str, pd.DataFrame]:
    return make_results(headline_seeds=20)


@pytest.fixture(scope="session")
def few() -> dict[str, pd.DataFrame]:
    """Of two seeds on one split."""
    return make_results(n_seeds=2, splits=("80-20",))


@pytest.fixture(scope="session")
def build_results() -> Callable[..., dict[str, pd.DataFrame]]:
    return make_results


@pytest.fixture(scope="session")
def simulated() -> StudyFacts:
    return SIMULATED


@pytest.fixture(scope="session")
def recorded() -> StudyFacts:
    return RECORDED
