"""Write-backs and invalidates in LLVM IR for CDNA: as ``cdna`` operations, the fewest, as assembly.

While it is lowered, an ``llvm_ir.func`` holds ``cdna`` operations between accesses that LLVM
lowers by itself. The analyses of the kernel path work on them, with the steps that are read off
LLVM's instructions here. What is not known may do anything; a function that is not a kernel has
such instructions before and behind it.
"""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation

from fencewright.lowering.cdna.caches import (
    AccessKind,
    Caches,
    Effect,
    Reach,
    access_effect,
)
from fencewright.lowering.cdna.chip import TGSPLIT
from fencewright.lowering.facts import Fact
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import Instruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Phase, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.cdna import PHASES, BarrierOp, CacheOp, WaitOp
from fencewright.mlir_dialects.llvm_ir import METADATA, FuncOp, InstOp, LabelOp, TerminatorOp
from fencewright.passes.cdna_caches import (
    LGKMCNT,
    NO_EFFECT,
    VMCNT,
    CacheStep,
    CacheSteps,
    WorkGroupSteps,
    counted_on,
    modifiers_of,
    step_of,
)
from fencewright.passes.clamp_caches import clamp_caches
from fencewright.passes.drop_invalidates import useless_invalidates
from fencewright.passes.drop_write_backs import droppable_write_backs
from fencewright.passes.kernel_frontend import reachable_blocks, successors
from fencewright.passes.llvm_ir_accesses import compiler_fence
from fencewright.passes.llvm_ir_memory import Memory, is_kernel, memory_of
from fencewright.passes.sink_invalidates import Pending, Sinking

_MAINTENANCE = (CacheOp, WaitOp, BarrierOp)

# To cdna operations, and to inline assembly


def cdna_operations(instructions: Iterable[Instruction], line: str | None) -> list[Operation]:
    """The waits, cache instructions and barriers of a sequence; ``line``: their debug location."""
    return [_operation(each, {METADATA: StringAttr(line)} if line else {}) for each in instructions]


def _operation(instruction: Instruction, attributes: dict[str, Attribute]) -> Operation:
    phase = PHASES[instruction.phase]
    if instruction.wait is not None:
        wait = WaitOp.make(instruction.wait.vmcnt, instruction.wait.lgkmcnt, phase)
        wait.attributes |= attributes
        return wait
    kind = BarrierOp if instruction.phase is Phase.ACCESS else CacheOp
    properties: dict[str, Attribute] = {
        "opcode": StringAttr(instruction.mnemonic),
        "modifiers": ArrayAttr([StringAttr(bit) for bit in instruction.modifiers]),
        "phase": phase,
    }
    return kind.create(properties=properties, attributes=attributes)


def print_inline_assembly(function: FuncOp) -> None:
    """Make one inline assembly of each run of ``cdna`` operations."""
    for block in function.body.blocks:
        run: list[Operation] = []
        for op in tuple(block.ops):
            if isinstance(op, _MAINTENANCE):
                run.append(op)
            elif run:
                _print_run(block, run)
                run = []


def _print_run(block: Block, run: list[Operation]) -> None:
    text = "\\0A".join(map(_text, run))
    # All waves of a work-group have to meet at one and the same barrier.
    convergent = " convergent" if any(isinstance(op, BarrierOp) for op in run) else ""
    line = run[0].attributes.get(METADATA)
    ending = f", {line.data}" if isinstance(line, StringAttr) else ""
    call = f'call void asm sideeffect "{text}", "~{{memory}}"(){convergent}{ending}'
    made = InstOp.create(properties={"text": StringAttr(call)})
    made.location = run[0].location
    block.insert_op_before(made, run[0])
    for op in run:
        block.erase_op(op)


def _text(op: Operation) -> str:
    if isinstance(op, WaitOp):
        return f"s_waitcnt {op.counts}"
    assert isinstance(op, CacheOp | BarrierOp)
    return " ".join((op.opcode.data, *modifiers_of(op)))


# The fewest


def minimise_caches(function: FuncOp, options: Mapping[str, Any], facts: frozenset[Fact]) -> None:
    """Drop and sink what nothing needs of the write-backs, invalidates and waits of a function.

    ``options``: what to ask of ``lower`` besides the operation. A wait goes, or one of its
    counts, if nothing that it is for can be on its way; what is left waits for everything, for
    which of LLVM's instructions are younger is not known before LLVM has placed them.
    """
    if not any(type(op) in _MAINTENANCE for block in function.body.blocks for op in block.ops):
        return
    clamp_caches(function.walk(), options["target"], facts)
    group = _steps_of(function, options)
    for find in (droppable_write_backs, useless_invalidates):
        group = _without(group, find(group))
    if _can_split_edges(function):
        edges = Edges(function)
        awaited = counted_on(tgsplit=TGSPLIT in options["features"])
        Sinking(group, awaited, edges.insert, edges.insert_on_edge).run()
    _drop_waits(function)


def _without(group: WorkGroupSteps, ops: Iterable[Operation]) -> WorkGroupSteps:
    """Erase ``ops``; what is left."""
    gone = set(ops)
    for op in gone:
        op.detach()
        op.erase()
    steps = [[step for step in steps if step.op not in gone] for steps in group.steps]
    return group._replace(steps=steps)


def _steps_of(function: FuncOp, options: Mapping[str, Any]) -> WorkGroupSteps:
    blocks = reachable_blocks(function.body)
    steps: list[CacheSteps] = []
    outside = not is_kernel(function)
    for block in blocks:
        found = [step for op in block.ops for step in _steps_at(op, options)]
        assert block.last_op is not None
        if outside and block is blocks[0]:
            found = [*_unknown(block.last_op), *found]
        if outside and not block.last_op.successors:
            found += _unknown(block.last_op)
        steps.append(found)
    return WorkGroupSteps(blocks, steps, blocks[:1])


def _steps_at(op: Operation, options: Mapping[str, Any]) -> CacheSteps:
    if isinstance(op, _MAINTENANCE):
        step = step_of(op, options["target"])
        return [] if step is None else [step]
    if isinstance(op, scoped.AccessOperation):
        return access_steps(op, options)
    match memory_of(op):
        case Memory.NONE:
            return []
        case Memory.PLAIN:
            return [CacheStep(op, _ANY_ACCESS, counters=VMCNT | LGKMCNT)]
        case Memory.BARRIER:
            return [CacheStep(op, publishes=True, takes_in=True, is_barrier=True)]
        case Memory.UNKNOWN:
            return _unknown(op)


_ANY_ACCESS = Effect(reads=Caches.ALL, stores=Reach.WORKGROUP)


def _unknown(op: Operation) -> CacheSteps:
    """Whatever there is: accesses, flags read and written, barriers, in any order."""
    counters = VMCNT | LGKMCNT
    return [
        CacheStep(op, _ANY_ACCESS, takes_in=True, counters=counters),
        CacheStep(op, _ANY_ACCESS, True, True, True, is_barrier=True),
        CacheStep(op, _ANY_ACCESS, True, False, True, counters=counters),
        CacheStep(op, _ANY_ACCESS, takes_in=True, counters=counters),
    ]


_COUNTERS = {
    AddressSpace.GLOBAL: VMCNT,
    AddressSpace.GENERIC: VMCNT | LGKMCNT,
    AddressSpace.LOCAL: LGKMCNT,
}
_INVARIANT = "!invariant.load"


def access_steps(op: scoped.AccessOperation, options: Mapping[str, Any]) -> CacheSteps:
    """What an access means to the caches; ``options`` as of ``minimise_caches``."""
    counters = _COUNTERS.get(op.space)
    metadata = op.attributes.get(METADATA)
    if counters is None or (isinstance(metadata, StringAttr) and _INVARIANT in metadata.data):
        # Private memory is the wave's own, constant and invariant memory does not change.
        return []
    in_memory = op.space is not AddressSpace.LOCAL
    effect = _effect(op, options) if in_memory else NO_EFFECT
    is_flag = op.ordering.data is not Ordering.WEAK or op.volatile is not None
    publishes = is_flag and not isinstance(op, scoped.LoadOp)
    takes_in = is_flag and not isinstance(op, scoped.StoreOp)
    leaves = publishes and in_memory
    return [CacheStep(op, effect, publishes, takes_in, leaves, counters=counters)]


_LOADS = (scoped.LoadOp, scoped.AtomicRmwOp, scoped.CmpxchgOp)
_STORES = (scoped.StoreOp, scoped.AtomicRmwOp, scoped.CmpxchgOp)


def _effect(op: scoped.AccessOperation, options: Mapping[str, Any]) -> Effect:
    """What an access does to the caches, by the policy bits that LLVM gives it.

    LLVM makes a load or a store of a read-modify-write that does no more: it counts as these.
    """
    reads, stores = Caches.NONE, None
    chip = options["target"]
    if isinstance(op, _LOADS):
        bits = bits_of_access("load", op, options)
        reads = access_effect(chip, AccessKind.LOAD, bits).reads
    if isinstance(op, _STORES):
        bits = bits_of_access("store", op, options)
        stores = access_effect(chip, AccessKind.STORE, bits).stores
    return Effect(reads=reads, stores=stores)


def bits_of_access(
    operation: str, op: scoped.AccessOperation, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """The cache policy bits of ``operation``, a load or a store, with the scope of ``op``."""
    sequence = lower(
        op=operation,
        ordering=Ordering.WEAK if op.scope is None else Ordering.RELAXED,
        scope=Scope.SYSTEM if op.scope is None else op.scope.data,
        space=op.space,
        volatile=op.volatile is not None,
        **options,
    )
    return next(each.modifiers for each in sequence.instructions if each.phase is Phase.ACCESS)


# Waits


def _drop_waits(function: FuncOp) -> None:
    """Leave of each wait the counters that something may be outstanding on."""
    blocks = reachable_blocks(function.body)
    outstanding = {blocks[0]: 0 if is_kernel(function) else _BOTH}
    changed = True
    while changed:
        changed = False
        for block in blocks:
            state = outstanding.get(block)
            targets = successors(block)
            if state is None or not targets:
                continue
            for op in block.ops:
                state = issued(op, state)
            for target in targets:
                known = outstanding.get(target)
                if known is None or known | state != known:
                    outstanding[target] = state | (known or 0)
                    changed = True
    for block in blocks:
        state = outstanding[block]
        for op in tuple(block.ops):
            before, state = state, issued(op, state)
            if type(op) is WaitOp:
                _narrow(op, before)


def issued(op: Operation, outstanding: int) -> int:
    """The counters that something may be outstanding on behind ``op``."""
    if type(op) is WaitOp:
        counts = op.counts
        done = (counts.vmcnt == 0) * VMCNT | (counts.lgkmcnt == 0) * LGKMCNT
        return outstanding & ~done
    if type(op) is CacheOp:
        return outstanding | VMCNT
    if isinstance(op, scoped.AccessOperation):
        return outstanding | _counters(op)
    unknown = memory_of(op) in (Memory.PLAIN, Memory.UNKNOWN)
    return _BOTH if unknown else outstanding


_BOTH = VMCNT | LGKMCNT


def _counters(op: scoped.AccessOperation) -> int:
    counters = _COUNTERS.get(op.space, 0)
    weak_load = isinstance(op, scoped.LoadOp) and op.ordering.data is Ordering.WEAK
    # LLVM makes a scalar load of a weak one if it can.
    return _BOTH if counters and weak_load else counters


def _narrow(op: WaitOp, outstanding: int) -> None:
    for name, counter in (("vmcnt", VMCNT), ("lgkmcnt", LGKMCNT)):
        if not counter & outstanding:
            op.properties.pop(name, None)
    if not op.counts:
        op.detach()
        op.erase()


# Places


_SPLITTABLE = frozenset({"br", "switch", "ret", "unreachable"})


def _can_split_edges(function: FuncOp) -> bool:
    """Whether a block may be put on each way from block to block."""
    ends = (block.last_op for block in function.body.blocks)
    return all(isinstance(end, TerminatorOp) and end.opcode in _SPLITTABLE for end in ends)


class Edges:
    """Where invalidates go that leave their block."""

    def __init__(self, function: FuncOp):
        labels = {op.text.data for op in function.walk() if isinstance(op, LabelOp)}
        names = (f"sunk{number or ''}" for number in count())
        self.labels = (name for name in names if name not in labels)
        self.made: set[Block] = set()

    def insert(self, pending: Pending, block: Block) -> None:
        """At the beginning of ``block``, behind what has to come first there."""
        place = next(op for op in block.ops if not _comes_first(op))
        _insert_before(place, pending)

    def insert_on_edge(self, pending: Pending, block: Block, index: int) -> None:
        """On the way to successor ``index``, in a block of its own if need be."""
        last = block.last_op
        assert last is not None
        if len(last.successors) == 1:
            _insert_before(last, pending)
            return
        if last.successors[index] not in self.made:
            self._split(block, last, index)
        end = last.successors[index].last_op
        assert end is not None
        _insert_before(end, pending)

    def _split(self, block: Block, last: Operation, index: int) -> None:
        target = last.successors[index]
        label = next(self.labels)
        branch = TerminatorOp.create(
            properties={"text": StringAttr("br label {^0}")}, successors=[target]
        )
        made = Block([LabelOp(label), branch])
        self.made.add(made)
        region = block.parent
        assert region is not None
        region.insert_block_after(made, block)
        last.successors = [*last.successors[:index], made, *last.successors[index + 1 :]]
        first = block.first_op
        assert isinstance(first, LabelOp)
        came_from, comes_from = f", %{first.text.data} ]", f", %{label} ]"
        for op in target.ops:
            if isinstance(op, InstOp) and op.opcode == "phi":
                text = op.text.data.replace(came_from, comes_from, 1)
                op.properties["text"] = StringAttr(text)


def _comes_first(op: Operation) -> bool:
    if isinstance(op, InstOp):
        return op.opcode == "phi" or op.opcode.startswith("#dbg")
    return isinstance(op, LabelOp)


def _insert_before(place: Operation, pending: Pending) -> None:
    """An invalidate, and LLVM's fence that keeps loads behind it."""
    block = place.parent
    assert block is not None
    block.insert_op_before(pending.op.clone(), place)
    block.insert_op_before(compiler_fence(pending.op, Ordering.ACQUIRE), place)
