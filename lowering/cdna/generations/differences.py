"""Differences between our CDNA sequences and LLVM 22's for the same operation, with reasons.

One row a difference: where it may occur, which parts of the sequence we add or leave
out, and the reason. The differential test holds the whole matrix to this table: every
difference it finds must match one row, and every row must be found.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Operation, Ordering, Scope

Columns = Mapping[str, tuple[object, ...]]


def _anywhere() -> Columns:
    return {}


@dataclass(frozen=True, slots=True)
class LlvmDifference:
    """One reason why a sequence is not LLVM's.

    ``where`` limits it to values of a request's columns; ``added`` and ``removed`` are
    the waits (``vmcnt(0)``) and instructions that we have more or less than LLVM, any
    nonempty selection of them, ``moved`` those that we have in another place; ``refused``
    says that we reject what LLVM accepts.
    """

    name: str
    reason: str
    where: Columns = field(default_factory=_anywhere)
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    refused: bool = False


_ACCESSES = tuple(op for op in Operation if op.is_access)
_IN_MEMORY = ("global", "flat")

DIFFERENCES: tuple[LlvmDifference, ...] = (
    LlvmDifference(
        "transitive-workgroup",
        "happens-before is transitive across scopes: a wave that synchronises with us inside the "
        "work-group and then releases more widely waits for its own stores only, so ours must be "
        "in L2 by then. And a work-group acquire of a global flag must have its value before an "
        "LDS access that it guards, since LDS is another pipe. LLVM fixed the first for gfx10 and "
        "later (llvm-project#161638), not for gfx9. On gfx942 the write-back of a wider release "
        "may cover it, which nobody documents (minimise.md, loosen-releases): where it covers "
        "earlier writes of its own wave alone, LLVM's code does what the source forbids, ours does "
        "not.",
        where={"scope": (Scope.WORKGROUP,), "tgsplit": (False,), "compat": (None,)},
        added=frozenset({"vmcnt(0)"}),
    ),
    LlvmDifference(
        "transitive-local",
        "the same for LDS: its scope is never wider than the work-group, so every ordered LDS "
        "access has it.",
        where={
            "space": (AddressSpace.LOCAL,),
            "scope": (Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM),
            "tgsplit": (False,),
            "compat": (None,),
        },
        added=frozenset({"vmcnt(0)"}),
    ),
    LlvmDifference(
        "mates-wider-stores",
        "where stores carry no scope, one of another wave of the work-group to the agent is in the "
        "L1 that the two share before it is in L2, and the release of a wave that has read it "
        "there waits for its own stores only: so a load of the work-group reads in L2. What the "
        "documents say of it is in cdna-machine.md; gfx942's wider stores drop the line.",
        where={
            "op": (Operation.LOAD,),
            "scope": (Scope.WORKGROUP,),
            "tgsplit": (False,),
            "compat": (None,),
        },
        added=frozenset(f"{each}_load_dword glc" for each in _IN_MEMORY),
        removed=frozenset(f"{each}_load_dword" for each in _IN_MEMORY),
    ),
    LlvmDifference(
        "one-as-flat",
        "one_as lets LLVM leave LDS accesses unwaited for, because those of one wave are in order "
        "among themselves. A flat access to LDS is not: it may pass one before it.",
        where={"one_as": (True,), "tgsplit": (False,), "compat": (None,)},
        added=frozenset({"lgkmcnt(0)"}),
    ),
    LlvmDifference(
        "no-gds",
        "in threadgroup split mode there is no LDS, and the language has no address space for the "
        "global data share, for which LLVM waits on lgkmcnt. Scalar loads count there too, but "
        "what is lowered from MLIR reads no memory by them that changes. LLVM does: in LLVM IR "
        "every release waits on lgkmcnt where a scalar load may be outstanding.",
        where={"tgsplit": (True,)},
        removed=frozenset({"lgkmcnt(0)"}),
    ),
    LlvmDifference(
        "no-lds-in-tgsplit",
        "a threadgroup-split work-group may span CUs and has no LDS: LLVM emits the access all "
        "the same.",
        where={"tgsplit": (True,), "space": (AddressSpace.LOCAL,), "op": _ACCESSES},
        refused=True,
    ),
    LlvmDifference(
        "fence-both",
        "what a fence both acquires and releases may have been learnt of by a read that is still "
        "on its way, in LDS or from another CU, and may be told by a relaxed write of a narrower "
        "scope: so the fence waits for such a read before it writes back, and for its invalidate "
        "where others count on that. LLVM writes back first.",
        where={
            "op": (Operation.FENCE,),
            "ordering": (Ordering.ACQ_REL, Ordering.SEQ_CST),
            "compat": (None,),
        },
        added=frozenset({"vmcnt(0)"}),
        moved=frozenset({"vmcnt(0)", "buffer_wbl2", "buffer_wbl2 sc1", "buffer_wbl2 sc0 sc1"}),
    ),
    LlvmDifference(
        "one-l2",
        "with one L2 the agent's CUs meet there, so nothing is to be written back at agent scope; "
        "LLVM does not know the partition mode.",
        where={"scope": (Scope.AGENT, Scope.CLUSTER), "l2_per_agent": (L2PerAgent.ONE,)},
        removed=frozenset({"buffer_wbl2 sc1"}),
    ),
)
