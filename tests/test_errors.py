"""How a program and a job end on an error, and the log of a job."""

import re
import sys

import pytest

from orla.errors import OrlaError, exit_in_one_line, log_stderr


def test_stderr_goes_to_terminal_and_log(tmp_path, capsys):
    log = tmp_path / "logs" / "sweep.log"
    with log_stderr(log):
        print("half way", file=sys.stderr)
        assert not sys.stderr.isatty()
    print("after", file=sys.stderr)
    assert log.read_text() == "half way\n"
    assert capsys.readouterr().err == "half way\nafter\n"


def test_a_log_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "logs").touch()
    with pytest.raises(SystemExit), log_stderr(tmp_path / "logs" / "a.log"):
        pass
    assert "a.log: the log cannot be written (" in capsys.readouterr().err


def test_a_full_disk_swallows_the_log_and_not_the_error(capsys):
    with pytest.raises(SystemExit), log_stderr("/dev/full"):
        raise OrlaError("no space left")
    assert capsys.readouterr().err == "error: no space left\n"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyError("a defect"), 1, "Traceback .*KeyError: 'a defect'\n"),
        (OrlaError("t is missing;\n  mend it"), 1, "error: t is missing; mend it\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_ends_a_job_with_a_line_and_a_defect_with_its_traceback(
    tmp_path, capsys, error, status, message
):
    with pytest.raises(SystemExit) as ended, log_stderr(tmp_path / "a.log"):
        raise error
    shown = capsys.readouterr().err
    assert ended.value.code == status and shown == (tmp_path / "a.log").read_text()
    assert re.fullmatch(message, shown, re.DOTALL)


def test_exit_in_one_line_lets_a_defect_pass_through():
    with pytest.raises(KeyError), exit_in_one_line():
        raise KeyError("a defect")
