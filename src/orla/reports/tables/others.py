"""Other data: tabular streams beside River's models, test-time adaptation in vision."""

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from orla.reports.cells import Row, cell, value, with_interval
from orla.reports.numbers import count, estimate, memory, number, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import PANEL, Contents, Table
from orla.reports.tables.shared import mean_intervals
from orla.study.keys import KEYS
from orla.tasks.river import PEERS

MEASURE = "prequential_accuracy"


def model_name(row: Row, study: StudyFacts) -> str:
    """What a reader calls the model of a row, which has a peer or the keys of a condition."""
    if isinstance(row["peer"], str):
        return PEERS.get(row["peer"], row["peer"])
    kinds = ("architecture", "learner", "optimizer", "intervention", "start")
    usual = {"intervention": "none", "start": "fresh"}
    return ", ".join(study.called(k, row[k]) for k in kinds if row[k] != usual.get(k))


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
        cell("Model", lambda line: model_name(line.row, line.study), align="l"),
        with_interval("Accuracy (%)", "mean", "t95_low", "t95_high", digits=2),
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
        rows = pd.concat([study.arrange(networks), means], ignore_index=True)
        rows = rows.merge(speed, how="left", on=[*KEYS, "peer"])
        return rows.assign(**{PANEL: rows["task"].map(lambda task: study.called("task", task))})

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        return [
            f"The paper on {row['task']} ({row['place']}): {row['accuracy']:g} by immediate "
            f"derivatives with Adam, {row['accuracy_adaptive_forest']:g} by the forest, whose size "
            "it does not state."
            for row in load().rows_in_text("accuracy_adaptive_forest")
            if row["task"] in {*contents.rows["task"]}
        ]


def river_comparison_sentences(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> list[str]:
    """The best network beside River's models, a sentence a stream; [] where none was run."""
    frames = [results.get(name) for name in ("measured", "peers", "speed")]
    if any(frame is None or frame.empty for frame in frames):
        return []
    sentences = []
    for stream, group in Streaming().rows(*frames, study=study).groupby(PANEL, sort=False):
        is_network = group["peer"].isna()
        networks, rivers = (group[rows].to_dict("records") for rows in (is_network, ~is_network))
        best = max(networks, key=lambda row: row["mean"], default=None)
        peers = [f"{model_name(row, study)} {number(row['mean'])} %" for row in rivers]
        if best and peers:
            accuracy = estimate(best["mean"], best["t95_low"], best["t95_high"], n=best["n_seeds"])
            sentences.append(
                f"On {stream}, of the networks {model_name(best, study)} is right most often, in "
                f"{accuracy} % of rows before it learns them; {', '.join(peers)}."
            )
    return sentences


ADAPTS = {"bn": "batch normalization", "lora": "LoRA"}
_CONTROLS = {"none": "not adapted", "statistics": "statistics of the batch alone"}
_COLUMNS = ("error", "recovery", "over_sgd")
_UNCLEAR = "neither clearly more nor less"
# Columns of the paper's numbers on CIFAR-10-C -> (optimizer, measure).
_PAPERS = {
    "adam_percent": ("adam", "recovery"),
    "sgd_percent": ("sgd", "recovery"),
    "beta1_only_percent": ("adam-beta1", "recovery"),
    "beta2_only_percent": ("adam-beta2", "recovery"),
    "adam_minus_sgd_pp": ("adam", "over_sgd"),
}


def recovery_by_corruption(tta: pd.DataFrame) -> pd.DataFrame:
    """A row a corruption and way to adapt, of means over seeds: columns error (%) and recovery (%).

    recovery = 100 (error not adapted - error) / cost, the cost of a corruption on average over all:
    error not adapted, less the error without corruption.
    """
    errors = tta[(tta["measure"] == "error") & ~tta["tuning"]].rename(columns={"value": "error"})
    by = ["adapts", "optimizer", "learning_rate", "edge", "corruption"]
    rows = errors.groupby(by, dropna=False, sort=False, as_index=False)["error"].mean()
    frozen = rows[rows["adapts"] == "none"].set_index("corruption")["error"]
    rows = rows[rows["corruption"] != "clean"].reset_index(drop=True)
    cost = frozen.drop("clean").mean() - frozen["clean"]
    rows["recovery"] = 100 * (rows["corruption"].map(frozen) - rows["error"]) / cost
    sgd = rows[rows["optimizer"] == "sgd"].set_index(["adapts", "corruption"])["recovery"]
    sgd_recovery = sgd.reindex(pd.MultiIndex.from_frame(rows[["adapts", "corruption"]])).to_numpy()
    return rows.assign(over_sgd=(rows["recovery"] - sgd_recovery).where(rows["optimizer"] != "sgd"))


def tent_optimizer_sentences(tta: pd.DataFrame | None, study: StudyFacts) -> list[str]:
    """Whether Adam recovers more than SGD, a sentence a kind of parameters; [] if none was run."""
    if tta is None or tta.empty:
        return []
    rows = where(Tent().rows(tta, study=study), optimizer="adam").dropna(subset=["over_sgd_low"])
    return [
        f"With {row.panel} adapted, Adam recovers "
        f"{'more' if row.over_sgd_low > 0 else 'less' if row.over_sgd_high < 0 else _UNCLEAR} than "
        "SGD of what corruptions cost ("
        f"{estimate(row.over_sgd, row.over_sgd_low, row.over_sgd_high, signed=True)} pp over "
        f"{row.n} corruptions)."
        for row in rows.itertuples()
    ]


class Tent(
    Table, name="tta", label="Test-time adaptation", chapter="vision", order=10, needs=("tta",)
):
    """A panel a kind of parameters, a row an optimizer."""

    says = """Error on corrupted images, predicted batch by batch and then learned without labels,
    and recovery: the share undone of what a corruption costs the network on average. Each
    corruption begins with the network as trained. Rates are chosen on four other corruptions of
    other images. Brackets: 95 % t interval over corruptions, of means over seeds. The paper's
    numbers are of a WideResNet-28-10 on CIFAR-10-C; it does not say what its recovery is measured
    against. Its β2-only is Adam with β1 = 0."""
    cells = (
        value("Adapted by", "called", str, align="l"),
        value("Rate", "learning_rate", rate),
        with_interval("Error (%)", "error", n="n"),
        with_interval("ours", "recovery", n="n", group="Recovery (%)"),
        value("paper's", "papers_recovery", group="Recovery (%)"),
        with_interval("ours", "over_sgd", n="n", group="Less SGD's (pp)"),
        value("paper's", "papers_over_sgd", group="Less SGD's (pp)"),
    )

    def rows(self, tta: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        if tta.empty:
            return tta
        theirs = {
            (row["parameters_text"], *measure): row[column]
            for row in load().rows_in_text(task="CIFAR-10-C")
            for column, measure in _PAPERS.items()
            if column in row
        }
        way = ["adapts", "optimizer", "learning_rate", "edge"]
        lines = mean_intervals(recovery_by_corruption(tta), way, _COLUMNS, "n").to_dict("records")
        for line in lines:
            adapts, optimizer = line["adapts"], line["optimizer"]
            line["called"] = _CONTROLS.get(adapts) or study.called("optimizer", optimizer)
            line["panel"] = ADAPTS.get(adapts, "no gradient")
            for name in _COLUMNS:
                line[f"papers_{name}"] = theirs.get((line["panel"], optimizer, name), math.nan)
        return pd.DataFrame(lines)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, group in rows.groupby("panel", sort=False):
            yield title[0].upper() + title[1:], study.arrange(group).to_dict("records")

    def notes(self, contents: Contents, study: StudyFacts, tta: pd.DataFrame) -> list[str]:
        if tta.empty:
            return []
        clean = tta[(tta["corruption"] == "clean") & (tta["adapts"] == "none")]["value"].mean()
        notes = [f"Without corruption {number(clean)} % are wrong; {tta['seed'].nunique()} seeds."]
        edge = contents.rows[contents.rows["edge"]]
        edges = ", ".join(edge["called"] + " (" + edge["panel"] + ")")
        notes += [f"Best rate on the edge of the grid: {edges}."] * bool(edges)
        norms = tta[(tta["measure"] == "gradient_norm") & ~tta["tuning"]]
        for adapts, group in norms[norms["optimizer"] == "sgd"].groupby("adapts", sort=False):
            norm = group.groupby("layer", sort=False)["value"].mean()
            first, last = norm[~norm.index.str.contains("Shortcut")].iloc[[0, -1]]
            notes.append(
                f"Gradients of {ADAPTS[adapts]} with SGD, norm: {number(first, 3)} in the "
                f"shallowest, {number(last, 3)} in the deepest of {len(norm)} layers, "
                f"{number(first / last)} to 1; largest over smallest "
                f"{number(norm.max() / norm.min())}."
            )
        lora = ["The paper's LoRA: 5 to 6 between shallowest and deepest of 28 layers."]
        return notes + lora * bool(norms["adapts"].eq("lora").any())
