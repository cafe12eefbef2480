"""One run of the loop, and a stand-in for the compiler, for the tests of compiled programs."""

from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    RATES,
    SEGMENT,
    STEPS,
    Adapting,
    make_network,
    networks,
    stream,
)

from orla import catalogue
from orla.engine.loop import Loop
from orla.programs import packages, torch_private


def network(kind, hidden=HIDDEN):
    """The network called so; "another" is one of no structure that the engine knows."""
    return Adapting(hidden, N_IN, N_OUT) if kind == "another" else make_network(kind, hidden)


def learner(spec, kind="rnn", hidden=HIDDEN):
    return catalogue.make("learner", spec, architecture=network(kind, hidden))


def loop(driver, optimizer="adam", probes=("update_ratio",), segment=SEGMENT, **parts):
    """A loop that is used often enough for its updates to be compiled."""
    return Loop(
        driver,
        catalogue.make("optimizer", optimizer),
        catalogue.make("loss", "squared_error"),
        probes=[catalogue.make("probe", spec) for spec in probes],
        segment=segment,
        passes=200,
        **parts,
    )


def stream_tensors(steps=STEPS):
    return dict(zip("xy", stream(steps), strict=True))


def run(made, params=None, rates=RATES, given=None):
    """One run from fresh networks."""
    state = made.start(networks(made.learner.architecture, 3) if params is None else params)
    return made.run(state, rates, stream_tensors() if given is None else given)


def stand_in_for_the_compiler(monkeypatch):
    """Keep a graph's number in the place of its library; return the graphs that were compiled."""
    graphs = []

    def package(graph, leaves, file):
        file.write_text(f"graph {len(graphs)} {'.' * 100}")
        graphs.append(graph)

    def open_package(file):
        try:
            graph = graphs[int(file.read_text().split()[1])]
        except ValueError as error:
            raise RuntimeError(file) from error
        return lambda leaves: graph(*leaves)

    monkeypatch.setattr(packages, "compile_to_file", package)
    monkeypatch.setattr(torch_private, "open_package", open_package)
    return graphs
