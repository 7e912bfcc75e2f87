"""The orders that a source requires of its machine code: pairs of accesses, first done first.

A pair must be ordered if every path from the earlier to the later operation has:

- release: an access, then a release fence or the release of the atomic write itself. Also
  before a barrier, which other waves of the work-group, or of the cluster, take for a write.
- acquire: an atomic read or a barrier, then its own acquire or an acquire fence, then an access.
- seq_cst: an atomic write, then a seq_cst fence, then an atomic read; or both are seq_cst.

Only the paths of the source count: those of the assembly join what excludes each other. The most
recent execution of the earlier operation is meant; a pair of one operation with itself is none.
Sources: C++20 [atomics.order]; LLVM AMDGPUUsage, Memory Model; HSA PRM 3.6, scopes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from fencewright.checker.source.program import SourceFunction, SourceOperation
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, Scope

SCOPES = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
"""The scopes of orders on GFX9, narrowest first; a cluster's is the agent's."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The scopes that a target tells apart, narrowest first, and how many threads run as one."""

    scopes: tuple[Scope, ...]
    wave: int

    @cached_property
    def rank(self) -> Mapping[Scope, int]:
        """By scope the place of the narrowest of ``scopes`` that includes it; -1: within a wave."""
        ranks = {Scope.SINGLETHREAD: -1, Scope.WAVEFRONT: -1}
        for scope in (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM):
            ranks[scope] = next(n for n, each in enumerate(self.scopes) if each.includes(scope))
        return MappingProxyType(ranks)


GFX9 = Hierarchy(SCOPES, 64)
PTX = Hierarchy((Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM), 1)
"""PTX orders a warp's threads like others. Source: PTX ISA, Memory Consistency Model."""


class Order(FastStrEnum):
    """The reason that a pair must be ordered."""

    RELEASE = "release"
    ACQUIRE = "acquire"
    SEQ_CST = "seq-cst"
    PASSED_ON = "passed-on"


@dataclass(frozen=True, slots=True)
class RequiredOrder:
    """By scope, narrowest first, the numbers of earlier operations as bits of one number."""

    at: tuple[int, ...]
    scopes: tuple[Scope, ...] = SCOPES

    @property
    def numbers(self) -> int:
        """The earlier operations that must be ordered at any scope, as bits."""
        every = 0
        for mask in self.at:
            every |= mask
        return every

    def within(self, scope: Scope) -> int:
        """The earlier operations that must be ordered at one of ``scopes``, as bits; else none."""
        return dict(zip(self.scopes, self.at, strict=True)).get(scope, 0)

    def scope(self, earlier: int) -> Scope | None:
        """The widest scope at which ``earlier`` has to be done; None: it need not be."""
        required = None
        for scope, mask in zip(self.scopes, self.at, strict=True):
            if mask >> earlier & 1:
                required = scope
        return required


_NOTHING = RequiredOrder((0, 0, 0))


@dataclass(frozen=True, slots=True)
class Obligations:
    """The pairs of one function: by order and the number of the later operation, the earlier."""

    required: dict[tuple[Order, int], RequiredOrder]

    def before(self, order: Order, later: int) -> RequiredOrder:
        """The order required before an operation."""
        return self.required.get((order, later), _NOTHING)

    def pairs(self) -> Iterator[tuple[Order, int, int, Scope]]:
        """Every pair: its order, earlier and later operation, and the scope."""
        for (order, later), required in self.required.items():
            every = required.numbers
            for earlier in range(every.bit_length()):
                scope = required.scope(earlier)
                if scope is not None:
                    yield order, earlier, later, scope


def obligations_of(function: SourceFunction, hierarchy: Hierarchy = GFX9) -> Obligations:
    """Every pair that the function asks for."""
    return _Finder(function, hierarchy).find()


_CLASSES = (AddressSpace.GLOBAL, AddressSpace.LOCAL, None)
"""The spaces that the later operation accesses; None: a barrier."""

_Marks = tuple[int, ...]
"""For each class and each scope within it: earlier operations, as bits."""


@dataclass(frozen=True, slots=True)
class _State:
    """``reach``: the earlier operations that reach this place, as bits. ``open``: those of them
    that reach it on a path without what orders them."""

    reach: int
    open: _Marks

    def join(self, other: "_State") -> "_State":
        """The join of two paths."""
        marks = tuple(a | b for a, b in zip(self.open, other.open, strict=True))
        return _State(self.reach | other.reach, marks)

    def begin(self, bit: int) -> "_State":
        """An earlier operation is executed (again)."""
        return _State(self.reach | bit, tuple(mask | bit for mask in self.open))

    def order(self, which: Iterable[int], rank: int) -> "_State":
        """Something orders ``which`` of each class at all scopes up to ``rank``."""
        marks = list(self.open)
        scopes = len(marks) // len(_CLASSES)
        for number, ordered in enumerate(which):
            for each in range(rank + 1):
                marks[number * scopes + each] &= ~ordered
        return _State(self.reach, tuple(marks))


class _Finder:
    """The pairs of one function: an analysis for each order, forward, over its blocks."""

    def __init__(self, function: SourceFunction, hierarchy: Hierarchy):
        self.function = function
        self.scopes = hierarchy.scopes
        self.ranks = hierarchy.rank
        self.operations = function.operations
        self.of_space = dict.fromkeys(AddressSpace, 0)
        for each in self.operations:
            if each.is_access and each.space is not None:
                self.of_space[each.space] |= 1 << each.number
        self.local = self.of_space[AddressSpace.LOCAL]
        self.barriers = _bits(each for each in self.operations if each.kind is Kind.BARRIER)
        self.everything = sum(self.of_space.values()) | self.barriers
        self.strong = _bits(e for e in self.operations if e.ordering is Ordering.SEQ_CST)
        self.readers = self._by_rank(reads_atomically)
        self.writers = self._by_rank(lambda each: each.is_atomic and each.writes)
        self.required: dict[tuple[Order, int], RequiredOrder] = {}
        most = function.most_threads
        self.least = 1 if most is not None and most <= hierarchy.wave else 0
        """The least rank at which there are other threads."""

    def find(self) -> Obligations:
        """All pairs."""
        for transfer in (self._release, self._acquire, self._seq_cst):
            self._solve(transfer)
        return Obligations(self.required)

    def _by_rank(self, wanted: Callable[[SourceOperation], bool]) -> tuple[int, ...]:
        """By scope, the operations whose own scope is at least that, as bits."""
        return tuple(
            _bits(each for each in self.operations if wanted(each) and self._rank(each) >= rank)
            for rank in range(len(self.scopes))
        )

    def _rank(self, operation: SourceOperation) -> int:
        """The rank of an operation's scope: LDS and all but cluster barriers are a work-group's."""
        rank = self.ranks[operation.scope]
        if operation.kind is Kind.BARRIER and operation.scope is not Scope.CLUSTER:
            return 0
        return min(rank, 0) if operation.space is AddressSpace.LOCAL else rank

    def _solve(self, transfer: Callable[[SourceOperation, _State, bool], _State]) -> None:
        blocks = self.function.blocks
        along = self._along if transfer == self._acquire else None

        def execute(number: int, state: _State, record: bool = False) -> _State:
            for each in blocks[number].operations:
                state = transfer(each, state, record)
            return state

        start = _State(0, (0,) * (len(_CLASSES) * len(self.scopes)))
        for number, state in entries(blocks, start, execute, along).items():
            execute(number, state, record=True)

    def _along(self, number: int, target: int, state: _State) -> _State:
        """On the way to a block that runs if a compare-exchange has succeeded, it has acquired."""
        for place, exchange in self.function.blocks[number].exchanged:
            operation = self.operations[exchange]
            if place == target and operation.ordering.acquires:
                state = self._own_acquire(operation, state)
        return state

    def _own_acquire(self, operation: SourceOperation, state: _State) -> _State:
        bit = 1 << operation.number
        marks = [bit if not operation.one_as or operation.space is each else 0 for each in _CLASSES]
        return state.order(marks, self._rank(operation))

    def _after_fence(self, fence: SourceOperation, state: _State) -> _State:
        """The state after a fence: it orders within its spaces; one-as: within each by itself."""
        which = self.everything
        if fence.spaces:
            which = sum(self.of_space[space] for space in fence.spaces) | self.barriers
        marks = [
            0 if fence.spaces and each is not None and each not in fence.spaces
            else which & (self._same(each) if fence.one_as else -1)
            for each in _CLASSES
        ]  # fmt: skip
        return state.order(marks, self.ranks[fence.scope])

    def _same(self, space: AddressSpace | None) -> int:
        """The operations that one without other address spaces (one-as) orders, as bits."""
        return -1 if space is None else self.of_space[space] | self.barriers

    def _ordered(self, state: _State, later: SourceOperation) -> list[int]:
        """The operations that are ordered before ``later`` on every path, by scope."""
        found: list[int] = []
        for rank in range(len(self.scopes)):
            mask = state.reach
            for number, each in enumerate(_CLASSES):
                if later.space in (each, AddressSpace.GENERIC):
                    mask &= ~state.open[number * len(self.scopes) + rank]
            found.append(mask)
        return found

    def _own(self, operation: SourceOperation) -> int:
        """The operations that the ordering of an access covers, as bits."""
        return self._same(operation.space) if operation.one_as else -1

    def _record(self, order: Order, later: SourceOperation, at: list[int], most: int) -> None:
        """``most``: the highest rank at which an order may be required."""
        own = ~(1 << later.number)
        marks = [mask & own if self.least <= n <= most else 0 for n, mask in enumerate(at)]
        # The contents of LDS are a work-group's.
        marks[1:] = [mask & ~self.local for mask in marks[1:]]
        if any(marks):
            self.required[order, later.number] = RequiredOrder(tuple(marks), self.scopes)

    def _release(self, operation: SourceOperation, state: _State, record: bool) -> _State:
        if operation.kind is Kind.FENCE:
            orders = operation.ordering.releases and operation.available
            return self._after_fence(operation, state) if orders else state
        is_write = operation.is_atomic and operation.writes and operation.space is not None
        if record and (is_write or operation.kind is Kind.BARRIER):
            marks = self._ordered(state, operation)
            if operation.ordering.releases:
                marks = [mask | state.reach & self._own(operation) for mask in marks]
            self._record(Order.RELEASE, operation, marks, self._rank(operation))
        return state.begin(1 << operation.number) if operation.is_access else state

    def _acquire(self, operation: SourceOperation, state: _State, record: bool) -> _State:
        if operation.kind is Kind.FENCE:
            orders = operation.ordering.acquires and operation.available
            return self._after_fence(operation, state) if orders else state
        if record and operation.is_access:
            pairs = zip(self._ordered(state, operation), self.readers, strict=True)
            most = 0 if operation.space is AddressSpace.LOCAL else len(self.scopes) - 1
            self._record(Order.ACQUIRE, operation, [a & b for a, b in pairs], most)
        if not reads_atomically(operation):
            return state
        state = state.begin(1 << operation.number)
        failure = operation.failure is None or operation.failure.acquires
        if not (operation.ordering.acquires and failure):
            return state
        return self._own_acquire(operation, state)

    def _seq_cst(self, operation: SourceOperation, state: _State, record: bool) -> _State:
        if operation.kind is Kind.FENCE:
            orders = operation.ordering is Ordering.SEQ_CST and operation.available
            return self._after_fence(operation, state) if orders else state
        if not operation.is_atomic or operation.space is None:
            return state
        if record and operation.reads:
            marks = self._ordered(state, operation)
            if operation.ordering is Ordering.SEQ_CST:
                strong = state.reach & self.strong & self._own(operation)
                marks = [mask | strong for mask in marks]
            pairs = zip(marks, self.writers, strict=True)
            self._record(Order.SEQ_CST, operation, [a & b for a, b in pairs], self._rank(operation))
        return state.begin(1 << operation.number) if operation.writes else state


def reads_atomically(operation: SourceOperation) -> bool:
    """True if an operation may read others' releases: an atomic that reads, or a barrier."""
    if operation.kind is Kind.BARRIER:
        return True
    return operation.is_atomic and operation.reads and operation.space is not None


def _bits(operations: Iterable[SourceOperation]) -> int:
    mask = 0
    for each in operations:
        mask |= 1 << each.number
    return mask
