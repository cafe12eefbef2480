"""All that this package takes from PyTorch 2.13 without PyTorch promising to keep it.

No other file names a private module of PyTorch (a test holds this), `torch.utils._pytree` apart.
Each function says what it stands for and what to try at the next version; docs/engine.md tells what
the public ways did when they were tried.
"""

from __future__ import annotations

import functools
import logging
import platform
import subprocess
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.utils import _pytree as pytree


def graph_of(function: Callable[..., list[Tensor]], leaves: Sequence[Tensor]) -> GraphModule:
    """The operations on tensors that `function` carries out, loops among them.

    Stands for torch.export, which refuses functions that change their arguments inside a loop. To
    try next: `torch.export.export` with a module around the function.

    Raises:
        RuntimeError: A loop's body closes over a tensor of the program, or the program reads what a
            loop in it changes in place.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    # Constants that an author's network holds are taken as they are.
    graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*leaves)
    _give_zeros_memory(graph)
    _refuse_what_was_not_given(graph)
    _refuse_reading_what_a_loop_writes(graph)
    return graph


def _give_zeros_memory(graph: GraphModule) -> None:
    """Replace zeros without memory, the tangents of constants, by ordinary ones.

    Stands for a compiler that knows them: Inductor's programs read them at address 0 and crash.
    Whether tracing itself replaces them depends on what the process traced before. To try next: the
    test of `torch.func.jvp` without this.
    """
    for part in graph.modules():
        if not isinstance(part, GraphModule):
            continue
        for node in part.graph.nodes:
            if node.target is torch.ops.aten._efficientzerotensor.default:
                node.target = torch.ops.aten.zeros.default
        part.recompile()


def untraced() -> AbstractContextManager:
    """A block whose operations are left out of the graph that is being traced.

    Stands for nothing public. To try next: shapes from `torch.func` on the meta device.
    """
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    return disable_proxy_modes_tracing()


def _refuse_what_was_not_given(graph: GraphModule) -> None:
    from torch._subclasses.fake_tensor import FakeTensor

    for part in graph.modules():
        for name, value in [*vars(part).items(), *part.named_buffers(recurse=False)]:
            if isinstance(value, FakeTensor):
                raise RuntimeError(
                    f"a loop's body uses a tensor of shape {tuple(value.shape)} ({name}) that it"
                    " was not given: pass it in the loop's `constants`"
                )


def _refuse_reading_what_a_loop_writes(graph: GraphModule) -> None:
    for node in graph.graph.nodes:
        if not (written := node.kwargs.get("mutated_arg_indices")):
            continue
        given = [*node.args[2], *node.args[3]]
        for index in map(int, written.split(",")):
            if any(user is not node and user.op != "output" for user in given[index].users):
                raise RuntimeError(
                    "a program reads what a loop in it changes: let another program do that"
                )


def scan_loop(
    step: Callable[..., list[Tensor]],
    carry: list[Tensor],
    inputs: list[Tensor],
    constants: list[Tensor],
) -> list[Tensor]:
    """One loop of a program over the inputs' first axis: last carry, then stacked outputs.

    Stands for a public scan, of which there is none. To try next: `torch.scan`.
    """
    from torch._higher_order_ops.scan import scan_op

    return list(scan_op(step, carry, inputs, tuple(constants)))


def while_loop(
    condition: Callable[..., Tensor],
    body: Callable[..., tuple[Tensor, ...]],
    carry: Sequence[Tensor],
    fixed: Sequence[Tensor],
    written: Sequence[Tensor] = (),
) -> tuple[Tensor, ...]:
    """One loop of a program while `condition` holds; both functions get all three lists in a row.

    Stands for `torch.while_loop`, whose body may change nothing in place (`written`, without which
    each step copies the parameters) and which captures both functions by Dynamo. To try next:
    `torch.while_loop` with in-place changes.

    Args:
        condition, body: Called with (*carry, *fixed, *written); the body answers the next carry.
        written: Tensors that the body changes in place, which the compiler is told by position.
    """
    from torch._higher_order_ops.while_loop import while_loop_op

    # Only where it is needed: the operator's signature differs with it.
    first = len(carry) + len(fixed)
    positions = ",".join(str(first + i) for i in range(len(written)))
    told = {"mutated_arg_indices": positions} if written else {}
    return while_loop_op(condition, body, tuple(carry), (*fixed, *written), **told)


def with_strides_of(tensor: Tensor, like: Tensor) -> Tensor:
    """In a program, `tensor` laid out in memory as `like`.

    Stands for `Tensor.as_strided` and `contiguous`, which the compiler may undo. To try next: the
    same without it, by the benchmark `python -m benchmarks engine`.
    """
    from torch._inductor import inductor_prims

    return inductor_prims.force_stride_order(tensor, like.stride())


@functools.cache
def prepare_compiler() -> None:
    """Set the compiler to one thread, and spare it ten seconds of trying instruction sets.

    Stands for `torch._inductor.config`'s environment variables, of which there is none for the
    latter. To try next: nothing, once issue 191715 of PyTorch is closed.
    """
    import torch._inductor.config as inductor

    inductor.cpp.threads = 1
    inductor.compile_threads = 1
    if _compiles_all_instruction_sets():
        inductor.cpp.vec_isa_ok = True
    _let_writers_wait()


def _let_writers_wait() -> None:
    """Make the fusion of loops pass over what uses a buffer without reading it.

    Stands for a mended `is_all_write_read_contiguous` in `torch._inductor.codegen.cpp`. What writes
    in place has to wait for readers and so counts as a user; asked where it reads the buffer, it
    raises KeyError, which ends the compilation (the Block-GRU's). None equals no index: the buffer
    then stays one in memory. To try next: the compiled tests without this.
    """
    from torch._inductor.loop_body import LoopBody

    where_read = LoopBody.get_read_expr

    def where_read_if_at_all(body: LoopBody, buffer: str) -> Any:
        try:
            return where_read(body, buffer)
        except KeyError:
            return None

    LoopBody.get_read_expr = where_read_if_at_all


def _compiles_all_instruction_sets() -> bool:
    """Whether g++ or its like knows all of this processor's instruction sets: tried at once."""
    from torch._inductor import cpu_vec_isa

    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    has = cpu_vec_isa.x86_isa_checker()
    known = cpu_vec_isa.supported_vec_isa_list
    flags = " ".join(
        isa.build_arch_flags() for isa in known if all(flag in has for flag in str(isa).split())
    )
    command = [compiler(), *flags.split(), "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input="", text=True, capture_output=True).returncode == 0


def compiler() -> str | None:
    """The C++ compiler that PyTorch would take; None where it finds none.

    Stands for `torch.utils.cpp_extension.get_cxx_compiler`, which names one without looking whether
    it is there. To try next: that and `shutil.which`.
    """
    from torch._inductor import cpp_builder, exc

    try:
        return cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        return None


def compile_ahead(graph: GraphModule, structure: Any, leaves: list[Tensor], folder: Path) -> None:
    """Compile a graph into `folder`: a library, and a file on operators from elsewhere.

    Stands for `torch._inductor.aoti_compile_and_package`, which takes programs of torch.export
    alone. To try next: that, or `torch.compile(f).aot_compile()`.

    Args:
        structure: That of the answer, kept in the library.
    """
    from torch._inductor import aot_compile

    graph._out_spec = structure  # where the compiler looks for it
    options = {"aot_inductor.output_path": str(folder)}
    log = logging.getLogger("torch._inductor.ir")
    log.addFilter(_tells_more)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own, about its own
            aot_compile(graph, tuple(leaves), options=options)
    finally:
        log.removeFilter(_tells_more)


def _tells_more(record: logging.LogRecord) -> bool:
    """Whether a warning says more than that an operator is called in another way."""
    return "missing a c-shim implementation" not in record.getMessage()


def open_program(library: Path) -> Callable[..., Any]:
    """A compiled program: a function of trees of tensors, which checks no shape.

    Stands for `torch._inductor.aoti_load_package`, which tries instruction sets for seconds. To try
    next: that.

    Raises:
        RuntimeError: The library cannot be loaded.
    """
    runner = torch._C._aoti.AOTIModelContainerRunnerCpu(str(library), 1)
    structure = pytree.treespec_loads(runner.get_call_spec()[1])

    def program(*arguments: Any) -> Any:
        return pytree.tree_unflatten(runner.run(pytree.tree_leaves(arguments)), structure)

    return program
