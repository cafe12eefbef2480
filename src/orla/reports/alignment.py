"""What the table and the figure of learners share: gradients that are held to an exact one."""

import pandas as pd

from orla.reports.study import StudyFacts
from orla.study.keys import KEYS


def rows_against_exact(learners: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The rows of `learners` whose reference declares itself exact, of several the first one."""
    exact = [
        name
        for name in study.ordered("learner", learners["against"])
        if study.declaration("learner", name).get("exactness") == "exact"
    ]
    rows = learners[learners["against"].isin(exact)]
    place = rows["against"].map(exact.index)
    return rows[place == place.groupby([rows[key] for key in KEYS]).transform("min")]


def reference_names(rows: pd.DataFrame, study: StudyFacts) -> str:
    """What the references of these rows are called: "exact RTRL, per step"."""
    names = study.ordered("learner", rows["against"])
    return " or ".join(study.called("learner", name) for name in names)
