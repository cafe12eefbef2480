"""Programs that are made first are those that sweeps load, no more and no fewer.

Nothing is compiled here: what would be is written down, and runs as it is.
"""

import dataclasses

import pytest
from drifting import GRID, learning

from orla import catalogue
from orla.engine import forward
from orla.programs import compiling
from orla.study.run import compile_programs
from orla.study.sweep import sweep


@pytest.fixture
def asked(monkeypatch):
    """Paths of the programs that are asked for, in their order."""
    seen = []
    monkeypatch.setattr(compiling.programs, "load_program", lambda path: seen.append(path) or None)
    monkeypatch.setattr(
        compiling.programs, "compile_and_keep", lambda function, *_: (function, True)
    )
    monkeypatch.setitem(compiling._settings, "enabled", True)
    forward._compiled_forward.cache_clear()
    yield seen
    forward._compiled_forward.cache_clear()


def anew(study, optimizer, learner, models=2):
    """A condition whose loop has compiled nothing."""
    study = learning(study, learner)
    rule = catalogue.make("optimizer", optimizer)
    loop = dataclasses.replace(study.loop, optimizer=rule)
    return dataclasses.replace(study, loop=loop, batch_models=models)


def conditions(study):
    return [
        anew(study, "adam", "immediate"),
        anew(study, "lars", "immediate"),
        anew(study, "adam", "immediate-10"),
        anew(study, "adam", "uoro", models=3),
        dataclasses.replace(anew(study, "adam", "immediate-20"), networks=single(study.networks)),
    ]


def single(networks):
    return {name: p.float() for name, p in networks.items()}


def test_a_run_asks_for_the_programs_that_were_made_first(study, asked):
    made = compile_programs(conditions(study))
    assert list(dict.fromkeys(asked)) == made
    assert len(set(made)) == len(made) > 6
    forward._compiled_forward.cache_clear()
    asked.clear()
    for condition in conditions(study):
        sweep(condition, GRID[:1], growth=0, horizons=[160], stable_windows=3)
    assert set(asked) == set(made)


def test_another_batch_is_another_program(study, asked):
    made = compile_programs([anew(study, "adam", "immediate")])
    forward._compiled_forward.cache_clear()
    other = compile_programs([anew(study, "adam", "immediate", models=3)])
    # Frozen networks of fewer than five models share one program.
    assert made and set(made) != set(other)


def test_compile_only_lifts_its_condition_after_an_exception_in_its_block(study, asked):
    with pytest.raises(ZeroDivisionError), compiling.compile_only(lambda path: 1 // 0):
        compiling.Compiled(lambda x: x, "nothing", [1])(next(iter(study.networks.values())))
    assert compiling._settings["condition"] is None
