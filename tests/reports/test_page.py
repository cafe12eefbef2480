"""The page: one file, nothing loaded from outside, accessible; and the text of a terminal."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from orla import catalogue
from orla.reports import page
from orla.reports.report import Report
from orla.reports.study import Comparison
from orla.reports.verdicts import outcome_words
from orla.reports.words import OUTCOME_SIGNS

PICTURES = ("two_by_two", "horizon_gap", "lr_curves", "adaptation_traces", "tost_interval")
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
def pictures(tmp_path_factory, few, simulated):
    """The page only embeds; one real picture stands for all."""
    path = tmp_path_factory.mktemp("pictures") / "figure.png"
    figure = catalogue.part("figure", "horizon_gap")
    needed = [few[need] for need in figure.part.more["needs"]]
    figure().render(*needed, paths=[path], study=simulated)
    return dict.fromkeys(PICTURES, path)


def write(results, study, pictures=()):
    return page.page_html(Report(results, study), pictures)


@pytest.fixture(scope="module")
def html(report, pictures):
    return page.page_html(report, pictures)


@pytest.fixture(scope="module")
def outline(html):
    return Outline(html)


def test_well_formed_and_loads_nothing(html, outline):
    assert outline.open == []
    for name in ("link", "script", "iframe", "object"):
        assert not outline.all(name)
    sources = [a[key] for _, a in outline.tags for key in ("src", "href") if key in a]
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
    assert not re.search(r"url\(|@import|https?:", re.sub(r"base64,[^\"]*", "", html))


def test_accessible(outline):
    assert len(outline.all("img")) == len(PICTURES)
    assert all(len(image["alt"]) > 40 for image in outline.all("img"))
    assert all("scope" in cell for cell in outline.all("th"))
    assert len(outline.all("summary")) == len(outline.all("details")) > 4
    assert outline.all("html")[0]["lang"] == "en"
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in outline.all("a")]
    labels = [a["aria-labelledby"] for _, a in outline.tags if "aria-labelledby" in a]
    assert set(targets + labels) <= set(ids)


def test_verdicts_claims_tables_and_provenance(outline, few, simulated):
    text = outline.text
    for verdict in few["verdicts"].to_dict("records"):
        assert verdict["registration"] in text
        sign = OUTCOME_SIGNS[verdict["outcome"]]
        assert f"{sign} {outcome_words(verdict, simulated)}" in text
    parts = ["SIMULATED", "Asked", "Verdicts", "3 of 5 seeds diverged", "The paper’s claims"]
    places = [text.index(part) for part in parts]
    places += [text.rindex(part) for part in ("Held-out recovery", "0123abc")]
    assert places == sorted(places)
    assert text.count("SIMULATED") > len(few["verdicts"]) + 8
    facts = ["gap −0.3\u00a0pp, δ* = 2.70\u00a0pp", "AVX2", "2.13.0+cpu", "3f" * 32, "amended"]
    facts += ["config, seeds", "Gaps between learners", "Update-magnitude ratio and gap"]
    assert [fact for fact in facts if fact not in text] == []
    assert not re.search(r"\bnan\b|\bNone\b", text)


def test_the_answer_the_verdicts_and_one_figure_come_first(html, few, pictures, simulated):
    order = ['class="answer"', 'class="brief"', 'id="figure-two_by_two"', "Asked", 'id="words"']
    places = [html.index(part) for part in order]
    assert places == sorted(places) and html.count('id="figure-two_by_two"') == 1
    unclear = few["estimates"].assign(guards="few updates")
    html = write({"estimates": unclear, "seed_gaps": few["seed_gaps"]}, simulated, pictures)
    assert html.index('id="figure-two_by_two"') > html.index('id="chapter-cadence"')


def test_what_was_not_run_is_one_line_of_the_opening(few, simulated):
    verdicts = few["verdicts"].assign(outcome="untestable", estimate=float("nan"))
    verdicts.loc[verdicts.index[0], "reason"] = "estimates has no row with task x"
    html = write({"verdicts": verdicts}, simulated)
    brief = html[html.index('class="brief"') : html.index("</table>", html.index('class="brief"'))]
    assert brief.count("<tr>") == 1 + len(verdicts)
    assert f'<a href="#verdicts">1 of {len(verdicts)}</a>' in brief
    absent = verdicts["title"].iloc[0].split(" within")[0]
    assert absent not in brief and absent in html


def test_figures_come_first_and_long_tables_are_folded(html, report):
    chapters = Report({}, report.study).chapters({"tta": None, "two_by_two": None})
    assert [item["name"] for item in chapters] == ["cadence", "vision"]
    drift = html[html.index('id="chapter-drift"') : html.index('id="chapter-horizon"')]
    assert drift.index("<figure>") < drift.index('id="table-heldout"')
    folded = re.findall(r"<summary>Show the table: (\d+) rows</summary>", html)
    tables = [table for name, table in report.tables.items() if name != "verdict" and table.ran]
    rows = [sum(len(p.rows) for p in table.panels) for table in tables]
    assert sorted(map(int, folded)) == sorted(n for n in rows if n > 12) and min(rows) <= 12
    details = html[html.index('id="provenance"') :]
    assert details.index("0123abc") < details.index("<details>") < details.index("config, seeds")


def test_a_study_of_ones_own_is_neither_simulated_nor_a_reproduction(few, recorded):
    own = {"mine": Comparison("mine", "rtrl", "immediate")}
    study = replace(recorded, reproduces=False, comparisons=own, main="mine", recordings=())
    has_optimizer = {name for name, frame in few.items() if "optimizer" in frame}
    adam = {name: few[name].query("optimizer == 'adam'") for name in has_optimizer}
    html = write(few | adam, study)
    text = Outline(html).text
    assert "<h1>Online adaptation to indy, M1</h1>" in html
    assert "Whether “exact RTRL, per step” recovers more than “immediate, per step”" in text
    for word in ("Shalev", "the paper", "The paper", "Claims", "SIMULATED"):
        assert word not in text
    assert "The tasks are no recordings, and tell nothing of them." in text


def test_real_recordings_and_made_drift_are_called_so(few, recorded):
    study, rows = replace(recorded, made_drift=("recordings",)), few["heldout"]
    for facts, words in (
        (recorded, "The sessions are recordings ("),
        (study, "Spikes and movement are real, the drift is made (indy, M1)"),
    ):
        told = Report({"heldout": rows}, facts).opening.background["How far to trust it"]
        assert told.startswith(words) and "synthetic:" not in told
    for facts in (study, study.narrow_to(rows)):
        assert facts.caption_prefix == "Real recording, MADE drift. "
    # Rows of another task are not of this drift, and a recording's own drift is nobody's.
    assert study.narrow_to(rows.assign(task="sine")).caption_prefix == recorded.caption_prefix == ""
    assert replace(study, simulated=True).caption_prefix.startswith("SIMULATED")


def test_words_of_others_are_escaped_and_the_same_cause_is_said_once(few, simulated):
    cause = "gaps has no row with split = 50-50 (it has 80-20)"
    first, *titles = few["verdicts"]["title"]
    verdicts = few["verdicts"].assign(
        title=["<script>alert(1)</script> W_hh", *titles],
        outcome="untestable",
        reason=f"{cause}; {cause}. It cannot be known.",
    )
    html = write({"verdicts": verdicts}, simulated)
    assert "<script>" not in html and first not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; W<sub>hh</sub>" in html
    cards = Outline(html).text.partition("Each hypothesis")[2]
    assert cards.count(cause) == 1 and cards.count("As for “") == len(verdicts) - 1
    assert cards.count("It cannot be known.") == len(verdicts)


def test_little_and_nothing_run_still_have_a_page(few, simulated):
    for results, told in (
        ({"estimates": few["estimates"]},
         ["No registration has been judged", "No recurrent network has been adapted",
          "Gaps between learners", "paper's diagonal"]),
        ({name: frame.iloc[:0] for name, frame in few.items()},
         ["No model was run.", "No table or figure of learners has been made"]),
    ):  # fmt: skip
        text = Outline(write(results, simulated)).text
        assert [words for words in told if words not in text] == []


@pytest.mark.parametrize("width", [80, 120])
def test_fits_the_terminal_and_tells_all(width, few, simulated):
    report = Report({"verdicts": few["verdicts"]}, simulated)
    text = page.terminal_text(report, width, "reports/index.html")
    assert max(map(len, text.splitlines())) <= width
    for said in ("shown in simulation", "not shown in", "inconclusive", "untestable", "SIMULATED"):
        assert said in text
    for said in ("(amended)", "−0.30 [−2.70, 2.10]", "3 of 5 seeds diverged"):
        assert said in " ".join(text.split())
    assert text.endswith("report: reports/index.html\n")


def test_questions_that_were_not_run_are_one_paragraph(few, simulated):
    nothing = {"outcome": "untestable", "estimate": float("nan"), "words": ""}
    verdicts = few["verdicts"].head(2).assign(**nothing, reason="gaps has no row with x = 1")
    text = page.terminal_text(Report({"verdicts": verdicts}, simulated), 100)
    assert "? not run (2): " in text and "has no row" not in text
