"""A file that an option of a plug-in's task names is an input of the jobs that the task has."""

import shutil

from running import ROOT, Study

PLUGINS = ROOT / "tests/plugins"
ECHO = {"pretraining": 400, "adapt": 200, "heldout": 100, "window": 50}


def test_a_file_that_a_task_names_is_an_input_of_its_jobs(tmp_path):
    """Of a plug-in: without the file nothing can be planned."""
    study = Study(tmp_path / "study", PLUGINS / "config.yaml")
    plugins = study.folder / "plugins"
    shutil.copytree(PLUGINS, plugins, ignore=shutil.ignore_patterns("__pycache__", "claims"))
    text = (plugins / "echo.py").read_text()
    option = '    recording: str = option("", "A file.", is_file=True)\n'
    text = text.replace("    shifted: int", f"{option}    shifted: int")
    (plugins / "echo.py").write_text(text)
    tasks = {"tasks": {"echo": ECHO | {"recording": "echo.csv"}}}
    study.changed(plugins=["plugins"], registrations={"folders": []}, **tasks)
    status, text = study.snakemake("--dry-run", "all")
    assert status == 1 and "echo.csv" in text
    by_default = (
        (plugins / "echo.py").read_text().replace('option("", "A f', 'option("d.csv", "A f')
    )
    (plugins / "echo.py").write_text(by_default)
    (study.folder / "echo.csv").write_text("1\n")
    assert study.planned()
    study.changed(plugins=["plugins"], registrations={"folders": []}, tasks={"echo": ECHO})
    status, text = study.snakemake("--dry-run", "all")
    assert status == 1 and "d.csv" in text
