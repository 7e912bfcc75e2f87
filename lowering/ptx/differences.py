"""Differences between our PTX and other mappings of the same operation, with reasons.

One row a difference: where it occurs, what the other emits there, and the reason. The
differential test asks LLVM itself: each difference that it finds must be in exactly
one row, and every row of LLVM's must be met. libcu++ and the paper cannot be asked; for
their rows the test only sees to it that ours is something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.vocabulary import (
    AddressSpace,
    FastStrEnum,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)

Columns = Mapping[str, tuple[object, ...]]


class Whose(FastStrEnum):
    """The mapping that a row is about."""

    LLVM = "LLVM 22.1"
    LIBCUXX = "libcu++ (CUDA 13)"
    PAPER = "Lustig et al., ASPLOS 2019, Fig. 11"


@dataclass(frozen=True, slots=True)
class PtxDifference:
    """One reason why a sequence is not the other's.

    ``where`` limits it to values of a request's columns (for a compare-exchange ``ordering``
    is that of both outcomes) and of the chip's: ``clusters``, ``one_sided``. ``theirs`` are
    the mnemonics of memory instructions, fences and the first label (``loop:``); none: it
    refuses. Places: ``{semantics}`` and ``{scope}`` as asked, ``{space}``,
    ``{release}`` and ``{acquire}`` the weakest fences that the chip has.
    """

    name: str
    theirs: tuple[str, ...]
    reason: str
    where: Columns
    whose: Whose = Whose.LLVM


_O, _K = Ordering, RmwKind
_OTHERS = tuple(scope for scope in Scope if scope is not Scope.SINGLETHREAD)
_SHARED = (AddressSpace.LOCAL,)
_UNSHARED = (AddressSpace.GLOBAL, AddressSpace.GENERIC)
_CLAMPED = (Scope.AGENT, Scope.SYSTEM)
_NOT_SC = tuple(ordering for ordering in Ordering if ordering is not Ordering.SEQ_CST)
_CAS_32 = {"op": (Operation.CMPXCHG,), "width": (32,)}
_CAS_8 = {"op": (Operation.CMPXCHG,), "width": (8,)}
_RMW = {"op": (Operation.ATOMIC_RMW,)}

_RELEASED_TWICE = (
    "the fence.sc in front has released already; LLVM and the paper release a second time, which "
    "costs another membar"
)
_DROPPED = (
    "a bug: LLVM's native atomicrmw has neither ordering nor scope, and plain atom is relaxed.gpu"
)
_SINGLETHREAD = (
    "nobody else is in the scope: we need no ordering, only an atomic access; LLVM stops with an "
    "error"
)
_SINGLETHREAD_CAS = "nobody else is in the scope; LLVM leaves the scope out, which means .gpu"
_CLUSTER = (
    "where no clusters are launched, a cluster is one CTA; LLVM stops with an error, or for a "
    "compare-exchange that needs no fence emits .cluster, which ptxas rejects"
)
_CLAMP = (
    "only the CTA, or since sm_90 the cluster, reaches shared memory, and so the access and its "
    "fence; LLVM keeps the scope, and a fence or release at a wider one waits for more"
)
_EMULATED = (
    "LLVM's loop starts with a weak load, a data race with every other atomic on the location, "
    "and fences inside the loop, once an attempt"
)
_SUBWORD = (
    "LLVM's loop starts with a weak load, a data race; ours needs no fence before PTX has one "
    "that is weaker than the swap's own ordering"
)
_NEGATED = (
    "subtraction is addition of the negated operand, also of floating-point numbers: one atom "
    "instead of a loop that starts with a weak load"
)

DIFFERENCES: tuple[PtxDifference, ...] = (
    PtxDifference(
        "seq-cst-store",
        ("fence.sc.{scope}", "st.release.{scope}{space}.b32"),
        _RELEASED_TWICE,
        {"op": (Operation.STORE,), "ordering": (_O.SEQ_CST,), "scope": _OTHERS},
    ),
    PtxDifference("rmw-ordering", ("atom{space}.add.u32",), _DROPPED, {**_RMW, "kind": (_K.ADD,)}),
    PtxDifference(
        "rmw-ordering", ("atom{space}.exch.b32",), _DROPPED, {**_RMW, "kind": (_K.XCHG,)}
    ),
    PtxDifference(
        "singlethread",
        (),
        _SINGLETHREAD,
        {"op": (Operation.LOAD, Operation.STORE, Operation.FENCE), "scope": (Scope.SINGLETHREAD,)},
    ),
    PtxDifference(
        "singlethread",
        (),
        _SINGLETHREAD,
        {**_CAS_32, "ordering": (_O.SEQ_CST,), "scope": (Scope.SINGLETHREAD,)},
    ),
    PtxDifference(
        "singlethread",
        ("atom.{semantics}{space}.cas.b32",),
        _SINGLETHREAD_CAS,
        {**_CAS_32, "ordering": _NOT_SC, "scope": (Scope.SINGLETHREAD,)},
    ),
    PtxDifference(
        "cluster",
        (),
        _CLUSTER,
        {
            "op": (Operation.LOAD, Operation.STORE, Operation.FENCE),
            "scope": (Scope.CLUSTER,),
            "clusters": (False,),
        },
    ),
    PtxDifference(
        "cluster",
        (),
        _CLUSTER,
        {**_CAS_32, "ordering": (_O.SEQ_CST,), "scope": (Scope.CLUSTER,), "clusters": (False,)},
    ),
    PtxDifference(
        "cluster",
        ("atom.{semantics}.cluster{space}.cas.b32",),
        _CLUSTER,
        {**_CAS_32, "ordering": _NOT_SC, "scope": (Scope.CLUSTER,), "clusters": (False,)},
    ),
    PtxDifference(
        "shared-clamp",
        ("ld.{semantics}.{scope}{space}.b32",),
        _CLAMP,
        {"op": (Operation.LOAD,), "ordering": _NOT_SC, "space": _SHARED, "scope": _CLAMPED},
    ),
    PtxDifference(
        "shared-clamp",
        ("fence.sc.{scope}", "ld.acquire.{scope}{space}.b32"),
        _CLAMP,
        {"op": (Operation.LOAD,), "ordering": (_O.SEQ_CST,), "space": _SHARED, "scope": _CLAMPED},
    ),
    PtxDifference(
        "shared-clamp",
        ("st.{semantics}.{scope}{space}.b32",),
        _CLAMP,
        {"op": (Operation.STORE,), "ordering": _NOT_SC, "space": _SHARED, "scope": _CLAMPED},
    ),
    PtxDifference(
        "shared-clamp",
        ("atom.{semantics}.{scope}{space}.cas.b32",),
        _CLAMP,
        {**_CAS_32, "ordering": _NOT_SC, "space": _SHARED, "scope": _CLAMPED},
    ),
    PtxDifference(
        "shared-clamp",
        ("fence.sc.{scope}", "atom.acquire.{scope}{space}.cas.b32"),
        _CLAMP,
        {**_CAS_32, "ordering": (_O.SEQ_CST,), "space": _SHARED, "scope": _CLAMPED},
    ),
    PtxDifference(
        "emulated-rmw",
        ("ld{space}.b32", "loop:", "atom.{semantics}.{scope}{space}.cas.b32"),
        _EMULATED,
        {**_RMW, "kind": (_K.NAND,), "ordering": _NOT_SC},
    ),
    PtxDifference(
        "emulated-rmw",
        ("ld{space}.b32", "loop:", "fence.sc.{scope}", "atom.acquire.{scope}{space}.cas.b32"),
        _EMULATED,
        {**_RMW, "kind": (_K.NAND,), "ordering": (_O.SEQ_CST,)},
    ),
    PtxDifference(
        "subtraction",
        ("ld{space}.b32", "loop:", "atom.{semantics}.{scope}{space}.cas.b32"),
        _NEGATED,
        {**_RMW, "kind": (_K.FSUB,), "ordering": _NOT_SC},
    ),
    PtxDifference(
        "subtraction",
        ("ld{space}.b32", "loop:", "fence.sc.{scope}", "atom.acquire.{scope}{space}.cas.b32"),
        _NEGATED,
        {**_RMW, "kind": (_K.FSUB,), "ordering": (_O.SEQ_CST,)},
    ),
    PtxDifference(
        "narrow-compare-exchange",
        ("ld{space}.b32", "loop:", "atom.relaxed.{scope}{space}.cas.b32"),
        _SUBWORD,
        {**_CAS_8, "ordering": (_O.RELAXED,)},
    ),
    PtxDifference(
        "narrow-compare-exchange",
        ("ld{space}.b32", "loop:", "atom.relaxed.{scope}{space}.cas.b32", "{acquire}"),
        _SUBWORD,
        {**_CAS_8, "ordering": (_O.ACQUIRE,)},
    ),
    PtxDifference(
        "narrow-compare-exchange",
        ("{release}", "ld{space}.b32", "loop:", "atom.relaxed.{scope}{space}.cas.b32"),
        _SUBWORD,
        {**_CAS_8, "ordering": (_O.RELEASE,)},
    ),
    PtxDifference(
        "narrow-compare-exchange",
        ("{release}", "ld{space}.b32", "loop:", "atom.relaxed.{scope}{space}.cas.b32", "{acquire}"),
        _SUBWORD,
        {**_CAS_8, "ordering": (_O.ACQ_REL,)},
    ),
    PtxDifference(
        "narrow-compare-exchange",
        (
            "fence.sc.{scope}",
            "ld{space}.b32",
            "loop:",
            "atom.relaxed.{scope}{space}.cas.b32",
            "{acquire}",
        ),
        _SUBWORD,
        {**_CAS_8, "ordering": (_O.SEQ_CST,)},
    ),
    PtxDifference(
        "two-sided-fence",
        ("fence.acq_rel.{scope}",),
        "libcu++ has no one-sided fence: on sm_90 an acquire fence costs 16 cycles at agent scope, "
        "an acq_rel fence 270",
        {
            "op": (Operation.FENCE,),
            "ordering": (_O.ACQUIRE, _O.RELEASE),
            "scope": _OTHERS,
            "one_sided": (True,),
        },
        Whose.LIBCUXX,
    ),
    PtxDifference(
        "narrow-compare-exchange",
        ("ld.relaxed.{scope}{space}.b32", "loop:", "atom.{semantics}.{scope}{space}.cas.b32"),
        "a bug: where the first read already differs, the failure ordering is lost",
        {**_CAS_8, "ordering": (_O.ACQUIRE,), "failure_ordering": (_O.ACQUIRE,)},
        Whose.LIBCUXX,
    ),
    PtxDifference(
        "seq-cst-store",
        ("fence.sc.{scope}", "st.release.{scope}{space}.b32"),
        _RELEASED_TWICE,
        {"op": (Operation.STORE,), "ordering": (_O.SEQ_CST,), "scope": _OTHERS},
        Whose.PAPER,
    ),
    PtxDifference(
        "seq-cst-rmw",
        ("fence.sc.{scope}", "atom.acq_rel.{scope}{space}.add.u32"),
        "proved for the release sequences of C++11, in which a thread's own later relaxed stores "
        "continue one; C++20 has none of those, and the fence.sc has released already what is "
        "before it, which is all that a read-modify-write hands on by itself",
        {
            **_RMW,
            "kind": (_K.ADD,),
            "ordering": (_O.SEQ_CST,),
            "scope": _OTHERS,
            "space": _UNSHARED,
        },
        Whose.PAPER,
    ),
)
