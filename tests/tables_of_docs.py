"""Tables of docs that tests and benchmarks write, each between two comments of its name."""

from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/reliability.md"


def table(head: list[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write(name: str, head: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Put a table in its place in docs/reliability.md."""
    put(PAGE, name, table(head, rows))


def put(page: Path, name: str, text: str) -> None:
    """Put a text in its place on a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    after = rest.partition(f"<!-- end of {name} -->")[2]
    page.write_text(
        f"{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->{after}", encoding="utf-8"
    )


def held(name: str) -> list[list[str]]:
    """Cells of the rows that stand on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")[2]
    lines = text.partition(f"<!-- end of {name} -->")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
