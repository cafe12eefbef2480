"""The drift report against decoders written out, on sessions whose drift is known."""

from dataclasses import asdict

import numpy as np
import pytest

from orla import catalogue
from orla.sessions.session import Account
from orla.sessions.streams import Streams
from orla.study import drift, pair_facts
from orla.tasks.stream import Stream

STEPS, INPUTS = 1500, 12


def stream(seed, order=None, categories=False, scored=None):
    """Inputs that tell the targets of two steps ago, in another order of columns."""
    rng = np.random.default_rng(seed)
    hidden = np.cumsum(rng.normal(size=(STEPS + 2, 2)), axis=0)
    hidden = hidden - np.convolve(hidden[:, 0], np.ones(50) / 50, "same")[:, None] * [1, 0]
    hidden = (hidden - hidden.mean(0)) / hidden.std(0)
    mixing = np.random.default_rng(0).normal(size=(2, INPUTS))
    X = hidden[2:] @ mixing + rng.normal(size=(STEPS, INPUTS))
    X = X if order is None else X[:, order]
    Y = (hidden[:-2, 0] > 0).astype(np.int64) if categories else hidden[:-2]
    return Stream(X, Y, scored)


def streams(order=None, **how):
    account = asdict(Account(STEPS, STEPS, channels=12, of_channels=20, because="made so"))
    dataset = {"account": {"a": account, "b": account}}
    categories = 2 if how.get("categories") else None
    return Streams(stream(1, **how), stream(2, order, **how), 0.05, dataset, categories)


def task(**source):
    pairs, parts = {"one": {"a": "a", "b": "b"}}, {"cut": 20, "tail_steps": 0.3}
    spec = {"kind": "recordings", "pairs": pairs, "parts": parts | {"tail_stream_steps": 0.5}}
    return catalogue.make("task", spec | source)


@pytest.fixture(scope="module", params=[False, True], ids=["values", "categories"])
def reports(request):
    """The report without drift, and with the inputs in the reverse order: {measure, at: row}."""
    made = {}
    for name, order in (("same", None), ("reversed", np.arange(INPUTS)[::-1])):
        study = {"strides": {"x": 1, "y": 20}, "registrations": {"claim": "too few"}}
        frame = drift.drift_report_table(
            task(), streams(order, categories=request.param), "80-20", study=study
        )
        made[name] = {(r["measure"], r["at"]): r for r in frame.to_dict("records")}
    return made


def test_a_drift_that_was_made_is_seen_and_none_where_there_is_none(reports):
    same, other = reports["same"], reports["reversed"]
    assert abs(same["loss", "5"]["value"]) < 0.1 and other["loss", "5"]["low"] > 0.2
    assert same["a_to_b", "5"]["value"] > other["a_to_b", "5"]["value"] + 0.2
    assert same["tuning", ""]["value"] > 0.9 > other["tuning", ""]["value"]
    # Reordered inputs are as good to a decoder that is fitted on them.
    fitted = same["within_b", "5"]["value"]
    assert other["within_b", "5"]["value"] == pytest.approx(fitted, abs=0.02)
    for report in reports.values():
        assert report["within_a", "5"]["value"] > report["within_a", "1"]["value"]
        assert report["chance", ""]["value"] < report["within_b", "5"]["value"] - 0.2
        assert [report["updates", learner]["value"] for learner in "xy"] == [1200, 60]
        assert report["registration", "claim"]["words"] == "too few"
    assert 60 < other["ceiling", ""]["value"] < 140


def test_a_drift_decoder_is_ridge_regression_on_lagged_inputs():
    part = drift.ScoredStream(stream(1, scored=np.arange(STEPS) % 7 > 0))
    decoder = drift.Decoder(part, 2)
    X, Y, steps = part.stream.X, part.stream.Y, np.flatnonzero(part.stream.scored)
    rows = np.hstack(
        [X[steps], np.where(steps[:, None] > 0, X[steps - 1], 0.0), np.ones((len(steps), 1))]
    )
    penalty = decoder.penalty * np.diag([1.0] * 24 + [0.0])
    weights = np.linalg.solve(rows.T @ rows + penalty, rows.T @ Y[steps])
    np.testing.assert_allclose(decoder.weights, weights, rtol=1e-8)
    scored = decoder.decode(part)
    np.testing.assert_allclose(scored.outputs, rows @ weights, rtol=1e-6, atol=1e-9)
    left = ((rows @ weights - Y[steps]) ** 2).sum(0) / ((Y[steps] - Y[steps].mean(0)) ** 2).sum(0)
    assert scored.score() == pytest.approx(1 - left.mean())


def test_the_interval_of_a_mean_is_the_usual_one_of_its_blocks():
    hits = np.random.default_rng(0).integers(0, 2, 400)
    scored = drift.DecoderOutputs(np.eye(2)[hits], np.eye(2)[np.ones(400, int)], True)
    blocks = hits.reshape(drift.BLOCKS, -1).mean(1)
    half = 2.093 * blocks.std(ddof=1) / np.sqrt(drift.BLOCKS)
    found = drift.score_difference(scored)
    assert found == pytest.approx((hits.mean(), hits.mean() - half, hits.mean() + half), abs=1e-3)
    assert drift.score_difference(scored, scored) == pytest.approx((0.0, 0.0, 0.0))


def test_score_is_lost_to_own_components_unless_they_are_aligned(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(4.0, (STEPS, INPUTS))  # whose components are no more than chance
    np.savez(tmp_path / "a.npz", counts=counts, vel=counts[:, :2].astype(float), bin_s=0.05)
    source = {"files": {"a": "a.npz", "b": "b.npz"}, "columns": "different"}
    scores = []
    for align in (None, "procrustes"):
        features = {"method": "pca", "count": INPUTS, "align": align}
        chosen = task(source="binned", binned=source, preparation={"features": features})
        scores.append(drift.score_lost_to_own_components(chosen, tmp_path / "a.npz"))
    # All components together are all columns, turned: what is left is the means of the halves.
    assert scores[0].low > 0.3 and abs(scores[1].estimate) < 0.02


def test_what_files_say_of_themselves_is_told(tmp_path):
    np.savez(tmp_path / "a.npz", counts=np.ones((3, 2)), bin_s=0.1, date="2015-07-21")
    np.savez(tmp_path / "b.npz", counts=np.ones((3, 2)), bin_s=0.1)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    facts = pair_facts.session_fact_rows(streams(), ("first", "second"), files)
    words = {(measure, at): words for measure, at, _, words in facts}
    assert words["about", "a"] == "date 2015-07-21" and words["about", "b"] == ""
    assert [words["session", side] for side in "ab"] == ["first", "second"]
    assert words["correspondence", ""] == "same inputs in both: made so"
