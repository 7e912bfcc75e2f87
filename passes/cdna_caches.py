"""What the operations of a ``cdna`` kernel mean to its caches, for the passes that minimise.

One wave's view of synchronisation, by what is in the machine code alone. A work-group runs one
kernel, so that whoever synchronises with a wave at a scope narrower than the agent runs the
same code: a *publication* (a barrier, or a write that may be a flag) hands on what this wave
knows, and a *take-in* (a barrier, or a read that may be of a flag) receives what some
publication of the same kernel handed on. Which ones meet is not known: all with all. At agent
scope other kernels take part, and each releases and acquires for itself; at system scope other
kernels of the agent may have released to the agent alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, OpResult

from fencewright.lowering.cdna.caches import (
    AccessKind,
    Caches,
    Effect,
    access_effect,
    maintenance_effect,
)
from fencewright.lowering.cdna.instructions import Counter, instruction
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects.cdna import (
    PHASES,
    AtomicOp,
    BarrierOp,
    CacheOp,
    KernelOp,
    LoadOp,
    MemoryOp,
    StoreOp,
    WaitOp,
)
from fencewright.passes.cdna_dataflow import COUNTED, EVENTS
from fencewright.passes.kernel_frontend import reachable_blocks, top_level

NO_EFFECT = Effect()

VMCNT, LGKMCNT = 1, 2
"""Counters, one bit each."""

HINTS = frozenset({"nt", "slc"})
"""Policy bits that say nothing of scope."""

PLAIN = "plain"
"""Attribute of an access that is not of a flag, whatever its policy bits."""

INVARIANT = "invariant"
"""Attribute of a load from a location that nobody stores to while the program runs."""


class CacheStep(NamedTuple):
    """An operation that matters to the caches.

    ``publishes``, ``takes_in``: whether it may be how another wave of the work-group learns of
    this one's past, or this wave of another's; ``leaves_workgroup``: whether waves of other
    work-groups may learn by it. ``counters``: those that it increments; ``waits``: those that
    it brings to zero, also because it uses a result. ``is_barrier``: such a publication and
    take-in at once.
    """

    op: Operation
    effect: Effect = NO_EFFECT
    publishes: bool = False
    takes_in: bool = False
    leaves_workgroup: bool = False
    counters: int = 0
    waits: int = 0
    is_barrier: bool = False


CacheSteps: TypeAlias = list[CacheStep]


class WorkGroupSteps(NamedTuple):
    """The code of a work-group: its blocks, each with what matters in it, and where it begins.

    Blocks that control can reach, kernel by kernel in reverse postorder.
    """

    blocks: Sequence[Block]
    steps: Sequence[CacheSteps]
    entries: Sequence[Block]

    def again(self) -> "WorkGroupSteps":
        """The same blocks, after something has been put in or taken out."""
        return self._replace(steps=[_steps_of(block) for block in self.blocks])


def work_groups(module: ModuleOp) -> Iterator[WorkGroupSteps]:
    """The code of every work-group: a kernel.

    Or several, where threads of a litmus test that are in one work-group run different ones.
    """
    for kernels in _running_together(module):
        blocks: list[Block] = []
        steps: list[CacheSteps] = []
        for kernel in kernels:
            for block in reachable_blocks(kernel.body):
                blocks.append(block)
                steps.append(_steps_of(block))
        yield WorkGroupSteps(blocks, steps, [kernel.body.blocks[0] for kernel in kernels])


def _steps_of(block: Block) -> CacheSteps:
    """With the waits that the use of a result implies, if nothing younger is on its way.

    Not those of a branch: what comes next to it stands in other blocks.
    """
    chip = cast(KernelOp, block.parent_op()).chip.data
    steps: CacheSteps = []
    youngest: dict[int, Operation] = {}
    for op in block.ops:
        waits = 0
        for value in op.operands:
            if type(value) is OpResult and type(value.op) in ACCESS_KIND:
                waits |= sum([bit for bit, last in youngest.items() if last is value.op])
        if waits and not op.successors:
            steps.append(CacheStep(op, waits=waits))
        kind = type(op)
        if kind in COUNTED:
            for bit in _counters_of(cast(StringAttr, op.properties["opcode"]).data):
                youngest[bit] = op
        step = step_of(op, chip)
        if step is not None:
            steps.append(step)
    return steps


@cache
def _counters_of(mnemonic: str) -> tuple[int, ...]:
    return tuple([_BIT_OF[event.counter] for event in EVENTS[mnemonic]])


_BIT_OF: Mapping[Counter, int] = MappingProxyType({Counter.VMCNT: VMCNT, Counter.LGKMCNT: LGKMCNT})


def _running_together(module: ModuleOp) -> list[list[KernelOp]]:
    kernels = {op.sym_name.data: op for op in top_level(module) if isinstance(op, KernelOp)}
    group_of = {name: [kernel] for name, kernel in kernels.items()}
    for test in module.ops:
        if test.name != "litmus.test":
            continue
        from fencewright.mlir_dialects.litmus import TestOp

        assert isinstance(test, TestOp)
        first: dict[int, str] = {}
        for number, thread in enumerate(test.threads):
            name = None if thread.kernel is None else thread.kernel.string_value()
            if name not in kernels:
                continue
            mate = first.setdefault(thread.placement.resolve(number).workgroup, name)
            if group_of[mate] is not group_of[name]:
                merged = [*group_of[mate], *group_of[name]]
                group_of.update({each.sym_name.data: merged for each in merged})
    return list({id(group): group for group in group_of.values()}.values())


def counted_on(*, tgsplit: bool) -> Caches:
    """The caches whose invalidates waves that this one hands on to may count on being over.

    Those that acquire at agent scope invalidate for themselves, at work-group scope they share
    the queues of this CU, but in tgsplit; of other agents' writes only this one knows.
    """
    return Caches.SYSTEM | Caches.AGENT if tgsplit else Caches.SYSTEM


def step_of(op: Operation, chip: str) -> CacheStep | None:
    """What ``op`` means to the caches of ``chip``; None if nothing."""
    kind = type(op)
    if kind in ACCESS_KIND:
        if INVARIANT in op.attributes:
            return None
        opcode = cast(StringAttr, op.properties["opcode"]).data
        modifiers = modifiers_of(op)
        meaning = _access(kind, opcode, modifiers, _is_atomic(op, modifiers), chip)
        return None if meaning is None else CacheStep(op, *meaning)
    if kind is CacheOp:
        opcode = cast(StringAttr, op.properties["opcode"]).data
        effect = maintenance_effect(chip, opcode, modifiers_of(op))
        return CacheStep(op, effect, counters=VMCNT)
    if kind is WaitOp:
        counts = cast(WaitOp, op).counts
        waits = (counts.vmcnt == 0) * VMCNT | (counts.lgkmcnt == 0) * LGKMCNT
        return CacheStep(op, waits=waits) if waits else None
    if kind is BarrierOp:
        return CacheStep(op, publishes=True, takes_in=True, is_barrier=True)
    return None


ACCESS_KIND: Mapping[type[Operation], AccessKind] = MappingProxyType(
    {LoadOp: AccessKind.LOAD, StoreOp: AccessKind.STORE, AtomicOp: AccessKind.ATOMIC}
)

_IN_MEMORY = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})
_COUNTERS: Mapping[AddressSpace, int] = MappingProxyType(
    {
        AddressSpace.GLOBAL: VMCNT,
        AddressSpace.GENERIC: VMCNT | LGKMCNT,
        AddressSpace.LOCAL: LGKMCNT,
    }
)


class _Meaning(NamedTuple):
    """The fields of a ``CacheStep`` that are those of every access like it."""

    effect: Effect
    publishes: bool
    takes_in: bool
    leaves_workgroup: bool
    counters: int


@cache
def _access(
    kind: type[Operation], opcode: str, modifiers: tuple[str, ...], atomic: bool, chip: str
) -> _Meaning | None:
    row = instruction(opcode) or instruction(opcode, returns=True)
    assert row is not None
    counters = None if row.space is None else _COUNTERS.get(row.space)
    if counters is None:
        # Private memory is the wave's own, constant memory does not change.
        return None
    access = ACCESS_KIND[kind]
    in_memory = row.space in _IN_MEMORY
    effect = access_effect(chip, access, modifiers) if in_memory else NO_EFFECT
    publishes = atomic and access is not AccessKind.LOAD
    takes_in = atomic and access is not AccessKind.STORE
    return _Meaning(effect, publishes, takes_in, publishes and in_memory, counters)


def is_atomic(op: MemoryOp) -> bool:
    """Whether an access may be of a flag: it carries out an atomic access, or has scope bits."""
    return _is_atomic(op, modifiers_of(op))


def _is_atomic(op: Operation, modifiers: tuple[str, ...]) -> bool:
    if type(op) is AtomicOp or op.properties.get("phase") == _ACCESS:
        return True
    return bool(modifiers) and PLAIN not in op.attributes and not HINTS.issuperset(modifiers)


_ACCESS = PHASES[Phase.ACCESS]


def modifiers_of(op: Operation) -> tuple[str, ...]:
    """The cache policy bits of an instruction."""
    modifiers = op.properties.get("modifiers")
    if modifiers is None:
        return ()
    return tuple([each.data for each in cast(ArrayAttr[StringAttr], modifiers)])
