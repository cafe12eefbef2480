"""Tabular streams: networks beside River's models."""

import pandas as pd

from orla.probes.prequential import Prequential
from orla.reports.cells import Row, cell, ends, value
from orla.reports.numbers import count, memory
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables.base import PANEL, Contents, Table
from orla.reports.tables.shared import mean_intervals
from orla.study.keys import KEYS

MEASURE = next(iter(Prequential.part.more["columns"]))
# Name of one of River's models -> what a reader calls it, in the order of tables and legends.
PEERS = {
    "forest": "Adaptive Random Forest",
    "tree": "Hoeffding tree",
    "logistic": "logistic regression",
    "no-change": "no change (the last class)",
    "majority": "majority (the commonest class)",
}


def model(row: Row, study: StudyFacts) -> str:
    """What a reader calls the model of a row, which has a peer or the keys of a condition."""
    if isinstance(row["peer"], str):
        return PEERS.get(row["peer"], row["peer"])
    kinds = ["architecture", "learner", "optimizer"]
    kinds += ["intervention"] if row["intervention"] != "none" else []
    kinds += ["start"] if row["start"] != "fresh" else []
    return ", ".join(study.called(kind, row[kind]) for kind in kinds)


class Streaming(
    Table, name="streaming", label="Tabular streams", chapter="streams", order=10,
    needs=("measured", "peers", "speed"),
):  # fmt: skip
    """A panel a stream, a row a model: prequential accuracy, time and memory."""

    says = """Prequential accuracy: each row is predicted, then learned. The first windows are left
    out for every model, because a network's learning rate is chosen there; River's models have
    River's defaults. Brackets: 95 % t interval over n seeds, each with a stream of its own where a
    generator draws it. CPU time of a row, with its prediction, was taken while the study ran: of
    networks by the compiled loop, in batches; of River's models a row at a time. Memory: of a
    network its weights, the optimizer's state and what the learner carries; of River's models as
    River counts it at the end."""
    cells = (
        cell("Model", lambda line: model(line.row, line.study), align="l"),
        ends("Accuracy (%)", "mean", "t95_low", "t95_high", digits=2),
        value("n", "n_seeds", count),
        value("µs a row", "us"),
        value("Memory", "bytes", memory),
    )

    def rows(
        self, measured: pd.DataFrame, peers: pd.DataFrame, speed: pd.DataFrame, *, study: StudyFacts
    ) -> pd.DataFrame:
        networks = measured[measured["measure"] == MEASURE].drop(columns="measure")
        networks = networks[networks["task"].isin(peers["task"])].assign(peer=None)
        if peers.empty:
            return networks
        once = peers.drop_duplicates(["task", "peer", "seed"]).rename(columns={MEASURE: "mean"})
        means = mean_intervals(once, ["task", "peer"], ["mean"])
        means = means.rename(columns={f"mean_{end}": f"t95_{end}" for end in ("low", "high")})
        both = pd.concat([study.arrange(networks), means], ignore_index=True)
        both = both.merge(speed, how="left", on=[*KEYS, "peer"])
        return both.assign(**{PANEL: both["task"].map(lambda task: study.called("task", task))})

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        return [
            f"The paper on {row['task']} ({row['place']}): {row['accuracy']:g} by immediate "
            f"derivatives with Adam, {row['accuracy_adaptive_forest']:g} by the forest, whose size "
            "it does not state."
            for row in load().in_text("accuracy_adaptive_forest")
            if row["task"] in {*contents.rows["task"]}
        ]
