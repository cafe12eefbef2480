import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orla.errors import OrlaError
from orla.sessions.checksums import md5_of
from orla.sessions.zenodo import Source

RECORD = {
    "files": [
        {"key": "one.mat", "checksum": "md5:" + "1" * 32},
        {"key": "two.mat", "checksum": "md5:" + "2" * 32},
        {"key": "notes.txt", "checksum": "md5:" + "3" * 32},
    ]
}


@pytest.fixture
def record():
    """Serves a record's description; `answers` holds the body and counts the requests."""
    answers = {"body": json.dumps(RECORD), "asked": 0}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answers["asked"] += 1
            self.send_response(200 if self.path == "/record" else 404)
            self.end_headers()
            self.wfile.write(answers["body"].encode())

        def log_message(self, *given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    answers["url"] = f"http://127.0.0.1:{server.server_port}/record"
    yield answers
    server.shutdown()


def test_a_checksum_of_the_config_needs_no_list(tmp_path):
    source = Source(md5={"one": "a" * 32}, list_url="http://127.0.0.1:9/none")
    assert md5_of("one", source, tmp_path / "pins.csv") == "a" * 32
    assert not (tmp_path / "pins.csv").exists()


def test_the_list_is_asked_once_and_pinned(record, tmp_path):
    pins, source = tmp_path / "new" / "pins.csv", Source(list_url=record["url"])
    assert md5_of("two", source, pins) == "2" * 32
    assert pins.read_text().split() == ["session,md5", "one," + "1" * 32, "two," + "2" * 32]
    record["body"] = json.dumps({"files": [{"key": "one.mat", "checksum": "md5:" + "9" * 32}]})
    assert md5_of("one", source, pins) == "1" * 32  # a change of the record changes no pin
    assert record["asked"] == 1


def test_what_was_pinned_stays_when_the_list_grows(record, tmp_path):
    pins = tmp_path / "pins.csv"
    pins.write_text("session,md5\none," + "7" * 32 + "\n")
    source = Source(list_url=record["url"])
    assert md5_of("two", source, pins) == "2" * 32
    assert md5_of("one", source, pins) == "7" * 32


@pytest.mark.parametrize(
    "path, body, message",
    [
        ("", None, "the record has no file too.mat; the nearest is"),
        ("x", None, "the list of files cannot be had"),
        ("", "<html>", "no list of files|cannot be had"),
        ("", "{}", "no list of files"),
        ("", '{"files": [{"key": "one.mat"}]}', "no list of files"),
        ("", '{"files": [{"key": "too.mat", "checksum": 7}]}', "the record has no file too.mat"),
        ("", "[" * 100_000, "no list of files"),
    ],
)
def test_a_list_that_does_not_help_is_one_line(record, tmp_path, path, body, message):
    record["body"] = record["body"] if body is None else body
    with pytest.raises(OrlaError, match=message) as refused:
        md5_of("too", Source(list_url=record["url"] + path), tmp_path / "pins.csv")
    assert "\n" not in str(refused.value) and not (tmp_path / "pins.csv").exists()


@pytest.mark.parametrize("text", ["name,md5\none,1\n", "session,md5\none\n", "", "\xff"])
def test_a_table_of_pins_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "pins.csv").write_text(text, encoding="latin-1")
    with pytest.raises(OrlaError, match="restore or delete it"):
        md5_of("one", Source(), tmp_path / "pins.csv")
