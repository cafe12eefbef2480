"""The kept list of careless edits: one YAML file a room, beside this one.

- file: src/orla/study/sweep.py
  tests: [tests/study/test_sweep.py]       # what should notice
  edits:
    - old: 'i == selected'                 # stands in the file exactly once
      new: 'i == selected_on_test'
      tests: [tests/study/test_scores.py]  # optional: others for this edit
      survives: a reason why no test can or need notice   # optional
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Edit:
    room: str
    number: int
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    def __str__(self):
        change = " -> ".join(" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.room}[{self.number}] {self.file}: {change}"

    def applied(self, text):
        """The file's text with the edit; ValueError where the old text is not there just once."""
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self}: the old text stands {times} times in the file")
        return text.replace(self.old, self.new)


def read(rooms=()):
    """The edits of these rooms, or of all, in the order of the files' names."""
    edits = []
    for path in sorted(HERE.glob("*.yaml")):
        if rooms and path.stem not in rooms:
            continue
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = [(block, entry) for block in document for entry in block["edits"]]
        for number, (block, entry) in enumerate(entries):
            tests = tuple(entry.pop("tests", None) or block["tests"])
            edits.append(Edit(path.stem, number, block["file"], tests=tests, **entry))
    return edits
