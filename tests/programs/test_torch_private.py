"""One page names what PyTorch keeps private."""

import re
from pathlib import Path

import pytest

import orla
from orla.programs import torch_private

SOURCES = sorted(Path(orla.__file__).parent.rglob("*.py"))
PRIVATE = re.compile(
    r"\btorch(?!\.utils\._pytree)(\.\w+)*\._(?!_)|torch\.fx\.experimental|from torch import _"
)
# Documented, in a module whose name is not public.
DOCUMENTED = "torch._inductor.aoti_compile_and_package("
PUBLIC = "from torch.utils import _pytree as pytree"


def lines(file):
    given = file.read_text().replace(DOCUMENTED, "").splitlines()
    return [n for n, line in enumerate(given, 1) if PRIVATE.search(line)]


def test_no_other_file_names_private_modules_and_that_one_has_at_most_80_lines():
    found = {file.name: lines(file) for file in SOURCES}
    assert len(Path(torch_private.__file__).read_text().splitlines()) <= 80
    assert [name for name, numbers in found.items() if numbers] == ["torch_private.py"], found


@pytest.mark.parametrize(
    "line, private",
    [
        ("from torch._inductor import config", True),
        ("x = torch._C._aoti.Runner()", True),
        ("import torch.fx.experimental.proxy_tensor", True),
        ("import torch.nn.utils._x as x", True),
        (PUBLIC, False),
        ("import torch.utils._pytree", False),
        ("from torch.func import vmap", False),
        ("self.torch_size = torch.ones(3)", False),
    ],
)
def test_the_search_finds_private_names_alone(line, private):
    assert bool(PRIVATE.search(line)) == private
