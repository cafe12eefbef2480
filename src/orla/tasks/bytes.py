"""Next-byte prediction on text that ships with Python."""

import functools
import hashlib
import importlib
import platform
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from orla.catalogue import option
from orla.errors import OrlaError
from orla.tasks.shift import Shift
from orla.tasks.stream import Stream

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
# Name of a vocabulary -> its bytes; every other byte is one category more, the last.
VOCABULARIES = {
    "letters": _LETTERS + b" \n",
    "printable": bytes([*range(32, 127), ord("\n")]),
    "all": bytes(range(256)),
}


@dataclass(frozen=True)
class Bytes(
    Shift, name="bytes", label="bytes, {first} to {second}", order=40, loss="cross_entropy"
):
    """The next byte of a text from the present one; inputs are one-hot, targets categories.

    Both texts come with the running Python, whose version is recorded: `prose` is its manual
    (pydoc_data.topics), `code` the source files of its modules in the order of their names. Each
    seed starts reading a text at its own offset (uniform) and continues at the beginning of the
    text when it reaches the end.
    """

    simulated: ClassVar[bool] = False
    pretraining: int = option(8000, "Steps of the part that networks are pretrained on.", least=1)
    adapt: int = option(3000, "Steps of the part that they adapt to.", least=2)
    first: str = option("prose", "Text of pretraining.", choices=("prose", "code"))
    second: str = option("code", "Text after the shift.", choices=("prose", "code"))
    vocabulary: str = option(
        "printable",
        "Bytes told apart: `letters` without case, blank, newline; `printable` ASCII; `all`.",
        choices=tuple(VOCABULARIES),
    )

    def streams(self, rngs: Sequence[np.random.Generator]) -> tuple[Stream, Stream]:
        (table, count), streams = _category_table(self.vocabulary), []
        excerpts = (self.first, self.pretraining + self.after), (self.second, self.after)
        for name, steps in excerpts:
            values = table[np.frombuffer(read_text(name), np.uint8)]
            if len(values) <= steps:
                raise OrlaError(
                    f"task bytes: the text {name} has {len(values)} bytes and {steps + 1} are "
                    "needed; shorten pretraining, adapt or heldout"
                )
            begins = np.array([[rng.integers(len(values))] for rng in rngs])
            Y = np.take(values, begins + np.arange(steps + 1), mode="wrap")
            streams.append(Stream(np.eye(count)[Y[:, :-1]], Y[:, 1:]))
        return tuple(streams)

    def describe(self) -> dict[str, Any]:
        names = dict.fromkeys((self.first, self.second))
        sums = [f"{name} {hashlib.sha256(read_text(name)).hexdigest()[:12]}" for name in names]
        return {
            "n_out": _category_table(self.vocabulary)[1],
            "source": f"library of Python {platform.python_version()} (SHA-256: {', '.join(sums)})",
        }


def _category_table(vocabulary: str) -> tuple[np.ndarray, int]:
    """Category of each byte (256,), and how many categories there are."""
    alphabet = VOCABULARIES[vocabulary]
    table = np.full(256, len(alphabet), np.int64)
    table[list(alphabet)] = range(len(alphabet))
    if vocabulary == "letters":
        table[list(_LETTERS.upper())] = table[list(_LETTERS)]
    return table, int(table.max()) + 1


@functools.cache
def read_text(name: str) -> bytes:
    """The text `prose` or `code`."""
    library, texts = Path(sysconfig.get_path("stdlib")), []
    if name == "code":
        # Modules whose names begin with _ are left out: some are written at installation.
        texts = [file.read_bytes() for file in sorted(library.glob("[!_]*.py"))]
    else:
        with suppress(ImportError):
            topics = importlib.import_module("pydoc_data.topics").topics
            texts = [topics[topic].encode() for topic in sorted(topics)]
    if not any(texts):
        raise OrlaError(
            f"task bytes: the text {name} is missing from the library of this Python, {library}; "
            "install its documentation and sources, or give first and second another text"
        )
    return b"\n".join(texts)
