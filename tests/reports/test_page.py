"""The page: one file, nothing loaded from outside, accessible, true to the results."""

import re
from html.parser import HTMLParser

import pytest

from orla.reports import figures, page
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
def pictures(tmp_path_factory, results):
    folder = tmp_path_factory.mktemp("pictures")
    paths = {name: folder / f"{name}.png" for name in PICTURES}
    dataset = {"name": "simulated", "simulated": True, "label": "made"}
    figures.horizon_gap(results["horizon_gaps"], [paths["horizon_gap"]], dataset)
    figures.tost_interval(results["gaps"], results["gap_seeds"], [paths["tost_interval"]], dataset)
    # The page only embeds; two real pictures stand for all four.
    return paths | {"lr_curves": paths["horizon_gap"], "adaptation_traces": paths["tost_interval"]}


def write(tmp_path, results, pictures, dataset, provenance=PROVENANCE):
    path = tmp_path / "index.html"
    page.write(path, results, pictures, dataset, provenance)
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
    assert text.index("SIMULATED") < text.index("Verdicts")
    assert text.count("SIMULATED") > len(results["verdicts"]) + 8
    assert "SIMULATED" not in Outline(write(tmp_path, results, pictures, recorded)).text


def test_verdicts_claims_tables_and_provenance(tmp_path, results, pictures, simulated):
    text = Outline(write(tmp_path, results, pictures, simulated)).text
    for verdict in results["verdicts"].to_dict("records"):
        assert verdict["registration"] in text
        assert f"{OUTCOME_SIGNS[verdict['outcome']]} {verdict['outcome']}" in text
    order = ["The paper’s claims", "Held-out recovery", "Equivalence within the margin", "0123abc"]
    places = [text.index(part) for part in order]
    assert text.index("3 of 5 seeds diverged") < places[0]
    assert places == sorted(places)
    assert "gap −0.3\u00a0pp, δ* = 2.70\u00a0pp" in text
    for part in ("0123abc", "AVX2", "2.13.0+cpu", "3f" * 32, "config, seeds", "amended"):
        assert part in text
    for title in ("Held-out recovery", "Gradient and cadence", "Update-magnitude ratio and gap"):
        assert title in text
    assert not re.search(r"\bnan\b|\bNone\b", text)


def test_words_of_others_are_escaped(tmp_path, results, pictures, simulated):
    verdicts = results["verdicts"].assign(title="<script>alert(1)</script> W_hh")
    html = write(tmp_path, {**results, "verdicts": verdicts}, pictures, simulated)
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; W<sub>hh</sub>" in html


def test_a_study_with_little_run_still_has_a_page(tmp_path, results, simulated):
    text = Outline(write(tmp_path, {"gaps": results["gaps"]}, {}, simulated, {})).text
    assert "No registration has been judged" in text
    assert "No figure has been drawn" in text
    assert "not run" in text and "Gradient and cadence" in text


def test_same_results_same_bytes(tmp_path, results, pictures, simulated):
    first = write(tmp_path, results, pictures, simulated)
    assert first == write(tmp_path, results, pictures, simulated)
