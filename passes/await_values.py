"""The pass ``await-values``: LLVM waits for what an acquire has read, where it uses the value."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, f64, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import Ordering, Phase
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.cdna import PHASES, CacheOp, WaitOp
from fencewright.mlir_dialects.llvm_ir import METADATA, AwaitOp, FuncOp, InstOp
from fencewright.passes.cdna_caches import COUNTERS_OF, IN_MEMORY, LGKMCNT, SHARED, VMCNT, waits_of
from fencewright.passes.dataflow import solve_forward
from fencewright.passes.kernel_frontend import reachable_blocks
from fencewright.passes.llvm_ir_accesses import block_of, debug_attributes
from fencewright.passes.llvm_ir_caches import is_flag
from fencewright.passes.llvm_ir_cdna import OWN, SCALAR
from fencewright.passes.llvm_ir_memory import Memory, is_kernel, lowered_functions, memory_of

_ACQUIRES = PHASES[Phase.WAIT]
_SCALAR = 4
"""Scalar loads, which count in ``lgkmcnt`` too: a bit beside those of the counters."""
_ALL = VMCNT | LGKMCNT | _SCALAR


@dataclass(frozen=True)
class AwaitValuesPass(ModulePass):
    """Let LLVM wait for what acquires have read, and drop waits that nothing is outstanding for.

    Runs on functions in LLVM IR behind ``lower-scoped-llvm-ir``, and behind all that counts on
    their waits. LLVM waits where a value is used until it is there, and for nothing that comes
    later: what an acquire has read is there once it has been used. So ``llvm_ir.await`` takes the
    place of such a wait, and the next use of the value does not wait once more. No other operation
    uses the value before: there LLVM could find out what it is, and put a constant into its place.
    A wait goes, or one of its counts, if nothing that it is for can be on its way; what is left
    waits for everything, for which of LLVM's instructions are younger is not known before LLVM has
    placed them.
    Source: LLVM SIInsertWaitcnts, which waits for the operands of inline assembly; certified by
    tests/unit/test_minimise_llvm_ir.py.
    """

    name = "await-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, _ in lowered_functions(op):
            blocks = reachable_blocks(function.body)
            if any(type(each) is WaitOp for each in _all_ops(blocks)):
                await_values(function, blocks)
                drop_waits(function, blocks)


# By data


def await_values(function: FuncOp, blocks: Sequence[Block]) -> None:
    """Await values instead of waiting for everything, where an acquire or a seq_cst load has to.

    It has to for what it reads, a fence and a seq_cst load for every earlier access that others
    may synchronise through: the rule of ``loosen-waits``. ``blocks`` in reverse postorder.
    """
    waits = [op for op in _all_ops(blocks) if type(op) is WaitOp and op.phase == _ACQUIRES]
    for wait in waits:
        if OWN in wait.attributes:
            _await(wait, [access_before(wait)])
    of_others = {wait for wait in waits if OWN not in wait.attributes}
    if not of_others:
        return
    entry: Flags = frozenset() if is_kernel(function) else frozenset({function})

    def carry(block: Block, flags: Flags) -> Flags:
        for op in block.ops:
            flags = flags_behind(op, flags)
        return flags

    begin = solve_forward(blocks, {blocks[0]: entry}, carry, _either)
    place = {op: number for number, op in enumerate(_all_ops(blocks))}
    for block in blocks:
        flags = begin[block]
        for op in tuple(block.ops):
            before, flags = flags, flags_behind(op, flags)
            if type(op) is WaitOp and op in of_others:
                covered = [flag for flag in before if _counters(flag) & waits_of(op)]
                _await(op, sorted(covered, key=lambda flag: place.get(flag, -1)))


def _all_ops(blocks: Iterable[Block]) -> Iterator[Operation]:
    return (op for block in blocks for op in block.ops)


Flags: TypeAlias = frozenset[Operation]
"""Accesses to flags that may be on their way; and operations that may have made unknown ones."""


def _either(flags: Flags, others: Flags) -> Flags:
    return flags | others


def flags_behind(op: Operation, flags: Flags) -> Flags:
    """The accesses to flags that may be on their way behind ``op``."""
    if type(op) is WaitOp:
        waits = waits_of(op)
        return frozenset(each for each in flags if _counters(each) & ~waits)
    if type(op) is AwaitOp:
        return flags - {op.value.owner}
    if isinstance(op, scoped.AccessOperation):
        return flags | {op} if op.space in SHARED and is_flag(op) else flags
    return flags | {op} if memory_of(op) is Memory.UNKNOWN else flags


def access_before(wait: WaitOp) -> Operation:
    """The access that a wait of its ``OWN`` is for."""
    op = wait.prev_op
    while op is not None and not isinstance(op, scoped.AccessOperation):
        op = op.prev_op
    assert op is not None
    return op


class _Place(NamedTuple):
    """Where a value is awaited: ``before`` an operation; None if it is there already."""

    value: SSAValue
    before: Operation | None


def _await(wait: WaitOp, flags: Iterable[Operation]) -> None:
    """Put in the place of ``wait`` what awaits the values of ``flags``, if all of them have some."""
    places: list[_Place] = []
    for flag in flags:
        place = _place_of(flag, wait)
        if place is None:
            return
        places.append(place)
    for value, before in places:
        if before is not None:
            _insert(value, before)
    block_of(wait).erase_op(wait)


def _insert(value: SSAValue, before: Operation) -> None:
    flag = value.owner
    assert isinstance(flag, Operation)
    made = AwaitOp.create(operands=(value,), attributes=debug_attributes(flag))
    made.location = flag.location
    block_of(before).insert_op_before(made, before)


def _place_of(flag: Operation, wait: WaitOp) -> _Place | None:
    """At the wait, or before the first use if a branch at the end of the block needs it anyway."""
    value = _value_of(flag)
    if value is None:
        return None
    op = flag.next_op
    while op is not None and op is not wait:
        if type(op) is AwaitOp and op.value is value:
            return _Place(value, None)
        if _uses(op, flag):
            return _Place(value, op) if _decides(flag) else None
        op = op.next_op
    return None if op is None else _Place(value, wait)


def _uses(op: Operation, flag: Operation) -> bool:
    """Whether code uses what ``flag`` gives; a debug record is none."""
    if isinstance(op, InstOp) and op.opcode.startswith("#"):
        return False
    return not set(flag.results).isdisjoint(op.operands)


_CARRIED = frozenset({i32, i64, f32, f64})
"""What, besides pointers, an operand of inline assembly can be that is in vector registers."""
_RANGE = "!range"


def _value_of(flag: Operation) -> SSAValue | None:
    """The value that is there once ``flag`` is over; None if LLVM may know it, or not make it."""
    if not isinstance(flag, scoped.LoadOp | scoped.AtomicRmwOp | scoped.CmpxchgOp):
        return None
    metadata = flag.attributes.get(METADATA)
    if isinstance(metadata, StringAttr) and _RANGE in metadata.data:
        return None
    if not isinstance(flag, scoped.LoadOp) and not any(each.first_use for each in flag.results):
        return None
    value = flag.results[0]
    return value if value.type in _CARRIED or isinstance(value.type, LLVMPointerType) else None


def _decides(flag: Operation) -> bool:
    """Whether the branch at the end of its block depends on what ``flag`` gives."""
    block = block_of(flag)
    assert block.last_op is not None
    pending, seen = [block.last_op], {block.last_op}
    while pending:
        for owner in _made_by(pending.pop()):
            if owner is flag:
                return True
            if owner.parent is block and owner not in seen and memory_of(owner) is Memory.NONE:
                seen.add(owner)
                pending.append(owner)
    return False


def _made_by(op: Operation) -> Iterator[Operation]:
    return (each.owner for each in op.operands if isinstance(each.owner, Operation))


# What is left


class Outstanding(NamedTuple):
    """What may be on its way: ``counters``, and accesses whose values are awaited later."""

    counters: int = 0
    awaited: Flags = frozenset()

    def join(self, other: "Outstanding") -> "Outstanding":
        """What may be on its way on either path."""
        return Outstanding(self.counters | other.counters, self.awaited | other.awaited)

    @property
    def all_counters(self) -> int:
        """The counters that are not zero."""
        counters = self.counters
        for each in self.awaited:
            counters |= _counters(each)
        return counters


def drop_waits(function: FuncOp, blocks: Sequence[Block]) -> None:
    """Leave of each wait the counters that something may be outstanding on."""
    entry = Outstanding(0 if is_kernel(function) else _ALL)

    def carry(block: Block, outstanding: Outstanding) -> Outstanding:
        for op in block.ops:
            outstanding = issued(op, outstanding)
        return outstanding

    begin = solve_forward(blocks, {blocks[0]: entry}, carry, Outstanding.join)
    for block in blocks:
        outstanding = begin[block]
        for op in tuple(block.ops):
            before, outstanding = outstanding, issued(op, outstanding)
            if type(op) is WaitOp:
                _narrow(op, before.all_counters)


def issued(op: Operation, outstanding: Outstanding) -> Outstanding:
    """What may be on its way behind ``op``."""
    counters, awaited = outstanding
    if type(op) is WaitOp:
        waits = _over_after(op)
        left = frozenset(each for each in awaited if _counters(each) & ~waits)
        return Outstanding(counters & ~waits, left)
    if type(op) is AwaitOp:
        return Outstanding(counters, awaited - {op.value.owner})
    if type(op) is CacheOp:
        return Outstanding(counters | VMCNT, awaited)
    if isinstance(op, scoped.AccessOperation):
        if _is_awaited(op):
            return Outstanding(counters, awaited | {op})
        return Outstanding(counters | _counters(op), awaited)
    unknown = memory_of(op) in (Memory.PLAIN, Memory.UNKNOWN)
    return Outstanding(_ALL, awaited) if unknown else outstanding


def _is_awaited(op: Operation) -> bool:
    return any(type(use.operation) is AwaitOp for each in op.results[:1] for use in each.uses)


def _over_after(wait: WaitOp) -> int:
    """What is certainly over after a wait, or after what is left of it."""
    waits = waits_of(wait)
    if not waits & LGKMCNT:
        return waits
    return waits & ~LGKMCNT | _SCALAR if SCALAR in wait.attributes else waits | _SCALAR


def _counters(op: Operation) -> int:
    """The counters that an operation may increment, and whether LLVM may make a scalar load of it."""
    if not isinstance(op, scoped.AccessOperation):
        return _ALL
    if op.space not in SHARED:
        return 0
    weak = op.ordering.data is Ordering.WEAK and op.volatile is None
    scalar = isinstance(op, scoped.LoadOp) and weak and op.space in IN_MEMORY
    return COUNTERS_OF[op.space] | scalar * _SCALAR


def _narrow(op: WaitOp, outstanding: int) -> None:
    for_loads = _SCALAR if SCALAR in op.attributes else LGKMCNT | _SCALAR
    for name, counter in (("vmcnt", VMCNT), ("lgkmcnt", for_loads)):
        if not counter & outstanding:
            op.properties.pop(name, None)
    if not op.counts:
        block_of(op).erase_op(op)
