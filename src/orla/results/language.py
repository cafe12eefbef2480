"""Recoveries of language models that adapt online, over two denominators."""

import numpy as np
import pandas as pd

from orla.results.guards import denominator_fails

MODEL = ["model", "parameters", "rank", "learner", "optimizer", "rate", "edge"]
# What the paper's caption divides by.
PROXY = {"learner": "tbptt-64", "optimizer": "adam"}


def recovery_table(losses: pd.DataFrame) -> pd.DataFrame:
    """A row a model, learner, optimizer and seed on the first stream: losses, recoveries (%).

    Recovery is (frozen - adapted) / (frozen - reference) of losses after the shift. The denominator
    of ``before`` is ``shift``: by how much the frozen model's loss is higher on the second domain
    than on the first, over the whole of both texts, because places of a text differ by more. The
    reference of ``proxy`` is the loss of the learner `PROXY`, and the denominator the mean over
    seeds. ``heldout_before`` and ``heldout_proxy`` are the same of the last part of the stream by
    weights frozen before it. Where a denominator is not clearly more than nothing
    (`guards.denominator_fails`), a recovery is NaN. `losses` has a row a bin of tokens.
    """
    stream = losses[losses["stream"] == 0]
    by = [*MODEL, "seed"]
    after = stream[stream["segment"] > 0]
    last = after[after["heldout"].notna()].rename(columns={"frozen": "heldout_frozen"})
    table = after.groupby(by, sort=False)[["frozen", "loss"]].mean()
    table["reference"] = stream[stream["segment"] == 0].groupby(by, sort=False)["frozen"].mean()
    table = table.join(last.groupby(by, sort=False)[["heldout_frozen", "heldout"]].mean())
    second = _shift_costs(stream, by).query("segment == 1").droplevel("segment")
    table = table.join(second).reset_index()
    keys = ["model", "rank", "seed"]
    proxy = table[(table[[*PROXY]] == pd.Series(PROXY)).all(axis=1)].set_index(keys)
    table = table.join(proxy[["loss", "heldout"]].add_prefix("proxy_"), on=keys)
    for kind, frozen, loss in (("", "frozen", "loss"), ("heldout_", "heldout_frozen", "heldout")):
        gain = 100 * (table[frozen] - table[loss])
        table[f"{kind}before"] = gain / table["room"]
        room = (table[frozen] - table[f"proxy_{loss}"]).groupby([table["model"], table["rank"]])
        fails = room.transform(lambda span: denominator_fails(span.mean(), span.sem())).astype(bool)
        table[f"{kind}proxy"] = (gain / room.transform("mean")).where(~fails)
    return table


def several_shifts_table(losses: pd.DataFrame) -> pd.DataFrame:
    """A row a model, stream of several shifts, seed and segment: d=0 with Adam.

    Losses (nats): ``frozen``, ``loss``, and ``first``, that of the segment's first bin; and
    ``recovery`` (%) of what the domain costs over the first one, as ``before`` of `recovery_table`.
    """
    rows = losses.query("stream > 0 and learner == 'immediate' and optimizer == 'adam'")
    by = ["model", "rank", "stream", "seed"]
    groups = rows.groupby([*by, "segment", "domain"], sort=False)
    table = groups[["frozen", "loss"]].mean().join(groups["loss"].first().rename("first"))
    table = table.reset_index().join(_shift_costs(rows, by), on=[*by, "segment"])
    return table.assign(recovery=100 * (table["frozen"] - table["loss"]) / table["room"])


def _shift_costs(losses: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """By segment: ``shift``, its domain's loss less the first's; ``room``, NaN where not clear."""
    table = losses.groupby([*by, "segment"], sort=False)[["domain_loss", "domain_error"]].first()
    first = table.groupby(level=by, sort=False).transform("first")
    cost = table["domain_loss"] - first["domain_loss"]
    error = np.hypot(table["domain_error"], first["domain_error"])
    fails = [denominator_fails(*pair) for pair in zip(cost, error, strict=True)]
    return pd.DataFrame({"shift": cost, "room": cost.where(~np.array(fails, dtype=bool))})
