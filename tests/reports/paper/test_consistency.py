"""Numbers of the paper that follow from others of it: a wrong row or column breaks them."""

from pathlib import Path

from orla.reports.paper import load


def by(name, *keys):
    rows = load().table(name)
    return {tuple(row[key] for key in keys): row for row in rows}


def test_every_estimate_lies_in_its_interval():
    checked = 0
    for name in load().tables:
        for row in load().table(name):
            for estimate, low, high in (
                ("recovery_percent", "low_percent", "high_percent"),
                ("gap_pp", "low_pp", "high_pp"),
                ("cosine", "low", "high"),
                ("value", "low", "high"),
                ("spearman", "low", "high"),
            ):
                if estimate in row and low in row:
                    assert row[low] <= row[estimate] <= row[high], row
                    checked += 1
    assert checked == 8 + 4 + 2 + 3 + 5 + 10 + 4 + 1


def test_table_5_has_another_denominator_than_table_15():
    """The arithmetic of docs/protocol.md, "What counts as 100 in Table 5"."""
    rows = [row for row in load().table("optimizers") if row["task"] == "recordings"]
    recovery = {row["optimizer"]: row["adapt_recovery_percent"] / 100 for row in rows}
    errors = [row for row in load().table("windows") if row["task"] == "recordings"]
    [adam] = [r["mse"] for r in errors if r.get("optimizer") == "adam" and r["window"] == 1]
    capacity = by("capacity", "architecture", "hidden")["rnn", 64]
    denominator = round(100 * capacity["benefit_mse"] / capacity["gap_pp"], 2)
    apart = recovery["adafactor"] - recovery["adam"]
    told = {
        "error": f"-{abs(adam - apart * denominator):.3f}, which no squared error",
        "most": f"at most\n{adam / apart:.3f}",
        "apart": f"errors {apart * denominator:.3f} apart",
        "share": f"at most {100 * adam / apart / denominator:.0f} % of what",
    }
    text = (Path(__file__).parents[3] / "docs/protocol.md").read_text(encoding="utf-8")
    assert {name: part in text for name, part in told.items()} == dict.fromkeys(told, True)
    assert adam - apart * denominator < 0
