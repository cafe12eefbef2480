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


@pytest.fixture
def with_kernels(monkeypatch):
    """Let exact RTRL use its kernels in C++ though the rest runs eagerly."""
    from orla.programs import kernels

    monkeypatch.setattr(kernels, "serve", lambda example: True)
