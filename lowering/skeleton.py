"""The steps of an operation of each ordering, once for all targets.

The steps say what has to happen in which order; the rows of a target say with which
instructions, if any. Source: LLVM AMDGPUUsage, "Memory Model" code sequence tables,
which have this shape for every generation, and C++20 [atomics.order].
"""

from enum import Enum

from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import Operation, Ordering, Phase


class SkeletonStep(Enum):
    """A step, and the phase that its instructions belong to.

    WRITE_BACK: make earlier stores available to the scope.
    RELEASE_WAIT: until everything earlier in the ordered address spaces is done.
    PRIOR_WAIT: the same, where nothing is released (seq_cst loads, acquire fences).
    ACCESS: the memory operation, or the execution barrier.
    OWN_WAIT: until the access itself is done.
    INVALIDATE: drop what may be stale, so that later loads see what was released.
    LDS_WAIT: until LDS is done, for the accesses that RELEASE_WAIT covers.
    CACHE_WAIT: until the caches are done, a write-back and an invalidate before it included.
    """

    __hash__ = object.__hash__  # At C speed: each member is one object.

    WRITE_BACK = ("write-back", Phase.RELEASE)
    RELEASE_WAIT = ("release-wait", Phase.RELEASE)
    PRIOR_WAIT = ("prior-wait", Phase.WAIT)
    ACCESS = ("access", Phase.ACCESS)
    OWN_WAIT = ("own-wait", Phase.WAIT)
    INVALIDATE = ("invalidate", Phase.ACQUIRE)
    LDS_WAIT = ("lds-wait", Phase.RELEASE)
    CACHE_WAIT = ("cache-wait", Phase.RELEASE)

    @property
    def phase(self) -> Phase:
        """The phase of the instructions that carry this step out."""
        return self.value[1]


Steps = tuple[SkeletonStep, ...]

_PLAIN: Steps = (SkeletonStep.ACCESS,)
_VOLATILE: Steps = (SkeletonStep.ACCESS, SkeletonStep.OWN_WAIT)
_RELEASE: Steps = (SkeletonStep.WRITE_BACK, SkeletonStep.RELEASE_WAIT)
_ACQUIRE: Steps = (SkeletonStep.OWN_WAIT, SkeletonStep.INVALIDATE)
_L, _S = Operation.LOAD, Operation.STORE
_RMW, _CAS = Operation.ATOMIC_RMW, Operation.CMPXCHG
_F, _B = Operation.FENCE, Operation.BARRIER
_O = Ordering

SKELETON: dict[tuple[Operation, Ordering], Steps] = {
    (_L, _O.WEAK): _PLAIN,
    (_L, _O.RELAXED): _PLAIN,
    (_L, _O.ACQUIRE): (*_PLAIN, *_ACQUIRE),
    (_L, _O.SEQ_CST): (SkeletonStep.PRIOR_WAIT, *_PLAIN, *_ACQUIRE),
    (_S, _O.WEAK): _PLAIN,
    (_S, _O.RELAXED): _PLAIN,
    (_S, _O.RELEASE): (*_RELEASE, *_PLAIN),
    (_S, _O.SEQ_CST): (*_RELEASE, *_PLAIN),
    (_RMW, _O.RELAXED): _PLAIN,
    (_RMW, _O.ACQUIRE): (*_PLAIN, *_ACQUIRE),
    (_RMW, _O.RELEASE): (*_RELEASE, *_PLAIN),
    (_RMW, _O.ACQ_REL): (*_RELEASE, *_PLAIN, *_ACQUIRE),
    (_RMW, _O.SEQ_CST): (*_RELEASE, *_PLAIN, *_ACQUIRE),
    (_CAS, _O.RELAXED): _PLAIN,
    (_CAS, _O.ACQUIRE): (*_PLAIN, *_ACQUIRE),
    (_CAS, _O.RELEASE): (*_RELEASE, *_PLAIN),
    (_CAS, _O.ACQ_REL): (*_RELEASE, *_PLAIN, *_ACQUIRE),
    (_CAS, _O.SEQ_CST): (*_RELEASE, *_PLAIN, *_ACQUIRE),
    (_F, _O.ACQUIRE): (SkeletonStep.PRIOR_WAIT, SkeletonStep.INVALIDATE),
    (_F, _O.RELEASE): _RELEASE,
    (_F, _O.ACQ_REL): (*_RELEASE, SkeletonStep.INVALIDATE),
    (_F, _O.SEQ_CST): (*_RELEASE, SkeletonStep.INVALIDATE),
    (_B, _O.RELAXED): _PLAIN,
    (_B, _O.ACQ_REL): (*_RELEASE, *_PLAIN, SkeletonStep.INVALIDATE),
}

VOLATILE: dict[Operation, Steps] = {_L: _VOLATILE, _S: _VOLATILE}
"""The steps of a weak volatile access, which is waited for; an atomic has none besides."""

_READ_ONLY = Illegal("a load cannot release, it writes nothing", ("relaxed", "acquire", "seq_cst"))
_WRITE_ONLY = Illegal("a store cannot acquire, it reads nothing", ("relaxed", "release", "seq_cst"))
_NOT_ATOMIC = Illegal(
    "a read-modify-write is atomic, so it cannot be weak",
    ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
)
_EMPTY_FENCE = Illegal(
    "a fence weaker than acquire orders nothing", ("acquire", "release", "acq_rel", "seq_cst")
)
_BARRIER = Illegal("a barrier either orders memory both ways or not at all", ("acq_rel", "relaxed"))

ILLEGAL: dict[tuple[Operation, Ordering], Illegal] = {
    (_L, _O.RELEASE): _READ_ONLY,
    (_L, _O.ACQ_REL): _READ_ONLY,
    (_S, _O.ACQUIRE): _WRITE_ONLY,
    (_S, _O.ACQ_REL): _WRITE_ONLY,
    (_RMW, _O.WEAK): _NOT_ATOMIC,
    (_CAS, _O.WEAK): _NOT_ATOMIC,
    (_F, _O.WEAK): _EMPTY_FENCE,
    (_F, _O.RELAXED): _EMPTY_FENCE,
    (_B, _O.WEAK): _BARRIER,
    (_B, _O.ACQUIRE): _BARRIER,
    (_B, _O.RELEASE): _BARRIER,
    (_B, _O.SEQ_CST): _BARRIER,
}
"""The reason that an ordering makes no sense on an operation, with the orderings that do."""

ILLEGAL_FAILURE: dict[Ordering, Illegal] = {
    ordering: Illegal(
        "a failed compare-exchange writes nothing, so its failure ordering cannot "
        + ("be weak" if ordering is _O.WEAK else "release"),
        ("relaxed", "acquire", "seq_cst"),
    )
    for ordering in (_O.WEAK, _O.RELEASE, _O.ACQ_REL)
}


def merged_ordering(success: Ordering, failure: Ordering) -> Ordering:
    """The one ordering that covers both outcomes of a compare-exchange.

    Source: LLVM AtomicCmpXchgInst::getMergedOrdering; AMDGPUUsage lowers it so.
    """
    if Ordering.SEQ_CST in (success, failure):
        return Ordering.SEQ_CST
    if failure.acquires and success.releases:
        return Ordering.ACQ_REL
    if failure.acquires and not success.acquires:
        return Ordering.ACQUIRE
    return success


def _check_complete() -> None:
    for op in Operation:
        for ordering in Ordering:
            if ((op, ordering) in SKELETON) == ((op, ordering) in ILLEGAL):
                raise AssertionError(f"({op}, {ordering}) needs exactly one row")


_check_complete()
