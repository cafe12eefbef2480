"""Downloads from a real HTTP server on loopback that serves, stalls, truncates and refuses."""

import gzip
import hashlib
import io
import json
import re
import threading
import time
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
import requests

from orla.errors import OrlaError
from orla.sessions import zenodo

BODY = bytes(range(256)) * 2048  # 512 KiB
MD5 = hashlib.md5(BODY).hexdigest()
QUICK = zenodo.Source(retries=3, timeout_s=0.5)
HEADERS = {
    "trickle": ("Transfer-Encoding", "chunked"),
    "chunked": ("Transfer-Encoding", "chunked"),
    "huge": ("Content-Length", str(1 << 50)),
    "superscript": ("Content-Length", "\N{SUPERSCRIPT TWO}"),
}


class Handler(BaseHTTPRequestHandler):
    """Answers each request by the server's next mode, the last one for ever."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.seen.append((self.path, wanted))
        mode = server.modes.pop(0) if len(server.modes) > 1 else server.modes[0]
        body, self.close_connection = server.body, True
        if isinstance(mode, int):
            return self.answer(mode, b"", {"Retry-After": server.retry_after})
        if mode.startswith("redirect "):
            return self.answer(302, b"", {"Location": mode.removeprefix("redirect ")})
        if mode == "wrong":
            return self.answer(200, body[::-1])
        if mode == "compress":
            return self.answer(200, gzip.compress(body), {"Content-Encoding": "gzip"})
        if mode == "silent":
            return server.released.wait(5)
        if mode in HEADERS:
            self.send_response(200)
            self.send_header(*HEADERS[mode])
            self.end_headers()
            head = {"trickle": b"1000\r\n", "superscript": b""}.get(mode, b"-7\r\n")
            self.wfile.write(head + (body[:10] if mode == "trickle" else body))
            while mode == "trickle" and not server.released.wait(0.05):
                self.wfile.write(b"x")
            return None
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted else 0
        if wanted and start >= len(body):
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
        if mode == "ignore-range" or not wanted:
            start, status, headers = 0, 200, {}
        else:
            stated = 0 if mode == "wrong-range" else start
            status = 206
            headers = {"Content-Range": f"bytes {stated}-{len(body) - 1}/{len(body)}"}
        kept = server.kept if mode in ("truncate", "stall") else None
        self.answer(status, body[start:], headers, kept)
        if mode == "stall":
            self.wfile.flush()
            server.released.wait(5)
        return None

    def answer(self, status, body, headers=None, kept=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # Said as it is done, or a client that follows a redirect may write into what is closed.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body if kept is None else body[:kept])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.body, running.modes, running.seen = BODY, ["serve"], []
    running.kept, running.retry_after, running.released = 200_000, None, threading.Event()
    running.base_url = f"http://127.0.0.1:{running.server_port}/records/1/files"
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.released.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "raw" / "indy 1.mat"


def fetch(server, target, md5=MD5, backoff_s=0.01, **settings):
    about = {"base_url": server.base_url, "md5": {target.stem: md5}}
    zenodo.download(target.stem, target, replace(QUICK, **about, **settings), backoff_s)


def part_of(target):
    """The partial file, whose folder is there."""
    target.parent.mkdir(exist_ok=True)
    return target.with_name(target.name + ".part")


def ranges(server):
    return [wanted for _, wanted in server.seen]


# What the server does, what stands there before, and the ranges that are asked for.
DOWNLOADED = {
    "served": (["serve"], None, [None]),
    "resumed": (["serve"], BODY[:1000], ["bytes=1000-"]),
    "whole already": (["serve"], BODY, []),
    "ranges ignored": (["ignore-range"], b"x" * 1000, ["bytes=1000-"]),
    "another range": (["wrong-range"], BODY[:1000], ["bytes=1000-", None]),
    "a part that is too long": (["serve"], BODY + b"more", [f"bytes={len(BODY) + 4}-", None]),
    "a part of other content": (["serve"], b"x" * 1000, ["bytes=1000-", None]),
    "no answer at first": (["silent", "serve"], None, [None, None]),
    "busy": ([503, 429, "serve"], None, [None, None, None]),
    "a wrong checksum once": (["wrong", "serve"], None, [None, None]),
    "compressed unasked": (["compress"], None, [None]),
    "digits that are no length": (["superscript"], None, [None]),
}


@pytest.mark.parametrize(("modes", "before", "asked"), DOWNLOADED.values(), ids=DOWNLOADED)
def test_the_file_is_whole_and_leaves_no_partial(server, target, modes, before, asked):
    server.modes = [*modes]
    if before is not None:
        part_of(target).write_bytes(before)
    fetch(server, target)
    assert target.read_bytes() == BODY
    assert ranges(server) == asked
    assert {path for path, _ in server.seen} <= {"/records/1/files/indy%201.mat"}
    assert [path.name for path in target.parent.iterdir()] == [target.name]


# What the server does, settings, the error's words, and how often it is asked.
REFUSED = {
    "forbidden": ([403], {}, r"indy%201\.mat.*HTTP 403.*check the file name", 1),
    "gone": ([410], {}, r"indy%201\.mat.*HTTP 410.*check the file name", 1),
    "busy for good": ([503], {}, "failed 4 times, at last: HTTP 503", 4),
    "wrong twice": (["wrong"], {}, rf"not {MD5}, twice in a row; check", 2),
    "slow": (["trickle"], {"retries": 1}, "failed 2 times, at last: slower than 1000 bytes a", 2),
    "broken": (["chunked"], {"retries": 1}, "failed 2 times, .* broke within the file", 2),
    "without end": (["huge"], {"retries": 1}, "more than 20 GiB; check the base URL", 1),
}


@pytest.mark.parametrize(("modes", "settings", "words", "asked"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_had_is_one_error(server, target, modes, settings, words, asked):
    server.modes = [*modes]
    with pytest.raises(OrlaError, match=words):
        fetch(server, target, **settings)
    assert len(server.seen) == asked and not target.exists()
    if settings == {} and server.modes != [503]:
        assert not list(target.parent.iterdir())


def test_a_file_is_replaced_unless_it_has_the_right_checksum(server, target):
    server.base_url += "/"  # which makes no difference
    target.parent.mkdir()
    target.write_bytes(b"old")
    fetch(server, target)
    assert target.read_bytes() == BODY
    target.with_name("checksums.csv").write_text(f"session,md5\n{target.stem},{MD5.upper()}\n")
    zenodo.download(target.stem, target, replace(QUICK, base_url=server.base_url))
    assert len(server.seen) == 1


@pytest.mark.parametrize("mode", ["truncate", "stall"])
def test_a_body_that_always_ends_early_is_given_up_and_gone_on_with(server, target, mode):
    server.modes, server.kept = [mode], 70_000
    with pytest.raises(OrlaError, match=r"indy 1\.mat.*failed 3 times.*try again later"):
        fetch(server, target, retries=2, timeout_s=0.2)
    assert not target.exists() and BODY.startswith(part_of(target).read_bytes())
    server.modes = ["serve"]
    fetch(server, target)
    assert target.read_bytes() == BODY
    first, *others = ranges(server)
    # At least one chunk of what arrived is kept each time, so each request asks for less.
    begins = [int(wanted[6:-1]) for wanted in others]
    assert first is None and 0 < begins[0] < begins[1] < begins[2] and len(begins) == 3


def test_failures_count_anew_after_each_megabyte(server, target):
    server.body = BODY * 10
    md5 = hashlib.md5(server.body).hexdigest()
    # A line that breaks for good after a megabyte; a server that came back is asked no more.
    server.kept, server.modes = 1_200_000, ["truncate", 503, 503, "serve"]
    with pytest.raises(OrlaError, match="failed 3 times, at last: HTTP 503"):
        fetch(server, target, md5=md5, retries=2)
    assert len(server.seen) == 3
    part_of(target).unlink()
    server.modes = ["truncate"]
    fetch(server, target, md5=md5, retries=1)
    assert target.read_bytes() == server.body and len(server.seen) > 6


DOUBLED = [30.0, 60.0, 120.0, 120.0]


@pytest.mark.parametrize(
    ("retry_after", "pauses"),
    [("900", [120.0] * 4), ("1", [1.0] * 4), ("Wed, 21 Oct 2015 07:28:00 GMT", [0.0] * 4)]
    + [(text, DOUBLED) for text in (None, "\N{SUPERSCRIPT TWO}", 5000 * "9")]
    + [("Mon, 01 Jan 99999 00:00:00 GMT", DOUBLED)],
)
def test_pauses_double_or_are_the_servers_two_minutes_at_most(
    server, target, monkeypatch, retry_after, pauses
):
    slept = []
    clock = SimpleNamespace(sleep=slept.append, monotonic=time.monotonic)
    monkeypatch.setattr(zenodo, "time", clock)
    server.modes, server.retry_after = [503, 503, 503, 503, "serve"], retry_after
    fetch(server, target, retries=4, backoff_s=30.0)
    assert slept == pauses


def test_a_full_disk_is_one_clear_error(server, target, monkeypatch):
    # Every write there fails with ENOSPC.
    full = partial(open, "/dev/full", "wb", 0)
    monkeypatch.setattr(zenodo, "open", lambda *_: full(), raising=False)
    with pytest.raises(OrlaError, match=r"indy 1\.mat\.part: no space left on the disk; free some"):
        fetch(server, target)
    assert not target.exists()
    assert len(server.seen) == 1


def test_what_is_no_server_or_no_address_is_one_error(target):
    with pytest.raises(OrlaError, match="failed 2 times"):
        fetch(SimpleNamespace(base_url="http://127.0.0.1:9"), target, retries=1)
    with pytest.raises(OrlaError, match="mend the base URL"):  # and no retry
        fetch(SimpleNamespace(base_url="http://["), target, backoff_s=30.0)


def test_a_redirect_is_followed_unless_it_has_no_end_or_sense(server, target):
    for to in ("/records/1/files/indy%201.mat", "file:///etc/passwd", "http://["):
        server.modes = [f"redirect {to}"]
        with pytest.raises(OrlaError, match="cannot be requested"):
            fetch(server, target)
        assert not list(target.parent.iterdir())
    server.modes = ["redirect /elsewhere", "serve"]
    fetch(server, target)
    assert [path for path, _ in server.seen[-2:]] == ["/records/1/files/indy%201.mat", "/elsewhere"]


def test_a_redirect_from_an_encrypted_address_to_an_open_one_is_refused(target, monkeypatch):
    answer = requests.Response()
    answer.status_code, answer.url = 200, "http://elsewhere.org/records/1"
    answer.raw = io.BytesIO()
    monkeypatch.setattr(requests, "get", lambda *_, **__: answer)
    url, words = (
        "https://zenodo.org/records/1",
        r"redirects to http://elsewhere\.org.*not encrypted",
    )
    with pytest.raises(OrlaError, match=words):
        fetch(SimpleNamespace(base_url=url), target)
    with pytest.raises(OrlaError, match=words):
        zenodo.find_and_pin_md5("indy", zenodo.Source(list_url=url), target.with_name("pins.csv"))


def test_a_folder_or_a_link_in_the_files_place_is_refused(server, target):
    part = part_of(target)
    for place, kind in ((target, "folder"), (part, "folder"), (part, "link")):
        place.mkdir() if kind == "folder" else place.symlink_to(target.parent / "elsewhere")
        with pytest.raises(OrlaError, match=f"a {kind} stands where the file goes; remove it"):
            fetch(server, target)
        place.rmdir() if kind == "folder" else place.unlink()
    assert server.seen == [] and not list(target.parent.iterdir())


# Checksums that the config does not give.

LISTED = {
    "one.mat": "md5:" + "1" * 32,
    "two.mat": "md5:" + "2" * 32,
    "notes.txt": "md5:" + "3" * 32,
}


def listed(server, files=LISTED):
    files = [{"key": name, "checksum": checksum} for name, checksum in files.items()]
    server.body = json.dumps({"files": files}).encode()
    return zenodo.Source(list_url=f"{server.base_url}/record")


def test_the_list_is_asked_once_where_the_config_has_no_checksum_and_pinned(server, tmp_path):
    pins, source = tmp_path / "new" / "pins.csv", listed(server)
    assert zenodo.find_and_pin_md5("one", replace(source, md5={"one": "a" * 32}), pins) == "a" * 32
    assert server.seen == [] and not pins.exists()
    assert zenodo.find_and_pin_md5("two", source, pins) == "2" * 32
    assert pins.read_text().split() == ["session,md5", "one," + "1" * 32, "two," + "2" * 32]
    listed(server, {"one.mat": "md5:" + "9" * 32})
    assert zenodo.find_and_pin_md5("one", source, pins) == "1" * 32  # a change of it changes no pin
    assert len(server.seen) == 1
    # Nor does a list that has grown.
    pins.write_text("session,md5\none," + "7" * 32 + "\n")
    listed(server)
    assert [zenodo.find_and_pin_md5(n, source, pins) for n in ("two", "one")] == [
        "2" * 32,
        "7" * 32,
    ]


@pytest.mark.parametrize(
    ("mode", "body", "message"),
    [
        ("serve", None, "the record has no file too.mat; the nearest is"),
        (404, None, "the list of files cannot be had"),
        ("serve", "<html>", "no list of files|cannot be had"),
        ("serve", "{}", "no list of files"),
        ("serve", '{"files": [{"key": "one.mat"}]}', "no list of files"),
        ("serve", '{"files": [{"key": "too.mat", "checksum": 7}]}', "the record has no file too"),
        ("serve", "[" * 100_000, "no list of files"),
    ],
)
def test_a_list_that_does_not_help_is_one_line(server, tmp_path, mode, body, message):
    source, server.modes = listed(server), [mode]
    server.body = server.body if body is None else body.encode()
    with pytest.raises(OrlaError, match=message) as refused:
        zenodo.find_and_pin_md5("too", source, tmp_path / "pins.csv")
    assert "\n" not in str(refused.value) and not (tmp_path / "pins.csv").exists()


def test_a_table_of_pins_that_is_none_is_refused(tmp_path):
    for text in ("name,md5\none,1\n", "session,md5\none\n", "", "\xff"):
        (tmp_path / "pins.csv").write_text(text, encoding="latin-1")
        with pytest.raises(OrlaError, match="restore or delete it"):
            zenodo.find_and_pin_md5("one", zenodo.Source(), tmp_path / "pins.csv")
