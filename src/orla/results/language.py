"""Recoveries of language models that adapt online, over two denominators."""

from __future__ import annotations

import pandas as pd

MODEL = ["model", "parameters", "rank", "learner", "optimizer", "rate", "edge"]
# What the paper's caption divides by.
PROXY = {"learner": "tbptt-64", "optimizer": "adam"}


def recoveries(losses: pd.DataFrame) -> pd.DataFrame:
    """A row a model, learner, optimizer and seed on the first stream: losses, recoveries (%).

    Recovery is (frozen - adapted) / (frozen - reference) of losses after the shift. The reference
    is the frozen model's loss before the shift (``before``), or the loss of the learner `PROXY`
    (``proxy``). ``heldout`` is the same of the last part of the stream by weights frozen before it;
    the reference of ``heldout_before`` is that of ``before``. The denominator is the mean over a
    model's seeds, whose places in the text differ by more than a shift costs; recoveries are NaN
    where it is not positive.

    Args:
        losses: The result `language`: a row a bin of tokens.
    """
    shift = losses[losses["stream"] == 0]
    by = [*MODEL, "seed"]
    after = shift[shift["segment"] > 0]
    last = after[after["heldout"].notna()].rename(columns={"frozen": "heldout_frozen"})
    table = after.groupby(by, sort=False)[["frozen", "loss"]].mean()
    table["reference"] = shift[shift["segment"] == 0].groupby(by, sort=False)["frozen"].mean()
    table = table.join(last.groupby(by, sort=False)[["heldout_frozen", "heldout"]].mean())
    table = table.reset_index()
    at = ["model", "rank", "seed"]
    proxy = table[(table[[*PROXY]] == pd.Series(PROXY)).all(axis=1)].set_index(at)
    proxy = proxy[["loss", "heldout"]].add_prefix("proxy_")
    table = table.join(proxy, on=at)
    for kind, frozen, loss in (("", "frozen", "loss"), ("heldout_", "heldout_frozen", "heldout")):
        gain = 100 * (table[frozen] - table[loss])
        for name, reference in (("before", "reference"), ("proxy", f"proxy_{loss}")):
            room = table[frozen] - table[reference]
            mean = room.groupby([table["model"], table["rank"]]).transform("mean")
            table[f"{kind}{name}"] = (gain / mean).where(mean > 0)
    return table


def segments(losses: pd.DataFrame) -> pd.DataFrame:
    """A row a model, stream of several shifts, seed and segment: d=0 with Adam.

    Losses (nats): ``frozen``, ``loss``, and ``first``, that of the segment's first bin; and
    ``recovery`` (%) over the frozen loss of the first segment, the denominator as in `recoveries`.
    """
    some = losses[(losses["stream"] > 0) & (losses["learner"] == "immediate")]
    some = some[some["optimizer"] == "adam"]
    by = ["model", "rank", "stream", "seed"]
    groups = some.groupby([*by, "segment", "domain"], sort=False)
    table = groups[["frozen", "loss"]].mean().join(groups["loss"].first().rename("first"))
    table = table.reset_index()
    reference = table.groupby(by, sort=False)["frozen"].transform("first")
    gain, room = table["frozen"] - table["loss"], table["frozen"] - reference
    mean = room.groupby([table[key] for key in (*by[:3], "segment")]).transform("mean")
    shifted = (table["segment"] % 2 == 1) & (mean > 0)
    return table.assign(recovery=(100 * gain / mean).where(shifted))
