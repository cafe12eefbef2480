"""Results that the tests of the reports share, and stand-ins for the parts that are named."""

from collections.abc import Callable

import pandas as pd
import pytest
from report_parts import stand_in_parts
from report_results import RECORDED, SIMULATED, make_results

from orla import catalogue
from orla.reports.study import StudyFacts


@pytest.fixture(scope="session", autouse=True)
def stand_ins():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "parts", stand_in_parts)
        yield


@pytest.fixture(scope="session")
def results() -> dict[str, pd.DataFrame]:
    return make_results(headline_seeds=20)


@pytest.fixture(scope="session")
def build_results() -> Callable[..., dict[str, pd.DataFrame]]:
    return make_results


@pytest.fixture(scope="session")
def simulated() -> StudyFacts:
    return SIMULATED


@pytest.fixture(scope="session")
def recorded() -> StudyFacts:
    return RECORDED
