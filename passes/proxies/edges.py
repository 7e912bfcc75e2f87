"""The operations of a function that synchronise threads, and the pairs that synchronise."""

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.scoped_async import space_number
from fencewright.passes.proxies.locations import CLUSTER, Mask, location_of

_LOOKS = (ops.MbarrierWaitOp, ops.MbarrierTestWaitOp, ops.MbarrierTryWaitOp)


@dataclass(slots=True)
class Sync:
    """An operation that releases or acquires, in the function.

    ``targets`` are the acquires that may see this release; ``after`` what may follow it: as
    bits, accesses by number, and whether a tensor-core operation does.
    """

    op: Operation
    scope: Scope
    releases: bool
    acquires: bool
    targets: list[Operation] = field(default_factory=list[Operation])
    after: Mask = 0


def sync_of(op: Operation) -> Sync | None:
    """The synchronisation by ``op`` of threads of a work-group or more; None if there is none."""
    if isinstance(op, scoped.BarrierOp):
        scope = Scope.SINGLETHREAD if op.scope is None else op.scope.data
        sync = Sync(op, scope, True, True)
        sync.targets = [op]
    elif isinstance(op, scoped.ScopedOperation):
        ordering = op.ordering.data
        scope = Scope.SINGLETHREAD if op.scope is None else op.scope.data
        acquires = ordering.acquires or _acquires_on_failure(op)
        sync = Sync(op, scope, ordering.releases, acquires)
    elif isinstance(op, ops.MulticastOperation):
        scope = Scope.SINGLETHREAD if op.scope is None else op.scope.data
        sync = Sync(op, scope, op.ordering.data.releases, op.ordering.data.acquires)
    elif isinstance(op, ops.MbarrierArriveOp):
        sync = Sync(op, op.scope.data, True, False)
    elif isinstance(op, _LOOKS):
        sync = Sync(op, op.scope.data, False, True)
    elif isinstance(op, ops.ClusterArriveOp):
        sync = Sync(op, Scope.CLUSTER, True, False)
    elif isinstance(op, ops.ClusterWaitOp):
        sync = Sync(op, Scope.CLUSTER, False, True)
    else:
        return None
    narrow = sync.scope is Scope.SINGLETHREAD
    return None if narrow or not (sync.releases or sync.acquires) else sync


def _acquires_on_failure(op: Operation) -> bool:
    return isinstance(op, scoped.CmpxchgOp) and op.failure_ordering.data.acquires


def may_see(release: Sync, acquire: Sync) -> bool:
    """True if an acquire may synchronise with a release, other threads running both."""
    here, there = release.op, acquire.op
    if isinstance(there, scoped.BarrierOp):
        return False
    if isinstance(here, ops.ClusterArriveOp) or isinstance(there, ops.ClusterWaitOp):
        return False  # Which of them meet is a matter of phases (``cluster_phases``).
    if isinstance(here, ops.MbarrierArriveOp) or isinstance(there, _LOOKS):
        return isinstance(here, ops.MbarrierArriveOp) and may_wait_for(here.mbarrier, there)
    return True


def completed_on(op: Operation) -> SSAValue | None:
    """The mbarrier at whose waits asynchronous accesses in the generic proxy are done.

    It carries these accesses alone, and nothing else that the thread did before.
    Source: PTX ISA, mbarrier.test_wait (of ``cp.async``), st.async.
    """
    if isinstance(op, ops.AsyncArriveOp | ops.StoreAsyncOp | ops.ReduceAsyncOp):
        return op.mbarrier
    return None


def may_wait_for(mbarrier: SSAValue, wait: Operation) -> bool:
    """True if ``wait`` is one for a phase of ``mbarrier``, in whichever CTA."""
    if not isinstance(wait, _LOOKS):
        return False
    return location_of(mbarrier, CLUSTER, 8).may_overlap(location_of(wait.mbarrier, CLUSTER, 8))


def crosses(sync: Sync) -> bool:
    """True if it synchronises threads of different CTAs."""
    return sync.scope.includes(Scope.CLUSTER)


def is_restricted(op: Operation) -> bool:
    return isinstance(op, ops.MbarrierArriveOp | ops.MbarrierWaitOp) and op.space is not None


def is_mbarrier_wait(op: Operation) -> bool:
    return isinstance(op, _LOOKS)


def signalled(op: Operation) -> SSAValue | None:
    """The mbarrier that something other than a thread of its CTA arrives at."""
    if isinstance(op, ops.CompletingOperation):
        return op.completes_on()
    if isinstance(op, ops.Tcgen05CommitOp):
        return op.mbarrier
    if isinstance(op, ops.MbarrierArriveOp) and space_number(op.mbarrier) == CLUSTER:
        return op.mbarrier
    return None


def used_by_cluster(op: Operation) -> SSAValue | None:
    """The mbarrier that ``op`` arrives at or waits for together with other CTAs."""
    if isinstance(op, ops.MbarrierArriveOp | ops.MbarrierTestOperation):
        return op.mbarrier if op.scope.data is Scope.CLUSTER else None
    return None
