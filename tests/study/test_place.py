import sys

import pytest

from orla.errors import OrlaError
from orla.study.place import require_place


def test_a_working_folder_without_a_config_and_a_python_in_a_folder_with_a_space_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OrlaError, match=f"working folder is {tmp_path}, .*: cd '.*/elsewhere'"):
        require_place(tmp_path / "elsewhere")
    (tmp_path / "config.yaml").touch()
    require_place(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "executable", "/My Drive/.venv/bin/python")
    with pytest.raises(OrlaError, match=r"/My Drive/.*: Snakemake cannot start a Python whose"):
        require_place(tmp_path)
