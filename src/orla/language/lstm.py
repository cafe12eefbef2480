"""The character model of textgenrnn (Woolf 2017, MIT licence) from the weights that it ships.

Two LSTM layers read characters; a weighted mean of embedding and both hidden states over the last
40 characters is read out. The package reads at most 40 from a state of zeros, at the beginning of a
text 39 blanks and a mark. What the layers carry leaves the range that they were trained for soon
after; here they begin anew after every 20 characters, as the package begins a text.
"""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor, nn

from orla.errors import OrlaError
from orla.files import sha256
from orla.language.steps import State, Steps, held, loop

WINDOW, CONTEXT = 40, 20
_BLANK, _MARK = 0, "<s>"
_LAYERS = ("rnn_1", "rnn_2")


class Characters(nn.Module):
    """The network's layers: per LSTM layer one matrix from below and one from its own past."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(torch.tensor(weights["embeddings"]))
        for name in _LAYERS:
            kernel, recurrent, bias = (weights[f"{name}/{n}"] for n in ("kernel", "recurrent", "bias"))
            self.add_module(f"{name}_input", _linear(kernel, bias))
            self.add_module(f"{name}_recurrent", _linear(recurrent))
        self.attention = _linear(weights["attention"])
        self.output = _linear(weights["output/kernel"], weights["output/bias"])


def _linear(kernel: np.ndarray, bias: np.ndarray | None = None) -> nn.Linear:
    layer = nn.Linear(*kernel.shape, bias=bias is not None)
    layer.weight = nn.Parameter(torch.tensor(kernel.T.copy()))
    if bias is not None:
        layer.bias = nn.Parameter(torch.tensor(bias))
    return layer


class LSTM(Steps):
    """textgenrnn's network; the state is that of both layers, and the features that are averaged."""

    targets = tuple(f"{name}_{kind}" for name in _LAYERS for kind in ("input", "recurrent"))
    context = CONTEXT

    def __init__(self, model: Characters, mark: int) -> None:
        super().__init__(model)
        with torch.no_grad():
            blanks = torch.tensor([[_BLANK] * (WINDOW - 1) + [mark]])
            _, self._begun = self.read(blanks, self.zeros(1), False)

    def zeros(self, models: int) -> State:
        """The state before anything is read."""
        new, size = self.model.output.weight.new_zeros, self.model.rnn_1_recurrent.in_features
        state = {f"{layer}.{n}": new(models, size) for layer in _LAYERS for n in ("hidden", "cell")}
        return state | {"features": new(models, 0, self.model.output.in_features)}

    def start(self, models: int) -> State:
        return {name: s.expand(models, *s.shape[1:]) for name, s in self._begun.items()}

    def filled(self, state: State) -> int:
        return state["features"].shape[1] - WINDOW

    def read(self, tokens: Tensor, state: State, detach: bool) -> tuple[Tensor, State]:
        after, x = {}, self.model.embedding(tokens)
        features = [x]
        for layer in _LAYERS:
            below, recurrent = (getattr(self.model, f"{layer}_{n}") for n in ("input", "recurrent"))
            carried = {name: state[f"{layer}.{name}"] for name in ("hidden", "cell")}

            def step(before: State, given: Tensor, recurrent: nn.Module = recurrent) -> tuple:
                # peft's layers take models as rows that have a time axis.
                i, f, g, o = (given + recurrent(before["hidden"][:, None])[:, 0]).chunk(4, -1)
                cell = torch.sigmoid(f) * before["cell"] + torch.sigmoid(i) * torch.tanh(g)
                hidden = torch.sigmoid(o) * torch.tanh(cell)
                return {"hidden": hidden, "cell": cell}, hidden

            x, last = loop(step, carried, detach, below(x))
            after |= {f"{layer}.{name}": value for name, value in last.items()}
            features.append(x)
        new = torch.cat(features, -1)
        seen = after["features"] = torch.cat([state["features"], new], 1)
        count, places = new.shape[1], torch.arange(seen.shape[1], device=x.device)
        at = places - places[-count:, None]
        past = held(seen, detach)
        scores = self.model.attention(past)[..., 0][:, None].expand(-1, count, -1)
        own = (at == 0).to(seen.dtype)
        if detach:
            mine = self.model.attention(new)[..., 0]
            scores = scores + own * (mine - mine.detach())[..., None]
        share = torch.softmax(scores.masked_fill((at > 0) | (at <= -WINDOW), -torch.inf), -1)
        mean = share @ past
        if detach:
            mean = mean + (share * own).sum(-1, keepdim=True) * (new - new.detach())
        return self.model.output(mean), after


def load(weights: Path, vocabulary: Path, digest: str = "") -> tuple[LSTM, dict[str, int]]:
    """The model of textgenrnn's two files, and the category of each character.

    Raises:
        OrlaError: A file is missing, has another SHA-256 than `digest`, or holds something else.
    """
    for path in (weights, vocabulary):
        if not path.is_file():
            raise OrlaError(f"{path} is missing; docs/language.md says how to get textgenrnn's weights")
    if digest and sha256(weights) != digest:
        raise OrlaError(f"{weights} has another SHA-256 than its model's; get the file anew")
    try:
        with h5py.File(weights) as file:
            values = {
                "embeddings": file["embedding/embedding/embeddings:0"][()],
                "attention": file["attention/attention/attention_W:0"][()],
                "output/kernel": file["output/output/kernel:0"][()],
                "output/bias": file["output/output/bias:0"][()],
            }
            for name in _LAYERS:
                group = file[f"{name}/{name}"]
                given = (group[f"{n}:0"][()] for n in ("kernel", "recurrent_kernel", "bias"))
                kernel, recurrent, bias = _from_cudnn(*given)
                values |= {f"{name}/kernel": kernel, f"{name}/recurrent": recurrent}
                values[f"{name}/bias"] = bias
        categories = json.loads(vocabulary.read_text(encoding="utf-8"))
    except (OSError, KeyError, ValueError) as error:
        raise OrlaError(f"{weights}: no weights of textgenrnn ({error}); get the file anew") from None
    return LSTM(Characters(values), categories[_MARK]), categories


def _from_cudnn(
    kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernels (inputs, 4 units) and one bias (4 units) of the order in which cuDNN keeps them.

    Of each gate (input, forget, cell, output) cuDNN keeps the transposed matrix, and two biases;
    as in Keras's own conversion.
    """
    gates = [k.T.reshape(k.shape, order="F") for k in np.split(kernel, 4, 1)]
    recurrent = np.concatenate([k.T for k in np.split(recurrent, 4, 1)], 1)
    return np.concatenate(gates, 1), recurrent, bias.reshape(2, -1).sum(0)
