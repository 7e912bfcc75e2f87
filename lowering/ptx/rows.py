"""The rules of PTX: an ordering, a scope and an address space as parts of an instruction.

The mapping is the smallest that is sound in PTX's memory model: seq_cst is a leading
``fence.sc`` and an access that at most acquires (NVIDIA PTX Writer's Guide,
Atomics ABI; Lustig et al., ASPLOS 2019, Fig. 11 proves the stronger ``st.release`` and
``atom.acq_rel``, whose release the fence already provides).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.lowering.ptx.chip import PtxForm
from fencewright.lowering.skeleton import SKELETON, SkeletonStep
from fencewright.lowering.table import Illegal, Row, Table, row
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Operation, Ordering, Scope

_L, _S = Operation.LOAD, Operation.STORE
_RMW, _CAS = Operation.ATOMIC_RMW, Operation.CMPXCHG
_F, _B = Operation.FENCE, Operation.BARRIER
_O = Ordering

_ABI = "NVIDIA PTX Writer's Guide, Atomics ABI"
_MODEL = "PTX ISA, Memory Consistency Model"
_PROVED = "Lustig et al., ASPLOS 2019, Fig. 11"


class SpaceReach(FastStrEnum):
    """The threads that can access an address space: all, the CTA or cluster, or one alone."""

    ALL = "all"
    SHARED = "shared"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Space:
    """An address space: its suffix, the threads that can access it, and the form that it needs."""

    suffix: str
    reach: SpaceReach
    form: PtxForm | None = None


_SPACES = "PTX ISA, State Spaces"

SPACE: Table[Space] = Table(
    "PTX address space",
    {"space": AddressSpace},
    (
        row(Space("", SpaceReach.ALL), f"{_SPACES}: generic addressing",
            space=AddressSpace.GENERIC),
        row(Space(".global", SpaceReach.ALL), _SPACES, space=AddressSpace.GLOBAL),
        row(Space(".shared", SpaceReach.SHARED), f"{_SPACES}: ::cta by default",
            space=AddressSpace.LOCAL),
        row(Space(".shared::cluster", SpaceReach.SHARED, PtxForm.CLUSTER),
            f"{_SPACES}: since sm_90",
            space=AddressSpace.SHARED_CLUSTER),
        row(Space(".const", SpaceReach.OWN), f"{_SPACES}: nobody writes it",
            space=AddressSpace.CONSTANT),
        row(Space(".local", SpaceReach.OWN), f"{_SPACES}: per thread", space=AddressSpace.PRIVATE),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """A scope: its qualifier, True if it has other threads, and the remark on it."""

    qualifier: str
    synchronises: bool = True
    remark: str | None = None


_SCOPES = f"{_MODEL}, Scope"
_BEFORE_CLUSTERS = f"{_SCOPES}: where no clusters are launched, a cluster is one CTA"
_CLAMPED = f"{_SCOPES}: only threads that reach the location can be morally strong with it"

SCOPE: Table[ScopeRule] = Table(
    "PTX scope",
    {"scope": Scope, "reach": SpaceReach, "clusters": (False, True)},
    (
        row(ScopeRule("", False), f"{_SPACES}: no other thread can see a change",
            reach=SpaceReach.OWN),
        # An atomic must stay strong, or a race with another thread's would tear it.
        row(ScopeRule("cta", False), f"{_SCOPES}: .cta is the narrowest",
            scope=Scope.SINGLETHREAD, reach=(SpaceReach.ALL, SpaceReach.SHARED)),
        row(ScopeRule("cta", remark="PTX has no wavefront scope: widened to .cta"),
            f"{_SCOPES}: warp is no scope",
            scope=Scope.WAVEFRONT, reach=(SpaceReach.ALL, SpaceReach.SHARED)),
        row(ScopeRule("cta"), _SCOPES, scope=Scope.WORKGROUP, reach=(SpaceReach.ALL,
                                                                     SpaceReach.SHARED)),
        row(ScopeRule("cluster"), _SCOPES,
            scope=Scope.CLUSTER, reach=(SpaceReach.ALL, SpaceReach.SHARED), clusters=True),
        row(ScopeRule("cta"), _BEFORE_CLUSTERS,
            scope=Scope.CLUSTER, reach=(SpaceReach.ALL, SpaceReach.SHARED), clusters=False),
        row(ScopeRule("gpu"), _SCOPES, scope=Scope.AGENT, reach=SpaceReach.ALL),
        row(ScopeRule("sys"), _SCOPES, scope=Scope.SYSTEM, reach=SpaceReach.ALL),
        row(ScopeRule("cluster"), f"{_CLAMPED}: those of the cluster",
            scope=(Scope.AGENT, Scope.SYSTEM), reach=SpaceReach.SHARED, clusters=True),
        row(ScopeRule("cta"), f"{_CLAMPED}: those of the CTA",
            scope=(Scope.AGENT, Scope.SYSTEM), reach=SpaceReach.SHARED, clusters=False),
    ),
)  # fmt: skip
"""(scope, reach, clusters) -> qualifier. An access is clamped to its reach, its fences with it.

Whoever synchronises through the access, or comes next to it in a cycle of seq_cst operations,
reaches its location. What leaves its reach does so by a wider operation, whose own fence is
ordered with those of all that can come next: along any cycle these fences close it. A fence that
stands alone synchronises through any flag, so that it has no reach, unless it orders no more
than shared memory: then through flags there alone.
"""


class AccessHint(FastStrEnum):
    """The hint of an access besides its ordering; volatile excludes nontemporal."""

    NONE = "none"
    VOLATILE = "volatile"
    NONTEMPORAL = "nontemporal"


@dataclass(frozen=True, slots=True)
class Semantics:
    """The qualifiers of an access: ``.sem``, the presence of a scope, the cache operator."""

    qualifier: str
    scoped: bool
    cache: str = ""


_VOLATILE = Semantics(".volatile", False)
_WEAK = Semantics(".weak", False)
_ACCESS = tuple(pair for pair in SKELETON if pair[0].is_access)
_ORDERED = (AccessHint.NONE, AccessHint.NONTEMPORAL)
_VOLATILE_SOURCE = (
    "PTX ISA, ld.volatile, st.volatile: relaxed.sys, and kept if each load has a register of its "
    "own; ptxas drops a relaxed or acquire load of an unused value, and an overwritten relaxed "
    "store"
)


def _strong(qualifier: str) -> Semantics:
    return Semantics(qualifier, True)


SEMANTICS: Table[Semantics] = Table(
    "PTX access",
    {"access": _ACCESS, "hint": AccessHint, "reach": SpaceReach},
    (
        row(_WEAK, f"{_MODEL}: .weak", access=((_L, _O.WEAK), (_S, _O.WEAK)), hint=AccessHint.NONE),
        row(Semantics(".weak", False, ".cs"), "PTX ISA, Cache Operators: .cs, accessed once",
            access=((_L, _O.WEAK), (_S, _O.WEAK)), hint=AccessHint.NONTEMPORAL,
            reach=SpaceReach.ALL),
        row(_WEAK, "PTX ISA, Cache Operators: of global memory's caches",
            access=((_L, _O.WEAK), (_S, _O.WEAK)), hint=AccessHint.NONTEMPORAL,
            reach=(SpaceReach.SHARED, SpaceReach.OWN)),
        row(_VOLATILE, _VOLATILE_SOURCE,
            access=tuple(pair for pair in _ACCESS if pair[0] in (_L, _S)),
            hint=AccessHint.VOLATILE),
        row(_strong(".relaxed"), _ABI,
            access=((_L, _O.RELAXED), (_S, _O.RELAXED)), hint=_ORDERED),
        row(_strong(".acquire"), _ABI, access=((_L, _O.ACQUIRE),), hint=_ORDERED),
        row(_strong(".acquire"), f"{_ABI}; {_PROVED}", access=((_L, _O.SEQ_CST),), hint=_ORDERED),
        row(_strong(".release"), _ABI, access=((_S, _O.RELEASE),), hint=_ORDERED),
        row(_strong(".relaxed"), f"{_ABI}: fence.sc has released", access=((_S, _O.SEQ_CST),),
            hint=_ORDERED),
        row(_strong(".relaxed"), _ABI, access=((_RMW, _O.RELAXED), (_CAS, _O.RELAXED))),
        row(_strong(".acquire"), _ABI, access=((_RMW, _O.ACQUIRE), (_CAS, _O.ACQUIRE))),
        row(_strong(".release"), _ABI, access=((_RMW, _O.RELEASE), (_CAS, _O.RELEASE))),
        row(_strong(".acq_rel"), _ABI, access=((_RMW, _O.ACQ_REL), (_CAS, _O.ACQ_REL))),
        row(_strong(".acquire"), f"{_ABI}: fence.sc has released (C++20 release sequences)",
            access=((_RMW, _O.SEQ_CST), (_CAS, _O.SEQ_CST))),
    ),
)  # fmt: skip
"""((operation, ordering), hint, reach) -> qualifiers of the memory instruction."""


def _but(*pairs: tuple[Operation, Ordering]) -> tuple[tuple[Operation, Ordering], ...]:
    return tuple(pair for pair in SKELETON if pair not in pairs)


_SC_ACCESS = ((_S, _O.SEQ_CST), (_RMW, _O.SEQ_CST), (_CAS, _O.SEQ_CST))
_ACQUIRING_LOAD = ((_L, _O.ACQUIRE), (_L, _O.SEQ_CST))
_CARRIED = f"{_MODEL}: the access or barrier itself orders"
_ONE_SIDED = "PTX ISA, fence: .acquire, .release since 8.6, sm_90"
_TWO_SIDED = f"{_ABI}: fence.acq_rel is the weakest fence before PTX 8.6 and sm_90"
_SPLIT = f"{_ABI}: ld.relaxed; fence.acquire and fence.release; st.relaxed, for .volatile"

FENCE: Table[str] = Table(
    "PTX fence",
    {
        "step": tuple(step for step in SkeletonStep if step is not SkeletonStep.ACCESS),
        "access": tuple(SKELETON),
        "volatile": (False, True),
        "one_sided": (False, True),
    },
    (
        # Sequential consistency: a fence leads.
        row("sc", f"{_ABI}; {_PROVED}", step=SkeletonStep.WRITE_BACK, access=_SC_ACCESS),
        row("sc", f"{_ABI}; {_PROVED}", step=SkeletonStep.PRIOR_WAIT, access=((_L, _O.SEQ_CST),)),
        row("sc", f"{_ABI}; {_PROVED}", step=SkeletonStep.WRITE_BACK, access=((_F, _O.SEQ_CST),)),
        # Fences.
        row("acq_rel", _ABI, step=SkeletonStep.WRITE_BACK, access=((_F, _O.ACQ_REL),)),
        row("release", f"{_ABI}; {_ONE_SIDED}",
            step=SkeletonStep.WRITE_BACK, access=((_F, _O.RELEASE),), one_sided=True),
        row("acq_rel", _TWO_SIDED,
            step=SkeletonStep.WRITE_BACK, access=((_F, _O.RELEASE),), one_sided=False),
        row("acquire", f"{_ABI}; {_ONE_SIDED}",
            step=SkeletonStep.INVALIDATE, access=((_F, _O.ACQUIRE),), one_sided=True),
        row("acq_rel", _TWO_SIDED,
            step=SkeletonStep.INVALIDATE, access=((_F, _O.ACQUIRE),), one_sided=False),
        # Volatile accesses are relaxed; their ordering is a fence of its own.
        row("release", _SPLIT, step=SkeletonStep.WRITE_BACK, access=((_S, _O.RELEASE),),
            volatile=True, one_sided=True),
        row("acq_rel", f"{_SPLIT}; {_TWO_SIDED}", step=SkeletonStep.WRITE_BACK,
            access=((_S, _O.RELEASE),),
            volatile=True, one_sided=False),
        row("acquire", _SPLIT, step=SkeletonStep.INVALIDATE, access=_ACQUIRING_LOAD,
            volatile=True, one_sided=True),
        row("acq_rel", f"{_SPLIT}; {_TWO_SIDED}", step=SkeletonStep.INVALIDATE,
            access=_ACQUIRING_LOAD,
            volatile=True, one_sided=False),
        # Everything else is carried by the access.
        row("", f"{_MODEL}: fences wait by themselves",
            step=(SkeletonStep.RELEASE_WAIT, SkeletonStep.OWN_WAIT, SkeletonStep.LDS_WAIT,
                  SkeletonStep.CACHE_WAIT)),
        row("", _CARRIED, step=SkeletonStep.PRIOR_WAIT, access=_but((_L, _O.SEQ_CST))),
        row("", _CARRIED, step=SkeletonStep.WRITE_BACK, access=((_S, _O.RELEASE),), volatile=False),
        row("", _CARRIED, step=SkeletonStep.INVALIDATE, access=_ACQUIRING_LOAD, volatile=False),
        row("", _CARRIED, step=SkeletonStep.WRITE_BACK,
            access=_but(*_SC_ACCESS, (_F, _O.SEQ_CST), (_F, _O.ACQ_REL), (_F, _O.RELEASE),
                        (_S, _O.RELEASE))),
        row("", _CARRIED, step=SkeletonStep.INVALIDATE, access=_but(*_ACQUIRING_LOAD,
                                                                    (_F, _O.ACQUIRE))),
    ),
)  # fmt: skip
"""(step, (operation, ordering), volatile, one_sided) -> the fence of that step, "" for none."""


SHAREABLE = frozenset(
    space for space in AddressSpace if SPACE[space,].value.reach is not SpaceReach.OWN
)
"""The address spaces that a fence can order for someone else."""

WITHIN_CLUSTER = frozenset(
    space for space in SHAREABLE if SPACE[space,].value.reach is SpaceReach.SHARED
)
"""Those of them that no thread beyond the cluster, or CTA, can reach."""


@dataclass(frozen=True, slots=True)
class Restricted:
    """Fences that order shared memory alone: their qualifiers, and all that they order."""

    qualifiers: tuple[str, ...]
    spaces: frozenset[AddressSpace]
    source: str


_RESTRICTED = "PTX ISA, fence: .sync_restrict, operations on objects in"
_RELEASE_OWN = "release.sync_restrict::shared::cta.cluster"
_ACQUIRE_ALL = "acquire.sync_restrict::shared::cluster.cluster"

RESTRICTED: dict[Ordering, Restricted] = {
    _O.RELEASE: Restricted(
        (_RELEASE_OWN,), frozenset({AddressSpace.LOCAL}), f"{_RESTRICTED} .shared::cta"
    ),
    _O.ACQUIRE: Restricted(
        (_ACQUIRE_ALL,),
        frozenset({AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER}),
        f"{_RESTRICTED} .shared::cluster",
    ),
    # The acquire comes first, so that the release propagates what it acquired.
    _O.ACQ_REL: Restricted(
        (_ACQUIRE_ALL, _RELEASE_OWN), frozenset({AddressSpace.LOCAL}), f"{_RESTRICTED} .shared::cta"
    ),
}
"""The substitute of a fence at cluster scope, by ordering."""


@dataclass(frozen=True, slots=True)
class Width:
    """An access width: its type, and the forms that it needs below and at system scope.

    ``.b`` types fit a register of any kind of the same size.
    """

    type: str
    form: PtxForm | None = None
    system_form: PtxForm | None = None


WIDTHS: dict[int, Width] = {
    8: Width("b8"),
    16: Width("b16"),
    32: Width("b32"),
    64: Width("b64"),
    128: Width("b128", PtxForm.ACCESS_128, PtxForm.ACCESS_128_SYSTEM),
}
"""Bits of one scalar access. Source: PTX ISA, ld, st: types."""


@dataclass(frozen=True, slots=True)
class BarrierRow:
    """The instructions of an execution barrier, and the remark on them."""

    instructions: tuple[str, ...]
    remark: str | None = None


_CTA_BARRIER = "barrier.sync 0"
_ALIGNED_BARRIER = "barrier.sync.aligned 0"
_WARP_BARRIER = "bar.warp.sync 0xffffffff"
_ORDERS = "PTX has no such barrier that leaves memory unordered: this one orders it as well"
_BARRIER = (
    "PTX ISA, barrier.cta: orders prior accesses among its threads; not .aligned, since the warp "
    "may have diverged"
)
_ALIGNED = (
    "PTX ISA, barrier.cta: .aligned since the threads of a warp execute it together; without, "
    "ptxas adds code for warps that have diverged"
)
_WARP = "PTX ISA, bar.warp.sync: orders memory among the participating threads"
_CLUSTER = "PTX ISA, barrier.cluster: .release and .acquire by default"
_GRID = Illegal(
    "no PTX barrier joins more than the CTAs of a cluster; build a grid barrier of atomics",
    ("cluster", "workgroup", "wavefront"),
)
_ORDERINGS = (_O.RELAXED, _O.ACQ_REL)


def _cta_barriers(
    instruction: str, source: str, converged: bool
) -> Iterator[Row[BarrierRow | Illegal]]:
    """The barrier of a CTA, which is a cluster of its own where there are no others."""
    for ordering, remark in ((_O.ACQ_REL, None), (_O.RELAXED, _ORDERS)):
        barrier = BarrierRow((instruction,), remark)
        yield row(barrier, source, scope=Scope.WORKGROUP, ordering=ordering, converged=converged)
        yield row(
            barrier,
            f"{source}; {_BEFORE_CLUSTERS}",
            scope=Scope.CLUSTER,
            ordering=ordering,
            clusters=False,
            converged=converged,
        )


BARRIER: Table[BarrierRow | Illegal] = Table(
    "PTX barrier",
    {
        "scope": Scope,
        "ordering": _ORDERINGS,
        "clusters": (False, True),
        "ordered": (False, True),
        "converged": (False, True),
    },
    (
        row(BarrierRow(()), "one thread is always in step with itself", scope=Scope.SINGLETHREAD),
        row(BarrierRow((_WARP_BARRIER,)), _WARP, scope=Scope.WAVEFRONT, ordering=_O.ACQ_REL),
        row(BarrierRow((_WARP_BARRIER,), _ORDERS), _WARP,
            scope=Scope.WAVEFRONT, ordering=_O.RELAXED),
        *_cta_barriers(_CTA_BARRIER, _BARRIER, converged=False),
        *_cta_barriers(_ALIGNED_BARRIER, _ALIGNED, converged=True),
        row(BarrierRow(("barrier.cluster.arrive.release", "barrier.cluster.wait.acquire")),
            _CLUSTER,
            scope=Scope.CLUSTER, ordering=_O.ACQ_REL, clusters=True, ordered=True),
        row(BarrierRow(("barrier.cluster.arrive", "barrier.cluster.wait")), _CLUSTER,
            scope=Scope.CLUSTER, ordering=_O.ACQ_REL, clusters=True, ordered=False),
        row(BarrierRow(("barrier.cluster.arrive.relaxed", "barrier.cluster.wait")),
            "PTX ISA, barrier.cluster: .relaxed arrival; the wait has no .relaxed",
            scope=Scope.CLUSTER, ordering=_O.RELAXED, clusters=True, ordered=True),
        row(BarrierRow(("barrier.cluster.arrive", "barrier.cluster.wait"), _ORDERS),
            "PTX ISA, barrier.cluster: .relaxed since 8.0",
            scope=Scope.CLUSTER, ordering=_O.RELAXED, clusters=True, ordered=False),
        row(_GRID, "PTX ISA, barrier.cta, barrier.cluster", scope=(Scope.AGENT, Scope.SYSTEM)),
    ),
)  # fmt: skip
"""(scope, ordering, clusters, ordered, converged) -> the barrier.

``ordered``: barrier.cluster takes .sem; ``converged``: warps execute it whole.
"""

_NOT_WRITABLE = Illegal("constant memory is not written", ("global",))
_NO_ATOMIC = Illegal("constant memory has no atomic accesses", ("weak", "global"))
_NO_VOLATILE = Illegal("constant memory has no volatile accesses", ("global",))
_CONST = "PTX ISA, ld: .const is read-only, and takes .weak only"
_READ, *_WRITE = (op for op in Operation if op.is_access)
_MUTABLE = tuple(space for space in AddressSpace if space is not AddressSpace.CONSTANT)

LEGAL_ROWS: tuple[Row[Illegal | None], ...] = (
    row(None, _SPACES, space=_MUTABLE),
    row(None, _CONST, space=AddressSpace.CONSTANT, operation=_READ, atomic=False, volatile=False),
    row(_NO_VOLATILE, _CONST,
        space=AddressSpace.CONSTANT, operation=_READ, atomic=False, volatile=True),
    row(_NO_ATOMIC, _CONST, space=AddressSpace.CONSTANT, operation=_READ, atomic=True),
    row(_NOT_WRITABLE, _CONST, space=AddressSpace.CONSTANT, operation=tuple(_WRITE)),
)  # fmt: skip

LEGAL: Table[Illegal | None] = Table(
    "PTX legal accesses",
    {
        "operation": (_READ, *_WRITE),
        "atomic": (False, True),
        "volatile": (False, True),
        "space": AddressSpace,
    },
    LEGAL_ROWS,
)
"""(operation, atomic, volatile, space) -> None, or why there is no such access."""

VOLATILE_REMARK = "volatile accesses are .volatile: relaxed at system scope"
ALL_SPACES_REMARK = "PTX orders all address spaces together, not only those asked for"
AVAILABILITY_REMARK = "PTX cannot order without making memory available and visible"
ELEMENTWISE_REMARK = "each number of the packed value is atomic by itself, the pair is not"
SUBWORD_REMARK = (
    "PTX has no atomic of this width: a loop swaps the aligned 32-bit word around it, and for "
    "accesses of different sizes that overlap PTX promises only that atomics stay atomic"
)
