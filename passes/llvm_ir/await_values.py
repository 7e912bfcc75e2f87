"""The pass ``await-values``: LLVM waits for an acquire's read where it uses the value."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    bf16,
    f16,
    f32,
    f64,
    i16,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.cdna.chips import CHIPS, Counter
from fencewright.lowering.cdna.rmw_loops import is_loop
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.llvm.intrinsics.row import CallKind
from fencewright.lowering.vocabulary import Ordering, Phase, RmwKind, ValueType
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import PHASES, CacheOp, WaitOp
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir
from fencewright.passes.analysis.caches import (
    COUNTERS_OF,
    IN_MEMORY,
    LGKMCNT,
    LOADCNT,
    SHARED,
    VMCNT,
)
from fencewright.passes.analysis.control_flow import block_graph, block_of, reachable_blocks
from fencewright.passes.analysis.llvm_ir_memory import (
    NOTHING,
    MemoryEffects,
    is_kernel,
    lowered_functions,
    memory_of,
)
from fencewright.passes.llvm_ir.caches import counters_of, is_flag
from fencewright.passes.llvm_ir.cdna import OWN, SCALAR

_ACQUIRES = PHASES[Phase.WAIT]
_SCALAR = 4
"""Scalar loads, which count in ``lgkmcnt`` too: a bit beside those of the counters."""
_MEMORY = VMCNT | LOADCNT
"""Writes to memory and reads of it, which count apart on some chips."""
_ALL = _MEMORY | LGKMCNT | _SCALAR

_COUNTED: Mapping[str, int] = MappingProxyType(
    {
        Counter.VMCNT: _MEMORY,
        Counter.LGKMCNT: LGKMCNT | _SCALAR,
        Counter.STORECNT: VMCNT,
        Counter.LOADCNT: LOADCNT,
        Counter.DSCNT: LGKMCNT,
        Counter.KMCNT: _SCALAR,
    }
)
"""The accesses that each counter counts."""


@dataclass(frozen=True)
class AwaitValuesPass(ModulePass):
    """Let LLVM wait for the reads of acquires, and drop waits for which nothing is outstanding.

    Runs on functions in LLVM IR after ``lower-scoped-llvm-ir``, and after every pass that relies
    on their waits. Where a value is used, LLVM waits until it has arrived, and for no younger
    operation: once it has been used, what an acquire has read has arrived. So ``llvm_ir.await``
    replaces such a wait, and the next use of the value does not wait again. No other operation
    uses the value before it: LLVM could find out the value there, and replace it by a constant.
    A wait goes, or one of its counts, if nothing that it is for can be in flight. A wait that
    stays waits for everything: which of LLVM's instructions are younger is not known before LLVM
    has placed them. An update that LLVM makes a loop of compare-exchanges of has waited for its
    value by itself, so that to await it costs no wait, whether anything else uses it or not.
    Source: LLVM SIInsertWaitcnts, which waits for the operands of inline assembly; certified by
    tests/unit/test_minimise_llvm_ir.py.
    """

    name = "await-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, target in lowered_functions(op):
            blocks = reachable_blocks(function.body)
            if any(type(each) is WaitOp for each in _all_ops(blocks)):
                await_values(function, blocks, target.chip)
                drop_waits(function, blocks)
                if CHIPS[target.chip].splits_counters:
                    join_waits(blocks)


# By data

AWAITED_AT_ONCE = 8
"""The most values that are awaited in place of one wait; for more, everything is waited for.

They are in registers at once, at most 16, which fit into the 24 that a kernel of ten waves a SIMD
has, the least of any (LLVM AMDGPUUsage, amdgpu-waves-per-eu; gfx908). Each saves LLVM's own wait
where it is used. Measured with llc -O2: of 33 values of 64 bits and more in a kernel of 64
registers register allocation does not end, and in a kernel whose registers are full 8 values save
as many instructions as 16, and 24 none.
"""


def await_values(function: llvm_ir.FuncOp, blocks: Sequence[Block], chip: str) -> None:
    """Await values instead of waiting for everything, where an acquire or a seq_cst load has to.

    It has to for what it reads, a fence and a seq_cst load for every earlier access that others
    may synchronise through: the rule of ``loosen-waits``. ``blocks`` in reverse postorder.
    """
    waits = [op for op in _all_ops(blocks) if type(op) is WaitOp and op.phase == _ACQUIRES]
    code = _OperationPlaces(blocks, chip)
    for wait in waits:
        if OWN in wait.attributes:
            _await(wait, [access_before(wait)], code)
    of_others = {wait for wait in waits if OWN not in wait.attributes}
    if not of_others:
        return
    entry = FlagAccesses() if is_kernel(function) else _UNKNOWN

    def carry(block: Block, flags: FlagAccesses) -> FlagAccesses:
        for op in operations(block):
            flags = flags_after(op, flags, chip)
        return flags

    begin = solve(block_graph(blocks), {blocks[0]: entry}, carry, FlagAccesses.join)
    for block in blocks:
        flags = begin[block]
        for op in operations(block):
            before, flags = flags, flags_after(op, flags, chip)
            if type(op) is WaitOp and op in of_others and not before.others & _over_after(op):
                covered = [flag for flag in before.few if _counters(flag) & _over_after(op)]
                _await(op, sorted(covered, key=code.place.__getitem__), code)


def _all_ops(blocks: Iterable[Block]) -> Iterator[Operation]:
    return (op for block in blocks for op in operations(block))


class FlagAccesses(NamedTuple):
    """Accesses to flags that may be in flight.

    ``few``: those whose values can be awaited, no more than ``AWAITED_AT_ONCE``; ``others``: the
    counters of all others, and of operations that may have made unknown ones. ``few`` has none that
    counts in nothing but ``others``.
    """

    few: frozenset[scoped.AccessOperation] = frozenset()
    others: int = 0

    def join(self, more: "FlagAccesses") -> "FlagAccesses":
        """The operations that may be in flight on either path."""
        others = self.others | more.others
        few = frozenset(each for each in self.few | more.few if _counters(each) & ~others)
        if len(few) <= AWAITED_AT_ONCE:
            return FlagAccesses(few, others)
        for each in few:
            others |= _counters(each)
        return FlagAccesses(frozenset(), others)


_UNKNOWN = FlagAccesses(others=_MEMORY | LGKMCNT)


def flags_after(op: Operation, flags: FlagAccesses, chip: str) -> FlagAccesses:
    """The accesses to flags that may be in flight after ``op``."""
    if type(op) is WaitOp:
        left = ~_over_after(op)
        return FlagAccesses(
            frozenset(each for each in flags.few if _counters(each) & left), flags.others & left
        )
    if type(op) is llvm_ir.AwaitOp:
        return flags._replace(few=flags.few.difference([op.value.owner]))
    if isinstance(op, scoped.AccessOperation):
        if not is_flag(op):
            return flags
        alone = _value_of(op, chip) is not None
        return flags.join(
            FlagAccesses(frozenset({op})) if alone else FlagAccesses(others=_counters(op))
        )
    effects = memory_of(op)
    if effects.kind not in _OF_FLAGS:
        return flags
    return flags.join(FlagAccesses(others=_counters_of_text(effects)))


_OF_FLAGS = frozenset({CallKind.ATOMIC, CallKind.OTHER})


def access_before(wait: WaitOp) -> scoped.AccessOperation:
    """The access that a wait of its ``OWN`` is for."""
    op = wait.prev_op
    while op is not None and not isinstance(op, scoped.AccessOperation):
        op = op.prev_op
    assert op is not None
    return op


class _AwaitPoint(NamedTuple):
    """The point at which a value is awaited: ``before`` an operation; None if there already."""

    value: SSAValue
    before: Operation | None


class _OperationPlaces:
    """The ``place`` of each operation of a function for ``chip``, before anything is awaited."""

    def __init__(self, blocks: Sequence[Block], chip: str):
        self.chip = chip
        self.place = {op: number for number, op in enumerate(_all_ops(blocks))}
        self._deciders: dict[Block, set[Operation]] = {}

    def decides(self, flag: Operation) -> bool:
        """True if the branch at the end of its block depends on the result of ``flag``."""
        block = block_of(flag)
        if block not in self._deciders:
            self._deciders[block] = _deciders(block)
        return flag in self._deciders[block]

    def is_on_the_way(self, flag: Operation, wait: WaitOp) -> bool:
        """True if ``wait`` comes after ``flag`` in one block."""
        return flag.parent is wait.parent and self.place[flag] < self.place[wait]

    def users(self, flag: Operation, wait: WaitOp) -> list[Operation]:
        """The users of the results of ``flag`` in its block, in order: up to ``wait``, or the end.

        What awaits them since comes first. A debug record uses nothing.
        """
        first, end = self.place[flag], block_of(flag).last_op
        assert end is not None
        last = self.place[wait] if self.is_on_the_way(flag, wait) else self.place[end] + 1

        def place(op: Operation) -> int:
            return self.place.get(op, first if type(op) is llvm_ir.AwaitOp else last)

        users = {use.operation for each in flag.results for use in each.uses}
        found = [op for op in users if first <= place(op) < last and not _is_debug_record(op)]
        return sorted(found, key=place)


def _await(wait: WaitOp, flags: Iterable[Operation], code: _OperationPlaces) -> None:
    """Replace ``wait`` by operations that await the values of ``flags``, if all have some."""
    places: list[_AwaitPoint] = []
    for flag in flags:
        place = _place_of(flag, wait, code)
        if place is None:
            return
        places.append(place)
    for value, before in places:
        if before is not None:
            _insert(value, before)
    Rewriter.erase_op(wait)


def _insert(value: SSAValue, before: Operation) -> None:
    flag = value.owner
    assert isinstance(flag, Operation)
    made = llvm_ir.AwaitOp.create(operands=(value,), attributes=llvm_ir.debug_attributes(flag))
    made.location = flag.location
    block_of(before).insert_op_before(made, before)


def _place_of(flag: Operation, wait: WaitOp, code: _OperationPlaces) -> _AwaitPoint | None:
    """At the wait, or before the first use if a branch at the end of the block needs it anyway."""
    value = _value_of(flag, code.chip)
    if value is None:
        return None
    if not (users := code.users(flag, wait)):
        return _AwaitPoint(value, wait) if code.is_on_the_way(flag, wait) else None
    if type(users[0]) is llvm_ir.AwaitOp:
        return _AwaitPoint(value, None)
    return _AwaitPoint(value, users[0]) if code.decides(flag) else None


def _is_debug_record(op: Operation) -> bool:
    return isinstance(op, llvm_ir.InstOp) and op.is_debug_record


_CARRIED = frozenset({i16, i32, i64, f16, bf16, f32, f64})
"""Types, besides pointers and two halves, of operands of inline assembly in vector registers."""
_RANGE = "!range"


def _value_of(flag: Operation, chip: str) -> SSAValue | None:
    """The value that is there once ``flag`` is over; None if LLVM may know it, or not make it."""
    if not isinstance(flag, scoped.LoadOp | scoped.AtomicRmwOp | scoped.CmpxchgOp):
        return None
    metadata = flag.attributes.get(llvm_ir.METADATA)
    if isinstance(metadata, StringAttr) and _RANGE in metadata.data:
        return None
    if not (
        isinstance(flag, scoped.LoadOp)
        or any(each.first_use for each in flag.results)
        or _gives_a_value_anyway(flag, chip)
    ):
        return None
    value = flag.results[0]
    return value if _is_carried(value.type) else None


def _is_carried(type_: Attribute) -> bool:
    if type_ in _CARRIED or isinstance(type_, LLVMPointerType):
        return True
    floats = scoped.float_type(type_)
    return floats is not None and floats.is_packed


_COMBINED = frozenset({RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN})
_ALONE = frozenset({ValueType.F32, ValueType.F64})


def _gives_a_value_anyway(flag: Operation, chip: str) -> bool:
    """True where LLVM makes a loop of an update, and no other code where something uses its value.

    Of the lanes that update one place LLVM lets one do it for all, and would then make a value for
    each lane. Source: LLVM 22 AMDGPUAtomicOptimizer.
    """
    if not isinstance(flag, scoped.AtomicRmwOp):
        return False
    kind, type_ = flag.kind.data, _value_type(flag.value.type)
    if type_ is None or (kind in _COMBINED and type_ in _ALONE):
        return False
    return is_loop(chip, flag.space, kind, type_)


@cache
def _value_type(type_: Attribute) -> ValueType | None:
    return _INTEGERS.get(type_, scoped.float_type(type_))


_INTEGERS: Mapping[Attribute, ValueType] = MappingProxyType(
    {IntegerType(each.bits): each for each in ValueType if not each.is_float}
)


def _deciders(block: Block) -> set[Operation]:
    """The operations of ``block`` that its last branch depends on, as far as its values say."""
    assert block.last_op is not None
    pending, found = [block.last_op], set[Operation]()
    while pending:
        for owner in _made_by(pending.pop()):
            if owner not in found and owner.parent is block and memory_of(owner) is NOTHING:
                pending.append(owner)
            found.add(owner)
    return found


def _made_by(op: Operation) -> Iterator[Operation]:
    return (each.owner for each in op.operands if isinstance(each.owner, Operation))


# The remaining waits


class Outstanding(NamedTuple):
    """Operations that may be in flight: ``counters``, and accesses with values awaited later."""

    counters: int = 0
    awaited: frozenset[scoped.AccessOperation] = frozenset()

    def join(self, other: "Outstanding") -> "Outstanding":
        """The operations that may be in flight on either path."""
        return Outstanding(self.counters | other.counters, self.awaited | other.awaited)

    @property
    def all_counters(self) -> int:
        """The counters that are not zero."""
        counters = self.counters
        for each in self.awaited:
            counters |= _counters(each)
        return counters


def drop_waits(function: llvm_ir.FuncOp, blocks: Sequence[Block]) -> None:
    """Leave of each wait the counters that something may be outstanding on."""
    entry = Outstanding(0 if is_kernel(function) else _ALL)

    def carry(block: Block, outstanding: Outstanding) -> Outstanding:
        for op in operations(block):
            outstanding = issued(op, outstanding)
        return outstanding

    begin = solve(block_graph(blocks), {blocks[0]: entry}, carry, Outstanding.join)
    for block in blocks:
        outstanding = begin[block]
        for op in operations(block):
            before, outstanding = outstanding, issued(op, outstanding)
            if type(op) is WaitOp:
                _narrow(op, before.all_counters)


def join_waits(blocks: Sequence[Block]) -> None:
    """Make one of waits that stand next to each other: an instruction may wait for two counters."""
    for op in list(_all_ops(blocks)):
        previous = op.prev_op
        if type(op) is not WaitOp or type(previous) is not WaitOp:
            continue
        for name, count in (previous.counts | op.counts).given.items():
            previous.properties[name] = count_attr(count)
        Rewriter.erase_op(op)


def issued(op: Operation, outstanding: Outstanding) -> Outstanding:
    """The operations that may be in flight after ``op``."""
    counters, awaited = outstanding
    if type(op) is WaitOp:
        waits = _over_after(op)
        left = frozenset(each for each in awaited if _counters(each) & ~waits)
        return Outstanding(counters & ~waits, left)
    if type(op) is llvm_ir.AwaitOp:
        return Outstanding(counters, awaited.difference([op.value.owner]))
    if type(op) is CacheOp:  # Whether it counts or not (``CACHE_COUNTS``), it may be outstanding.
        return Outstanding(counters | _MEMORY, awaited)
    if type(op) in scoped.ACCESSES:
        access = cast(scoped.AccessOperation, op)
        if _is_awaited(access):
            return Outstanding(counters, awaited | {access})
        return Outstanding(counters | _counters(access), awaited)
    return Outstanding(counters | _issued_by(memory_of(op)), awaited)


def _issued_by(effects: MemoryEffects) -> int:
    """The counters that an instruction that is carried as text increments, and whether by scalar
    loads."""
    if effects.kind not in _ISSUING:
        return 0
    may_be_scalar = effects.kind is CallKind.OTHER or bool(effects.reads & IN_MEMORY)
    return _counters_of_text(effects) | may_be_scalar * _SCALAR


def _counters_of_text(effects: MemoryEffects) -> int:
    """The counters that accesses of an instruction that is carried as text may increment."""
    counters = counters_of(effects)
    return counters | LOADCNT if counters & VMCNT else counters


_ISSUING = frozenset({CallKind.ACCESS, CallKind.ATOMIC, CallKind.ASYNC, CallKind.OTHER})


def _is_awaited(op: Operation) -> bool:
    return any(
        type(use.operation) is llvm_ir.AwaitOp for each in op.results[:1] for use in each.uses
    )


def _over_after(wait: WaitOp) -> int:
    """The counters that are certainly zero after a wait, or after its remaining part."""
    waits = sum(bits for name, bits in _COUNTED.items() if _is_zero(wait.properties.get(name)))
    return waits & ~LGKMCNT if SCALAR in wait.attributes else waits


def _is_zero(count: Attribute | None) -> bool:
    return count is not None and not cast("IntegerAttr[IntegerType]", count).value.data


def _counters(op: scoped.AccessOperation) -> int:
    """The counters of an access, and the mark of one that LLVM may make a scalar load of.

    An update counts as a read where it gives its value, and else as a write, which is LLVM's to
    decide.
    """
    space = op.space
    if space not in SHARED:
        return 0
    counters = COUNTERS_OF[space]
    if space not in IN_MEMORY:
        return counters
    if isinstance(op, scoped.StoreOp):
        return counters
    if not isinstance(op, scoped.LoadOp):
        return counters | LOADCNT
    scalar = op.ordering.data is Ordering.WEAK and op.volatile is None
    return counters & ~VMCNT | LOADCNT | scalar * _SCALAR


def _narrow(op: WaitOp, outstanding: int) -> None:
    for name, counted in _COUNTED.items():
        covered = counted & ~LGKMCNT if SCALAR in op.attributes else counted
        if not covered & outstanding:
            op.properties.pop(name, None)
    if not op.counts:
        Rewriter.erase_op(op)
