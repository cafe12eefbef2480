"""YAML of a user's own hand: what could mean something else is refused in one line."""

from itertools import pairwise

import pytest

from orla.errors import OrlaError
from orla.yaml_files import read_yaml

LAUGHS = "a: &a [1]\n"
LAUGHS += "".join(f"{n}: &{n} [{f'*{m},' * 9}]\n" for m, n in pairwise("abcdefgh"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file"),
        (b"title: [\nx: 1", r"x\.yaml: not valid YAML at line 2"),
        (b"title: \xff", "not UTF-8"),
        ("a: {at_most: 0, strict: true, at_most: 99}", '"at_most" stands twice, again at line 1'),
        ("a: 1\n2016-06-30: 1", 'key at line 2 is no text; write "2016-06-30"'),
        ("? [a, b]\n: 1", "key at line 1 is no text; name it"),
        ("a: &x\n  b: *x", "endless or huge"),
        (LAUGHS, "endless or huge"),
        ("[" * 100_000, "nested more than 50 deep at line 1"),
        ("a: 2016-13-45", r"cannot be read \(month must be"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("a: !!timestamp x", "cannot be read"),
        ("b: 1\na: [.nan]", r"\.nan at line 2 is no finite number"),
        ("a: 1\nb: [2, -010]", "YAML reads -010 at line 2 as -8; leave the leading zero out"),
        ("a: 007", "YAML reads 007 at line 1 as 7"),
        ("a: -.inf", r"-\.inf at line 1 is no finite number"),
        ("a: " + "b" * (1 << 20), "more than the 1048576 that are read"),
    ],
    ids=["absent", "broken", "bytes", "twice", "date", "list", "cycle", "laughs", "deep"]
    + ["calendar", "digits", "tag", "nan", "eights", "zeros", "inf", "large"],
)
def test_yaml_that_could_mean_something_else_is_refused(tmp_path, text, words):
    path = tmp_path / "x.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(OrlaError, match=words) as error:
        read_yaml(path)
    assert path.name in str(error.value) and "\n" not in str(error.value)
