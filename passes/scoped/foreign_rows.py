"""Which operations of MLIR's own dialects synchronise, as rows: what each is in ``scoped``.

The dialects are not registered: operations in generic form, whose properties are what ``mlir-opt
--mlir-print-op-generic`` prints. Their enumerations are numbers. Source: MLIR 22, LLVMEnums.td,
LLVMOps.td, NVVMOps.td, ROCDLOps.td, GPUOps.td.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fencewright.lowering.llvm_architecture import UNKNOWN
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.mlir_dialects import scoped

ORDERING_NUMBERS: Mapping[int, Ordering] = MappingProxyType(
    {
        0: Ordering.WEAK,
        1: Ordering.RELAXED,
        2: Ordering.RELAXED,
        4: Ordering.ACQUIRE,
        5: Ordering.RELEASE,
        6: Ordering.ACQ_REL,
        7: Ordering.SEQ_CST,
    }
)
"""LLVM_AtomicOrdering; 1 is unordered, which is taken for monotonic. 3 is nobody's."""

NUMBER_OF: Mapping[Ordering, int] = MappingProxyType({v: k for k, v in ORDERING_NUMBERS.items()})

KIND_NUMBERS: Mapping[int, RmwKind] = MappingProxyType(
    dict(
        enumerate(
            map(
                RmwKind,
                "xchg add sub and nand or xor max min umax umin fadd fsub fmax fmin uinc_wrap udec_wrap".split(),
            )
        )
    )
)
"""LLVM_AtomicBinOp; what comes after them ``scoped`` has no words for."""

SYNCSCOPES = UNKNOWN.syncscopes
"""By their names, whichever architecture they are of: they do not contradict each other."""

FLAGS = ("volatile_", "weak", "nontemporal", "invariant")
"""Properties that are there or not."""


SCOPE_WORDS: Mapping[str, Scope] = MappingProxyType(
    {"cta": Scope.WORKGROUP, "cluster": Scope.CLUSTER, "gpu": Scope.AGENT, "sys": Scope.SYSTEM}
)
"""NVVM_MemScope."""


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """An operation called ``name`` that is ``op`` in ``scoped``.

    ``ordering``, ``failure``: its properties with the number of an ordering; without one ``meaning``
    is ordering and scope, or None for the one that its property ``scope`` says, one of ``SCOPE_WORDS``.
    ``kept``: properties that it may have and that say nothing of
    synchronisation; with any other one, and with operands where ``op`` has none, it stays as it is.
    """

    name: str
    op: type[scoped.ScopedOperation]
    source: str
    ordering: str | None = None
    failure: str | None = None
    meaning: tuple[Ordering, Scope | None] | None = None
    kept: frozenset[str] = field(default_factory=frozenset[str])


_KEPT = frozenset({
    "access_groups", "alias_scopes", "alignment", "noalias_scopes", "tbaa", "bin_op", "syncscope",
    "dereferenceable", *FLAGS,
})  # fmt: skip
_LLVM = "MLIR 22 LLVMOps.td: as LLVM's instruction"
_MEETS = (Ordering.ACQ_REL, Scope.WORKGROUP)
_NO_OPERANDS = frozenset({"operandSegmentSizes"})

FOREIGN = (
    ForeignRow("llvm.load", scoped.LoadOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.store", scoped.StoreOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.atomicrmw", scoped.AtomicRmwOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.cmpxchg", scoped.CmpxchgOp, _LLVM, ordering="success_ordering",
               failure="failure_ordering", kept=_KEPT),
    ForeignRow("llvm.fence", scoped.FenceOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("gpu.barrier", scoped.BarrierOp, meaning=_MEETS,
               source="MLIR 22 GPUOps.td: all memory accesses before are visible to the workgroup after"),
    ForeignRow("rocdl.barrier", scoped.BarrierOp, meaning=_MEETS,
               source="MLIR 22 ROCDLOps.td: fence release, s_barrier, fence acquire of the workgroup"),
    ForeignRow("rocdl.s.barrier", scoped.BarrierOp, meaning=(Ordering.RELAXED, Scope.WORKGROUP),
               source="MLIR 22 ROCDLOps.td: the bare s_barrier, which orders no memory"),
    ForeignRow("nvvm.barrier0", scoped.BarrierOp, meaning=_MEETS,
               source="MLIR 22 NVVMOps.td; PTX ISA barrier.cta: orders memory among the threads"),
    ForeignRow("nvvm.barrier", scoped.BarrierOp, meaning=_MEETS, kept=_NO_OPERANDS,
               source="MLIR 22 NVVMOps.td: barrier 0 of all threads, where it has no operands"),
    ForeignRow("nvvm.memory.barrier", scoped.FenceOp, meaning=(Ordering.SEQ_CST, None),
               kept=frozenset({"scope"}),
               source="MLIR 22 NVVMOps.td: membar; PTX ISA membar: fence.sc of its scope"),
    ForeignRow("nvvm.fence.sc.cluster", scoped.FenceOp, meaning=(Ordering.SEQ_CST, Scope.CLUSTER),
               source="MLIR 22 NVVMOps.td; PTX ISA fence.sc.cluster"),
)  # fmt: skip
ROWS: Mapping[str, ForeignRow] = MappingProxyType({row.name: row for row in FOREIGN})
