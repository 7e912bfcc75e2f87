"""What Fencewright adds to xDSL: found by ``xdsl-opt`` through the ``xdsl.universe`` entry point.

Every entry is a factory, so that a dialect or a pass is imported when first used.
The dialect that carries LLVM IR is ``llvm_ir``: a second ``llvm`` would break every
``xdsl-opt`` of the environment.
"""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
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


def _lazily(module: str, name: str) -> Callable[[], Any]:
    """Imports ``module`` when first called, for what is called ``name`` there."""
    return lambda: getattr(import_module(f"fencewright.{module}"), name)


SYNCHRONOUS = _lazily("mlir_dialects.scoped", "SYNCHRONOUS")
"""What few programs have more than of ``scoped``, and ``ASYNCHRONOUS`` the rest."""
ASYNCHRONOUS = _lazily("mlir_dialects.scoped_async", "ASYNCHRONOUS")

DIALECTS: dict[str, Callable[[], Dialect]] = {
    "scoped": _lazily("mlir_dialects.scoped", "Scoped"),
    "cdna": _lazily("mlir_dialects.cdna", "CDNA"),
    "ptx": _lazily("mlir_dialects.ptx", "PTX"),
    "llvm_ir": _lazily("mlir_dialects.llvm_ir.dialect", "LLVMIR"),
    "litmus": _lazily("mlir_dialects.litmus", "LITMUS"),
}

PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "convert-scoped-to-cdna": _lazily(
        "passes.to_cdna.convert_scoped_to_cdna", "ConvertScopedToCDNAPass"
    ),
    "insert-waits": _lazily("passes.cdna.waits.insert_waits", "InsertWaitsPass"),
    "allocate-registers": _lazily("passes.cdna.allocate_registers", "AllocateRegistersPass"),
    "insert-proxy-fences": _lazily("passes.proxies.insert_proxy_fences", "InsertProxyFencesPass"),
    "convert-scoped-to-ptx": _lazily(
        "passes.to_ptx.convert_scoped_to_ptx", "ConvertScopedToPTXPass"
    ),
    "lower-scoped-llvm-ir": _lazily("passes.llvm_ir.lower_scoped_llvm_ir", "LowerScopedLLVMIRPass"),
    "relax-cuda-atomics": _lazily("passes.to_ptx.relax_cuda_atomics", "RelaxCudaAtomicsPass"),
    "relax-elements": _lazily("passes.to_ptx.relax_elements", "RelaxElementsPass"),
    "outline-litmus-threads": _lazily(
        "passes.litmus.outline_litmus_threads", "OutlineLitmusThreadsPass"
    ),
    "drop-instructions": _lazily("passes.litmus.drop_instructions", "DropInstructionsPass"),
    "import-mlir-sync": _lazily("passes.scoped.import_mlir_sync", "ImportMLIRSyncPass"),
    "export-mlir-sync": _lazily("passes.scoped.import_mlir_sync", "ExportMLIRSyncPass"),
    "merge-fences": _lazily("passes.scoped.merge_fences", "MergeFencesPass"),
    "merge-ptx-fences": _lazily("passes.to_ptx.merge_ptx_fences", "MergePTXFencesPass"),
    "fold-fences": _lazily("passes.to_ptx.fold_fences", "FoldFencesPass"),
    "infer-address-spaces": _lazily("passes.scoped.infer_address_spaces", "InferAddressSpacesPass"),
    "acquire-on-success": _lazily("passes.scoped.acquire_on_success", "AcquireOnSuccessPass"),
    "drop-write-backs": _lazily("passes.cdna.caches.drop_write_backs", "DropWriteBacksPass"),
    "elect-release": _lazily("passes.cdna.caches.elect_release", "ElectReleasePass"),
    "hoist-write-backs": _lazily("passes.cdna.caches.hoist_write_backs", "HoistWriteBacksPass"),
    "drop-invalidates": _lazily("passes.cdna.caches.drop_invalidates", "DropInvalidatesPass"),
    "sink-invalidates": _lazily("passes.cdna.caches.sink_invalidates", "SinkInvalidatesPass"),
    "drop-last-waits": _lazily("passes.cdna.waits.drop_last_waits", "DropLastWaitsPass"),
    "sink-waits": _lazily("passes.cdna.waits.sink_waits", "SinkWaitsPass"),
    "loosen-waits": _lazily("passes.cdna.waits.loosen_waits", "LoosenWaitsPass"),
    "store-through": _lazily("passes.cdna.caches.store_through", "StoreThroughPass"),
    "clamp-scopes": _lazily("passes.scoped.clamp_scopes", "ClampScopesPass"),
    "clamp-caches": _lazily("passes.cdna.caches.clamp_caches", "ClampCachesPass"),
    "minimise-caches": _lazily("passes.pipelines", "MinimiseCachesPipeline"),
    "loosen-releases": _lazily("passes.llvm_ir.loosen_releases", "LoosenReleasesPass"),
    "await-values": _lazily("passes.llvm_ir.await_values", "AwaitValuesPass"),
    "escape-noalias": _lazily("passes.llvm_ir.escape_noalias", "EscapeNoaliasPass"),
    "show-waits": _lazily("passes.llvm_ir.show_waits", "ShowWaitsPass"),
    "cdna-pipeline": _lazily("passes.pipelines", "CDNAPipeline"),
    "ptx-pipeline": _lazily("passes.pipelines", "PTXPipeline"),
    "llvm-ir-pipeline": _lazily("passes.pipelines", "LLVMIRPipeline"),
}

TARGETS: dict[str, Callable[[], type[Target]]] = {
    "asm": _lazily("passes.print.assembly", "AssemblyTarget"),
    "ptx": _lazily("passes.print.ptx", "PTXTarget"),
}


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


@cache
def installed() -> Universe:
    """What xDSL and every plug-in of this environment have; looked for once, for that is slow."""
    return Universe.get_multiverse()
