"""gfx942 (MI300): an L2 per XCD, scope bits sc0 and sc1 on every access and cache operation."""

from fencewright.lowering.cdna.chip import VOLATILE, BareInstruction, Hint
from fencewright.lowering.cdna.generations.common import AGENT, BARRIER_ROWS, NARROW
from fencewright.lowering.table import row
from fencewright.lowering.vocabulary import Compat, L2PerAgent, Operation, Scope

_MODEL = "LLVM AMDGPUUsage, Memory Model GFX942"
_CONTROL = "CDNA4 ISA, load and store control by sc1 sc0"
_MAINTENANCE = "MI300 ISA, buffer_wbl2 and buffer_inv"
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)
_ACCESS = (Operation.LOAD, Operation.STORE)

WRITE_BACK_ROWS = (
    row((), f"{_MODEL}: the work-group shares one L2", scope=(*NARROW, Scope.WORKGROUP)),
    row((BareInstruction("buffer_wbl2", ("sc1",)),),
        f"{_MAINTENANCE}: dirty lines of all the agent's L2s",
        scope=AGENT, l2_per_agent=L2PerAgent.MANY),
    row((), f"{_MAINTENANCE}: does nothing where the agent has one L2",
        scope=AGENT, l2_per_agent=L2PerAgent.ONE, compat=None),
    row((BareInstruction("buffer_wbl2", ("sc1",)),), f"{_MODEL}: LLVM knows no partition mode",
        scope=AGENT, l2_per_agent=L2PerAgent.ONE, compat=Compat.LLVM),
    row((BareInstruction("buffer_wbl2", ("sc0", "sc1")),),
        f"{_MAINTENANCE}: dirty L2 lines to memory",
        scope=Scope.SYSTEM),
)  # fmt: skip

INVALIDATE_ROWS = (
    row((), f"{_MODEL}: one wave reads what it wrote", scope=NARROW),
    row((), f"{_MODEL}: the work-group shares one L1", scope=Scope.WORKGROUP, tgsplit=False),
    row((BareInstruction("buffer_inv", ("sc0",)),), f"{_MAINTENANCE}: L1, tgsplit only",
        scope=Scope.WORKGROUP, tgsplit=True),
    row((BareInstruction("buffer_inv", ("sc1",)),), f"{_MAINTENANCE}: L1, and nonlocal L2 lines",
        scope=AGENT),
    row((BareInstruction("buffer_inv", ("sc0", "sc1")),),
        f"{_MAINTENANCE}: L1 and nonlocal L2 lines",
        scope=Scope.SYSTEM),
)  # fmt: skip

POLICY_ROWS = (
    row((), f"{_CONTROL}: wave", operation=_ACCESS, hint=Hint.NONE, scope=NARROW),
    row(("sc0",), f"{_CONTROL}: group",
        operation=_ACCESS, hint=Hint.NONE, scope=Scope.WORKGROUP),
    row(("sc1",), f"{_CONTROL}: agent", operation=_ACCESS, hint=Hint.NONE, scope=AGENT),
    row(("sc0", "sc1"), f"{_CONTROL}: system",
        operation=_ACCESS, hint=Hint.NONE, scope=Scope.SYSTEM),
    row(("sc0", "sc1"), f"{_MODEL}: volatile", operation=_ACCESS, hint=VOLATILE),
    row(("nt",), f"{_MODEL}: nontemporal", operation=_ACCESS, hint=Hint.NONTEMPORAL),
    row((), f"{_CONTROL}: a read-modify-write without sc1 is the agent's",
        operation=_RMW, scope=(*NARROW, Scope.WORKGROUP, *AGENT)),
    row(("sc1",), f"{_CONTROL}: a read-modify-write with sc1 is the system's",
        operation=_RMW, scope=Scope.SYSTEM),
)  # fmt: skip

RETURNING_ROWS = (
    row((), "MI300 ISA: sc0=0, the old value is not returned", returns=False),
    row(("sc0",), "MI300 ISA: sc0=1, return the old value", returns=True),
)

BARRIERS = (
    *BARRIER_ROWS,
    row((BareInstruction("s_barrier"),), "MI300 ISA 4.3, s_barrier", scope=Scope.WORKGROUP),
)
