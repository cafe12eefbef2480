"""The archive of a study, held to its profile by a public validator without a network."""

import io
import json
import socket
import subprocess
import zipfile
from pathlib import Path

import pytest
import urllib3
from requests.adapters import HTTPAdapter

from orla.errors import OrlaError
from orla.provenance import archive

ROOT = Path(__file__).parents[2]
CONTEXT = "https://w3id.org/ro/crate/1.1/context"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A checkout with a study's results, another study's below them, logs and sessions."""
    monkeypatch.chdir(tmp_path)
    for name in ("Snakefile", "config.yaml", "CITATION.cff", "README.md", "LICENSE"):
        Path(name).write_bytes((ROOT / name).read_bytes())
    for name in (
        "workflow/rules/adaptation.smk",
        "prereg/claim.yaml",
        "tests/test_nothing.py",
        "results/verdicts.parquet",
        "results/indy/streams.npz",
        "results/indy/sessions/a.nwb",
        "results/logs/verdict.log",
        "results/other/verdicts.parquet",
        "reports/index.html",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name)
    code = ["Snakefile", "config.yaml", "CITATION.cff", "README.md", "workflow", "prereg", "tests"]
    subprocess.check_call(["git", "init", "-q"])
    subprocess.check_call(["git", "add", *code])
    return tmp_path


def write(file="study.zip", further=()):
    folders = [Path("config.yaml")], Path("results"), Path("reports")
    archive.write_crate(Path(file), "mine", *folders, further)
    with zipfile.ZipFile(file) as held:
        held.extractall("crate")
        return json.loads(held.read("ro-crate-metadata.json"))


def problems(crate):
    """What the validator requires of a Workflow Run RO-Crate and misses in this one."""
    import rocrate
    from requests_cache import CachedSession
    from rocrate_validator import services

    class Local(HTTPAdapter):
        def send(self, request, **_):
            text = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
            kind = {"Content-Type": "application/ld+json"}
            body = urllib3.HTTPResponse(
                io.BytesIO(text), headers=kind, status=200, preload_content=False
            )
            return self.build_response(request, body)

    session = CachedSession("contexts", expire_after=-1)
    session.mount("https://", Local())
    for accept in ("application/ld+json", "*/*"):
        session.get(CONTEXT, headers={"Accept": accept})
    settings = {"rocrate_uri": str(crate), "profile_identifier": "workflow-run-crate-0.5"}
    settings |= {"requirement_severity": "REQUIRED", "offline": True, "cache_path": "contexts"}
    settings |= {"skip_availability_check": True, "cache_max_age": -1}
    return [issue.message for issue in services.validate(settings).get_issues()]


def test_the_archive_is_a_workflow_run_crate_and_a_damaged_one_is_not(study):
    metadata = write()
    assert problems("crate") == []
    for entity in metadata["@graph"]:
        if entity["@id"] == "#run":
            del entity["instrument"]
    Path("crate/ro-crate-metadata.json").write_text(json.dumps(metadata))
    assert any("instrument" in message for message in problems("crate"))


def test_it_holds_code_settings_registrations_results_and_reports_of_this_study_alone(study):
    Path("mine.py").write_text("")  # a plug-in that git does not have
    entities = {entity["@id"]: entity for entity in write(further=[Path("mine.py")])["@graph"]}
    files = {path.relative_to("crate").as_posix() for path in Path("crate").rglob("*.*")}
    assert {"results/verdicts.parquet", "results/indy/streams.npz", "prereg/claim.yaml"} <= files
    assert "mine.py" in files
    left_out = ("tests/test_nothing.py", "results/indy/sessions/a.nwb", "results/logs/verdict.log")
    assert not files & {*left_out, "results/other/verdicts.parquet"}
    run = entities["#run"]
    assert {"@id": "prereg/claim.yaml"} in run["object"]
    assert {"@id": "reports/index.html"} in run["result"]
    assert entities["results/verdicts.parquet"]["contentSize"] == "24"


@pytest.mark.parametrize(
    ("text", "told"),
    [(f"{Path.home()}/data", "tells of this machine"), (socket.gethostname() + "-x" * 9, "")],
)
def test_a_file_that_names_the_home_folder_or_the_host_is_refused(study, monkeypatch, text, told):
    monkeypatch.setattr(socket, "gethostname", lambda: text)
    Path("results/indy/streams.npz").write_text(f"made in {text}")
    with pytest.raises(OrlaError, match=f"streams.npz: holds .*{told}"):
        write()


def test_a_study_that_was_not_run_is_refused(study):
    Path("reports/index.html").unlink()
    with pytest.raises(OrlaError, match="run the study first: snakemake reports/index"):
        write()
