"""Cumulativity: the order that a wave has to pass on to its work-group with its acquires.

Happens-before is transitive: after an atomic read that acquires from the agent, a release to the
work-group passes on what was acquired, and who takes that from there acquires from the work-group
alone. A pair is an atomic read and a later atomic write or barrier, where every path between them
has an acquire of the agent (or the system) and after it a release of the work-group (or a wider
scope). Sources: C++20 [intro.races], happens before; LLVM AMDGPUMemoryModel, inclusive scopes.
"""

from dataclasses import dataclass

from fencewright.checker.source.obligations import Hierarchy, Order, RequiredOrder, reads_atomically
from fencewright.checker.source.program import SourceFunction, SourceOperation
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_GLOBAL, _LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
_CLASSES = (_GLOBAL, _LOCAL, None)
"""The spaces that the later operation writes; None: a barrier."""


def _either(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(mine | its for mine, its in zip(a, b, strict=True))


@dataclass(frozen=True, slots=True)
class _State:
    """``reach``: the reads that reach this place, as bits. By rank of scope, ``unacquired``: those
    of them that reach it on a path without an acquire; by class and rank, ``unreleased``: without a
    release after it.
    """

    reach: int
    unacquired: tuple[int, ...]
    unreleased: tuple[tuple[int, ...], ...]

    def join(self, other: "_State") -> "_State":
        """The join of two paths."""
        return _State(
            self.reach | other.reach,
            _either(self.unacquired, other.unacquired),
            tuple(map(_either, self.unreleased, other.unreleased)),
        )

    def begin(self, bit: int) -> "_State":
        """An atomic read is executed (again)."""
        return _State(
            self.reach | bit,
            tuple(each | bit for each in self.unacquired),
            tuple(tuple(each | bit for each in marks) for marks in self.unreleased),
        )

    def acquire(self, reads: int, rank: int) -> "_State":
        """An acquire of the values that ``reads`` saw, at all scopes up to ``rank``."""
        unacquired = tuple(
            each & ~reads if place <= rank else each for place, each in enumerate(self.unacquired)
        )
        return _State(self.reach, unacquired, self.unreleased)

    def release(self, one_as: bool) -> "_State":
        """A release to the work-group of all that is acquired; ``one_as``: in memory alone."""
        unreleased = tuple(
            marks
            if one_as and each is _LOCAL
            else tuple(a & b for a, b in zip(marks, self.unacquired, strict=True))
            for each, marks in zip(_CLASSES, self.unreleased, strict=True)
        )
        return _State(self.reach, self.unacquired, unreleased)


def passed_on(
    function: SourceFunction, hierarchy: Hierarchy
) -> dict[tuple[Order, int], RequiredOrder]:
    """Every pair of the function, as ``Obligations`` has them: by the later operation."""
    most = function.most_threads
    if most is not None and most <= hierarchy.wave:
        return {}
    return _Finder(function, hierarchy).find()


class _Finder:
    def __init__(self, function: SourceFunction, hierarchy: Hierarchy):
        self.function = function
        self.operations = function.operations
        self.hierarchy = hierarchy
        self.global_reads = sum(
            1 << each.number for each in self.operations if each.space is _GLOBAL
        )
        self.required: dict[tuple[Order, int], RequiredOrder] = {}

    def find(self) -> dict[tuple[Order, int], RequiredOrder]:
        """All pairs: one forward analysis over the blocks."""
        blocks = self.function.blocks
        none = (0,) * len(self.hierarchy.scopes)
        start = _State(0, none, (none,) * len(_CLASSES))

        def execute(number: int, state: _State, record: bool = False) -> _State:
            for each in blocks[number].operations:
                state = self._execute(each, state, record=record)
            return state

        for number, state in entries(blocks, start, execute, self._along).items():
            execute(number, state, record=True)
        return self.required

    def _along(self, number: int, target: int, state: _State) -> _State:
        """On the way to a block that runs if a compare-exchange has succeeded, it has acquired."""
        for place, exchange in self.function.blocks[number].exchanged:
            operation = self.operations[exchange]
            if place == target and operation.ordering.acquires and self._is_acquired(operation):
                state = state.acquire(1 << exchange, self._rank(operation))
        return state

    def _rank(self, operation: SourceOperation) -> int:
        return self.hierarchy.rank[operation.scope]

    def _is_acquired(self, operation: SourceOperation) -> bool:
        """True if an operation may read a value that threads outside the work-group wrote."""
        return (
            reads_atomically(operation)
            and operation.kind is not Kind.BARRIER
            and operation.space is not _LOCAL
            and self._rank(operation) > 0
        )

    def _execute(self, operation: SourceOperation, state: _State, *, record: bool) -> _State:
        if operation.kind is Kind.FENCE:
            return self._after_fence(operation, state)
        is_write = operation.is_atomic and operation.writes and operation.space is not None
        if record and (is_write or operation.kind is Kind.BARRIER):
            self._record(operation, state)
        if not self._is_acquired(operation):
            return state
        bit = 1 << operation.number
        state = state.begin(bit)
        acquires = operation.ordering.acquires
        if acquires and (operation.failure is None or operation.failure.acquires):
            state = state.acquire(bit, self._rank(operation))
        return state

    def _after_fence(self, fence: SourceOperation, state: _State) -> _State:
        in_memory = not fence.spaces or _GLOBAL in fence.spaces
        if not (fence.available and in_memory):
            return state
        if fence.ordering.acquires:
            reads = self.global_reads if fence.one_as else -1
            state = state.acquire(reads, self._rank(fence))
        if fence.ordering.releases and self._rank(fence) >= 0:
            state = state.release(fence.one_as)
        return state

    def _record(self, later: SourceOperation, state: _State) -> None:
        is_barrier = later.kind is Kind.BARRIER
        if not is_barrier and self._rank(later) < 0:
            return
        own = later.ordering.releases and not (later.one_as and later.space is not _GLOBAL)
        marks: list[int] = []
        for rank in range(len(self.hierarchy.scopes)):
            mask = state.reach
            for each, unreleased in zip(_CLASSES, state.unreleased, strict=True):
                if later.space in (each, AddressSpace.GENERIC) and (each is None) == is_barrier:
                    mask &= ~unreleased[rank]
            if own and not is_barrier:
                mask |= state.reach & ~state.unacquired[rank]
            # A work-group need not be passed the values that it acquires from itself.
            readers = sum(
                1 << each.number
                for each in self.operations
                if rank > 0 and self._is_acquired(each) and self._rank(each) >= rank
            )
            marks.append(mask & readers & ~(1 << later.number))
        if any(marks):
            self.required[Order.PASSED_ON, later.number] = RequiredOrder(
                tuple(marks), self.hierarchy.scopes
            )
