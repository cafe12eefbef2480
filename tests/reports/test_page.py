"""The page: one file, nothing loaded from outside, accessible, true to the results."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from report_results import build

from orla import catalogue
from orla.reports import page
from orla.reports.study import Comparison
from orla.reports.table import Column, Panel
from orla.reports.tables.base import Table
from orla.reports.verdicts import outcome_words
from orla.reports.words import GLOSSARY, OUTCOME_SIGNS

PICTURES = ("horizon_gap", "lr_curves", "adaptation_traces", "tost_interval")
PROVENANCE = {
    "code": {"commit": "0123abc", "dirty": False},
    "versions": {"torch": "2.13.0+cpu"},
    "cpu_capability": "AVX2",
    "lock_sha256": "3f" * 32,
    "config": {"seeds": [0, 1], "nothing": None},
}
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Tags with their attributes, and whether every one is closed in order."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, results, simulated):
    folder = tmp_path_factory.mktemp("pictures")
    paths = {name: folder / f"{name}.png" for name in PICTURES}
    for name in ("horizon_gap", "tost_interval"):
        figure = catalogue.part("figure", name)
        needed = [results[need] for need in figure.part.more["needs"]]
        figure().draw(*needed, paths=[paths[name]], study=simulated)
    # The page only embeds; two real pictures stand for all four.
    return paths | {"lr_curves": paths["horizon_gap"], "adaptation_traces": paths["tost_interval"]}


def write(tmp_path, results, pictures, study, provenance=PROVENANCE):
    path = tmp_path / "index.html"
    page.write(path, results, pictures, study, provenance)
    return path.read_text(encoding="utf-8")


def test_well_formed_and_loads_nothing(tmp_path, results, pictures, simulated):
    html = write(tmp_path, results, pictures, simulated)
    outline = Outline(html)
    assert outline.open == []
    for name in ("link", "script", "iframe", "object"):
        assert not outline.all(name)
    sources = [a[key] for _, a in outline.tags for key in ("src", "href") if key in a]
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
    assert not re.search(r"url\(|@import|https?:", re.sub(r"base64,[^\"]*", "", html))


def test_accessible(tmp_path, results, pictures, simulated):
    outline = Outline(write(tmp_path, results, pictures, simulated))
    assert len(outline.all("img")) == 4
    assert all(len(image["alt"]) > 40 for image in outline.all("img"))
    assert all("scope" in cell for cell in outline.all("th"))
    assert len(outline.all("summary")) == len(outline.all("details")) > 4
    assert outline.all("html")[0]["lang"] == "en"
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in outline.all("a")]
    labels = [a["aria-labelledby"] for _, a in outline.tags if "aria-labelledby" in a]
    assert set(targets + labels) <= set(ids)


def test_text_has_contrast(tmp_path, results, pictures, simulated):
    html = write(tmp_path, results, pictures, simulated)
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", html))
    on_paper = ["ink", "quiet", "accent", "good", "bad", "open", "none"]
    for name in on_paper:
        for ground in ("paper", "ground"):
            assert contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
    assert contrast(colors["alert"], colors["alert-ground"]) >= 4.5
    assert contrast(colors["rule"], colors["paper"]) < 4.5  # the measure can fail


def contrast(a, b):
    light = sorted((relative_luminance(a), relative_luminance(b)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def relative_luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_simulated_banner_only_where_simulated(tmp_path, results, pictures, simulated, recorded):
    text = Outline(write(tmp_path, results, pictures, simulated)).text
    assert text.index("SIMULATED") < text.index("Asked") < text.index("Verdicts")
    assert text.count("SIMULATED") > len(results["verdicts"]) + 8
    assert "SIMULATED" not in Outline(write(tmp_path, results, pictures, recorded)).text


def test_verdicts_claims_tables_and_provenance(tmp_path, results, pictures, simulated):
    text = Outline(write(tmp_path, results, pictures, simulated)).text
    for verdict in results["verdicts"].to_dict("records"):
        assert verdict["registration"] in text
        sign = OUTCOME_SIGNS[verdict["outcome"]]
        assert f"{sign} {outcome_words(verdict, simulated)}" in text
    order = ["The paper’s claims", "Equivalence within the margin", "Held-out recovery", "0123abc"]
    places = [text.index(part) for part in order]
    assert text.index("3 of 5 seeds diverged") < places[0]
    assert places == sorted(places)
    assert "gap −0.3\u00a0pp, δ* = 2.70\u00a0pp" in text
    for part in ("0123abc", "AVX2", "2.13.0+cpu", "3f" * 32, "config, seeds", "amended"):
        assert part in text
    for title in ("Held-out recovery", "Gaps between learners", "Update-magnitude ratio and gap"):
        assert title in text
    assert not re.search(r"\bnan\b|\bNone\b", text)


def test_words_of_others_are_escaped(tmp_path, results, pictures, simulated):
    verdicts = results["verdicts"].assign(title="<script>alert(1)</script> W_hh")
    html = write(tmp_path, {**results, "verdicts": verdicts}, pictures, simulated)
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; W<sub>hh</sub>" in html


def test_a_study_with_little_run_still_has_a_page(tmp_path, results, simulated):
    text = Outline(write(tmp_path, {"estimates": results["estimates"]}, {}, simulated, {})).text
    assert "No registration has been judged" in text
    assert "No model has been run" in text
    assert "not run" in text and "Gaps between learners" in text


def test_same_results_same_bytes(tmp_path, results, pictures, simulated):
    first = write(tmp_path, results, pictures, simulated)
    assert first == write(tmp_path, results, pictures, simulated)


def opening_of(text):
    return " ".join(text[text.index("Asked") : text.index("What the words on")].split())


def test_opening_says_what_was_asked_and_found_over_what(tmp_path, results, pictures, simulated):
    told = opening_of(Outline(write(tmp_path, results, pictures, simulated)).text)
    assert "Whether immediate derivatives" in told and "how often the weights are updated" in told
    models = len(results["heldout"])
    assert f"by 5 learners with SGD, Adafactor, Adam and LARS: {models} models" in told
    assert "20 networks (RNN) on 1 pair of sessions" in told
    assert "Of 5 registered hypotheses: 2 shown in simulation, 1 not shown in simulation, 1" in told
    places = [told.index(word) for word in ("Asked", "Found", "Over what", "How far to trust it")]
    assert places == sorted(places)
    assert "The sessions are simulated" in told and "There is one pair of sessions" in told
    assert "Of 400 made-up studies with a known answer 3 got a wrong verdict" in told
    assert "at most 2.0 % in one kind (planted)" in told and "1 registration is untestable" in told


def test_opening_gives_the_four_differences_over_pairs_before_those_over_seeds(
    tmp_path, results, simulated
):
    one = opening_of(Outline(write(tmp_path, results, {}, simulated)).text)
    assert "over seeds of one pair)" in one  # one pair has no interval over pairs
    results = results | {"over_pairs": results["over_pairs"].assign(n_pairs=12)}
    pairs = results["over_pairs"].query("estimand == 'stable' and optimizer == 'lars'")
    row = pairs.query("comparison == 'per_window' and split == '80-20'").iloc[0]
    gap = f"{row['gap_pp']:+.1f}".replace("-", "−")
    told = opening_of(Outline(write(tmp_path, results, {}, simulated)).text)
    assert f"full − immediate, per window {gap}" in told
    assert "95\u00a0% over pairs" in told.replace(" % over", "\u00a0% over")
    only = {name: frame for name, frame in results.items() if name != "over_pairs"}
    told = opening_of(Outline(write(tmp_path, only, {}, simulated)).text)
    assert "over seeds of one pair" in told
    del only["truth_controls"]
    told = opening_of(Outline(write(tmp_path, only, {}, simulated)).text)
    assert "have not been tried on made-up studies" in told


def test_opening_tells_what_exact_rtrl_leaves_where_recovery_has_no_meaning(
    tmp_path, results, simulated
):
    frames = {name: results[name].assign(unreliable=True) for name in ("estimates", "over_pairs")}
    heldout = results["heldout"].assign(heldout_vs_best_rtrl_percent=np.nan)
    given = results | frames | {"heldout": heldout}
    told = opening_of(Outline(write(tmp_path, given, {}, simulated)).text)
    assert "without meaning" not in told and "too near the reference" in told
    assert "(95 % over seeds)" not in told  # exact RTRL was not run
    own = heldout.query("learner == 'immediate' and optimizer == 'adam'").index
    heldout.loc[own, "heldout_vs_best_rtrl_percent"] = np.resize([80.0, 90.0, 100.0], len(own))
    told = opening_of(Outline(write(tmp_path, given, {}, simulated)).text)
    mean = heldout.loc[own, "heldout_vs_best_rtrl_percent"].mean()
    assert f"recovers 100 %: recordings {mean:.0f} [" in told
    some = frames["estimates"].copy()
    some.loc[some["optimizer"] == "lars", "unreliable"] = False
    told = opening_of(Outline(write(tmp_path, given | {"estimates": some}, {}, simulated)).text)
    assert "LARS: " in told and "too near the reference" not in told
    assert "(95 % over seeds)" not in told and "not run" not in told
    both = pd.concat([heldout, heldout.assign(task="sine")])
    given |= {"estimates": some, "heldout": both}
    told = opening_of(Outline(write(tmp_path, given, {}, simulated)).text)
    alone = re.search(r"recovers 100 %: sine[^;]* (\d+) \[", told)
    assert alone and alone[1] == f"{mean:.0f}" and "LARS: " in told


def test_failing_guards_are_counted_in_the_opening(tmp_path, results, simulated):
    estimates = results["estimates"].copy()
    estimates.loc[[0, 3], "guards"] = "fewer than 20 updates: adapt to more steps"
    told = Outline(write(tmp_path, {**results, "estimates": estimates}, {}, simulated)).text
    assert f"Of {len(estimates)} gaps 2 fail a guard" in told


def test_the_two_by_two_comes_first(tmp_path, results, pictures, simulated):
    html = write(tmp_path, results, pictures, simulated)
    places = [html.index(f'id="{name}"') for name in ("chapter-cadence", "words", "verdicts")]
    assert places == sorted(places) and places[-1] < html.index('id="chapter-drift"')
    assert html.index('href="#chapter-cadence"') < html.index('href="#words"')


def test_a_study_of_ones_own_is_not_called_a_reproduction(tmp_path, results, pictures, recorded):
    own = {"mine": Comparison("mine", "rtrl", "immediate")}
    study = replace(recorded, reproduces=False, comparisons=own, main="mine", recordings=())
    html = write(tmp_path, results, pictures, study)
    text = Outline(html).text
    assert "<h1>Online adaptation to indy, M1</h1>" in html
    assert "Whether “exact RTRL, per step” recovers more than “immediate, per step”" in text
    for word in ("Shalev", "the paper", "The paper", "Claims"):
        assert word not in text
    assert "The tasks are synthetic: these tell nothing of recordings." in text
    told = opening_of(Outline(write(tmp_path, results, pictures, recorded)).text)
    assert "The sessions are recordings (" in told and "synthetic:" not in told
    study = replace(study, title="Does it keep up?")
    assert "<h1>Does it keep up?</h1>" in write(tmp_path, results, pictures, study)


def test_words_are_explained_and_chapters_listed(tmp_path, results, pictures, simulated):
    outline = Outline(write(tmp_path, results, pictures, simulated))
    for word in ("recovery", "held-out", "cadence", "diagonal", "TOST", "δ*", "edge"):
        assert word in GLOSSARY and word in outline.text
    links = [a["href"] for a in outline.all("a")]
    for name in ("drift", "horizon", "ratio", "rates"):
        assert f"#chapter-{name}" in links


def test_figures_come_first_and_long_tables_are_folded(tmp_path, results, pictures, simulated):
    html = write(tmp_path, results, pictures, simulated)
    drift = html[html.index('id="chapter-drift"') : html.index('id="chapter-horizon"')]
    assert drift.index("<figure>") < drift.index('id="table-heldout"')
    folded = re.findall(r"<summary>Show the table: (\d+) rows</summary>", html)
    names = set(catalogue.parts("table")) - {"verdict"}
    tables = [build(name, results, simulated) for name in names]
    rows = [sum(len(p.rows) for p in table.panels) for table in tables if table.ran]
    assert sorted(map(int, folded)) == sorted(n for n in rows if n > 12) and min(rows) <= 12
    details = html[html.index('id="provenance"') :]
    assert details.index("0123abc") < details.index("<details>") < details.index("config, seeds")


def test_a_figure_of_nothing_is_left_out(tmp_path, results, pictures, simulated):
    drawn = pictures | {"learners": pictures["lr_curves"]}
    assert 'id="figure-learners"' in write(tmp_path, results, drawn, simulated)
    none = {**results, "learners": results["learners"].iloc[:0]}
    assert 'id="figure-learners"' not in write(tmp_path, none, drawn, simulated)


def test_errors_steps_and_updates_appear(tmp_path, results, pictures, simulated):
    text = Outline(write(tmp_path, results, pictures, simulated)).text
    run = text[text.index("The error to beat") : text.index("Each hypothesis")]
    first, second = run.split("RNN, float64, ")[1:]
    assert all(word in first for word in ("80/20", "1.10", "0.43", "13,200", "200 steps: 66"))
    assert all(word in second for word in ("50/50", "1.10", "0.43", "8,200", "200 steps: 41"))
    few = results["heldout"].assign(updates=3)
    assert "§ fewer than 20 updates" not in text
    text = Outline(write(tmp_path, {**results, "heldout": few}, pictures, simulated)).text
    assert "immediate, per step: 3§" in text and "§ fewer than 20 updates" in text


def test_the_same_cause_is_said_once(tmp_path, results, pictures, simulated):
    cause = "gaps has no row with split = 50-50 (it has 80-20)"
    verdicts = results["verdicts"].assign(
        outcome="untestable", reason=f"{cause}; {cause}. It cannot be known."
    )
    text = Outline(write(tmp_path, {**results, "verdicts": verdicts}, pictures, simulated)).text
    cards = text[text.index("Each hypothesis") : text.index("The paper’s claims")]
    assert cards.count(cause) == 1 and cards.count("As for “") == len(verdicts) - 1
    assert cards.count("It cannot be known.") == len(verdicts)


def test_nothing_and_one_condition(tmp_path, results, simulated):
    nothing = {name: frame.iloc[:0] for name, frame in results.items()}
    text = Outline(write(tmp_path, nothing, {}, simulated)).text
    assert "No model was run." in text and "No condition of this table was run." in text
    query = "optimizer == 'adam' and split == '80-20'"
    one = {n: f.query(query) if "optimizer" in f else f.iloc[:1] for n, f in results.items()}
    text = Outline(write(tmp_path, one, {}, simulated)).text
    assert "of 1 registered hypothesis: 1 shown in simulation" in text.lower()
    assert "paper's diagonal" in text and "There is one pair of sessions" in text


def test_a_table_from_outside_has_its_own_chapter(tmp_path, results, simulated, monkeypatch):
    class Mine(Table, name="mine", label="My own table", chapter="my_room", needs=("gaps",)):
        def build(self, gaps, *, study):
            rows = [Panel("", [(str(len(gaps)),)])]
            return self.document(study, "Rows.", columns=[Column("n")], panels=rows)

    known = {**catalogue.parts("table"), "mine": Mine}
    own = catalogue.parts
    monkeypatch.setattr(catalogue, "parts", lambda kind: known if kind == "table" else own(kind))
    html = write(tmp_path, results, {}, simulated)
    assert html.index('id="chapter-rates"') < html.index('<h2 id="chapter-my_room">My room</h2>')
    assert "My own table" in html
    del known["mine"]
    assert "My own table" not in write(tmp_path, results, {}, simulated)


def test_opening_sets_names_that_hold_commas_apart(tmp_path, results, simulated):
    models = results["heldout"]
    larger = models.assign(architecture="large")
    study = replace(simulated, instances={"architecture": {"large": {"kind": "rnn", "hidden": 99}}})
    both = results | {"heldout": pd.concat([models, larger, models.assign(architecture="lstm")])}
    told = opening_of(Outline(write(tmp_path, both, {}, study)).text)
    assert "60 networks (RNN, hidden 99; RNN; LSTM) on" in told
