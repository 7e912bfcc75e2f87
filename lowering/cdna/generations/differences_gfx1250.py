"""Differences between our gfx1250 sequences and LLVM 24's for the same operation, with reasons.

As ``differences`` for the chips before it; tests/differential/test_llvm24_matrix.py holds the
matrix to it, and ``compat=llvm`` to LLVM 24 itself. LLVM 22 is no oracle here: it lacks the waits
round write-backs and invalidates (llvm-project#175865).
"""

from fencewright.lowering.cdna.generations.differences import LlvmDifference
from fencewright.lowering.vocabulary import AddressSpace, Compat, Operation, Ordering, Scope

_DEFAULT = {"compat": (None,)}

DIFFERENCES: tuple[LlvmDifference, ...] = (
    LlvmDifference(
        "cluster-write-back",
        "a store of the work-group's scope may be acknowledged by the WGP$ (LLVM 24 AMDGPUUsage, "
        "cache scopes: completion can be reported there), while its data is still on its way to "
        "the cache of the shader engine. Then a release to the cluster that only waits lets the "
        "flag overtake the data; LLVM 24 emits no write-back there. Where the WGP$ acknowledges "
        "nothing, as LLVM takes it, the write-back is one instruction too many.",
        where={**_DEFAULT, "scope": (Scope.CLUSTER,)},
        added=frozenset({"global_wb scope:SCOPE_SE", "storecnt(0)"}),
        moved=frozenset({"storecnt(0)", "loadcnt(0)", "dscnt(0)"}),
    ),
    LlvmDifference(
        "waits-first",
        "LLVM 24 waits for loads and stores before the write-back, then for everything once more. "
        "We wait for everything once, before it, and for the write-back after it: what it "
        "overtook, or what a read of LDS told of, is never missed, and nothing that loads is left "
        "to wait for.",
        where={**_DEFAULT, "scope": (Scope.AGENT, Scope.SYSTEM)},
        removed=frozenset({"loadcnt(0)"}),
        moved=frozenset({"loadcnt(0)", "storecnt(0)", "dscnt(0)"}),
    ),
    LlvmDifference(
        "seq-cst-loads",
        "a seq_cst load has to come after earlier seq_cst accesses. Of these, the ones that read "
        "have waited for their own values, so that only stores are left to wait for; LLVM 24 waits "
        "for loads too, as on chips where one counter counts both.",
        where={
            **_DEFAULT,
            "op": (Operation.LOAD,),
            "ordering": (Ordering.SEQ_CST,),
            "scope": (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM),
        },
        removed=frozenset({"loadcnt(0)"}),
    ),
    LlvmDifference(
        "one-as-flat",
        "one_as lets LLVM leave LDS accesses unwaited for, because those of one wave are in order "
        "among themselves. A flat access to LDS is not: it may pass one before it.",
        where={**_DEFAULT, "one_as": (True,)},
        added=frozenset({"dscnt(0)"}),
    ),
    LlvmDifference(
        "private-atomics",
        "LLVM makes flat atomics of those in private memory, at an address that it works out, for "
        "threads that got a pointer to another's. In our language private memory is the thread's "
        "own: its atomics are plain accesses, waited for by nobody.",
        where={
            "space": (AddressSpace.PRIVATE,),
            "op": tuple(op for op in Operation if op.is_access),
            "compat": (None, Compat.LLVM),
        },
    ),
)
