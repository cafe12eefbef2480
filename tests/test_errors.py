import pytest

from orla.errors import OrlaError, one_line


def test_an_orla_error_ends_with_one_line_and_status_1(capsys):
    with pytest.raises(SystemExit) as ended, one_line():
        raise OrlaError("a.mat: spikes is missing;\n  download it again")
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: a.mat: spikes is missing; download it again\n"


def test_another_exception_passes_through():
    with pytest.raises(KeyError), one_line():
        raise KeyError("a defect")
