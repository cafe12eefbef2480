"""Tables of docs/reliability.md that tests write, each between two comments of its name."""

from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/reliability.md"


def table(head: list[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write(name: str, head: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Put a table in its place on the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    after = rest.partition(f"<!-- end of {name} -->")[2]
    text = f"{before}<!-- {name} -->\n{table(head, rows)}\n<!-- end of {name} -->{after}"
    PAGE.write_text(text, encoding="utf-8")


def held(name: str) -> list[list[str]]:
    """Cells of the rows that stand on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")[2]
    lines = text.partition(f"<!-- end of {name} -->")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
