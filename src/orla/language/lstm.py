"""The character model of textgenrnn (Woolf 2017, MIT licence) from the weights that it ships.

Two LSTM layers read characters; a weighted mean of embedding and both hidden states over the last
40 characters is read out. What the layers carry leaves the range that they were trained for soon
after so many; here they begin anew after every 20, as the package begins a text: 39 blanks and a
mark from a state of zeros.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor, nn

from orla.files import MOST_TEXT, read_file, require_sha256, reraise_in_one_line
from orla.language.steps import State, Steps
from orla.sessions.hdf5 import open_checked

WINDOW, CONTEXT = 40, 20
_BLANK, _MARK = 0, "<s>"
_LAYERS = ("rnn_1", "rnn_2")


class LSTM(Steps):
    """textgenrnn's network; the state is that of both layers, and the features that are averaged.

    The model has `embedding`, `attention`, `output`, and of each layer a matrix from below and one
    from its own past; its tokenizer is the category of each character, and of the mark.
    """

    targets = tuple(f"{name}_{kind}" for name in _LAYERS for kind in ("input", "recurrent"))
    context = CONTEXT

    def __init__(self, model: nn.ModuleDict, tokenizer: Mapping[str, int]) -> None:
        super().__init__(model, tokenizer)
        with torch.no_grad():
            blanks = torch.tensor([[_BLANK] * (WINDOW - 1) + [tokenizer[_MARK]]])
            _, self._start_state = self.read(blanks, self.zeros(1))

    def encode(self, text: str) -> list[int]:
        return [self.tokenizer[c] for c in text if c in self.tokenizer]

    def zeros(self, models: int) -> State:
        """The state before anything is read."""
        new, size = self.model["output"].weight.new_zeros, self.model["rnn_1_recurrent"].in_features
        features = new(models, 0, self.model["output"].in_features)
        return [(new(models, size), new(models, size)) for _ in _LAYERS] + [(features,)]

    def start(self, models: int) -> State:
        return [tuple(s.expand(models, *s.shape[1:]) for s in layer) for layer in self._start_state]

    def token_count(self, state: State) -> int:
        return state[-1][0].shape[1] - WINDOW

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        layer_states, x = [], self.model["embedding"](tokens)
        features, (*old_states, (old_features,)) = [x], state
        for layer, (hidden, cell) in zip(_LAYERS, old_states, strict=True):
            recurrent, outputs = self.model[f"{layer}_recurrent"], []
            for inputs in self.model[f"{layer}_input"](x).unbind(1):
                # Adapters take inputs with a time axis.
                i, f, g, o = (inputs + recurrent(hidden[:, None])[:, 0]).chunk(4, -1)
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                hidden = torch.sigmoid(o) * torch.tanh(cell)
                outputs.append(hidden)
            layer_states.append((hidden, cell))
            x = torch.stack(outputs, 1)
            features.append(x)
        history = torch.cat([old_features, torch.cat(features, -1)], 1)
        places = torch.arange(history.shape[1], device=x.device)
        lag = places - places[-tokens.shape[1] :, None]
        scores = self.model["attention"](history)[..., 0][:, None]
        share = torch.softmax(scores.masked_fill((lag > 0) | (lag <= -WINDOW), -torch.inf), -1)
        return self.model["output"](share @ history), [*layer_states, (history,)]


def load_textgenrnn(weights: str | Path, vocabulary: str | Path, sha256: str | None = None) -> LSTM:
    """The model of textgenrnn's two files.

    OrlaError: one is missing or holds something else, or the weights have another SHA-256.
    """
    mend = "get it anew as docs/language.md says"
    with reraise_in_one_line(weights, "no weights of textgenrnn", mend):
        path = require_sha256(weights, sha256, mend)
        with open_checked(path, "weights of textgenrnn", h5py.File) as file:
            paths: list[str] = []
            file.visit(paths.append)
            ends = (path for path in paths if path.endswith(":0"))
            arrays = {tuple(path[:-2].split("/")[-2:]): file[path][()] for path in ends}
        embeddings = torch.tensor(arrays["embedding", "embeddings"])
        categories = json.loads(read_file(vocabulary, MOST_TEXT))
        if not isinstance(categories, dict) or not all(
            type(c) is int and 0 <= c < len(embeddings) for c in categories.values()
        ):
            raise ValueError(f"{vocabulary} has other categories than the weights")
        model = nn.ModuleDict({"embedding": nn.Embedding.from_pretrained(embeddings)})
        for layer in _LAYERS:
            kinds = ("kernel", "recurrent_kernel", "bias")
            below, recurrent, bias = (arrays[layer, kind] for kind in kinds)
            # Of each gate (input, forget, cell, output) cuDNN keeps the transposed matrix, and two
            # biases; as in Keras's own conversion.
            gates = [k.T.reshape(k.shape, order="F") for k in np.split(below, 4, 1)]
            recurrent_gates = [k.T for k in np.split(recurrent, 4, 1)]
            bias_sum = bias.reshape(2, -1).sum(0)
            model[f"{layer}_input"] = _linear_layer(np.concatenate(gates, 1), bias_sum)
            model[f"{layer}_recurrent"] = _linear_layer(np.concatenate(recurrent_gates, 1))
        model["attention"] = _linear_layer(arrays["attention", "attention_W"])
        model["output"] = _linear_layer(arrays["output", "kernel"], arrays["output", "bias"])
        return LSTM(model, categories)


def _linear_layer(kernel: np.ndarray, bias: np.ndarray | None = None) -> nn.Linear:
    """A linear layer with a kernel (inputs, outputs) of Keras."""
    layer, arrays = nn.Linear(*kernel.shape, bias is not None), {"weight": kernel.T, "bias": bias}
    layer.load_state_dict({n: torch.tensor(a) for n, a in arrays.items() if a is not None})
    return layer
