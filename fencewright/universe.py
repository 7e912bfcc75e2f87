"""What Fencewright adds to xDSL: found by ``xdsl-opt`` through the ``xdsl.universe`` entry point.

Everything is behind a factory, so that a dialect or a pass is imported when first used.
The dialect that carries LLVM IR is ``llvm_ir``: a second ``llvm`` would break every
``xdsl-opt`` of the environment.
"""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.utils.arg_spec import ArgSpec


def _scoped() -> Dialect:
    from fencewright.mlir_dialects.scoped import Scoped

    return Scoped


def _cdna() -> Dialect:
    from fencewright.mlir_dialects.cdna import CDNA

    return CDNA


def _ptx() -> Dialect:
    from fencewright.mlir_dialects.ptx import PTX

    return PTX


def _llvm_ir() -> Dialect:
    from fencewright.mlir_dialects.llvm_ir.dialect import LLVMIR

    return LLVMIR


def _litmus() -> Dialect:
    from fencewright.mlir_dialects.litmus import LITMUS

    return LITMUS


def _convert_scoped_to_cdna() -> type[ModulePass]:
    from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass

    return ConvertScopedToCDNAPass


def _insert_waits() -> type[ModulePass]:
    from fencewright.passes.cdna.insert_waits import InsertWaitsPass

    return InsertWaitsPass


def _allocate_registers() -> type[ModulePass]:
    from fencewright.passes.cdna.allocate_registers import AllocateRegistersPass

    return AllocateRegistersPass


def _insert_proxy_fences() -> type[ModulePass]:
    from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass

    return InsertProxyFencesPass


def _convert_scoped_to_ptx() -> type[ModulePass]:
    from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass

    return ConvertScopedToPTXPass


def _lower_scoped_llvm_ir() -> type[ModulePass]:
    from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass

    return LowerScopedLLVMIRPass


def _outline_litmus_threads() -> type[ModulePass]:
    from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass

    return OutlineLitmusThreadsPass


def _drop_instructions() -> type[ModulePass]:
    from fencewright.passes.litmus.drop_instructions import DropInstructionsPass

    return DropInstructionsPass


def _merge_fences() -> type[ModulePass]:
    from fencewright.passes.scoped.merge_fences import MergeFencesPass

    return MergeFencesPass


def _merge_ptx_fences() -> type[ModulePass]:
    from fencewright.passes.to_ptx.merge_ptx_fences import MergePTXFencesPass

    return MergePTXFencesPass


def _fold_fences() -> type[ModulePass]:
    from fencewright.passes.to_ptx.fold_fences import FoldFencesPass

    return FoldFencesPass


def _infer_address_spaces() -> type[ModulePass]:
    from fencewright.passes.scoped.infer_address_spaces import InferAddressSpacesPass

    return InferAddressSpacesPass


def _acquire_on_success() -> type[ModulePass]:
    from fencewright.passes.scoped.acquire_on_success import AcquireOnSuccessPass

    return AcquireOnSuccessPass


def _drop_write_backs() -> type[ModulePass]:
    from fencewright.passes.cdna.drop_write_backs import DropWriteBacksPass

    return DropWriteBacksPass


def _hoist_write_backs() -> type[ModulePass]:
    from fencewright.passes.cdna.hoist_write_backs import HoistWriteBacksPass

    return HoistWriteBacksPass


def _drop_invalidates() -> type[ModulePass]:
    from fencewright.passes.cdna.drop_invalidates import DropInvalidatesPass

    return DropInvalidatesPass


def _sink_invalidates() -> type[ModulePass]:
    from fencewright.passes.cdna.sink_invalidates import SinkInvalidatesPass

    return SinkInvalidatesPass


def _sink_waits() -> type[ModulePass]:
    from fencewright.passes.cdna.sink_waits import SinkWaitsPass

    return SinkWaitsPass


def _loosen_waits() -> type[ModulePass]:
    from fencewright.passes.cdna.loosen_waits import LoosenWaitsPass

    return LoosenWaitsPass


def _store_through() -> type[ModulePass]:
    from fencewright.passes.cdna.store_through import StoreThroughPass

    return StoreThroughPass


def _clamp_scopes() -> type[ModulePass]:
    from fencewright.passes.scoped.clamp_scopes import ClampScopesPass

    return ClampScopesPass


def _clamp_caches() -> type[ModulePass]:
    from fencewright.passes.cdna.clamp_caches import ClampCachesPass

    return ClampCachesPass


def _await_values() -> type[ModulePass]:
    from fencewright.passes.llvm_ir.await_values import AwaitValuesPass

    return AwaitValuesPass


def _minimise_caches() -> type[ModulePass]:
    from fencewright.passes.pipelines import MinimiseCachesPipeline

    return MinimiseCachesPipeline


def _cdna_pipeline() -> type[ModulePass]:
    from fencewright.passes.pipelines import CDNAPipeline

    return CDNAPipeline


def _ptx_pipeline() -> type[ModulePass]:
    from fencewright.passes.pipelines import PTXPipeline

    return PTXPipeline


def _llvm_ir_pipeline() -> type[ModulePass]:
    from fencewright.passes.pipelines import LLVMIRPipeline

    return LLVMIRPipeline


def _asm() -> type[Target]:
    from fencewright.passes.print.assembly import AssemblyTarget

    return AssemblyTarget


def _ptx_text() -> type[Target]:
    from fencewright.passes.print.ptx import PTXTarget

    return PTXTarget


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "scoped": _scoped,
    "cdna": _cdna,
    "ptx": _ptx,
    "llvm_ir": _llvm_ir,
    "litmus": _litmus,
}

PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "convert-scoped-to-cdna": _convert_scoped_to_cdna,
    "insert-waits": _insert_waits,
    "allocate-registers": _allocate_registers,
    "insert-proxy-fences": _insert_proxy_fences,
    "convert-scoped-to-ptx": _convert_scoped_to_ptx,
    "lower-scoped-llvm-ir": _lower_scoped_llvm_ir,
    "outline-litmus-threads": _outline_litmus_threads,
    "drop-instructions": _drop_instructions,
    "merge-fences": _merge_fences,
    "merge-ptx-fences": _merge_ptx_fences,
    "fold-fences": _fold_fences,
    "infer-address-spaces": _infer_address_spaces,
    "acquire-on-success": _acquire_on_success,
    "drop-write-backs": _drop_write_backs,
    "hoist-write-backs": _hoist_write_backs,
    "drop-invalidates": _drop_invalidates,
    "sink-invalidates": _sink_invalidates,
    "sink-waits": _sink_waits,
    "loosen-waits": _loosen_waits,
    "store-through": _store_through,
    "clamp-scopes": _clamp_scopes,
    "clamp-caches": _clamp_caches,
    "minimise-caches": _minimise_caches,
    "await-values": _await_values,
    "cdna-pipeline": _cdna_pipeline,
    "ptx-pipeline": _ptx_pipeline,
    "llvm-ir-pipeline": _llvm_ir_pipeline,
}

TARGETS: dict[str, Callable[[], type[Target]]] = {"asm": _asm, "ptx": _ptx_text}


# What xDSL gets


@contextmanager
def _told_in_one_line(name: str, kind: type[Exception]) -> Generator[None]:
    """Have an error of the pass ``name`` that is the user's to mend end the program in one line.

    Only where nobody catches it, and not with ``FENCEWRIGHT_TRACEBACK`` set: xDSL's own driver
    ends in a traceback for every error.
    """
    from fencewright.tools.diagnostics import TRACEBACK_VARIABLE, Diagnostic

    try:
        yield
    except kind as problem:
        told, otherwise = problem, sys.excepthook
        program = os.path.basename(sys.argv[0])

        def tell(
            type: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            if error is not told or os.environ.get(TRACEBACK_VARIABLE):
                otherwise(type, error, trace)
            else:
                print(Diagnostic(f"pass '{name}': {error}", program), file=sys.stderr)

        sys.excepthook = tell
        raise


@cache
def _plugged_in(name: str) -> type[ModulePass]:
    """The pass ``name`` for a program that knows nothing of Fencewright's errors."""
    from fencewright.lowering.sequence import UnsupportedError

    base = PASSES[name]()

    class Pass(base):
        @classmethod
        def from_spec(cls, spec: "ArgSpec") -> Any:
            with _told_in_one_line(name, ValueError):
                return cast(Any, super()).from_spec(spec)

        def apply(self, ctx: "Context", op: "ModuleOp") -> None:
            with _told_in_one_line(name, UnsupportedError):
                cast(Any, super()).apply(ctx, op)

    Pass.__name__ = Pass.__qualname__ = base.__name__
    return Pass


UNIVERSE = Universe(
    all_dialects=DIALECTS,
    all_passes={name: partial(_plugged_in, name) for name in PASSES},
    all_targets=TARGETS,
)
