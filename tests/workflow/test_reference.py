"""docs/reference.md is what the code declares; test_run.py holds results to its columns."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_code_declares():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "workflow/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert written == module.reference(), "docs/reference.md is out of date; run: make reference"
