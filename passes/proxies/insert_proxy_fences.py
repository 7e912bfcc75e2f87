"""The pass ``insert-proxy-fences``: synchronisation of proxies and tensor cores beside barriers."""

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import Ordering
from fencewright.mlir_dialects.attributes import ORDERINGS
from fencewright.mlir_dialects.leaf_operation import walk
from fencewright.mlir_dialects.scoped import Asynchronous
from fencewright.passes.analysis.control_flow import is_mlir_function, top_level

if TYPE_CHECKING:
    from fencewright.passes.kernels.accept import Function
    from fencewright.passes.proxies.dataflow import Missing


@dataclass(frozen=True)
class InsertProxyFencesPass(ModulePass):
    """Insert the proxy fences, tensor fences and waits that a function's happens-before takes.

    A program says with barriers, orderings and scopes what happens before what. This pass adds
    what that takes where an access goes through another proxy than the one before: the weakest
    form, in the thread that has to execute it, and none where a completion already carries it.
    ``fence_reads``: also between a generic read and a later async write, as the memory model
    has it. The rule stands in docs/async.md. Raises ``DiagnosticException`` for structured
    control flow around asynchronous operations.
    """

    name = "insert-proxy-fences"

    fence_reads: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in _asynchronous_functions(op):
            _insert(function, self.fence_reads)


def _asynchronous_functions(module: ModuleOp) -> "list[Function]":
    return [
        op
        for op in top_level(module)
        if is_mlir_function(op) and op.body.blocks and _is_asynchronous(op)
    ]


def _is_asynchronous(function: "Function") -> bool:
    return any(issubclass(kind, Asynchronous) for kind in set(map(type, walk(function))))


def _insert(function: "Function", fence_reads: bool) -> None:
    # Most functions have nothing asynchronous: they do not pay for it.
    from fencewright.passes.proxies.dataflow import Analysis

    analysis = Analysis(function, fence_reads)
    before: dict[Operation, list[Missing]] = defaultdict(list)
    for missing in analysis.solve():
        if missing.relaxes:
            missing.at.properties["ordering"] = ORDERINGS[Ordering.RELAXED]
            del missing.at.properties["space"]
        if missing.after:
            block = missing.at.parent
            assert block is not None
            block.insert_ops_after(missing.make(), missing.at)
            continue
        for point in analysis.points(missing):
            before[point].append(missing)
    for point, missings in before.items():
        _insert_before(point, missings)


def _insert_before(point: Operation, missings: "list[Missing]") -> None:
    block = point.parent
    assert block is not None
    seen: set[object] = set()
    for missing in sorted(missings, key=lambda each: each.rank):
        if missing.key in seen:
            continue
        seen.add(missing.key)
        block.insert_ops_before(missing.make(), point)
