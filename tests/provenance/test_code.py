"""The hash of the code that a result depends on: what changes it and what does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.provenance import code

HOME = Path(code.__file__).parents[2]

HOUSE = {
    "orla/__init__.py": "",
    "orla/errors.py": "class OrlaError(Exception): pass\n",
    "orla/files.py": "",
    "orla/filesystem.py": "",
    "orla/parts.py": "",
    "orla/catalogue/__init__.py": "",
    "orla/engine/__init__.py": "",
    "orla/engine/loop.py": (
        "import os\nimport numpy as np\nfrom typing import TYPE_CHECKING\n"
        "from orla.engine import kernels\nfrom orla.errors import OrlaError\n"
        "import orla.filesystem\n"
        "if TYPE_CHECKING:\n    from orla.learners.rtrl import RTRL\n"
        "else:\n    import orla.parts\n"
    ),
    "orla/engine/kernels.py": "from .memory import sizes\n",
    "orla/engine/kernels.cpp": "int x;\n",
    "orla/engine/kernels.py.orig": "",
    "orla/engine/memory.py": "def sizes():\n    from ..late import deep\n",
    "orla/late.py": "deep = 1\n",
    "orla/optimizers/__init__.py": "",
    "orla/optimizers/base.py": "",
    "orla/optimizers/adam.py": (
        "from orla.optimizers.base import Optimizer\n"
        "class Adam(Optimizer, name='adam', order=2): pass\n"
    ),
    "orla/optimizers/sgd.py": (
        "from orla.optimizers.base import Optimizer\n"
        'class Helper(Optimizer): pass\nclass SGD(Optimizer, name="sgd"): pass\n'
    ),
    "orla/learners/__init__.py": "",
    "orla/learners/rtrl.py": 'class RTRL(Learner, name="rtrl"): pass\n',
    "orla/learners/tbptt.py": 'class TBPTT(Learner, name="tbptt"): pass\n',
    "orla/simulator.py": "",
    "orla/study/__init__.py": "",
    "orla/study/sweep.py": "from orla.engine.loop import run\n",
}


def write_files(folder, texts):
    """Write texts into files, by their paths below a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def hash_of(name):
    """The hash of the code of an optimizer's sweep, or of the simulator."""
    if name == "simulated":
        return code.code_hash("orla.simulator")
    return code.code_hash("orla.study.sweep", *code.declaring_files("optimizer", name))


def moved_by(file, before):
    """The names whose hash is another one after a change of a file."""
    with file.open("a") as open_file:
        open_file.write("# changed\n")
    return {name for name, digest in before.items() if hash_of(name) != digest}


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A small package that stands in the place of orla."""
    home = tmp_path / "src"
    write_files(home, HOUSE)
    monkeypatch.setattr(code, "_HOME", home)
    code._name_digest_imports.cache_clear()
    yield home
    code._name_digest_imports.cache_clear()


@pytest.fixture
def plugins(tmp_path):
    """A plug-in folder with one optimizer, its base class and a helper beside it."""
    imports = "from orla.optimizers.adam import Adam\nimport shared_by_parts\nimport json\n"
    texts = {
        "rms.py": imports + 'class RMS(Adam, name="rms"): pass\n',
        "shared_by_parts.py": "x = 1\n",
        "other.py": "class Other(Adam, name='other'): pass\n",
        "_hidden.py": "class Hidden(Adam, name='hidden'): pass\n",
    }
    write_files(folder := tmp_path / "plugins", texts)
    catalogue.use_plugins([folder])
    yield folder
    catalogue.use_plugins([])


def test_imports_are_followed_to_their_files_and_no_further(house):
    assert set(code.source_digests("orla.study.sweep")) == {
        "orla/__init__.py",
        "orla/study/__init__.py",
        "orla/study/sweep.py",
        "orla/engine/__init__.py",
        "orla/engine/loop.py",
        "orla/engine/kernels.py",
        "orla/engine/kernels.cpp",
        "orla/engine/memory.py",
        "orla/filesystem.py",
        "orla/parts.py",
        "orla/late.py",
    }


@pytest.mark.parametrize(
    "block",
    [
        "with x as y:\n    {}",
        "for x in y:\n    pass\nelse:\n    {}",
        "while x:\n    {}",
        "if x:\n    pass\nelif y:\n    {}",
        "try:\n    {}\nfinally:\n    pass",
        "try:\n    pass\nexcept OSError:\n    {}",
        "try:\n    pass\nexcept* OSError:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "match x:\n    case 1:\n        {}",
        "async def f():\n    async with x:\n        {}",
        "class C:\n    def f(self):\n        {}",
    ],
)
def test_an_import_is_found_in_any_block(house, block):
    (house / "orla/simulator.py").write_text(block.format("import orla.late"))
    assert "orla/late.py" in code.source_digests("orla.simulator")
    (house / "orla/simulator.py").write_text(block.format("'import orla.late'"))
    assert "orla/late.py" not in code.source_digests("orla.simulator")


@pytest.mark.parametrize("changed", HOUSE)
def test_one_changed_line_changes_what_depends_on_it(house, changed):
    names = "adam", "sgd", "simulated"
    both = {*code.source_digests("orla.study.sweep"), "orla/optimizers/base.py"}
    expected = {name: {"adam", "sgd"} for name in [*both, "orla/optimizers/__init__.py"]} | {
        "orla/__init__.py": {*names},
        "orla/optimizers/adam.py": {"adam"},
        "orla/optimizers/sgd.py": {"sgd"},
        "orla/simulator.py": {"simulated"},
    }
    before = {name: hash_of(name) for name in names}
    assert before == {name: hash_of(name) for name in names} and len({*before.values()}) == 3
    assert moved_by(house / changed, before) == expected.get(changed, set())


def test_the_hash_is_that_of_the_contents_wherever_they_stand(house, tmp_path, monkeypatch):
    before = code.code_hash("orla.study.sweep")
    shutil.copytree(house, tmp_path / "elsewhere")
    monkeypatch.setattr(code, "_HOME", tmp_path / "elsewhere")
    assert code.code_hash("orla.study.sweep") == before


def test_the_syntax_is_the_same_with_other_docstrings_comments_and_layout(tmp_path):
    def tree(text):
        (tmp_path / "code.py").write_text(text)
        return code.syntax_hash(tmp_path / "code.py")

    before = tree('"""One."""\ndef f(x):\n    """Two."""\n    return x + 1\n')
    other = '"""Other."""\n# A comment.\ndef f(x):\n    """x."""\n    return (x\n + 1)\n'
    assert tree(other) == before
    assert tree('"""One."""\ndef f(x):\n    """Two."""\n    return x - 1\n') != before


def test_a_part_is_found_by_its_name_or_short_form(house, plugins):
    assert code.declaring_files("optimizer", "adam") == [house / "orla/optimizers/adam.py"]
    assert code.declaring_files("learner", "tbptt-20-5") == [house / "orla/learners/tbptt.py"]
    assert code.declaring_files("optimizer", "rms") == [plugins / "rms.py"]
    parts = [("learner", "tbptt-20-5"), ("optimizer", "rms")]
    assert code.files_of_parts(parts) == [house / "orla/learners/tbptt.py", plugins / "rms.py"]
    for kind, name, words in [
        ("optimizer", "adm", 'the nearest is "adam"'),
        ("optimizer", "hidden", "is unknown"),
        ("optimizers", "adam", 'the nearest is "optimizer"'),
    ]:
        with pytest.raises(OrlaError, match=words):
            code.declaring_files(kind, name)


def test_a_plug_in_counts_with_its_helpers_and_bases(house, plugins):
    sources = set(code.source_digests(*code.declaring_files("optimizer", "rms")))
    packages = {name for name in sources if name.endswith("__init__.py")}
    expected = {"orla/optimizers/adam.py", "orla/optimizers/base.py"}
    assert sources - packages == expected | {"plugins/rms.py", "plugins/shared_by_parts.py"}
    for file, expected in {
        plugins / "rms.py": {"rms"},
        plugins / "shared_by_parts.py": {"rms"},
        plugins / "other.py": {"other"},
        house / "orla/optimizers/adam.py": {"rms", "adam"},
    }.items():
        before = {name: hash_of(name) for name in ("rms", "other", "adam", "sgd")}
        assert moved_by(file, before) == expected


def test_helpers_in_any_plug_in_folder_are_followed(tmp_path):
    """As Python finds them: from the folders in use, wherever the importing file lies."""
    texts = {
        "mine/part.py": "from lib.outer import k\nimport _kk\nimport os, _late\n",
        "mine/lib/outer.py": "from lib.inner import K\n",
        "mine/lib/inner.py": "from .beside import x\n",
        "mine/lib/beside.py": "",
        "mine/_late.py": "",
        "other/_kk.py": "import lib.more\n",
        "other/os.py": "",
        "mine/lib/more.py": "",
    }
    write_files(tmp_path, texts)
    catalogue.use_plugins([tmp_path / "mine", tmp_path / "other"])
    names = ("part", "lib/outer", "lib/inner", "lib/beside", "lib/more", "_late")
    expected = {f"mine/{name}.py" for name in names} | {"other/_kk.py"}
    assert set(code.source_digests(tmp_path / "mine/part.py")) == expected
    catalogue.use_plugins([])


def test_a_parts_name_may_be_a_constant_of_its_file_and_no_expression(plugins):
    text = "NAME = 'constant'\nclass C(Adam, name=NAME): pass\n"
    (plugins / "constant.py").write_text(text)
    assert code.declaring_files("optimizer", "constant") == [plugins / "constant.py"]
    (plugins / "formed.py").write_text("class C(Adam, name='a' + 'b'): pass\n")
    with pytest.raises(OrlaError, match="write the name of a plug-in's part as text"):
        code.declaring_files("optimizer", "ab")


def test_a_plug_in_package_is_followed_within_itself(house, tmp_path):
    texts = {
        "site-packages/gru/__init__.py": "from gru.parts import GRU\n",
        "site-packages/gru/parts.py": "import torch\nimport gru.deep.maths\nfrom . import words\n",
        "site-packages/gru/words.py": "",
        "site-packages/gru/deep/__init__.py": "",
        "site-packages/gru/deep/maths.py": "from ..tables import x\n",
        "site-packages/gru/tables.py": "",
        "site-packages/torch/__init__.py": "",
        "site-packages/single.py": "import torch\n",
    }
    write_files(tmp_path, texts)
    site = tmp_path / "site-packages"
    names = ["__init__", "parts", "words", "deep/__init__", "deep/maths", "tables"]
    expected = {f"site-packages/gru/{name}.py" for name in names}
    assert set(code.source_digests(site / "gru" / "parts.py")) == expected
    assert list(code.source_digests(site / "single.py")) == ["site-packages/single.py"]


def test_what_cannot_be_read_is_refused(house):
    for name in ("orla.study.swep", "orla.nothing", "numpy"):
        with pytest.raises(OrlaError, match=f"{name}: no module of orla"):
            code.code_hash(name)
    (house / "orla/late.py").write_text("def (:\n")
    with pytest.raises(OrlaError, match=r"late\.py: no Python"):
        code.code_hash("orla.study.sweep")


def test_of_the_real_package_imports_agree_with_what_python_loads():
    """Every module of orla that importing the sweep loads is a source of it, silent ones apart."""
    program = (
        "import sys, orla.study.sweep\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'orla'))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    modules = {Path(file).relative_to(HOME).as_posix() for file in loaded}
    silent = {name for name in modules if name[:-3].replace("/", ".").startswith(code.SILENT)}
    assert len(modules) > 20 and len(silent) < 10
    found = set(code.source_digests("orla.study.sweep"))
    assert modules - silent <= found and not silent & found
    kernels, rtrl = "orla/programs/kernels.cpp", code.declaring_files("learner", "rtrl")
    assert kernels not in found and kernels in code.source_digests(*rtrl)
    assert "orla/sessions/simulator/days.py" not in found
    simulated = set(code.source_digests("orla.sessions.simulator"))
    assert "orla/engine/loop.py" not in simulated and "orla/study/sweep.py" not in simulated


def test_a_code_hash_imports_none_of_the_hashed_modules():
    program = (
        "import sys\nfrom orla.provenance import code\n"
        "code.code_hash('orla.study.sweep', *code.declaring_files('statistic', 'gaps'))\n"
        "assert not {'torch', 'numpy', 'orla.study.sweep'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
