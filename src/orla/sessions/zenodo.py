"""Recordings from Zenodo, or any server of files: resumed, retried, checked against an MD5.

Checksums that the config does not give are those of the record's own list, which is then pinned.
"""

import csv
import hashlib
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import requests
import urllib3

from orla.catalogue import option
from orla.errors import OrlaError
from orla.files import MOST_TEXT, atomic, is_disk_full, read_file, reraise_in_one_line
from orla.progress import bar
from orla.schema import nearest_hint

_CHUNK_BYTES = 1 << 16
_PROGRESS_BYTES = 1 << 20
_MOST_BYTES = 20 << 30
_LEAST_BYTES_S = 1000
_LONGEST_PAUSE_S = 120.0
_WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Source:
    """The recordings of O'Doherty, Cardoso, Makin and Sabes on Zenodo."""

    base_url: str = option(
        "https://zenodo.org/records/3854034/files", "Folder on the web that holds the .mat files."
    )
    list_url: str = option(
        "https://zenodo.org/api/records/3854034",
        "The record's list of files, for checksums that md5 does not give.",
    )
    retries: int = option(5, "How often a broken download is resumed.", least=0)
    timeout_s: float = option(60, "Seconds of silence after which a download is broken.", above=0)
    spikes_outside: str = option(
        "refuse",
        "Treatment of spikes outside the time base of the positions.",
        choices=("refuse", "drop"),
    )
    md5: dict[str, str] = option({}, "MD5 checksum of each file, by the name of its session.")

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise OrlaError(f'odoherty: "base_url" is {self.base_url}; give one with https://')
        for session, md5 in self.md5.items():
            if not re.fullmatch("[0-9a-f]{32}", md5):
                raise OrlaError(
                    f'odoherty: "md5.{session}" is {md5}; give 32 digits from 0 to 9 and a to f'
                )


class _Interrupted(Exception):
    """The download stopped for a time: the reason, and the server's Retry-After (s) or None."""


def _require_secure(url: str, final_url: str) -> None:
    """Refuse an encrypted address whose answer comes, after redirects, from one that is not."""
    if url.startswith("https:") and not final_url.startswith("https:"):
        raise OrlaError(
            f"{url}: the server redirects to {final_url}, which is not encrypted; check the address"
        )


def find_and_pin_md5(session: str, source: Source, pins_csv: Path) -> str:
    """The MD5 checksum that a session's file must have.

    It is the config's; else the one pinned in the file `pins_csv`; else that of the record's list,
    which is then pinned whole, so that a later change of the record is noticed. OrlaError: the list
    cannot be had or read, or the file is not in it.
    """
    if session in source.md5:
        return source.md5[session]
    header = ["session", "md5"]
    rows = [header]
    if pins_csv.exists():
        with reraise_in_one_line(pins_csv, "no table", "restore or delete it"):
            rows = list(csv.reader(read_file(pins_csv, MOST_TEXT).decode().splitlines()))
    if rows[:1] != [header] or any(len(row) != 2 for row in rows):
        raise OrlaError(f"{pins_csv}: not a table of {' and '.join(header)}; restore or delete it")
    checksums = dict(rows[1:])
    if session not in checksums:
        checksums = _download_checksums(source.list_url, source.timeout_s) | checksums
        if session not in checksums:
            near = nearest_hint(session, checksums)
            raise OrlaError(f"{source.list_url}: the record has no file {session}.mat; {near}")
        with atomic(pins_csv) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *sorted(checksums.items())])
    return checksums[session]


def _download_checksums(url: str, timeout_s: float) -> dict[str, str]:
    """Checksums by session, from a record's JSON (``files``: ``key`` and ``checksum`` of each)."""
    try:
        with requests.get(url, timeout=timeout_s, stream=True) as answer:
            answer.raise_for_status()
            _require_secure(url, answer.url)
            record = json.loads(answer.raw.read(MOST_TEXT, decode_content=True))
        files = {str(file["key"]): str(file["checksum"]) for file in record["files"]}
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise OrlaError(
            f"{url}: the list of files cannot be had ({error}); try again, or give the checksum "
            'under "odoherty.md5"'
        ) from None
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise OrlaError(f"{url}: no list of files ({error!r}); check odoherty.list_url") from None
    return {
        name.removesuffix(".mat"): checksum.removeprefix("md5:")
        for name, checksum in files.items()
        if name.endswith(".mat") and re.fullmatch("md5:[0-9a-f]{32}", checksum)
    }


def download(session: str, path: str | Path, source: Source, backoff_s: float = 1.0) -> None:
    """Download a session's ``.mat`` unless it is there already, whole and of the right checksum.

    Data is written to ``<path>.part`` until the MD5 checksum (`find_and_pin_md5`, pinned in
    ``checksums.csv`` beside it) is right. An interrupted download is resumed, in this run or the
    next, by range requests (RFC 9110 section 14); after a wrong checksum it starts once more.
    Retries count anew with each megabyte. `backoff_s` is the pause before the first, doubled each
    time up to two minutes, unless the server names one. OrlaError: the server refuses the file,
    stays unreachable, or serves another one; a folder or link in its place; a full disk.
    """
    path = Path(path)
    url = f"{source.base_url.rstrip('/')}/{quote(session)}.mat"
    md5 = find_and_pin_md5(session, source, path.with_name("checksums.csv")).lower()
    if path.is_file() and _file_md5(path) == md5:
        return
    part = path.with_name(path.name + ".part")
    for place in (path, part):
        if place.is_dir() or part.is_symlink():
            kind = "a folder" if place.is_dir() else "a link"
            raise OrlaError(f"{place}: {kind} stands where the file goes; remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        # A run that ended between the last byte and the renaming leaves a whole partial file.
        if not (part.is_file() and _file_md5(part) == md5):
            _download_rest(url, part, source, backoff_s)
        if (digest := _file_md5(part)) == md5:
            os.replace(part, path)
            return
        part.unlink()
    raise OrlaError(
        f"{path}: {url} has MD5 {digest}, not {md5}, twice in a row; "
        "check the file name, the base URL and the checksum"
    )


def _download_rest(url: str, part: Path, source: Source, backoff_s: float) -> None:
    """Download what `part` lacks, with retries."""
    failures, furthest = 0, _file_size(part)
    while True:
        try:
            return _request_once(url, part, source.timeout_s)
        except _Interrupted as interruption:
            # Only failures without progress count: a poor line may break often.
            (reason, pause_s), size = interruption.args, _file_size(part)
            failures = 1 if size >= furthest + _PROGRESS_BYTES else failures + 1
            furthest = max(furthest, size)
            if failures > source.retries:
                raise OrlaError(
                    f"{part}: {url} failed {failures} times, at last: {reason}; "
                    "try again later, it goes on from what has arrived"
                ) from interruption
            pause_s = backoff_s * 2 ** (failures - 1) if pause_s is None else pause_s
            time.sleep(min(pause_s, _LONGEST_PAUSE_S))


def _request_once(url: str, part: Path, timeout_s: float) -> None:
    """One request: append to `part`, or write it anew where the server sends the whole file."""
    start = _file_size(part)
    # Compression would make the lengths in the headers differ from the bytes written.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=timeout_s) as answer:
            _save_body(url, part, answer, _require_body_start(url, part, answer, start), timeout_s)
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _Interrupted(f"no answer, or silence for {timeout_s:g} s", None) from error
    except urllib3.exceptions.HTTPError as error:
        raise _Interrupted("the connection broke within the file", None) from error
    except (requests.RequestException, ValueError) as error:
        raise OrlaError(f"{url}: cannot be requested ({error}); mend the base URL") from error


def _require_body_start(url: str, part: Path, answer: requests.Response, start: int) -> int:
    """Judge the answer's status; return the byte at which its body begins."""
    _require_secure(url, answer.url)
    status = answer.status_code
    if status == requests.codes.ok:
        return 0
    if start and status in (requests.codes.partial, requests.codes.requested_range):
        if answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            return start
        # Another range than the one asked for, or the partial file is as long as the file or more.
        part.unlink()
        raise _Interrupted("the server cannot go on from what has arrived", 0.0)
    if status in _WORTH_RETRYING:
        pause_s = None
        with suppress(urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
            pause_s = urllib3.Retry().get_retry_after(answer.raw)
        raise _Interrupted(f"HTTP {status} {answer.reason}", pause_s)
    raise OrlaError(
        f"{url}: the server answers HTTP {status} {answer.reason}; "
        "check the file name and the base URL"
    )


def _save_body(
    url: str, part: Path, answer: requests.Response, start: int, timeout_s: float
) -> None:
    """Write the body as it arrives, which is neither endless nor slower than a least rate."""
    total = start + (answer.raw.length_remaining or 0)
    progress = bar(total, f"downloading {part.stem}", "B")
    try:
        with open(part, "ab" if start else "wb") as file, progress:
            progress.update(start)
            size, before, since = start, start, time.monotonic()
            while chunk := answer.raw.read1(_CHUNK_BYTES, decode_content=True):
                file.write(chunk)
                progress.update(len(chunk))
                size += len(chunk)
                if max(size, total) > _MOST_BYTES:
                    raise OrlaError(f"{url}: more than {_MOST_BYTES >> 30} GiB; check the base URL")
                if time.monotonic() > since + timeout_s:
                    if size < before + _LEAST_BYTES_S * timeout_s:
                        raise _Interrupted(f"slower than {_LEAST_BYTES_S} bytes a second", None)
                    before, since = size, time.monotonic()
    except OSError as error:
        if is_disk_full(error):
            raise OrlaError(
                f"{part}: no space left on the disk; free some in {part.parent} and run again, "
                "the download goes on from what has arrived"
            ) from error
        raise


def _file_size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _file_md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
