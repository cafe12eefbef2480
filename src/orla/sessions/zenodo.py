"""Files from Zenodo, or any server of files: resumed, retried, and checked against an MD5."""

import hashlib
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
from orla.files import is_disk_full
from orla.progress import bar

_CHUNK_BYTES = 1 << 16
_PROGRESS_BYTES = 1 << 20
_MOST_BYTES = 20 << 30
_LEAST_BYTES_S = 1000
_LONGEST_PAUSE_S = 120.0
_WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}
_RANGE_NOT_SATISFIABLE = 416


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


def file_url(base_url: str, file_name: str) -> str:
    """The address of a file in a folder on the web."""
    return f"{base_url.rstrip('/')}/{quote(file_name)}"


def require_secure(url: str, final_url: str) -> None:
    """Refuse an encrypted address whose answer comes, after redirects, from one that is not."""
    if url.startswith("https:") and not final_url.startswith("https:"):
        raise OrlaError(
            f"{url}: the server redirects to {final_url}, which is not encrypted; check the address"
        )


def download(url: str, path: str | Path, md5: str, source: Source, backoff_s: float = 1.0) -> None:
    """Download a file unless it is there already, whole and with the right checksum.

    Data is written to ``<path>.part`` until the MD5 checksum is right. An interrupted download is
    resumed, in this run or the next, where the server supports it (HTTP range requests, RFC 9110
    section 14). After a wrong checksum the download starts once more from the beginning. The count
    of retries starts anew with each further megabyte. `backoff_s` is the pause before the first
    one, doubled each time up to two minutes, unless the server names one. OrlaError: the server
    refuses the file, stays unreachable, or serves another one; a folder or a link stands in the
    file's place; or the disk is full.
    """
    path, md5 = Path(path), md5.lower()
    if path.is_file() and _md5(path) == md5:
        return
    part = path.with_name(path.name + ".part")
    for place in (path, part):
        if place.is_dir() or part.is_symlink():
            kind = "a folder" if place.is_dir() else "a link"
            raise OrlaError(f"{place}: {kind} stands where the file goes; remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        # A run that ended between the last byte and the renaming leaves a whole partial file.
        if not (part.is_file() and _md5(part) == md5):
            _complete(url, part, source, backoff_s)
        if (digest := _md5(part)) == md5:
            os.replace(part, path)
            return
        part.unlink()
    raise OrlaError(
        f"{path}: {url} has MD5 {digest}, not {md5}, twice in a row; "
        "check the file name, the base URL and the checksum"
    )


def _complete(url: str, part: Path, source: Source, backoff_s: float) -> None:
    """Download what `part` lacks, with retries."""
    failures, furthest = 0, _size(part)
    while True:
        try:
            return _fetch(url, part, source.timeout_s)
        except _Interrupted as interruption:
            # Only failures without progress count: a poor line may break often.
            reason, pause_s = interruption.args
            failures = 1 if _size(part) >= furthest + _PROGRESS_BYTES else failures + 1
            furthest = max(furthest, _size(part))
            if failures > source.retries:
                raise OrlaError(
                    f"{part}: {url} failed {failures} times, at last: {reason}; "
                    "try again later, it goes on from what has arrived"
                ) from interruption
            pause_s = backoff_s * 2 ** (failures - 1) if pause_s is None else pause_s
            time.sleep(min(pause_s, _LONGEST_PAUSE_S))


def _fetch(url: str, part: Path, timeout_s: float) -> None:
    """One request: append to `part`, or write it anew where the server sends the whole file."""
    start = _size(part)
    # Compression would make the lengths in the headers differ from the bytes written.
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=timeout_s) as answer:
            start = _accept(url, part, answer, start)
            _save(url, part, answer, start, timeout_s)
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _Interrupted(f"no answer, or silence for {timeout_s:g} s", None) from error
    except urllib3.exceptions.HTTPError as error:
        raise _Interrupted("the connection broke within the file", None) from error
    except (requests.RequestException, ValueError) as error:
        raise OrlaError(f"{url}: cannot be requested ({error}); mend the base URL") from error


def _accept(url: str, part: Path, answer: requests.Response, start: int) -> int:
    """Judge the answer's status; return the byte at which its body begins."""
    require_secure(url, answer.url)
    status = answer.status_code
    if status == requests.codes.ok:
        return 0
    if start and status in (requests.codes.partial, _RANGE_NOT_SATISFIABLE):
        if answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            return start
        # Another range than the one asked for, or the partial file is as long as the file or more.
        part.unlink()
        raise _Interrupted("the server cannot go on from what has arrived", 0.0)
    if status in _WORTH_RETRYING:
        pause_s = None
        with suppress(urllib3.exceptions.InvalidHeader):
            pause_s = urllib3.Retry().get_retry_after(answer.raw)
        raise _Interrupted(f"HTTP {status} {answer.reason}", pause_s)
    raise OrlaError(
        f"{url}: the server answers HTTP {status} {answer.reason}; "
        "check the file name and the base URL"
    )


def _save(url: str, part: Path, answer: requests.Response, start: int, timeout_s: float) -> None:
    """Write the body as it arrives, which is neither endless nor slower than a least rate."""
    total = start + (answer.raw.length_remaining or 0)
    try:
        progress = bar(total, f"downloading {part.stem}", "B")
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


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
