"""What snakemake --lint may say without being mended."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("workflow_lint", ROOT / "workflow/lint.py")
lint = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lint)

FINDINGS = """Lints for rule sweep (line 14, workflow/rules/sweeps.smk):
    * Specify a conda environment or container for each rule.:
      This way, the used software for each specific step is documented.
    * No log directive defined:
      Without a log directive, all output will be printed to the terminal.
"""


def test_only_what_has_a_stated_reason_passes():
    assert lint.remaining(FINDINGS) == [
        "rule sweep (line 14, workflow/rules/sweeps.smk): No log directive defined"
    ]
    assert all(len(reason) > 20 for reason in lint.REASONS.values())
