"""What every job of a workflow does: it keeps a log and its cost, and looks for plug-ins."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while libraries load is no traceback

from collections.abc import Iterator, Sequence  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from pathlib import Path  # noqa: E402

from orla import catalogue, processes  # noqa: E402
from orla.errors import log_stderr  # noqa: E402
from orla.provenance import cost  # noqa: E402


@contextmanager
def job(
    log: str | Path,
    result: str | Path,
    default_phase: str = "other",
    plugins: Sequence[str | Path] = (),
) -> Iterator[None]:
    """Run the block as a job: see `errors.log_stderr`, `cost.record` and `catalogue.use_plugins`.

    SIGTERM ends it as Ctrl-C does, without half-written files. On Linux the end of Snakemake,
    however it came, is such a signal: a job does not outlive the run that it belongs to.
    """
    processes.treat_as_interrupt(signal.SIGINT, signal.SIGTERM)
    processes.end_with_parent(signal.SIGTERM)
    with log_stderr(log), cost.record(result, default_phase):
        catalogue.use_plugins(plugins)
        yield
