"""The caches of functions in LLVM IR for CDNA, as the passes that minimise see them.

Once it has been lowered, an ``llvm_ir.func`` holds ``cdna`` operations between accesses that LLVM
lowers by itself. The passes of the kernel path run on them, with the steps that are read off
LLVM's instructions here. What is not known may do anything; a function that is not a kernel has
such instructions before and after it. What is inserted gets LLVM's own fence beside it, so that
LLVM moves no access past it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation

from fencewright.lowering.cdna.caches import Caches, Effect, Visibility, access_effect
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.costs import cost_of
from fencewright.lowering.llvm.intrinsics.row import CallKind
from fencewright.lowering.lower import lower_for
from fencewright.lowering.sequence import Instruction, Target
from fencewright.lowering.vocabulary import Compat, Ordering, Phase, Scope
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.cdna import PLAIN, BarrierOp, CacheOp, WaitOp
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.mlir_dialects.llvm_ir.dialect import METADATA, UNORDERED, FuncOp
from fencewright.passes.analysis.caches import (
    BARRIER,
    COUNTERS_OF,
    IN_MEMORY,
    LGKMCNT,
    LOADCNT,
    SHARED,
    VMCNT,
    WAITS,
    CacheCode,
    CacheStep,
    CacheSteps,
    Meaning,
    StoreThrough,
    maintenance,
    meaning_of,
    waits_of,
)
from fencewright.passes.analysis.control_flow import block_of, reachable_blocks
from fencewright.passes.analysis.election import Election
from fencewright.passes.analysis.exchanges import exchanged, is_conditional
from fencewright.passes.analysis.llvm_ir_memory import (
    NOTHING,
    MemoryEffects,
    is_kernel,
    lowered_functions,
    memory_of,
    unknown_in,
)
from fencewright.passes.analysis.split_edges import first_in
from fencewright.passes.llvm_ir.cdna import SCALAR
from fencewright.passes.llvm_ir.optimiser import clobber, compiler_fence

_MAINTENANCE: frozenset[type[Operation]] = frozenset({CacheOp, WaitOp, BarrierOp})
_BOTH = VMCNT | LGKMCNT


def llvm_ir_codes(module: ModuleOp) -> "Iterator[LLVMIRCode]":
    """The code of every function that has been lowered for CDNA, if there are ``cdna``
    operations."""
    meanings: _Meanings = {}

    @cache
    def maintained(chip: str) -> OfAlike[Meaning | None]:
        return OfAlike(partial(_maintenance_on, chip))

    for function, target in lowered_functions(module):
        ops = (op for block in function.body.blocks for op in operations(block))
        if any(type(op) in _MAINTENANCE for op in ops):
            yield LLVMIRCode(function, target, meanings, maintained(target.chip))


_Meanings: TypeAlias = dict[object, tuple[Meaning | None, object]]
"""Meanings of accesses by target and likeness, with the objects that keep that likeness."""


class LLVMIRCode(CacheCode):
    """A function in LLVM IR, lowered for a target, which a work-group runs as a kernel or calls."""

    def __init__(
        self,
        function: FuncOp,
        target: Target,
        meanings: _Meanings,
        maintained: Callable[[Operation], Meaning | None],
    ):
        blocks = reachable_blocks(function.body)
        super().__init__(blocks, blocks[:1], target.chip, target.tgsplit)
        self.target = target
        self.is_kernel = is_kernel(function)
        self._in_memory = _IN_MEMORY[CHIPS[target.chip].splits_counters]
        self.function = function
        self._meanings = meanings
        self._maintained = maintained

    def read(self, block: Block) -> CacheSteps:
        found = [step for op in operations(block) for step in self._steps_at(op)]
        assert block.last_op is not None
        self.bound.discard(block)
        if found and _waits_at_end(found[-1], block.last_op):
            self.bound.add(block)
            found.append(CacheStep(block.last_op, self._in_memory.delivered))
        if not self.is_kernel and block in self.entries:
            found = [*_unknown_steps(block.last_op), *found]
        if not self.is_kernel and not block.last_op.successors:
            found += _unknown_steps(block.last_op)
        if self._in_memory.further:
            return [CacheStep(op, _counted(meaning, self._in_memory)) for op, meaning in found]
        return found

    def _steps_at(self, op: Operation) -> CacheSteps:
        if type(op) in _MAINTENANCE:
            meaning = self._maintained(op)
            return [] if meaning is None else [CacheStep(op, meaning)]
        if type(op) in scoped.ACCESSES:
            meaning = self._meaning_of(cast(scoped.AccessOperation, op))
            return [] if meaning is None else [CacheStep(op, meaning)]
        effects = memory_of(op)
        if effects is NOTHING:
            return []
        return [CacheStep(op, each) for each in _meanings(effects, self.chip)]

    def _meaning_of(self, op: scoped.AccessOperation) -> Meaning | None:
        """``access_meaning``, once for accesses that are alike."""
        likeness, kept = op.likeness()
        said = _is_invariant(op), PLAIN in op.attributes, UNORDERED in op.attributes
        key = self.target, likeness, said
        if key not in self._meanings:
            self._meanings[key] = access_meaning(op, self.target), kept
        return self._meanings[key][0]

    @property
    def ends_its_waves(self) -> bool:
        """Not where it may start copies that go on by themselves: nothing else waits for them."""
        return self.is_kernel and next(unknown_in(self.function), None) is None

    # Stores

    def through(self, op: Operation, reach: Visibility) -> StoreThrough | None:
        """By an atomic store of that scope, where LLVM has one: it sets the policy bits."""
        if not isinstance(op, scoped.StoreOp) or not _may_be_atomic(op):
            return None
        scopes = (_scope_of(op), _SCOPES[reach])
        target = _as_llvm(self.target)
        now, then = (_access_of("store", op, scope, target) for scope in scopes)
        before, got = self._stores(now.modifiers), self._stores(then.modifiers)
        if not before < reach <= got:
            return None
        meaning = access_meaning(op, self.target)
        assert meaning is not None
        cost = cost_of(self.chip, then).amount - cost_of(self.chip, now).amount
        return StoreThrough(meaning._replace(stores=got), cost)

    def _stores(self, bits: tuple[str, ...]) -> Visibility:
        reach = access_effect(self.chip, Kind.STORE, bits).stores
        assert reach is not None
        return reach

    def let_through(self, op: Operation, reach: Visibility) -> None:
        if _scope_of(op) is None:
            op.attributes[PLAIN] = UnitAttr()
        op.properties["ordering"] = ORDERINGS[Ordering.RELAXED]
        op.properties["scope"] = SCOPES[_SCOPES[reach]]

    # Places

    @cached_property
    def _election(self) -> Election:
        return Election(self.function.body.blocks)

    def elected(self, block: Block) -> int | None:
        return None if block.last_op is None else self._election.elected(block.last_op)

    def begin_for(self, made: CacheOp, block: Block) -> Operation:
        """A write-back after the waits with which the block begins: see ``_waits_at_end``."""
        place = super().begin_for(made, block)
        while _writes_back(made, self.chip) and isinstance(place, WaitOp):
            assert place.next_op is not None
            place = place.next_op
        return place

    def is_idle(self, op: Operation) -> bool:
        """Arithmetic LLVM puts where it likes; fences that are left are LLVM's own."""
        if isinstance(op, scoped.ScopedOperation):
            return isinstance(op, scoped.FenceOp)
        if type(op) in _MAINTENANCE:
            return super().is_idle(op)
        return not _meanings(memory_of(op), self.chip)

    def _insert_before(self, made: CacheOp, place: Operation) -> None:
        """With LLVM's fence: stores stay before a write-back, loads stay after an invalidate."""
        super()._insert_before(made, place)
        block = block_of(made)
        if _writes_back(made, self.chip):
            block.insert_op_before(compiler_fence(made, Ordering.RELEASE), made)
        else:
            block.insert_op_after(compiler_fence(made, Ordering.ACQUIRE), made)

    def _insert_wait(self, wait: WaitOp, made: CacheOp) -> None:
        """Inserts it with a clobber that keeps LLVM from moving accesses before the wait."""
        super()._insert_wait(wait, made)
        after = [clobber(made), compiler_fence(made, Ordering.ACQUIRE)]
        block_of(wait).insert_ops_after(after, wait)


class _InMemory(NamedTuple):
    """The counting of accesses to memory: in vmcnt, and loads perhaps in ``further``.

    ``delivered``: what it means that a compare-exchange has returned.
    """

    further: int
    delivered: Meaning


_IN_MEMORY: Mapping[bool, _InMemory] = MappingProxyType(
    {
        False: _InMemory(0, Meaning(waits=VMCNT)),
        True: _InMemory(LOADCNT, Meaning(waits=LOADCNT)),
    }
)
"""By whether each kind of access has a counter of its own; which one is LLVM's to decide."""


def _counted(meaning: Meaning, memory: _InMemory) -> Meaning:
    further = meaning.counters & VMCNT and memory.further
    return meaning._replace(counters=meaning.counters | further)


def _writes_back(op: CacheOp, chip: str) -> bool:
    meaning = maintenance(op, chip)
    return meaning is not None and meaning.writes_back is not None


def _waits_at_end(last: CacheStep, end: Operation) -> bool:
    """True if ``last``, a compare-exchange, is complete on both edges of the branch ``end``.

    It is if the branch tests its success and one successor begins with a wait: LLVM runs nothing
    of the other one before it knows the result, unless both begin alike, and then both wait.
    LLVM merges what both successors begin with, so nothing that relies on this is put before
    that wait. The outcome of any other test LLVM might know without waiting.
    """
    op = last.op
    if not isinstance(op, scoped.CmpxchgOp) or not is_conditional(end):
        return False
    firsts = [first_in(target) for target in end.successors]
    if not any(isinstance(each, WaitOp) and waits_of(each) & VMCNT for each in firsts):
        return False
    return exchanged(op, end.operands[0]) is not None


_ANY_ACCESS = Effect(reads=Caches.ALL, stores=Visibility.WORKGROUP)


def _meanings(effects: MemoryEffects, chip: str) -> tuple[Meaning, ...]:
    """The meaning for the caches of ``chip`` of an instruction carried as text, step by step."""
    match effects.kind:
        case CallKind.NOTHING | CallKind.WAIT:
            return ()
        case CallKind.BARRIER:
            return (BARRIER,)
        case CallKind.OTHER:
            return _ANYTHING
        case CallKind.ACCESS | CallKind.ASYNC | CallKind.ATOMIC:
            return _accesses(effects, chip) if effects.spaces & SHARED else ()


def _accesses(effects: MemoryEffects, chip: str) -> tuple[Meaning, ...]:
    """Of accesses that other threads may see: weak ones, or atomics, which may be of flags."""
    reads, writes = effects.reads & IN_MEMORY, effects.writes & IN_MEMORY
    effect = Effect(
        reads=Caches.ALL if reads else Caches.NONE, stores=Visibility.WORKGROUP if writes else None
    )
    if effects.kind is not CallKind.ATOMIC:
        return (meaning_of(effect, counters=counters_of(effects)),)
    if reads and writes:
        effect = access_effect(chip, Kind.RMW, ())
    publishes = bool(effects.writes & SHARED)
    flag = meaning_of(
        effect,
        publishes=publishes,
        acquires=bool(effects.reads & SHARED),
        leaves_workgroup=publishes and bool(writes),
        counters=counters_of(effects),
    )
    return (flag,)


def counters_of(effects: MemoryEffects) -> int:
    """The counters that accesses of an instruction that is carried as text may increment.

    All of them where they may go on after it: a copy to LDS counts as what it reads.
    """
    if effects.kind in (CallKind.OTHER, CallKind.ASYNC):
        return _BOTH
    counters = 0
    for space in effects.spaces & SHARED:
        counters |= COUNTERS_OF[space]
    return counters


def _anything() -> tuple[Meaning, ...]:
    """All possible meanings: accesses, flags read and written, barriers, in any order."""
    access = meaning_of(_ANY_ACCESS, counters=_BOTH)
    reads = access._replace(acquires=True)
    writes = access._replace(publishes=True, leaves_workgroup=True)
    meets = writes._replace(acquires=True, is_barrier=True, counters=0)
    return (reads, meets, writes, reads)


_ANYTHING = _anything()


def _unknown_steps(op: Operation) -> CacheSteps:
    return [CacheStep(op, each) for each in _ANYTHING]


# Accesses

_INVARIANT = "!invariant.load"


def is_flag(op: scoped.AccessOperation) -> bool:
    """True if others may synchronise through an access."""
    if UNORDERED in op.attributes:
        return True
    if PLAIN in op.attributes:
        return False
    return op.ordering.data is not Ordering.WEAK or op.volatile is not None


def access_meaning(op: scoped.AccessOperation, target: Target) -> Meaning | None:
    """The meaning of an access for the caches; None: nothing."""
    if op.space not in SHARED or _is_invariant(op):
        return None
    in_memory = op.space in IN_MEMORY
    flag = is_flag(op)
    publishes = flag and not isinstance(op, scoped.LoadOp)
    return meaning_of(
        _effect(op, target) if in_memory else Effect(),
        publishes=publishes,
        acquires=flag and not isinstance(op, scoped.StoreOp),
        leaves_workgroup=publishes and in_memory,
        counters=COUNTERS_OF[op.space],
    )


def _is_invariant(op: scoped.AccessOperation) -> bool:
    """True if no thread stores to the memory that ``op`` loads."""
    metadata = op.attributes.get(METADATA)
    return isinstance(metadata, StringAttr) and _INVARIANT in metadata.data


_LOADS = (scoped.LoadOp, scoped.AtomicRmwOp, scoped.CmpxchgOp)
_STORES = (scoped.StoreOp, scoped.AtomicRmwOp, scoped.CmpxchgOp)


def _effect(op: scoped.AccessOperation, target: Target) -> Effect:
    """The effect of an access on the caches, by the policy bits that LLVM gives it.

    LLVM makes a load or a store of a read-modify-write that does no more: it counts as these.
    """
    reads, stores = Caches.NONE, None
    chip = target.chip
    if isinstance(op, _LOADS):
        bits = bits_of_access("load", op, target)
        reads = access_effect(chip, Kind.LOAD, bits).reads
    if isinstance(op, _STORES):
        bits = bits_of_access("store", op, target)
        stores = access_effect(chip, Kind.STORE, bits).stores
    return Effect(reads=reads, stores=stores)


def bits_of_access(operation: str, op: scoped.AccessOperation, target: Target) -> tuple[str, ...]:
    """The cache policy bits that LLVM gives ``operation``, a load or a store, with the scope of
    ``op``."""
    return _access_of(operation, op, _scope_of(op), _as_llvm(target)).modifiers


def _maintenance_on(chip: str, op: Operation) -> Meaning | None:
    if SCALAR not in op.attributes:
        return maintenance(op, chip)
    return WAITS[waits_of(op) & ~LGKMCNT]


def scope_of_read(op: scoped.AccessOperation, target: Target) -> Scope:
    """The scope at which LLVM gives the read of ``op`` the policy bits of the target's own row.

    Wider than its own where LLVM's load would hit a cache that it must not. A read-modify-write
    that does no more is a load to LLVM. Source: LLVM SIISelLowering,
    lowerIdempotentRMWIntoFencedLoad.
    """
    assert op.scope is not None
    own = op.scope.data
    needed = _access_of("load", op, own, target).modifiers
    scopes = (own, *(each for each in _SCOPES.values() if each.rank > own.rank))
    return next(
        each
        for each in scopes
        if _access_of("load", op, each, _as_llvm(target)).modifiers == needed
    )


def _as_llvm(target: Target) -> Target:
    return replace(target, compat=Compat.LLVM)


def _scope_of(op: Operation) -> Scope | None:
    """The scope of an access; None if it is weak."""
    assert isinstance(op, scoped.AccessOperation)
    return None if op.scope is None else op.scope.data


def _access_of(
    operation: str, op: scoped.AccessOperation, scope: Scope | None, target: Target
) -> Instruction:
    """The instruction that accesses the memory of ``op``, relaxed at ``scope`` or, without one,
    weak."""
    sequence = lower_for(
        target,
        op=operation,
        ordering=Ordering.WEAK if scope is None else Ordering.RELAXED,
        scope=Scope.SYSTEM if scope is None else scope,
        space=op.space,
        # LLVM makes nothing of it where an access is atomic.
        volatile=op.volatile is not None and UNORDERED not in op.attributes,
    )
    return next(each for each in sequence.instructions if _accesses_memory(each))


def _accesses_memory(each: Instruction) -> bool:
    """True if it is the access itself, and no wait that has to stand right before it."""
    return each.phase is Phase.ACCESS and each.wait is None


_SCOPES = {Visibility.AGENT: Scope.AGENT, Visibility.SYSTEM: Scope.SYSTEM}
_WIDTHS = frozenset({8, 16, 32, 64})


def _may_be_atomic(op: scoped.StoreOp) -> bool:
    """True if LLVM has an atomic store of the same value that is as quick.

    Of a scalar in one piece, aligned by its size. Source: LLVM LangRef, store; AMDGPUUsage,
    Memory Model (atomics are 8 to 64 bits wide). It would lose the hint of a nontemporal one.
    """
    if op.volatile is not None or "nontemporal" in op.properties:
        return False
    if op.alignment is None or op.space not in IN_MEMORY:
        return False
    bits = _scalar_width(op.value.type)
    return bits in _WIDTHS and op.alignment.value.data * 8 >= bits


def _scalar_width(type_: Attribute) -> int | None:
    if isinstance(type_, LLVMPointerType):
        # Of 32 bits in some address spaces: then it is aligned more than it has to be.
        return 64
    return scoped.width_of(type_) if type(type_) in _SCALARS else None


_SCALARS = (IntegerType, Float16Type, Float32Type, Float64Type)
