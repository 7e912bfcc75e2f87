"""gfx1250 (MI400): clusters are a scope, every access names its own, counters are split.

Every chip of the generation runs waves of 32 lanes, and a work-group in one WGP, whose cache (WGP$)
is divided between LDS and the vector L0. Each access carries its scope; caches of a narrower one
are passed. By default sequences are sufficient on both readings of the manual that
``simulator/cdna`` executes, so that a release to the cluster writes back.
"""

from fencewright.lowering.cdna.chip import BareInstruction, Covers, Hint
from fencewright.lowering.cdna.counters.waits import split
from fencewright.lowering.cdna.generations.common import NARROW
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.skeleton import SkeletonStep
from fencewright.lowering.table import Illegal, row
from fencewright.lowering.vocabulary import AddressSpace, Compat, Operation, Scope

_MODEL = "LLVM 24 AMDGPUUsage, Memory Model GFX125x"
_LEGALIZER = "LLVM 24 SIMemoryLegalizer, SIGfx12CacheControl"
_READ = Operation.LOAD
_ACCESS = (Operation.LOAD, Operation.STORE)
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)
_WRITES = (Operation.STORE, *_RMW)
_BY_WAVE = (*NARROW, Scope.WORKGROUP)
_WIDE = (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
_FAR = (Scope.AGENT, Scope.SYSTEM)

LOADS = WaitCounts(loadcnt=0)
STORES = WaitCounts(storecnt=0)
LDS = WaitCounts(dscnt=0)
TRANSLATED = WaitCounts(xcnt=0)

_SCOPES = {
    Scope.CLUSTER: "scope:SCOPE_SE",
    Scope.AGENT: "scope:SCOPE_DEV",
    Scope.SYSTEM: "scope:SCOPE_SYS",
}
"""The modifier of each scope; SCOPE_CU, of the work-group, is not written."""

ENCODE = split

_S = SkeletonStep

STEP_ROWS = (
    row((_S.WRITE_BACK,), f"{_MODEL}: the skeleton's order", step=_S.WRITE_BACK,
        compat=Compat.LLVM),
    row((_S.RELEASE_WAIT,), f"{_MODEL}: the skeleton's order",
        step=_S.RELEASE_WAIT, compat=Compat.LLVM),
    row((), "written back once all before it is done", step=_S.WRITE_BACK, compat=None),
    row((_S.RELEASE_WAIT, _S.WRITE_BACK),
        f"{_MODEL}, release: a write-back may overtake what is not "
        "acknowledged yet (llvm-project#175865), so that all is waited for before it, once",
        step=_S.RELEASE_WAIT, compat=None),
    *(
        row((step,), f"{_MODEL}: the skeleton's order", step=step)
        for step in SkeletonStep if step not in (_S.WRITE_BACK, _S.RELEASE_WAIT)
    ),
)  # fmt: skip

FENCE_ROWS = (
    row((_S.WRITE_BACK, _S.RELEASE_WAIT, _S.INVALIDATE), f"{_LEGALIZER}: expandAtomicFence",
        compat=Compat.LLVM),
    row((_S.RELEASE_WAIT, _S.WRITE_BACK, _S.INVALIDATE),
        "what a fence acquires by a read before it, "
        "of LDS too, it writes back: so it waits first", compat=None),
)  # fmt: skip

_WB = {scope: BareInstruction("global_wb", (bits,)) for scope, bits in _SCOPES.items()}
_INV = {scope: BareInstruction("global_inv", (bits,)) for scope, bits in _SCOPES.items()}

WRITE_BACK_ROWS = (
    row((), f"{_MODEL}: the work-group shares one WGP$", scope=_BY_WAVE),
    row((_WB[Scope.CLUSTER], STORES),
        f"{_MODEL}, cache scopes: the WGP$ may acknowledge a store of its "
        "scope, and global_wb makes earlier operations of a lower scope reach SCOPE_SE",
        scope=Scope.CLUSTER, compat=None),
    row((), f"{_LEGALIZER}: none at cluster scope", scope=Scope.CLUSTER, compat=Compat.LLVM),
    *(
        each for scope in _FAR for each in (
            row((_WB[scope], STORES),
                f"{_MODEL}, global_wb: dirty lines of the caches below; counts "
                "in storecnt", scope=scope, compat=None),
            row((LOADS | STORES, _WB[scope], STORES), f"{_LEGALIZER}: waits round the write-back "
                "(llvm-project#175865)", scope=scope, compat=Compat.LLVM),
        )
    ),
)  # fmt: skip

INVALIDATE_ROWS = (
    row((), f"{_MODEL}: the work-group shares one WGP$", scope=_BY_WAVE),
    row((_INV[Scope.CLUSTER],), f"{_MODEL}, global_inv: the WGP$; not reordered with what is later",
        scope=Scope.CLUSTER),
    *(
        row((_INV[scope], LOADS), f"{_MODEL}, global_inv: the caches below, done once loadcnt says "
            "so (llvm-project#175865)", scope=scope)
        for scope in _FAR
    ),
)  # fmt: skip

_EACH = f"{_MODEL}, counters: loads, stores and LDS count apart, and complete apart"
_FLAT = f"{_MODEL}, counters: a flat access also counts in dscnt"

WAIT_ROWS = (
    row(WaitCounts(), f"{_MODEL}: a wave issues in order", scope=NARROW,
        space=(AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.LOCAL)),
    row(LOADS | STORES, _EACH, space=AddressSpace.GLOBAL, scope=_WIDE, covers=Covers.ALL),
    row(LOADS, _EACH, space=AddressSpace.GLOBAL, scope=_WIDE, covers=Covers.READS),
    row(STORES, _EACH, space=AddressSpace.GLOBAL, scope=_WIDE, covers=Covers.WRITES),
    row(LDS, _EACH, space=AddressSpace.LOCAL, scope=_WIDE),
    row(LOADS | STORES | LDS, _FLAT, space=AddressSpace.GENERIC, scope=_WIDE, covers=Covers.ALL),
    row(LOADS | LDS, _FLAT, space=AddressSpace.GENERIC, scope=_WIDE, covers=Covers.READS),
    row(STORES | LDS, _FLAT, space=AddressSpace.GENERIC, scope=_WIDE, covers=Covers.WRITES),
    row(WaitCounts(), f"{_MODEL}: private memory is the thread's own",
        space=AddressSpace.PRIVATE, scope=NARROW),
    row(LOADS, f"{_MODEL}: volatile private", space=AddressSpace.PRIVATE, scope=_WIDE,
        covers=(Covers.READS, Covers.ALL)),
    row(STORES, f"{_MODEL}: volatile private", space=AddressSpace.PRIVATE, scope=_WIDE,
        covers=Covers.WRITES),
    row(WaitCounts(), f"{_MODEL}: constant memory takes no part", space=AddressSpace.CONSTANT),
)  # fmt: skip

_REPLAY = f"{_MODEL}, xcnt: what XNACK may replay must not be done twice"
_MEMORY = (AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.CONSTANT, AddressSpace.PRIVATE)

BEFORE_ROWS = (
    row((TRANSLATED,), _REPLAY, operation=_WRITES, atomic=True, space=_MEMORY),
    row((), f"{_REPLAY}; an atomic load may be", operation=_READ, atomic=True, space=_MEMORY),
    row((TRANSLATED,), f"{_REPLAY}: volatile", operation=_ACCESS, atomic=False, volatile=True,
        space=_MEMORY),
    row((), f"{_REPLAY}; a plain access may be", operation=_ACCESS, atomic=False, volatile=False,
        space=_MEMORY),
    row((), "a read-modify-write is always atomic", operation=_RMW, atomic=False, space=_MEMORY),
    row((), f"{_MODEL}: LDS has no translation", space=AddressSpace.LOCAL),
)  # fmt: skip

_HINTS = {Operation.LOAD: "th:TH_LOAD_NT", Operation.STORE: "th:TH_STORE_NT"}

POLICY_ROWS = (
    row((), f"{_MODEL}, scopes: SCOPE_CU", hint=Hint.NONE, scope=_BY_WAVE),
    *(
        row((bits,), f"{_MODEL}, scopes", hint=Hint.NONE, scope=scope)
        for scope, bits in _SCOPES.items()
    ),
    row((_SCOPES[Scope.SYSTEM],), f"{_MODEL}: volatile", hint=Hint.VOLATILE),
    *(
        row((bits,), f"{_MODEL}: nontemporal", hint=Hint.NONTEMPORAL, operation=operation)
        for operation, bits in _HINTS.items()
    ),
    row((), "an atomic takes no hint", hint=Hint.NONTEMPORAL, operation=_RMW),
    *(
        row((bits, _SCOPES[Scope.SYSTEM]), f"{_MODEL}: volatile and nontemporal",
            hint=Hint.VOLATILE_NONTEMPORAL, operation=operation)
        for operation, bits in _HINTS.items()
    ),
    row((), "an atomic takes no hint", hint=Hint.VOLATILE_NONTEMPORAL, operation=_RMW),
)  # fmt: skip

RETURNING_ROWS = (
    row((), f"{_MODEL}: the old value is not returned", returns=False),
    row(("th:TH_ATOMIC_RETURN",), f"{_MODEL}: returns the old value", returns=True),
)

_BARRIERS = "LLVM 24 AMDGPUExecutionSynchronization"
_JOIN = (BareInstruction("s_barrier_signal", ("-1",)), BareInstruction("s_barrier_wait", ("-1",)))
_MEET = (
    BareInstruction("s_barrier_signal_isfirst", ("-1",)),
    WaitCounts(kmcnt=0),
    BareInstruction("s_barrier_wait", ("-1",)),
    BareInstruction("s_cbranch_scc0", ("1",)),
    BareInstruction("s_barrier_signal", ("-3",)),
    BareInstruction("s_barrier_wait", ("-3",)),
)

BARRIERS = (
    row((), f"{_MODEL}: the lanes of a wave execute together", scope=NARROW),
    row(_JOIN, f"{_BARRIERS}: the work-group's barrier", scope=Scope.WORKGROUP),
    row(_MEET, f"{_BARRIERS}: once the work-group has met, its first wave signals the cluster's "
        "barrier, which the others step over, and all wait", scope=Scope.CLUSTER),
    row(Illegal("barriers join the waves of a work-group or of a cluster",
                ("cluster", "workgroup", "wavefront")), _BARRIERS, scope=_FAR),
)  # fmt: skip
