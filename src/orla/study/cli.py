"""``orla schema``, ``verify`` and ``provenance``: what parts declare, and what results are."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import yaml

from orla.catalogue.entries import FILE, packaged_declarations
from orla.errors import OrlaError
from orla.files import atomic, sha256
from orla.study import compatibility
from orla.study.config_schema import config_schema
from orla.study.declarations import describe_parts

_HEAD = "# Made of what parts declare, by: python -m orla schema\n"


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``schema``, ``verify`` and ``provenance`` to a program's subcommands."""
    parser = subparsers.add_parser("schema", help="write declarations and the config's schema")
    files = {"file": Path("workflow/schemas/config.schema.yaml"), "declarations": FILE}
    for name, path in files.items():
        parser.add_argument(name, nargs="?", type=Path, default=path, help="default: %(default)s")
    parser.set_defaults(run=_write_schema)
    parser = subparsers.add_parser("verify", help="look at every result of a study")
    parser.add_argument("--configfile", type=Path, nargs="+", default=[], help="of the study")
    parser.set_defaults(run=_verify_results)
    words = "what a result was made from, back to the recordings"
    parser = subparsers.add_parser("provenance", help=words)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.set_defaults(run=_print_provenance)


def _verify_results(arguments: argparse.Namespace) -> None:
    """Print every problem of a study's results; OrlaError where there is one."""
    from orla.study.config import read_plan
    from orla.study.verification import faulty_results, sealed_files

    plan = read_plan(arguments.configfile)
    results = Path(plan.config["pathvars"]["results"])
    if not (count := len(sealed_files(results))):
        raise OrlaError(f"{results}: nothing has been run yet; snakemake all")
    lines = list(faulty_results(plan, results))
    for line in lines:
        print(line)
    if lines:
        raise OrlaError(f"{len(lines)} of {count} results in {results} are not what is asked for")
    print(f"{results}: {count} results are whole and what is asked for")


def _print_provenance(arguments: argparse.Namespace) -> None:
    """Print what a result was made from, file by file, indented by depth."""
    from orla.provenance import digest
    from orla.study.verification import SEALED, read_verified_provenance

    if not arguments.file.is_file():
        raise OrlaError(f"{arguments.file}: there is no such file; name one of a study's results")
    if arguments.file.suffix not in SEALED:
        raise OrlaError(
            f"{arguments.file}: holds no record of what it was made from; name a result "
            f"({', '.join(SEALED)}) that it was made from"
        )
    queue, paths = [(arguments.file, 0)], set()
    while queue:
        path, depth = queue.pop()
        if path in paths:
            continue
        paths.add(path)
        if path.suffix not in SEALED or (depth and not digest.has_digest(path)):
            print(f"{'  ' * depth}{path}: {sha256(path)[:16]}")
            continue
        source = read_verified_provenance(path)
        code, data = source.get("code", {}), source.get("dataset", {})
        facts = [str(code.get("commit", ""))[:12], str(data.get("label", ""))]
        facts += [
            f"plug-in {name} {sha[:9]}"
            for name, sha in code.get("files", {}).items()
            if isinstance(sha, str) and not name.startswith("orla/")
        ]
        for key, value in source.get("keys", {}).items():
            several = value["mixed"] if isinstance(value, dict) else [value]
            facts += [f"{key} {' and '.join(map(str, several))}"] * bool(value)
        print(f"{'  ' * depth}{path}: {', '.join(filter(None, facts))}")
        inputs = [path.parent / name for name in source.get("inputs", {})]
        files = [Path(os.path.relpath(file)) for file in inputs if file.is_file()]
        queue += [(file, depth + 1) for file in reversed(files)]


def _write_schema(arguments: argparse.Namespace) -> None:
    """Write the config's schema, and the file of what parts declare."""
    from orla.engine import memory

    parts = describe_parts()
    schema = json.loads(json.dumps(config_schema(parts)))  # without anchors for what is shared
    text = yaml.safe_dump(schema, sort_keys=False, allow_unicode=True, width=100)
    _write_text(arguments.file, _HEAD + text)
    entries = {"parts": parts, "memory": memory.mb_by_network_and_learner(), "fits": []}
    _write_text(arguments.declarations, _json_text(entries))
    packaged_declarations.cache_clear()  # the plans are made with what has just been written
    _write_text(
        arguments.declarations, _json_text(entries | {"fits": _compatible_combination_digests()})
    )


def _write_text(file: Path, text: str) -> None:
    with atomic(file) as partial:
        partial.write_text(text, encoding="utf-8")


def _compatible_combination_digests() -> list[str]:
    """Digests of combinations in config.yaml, alone and with each overlay, that no part refuses."""
    from orla.study.config import read_plan

    configs = [[], *([overlay] for overlay in Path("config").glob("*.yaml"))]
    combinations = {
        combination
        for config in configs
        for combination in compatibility.collect_combinations(read_plan(config))
    }
    answers = zip(combinations, compatibility.find_refusals(combinations), strict=True)
    return sorted(compatibility.combination_digest(c) for c, refusal in answers if refusal is None)


def _json_text(value: Any, depth: int = 3) -> str:
    """JSON with a line for each part."""
    if not depth or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = (f"{json.dumps(key)}: {_json_text(entry, depth - 1)}" for key, entry in value.items())
    return "{\n" + ",\n".join(inner) + "\n}" + "\n" * (depth == 3)
