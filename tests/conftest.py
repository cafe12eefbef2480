"""What all tests share: the modules beside this file, and one thread without compilation."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def eager():
    """Run the hot loops eagerly; test_compiling.py holds the compiled ones to them."""
    from orla.programs import compiling

    compiling.configure(compile=False)


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write tests/golden anew")


@pytest.fixture
def golden(request):
    """Hold a table of the reports, its cells and some rows' numbers, to tests/golden."""
    from golden import cells, hold

    def held(name, document):
        write = request.config.getoption("golden")
        hold(f"{name}.cells", cells(document), write)
        hold(f"{name}.data", document.data.iloc[::9], write)

    return held


@pytest.fixture
def with_kernels(monkeypatch):
    """Let exact RTRL use its kernels in C++ though the rest runs eagerly."""
    from orla.programs import kernels

    monkeypatch.setattr(kernels, "can_serve", lambda example: True)
