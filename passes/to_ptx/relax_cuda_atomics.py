"""The pass ``relax-cuda-atomics``: orderings that clang makes stronger than CUDA says.

CUDA's ``atomicAdd`` and its like are relaxed, at the scope of the device. clang writes them as
LLVM's
``atomicrmw`` and ``cmpxchg``, seq_cst at system scope, as if the program had asked for that; so
does LLVM with the old intrinsics ``llvm.nvvm.atomic.load.add.f32``, ``.inc.32`` and their like.
LLVM 22 drops the ordering again when it selects instructions. Nothing in LLVM IR tells them from
what C++ has as seq_cst (``__atomic_fetch_add`` and ``__scoped_atomic_fetch_add`` become the same
lines), so that only the caller can say which they are. What is none of them: ``atomicAdd_block``
and ``_system``, which are calls of intrinsics, and ``cuda::atomic``, which is inline PTX.
Source: CUDA C++ Programming Guide, Atomic Functions; clang 22, __clang_cuda_device_functions.h and
CodeGen of __nvvm_atom_*; LLVM 22, AutoUpgrade.cpp upgradeNVVMIntrinsicCall.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.facts import are_cuda_atomics, facts_for
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp, text_of


@dataclass(frozen=True)
class RelaxCudaAtomicsPass(ModulePass):
    """Make read-modify-writes relaxed that ``facts`` say are CUDA's atomic functions.

    ``mcpu``: a chip as ``sm_90``. Runs on LLVM IR before it is lowered. Raises ``UnsupportedError``
    for a fact that ``mcpu`` has no use for.
    """

    name = "relax-cuda-atomics"

    mcpu: str
    facts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not are_cuda_atomics(facts_for(self.facts, self.mcpu), self.mcpu):
            return
        for function in op.ops:
            if isinstance(function, FuncOp):
                for each in function.walk():
                    _relax(each)


def _relax(op: Operation) -> None:
    if not may_be_cuda_atomic(op):
        return
    op.properties["ordering"] = ORDERINGS[Ordering.RELAXED]
    op.properties["scope"] = SCOPES[Scope.AGENT]
    if isinstance(op, scoped.CmpxchgOp):
        op.properties["failure_ordering"] = ORDERINGS[Ordering.RELAXED]


def may_be_cuda_atomic(op: Operation) -> bool:
    """True if clang may have made ``op`` of a CUDA function: a seq_cst update at system scope."""
    if not isinstance(op, scoped.AtomicRmwOp | scoped.CmpxchgOp) or text_of(op) is not None:
        return False
    return op.properties["ordering"] == _SEQ_CST and op.scope == _SYSTEM and op.volatile is None


_SEQ_CST = ORDERINGS[Ordering.SEQ_CST]
_SYSTEM = SCOPES[Scope.SYSTEM]
