"""`orla new`: the folder of a study fits its recordings, and a mistake leaves nothing behind."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import yaml
from command.conftest import session

from orla import catalogue
from orla.__main__ import main
from orla.command import files, new
from orla.command.studies import Study
from orla.errors import OrlaError
from orla.prereg import lock, reader
from orla.sessions.nwb import write_session

SOURCES = {
    "nwb": ("nwb", "day 1.nwb", "day 2.nwb"),
    "binned": ("binned", "a.npz", "b.npz"),
    "same": ("binned", "a.npz", "b.npz", "--columns", "same"),
    "nwb of other channels": (*("nwb", "day 1.nwb", "day 2.nwb"), "--columns", "different"),
    "categories": ("binned", "labels.npz", "labels 2.npz"),
    "odoherty": ("odoherty",),
    "simulated": ("simulated",),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_config_is_one_that_the_study_takes(made, recordings, tmp_path, source):
    folder = made(tmp_path / "my study", *SOURCES[source])
    plan = Study(folder).enter_and_plan()
    config = plan.config
    assert config["name"] == "my-study" and config["plugins"] == ["plugins"]
    spec = config["tasks"]["recordings"]
    assert spec["source"] == SOURCES[source][0]
    learners = [c.learner for c in plan.conditions]
    assert {*learners} >= {"immediate", "rtrl"} and len(learners) == 4
    assert config["statistics"]["main"] == "per_step"
    assert spec["preparation"]["features"]["method"] == (
        "pca" if source in ("binned", "categories", "nwb of other channels") else "top_channels"
    )
    # What a registration needs is written: the worked example can be read and is for this study.
    example = folder / "prereg/gradient.yaml"
    shutil.copy(folder / "prereg/example.yaml.txt", example)
    known = reader.read_registration(example)
    assert known.studies == ("my-study",) and known.minus == ("rtrl", "immediate")
    example.unlink()
    lock.require_lock_files([folder / "prereg"])
    assert len((folder / "README.md").read_text().splitlines()) <= 10
    # What it writes fits the recordings.
    written = written_spec(folder)
    if source == "binned":
        assert written["preparation"]["bin_s"] == 0.1
        assert written["preparation"]["transform"] == "sqrt"
        assert written["preparation"]["features"] == {"method": "pca", "count": 5, "own_fit": 0.2}
        assert written["binned"]["files"]["a"] == str(recordings / "a.npz")
    elif source == "categories":
        assert (written["binned"]["kind"], written["binned"]["inputs"]) == ("categories", "emg")
        assert written["binned"]["boundaries"] == {"changes": ["trial"]}


def written_spec(folder):
    """The recordings of the config that `orla new` wrote."""
    return yaml.safe_load((folder / "config.yaml").read_text())["tasks"]["recordings"]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """Two recordings that are read by settings of their own: slow samples, and mostly a gap."""
    folder = tmp_path_factory.mktemp("sparse")
    for seed, name in enumerate(("slow", "torn")):
        day = session(name, seconds=150.0, seed=seed)
        samples = slice(None, None, 10) if name == "slow" else np.abs(day.time_s - 80.0) > 50.0
        position = {"cursor_pos": day.behavior["cursor_pos"][samples]}
        day = replace(day, time_s=day.time_s[samples], behavior=position)
        write_session(day, folder / f"{name}.nwb")
    return [str(folder / f"{name}.nwb") for name in ("slow", "torn")]


def test_a_setting_that_recordings_need_is_given_and_written(sparse, tmp_path):
    """Each refusal says how; with what it says there is a folder, whose config holds it."""
    words = []
    for key, value in (("bin_s", 0.1), ("least_kept", 0.2)):
        with pytest.raises(OrlaError, match=f"here by --set preparation.{key}=VALUE"):
            files.read_pair("nwb", sparse, words)
        words.append(f"preparation.{key}={value}")
    options = [part for word in words for part in ("--set", word)]
    main(["new", str(tmp_path / "study"), "--from", "nwb", *sparse, *options])
    preparation = written_spec(tmp_path / "study")["preparation"]
    assert (preparation["bin_s"], preparation["least_kept"]) == (0.1, 0.2)
    pair = files.read_pair("nwb", sparse, [*words, "nwb.trials=false"])
    assert pair.options == {"trials": False} and pair.steps[1] < 520


def test_a_setting_that_there_is_not_is_refused():
    for source, word, reason in (
        ("nwb", "preparation.least_kept", "take nwb.KEY=VALUE or preparation.KEY=VALUE"),
        ("nwb", "binned.inputs=x", "take nwb.KEY=VALUE"),
        ("nwb", "preparation.features={count: 3}", "take nwb.KEY=VALUE"),
        ("simulated", "nwb.trials=true", "take no settings"),
        ("nwb", "preparation.least_kept=[", "not valid YAML"),
        ("nwb", "preparation.least_kept=.nan", "no finite number"),
        ("nwb", "preparation.target={lag_s: 0, lag_s: 1}", '"lag_s" stands twice'),
        ("nwb", "preparation.least_kept=much", '--set preparation: "least_kept"'),
        ("binned", "binned.inputz=x", "inputs"),
    ):
        with pytest.raises(OrlaError, match=re.escape(reason)):
            files.read_pair(source, [], [word])


@pytest.mark.parametrize(("dead", "live"), [(15, 15), (20, 10), (0, 20)])
def test_days_of_other_widths_have_as_many_inputs_as_both_can_give(tmp_path, dead, live):
    rng = np.random.default_rng(0)
    of_a, of_b = (rng.poisson(2.0, (600, width)) for width in (30, 20))
    of_a[:, :dead] = 1
    pair = files.read_pair("binned", saved_days(tmp_path, {"counts": of_a}, counts=of_b))
    assert (pair.inputs, pair.live) == (20, live)


@pytest.mark.parametrize(
    ("name", "value", "transform"),
    [("a", np.nan, "sqrt"), ("b", np.nan, "sqrt"), ("a", np.inf, "sqrt"), ("a", 0.5, "none")]
    + [("a", -1.0, "none")],
)
def test_a_step_that_is_left_out_does_not_make_counts_something_else(
    tmp_path, name, value, transform
):
    days = {
        day: np.random.default_rng(i).poisson(2.0, (600, 5)) * 1.0 for i, day in enumerate("ab")
    }
    days[name][7, 2] = value
    paths = saved_days(tmp_path, {"counts": days["a"]}, counts=days["b"])
    pair = files.read_pair("binned", paths)
    steps = 600 - (not np.isfinite(value))
    assert pair.transform == transform and pair.steps["ab".index(name)] == steps


LABELS = np.arange(600) // 25 * 5 % 8 + 1
LOST = np.where(np.arange(600) == 9, np.nan, LABELS)
WAVE = np.round(30 * np.sin(np.arange(600) / 20)).astype(np.int16)
KINDS = {
    "integers": ("label", LABELS, 8),
    "of MATLAB": ("label", LABELS * 1.0, 8),
    "a column": ("label", LABELS[:, None], 8),
    "a column of MATLAB, a step lost": ("label", LOST[:, None], 8),
    "many": ("label", np.arange(600) % 53, 53),
    "truths": ("y", LABELS > 4, 2),
    "no name that says so": ("y", LABELS * 1.0, 8),
    "a velocity in whole numbers": ("vel", WAVE, None),
    "a slow one": ("vel", WAVE // 10, None),
    "the same without its name": ("y", WAVE, None),
    "two columns": ("label", np.stack([LABELS, LABELS], 1), None),
    "fractions": ("label", LABELS / 2, None),
    "a count of steps": ("label", np.arange(600), None),
}


@pytest.mark.parametrize("case", KINDS)
def test_categories_are_recognised_by_their_values_and_the_choice_is_said(
    made, tmp_path, capsys, case
):
    target, values, count = KINDS[case]
    changes = {"vel": None, target: values}
    paths = saved_days(tmp_path, changes, **changes)
    folder = made(tmp_path / "study", "binned", *paths)
    said = capsys.readouterr().out
    spec = written_spec(folder)["binned"]
    words = [each.strip() for each in said.splitlines() if each.startswith("  target ")]
    if count:
        how = f"as {count} categories; as numbers: --set binned.kind=values"
    elif values.min() < 0:
        how = "as numbers"
    elif values.ndim == 1:
        how = "as numbers; as categories: --set binned.kind=categories"
    else:
        how = "as numbers, 2 columns; another array: --target NAME"
    assert words == [f"target   {target}, {how}"]
    assert spec["kind"] == ("categories" if count else "values")
    if case != "fractions" and "--set" in how:  # what is said changes it
        setting = re.search(r"--set (\S+)", words[0])[1]
        pair = files.read_pair("binned", paths, [setting])
        assert pair.categories != bool(count) and pair.options["kind"] in setting


def saved_days(folder, of_a=None, **of_b):
    """Two days of 12 columns whose later ones vary more; either with other arrays, or without."""
    rng, paths = np.random.default_rng(0), []
    for name, changes in (("a", of_a or {}), ("b", of_b)):
        counts = rng.poisson(np.arange(1.0, 13.0), (600, 12))
        arrays = {"counts": counts, "vel": rng.normal(size=(600, 2)), "bin_s": 0.05} | changes
        paths.append(str(folder / f"{name}.npz"))
        np.savez(paths[-1], **{n: array for n, array in arrays.items() if array is not None})
    return paths


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bin_s": 0.1}, "b.npz: bin_s is 0.1, but 0.05 in .*a.npz; bin both alike$"),
        ({"counts": np.ones((600, 10)) * np.arange(10)}, "10 columns, but 12 .*columns different$"),
        ({"vel": np.zeros((600, 3))}, r"vel has shape \(600, 3\), but \(600, 2\) in .*a.npz"),
    ],
)
def test_two_days_with_different_bins_columns_or_target_widths_are_refused(
    tmp_path, changes, message
):
    with pytest.raises(OrlaError, match=message):
        files.read_pair("binned", saved_days(tmp_path, **changes), columns="same")


@pytest.mark.parametrize(
    ("of_a", "of_b", "words"),
    [
        ("", "trial", "a.npz: no array trial, by which .*b.npz is cut into stretches; save it in"),
        ("trial", "", "b.npz: no array trial, by which .*a.npz is cut"),
        ("trial", "trial timestep", "a.npz: no array timestep, by which .*b.npz is cut"),
        ("", "timestep", "a.npz: no array timestep, by which .*b.npz is cut"),
        ("timestep", "timestep", ""),
        ("trial timestep", "trial timestep", ""),
    ],
)
def test_an_array_that_begins_stretches_in_one_day_alone_is_refused(tmp_path, of_a, of_b, words):
    order = {"trial": np.arange(600) // 50, "timestep": np.arange(600) % 50}
    in_a, in_b = ({name: order[name] for name in names.split()} for names in (of_a, of_b))
    paths = saved_days(tmp_path, in_a, **in_b)
    if words:
        with pytest.raises(OrlaError, match=f"{words}.*here by --set binned.boundaries=VALUE"):
            files.read_pair("binned", paths)
    pair = files.read_pair("binned", paths, ["binned.boundaries={}"] if words else [])
    whole = {"changes": ["trial"] * ("trial" in of_a), "counter": "timestep"}
    assert pair.options.get("boundaries", {}) == ({} if words else whole)


def test_arrays_that_have_no_entry_a_step_begin_no_stretches(tmp_path):
    order = {"trial": np.arange(12), "timestep": np.zeros((600, 2))}
    paths = saved_days(tmp_path, order, **order)
    assert "boundaries" not in files.read_pair("binned", paths).options
    order["trial"] = np.repeat([f"t{i}" for i in range(12)], 50)
    pair = files.read_pair("binned", saved_days(tmp_path, order, **order))
    assert pair.options["boundaries"] == {"changes": ["trial"]}


def test_a_recording_that_was_saved_again_is_no_second_one(tmp_path):
    a, _ = saved_days(tmp_path)
    np.savez_compressed(tmp_path / "again.npz", **np.load(a))
    with pytest.raises(OrlaError, match="hold the same steps; give two recordings"):
        files.read_pair("binned", [a, str(tmp_path / "again.npz")])
    for name in ("day", "later"):
        write_session(session(name), tmp_path / f"{name}.nwb")
    with pytest.raises(OrlaError, match="hold the same steps"):
        files.read_pair("nwb", [str(tmp_path / f"{name}.nwb") for name in ("day", "later")])


def test_a_50_second_bin_is_refused_unless_preparation_sets_the_same_bin(tmp_path):
    paths = saved_days(tmp_path, {"bin_s": 50}, bin_s=50)
    with pytest.raises(OrlaError, match="in seconds, or, where that is meant, set"):
        files.read_pair("binned", paths)
    assert files.read_pair("binned", paths, ["preparation.bin_s=50"]).bin_s == 50.0


@pytest.mark.parametrize(
    ("lacks", "arguments", "words"),
    [
        ([0], [], ""),  # the least active one, which is not asked for
        ([5], [], "day_b: lacks 1 of the 5 channels of day_a .*, here by --columns different$"),
        ([5], ["--columns", "different"], ""),
        ([*range(6)], ["--columns", "same"], "lacks 1 of the 1 channels"),
    ],
)
def test_a_channel_that_b_lacks_is_told_before_a_study_is_written(
    tmp_path, capsys, lacks, arguments, words
):
    days = [session(name, seconds=60.0, seed=i) for i, name in enumerate(("day_a", "day_b"))]
    paths = [str(tmp_path / f"{day.name}.nwb") for day in days]
    by_activity = np.argsort([len(spikes) for spikes in days[0].unit_spikes])
    for i in by_activity[lacks]:
        days[1].channels[i] = f"M1 1{i:02d}"
    for day, path in zip(days, paths, strict=True):
        write_session(day, path)
    command = ["new", str(tmp_path / "study"), "--from", "nwb", *paths, *arguments]
    if words:
        with pytest.raises(SystemExit):
            main(command)
        assert re.search(words, capsys.readouterr().err.strip())
    else:
        main(command)
        task = catalogue.make("task", written_spec(tmp_path / "study"))
        inputs = task.read_streams("pair_1", *paths).b.n_in
        assert inputs == (6 if arguments else 6 - len(lacks))


def test_a_column_that_varies_in_the_tail_of_a_alone_is_no_input(tmp_path):
    counts = np.random.default_rng(3).poisson(np.arange(1.0, 13.0), (600, 12))
    counts[:420, 3] = 2
    paths = saved_days(tmp_path, {"counts": counts})
    assert files.read_pair("binned", paths, columns="same").live == 11
    counts[:420] = 0
    with pytest.raises(OrlaError, match="no input varies over the first 420 steps"):
        files.read_pair("binned", saved_days(tmp_path, {"counts": counts}))


@pytest.mark.parametrize(
    ("steps", "own", "cut", "updates"),
    [(36_000, False, 200, 144), (7_768, False, 100, 62), (835, True, 10, 53), (200, True, 2, 64)],
)
def test_windows_leave_forty_updates(steps, own, cut, updates):
    pair = files.Pair("binned", ("a", "b"), (steps, steps), 300, 280, same=not own)
    given = new.template_values(pair, "study")
    assert (given["cut"], given["updates"]) == (cut, updates)
    # Of 40 steps no more than 39 components are fitted.
    assert given["count"] == (min(40, steps // 5 - 1) if own else 100)
    assert updates >= new.UPDATES
    assert all(step % cut == 0 for step in given["horizons"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nwb", "day 1.nwb"), "a study takes two files"),
        (("nwb", "day 1.nwb", "day 1.nwb"), "you gave the same twice"),
        (("nwb", "day 1.nwb", "gone.nwb"), "gone.nwb: there is no such file; mend the path"),
        (("nwb", "day 1.nwb", "a.npz"), "a.npz: --from nwb reads .nwb files; take --from binned"),
        (("nbw", "day 1.nwb", "day 2.nwb"), 'the nearest is "nwb"'),
        (("simulated", "a.npz"), "are made, not read"),
        (("binned", "odd.npz", "odd.npz"), "you gave the same twice"),
        (("binned", "odd.npz", "a.npz"), "which array holds the inputs? There are signal, bin_s"),
        (("binned", "a.npz", "b.npz", "--target", "gone"), "no array gone; there are counts"),
        (("nwb", "day 1.nwb", "day 2.nwb", "--target", "vel"), "--target says nothing about nwb"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(made, tmp_path, capsys, arguments, words):
    with pytest.raises(SystemExit):
        made(tmp_path / "study", *arguments)
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said, said
    assert not [*tmp_path.iterdir()]


def test_one_file_given_twice_and_an_existing_folder_are_refused(made, recordings, tmp_path):
    copy = shutil.copyfile(recordings / "a.npz", tmp_path / "copy of a.npz")
    with pytest.raises(OrlaError, match="are the same file; give two recordings"):
        files.read_pair("binned", [str(recordings / "a.npz"), str(copy)])
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "mine").write_text("x")
    with pytest.raises(OrlaError, match="is there already"):
        new.write_study(folder, files.read_pair("simulated", []))
    assert [path.name for path in folder.rglob("*")] == ["mine"]
