import sys

import pytest

from orla.errors import OrlaError
from orla.study.place import require_place


def test_another_working_folder_and_a_python_in_a_folder_with_a_space_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    require_place(tmp_path)
    with pytest.raises(OrlaError, match=f"working folder is {tmp_path}; .*: cd '.*/elsewhere'"):
        (tmp_path / "elsewhere").mkdir()
        require_place(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "executable", "/My Drive/.venv/bin/python")
    with pytest.raises(OrlaError, match=r"/My Drive/.*: Snakemake cannot start a Python whose"):
        require_place(tmp_path)
