"""The page: one file, nothing loaded from outside, accessible, true to the results."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_results import build

from orla import catalogue
from orla.reports import page
from orla.reports.report import Report
from orla.reports.study import Comparison
from orla.reports.verdicts import outcome_words
from orla.reports.words import OUTCOME_SIGNS

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
def results(build_results):
    """Fewer seeds: each page is made of all tables."""
    return build_results(n_seeds=2)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, results, simulated):
    folder = tmp_path_factory.mktemp("pictures")
    paths = {name: folder / f"{name}.png" for name in PICTURES}
    for name in ("horizon_gap", "tost_interval"):
        figure = catalogue.part("figure", name)
        needed = [results[need] for need in figure.part.more["needs"]]
        figure().render(*needed, paths=[paths[name]], study=simulated)
    # The page only embeds; two real pictures stand for all four.
    return paths | {"lr_curves": paths["horizon_gap"], "adaptation_traces": paths["tost_interval"]}


def write(results, pictures, study, provenance=PROVENANCE):
    return page.page(Report(results, study, provenance), pictures)


@pytest.fixture(scope="module")
def html(results, pictures, simulated):
    return write(results, pictures, simulated)


def test_well_formed_and_loads_nothing(html):
    outline = Outline(html)
    assert outline.open == []
    for name in ("link", "script", "iframe", "object"):
        assert not outline.all(name)
    sources = [a[key] for _, a in outline.tags for key in ("src", "href") if key in a]
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
    assert not re.search(r"url\(|@import|https?:", re.sub(r"base64,[^\"]*", "", html))


def test_accessible(html):
    outline = Outline(html)
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


def test_simulated_banner_only_where_simulated(html, results, pictures, recorded):
    text = Outline(html).text
    assert text.index("SIMULATED") < text.index("Asked") < text.index("Verdicts")
    assert text.count("SIMULATED") > len(results["verdicts"]) + 8
    assert "SIMULATED" not in Outline(write(results, pictures, recorded)).text


def test_verdicts_claims_tables_and_provenance(html, results, simulated):
    text = Outline(html).text
    for verdict in results["verdicts"].to_dict("records"):
        assert verdict["registration"] in text
        sign = OUTCOME_SIGNS[verdict["outcome"]]
        assert f"{sign} {outcome_words(verdict, simulated)}" in text
    order = ["The paper’s claims", "Held-out recovery", "0123abc"]
    places = [text.index(part) for part in order[:1]] + [text.rindex(part) for part in order[1:]]
    assert text.index("3 of 5 seeds diverged") < places[0]
    assert places == sorted(places)
    assert "gap −0.3\u00a0pp, δ* = 2.70\u00a0pp" in text
    for part in ("0123abc", "AVX2", "2.13.0+cpu", "3f" * 32, "config, seeds", "amended"):
        assert part in text
    for title in ("Held-out recovery", "Gaps between learners", "Update-magnitude ratio and gap"):
        assert title in text
    assert not re.search(r"\bnan\b|\bNone\b", text)


def test_words_of_others_are_escaped(results, pictures, simulated):
    verdicts = results["verdicts"].assign(title="<script>alert(1)</script> W_hh")
    html = write({**results, "verdicts": verdicts}, pictures, simulated)
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; W<sub>hh</sub>" in html


def test_a_study_with_little_run_still_has_a_page(results, simulated):
    text = Outline(write({"estimates": results["estimates"]}, {}, simulated, {})).text
    assert "No registration has been judged" in text
    assert "No model has been run" in text
    assert "not run" in text and "Gaps between learners" in text


def test_a_study_of_ones_own_is_not_called_a_reproduction(results, pictures, recorded):
    own = {"mine": Comparison("mine", "rtrl", "immediate")}
    study = replace(recorded, reproduces=False, comparisons=own, main="mine", recordings=())
    html = write(results, pictures, study)
    text = Outline(html).text
    assert "<h1>Online adaptation to indy, M1</h1>" in html
    assert "Whether “exact RTRL, per step” recovers more than “immediate, per step”" in text
    for word in ("Shalev", "the paper", "The paper", "Claims"):
        assert word not in text
    assert "The tasks are synthetic: these tell nothing of recordings." in text
    told = Report(results, recorded).opening.background["How far to trust it"]
    assert "The sessions are recordings (" in told and "synthetic:" not in told


def test_made_drift_on_a_real_recording_is_called_so(results, pictures, recorded):
    study = replace(recorded, made_drift=("recordings",))
    told = Report(results, study).opening.background["How far to trust it"]
    assert "Spikes and movement are real, the drift is made (indy, M1)" in told
    assert "The sessions are recordings" not in told and "synthetic:" not in told
    rows = results["heldout"]
    assert study.of(rows).prefix == study.prefix == "Real recording, MADE drift. "
    # Rows of another task are not of this drift, and a recording's own drift is nobody's.
    assert study.of(rows.assign(task="sine")).prefix == recorded.prefix == ""
    assert replace(study, simulated=True).prefix.startswith("SIMULATED")


def test_the_answer_the_verdicts_and_one_figure_come_first(results, pictures, simulated):
    drawn = pictures | {"two_by_two": pictures["lr_curves"]}
    html = write(results, drawn, simulated)
    order = ['class="answer"', 'class="brief"', 'id="figure-two_by_two"', "Asked", 'id="words"']
    places = [html.index(part) for part in order]
    assert places == sorted(places) and html.count('id="figure-two_by_two"') == 1
    unclear = results | {"estimates": results["estimates"].assign(guards="few updates")}
    html = write(unclear, drawn, simulated)
    assert html.index('id="figure-two_by_two"') > html.index('id="chapter-cadence"')


def test_figures_come_first_and_long_tables_are_folded(html, results, simulated):
    drift = html[html.index('id="chapter-drift"') : html.index('id="chapter-horizon"')]
    assert drift.index("<figure>") < drift.index('id="table-heldout"')
    folded = re.findall(r"<summary>Show the table: (\d+) rows</summary>", html)
    names = set(catalogue.parts("table")) - {"verdict"}
    tables = [build(name, results, simulated) for name in names]
    rows = [sum(len(p.rows) for p in table.panels) for table in tables if table.ran]
    assert sorted(map(int, folded)) == sorted(n for n in rows if n > 12) and min(rows) <= 12
    details = html[html.index('id="provenance"') :]
    assert details.index("0123abc") < details.index("<details>") < details.index("config, seeds")


def test_the_same_cause_is_said_once(results, pictures, simulated):
    cause = "gaps has no row with split = 50-50 (it has 80-20)"
    verdicts = results["verdicts"].assign(
        outcome="untestable", reason=f"{cause}; {cause}. It cannot be known."
    )
    text = Outline(write({**results, "verdicts": verdicts}, pictures, simulated)).text
    cards = text[text.index("Each hypothesis") : text.index("The paper’s claims")]
    assert cards.count(cause) == 1 and cards.count("As for “") == len(verdicts) - 1
    assert cards.count("It cannot be known.") == len(verdicts)


def test_nothing_and_one_condition(results, simulated):
    nothing = {name: frame.iloc[:0] for name, frame in results.items()}
    text = Outline(write(nothing, {}, simulated)).text
    assert "No model was run." in text and "No table or figure of learners has been made" in text
    query = "optimizer == 'adam' and split == '80-20'"
    one = {
        name: frame.query(query) if {"optimizer", "split"} <= {*frame} else frame.iloc[:1]
        for name, frame in results.items()
    }
    text = Outline(write(one, {}, simulated)).text
    assert "of 1 registered hypothesis: 1 shown in simulation" in text.lower()
    assert "paper's diagonal" in text and "There is one pair of sessions" in text
