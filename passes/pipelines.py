"""The named pipelines: which passes, in which order, lower for a family of targets."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.targets import load_target


@dataclass(frozen=True)
class Pipeline(ModulePass):
    """A list of passes under one name; as a pass of its own it runs them in order."""

    @abstractmethod
    def passes(self) -> tuple[ModulePass, ...]:
        """The passes in the order in which they run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for step in self.passes():
            step.apply(ctx, op)


def _before_cdna() -> tuple[ModulePass, ...]:
    from fencewright.passes.merge_fences import MergeFencesPass

    return (MergeFencesPass(),)


def _through() -> tuple[ModulePass, ...]:
    from fencewright.passes.store_through import StoreThroughPass

    return (StoreThroughPass(),)


def _on_cdna() -> tuple[ModulePass, ...]:
    from fencewright.passes.drop_invalidates import DropInvalidatesPass
    from fencewright.passes.drop_write_backs import DropWriteBacksPass
    from fencewright.passes.loosen_waits import LoosenWaitsPass
    from fencewright.passes.sink_invalidates import SinkInvalidatesPass

    return (
        DropWriteBacksPass(),
        DropInvalidatesPass(),
        SinkInvalidatesPass(),
        LoosenWaitsPass(),
    )


@dataclass(frozen=True)
class CDNAPipeline(Pipeline):
    """``scoped`` to CDNA machine instructions that ``-t asm`` prints.

    ``minimise``: with the passes that take away synchronisation which nothing needs.
    ``stores``: through makes plain stores leave no dirty line, so that there is nothing to
    write back to the agent.
    """

    name = "cdna-pipeline"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    minimise: bool = False
    stores: Literal["back", "through"] = "back"

    def passes(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.allocate_registers import AllocateRegistersPass
        from fencewright.passes.convert_scoped_to_cdna import ConvertScopedToCDNAPass
        from fencewright.passes.insert_waits import InsertWaitsPass
        from fencewright.passes.outline_litmus_threads import OutlineLitmusThreadsPass

        return (
            OutlineLitmusThreadsPass(),
            *(_before_cdna() if self.minimise else ()),
            ConvertScopedToCDNAPass(
                mcpu=self.mcpu,
                tgsplit=self.tgsplit,
                l2_per_agent=self.l2_per_agent,
                compat=self.compat,
            ),
            *(_through() if self.stores == "through" else ()),
            *(_on_cdna() if self.minimise else ()),
            InsertWaitsPass(),
            AllocateRegistersPass(),
        )


@dataclass(frozen=True)
class PTXPipeline(Pipeline):
    """``scoped`` to PTX instructions that ``-t asm`` and ``-t ptx`` print."""

    name = "ptx-pipeline"

    mcpu: str
    ptx_version: str | None = None

    def passes(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.convert_scoped_to_ptx import ConvertScopedToPTXPass
        from fencewright.passes.insert_proxy_fences import InsertProxyFencesPass
        from fencewright.passes.outline_litmus_threads import OutlineLitmusThreadsPass

        return (
            OutlineLitmusThreadsPass(),
            InsertProxyFencesPass(),
            ConvertScopedToPTXPass(mcpu=self.mcpu, ptx_version=self.ptx_version),
        )


@dataclass(frozen=True)
class LLVMIRPipeline(Pipeline):
    """LLVM IR with ``scoped`` operations to LLVM IR with explicit synchronisation."""

    name = "llvm-ir-pipeline"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    ptx_version: str | None = None

    def passes(self) -> tuple[ModulePass, ...]:
        from fencewright.passes.lower_scoped_llvm_ir import LowerScopedLLVMIRPass

        return (
            LowerScopedLLVMIRPass(
                target=self.mcpu,
                tgsplit=self.tgsplit,
                l2_per_agent=self.l2_per_agent,
                compat=self.compat,
                ptx_version=self.ptx_version,
            ),
        )


_PIPELINE_OF = {"cdna": CDNAPipeline, "ptx": PTXPipeline}


def pipeline_for(architecture: str, *, llvm_ir: bool) -> str:
    """The name of the pipeline that lowers for ``architecture`` (of ``lowering.targets``)."""
    return LLVMIRPipeline.name if llvm_ir else _PIPELINE_OF[architecture].name


def lower_module(
    module: ModuleOp,
    target: str,
    *,
    features: Iterable[str] = (),
    l2_per_agent: Literal["one", "many"] = "many",
    compat: Literal["llvm"] | None = None,
    ptx_version: str | None = None,
) -> None:
    """Lower the ``scoped`` kernels of an xDSL module to ``target``'s instructions, in place.

    The options are those of ``lower``; what a target has no use for must be left out.
    Verifies the module before and after. Raises ``UnsupportedError`` for an unknown target or
    option, ``DiagnosticException`` at the operation that cannot be lowered.
    """
    pipeline = _PIPELINE_OF[load_target(target).architecture]
    asked: dict[str, Any] = dict.fromkeys(features, True) | {
        name: value
        for name, value in (
            ("l2_per_agent", None if l2_per_agent == "many" else l2_per_agent),
            ("compat", compat),
            ("ptx_version", ptx_version),
        )
        if value is not None
    }
    known = {field.name for field in fields(pipeline)} - {"mcpu"}
    unknown = sorted(asked.keys() - known)
    if unknown:
        reason = f"{target} has no option {', '.join(unknown)}"
        raise UnsupportedError(f"lowering a module for {target}", reason, tuple(sorted(known)))
    module.verify()
    pipeline(target, **asked).apply(Context(), module)
    module.verify()
