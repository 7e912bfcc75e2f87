"""gfx908 (MI100): one L2 per agent without any maintenance instruction, no tgsplit."""

from fencewright.lowering.cdna.chip import VOLATILE, BareInstruction, Hint
from fencewright.lowering.cdna.generations.common import (
    BARRIER_ROWS,
    LDS,
    MATES_STORES,
    MEMORY,
    NARROW,
    WIDE,
)
from fencewright.lowering.table import row
from fencewright.lowering.vocabulary import Compat, Operation, Scope

_MODEL = "LLVM AMDGPUUsage, Memory Model GFX6-GFX9"
_ISA = "MI100 ISA, vector memory"
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)
_ACCESS = (Operation.LOAD, Operation.STORE)

WRITE_BACK_ROWS = (
    row((), f"{_MODEL}: system memory is uncached or coherent in L2"),
)  # fmt: skip

INVALIDATE_ROWS = (
    row((), f"{_MODEL}: the work-group shares one L1", scope=(*NARROW, Scope.WORKGROUP)),
    row((BareInstruction("buffer_wbinvl1_vol"),), f"{_MODEL}: L1", scope=WIDE),
)

POLICY_ROWS = (
    row((), f"{_MODEL}: may hit L1", operation=Operation.LOAD, hint=Hint.NONE, scope=NARROW),
    row(("glc",), MATES_STORES,
        operation=Operation.LOAD, hint=Hint.NONE, scope=Scope.WORKGROUP, compat=None),
    row((), f"{_MODEL}: the work-group shares one L1",
        operation=Operation.LOAD, hint=Hint.NONE, scope=Scope.WORKGROUP, compat=Compat.LLVM),
    row(("glc",), f"{_ISA}: glc misses L1",
        operation=Operation.LOAD, hint=Hint.NONE, scope=WIDE),
    row((), f"{_MODEL}: stores write through L1", operation=Operation.STORE, hint=Hint.NONE),
    row(("glc",), f"{_MODEL}: volatile load", operation=Operation.LOAD, hint=VOLATILE),
    row((), f"{_MODEL}: volatile store", operation=Operation.STORE, hint=VOLATILE),
    row(("glc", "slc"), f"{_MODEL}: nontemporal", operation=_ACCESS, hint=Hint.NONTEMPORAL),
    row((), f"{_MODEL}: a read-modify-write is performed in L2", operation=_RMW),
)  # fmt: skip

RETURNING_ROWS = (
    row((), f"{_ISA}: glc=0, the old value is not returned", returns=False),
    row(("glc",), f"{_ISA}: glc=1, return the old value", returns=True),
)

BARRIERS = (
    *BARRIER_ROWS,
    row(
        (MEMORY | LDS, BareInstruction("s_barrier")),
        "LLVM SIInsertWaitcnts: without a back-off barrier nothing may be outstanding",
        scope=Scope.WORKGROUP,
    ),
)
