"""A study's folder, and Snakemake in it: the same workflow that ``snakemake`` itself runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orla
from orla.command import logger
from orla.errors import OrlaError
from orla.prereg.binding import plan_of
from orla.study.plan import Plan

CONFIG = "config.yaml"


@dataclass(frozen=True)
class Study:
    """A folder with a config.yaml (else OrlaError), overlays of it, options of Snakemake."""

    folder: Path
    overlays: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.folder / CONFIG).is_file():
            raise OrlaError(
                f"{self.folder} is no study: it has no {CONFIG}; go into a study's folder, name it "
                "with --directory, or make one: orla new NAME --from nwb A.nwb B.nwb"
            )
        for path in self.overlays:
            if not path.is_file():
                raise OrlaError(f"{path}: there is no such file; mend the path of --configfile")

    @classmethod
    def at(
        cls,
        where: str | None,
        directory: Path | None = None,
        overlays: Sequence[Path] = (),
        options: Sequence[str] = (),
    ) -> Study:
        """The study of a command line; `where` is its folder or config.yaml, or an overlay."""
        folder, path = directory or Path(), Path(where or "")
        if where and path.is_dir():
            folder = path
        elif where and path.name == CONFIG:
            folder = path.parent
        elif where:
            overlays = [path, *overlays]
        files = tuple(overlay.resolve() for overlay in overlays)
        return cls(folder.resolve(), files, tuple(options))

    def plan(self) -> Plan:
        """The plan of the study's config, from now on with its folder as working directory."""
        os.chdir(self.folder)
        return plan_of(self.overlays)

    def answer(self, since: float = 0.0) -> str:
        """The answer of the last run that wrote a page since that Unix time; "" where none did."""
        path = self._answer_file(self.plan().config)
        is_new = path.is_file() and path.stat().st_mtime >= since
        return path.read_text(encoding="utf-8") if is_new else ""

    def newer_than_answer(self) -> list[str]:
        """The configs and registrations that were written after the last answer."""
        config = self.plan().config
        folders = config["registrations"]["folders"]
        registrations = (path for f in folders for path in sorted(Path(f).glob("*.yaml")))
        paths = [Path(CONFIG), *self.overlays, *registrations]
        made = self._answer_file(config).stat().st_mtime
        return [os.path.relpath(path) for path in paths if path.stat().st_mtime > made]

    def _answer_file(self, config: Mapping[str, Any]) -> Path:
        return self.folder / config["pathvars"]["reports"] / "answer.txt"

    def command(self, *arguments: str) -> list[str]:
        """Snakemake's command line; its working directory is to be `folder`."""
        if find_spec("snakemake") is None:
            raise OrlaError("Snakemake is not installed; run: pip install 'orla[workflow]'")
        overlays = ["--configfile", *map(str, self.overlays)] if self.overlays else []
        return [
            *(sys.executable, "-m", "snakemake", "--logger", "orla"),
            *("--snakefile", str(snakefile()), *arguments, *self.options, *overlays),
        ]

    @staticmethod
    def environment() -> dict[str, str]:
        """This process's environment, with this package for jobs, and its logger for Snakemake."""
        paths = [str(Path(orla.__file__).parents[1]), *logger.__path__]
        if path := os.environ.get("PYTHONPATH"):
            paths.append(path)
        return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def snakefile() -> Path:
    """The workflow beside the package; OrlaError where the package alone was installed."""
    path = Path(orla.__file__).parents[2] / "Snakefile"
    if not path.is_file():
        raise OrlaError(
            f"the workflow is not beside the package ({path} is missing); install orla from its "
            "checkout: pip install --editable '.[workflow]'"
        )
    return path
