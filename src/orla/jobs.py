"""What every job of a workflow does: it keeps a log and its cost, and looks for plug-ins."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orla import catalogue
from orla.errors import logged
from orla.provenance import cost


@contextmanager
def job(
    log: str | Path, result: str | Path, rest: str = "other", plugins: Sequence[str | Path] = ()
) -> Iterator[None]:
    """Run the block as a job: see `errors.logged`, `cost.measured` and `catalogue.use_plugins`."""
    with logged(log), cost.measured(result, rest):
        catalogue.use_plugins(plugins)
        yield
