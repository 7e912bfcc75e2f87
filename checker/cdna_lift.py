"""What each operation of a function provides: which earlier ones are done when it issues, and where.

The relation has two sides. *Late*: an earlier access is late for an operation at a scope if it may
not be done for all of that scope when the operation issues; a store, atomic or barrier for which
nothing is late at a scope provides a release of it. *Older*: a later read may be older than an
earlier one if it may see what was there before the earlier one's value was written; a load or
atomic that no later read may be older than provides an acquire.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from fencewright.checker.cdna_accesses import (
    SCOPES,
    Levels,
    Mode,
    Operation,
    OperationKind,
)
from fencewright.checker.cdna_flow import Flow, flow_of
from fencewright.checker.cdna_state import Code, State, code_of, solve, walk
from fencewright.checker.cdna_text import Function
from fencewright.lowering.vocabulary import Scope

_O = OperationKind


@dataclass(frozen=True, slots=True)
class Place:
    """What holds when an operation issues, as sets of operations, a bit each; by ``SCOPES``.

    Of the bits, those from ``Code.others`` on stand for what other waves may have handed to this
    one at an operation. ``late``: the accesses that are not done. ``older``: the reads that this
    one may be older than. ``crossing``: see ``State``. ``unwaited``: write-backs in flight, each
    with the accesses that it covers.
    """

    late: tuple[int, ...]
    older: tuple[int, ...]
    crossing: int
    unwaited: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LiftedFunction:
    """The operations of a function in the order of its text, and what each provides.

    ``places``: by the number of an operation; those that control cannot reach have none.
    """

    code: Code
    places: Mapping[int, Place]

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations; the first stands for what came before the function."""
        return self.code.operations

    @property
    def mode(self) -> Mode:
        """What the function is judged for."""
        return self.code.mode

    def at(self, line: int) -> tuple[Operation, ...]:
        """The operations of a line of the assembly."""
        return self._by_line.get(line, ())

    @cached_property
    def _by_line(self) -> dict[int, tuple[Operation, ...]]:
        found: dict[int, tuple[Operation, ...]] = {}
        for each in self.operations[1:]:
            found[each.line] = (*found.get(each.line, ()), each)
        return found

    def late(self, operation: Operation, scope: Scope) -> tuple[Operation, ...]:
        """The accesses before ``operation`` that may not be done at ``scope`` when it issues.

        In a loop that may be the operation itself, one round earlier. Of calls, and of what came
        before the function: the operation of kind ``OUTSIDE`` stands for all that they access.
        """
        return self.code.those(self.late_bits(operation, scope))

    def late_bits(self, operation: Operation, scope: Scope) -> int:
        """``late`` as a set of numbers, a bit each."""
        place = self.places.get(operation.number)
        return place.late[SCOPES.index(scope)] & self._own if place else 0

    def is_late(self, earlier: Operation, operation: Operation, scope: Scope) -> bool:
        """Whether ``earlier`` may not be done at ``scope`` when ``operation`` issues."""
        return bool(self.late_bits(operation, scope) & earlier.bit)

    def older(self, read: Operation, scope: Scope) -> tuple[Operation, ...]:
        """The reads after ``read`` that may be older than it at ``scope``."""
        place = SCOPES.index(scope)
        return tuple(
            self.operations[number]
            for number, each in self.places.items()
            if each.older[place] & read.bit
        )

    def may_be_older(self, read: Operation, than: Operation, scope: Scope) -> bool:
        """Whether ``read`` may see what was there before what ``than``, before it, saw."""
        place = self.places.get(read.number)
        return bool(place and place.older[SCOPES.index(scope)] & than.bit)

    def releases(self, operation: Operation) -> Scope | None:
        """The widest scope, at most the operation's own, that it provides a release of."""
        fit = [
            scope
            for scope in _within(operation.scope)
            if not self.late_bits(operation, scope) & ~operation.bit
        ]
        return fit[-1] if fit else None

    def acquires(self, operation: Operation) -> Scope | None:
        """The widest scope, at most the operation's own, that it provides an acquire of."""
        fit = [
            scope
            for scope in _within(operation.scope)
            if not self._stale[SCOPES.index(scope)] & operation.bit
        ]
        return fit[-1] if fit else None

    @property
    def _own(self) -> int:
        return (1 << self.code.others) - 1

    @cached_property
    def _stale(self) -> tuple[int, ...]:
        """By scope, the reads that some later one may be older than, themselves left out."""
        union = [0] * len(SCOPES)
        for number, each in self.places.items():
            for place, bits in enumerate(each.older):
                union[place] |= bits & ~(1 << number)
        return tuple(union)


def _within(scope: Scope) -> Iterator[Scope]:
    for each in SCOPES:
        if not scope.includes(each):
            return
        yield each


def lift(function: Function, mode: Mode) -> LiftedFunction:
    """What each operation of ``function`` provides; raises ``AssemblyError``."""
    return lift_flow(flow_of(function), mode)


def lift_flow(flow: Flow, mode: Mode) -> LiftedFunction:
    """What each operation of a function provides; raises ``AssemblyError``."""
    code = code_of(flow, mode)
    return lift_code(code, solve(code))


def lift_code(code: Code, entries: Mapping[int, State]) -> LiftedFunction:
    """What each operation provides; ``entries``: what ``solve`` finds of ``code``."""
    return LiftedFunction(code, dict(places_of(code, walk(code, entries))))


def places_of(
    code: Code, steps: Iterable[tuple[int, object, Operation | None, State]]
) -> Iterator[tuple[int, Place]]:
    """What holds when each operation issues, by its number."""
    for _, _, operation, state in steps:
        if operation is not None:
            yield operation.number, place_of(code, state, operation)


def place_of(code: Code, state: State, operation: Operation) -> Place:
    """What holds in ``state`` for ``operation``, which issues next."""
    unwaited = tuple(
        (number, covers[_AGENT] | covers[_SYSTEM]) for number, covers in state.covered.items()
    )
    late = tuple(_late(code, state, operation, scope) for scope in SCOPES)
    older = tuple(_older(code, state, operation, scope) for scope in SCOPES)
    return Place(late, older, state.crossing, unwaited)


_AGENT, _SYSTEM = SCOPES.index(Scope.AGENT), SCOPES.index(Scope.SYSTEM)


def _late(code: Code, state: State, operation: Operation, scope: Scope) -> int:
    flight = state.flight & (code.reads | code.writes)
    if operation.in_lds:
        flight &= ~code.in_lds  # LDS serves a wave in order.
    if scope is Scope.WORKGROUP and not code.mode.tgsplit:
        flight &= ~code.in_memory  # The L1 keeps the order of all waves of the work-group.
    return flight | state.undone(code.mode.reach(scope))


def _older(code: Code, state: State, operation: Operation, scope: Scope) -> int:
    if not operation.kind.reads:
        return 0
    within = scope is Scope.WORKGROUP and not code.mode.tgsplit
    if operation.kind is _O.SCALAR_LOAD:
        # Within a work-group the kernel alone writes, and what it writes no scalar load reads.
        return 0 if scope is Scope.WORKGROUP else state.flight & code.reads | state.stale[-1]
    flight = state.flight & code.reads
    if operation.in_lds:
        flight &= ~code.in_lds
    elif within and operation.in_memory:
        flight &= ~code.in_memory
    found = operation.effect.reads & code.mode.caches(scope)
    for level, stale in zip(Levels.ALL, state.stale, strict=True):
        if int(level) & int(found):
            flight |= stale
    return flight


def describe(lifted: LiftedFunction, operation: Operation) -> str:
    """What an operation provides, as ``store release agent; late at system: line 21``."""
    kind = operation.kind
    if kind in (_O.WRITE_BACK, _O.INVALIDATE, _O.OUTSIDE):
        return _NAMES[kind]
    if operation.number not in lifted.places:
        return f"{_NAMES[kind]}, not reached"
    released = lifted.releases(operation) if kind.writes or kind is _O.BARRIER else None
    acquired = lifted.acquires(operation) if kind.reads else None
    said = "; ".join(
        (_ordering(kind, operation.scope, released, acquired), *_lists(lifted, operation))
    )
    return said


_NAMES: Mapping[OperationKind, str] = {
    _O.LOAD: "load",
    _O.STORE: "store",
    _O.ATOMIC: "atomic",
    _O.LOAD_TO_LDS: "load to LDS",
    _O.SCALAR_LOAD: "scalar load",
    _O.SCALAR_STORE: "scalar store",
    _O.WRITE_BACK: "write-back",
    _O.INVALIDATE: "invalidate",
    _O.BARRIER: "barrier",
    _O.OUTSIDE: "code that is not seen",
}


def _ordering(
    kind: OperationKind, scope: Scope, released: Scope | None, acquired: Scope | None
) -> str:
    name = _NAMES[kind]
    if released is not None and released is acquired:
        return f"{name} acq_rel {released}"
    parts = [f"release {released}"] if released is not None else []
    parts += [f"acquire {acquired}"] if acquired is not None else []
    if not parts:
        parts = ["weak" if scope is Scope.WAVEFRONT else f"relaxed {scope}"]
    return f"{name} {' '.join(parts)}"


def _lists(lifted: LiftedFunction, operation: Operation) -> Iterator[str]:
    """The lists at each scope at which they differ from the one before."""
    known: str = ""
    if operation.kind.writes or operation.kind is _O.BARRIER:
        for scope in SCOPES:
            late = [each for each in lifted.late(operation, scope) if each is not operation]
            said = lines(late)
            if said and said != known:
                yield f"late at {scope}: {said}"
            known = said
    known = ""
    if operation.kind.reads:
        for scope in SCOPES:
            older = [each for each in lifted.older(operation, scope) if each is not operation]
            said = lines(older)
            if said and said != known:
                yield f"may be older at {scope}: {said}"
            known = said


_SHOWN = 4


def lines(operations: Iterable[Operation]) -> str:
    """``line 21`` or ``lines 21, 25``; a few, and how many more."""
    numbers = sorted({each.line for each in operations})
    if not numbers:
        return ""
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"
