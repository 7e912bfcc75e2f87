"""Reasons for the PTX that operations became, and for the removals of the passes on ``ptx``."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.ptx.chip import PtxForm, lowest_with
from fencewright.lowering.ptx.code.statements import opcode_of
from fencewright.lowering.ptx.select import chip_named
from fencewright.lowering.targets import backend_of
from fencewright.lowering.vocabulary import Fact, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.ptx import FenceOp
from fencewright.passes.analysis.acquire_fences import may_be_acquire_fence
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass
from fencewright.passes.to_ptx.relax_cuda_atomics import RelaxCudaAtomicsPass, may_be_cuda_atomic
from fencewright.tools.remarks.remarks import Change, Finding, Parts, Reason, at, helped_by
from fencewright.tools.remarks.search import Judge, code_in, finds


def converted(module: ModuleOp, following: ModulePass) -> Reason:
    """As ``_cheaper_form``, for kernels."""
    assert isinstance(following, ConvertScopedToPTXPass)
    return _cheaper_form(module, following.mcpu)


def lowered_in_llvm_ir(module: ModuleOp, following: ModulePass) -> Reason:
    """As ``_cheaper_form``, for LLVM IR; nothing for CDNA."""
    assert isinstance(following, LowerScopedLLVMIRPass)
    if backend_of(following.mcpu).architecture == "ptx":
        return _cheaper_form(module, following.mcpu)
    return lambda finding: None


def _cheaper_form(module: ModuleOp, target: str) -> Reason:
    """The reason that PTX has a cheaper instruction for an operation, or has none.

    A reduction for a read-modify-write whose result nobody reads; a one-sided fence.
    """
    code = code_in(region for op in module.walk() for region in op.regions)
    acquire_fence = finds(may_be_acquire_fence)
    acquired = {
        op: code.later(op, acquire_fence)
        for op in code.place
        if isinstance(op, scoped.AtomicRmwOp) and op.old.first_use is None
    }

    def reason(finding: Finding) -> Parts | None:
        op = finding.before.op
        if isinstance(op, scoped.FenceOp) and _is_two_sided(op, finding):
            able = lowest_with(PtxForm.ONE_SIDED_FENCE, chip_named(target))
            return (f"{PtxForm.ONE_SIDED_FENCE} are of {able} on",)
        if not isinstance(op, scoped.AtomicRmwOp) or op not in acquired:
            return None
        if finding.change is Change.CHANGED:
            return ("nobody reads its result, and no acquire fence comes behind it",)
        by = acquired[op]
        if by is None:
            return None
        return (*at(by, "By"), " may acquire by what it reads, so it is no 'red'")

    return reason


def _is_two_sided(fence: scoped.FenceOp, finding: Finding) -> bool:
    """True if a fence that acquires or releases became one that does both."""
    one_sided = fence.ordering.data in (Ordering.ACQUIRE, Ordering.RELEASE)
    return one_sided and any(
        opcode.operation == "fence" and opcode.ordering is Ordering.ACQ_REL
        for opcode in (opcode_of(each.text) for each in finding.after)
    )


def cuda_atomics(module: ModuleOp, following: ModulePass) -> Reason:
    """The orderings that clang made stronger than CUDA: reverted, or the fact that would do so."""
    assert isinstance(following, RelaxCudaAtomicsPass)

    def reason(finding: Finding) -> Parts | None:
        if finding.change is Change.CHANGED:
            return ("CUDA's atomic functions are relaxed",)
        if may_be_cuda_atomic(finding.before.op):
            return helped_by((Fact.CUDA_ATOMICS,))
        return None

    return reason


def merged(module: ModuleOp, following: ModulePass) -> Reason:
    """The fence next to one that was removed or loosened."""
    code = code_in(region for kernel in top_level(module) for region in kernel.regions)
    fence: Judge[Operation] = finds(lambda op: isinstance(op, FenceOp) and op.parent is not None)

    def reason(finding: Finding) -> Parts | None:
        op = finding.before.op
        by = code.earlier(op, fence) or code.later(op, fence)
        if by is None:
            return ("the fences next to it do the rest",)
        return (*at(by, "By"), " next to it does the rest")

    return reason
