"""A supplement of a study: code, config, registrations, results and reports as one RO-Crate.

The crate follows Workflow Run RO-Crate 0.5 (Leo et al. 2024, PLoS ONE 19(9): e0309210): the
Snakefile is the workflow, and one run of it made the reports from the config.
"""

from __future__ import annotations

import argparse
import mimetypes
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from orla.errors import OrlaError
from orla.files import atomic, results_in, sha256
from orla.provenance import collect

WORKFLOW = "Snakefile"
_PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
)
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_SHA256 = "https://w3id.org/ro/terms/workflow-run#sha256"
_LICENCES = {"MIT": "https://spdx.org/licenses/MIT"}
# Below results: what a rerun makes at once, what says nothing of the study, and the data.
_LEFT_OUT = {"logs", "benchmarks", "sessions", "programs.txt"}
_KINDS = {".parquet": "application/vnd.apache.parquet", ".smk": "text/x-python"}
_KINDS |= {".safetensors": "application/octet-stream", ".npz": "application/zip"}


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``archive`` to a program's subcommands."""
    parser = subparsers.add_parser("archive", help="bundle a study as a Workflow Run RO-Crate")
    parser.add_argument("file", type=Path, metavar="FILE.zip")
    parser.add_argument("--configfile", type=Path, nargs="+", default=[], help="of the study")
    parser.set_defaults(run=_run_archive)


def _run_archive(arguments: argparse.Namespace) -> None:
    from orla.study.config import read_plan  # imports the study

    overlays = [path for path in arguments.configfile if path != Path("config.yaml")]
    plan = read_plan(overlays).config
    results, reports = (Path(plan["pathvars"][name]) for name in ("results", "reports"))
    folders = [*plan.get("plugins", []), *plan["registrations"]["folders"]]
    further = [path for folder in folders for path in sorted(Path(folder).rglob("*"))]
    further = [p for p in further if p.is_file() and "__pycache__" not in p.parts]
    configs = [Path("config.yaml"), *overlays]
    write_crate(arguments.file, plan["name"], configs, results, reports, further)
    print(f"{arguments.file}: {arguments.file.stat().st_size / 1e6:.1f} MB")


def write_crate(
    file: Path,
    name: str,
    configs: list[Path],
    results: Path,
    reports: Path,
    further: Sequence[Path] = (),
) -> None:
    """Write the crate of a study in this folder, with `configs`: config.yaml and its overlays.

    further: files of plug-ins and registrations, which git need not have.

    OrlaError where rocrate is missing, this is no git checkout, nothing has been run, or a file
    holds the home folder or the name of this host.
    """
    try:
        from rocrate.rocrate import ROCrate
    except ImportError:
        raise OrlaError(
            "an archive needs the library rocrate; pip install 'orla[archive]'"
        ) from None
    outputs = [p for p in results_in(results) if not {*p.relative_to(results).parts} & _LEFT_OUT]
    outputs += sorted(path for path in reports.rglob("*") if path.is_file())
    page = reports / "index.html"
    if page not in outputs:
        raise OrlaError(f"{page}: not here; run the study first: snakemake {page}")
    files = dict.fromkeys([*_code_files(), *further, *configs, *outputs])
    for path in files:
        _refuse_private_content(path)
    end_time = datetime.fromtimestamp(int(page.stat().st_mtime), UTC)
    about = yaml.safe_load(Path("CITATION.cff").read_text("utf-8"))
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = _SHA256
    crate.name = f"{about['title']}, study {name}"
    crate.description = f"Code, settings, registrations, results and reports of the study {name}."
    crate.datePublished, root = end_time, crate.root_dataset
    licence = _add_entity(crate, _LICENCES[about["license"]], "CreativeWork", name=about["license"])
    root["license"] = licence
    root["conformsTo"] = [
        _add_entity(crate, url, "CreativeWork", name=label, version=version)
        for url, label, version in _PROFILES
    ]
    [author] = about["authors"]
    root["author"] = _add_entity(crate, "#author", "Organization", name=author["name"])
    entries = {
        path: crate.add_file(path, path.as_posix(), properties=_file_properties(path))
        for path in files
        if path != Path(WORKFLOW)
    }
    workflow = crate.add_workflow(
        WORKFLOW, WORKFLOW, main=True, lang="snakemake", properties=_file_properties(Path(WORKFLOW))
    )
    workflow["hasPart"] = [e for p, e in entries.items() if p.parts[0] == "workflow"]
    workflow["author"], workflow["license"] = root["author"], licence
    workflow["version"] = about["version"]
    workflow["conformsTo"] = _add_entity(
        crate, _BIOSCHEMAS, "CreativeWork", name="ComputationalWorkflow"
    )
    if readme := entries.get(Path("README.md")):
        readme["about"] = root
    run = {
        "name": f"Run of the study {name}",
        "description": f"snakemake all --configfile {' '.join(map(str, configs))}",
        "endTime": end_time.isoformat(),
    }
    action = _add_entity(crate, "#run", "CreateAction", **run)
    action["instrument"] = workflow
    registrations = [path for path in entries if path.parts[0] == "prereg"]
    action["object"] = [entries[path] for path in (*configs, *registrations)]
    action["result"] = [entries[path] for path in outputs]
    root["mentions"] = action
    with atomic(file) as partial:
        crate.write_zip(partial)


def _add_entity(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    entity = ContextEntity(crate, identifier, properties={"@type": kind, **properties})
    return crate.add(entity)


def _file_properties(path: Path) -> Mapping[str, Any]:
    """What the crate says of a file: name, format, SHA-256 and size."""
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    about = {"name": path.as_posix(), "encodingFormat": kind, "sha256": sha256(path)}
    return about | {"contentSize": str(path.stat().st_size)}


def _code_files() -> list[Path]:
    """The files of the checkout that the study is run with; tests and pictures are left out."""
    if (names := collect.git_output(Path(), "ls-files")) is None:
        raise OrlaError("this is no git checkout; run in the folder of the Snakefile")
    left_out = {"tests", "benchmarks", "docs", ".ci", "results", "reports"}
    paths = [Path(name) for name in names.splitlines()]
    return [path for path in paths if path.parts[0] not in left_out and path.is_file()]


def _refuse_private_content(path: Path) -> None:
    """Refuse (OrlaError) a file that holds the home folder or the name of this host."""
    private = [f"{Path.home()}/"]
    if len(host := socket.gethostname()) > len("localhost"):
        private.append(host)
    content = path.read_bytes()
    if leaks := [text for text in private if text.encode() in content]:
        raise OrlaError(
            f"{path}: holds {leaks[0]}, which tells of this machine; give paths relative to the "
            "study's folder, and run it again"
        )
