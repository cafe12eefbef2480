"""textgenrnn's network beside a forward pass in NumPy, from a file of its layout."""

import json

import h5py
import numpy as np
import pytest
import torch

from orla.errors import OrlaError
from orla.files import sha256
from orla.language import lstm

UNITS, WIDE, COUNT = 3, 4, 6


@pytest.fixture
def files(tmp_path):
    draw, sizes = np.random.default_rng(0), (WIDE, UNITS)
    shapes = {"embedding/embedding/embeddings:0": (COUNT, WIDE)}
    for layer, size in zip(("rnn_1", "rnn_2"), sizes, strict=True):
        shapes |= {f"{layer}/{layer}/kernel:0": (size, 4 * UNITS)}
        shapes |= {f"{layer}/{layer}/recurrent_kernel:0": (UNITS, 4 * UNITS)}
        shapes |= {f"{layer}/{layer}/bias:0": (8 * UNITS,)}
    wide = WIDE + 2 * UNITS
    shapes |= {"attention/attention/attention_W:0": (wide, 1), "output/output/bias:0": (COUNT,)}
    shapes |= {"output/output/kernel:0": (wide, COUNT)}
    weights = {n: draw.normal(size=shape).astype("float32") for n, shape in shapes.items()}
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        for name, value in weights.items():
            file[name] = value
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 1, "b": 2, "c": 3, " ": 4, "<s>": 5}))
    return tmp_path / "weights.hdf5", tmp_path / "vocab.json", weights


def by_hand(weights, tokens):
    """Probabilities (time, categories) after each of at most 40 tokens, from a state of zeros."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    x = weights["embedding/embedding/embeddings:0"][tokens]
    features = [x]
    for layer in ("rnn_1", "rnn_2"):
        kernel, recurrent, bias = (
            weights[f"{layer}/{layer}/{n}:0"] for n in ("kernel", "recurrent_kernel", "bias")
        )
        h = c = np.zeros(UNITS)
        out = []
        for value in x:
            gates = []
            for g in range(4):  # cuDNN keeps the transposed matrix of each gate, row after row
                part = slice(g * UNITS, (g + 1) * UNITS)
                below = kernel[:, part].ravel().reshape(UNITS, len(kernel))
                both = bias[part] + bias[4 * UNITS :][part]
                gates.append(below @ value + recurrent[:, part] @ h + both)
            i, f, g, o = gates
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            out.append(h)
        x = np.array(out)
        features.append(x)
    features, found = np.concatenate(features, 1), []
    for t in range(len(tokens)):
        share = np.exp(features[: t + 1] @ weights["attention/attention/attention_W:0"][:, 0])
        mean = share @ features[: t + 1] / share.sum()
        odds = np.exp(mean @ weights["output/output/kernel:0"] + weights["output/output/bias:0"])
        found.append(odds / odds.sum())
    return np.array(found)


def test_probabilities_are_those_by_hand(files):
    steps = lstm.load_textgenrnn(*files[:2])
    text = [1, 2, 3, 4, 2, 2, 1]
    begun = [0] * 39 + [steps.tokenizer["<s>"]]
    with torch.no_grad():
        logits, _ = steps(torch.tensor([text]), steps.start(1))
        from_zeros, _ = steps.read(torch.tensor([text]), steps.zeros(1))
        again, _ = steps(torch.tensor([[3] * 20 + text]), steps.start(1))
    found = torch.softmax(from_zeros, -1)[0].numpy()
    assert np.allclose(found, by_hand(files[2], text), atol=1e-5)
    # After blanks and the mark the first character is the last of the 40 that are averaged.
    first = torch.softmax(logits, -1)[0, 0].numpy()
    whole = by_hand(files[2], [*begun, text[0]])
    assert np.abs(first - whole[-1]).max() < 0.05 and not np.allclose(first, found[0], atol=1e-3)
    assert torch.allclose(again[:, 20:], logits, atol=1e-5)  # it begins anew after 20


def test_absent_changed_or_foreign_weights_and_vocabularies_are_refused(files, tmp_path):
    with pytest.raises(OrlaError, match="there is no such file"):
        lstm.load_textgenrnn(tmp_path / "none.hdf5", files[1])
    with pytest.raises(OrlaError, match=r"its SHA-256 is .*, not 0000"):
        lstm.load_textgenrnn(*files[:2], "0" * 64)
    lstm.load_textgenrnn(*files[:2], sha256(files[0]))
    for vocabulary in ('["a"]', '{"a": 1000}', '{"a": "b"}'):
        (tmp_path / "vocabulary.json").write_text(vocabulary)
        with pytest.raises(OrlaError, match=r"vocabulary\.json has other categories"):
            lstm.load_textgenrnn(files[0], tmp_path / "vocabulary.json")
    with h5py.File(files[0], "a") as file:
        del file["rnn_1"]
    with pytest.raises(OrlaError, match="no weights of textgenrnn"):
        lstm.load_textgenrnn(*files[:2])
