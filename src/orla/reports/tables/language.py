"""Language models that adapt online by LoRA: recoveries, segments, norms of gradients."""

from collections.abc import Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Row, value, with_interval
from orla.reports.numbers import count, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import as_nullable, mark_notes, mean_intervals, rate_cell
from orla.results.language import MODEL, recovery_table, several_shifts_table

TITLE = "Do immediate derivatives suffice for online LoRA on language models?"
LEARNERS = {"immediate": "immediate (d=0)", "tbptt-64": "TBPTT-64"}


def learner_optimizer_text(row: Row, study: StudyFacts) -> str:
    """Learner and optimizer as a reader calls them."""
    return f"{LEARNERS[row['learner']]}, {study.called('optimizer', row['optimizer'])}"


def lora_recovery_sentences(language: pd.DataFrame | None) -> list[str]:
    """What both learners undo with Adam, a sentence a model; [] where nothing was run."""
    if language is None or language.empty:
        return []
    table = where(recovery_table(language), optimizer="adam")
    columns = ["shift", "before", "heldout_before"]
    rows = mean_intervals(table, ["model", "rank", "learner"], columns)
    return [
        f"{model}, rank {rank}: {_shift_recovery_text(group.set_index('learner'))} "
        f"(n = {group['n_seeds'].min()})."
        for (model, rank), group in rows.groupby(["model", "rank"], sort=False)
    ]


def _shift_recovery_text(rows: pd.DataFrame) -> str:
    cost = f"the shift adds {number(rows['shift'].mean(), 2)} nats to the loss"
    if rows["before"].isna().all():
        return f"{cost}, not clearly more than nothing that could be undone"
    shares = [
        "{} % [{}, {}]".format(*(number(row[f"{kind}{end}"]) for end in ("", "_low", "_high")))
        for kind in ("before", "heldout_before")
        for _, row in rows.reindex([*LEARNERS]).iterrows()
    ]
    undone = "immediate derivatives undo {} of it, TBPTT-64 {}; held out, {} and {}".format(*shares)
    return f"{cost}. While they learn with Adam, {undone}"


class Lora(
    Table, name="lora", label="Online LoRA on language models",
    chapter="language", order=10, needs=("language",),
):  # fmt: skip
    """A panel a model and rank, a line a learner and optimizer, and the paper's."""

    says = """Cross-entropy (nats a token) of a stream whose domain shifts in its middle: after the
    shift, of the frozen model and of the one that adapts in one pass, without replay, each token
    before it is learned. Recovery is (frozen − adapted) over both of the paper's denominators: what
    the shift costs the frozen model, over all of both texts, and what TBPTT-64 with Adam gains,
    which updates once in 64 tokens; a dash where that is less than three of its standard errors.
    Held out: the stream's last part, by the weights before it. Rates are each optimizer's own,
    chosen on another text. Brackets: 95 % t interval over seeds, each with its own adapter and
    place in the text."""
    empty = False
    layout: ClassVar = {"size": "scriptsize"}
    cells = (
        value("Learner", "what", str, align="l"),
        rate_cell("rate"),
        value("shift", "shift", group="Loss", digits=2),
        value("frozen", "frozen", group="Loss", digits=2),
        value("adapted", "loss", group="Loss", digits=2),
        *(
            with_interval(header, prefix + column, group=group, stacked=True)
            for group, prefix in (("Recovery (%)", ""), ("Held out (%)", "heldout_"))
            for header, column in (("over the shift", "before"), ("over TBPTT-64", "proxy"))
        ),
        value("n", "n_seeds", count),
    )

    def rows(self, language: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        columns = ["shift", "reference", "frozen", "loss", "heldout", "before", "proxy"]
        columns += ["heldout_before", "heldout_proxy"]
        rows = as_nullable(mean_intervals(recovery_table(language), MODEL, columns))
        names = [learner_optimizer_text(row, study) for row in rows.to_dict("records")]
        return rows.assign(what=names)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for _, group in rows.groupby(["model", "rank"], sort=False):
            lines = group.to_dict("records")
            yield "{model}, {parameters:,.0f} weights, rank {rank:.0f}".format(**lines[0]), lines
        papers = load().table("lora") + load().rows_in_text("adapt_recovery_percent", model="GPT-2")
        title = "The paper, adapt window; by its caption over TBPTT-64"
        yield title, [dict.fromkeys(rows) | _papers_line(row) for row in papers]

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        [paper] = load().rows_in_text("cross_entropy_adafactor")
        kinds = ("frozen", "adam", "adafactor", "reference")
        frozen, *losses, reference = (paper[f"cross_entropy_{kind}"] for kind in kinds)
        adam, adafactor = (100 * (frozen - loss) / (frozen - reference) for loss in losses)
        return [
            *mark_notes(contents.panels),
            f"""The paper's losses of GPT-2 give {adam:.0f} % with Adam and {adafactor:.0f} % with
            Adafactor over the loss before the shift, as its text states: not what its caption
            says.""",
            "The paper ran SGD at Adam's rate alone, with a recovery near zero.",
        ]


def _papers_line(row: Row) -> Row:
    words = [row["model"], f"rank {row.get('rank', 4)}", row.get("optimizer", "").capitalize()]
    line = {"what": ", ".join(filter(None, words)), "rate": row.get("learning_rate")}
    line |= {"proxy": row["adapt_recovery_percent"], "frozen": row.get("cross_entropy_frozen")}
    return line | {"loss": row.get("cross_entropy"), "n_seeds": row.get("n_seeds")}


class LoraSegments(
    Table, name="lora_segments", label="Online LoRA over several shifts",
    chapter="language", order=20, needs=("language",),
):  # fmt: skip
    """A panel a model, a line a segment of the stream with several shifts."""

    says = """Immediate derivatives with Adam over a stream that changes its domain several times:
    cross-entropy (nats a token) of each segment, of its first tokens (one bin), and recovery of
    what the domain costs the frozen model over the first one. Means over seeds."""
    empty = False
    cells = (
        value("Segment", "what", str, align="l"),
        value("frozen", "frozen", group="Loss", digits=2),
        value("adapted", "loss", group="Loss", digits=2),
        value("first tokens", "first", group="Loss", digits=2),
        with_interval("Recovery (%)", "recovery", stacked=True),
        value("n", "n_seeds", count),
    )
    quotes: ClassVar = {
        "first_percent": "The paper on GPT-2: {first_percent} % and {second_percent} %."
    }

    def rows(self, language: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        by = ["model", "rank", "stream", "segment", "domain"]
        columns = ["frozen", "loss", "first", "recovery"]
        return mean_intervals(several_shifts_table(language), by, columns)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for (model, rank, _), group in rows.groupby(["model", "rank", "stream"], sort=False):
            what = (group["segment"] + 1).astype(str) + " " + group["domain"]
            yield f"{model}, rank {rank}", group.assign(what=what).to_dict("records")


class LoraNorms(
    Table, name="lora_norms", label="Norms of LoRA gradients",
    chapter="language", order=30, needs=("language_norms",),
):  # fmt: skip
    """A panel a model, a line a layer."""

    says = """Norm of the gradient of each layer's adapter (A and B together), mean over every
    eighth update by immediate derivatives with Adam and over seeds, on the stream with one
    shift."""
    empty = False
    cells = (value("Layer", "layer", str, align="l"), value("Norm", "norm", digits=3))
    quotes: ClassVar = {
        "lora_norm_ratio": "The paper on Mamba: {lora_norm_ratio}, between {largest} "
        "({largest_norm}) and {smallest} ({smallest_norm})."
    }

    def rows(self, language_norms: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        some = where(language_norms, stream=0, learner="immediate", optimizer="adam")
        return some.groupby(["model", "rank", "layer"], sort=False)["norm"].mean().reset_index()

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for (model, rank), group in rows.groupby(["model", "rank"], sort=False):
            ratio = number(group["norm"].max() / group["norm"].min())
            yield f"{model}, rank {rank}: largest over smallest {ratio}", group.to_dict("records")
