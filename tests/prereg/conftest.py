"""A small registration, and a folder to lock it in."""

import made_claims
import pytest
import yaml


@pytest.fixture
def document():
    return made_claims.document()


@pytest.fixture
def write(tmp_path):
    """Write a document to prereg/<name>.yaml in a fresh folder and return its path."""
    folder = tmp_path / "prereg"
    (folder / "amendments").mkdir(parents=True)

    def write(document, name="small-gap"):
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    write.folder = folder
    return write
