"""The command, against the oracles; bad input by its one line."""

import json

import numpy as np
import oracles
import pytest
import torch
from harness import (
    HIDDEN,
    LAGGED,
    N_IN,
    N_OUT,
    NETWORKS,
    OPTIONS,
    all_learn,
    distance,
    networks,
    stream,
)

from orla import catalogue
from orla.__main__ import main

STEPS = 12


@pytest.fixture
def write(tmp_path):
    def write(kind="rnn", steps=STEPS, weights=None, data=None):
        """Files of a network and a stream, with arrays replaced (or left out, where None)."""
        params = {name: p[0] for name, p in networks(NETWORKS[kind][0]).items()}
        X, Y = stream(steps)
        for name, own, changes in (("w", params, weights), ("s", {"X": X, "Y": Y}, data)):
            arrays = {**own, **(changes or {})}
            np.savez(tmp_path / f"{name}.npz", **{k: v for k, v in arrays.items() if v is not None})
        return params, X, Y

    return write


def arguments(folder, kind="rnn", learner="rtrl", *more):
    named = {"weights": "w.npz", "stream": "s.npz", "out": "g.npz"}
    files = [part for key, file in named.items() for part in (f"--{key}", str(folder / file))]
    return ["gradients", "--architecture", kind, "--learner", learner, *files, *more]


def run(folder, *options):
    main(arguments(folder, *options))
    with np.load(folder / "g.npz") as file:
        return dict(file)


def by_update(found):
    steps = found["step"]
    return [
        {name: torch.as_tensor(g[update]) for name, g in found.items() if name != "step"}
        for update in range(len(steps))
    ]


@pytest.mark.parametrize(
    ("kind", "learner", "stride"),
    [
        ("rnn", "tbptt-6-4", 4),
        ("lstm", "rtrl", 1),
        ("rnn", "last-layer", 1),
        ("gru", "immediate", 1),
    ],
)
def test_files_hold_each_updates_exact_gradient(write, tmp_path, kind, learner, stride, capsys):
    """A stream in pieces, whose last steps fill no update of four."""
    steps = 210 if learner == "immediate" else 14
    params, X, Y = write(kind, steps)
    found = run(tmp_path, kind, learner)
    updates = steps // stride
    assert found["step"].tolist() == [stride * (u + 1) - 1 for u in range(updates)]
    network, step = NETWORKS[kind]
    given = step, torch.zeros(network.state_size, dtype=torch.float64), [params] * steps, X, Y
    if learner == "rtrl":
        truth = oracles.dense_rtrl(*given)
    elif stride == 1:
        truth = oracles.immediate(*given)
    else:
        visited = oracles.states(*given[:3], X)
        truth = oracles.truncated(*given[:2], [params] * updates, X, Y, 6, 4, visited)
    if learner == "last-layer":
        truth = [{n: g[n] for n in ("W_out", "b_out")} for g in truth]
    assert set(found) == set(truth[0]) | {"step"} and all_learn(truth)
    assert distance(by_update(found), truth) < 1e-9
    out, told = capsys.readouterr()
    assert out == "" and (f"last {steps % 4} steps" in told if stride == 4 else told == "")
    assert {p.name for p in tmp_path.iterdir()} == {"w.npz", "s.npz", "g.npz"}


@pytest.mark.parametrize("kind", catalogue.parts("architecture"))
def test_every_architecture_goes_through(write, tmp_path, kind):
    write(kind, steps=6)
    typed = json.dumps({"kind": kind, **OPTIONS[kind]}) if kind in OPTIONS else kind
    found = run(tmp_path, typed, "immediate")
    assert len(found["W_out"]) == len(found["step"]) == 6
    still = {name for name, g in found.items() if not g.any()} - {"step"}
    assert still == set(LAGGED.get(kind, ()))
    assert all(np.isfinite(g).all() for g in found.values())


@pytest.mark.parametrize("typed", ["{modes: 2}", "{kind: s4"])
def test_a_part_given_with_options_takes_them(write, tmp_path, capsys, typed):
    write("s4")
    found = run(tmp_path, "{kind: s4, modes: 2, dt_min: 0.3, dt_max: 1.0}", "immediate")
    assert found["step"].tolist() == list(range(STEPS))
    with pytest.raises(SystemExit):
        run(tmp_path, "{kind: s4, modes: 3}", "immediate")
    assert "has shape" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(tmp_path, typed, "immediate")
    said = f"{typed!r} is no name and no mapping like '{{kind: NAME, OPTION: VALUE}}'"
    assert said in capsys.readouterr().err


def test_help_lists_what_the_catalogue_has(capsys):
    with pytest.raises(SystemExit):
        main(["gradients", "--help"])
    listed = capsys.readouterr().out
    for kind in ("architecture", "learner"):
        assert f"{kind}s: {', '.join(catalogue.all_short_forms(kind))}" in " ".join(listed.split())


def test_an_overflow_leaves_gradients_not_finite_at_its_step_alone(write, tmp_path):
    """What is not finite at one step is so at that step alone; in single precision."""
    Y = stream(STEPS)[1]
    Y[3] = 1e308
    write(data={"Y": Y})
    single = run(tmp_path, "rnn", "rtrl", "--precision", "float32")
    finite = np.isfinite(single["W_out"]).all((1, 2))
    assert finite.tolist() == [step != 3 for step in range(STEPS)]
    write()
    for name, g in run(tmp_path).items():
        if name != "step":
            assert single[name].dtype == np.float32
            np.testing.assert_allclose(single[name][finite], g[finite], rtol=1e-3, atol=1e-4)


def nan_at(shape, *index):
    array = np.zeros(shape)
    array[index] = np.nan
    return array


@pytest.mark.parametrize(
    "options, changes, message",
    [
        ({"kind": "grru"}, {}, "architecture 'grru' is unknown; the nearest is \"gru\""),
        ({"kind": "{kind: rnn, hiden: 5}"}, {}, "hiden"),
        ({"learner": "bptt"}, {}, "learner 'bptt' is unknown; the nearest is \"tbptt\""),
        ({"learner": "tbptt-2-4"}, {}, "WINDOW >= UPDATE_EVERY"),
        ({"learner": "tbptt-2"}, {}, "write tbptt or tbptt-WINDOW-UPDATE_EVERY"),
        ({"learner": "tbptt-80-80"}, {}, "shorter than one update (80 steps)"),
        ({}, {"weights": {"W_hh": None}}, "w.npz: W_hh is missing; rnn needs W_ih, W_hh"),
        ({}, {"weights": {"W_out": None}}, "w.npz: W_out is missing"),
        ({}, {"weights": {"W_out": np.zeros(3)}}, "w.npz: W_out has shape (3,)"),
        ({}, {"weights": {"W_hhh": np.zeros(3)}}, "W_hhh is no parameter of rnn; the nearest is"),
        (
            {},
            {"weights": {"W_hh": np.zeros((HIDDEN, 4))}},
            f"w.npz: W_hh has shape ({HIDDEN}, 4), not ({HIDDEN}, {HIDDEN})",
        ),
        ({"kind": "lstm"}, {}, f"not ({4 * HIDDEN}, {N_IN}), which lstm needs"),
        ({}, {"weights": {"b_h": nan_at(HIDDEN, 2)}}, "w.npz: b_h is not finite at (2,)"),
        ({}, {"weights": {"b_h": np.array(["a"] * HIDDEN)}}, "w.npz: b_h holds <U1"),
        ({}, {"data": {"X": None}}, "s.npz: X is missing"),
        ({}, {"data": {"Y": np.zeros(STEPS)}}, f"s.npz: Y has shape ({STEPS},)"),
        ({}, {"data": {"Y": np.zeros((3, N_OUT))}}, f"X has {STEPS} steps and Y has 3"),
        ({}, {"data": {"Y": np.zeros((60, N_OUT))}}, f"X has {STEPS} steps and Y has 60"),
        ({}, {"data": {"X": np.full((STEPS, N_IN), np.inf)}}, "s.npz: X is not finite at (0, 0)"),
        ({}, {"data": {"X": nan_at((STEPS, N_IN), 7, 1)}}, "s.npz: X is not finite at (7, 1)"),
        ({}, {"data": {"X": np.zeros((0, N_IN)), "Y": np.zeros((0, N_OUT))}}, "at least one"),
    ],
)
def test_bad_input_is_one_line(write, tmp_path, capsys, options, changes, message):
    write(**changes)
    with pytest.raises(SystemExit) as ended:
        main(arguments(tmp_path, **options))
    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert error.startswith("error: ") and error.count("\n") == 1
    assert message in error
    assert {p.name for p in tmp_path.iterdir()} == {"w.npz", "s.npz"}


@pytest.mark.parametrize("name", ["w.npz", "s.npz"])
@pytest.mark.parametrize("content", [None, b"", b"no zip", "truncated", "one array"])
def test_a_missing_or_damaged_npz_file_is_one_error_line(write, tmp_path, capsys, name, content):
    write()
    path = tmp_path / name
    if content is None:
        path.unlink()
    elif content == "one array":
        with open(path, "wb") as file:
            np.save(file, np.zeros(3))
    else:
        path.write_bytes(path.read_bytes()[:-50] if content == "truncated" else content)
    with pytest.raises(SystemExit) as ended:
        main(arguments(tmp_path))
    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert error.startswith(f"error: {path}: ") and error.count("\n") == 1


def test_an_output_that_cannot_be_written_is_one_line(write, tmp_path, capsys):
    write()
    (tmp_path / "g.npz").mkdir()
    with pytest.raises(SystemExit):
        main(arguments(tmp_path))
    assert "g.npz: cannot be written" in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == {"w.npz", "s.npz", "g.npz"}
