import sys

import pytest

from orla.errors import OrlaError, log_stderr


def test_stderr_goes_to_terminal_and_log(tmp_path, capsys):
    log = tmp_path / "logs" / "sweep.log"
    with log_stderr(log):
        print("half way", file=sys.stderr)
        assert not sys.stderr.isatty()
    print("after", file=sys.stderr)
    assert log.read_text() == "half way\n"
    assert capsys.readouterr().err == "half way\nafter\n"


def test_a_defect_leaves_its_traceback_in_both(tmp_path, capsys):
    log = tmp_path / "sweep.log"
    with pytest.raises(SystemExit) as ended, log_stderr(log):
        raise KeyError("a defect")
    assert ended.value.code == 1
    assert log.read_text() == capsys.readouterr().err
    assert "Traceback" in log.read_text() and "KeyError: 'a defect'" in log.read_text()


def test_an_error_is_one_line_in_both(tmp_path, capsys):
    log = tmp_path / "sweep.log"
    with pytest.raises(SystemExit) as ended, log_stderr(log):
        raise OrlaError("a.mat: t is missing")
    assert ended.value.code == 1
    assert log.read_text() == capsys.readouterr().err == "error: a.mat: t is missing\n"


def test_a_log_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "logs").touch()
    with pytest.raises(SystemExit), log_stderr(tmp_path / "logs" / "a.log"):
        pass
    assert "a.log: the log cannot be written (" in capsys.readouterr().err


def test_a_full_disk_swallows_the_log_and_not_the_error(capsys):
    with pytest.raises(SystemExit), log_stderr("/dev/full"):
        raise OrlaError("no space left")
    assert capsys.readouterr().err == "error: no space left\n"


def test_an_interrupted_job_says_nothing(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, log_stderr(tmp_path / "a.log"):
        raise KeyboardInterrupt
    assert (ended.value.code, capsys.readouterr().err) == (130, "")
