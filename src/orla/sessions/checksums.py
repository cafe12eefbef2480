"""Checksums of files that the config gives none for: from the record's own list, then pinned."""

import csv
import json
import re
from pathlib import Path

import requests
import urllib3

from orla.errors import OrlaError
from orla.files import MOST_TEXT, as_one_line, atomic, content
from orla.schema import nearest
from orla.sessions.zenodo import Source, require_secure

_HEADER = ["session", "md5"]


def md5_of(session: str, source: Source, pins: Path) -> str:
    """The MD5 checksum of a session's file, which is called after it, with ``.mat``.

    It is the config's; else the one pinned in the CSV file `pins`; else that of the record's list
    of files. The list is then pinned whole, so that a later change of the record is noticed.
    OrlaError: The list cannot be had or read, or the file is not in it.
    """
    if session in source.md5:
        return source.md5[session]
    checksums = _read_pins(pins)
    if session not in checksums:
        checksums = _download_list(source.list_url, source.timeout_s) | checksums
        if session not in checksums:
            raise OrlaError(
                f"{source.list_url}: the record has no file {session}.mat; "
                f"{nearest(session, checksums)}"
            )
        with atomic(pins) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([_HEADER, *sorted(checksums.items())])
    return checksums[session]


def _read_pins(pins: Path) -> dict[str, str]:
    if not pins.exists():
        return {}
    with as_one_line(pins, "no table", "restore or delete it"):
        rows = list(csv.reader(content(pins, MOST_TEXT).decode().splitlines()))
    if rows[:1] != [_HEADER] or any(len(row) != 2 for row in rows):
        raise OrlaError(f"{pins}: not a table of {' and '.join(_HEADER)}; restore or delete it")
    return dict(rows[1:])


def _download_list(url: str, timeout_s: float) -> dict[str, str]:
    """Checksums by session, from a record's JSON (``files``: ``key`` and ``checksum`` of each)."""
    try:
        with requests.get(url, timeout=timeout_s, stream=True) as answer:
            answer.raise_for_status()
            require_secure(url, answer.url)
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
