"""A small registration, its tables, and a folder to lock it in."""

import copy

import pandas as pd
import pytest
import yaml

DOCUMENT = {
    "title": "The gap is small",
    "date": "2026-11-21",
    "question": "Is the gap small?",
    "hypothesis": "The gap lies within 3 pp.",
    "existing_data": {"status": "not-generated", "statement": "Nothing was known."},
    "data": "Sessions A and B.",
    "conditions": {"optimizer": ["adam", "lars"], "learner": ["rtrl", "immediate"]},
    "criteria": [
        {
            "result": "gaps",
            "where": {"optimizer": "adam", "split": "50-50"},
            "columns": {
                "estimate": "gap_pp",
                "low": "low_pp",
                "high": "high_pp",
                "n": "n_seeds",
                "diverged": "n_diverged",
                "unreliable": "unreliable",
            },
            "interval": "95 % bootstrap interval over seeds",
            "unit": "pp",
            "region": {"between": [-3, 3], "strict": True},
        }
    ],
    "margin": {"statement": "3 pp.", "source": "The paper."},
    "sample": {
        "unit": "seed",
        "size": 20,
        "minimum": 18,
        "rationale": "Power.",
        "stopping_rule": "All 20 are run.",
    },
    "exclusions": {"rule": "None.", "divergence": "Counted.", "max_diverged": 2},
    "manipulation_checks": [
        {
            "name": "both adapt",
            "why": "Failures agree too.",
            "result": "conditions",
            "where": {"optimizer": "adam", "learner": ["rtrl", "immediate"]},
            "column": "low_percent",
            "region": {"at_least": 0, "strict": True},
        },
        {
            "name": "inside the grid",
            "why": "Best rates.",
            "result": "conditions",
            "where": {"optimizer": "adam"},
            "column": "edge",
            "region": {"equals": False},
        },
    ],
    "outcomes": {
        "supported": "The full gradient buys nothing.",
        "falsified": "The full gradient matters.",
        "inconclusive": "The seeds do not settle it.",
        "untestable": "The runs cannot tell.",
    },
}


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


@pytest.fixture
def tables():
    return {
        "gaps": pd.DataFrame(
            {
                "optimizer": ["adam", "adam", "lars"],
                "split": ["50-50", "80-20", "50-50"],
                "gap_pp": [0.2, 50.0, 60.0],
                "low_pp": [-1.0, 40.0, 50.0],
                "high_pp": [1.5, 60.0, 70.0],
                "n_seeds": [20, 5, 5],
                "n_diverged": [0, 0, 0],
                "unreliable": [False, False, False],
            }
        ),
        "conditions": pd.DataFrame(
            {
                "optimizer": ["adam", "adam", "lars"],
                "learner": ["rtrl", "immediate", "immediate"],
                "low_percent": [30.0, 35.0, -5.0],
                "edge": [False, False, True],
            }
        ),
    }


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
