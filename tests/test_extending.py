"""docs/extending.md is made of the files of tests/plugins, and keeps to what the code declares.

A code block follows a line that names its file. To write the blocks anew after a change of a file:

    python tests/test_extending.py
"""

import dataclasses
import re
from pathlib import Path

from orla import catalogue

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/extending.md"
PLUGINS = ROOT / "tests/plugins"
_BLOCK = re.compile(r"^`(tests/plugins/\S+)`:\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def filled(page):
    """The page with each block as its file is."""

    def block(found):
        file, language, _ = found.groups()
        return f"`{file}`:\n\n```{language}\n{(ROOT / file).read_text()}```"

    return _BLOCK.sub(block, page)


def test_each_block_is_its_file():
    page = PAGE.read_text()
    assert filled(page) == page, "run: python tests/test_extending.py"
    assert len(_BLOCK.findall(page)) == len(re.findall(r"^```\w", page, re.MULTILINE))
    changed = page.replace("f * state)", "state)")
    assert filled(changed) == page != changed


def test_every_file_is_printed_in_the_page():
    shown = [file for file, _, _ in _BLOCK.findall(PAGE.read_text())]
    files = [*PLUGINS.glob("*.py"), *PLUGINS.rglob("*.yaml")]
    assert sorted(shown) == sorted(f.relative_to(ROOT).as_posix() for f in files)
    # A second network, the config, a registration and its two amendments.
    assert len(shown) == len(catalogue.KIND_PACKAGES) + 5


def test_every_kind_has_its_declarations_on_the_page():
    """The keywords of a class statement that only one kind of part has, and those of all."""
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
    everywhere = {f.name for f in dataclasses.fields(catalogue.Declaration)} - {"more"}
    head = sections["What every part has"]
    assert {word for word in everywhere if f"`{word}`" in head} == everywhere
    for kind in catalogue.KIND_PACKAGES:
        [text] = [t for title, t in sections.items() if title.split()[-1].lower() == kind]
        base = next(iter(catalogue.parts(kind).values())).__mro__
        [root] = [c for c in base if vars(c).get("kind") == kind]
        missing = [word for word in root.declares if f"`{word}`" not in text]
        assert missing == [], kind
        wanted = [n for n in getattr(root, "__abstractmethods__", ()) if f"`{n}`" not in text]
        assert wanted == [], kind


def test_the_code_block_that_tries_a_part_runs():
    section = PAGE.read_text().partition("## Test a part\n")[2]
    code = "\n".join(re.findall(r"^    (.*)$", section, re.MULTILINE))
    before, names = catalogue.plugin_folders(), {}
    catalogue.use_plugins([])
    try:
        exec(code.replace("tests/plugins", str(PLUGINS)), names)
    finally:
        catalogue.use_plugins(before)
    assert names["errors"].shape == (2, 50)
    assert set(names["updates"]) == set(names["network"].shapes())
    section = " ".join(section.split())
    kinds = section.partition("is the kind of part: ")[2].partition(".")[0]
    assert kinds.replace(" or ", ", ").split(", ") == list(catalogue.KIND_PACKAGES)


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links and all((PAGE.parent / link).exists() for link in links)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
