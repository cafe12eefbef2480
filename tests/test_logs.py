import sys

import pytest

from orla.errors import OrlaError, logged


def test_stderr_goes_to_terminal_and_log(tmp_path, capsys):
    log = tmp_path / "logs" / "sweep.log"
    with logged(log):
        print("half way", file=sys.stderr)
        assert not sys.stderr.isatty()
    print("after", file=sys.stderr)
    assert log.read_text() == "half way\n"
    assert capsys.readouterr().err == "half way\nafter\n"


def test_a_defect_leaves_its_traceback_in_both(tmp_path, capsys):
    log = tmp_path / "sweep.log"
    with pytest.raises(SystemExit) as ended, logged(log):
        raise KeyError("a defect")
    assert ended.value.code == 1
    assert log.read_text() == capsys.readouterr().err
    assert "Traceback" in log.read_text() and "KeyError: 'a defect'" in log.read_text()


def test_an_error_is_one_line_in_both(tmp_path, capsys):
    log = tmp_path / "sweep.log"
    with pytest.raises(SystemExit) as ended, logged(log):
        raise OrlaError("a.mat: t is missing")
    assert ended.value.code == 1
    assert log.read_text() == capsys.readouterr().err == "error: a.mat: t is missing\n"
