"""Kinds of missing asynchronous synchronisation, with the operations that supply it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.mlir_dialects import scoped_async
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.attributes import ADDRESS_SPACES, ORDERINGS, SCOPES
from fencewright.passes.proxies.locations import Mask


@dataclass(frozen=True, slots=True)
class Missing:
    """Synchronisation that is missing before ``at`` (or after it, if ``after``), and why.

    ``make`` makes the operations, in order; those of a lower ``rank`` come first. ``pending``
    are the bits of the state that it is for, ``key`` identifies equal ones. ``relaxes``: they take
    the ordering of ``at`` over. ``aligned``: all threads of a wavefront execute them together.
    """

    at: Operation
    rank: int
    key: tuple[object, ...]
    make: Callable[[], Sequence[Operation]]
    pending: Mask
    reason: str
    after: bool = False
    relaxes: bool = False
    aligned: bool = False


RANK_GROUP, RANK_WAIT, RANK_PROXY, RANK_TENSOR = range(4)


def proxy_fence(space: int) -> Operation:
    word = AddressSpace.from_number(space)
    return ops.ProxyFenceOp.create(properties={"space": ADDRESS_SPACES[word]})


def cluster_fence(ordering: Ordering, proxy: scoped_async.Proxy) -> Operation:
    return ops.ClusterFenceOp.create(
        properties={"ordering": ORDERINGS[ordering], "proxy": scoped_async.PROXIES[proxy]}
    )


def tcgen05_fence(side: scoped_async.Side) -> Operation:
    return ops.Tcgen05FenceOp.create(properties={"side": scoped_async.SIDES[side]})


def tcgen05_wait(direction: scoped_async.Direction) -> Operation:
    return ops.Tcgen05WaitOp.create(properties={"direction": scoped_async.DIRECTIONS[direction]})


def acquire_map(map: SSAValue, scope: Scope) -> Operation:
    return ops.TensormapFenceOp.create(
        operands=(map,),
        properties={"ordering": ORDERINGS[Ordering.ACQUIRE], "scope": SCOPES[scope]},
    )


def release_maps() -> Operation:
    return ops.TensormapFenceOp.create(
        properties={"ordering": ORDERINGS[Ordering.RELEASE], "scope": SCOPES[Scope.AGENT]}
    )


_COMMIT: Mapping[scoped_async.Group, type[ops.CommitOperation]] = {
    scoped_async.Group.COPY: ops.AsyncCommitGroupOp,
    scoped_async.Group.BULK: ops.BulkCommitGroupOp,
    scoped_async.Group.WGMMA: ops.WgmmaCommitGroupOp,
}
_WAIT: Mapping[scoped_async.Group, type[ops.WaitGroupOperation]] = {
    scoped_async.Group.COPY: ops.AsyncWaitGroupOp,
    scoped_async.Group.BULK: ops.BulkWaitGroupOp,
    scoped_async.Group.WGMMA: ops.WgmmaWaitGroupOp,
}


def group_wait(group: scoped_async.Group, commits: bool, reads_only: bool) -> Sequence[Operation]:
    properties: dict[str, object] = {"pending": IntegerAttr(0, i64)}
    if reads_only:
        properties["read"] = UnitAttr()
    wait = _WAIT[group].create(properties=cast("dict[str, IntegerAttr]", properties))
    return (_COMMIT[group].create(), wait) if commits else (wait,)


def maker(make: Callable[..., Operation], *arguments: object) -> Callable[[], Sequence[Operation]]:
    return lambda: (make(*arguments),)
