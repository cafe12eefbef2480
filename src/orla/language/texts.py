"""Text of two kinds that comes with Python, in parts that share no paragraph.

`code` are the sources of its library, `prose` is its manual; another kind is a file of UTF-8 text.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from orla.errors import OrlaError
from orla.files import read_file, reraise_in_one_line
from orla.study.chapter_jobs import SHIPPED_TEXTS
from orla.tasks import bytes as library

PARTS = ("pretraining", "choosing", "streams")


def split_text(source: str, shares: Mapping[str, float]) -> dict[str, str]:
    """The parts of a text: consecutive, each paragraph once, by its first occurrence.

    Paragraphs are set apart by blank lines and alike where they differ in white space alone: the
    manual prints sections twice. The source is `code`, `prose`, or the path of a file; shares are
    of the characters.
    """
    by_words: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", _read_text(source)):
        by_words.setdefault(" ".join(paragraph.split()), paragraph.rstrip() + "\n\n")
    by_words.pop("", None)
    *places, length = accumulate(map(len, by_words.values()), initial=0)
    parts, low = {}, 0.0
    for name in PARTS:
        high = low + shares[name] * length / sum(shares.values())
        paragraphs = zip(places, by_words.values(), strict=True)
        parts[name] = "".join(p for place, p in paragraphs if low <= place < high)
        low = high
    return parts


def _read_text(source: str) -> str:
    if source in SHIPPED_TEXTS:
        return library.read_text(source).decode("utf-8", "replace").replace("\r\n", "\n")
    mend = 'give "language.texts" code, prose or a file in UTF-8'
    with reraise_in_one_line(source, "no text", mend):
        return read_file(source).decode("utf-8").replace("\r\n", "\n")


def token_stream(
    categories: Mapping[str, Sequence[int]], domains: Sequence[str], length: int, place: float
) -> Tensor:
    """Token categories (length + 1,): segments of equal length, one a domain.

    A domain's second segment goes on where its first one ended. `length` tokens are predicted, a
    multiple of the number of segments. Each text is entered at `place`, a fraction of it; its end
    is followed by its beginning.
    """
    size, tokens, positions = length // len(domains), [], {}
    for name in domains:
        values = categories[name]
        if len(values) < domains.count(name) * size + 1:
            raise OrlaError(
                f'config: the text of "{name}" has {len(values)} tokens and a stream reads '
                f"{domains.count(name) * size}; make language.tokens smaller"
            )
        start = positions.setdefault(name, int(place * len(values)))
        # The token after a segment is predicted at the end alone; the next segment replaces it.
        tokens = tokens[:-1] + [values[(start + i) % len(values)] for i in range(size + 1)]
        positions[name] = start + size
    return torch.tensor(tokens)
