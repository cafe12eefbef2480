"""All that this package takes from PyTorch 2.13 without PyTorch promising to keep it.

No other file names a private module of PyTorch (a test holds this), `torch.utils._pytree` apart.
Each function says what it replaces and what to try at the next version; docs/engine.md tells what
the public ways did when they were tried.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor
from torch.fx import GraphModule

_zeros = torch.ops.aten._efficientzerotensor.default


def graph_of(function: Callable[..., list[Tensor]], leaves: Sequence[Tensor]) -> GraphModule:
    """The operations of `function`; tangents of constants, zeros without memory, get some.

    Replaces `torch.export.export`, which keeps vmap as it is: it compiles in no loop that changes
    something in place. To try next: that. (`make_fx` is documented, as experimental.)
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    # Constants that an author's network holds are taken as they are.
    graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*leaves)
    for part in (module for module in graph.modules() if isinstance(module, GraphModule)):
        for node in part.graph.nodes:
            node.target = torch.ops.aten.zeros.default if node.target is _zeros else node.target
        part.recompile()
    return graph


def scan_loop(
    step: Callable[..., list[Tensor]], carry: list[Tensor], inputs: list[Tensor], more: list[Tensor]
) -> list[Tensor]:
    """One loop of a program over the inputs' first axis: last carry, then stacked outputs.

    Replaces a public scan, of which there is none. To try next: `torch.scan`; or
    `torch.while_loop`, once a program may read what a loop in it writes.
    """
    from torch._higher_order_ops.scan import scan_op

    return list(scan_op(step, carry, inputs, tuple(more)))


def with_strides_of(tensor: Tensor, like: Tensor) -> Tensor:
    """In a program, `tensor` laid out in memory as `like`, and computed once.

    Replaces `Tensor.contiguous` and `clone`, which the compiler undoes. To try next: those.
    """
    from torch._inductor import inductor_prims

    return inductor_prims.force_stride_order(tensor, like.stride())


@contextmanager
def quiet_compiler() -> Iterator[None]:
    """A block in which the compiler does not say that it calls an operator in another way.

    Replaces a public switch of that line alone. To try next: `torch._logging.set_logs`.
    """
    log = logging.getLogger("torch._inductor.ir")
    level = log.level
    log.setLevel(logging.ERROR)
    yield
    log.setLevel(level)


def open_package(path: Path) -> Callable[[list[Tensor]], list[Tensor]]:
    """A compiled program, which looks at no shape; RuntimeError where it cannot be loaded.

    Replaces `torch._inductor.aoti_load_package`, which imports the compiler for a second before it
    does the same. To try next: that.
    """
    return torch._C._aoti.AOTIModelPackageLoader(str(path), "model", False, 1, -1).boxed_run
