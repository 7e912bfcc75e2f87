"""The asynchronous operations of ``scoped`` in ``convert-scoped-to-cdna``: copies and split
barriers.

Every lane copies for itself. Groups become marks, which ``insert-waits`` counts.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from fencewright.lowering.cdna import named_barriers
from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.instructions import instruction
from fencewright.lowering.sequence import Instruction, Request
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Phase, Scope
from fencewright.lowering.vocabulary import Operation as ScopedOperation
from fencewright.mlir_dialects import cdna
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.attributes import count_attr, opcode_attr
from fencewright.passes.kernels.accept import unsupported
from fencewright.passes.to_cdna.builder import CdnaBuilder
from fencewright.passes.to_cdna.named_barriers import (
    WaveCounts,
    initialised,
    number_of,
    signalled,
    waves_of,
)


class Conversion(Protocol):
    """The parts of the conversion that these handlers use."""

    @property
    def chip(self) -> ChipRow: ...
    @property
    def values(self) -> dict[SSAValue, SSAValue]: ...
    @property
    def build(self) -> CdnaBuilder: ...
    @property
    def named_barriers(self) -> WaveCounts: ...
    def sequence(self, request: Request) -> tuple[Instruction, ...]: ...
    def append_instructions(self, instructions: tuple[Instruction, ...]) -> None: ...


Handler = Callable[[Conversion, Operation], None]

_WIDEST = 16
"""The most bytes that one instruction copies for a lane."""

_MOST = 128
"""The most bytes that a lane copies with several."""


def _number(op: Operation, name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def _copy(conversion: Conversion, op: Operation, mnemonic: str, lds: SSAValue, addr: SSAValue):
    size = _number(op, "size")
    if size > _MOST:
        unsupported(
            op, f"a lane copies at most {_MOST} bytes on {conversion.chip.name}, not {size}"
        )
    opcode = f"{mnemonic}_b{8 * min(size, _WIDEST)}"
    row = instruction(opcode)
    assert row is not None
    if conversion.chip.name not in row.chips:
        unsupported(op, f"{conversion.chip.name} has no asynchronous copies")
    operands = (conversion.values[addr], conversion.values[lds])
    for offset in range(0, size, _WIDEST):
        properties: dict[str, Attribute] = {"opcode": opcode_attr(opcode)}
        if offset:
            properties["offset"] = count_attr(offset)
        made = cdna.AsyncOp.create(operands=operands, properties=properties, location=op.location)
        conversion.build.block.add_op(made)


def _to_lds(conversion: Conversion, op: Operation) -> None:
    copy = cast(ops.AsyncCopyOp, op)
    if copy.source_size is not None:
        unsupported(op, f"no copy of {conversion.chip.name} reads fewer bytes than it writes")
    _copy(conversion, op, "global_load_async_to_lds", copy.destination, copy.source)


def _bulk(conversion: Conversion, op: Operation) -> None:
    copy = cast(ops.BulkCopyOp, op)
    if copy.mbarrier is not None:
        _completes_elsewhere(conversion, op)
    _copy(conversion, op, "global_store_async_from_lds", copy.source, copy.destination)


def _completes_elsewhere(conversion: Conversion, op: Operation) -> NoReturn:
    unsupported(
        op,
        f"'{op.name}' completes on an mbarrier, and copies of {conversion.chip.name} in a counter "
        "of the wave: use scoped.async_copy with groups, then a barrier",
    )


def _mark(conversion: Conversion, op: Operation) -> None:
    conversion.build.block.add_op(cdna.AsyncMarkOp.create(location=op.location))


def _wait(conversion: Conversion, op: Operation) -> None:
    properties = {
        "pending": count_attr(_number(op, "pending")),
        "phase": cdna.PHASES[Phase.WAIT],
    }
    conversion.build.block.add_op(
        cdna.AsyncWaitOp.create(properties=properties, location=op.location)
    )


def _proxy_fence(conversion: Conversion, op: Operation) -> None:
    """Emits the fence that completes the wave's own accesses before a copy begins."""
    space = cast(ops.ProxyFenceOp, op).space
    spaces = None if space is None else frozenset({space.data})
    _fence(conversion, Ordering.RELEASE, Scope.WORKGROUP, spaces)


def _fence(
    conversion: Conversion,
    ordering: Ordering,
    scope: Scope,
    spaces: frozenset[AddressSpace] | None = None,
) -> None:
    request = Request(ScopedOperation.FENCE, ordering, scope, None, spaces=spaces)
    conversion.append_instructions(conversion.sequence(request))


def _meeting(conversion: Conversion, op: Operation) -> tuple[Instruction, ...]:
    """The barrier of the cluster alone, which orders nothing; its last instruction waits."""
    if not conversion.chip.clusters:
        unsupported(op, f"{conversion.chip.name} launches no clusters")
    request = Request(ScopedOperation.BARRIER, Ordering.RELAXED, Scope.CLUSTER, None)
    return conversion.sequence(request)


def _cluster_arrive(conversion: Conversion, op: Operation) -> None:
    """Waits for the work-group's other waves: one of them signals for all."""
    meeting = _meeting(conversion, op)
    if cast(ops.ClusterArriveOp, op).ordering.data is Ordering.RELEASE:
        _fence(conversion, Ordering.RELEASE, Scope.CLUSTER)
    conversion.append_instructions(meeting[:-1])


def _cluster_wait(conversion: Conversion, op: Operation) -> None:
    conversion.append_instructions(_meeting(conversion, op)[-1:])
    _fence(conversion, Ordering.ACQUIRE, Scope.CLUSTER)


def _use(
    conversion: Conversion, use: named_barriers.BarrierUse, op: Operation | None = None
) -> None:
    properties: dict[str, Attribute] = {
        "opcode": opcode_attr(use.mnemonic),
        "modifiers": ArrayAttr([StringAttr(use.operand)]),
        "phase": cdna.PHASES[Phase.ACCESS],
        "source": StringAttr(named_barriers.SOURCE),
    }
    if use.m0 is not None:
        properties["m0"] = count_attr(use.m0)
    location = None if op is None else op.location
    made = cdna.BarrierOp.create(properties=properties, location=location)
    conversion.build.block.add_op(made)


def set_up_named_barriers(conversion: Conversion) -> None:
    """At the start of the kernel, before any wave of the work-group can come to one."""
    if conversion.chip.named_barriers is None:
        return
    for use in initialised(conversion.named_barriers):
        _use(conversion, use)
    request = Request(ScopedOperation.BARRIER, Ordering.RELAXED, Scope.WORKGROUP, None)
    conversion.append_instructions(conversion.sequence(request))


def _named_barrier(conversion: Conversion, op: Operation) -> None:
    """Arriving needs no membership; a waiter joins before its own signal, and so in time."""
    barrier, chip = cast(ops.NamedBarrierOp, op), conversion.chip
    if chip.named_barriers is None:
        unsupported(op, f"{chip.name} has no named barriers")
    number, waves = number_of(barrier), waves_of(barrier, chip)
    if number == 0:
        unsupported(
            op,
            "barrier 0 is the work-group's, at which all its waves meet: use scoped.barrier "
            f"workgroup, or one of 1 to {chip.named_barriers.count}",
        )
    waits = barrier.part.data is ops.BarrierPart.SYNC
    _fence(conversion, Ordering.RELEASE, Scope.WORKGROUP)
    if waits:
        _use(conversion, named_barriers.join(number), op)
    _use(conversion, signalled(conversion.named_barriers, number, waves), op)
    if waits:
        _use(conversion, named_barriers.wait(number), op)
        _fence(conversion, Ordering.ACQUIRE, Scope.WORKGROUP)


ASYNC_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        ops.AsyncCopyOp.name: _to_lds,
        ops.AsyncCommitGroupOp.name: _mark,
        ops.AsyncWaitGroupOp.name: _wait,
        ops.BulkCopyOp.name: _bulk,
        ops.BulkCommitGroupOp.name: _mark,
        ops.BulkWaitGroupOp.name: _wait,
        ops.TensorLoadOp.name: _completes_elsewhere,
        ops.StoreAsyncOp.name: _completes_elsewhere,
        ops.ProxyFenceOp.name: _proxy_fence,
        ops.ClusterArriveOp.name: _cluster_arrive,
        ops.ClusterWaitOp.name: _cluster_wait,
        ops.NamedBarrierOp.name: _named_barrier,
    }
)
"""The converter of each operation that gfx1250 has; others are refused with their substitute."""
