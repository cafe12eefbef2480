"""HDF5 files that others wrote: damage is reported in one line."""

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any

import h5py

from orla.errors import OrlaError, prefix_errors
from orla.files import MOST_NUMBERS

_MOST_PACKED = 2000  # which no packing of a recording reaches; gzip packs zeros to a thousandth
_PATIENCE_S = 10.0
_CELLS = "#refs#/"  # of MATLAB's cell arrays; those that are read are looked at then
_OUTSIDE = (
    "lies in another file; use one file that holds it itself, such as pynwb.NWBHDF5IO.export or "
    "h5repack writes"
)
_OTHERS = {
    b"version https://git-lfs": "a pointer of Git LFS (git lfs pull)",
    b"/annex/": "a pointer of git-annex (git annex get)",
    b"<!doctype": "a web page, such as a login",
    b"<html": "a web page, such as a login",
    b"\x1f\x8b": "packed by gzip (gunzip)",
    b"pk\x03\x04": "packed by zip (unzip)",
    b"matlab 5.0": "a MATLAB file before v7.3 (save -v7.3)",
}


@contextmanager
def open_checked(
    path: Path,
    format_name: str,
    opener: Callable[[Path], AbstractContextManager[Any]],
    *,
    zarr: bool = False,
) -> Iterator[Any]:
    """The content of a file, as `opener(path)` gives it; every error of the block names the file.

    `format_name` is the expected format in messages; `zarr`: whether it opens folders in Zarr too.
    OrlaError: there is no such file, and why it cannot be read: a folder, no permission, locked,
    packed by a filter that is missing, an extension that is missing, another format, cut short or
    damaged; and every OrlaError of the block.
    """
    if path.is_dir():
        if not is_zarr(path):
            raise OrlaError(f"{path}: it is a folder, and HDF5 is read; export it to one HDF5 file")
        if not zarr or find_spec("hdmf_zarr") is None:
            mend = "pip install 'orla[zarr]', or " if zarr else ""
            raise OrlaError(f"{path}: it is a folder in Zarr; {mend}export it to one HDF5 file")
    elif not path.is_file():
        raise OrlaError(f"{path}: there is no such file; download it or mend the path")
    with prefix_errors(path), ExitStack() as stack:
        try:
            if path.is_file():
                _require_sound(path)
            yield stack.enter_context(opener(path))
        except OrlaError:
            raise
        except Exception as error:  # pynwb and hdmf raise many kinds for a file that is no NWB
            raise OrlaError(
                f"cannot be read as {format_name}: {_error_cause(path, error)}"
            ) from error


def _require_sound(path: Path) -> None:
    """Refuse a file in which HDF5 crashes or comes to no end, or whose data are not in it.

    A process of its own looks, because nothing else stops the HDF5 library in a damaged file.
    """
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=lambda: sender.send(_find_external_or_missing_data(path)))
    process.start()
    sender.close()
    fault = "HDF5 fails, or comes to no end, in it: a part is damaged; get the file again"
    with suppress(EOFError):
        fault = receiver.recv() if receiver.poll(_PATIENCE_S) else fault
    process.kill()
    process.join()
    if fault:
        raise OrlaError(fault)


def _find_external_or_missing_data(path: Path) -> str:
    """A fault: data that lie in another file, or that the file announces and lacks; "" for none.

    What cannot be read at all is left to the reader.
    """
    faults: list[str] = []

    def link(name: bytes, about: h5py.h5l.LinkInfo) -> None:
        if about.type == h5py.h5l.TYPE_EXTERNAL:
            faults.append(f"{name.decode(errors='replace')} {_OUTSIDE}")

    def item(name: str, item: h5py.Dataset | h5py.Group) -> None:
        with suppress(OSError):
            dict(item.attrs)
        if not isinstance(item, h5py.Dataset):
            return
        if item.external or item.is_virtual:
            faults.append(f"{name} {_OUTSIDE}")
        most_numbers = _MOST_PACKED * item.id.get_storage_size() // item.dtype.itemsize
        size = 0 if name.startswith(_CELLS) else item.size or 0
        if size > max(MOST_NUMBERS, most_numbers):
            faults.append(f"{name}: {size} numbers are said to be there, and are not; mend it")
        elif item.dtype.kind == "O" and 0 < size < MOST_NUMBERS >> 6:
            item[()]

    with suppress(Exception), h5py.File(path) as file:
        dict(file.attrs)
        file.id.links.visit(link, info=True)
        file.visititems(item)
    return next(iter(faults), "")


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder in Zarr."""
    return any((path / name).exists() for name in (".zgroup", ".zattrs", "zarr.json"))


def _error_cause(path: Path, error: Exception) -> str:
    """Why a file cannot be read, and the mend, in one line."""
    message = shorten((str(error).splitlines() or [type(error).__name__])[0], 200)
    if isinstance(error, PermissionError) or not os.access(path, os.R_OK):
        return "you have no permission to; ask its owner, or chmod u+r it"
    if "unable to lock file" in message:
        return (
            "it is locked: another program has it open, or its disk knows no locks; close that "
            "program, or set HDF5_USE_FILE_LOCKING=FALSE"
        )
    if extension := re.search(r"'([^']+)' not a namespace", message):
        return (
            f"it uses the extension {extension[1]}, whose definition it does not hold; "
            f"pip install {extension[1]}, or write the file with its specifications"
        )
    if path.is_dir():
        return f"a part is missing, damaged or of another kind ({message}); get the folder again"
    if not h5py.is_hdf5(path):
        head = path.read_bytes()[:512].lstrip().lower()
        for start, what in _OTHERS.items():
            if head.startswith(start):
                return f"it is {what}; get the file itself"
        return f"it is another format, or damaged ({message}); get the file again"
    if filter_fault := _missing_filter(path):
        return filter_fault
    return f"a part is cut short, damaged or of another kind ({message}); get the file again"


def _missing_filter(path: Path) -> str:
    """The first dataset packed by a filter that this HDF5 has not; "" if there is none."""

    def look(name: str, item: h5py.Dataset | h5py.Group) -> str | None:
        plan = item.id.get_create_plist() if isinstance(item, h5py.Dataset) else None
        for i in range(plan.get_nfilters() if plan else 0):
            number, _, _, label = plan.get_filter(i)
            if not h5py.h5z.filter_avail(number):
                which = f"{number} {label.decode(errors='replace')}".strip()
                return (
                    f"{name} is packed by HDF5 filter {which}, for which there is no plug-in; "
                    "pip install hdf5plugin, or repack the file with gzip"
                )
        return None

    with suppress(Exception), h5py.File(path) as file:
        return file.visititems(look) or ""
    return ""
