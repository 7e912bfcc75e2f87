"""gfx90a (MI200): one L2 per agent, glc bypasses L1, L2 maintenance at system scope only."""

from fencewright.lowering.cdna.chip import VOLATILE, BareInstruction, Hint
from fencewright.lowering.cdna.generations.common import (
    AGENT,
    BARRIER_ROWS,
    MATES_STORES,
    NARROW,
    WIDE,
)
from fencewright.lowering.table import row
from fencewright.lowering.vocabulary import Compat, Operation, Scope

_MODEL = "LLVM AMDGPUUsage, Memory Model GFX90A"
_ISA = "MI200 ISA, vector memory"
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)
_ACCESS = (Operation.LOAD, Operation.STORE)
_INV_L1 = BareInstruction("buffer_wbinvl1_vol")
_INV_L2 = BareInstruction("buffer_invl2")

WRITE_BACK_ROWS = (
    row((), f"{_MODEL}: the agent has one L2",
        scope=(*NARROW, Scope.WORKGROUP, *AGENT)),
    row((BareInstruction("buffer_wbl2"),), f"{_MODEL}: dirty L2 lines to memory",
        scope=Scope.SYSTEM),
)  # fmt: skip

INVALIDATE_ROWS = (
    row((), f"{_MODEL}: one wave reads what it wrote", scope=NARROW),
    row((), f"{_MODEL}: the work-group shares one L1", scope=Scope.WORKGROUP, tgsplit=False),
    row((_INV_L1,), f"{_MODEL}: tgsplit, the work-group may span CUs",
        scope=Scope.WORKGROUP, tgsplit=True),
    row((_INV_L1,), f"{_MODEL}: L1, the agent has one L2", scope=AGENT),
    row((_INV_L2, _INV_L1), f"{_MODEL}: noncoherent L2 lines, then L1", scope=Scope.SYSTEM),
)  # fmt: skip

POLICY_ROWS = (
    row((), f"{_MODEL}: may hit L1", operation=Operation.LOAD, hint=Hint.NONE, scope=NARROW),
    row(("glc",), MATES_STORES,
        operation=Operation.LOAD, hint=Hint.NONE, scope=Scope.WORKGROUP, tgsplit=False,
        compat=None),
    row((), f"{_MODEL}: the work-group shares one L1",
        operation=Operation.LOAD, hint=Hint.NONE, scope=Scope.WORKGROUP, tgsplit=False,
        compat=Compat.LLVM),
    row(("glc",), f"{_ISA}: glc misses L1, tgsplit",
        operation=Operation.LOAD, hint=Hint.NONE, scope=Scope.WORKGROUP, tgsplit=True),
    row(("glc",), f"{_ISA}: glc misses L1",
        operation=Operation.LOAD, hint=Hint.NONE, scope=WIDE),
    row((), f"{_MODEL}: stores write through L1",
        operation=Operation.STORE, hint=Hint.NONE),
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
    row((BareInstruction("s_barrier"),), "MI200 ISA, s_barrier", scope=Scope.WORKGROUP),
)
