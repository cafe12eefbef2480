import io

from orla import progress
from orla.progress import bar


def test_a_short_job_stays_silent(capsys):
    assert list(bar(range(5), "short")) == [0, 1, 2, 3, 4]
    with bar(3, "counted") as counted:
        counted.update(3)
    assert capsys.readouterr().err == ""


def test_a_long_job_writes_plain_lines_where_stderr_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_DELAY_S", 0)
    list(bar(range(3), "long job"))
    text = capsys.readouterr().err
    assert "long job: 3 of 3, 00:00 gone, 00:00 left" in text and "\r" not in text
    assert text.endswith("\n") and not any(line == "" for line in text.splitlines())


def test_a_terminal_gets_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(progress, "_DELAY_S", 0)
    monkeypatch.setattr("sys.stderr", terminal)
    list(bar(range(3), "long job"))
    assert "\r" in terminal.getvalue()


def test_what_went_before_the_first_step_does_not_count_for_the_time_left():
    with bar(10, "compiled at first") as counted:
        counted.start_t -= 100.0
        counted.last_print_t -= 100.0
        progress.advance(counted, 5)
        # Ten seconds a step from then on, whatever the first five took.
        counted.start_t -= 10.0
        counted.last_print_t -= 10.0
        progress.advance(counted, 1)
        assert "6 of 10, 00:10 gone, 00:40 left" in str(counted)
