"""An installed distribution adds a part by the entry-point group orla.plugins."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orla.catalogue import plugins

PART = '''
from orla.losses.base import Loss


class Linear(Loss, name="linear", label="absolute error"):
    """Mean absolute error."""

    def step_loss(self, outputs, y):
        return self.step_losses(outputs, y)

    def step_losses(self, outputs, Y):
        return (outputs - Y).abs().mean(-1)
'''
ASKED = """
import json
from orla.provenance.code import declaring_files, source_digests
from orla.study.declarations import read_declarations

found = read_declarations()["loss"]
files = declaring_files("loss", "linear") if "linear" in found else []
digests = source_digests(*files)
print(json.dumps({"losses": list(found), "files": [str(f) for f in files]} | digests))
"""


@pytest.fixture
def site(tmp_path):
    """A folder as pip leaves it: a module, and the metadata of its distribution."""
    folder = tmp_path / "site"
    about = folder / "linear_loss-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "linear_loss.py").write_text(PART)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: linear-loss\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{plugins.ENTRY_POINTS}]\nlinear = linear_loss\n")
    return folder


def asked(cache, *path):
    """What a process of its own knows of losses, with these folders beside the package's."""
    folders = os.pathsep.join(map(str, (Path(plugins.__file__).parents[2], *path)))
    env = os.environ | {"PYTHONPATH": folders, "ORLA_CACHE": str(cache)}
    return json.loads(subprocess.check_output([sys.executable, "-c", ASKED], env=env))


def test_a_distribution_adds_a_part(site, tmp_path):
    cache = tmp_path / "cache"
    without = asked(cache)
    assert "linear" not in without["losses"]
    found = asked(cache, site)  # what was kept before it was installed is not taken for all
    assert set(found["losses"]) - set(without["losses"]) == {"linear"}
    assert found["files"] == [str(site / "linear_loss.py")]
    assert {"site/linear_loss.py", "orla/losses/base.py"} <= set(found)
