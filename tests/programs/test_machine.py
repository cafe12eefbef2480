"""What a process is held to: its instruction set, its threads, and whether it compiles."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from orla.errors import OrlaError
from orla.programs import compiling, machine

COMPUTE = {"instructions": None, "threads": 1, "compile": False}
# As a job begins; what is printed is what PyTorch, its compiler and NumPy's library then use.
JOB = """
import json, sys
from orla.programs import machine
machine.restrict_instructions(json.loads(sys.argv[1]))
assert not {"numpy", "torch"} & {*sys.modules}
import torch, torch._inductor.config
torch._inductor.config.cpp.vec_isa_ok = True  # as `packages` has it: no trial builds
from torch._inductor.cpu_vec_isa import pick_vec_isa
from threadpoolctl import threadpool_info
import numpy
blas = [x["architecture"] for x in threadpool_info() if x["internal_api"] == "openblas"]
print(json.dumps([torch.backends.cpu.get_cpu_capability(), pick_vec_isa().bit_width(), blas[0]]))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86 instruction sets")
def test_a_job_uses_the_older_instruction_set_that_it_asks_for():
    clean = {k: v for k, v in os.environ.items() if k not in ("ATEN_CPU_CAPABILITY",)}

    def used(asked):
        ran = [sys.executable, "-c", JOB, json.dumps(asked)]
        return json.loads(subprocess.run(ran, env=clean, capture_output=True, check=True).stdout)

    assert used("avx2") == ["AVX2", 256, "Haswell"]
    assert used("default")[::2] == ["DEFAULT", "Nehalem"]


def test_an_instruction_set_that_the_machine_has_not_is_not_asked_for(tmp_path, monkeypatch):
    (flags := tmp_path / "cpuinfo").write_text("flags : sse2 avx2 fma avx512f\n")
    monkeypatch.setattr(machine, "_FLAGS", flags)
    monkeypatch.setattr(machine.os, "environ", environment := {})
    machine.restrict_instructions("avx512")
    machine.restrict_instructions(None)
    assert environment == {}
    machine.restrict_instructions("avx2")
    assert environment["ATEN_CPU_CAPABILITY"] == "avx2" and len(environment) == 4


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"instructions": "avx1024"}, "set avx1024, and here PyTorch uses"),
        ({"threads": 2}, "2 threads, and here this job has 1"),
        ({"threads": 4096}, "4096 threads, and here this job has"),
        ({"compile": True}, "install g[+][+]"),
    ],
)
def test_a_job_that_is_not_what_was_asked_is_refused(asked, said):
    compiling.configure(compile=False)
    machine.refuse_unmet_numerics(COMPUTE)
    machine.refuse_unmet_numerics(
        {name: value for name, value in asked.items() if name != "instructions"}
    )
    with pytest.raises(OrlaError, match=said):
        machine.refuse_unmet_numerics(COMPUTE | asked)
    with pytest.raises(OrlaError, match="64 threads, and here this job has 1"):
        machine.configure(COMPUTE | {"threads": 64, "device": "cpu"}, 1)


def test_reliability_md_holds_the_invariance_benchmark_and_its_bits_agree():
    page = Path(__file__).parents[2] / "docs/reliability.md"
    sys.path.append(str(page.parents[1]))
    from benchmarks import invariance, measure

    assert invariance.tables() in page.read_text(encoding="utf-8"), "run the benchmark invariance"
    rows = pd.read_csv(measure.RESULTS / "invariance.csv")
    same = rows.groupby("what", sort=False)["same_bits"].all()
    assert same["another process":"other seeds in the batch"].all() and len(same) > 12
    assert not same[["no AVX", "uncompiled", "float32 in place of float64", "catalogue"]].any()
