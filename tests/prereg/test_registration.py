"""Reading registrations, and the mistakes that are named."""

from itertools import pairwise

import pytest

from orla.errors import OrlaError
from orla.prereg import reader
from orla.prereg.documents import schema
from orla.prereg.registration import check_columns


def test_a_registration_is_read(document, write):
    read = reader.read(write(document))
    assert (read.name, read.title) == ("small-gap", "The gap is small")
    assert {result for result, _ in read.reads} == {"conditions", "gaps"}
    assert read.criteria[0].rule.region.contains(-1, 1)
    assert read.checks[0].where["learner"] == ["rtrl", "immediate"]
    assert read.checks[1].equals is False and read.checks[1].region is None


def test_a_bare_yaml_date_is_the_same_date(document, write):
    path = write(document)
    path.write_text(path.read_text().replace("'2026-11-21'", "2026-11-21"))
    assert reader.read(path).seeds == 20


PARTS = schema("version-1")["required"]


@pytest.mark.parametrize("key", PARTS)
def test_every_part_is_required(document, write, key):
    del document[key]
    with pytest.raises(OrlaError, match=f'"{key}" is missing'):
        reader.read(write(document))


def spoil(path, value):
    def change(document):
        *parents, last = path
        for key in parents:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (spoil(["titel"], "x"), '"titel" is not a known key; the nearest is "title"'),
        (spoil(["date"], "2026-02-30"), "is 2026-02-30, not a date"),
        (spoil(["date"], "soon"), '"date" must match'),
        (spoil(["existing_data", "status"], "unknown"), "existing_data.status"),
        (spoil(["sample", "minimum"], 21), "more than"),
        (spoil(["sample", "size"], "20"), '"sample.size" must be a whole number'),
        (spoil(["criteria", 0, "region"], {"between": [3, -3]}), r"criteria\[0\]: between"),
        (spoil(["criteria", 0, "region"], {"strict": True}), r"criteria\[0\]: a region has"),
        (spoil(["criteria", 0, "region"], {"equals": 1}), '"criteria.*equals" is not a known key'),
        (spoil(["criteria", 0, "where"], {"split": ["a", "b"]}), "where.split"),
        (
            spoil(["conditions"], {"optimizer": "muon"}),
            r'criteria\[0\]\.where: optimizer is adam, and "conditions.optimizer" is muon',
        ),
        (
            spoil(["conditions"], {"split": ["80-20"], "architecture": "transformer"}),
            r"where: split is 50-50, and .conditions\.split. is \['80-20'\]",
        ),
        (spoil(["criteria"], []), '"criteria" must have at least 1'),
        (spoil(["manipulation_checks"], []), '"manipulation_checks" must have at least 1'),
    ],
)
def test_a_mistake_is_one_clear_line(document, write, change, words):
    change(document)
    with pytest.raises(OrlaError, match=words) as error:
        reader.read(write(document))
    assert "small-gap.yaml" in str(error.value) and "\n" not in str(error.value)


def test_files_that_are_no_yaml(write):
    with pytest.raises(OrlaError, match="no such file"):
        reader.read(write.folder / "absent.yaml")
    broken = write.folder / "broken.yaml"
    broken.write_text("title: [\nx: 1")
    with pytest.raises(OrlaError, match=r"broken\.yaml: not valid YAML at line 2"):
        reader.read(broken)
    broken.write_bytes(b"title: \xff")
    with pytest.raises(OrlaError, match="not UTF-8"):
        reader.read(broken)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {at_most: 0, strict: true, at_most: 99}", '"at_most" stands twice, again at line 1'),
        ("a: 1\n2016-06-30: 1", 'key at line 2 is no text; write "2016-06-30"'),
        ("? [a, b]\n: 1", "key at line 1 is no text; name it"),
        ("a: &x\n  b: *x", "endless or huge"),
        (
            "a: &a [1]\n"
            + "".join(f"{n}: &{n} [{f'*{m},' * 9}]\n" for m, n in pairwise("abcdefgh")),
            "endless or huge",
        ),
        ("[" * 100_000, "nested more than 50 deep at line 1"),
        ("a: 2016-13-45", r"cannot be read \(month must be"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("a: !!timestamp x", "cannot be read"),
        ("b: 1\na: [.nan]", r"\.nan at line 2 is no finite number"),
        ("a: -.inf", r"-\.inf at line 1 is no finite number"),
        ("a: " + "b" * (1 << 20), "more than the 1048576 that are read"),
    ],
    ids=["twice", "date", "list", "cycle", "laughs", "deep", "calendar", "digits"]
    + ["tag", "nan", "inf", "large"],
)
def test_yaml_that_could_mean_something_else_is_refused(tmp_path, text, words):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(OrlaError, match=words):
        reader.read(tmp_path / "x.yaml")


def column(role, wrong, near):
    words = f'result "gaps" has no column "{wrong}"; the nearest is "{near}"'
    return ["criteria", 0, "columns", role], wrong, words


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        column("low", "lo_pp", "low_pp"),
        column("diverged", "diverged", "n_diverged"),
        column("unreliable", "unreliabl", "unreliable"),
        column("n", "n_seed", "n_seeds"),
        (["criteria", 0, "where"], {"optimiser": "x"}, 'the nearest is "optimizer"'),
        (["manipulation_checks", 1, "where"], {"edg": 1}, 'no column "edg"; the nearest is "edge"'),
        (["manipulation_checks", 0, "column"], "low_percnt", 'the nearest is "low_percent"'),
        (["criteria", 0, "result"], "gap", 'there is no result "gap"; the nearest is "gaps"'),
    ],
)
def test_what_does_not_exist_is_named_with_the_nearest(document, write, tables, path, value, words):
    columns = {name: list(table.columns) for name, table in tables.items()}
    check_columns(reader.read(write(document)), columns)
    spoil(path, value)(document)
    with pytest.raises(OrlaError) as error:
        check_columns(reader.read(write(document)), columns)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith("registration small-gap: ")
