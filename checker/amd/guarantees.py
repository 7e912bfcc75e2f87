"""Guarantees of each operation of a function: the earlier ones that are done when it issues, and
where.

The relation has two sides. *Pending*: an earlier access is pending for an operation at a scope if
it may not be done for all of that scope when the operation issues; a store, atomic or barrier for
which nothing is pending at a scope provides a release of it. *Older*: a later read may be older
than an earlier one if it may see what was there before the earlier one's value was written; a load
or atomic that no later read may be older than provides an acquire.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from fencewright.checker.amd.accesses import LEVELS, Form, Mode, Operation
from fencewright.checker.amd.barriers import Barriers
from fencewright.checker.amd.kept import is_long, kept_sets
from fencewright.checker.amd.state import Code, State, kept_states, walk
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.counters.scoreboard import CounterEventKind
from fencewright.lowering.code.bits import mask_of
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.records import record
from fencewright.lowering.vocabulary import Scope


@record()
class Place:
    """The state at which an operation issues, as sets of operations, a bit each.

    Of the bits, those from ``Code.others`` on stand for what other waves may have propagated to
    this one at an operation. ``flight``, ``only_in_memory``, ``stores_at_barrier``,
    ``unflushed_since_barrier``: see ``State``. ``undone``: by reach, the stores that have not got
    so far, but for those in flight; ``stale``: by cache. ``pending_invalidates``: the invalidates
    that are not done. ``stale_for_peers``: ``stale`` as it is for others of the work-group;
    ``pending_peer_invalidates``: those of them that an invalidate in flight is about; ``awaited``:
    which invalidates are, if they hold for the wave itself at once. ``covered``: by the number of a
    write-back in flight, what it covers by reach.
    """

    flight: int
    undone: tuple[int, ...]
    stale: tuple[int, ...]
    stores_at_barrier: int
    pending_invalidates: int = 0
    only_in_memory: int = 0
    unflushed_since_barrier: int = 0
    stale_for_peers: tuple[int, ...] = ()
    pending_peer_invalidates: tuple[int, ...] = ()
    awaited: int = 0
    covered: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])


def place_of(state: State) -> Place:
    """The place of the operation that issues next in ``state``."""
    stale = tuple(state.stale)
    return Place(
        state.flight,
        state.all_undone(),
        stale,
        state.stores_at_barrier,
        mask_of(state.pending_invalidates) if state.pending_invalidates else 0,
        state.only_in_memory,
        state.unflushed_since_barrier,
        tuple(state.stale_for_peers) if state.has_peers else stale,
        _union((*state.pending_peer_invalidates.values(), *state.pending_invalidates.values())),
        mask_of(number for number, reads in state.pending_peer_invalidates.items() if any(reads)),
        dict(state.covered) if state.covered else {},
    )


_STRETCH = 64
"""The steps of a long function whose places are made together."""
_STRETCHES = 8
"""The stretches of which the places are kept: those that were read last."""


class _Places(Mapping[int, Place]):
    """The places of a function's operations, by number: most functions need none.

    Where one is read that is not among those ``known``, those of its block are made; of a long
    function those near it, as all of them take memory by the square of its length.
    """

    def __init__(self, code: Code):
        self.entries: Mapping[int, State] = {}
        self.known: dict[int, Place] = {}
        self._code = code
        self._size = _STRETCH if is_long(code.others) else sys.maxsize
        self._most = _STRETCHES if is_long(code.others) else sys.maxsize
        self._begins: dict[tuple[int, int], int] = {}
        self._within = kept_states(code)
        self._made: dict[tuple[int, int], Mapping[int, Place]] = {}

    def pass_by(self, block: int, first: int, state: State) -> None:
        """Keep the state at a place among the counted steps of a block, where it is of use."""
        if first and first % self._size == 0:
            stretch = self._begins.setdefault((block, first), len(self._begins))
            self._within[stretch] = state.copy()

    @cached_property
    def _stretch_of(self) -> Mapping[int, tuple[int, int]]:
        """By operation, the block and the place in it where its stretch begins."""
        return {
            operation.number: (block, place - place % self._size)
            for block in self.entries
            for place, (_, operation) in enumerate(self._code.counted[block])
            if operation is not None
        }

    def __getitem__(self, number: int) -> Place:
        if (known := self.known.get(number)) is not None:
            return known
        stretch = self._stretch_of[number]
        made = self._made.pop(stretch, None)
        if made is None:
            made = dict(self._places_in(*stretch))
            if len(self._made) == self._most:
                del self._made[next(iter(self._made))]
        self._made[stretch] = made
        return made[number]

    def _places_in(self, block: int, first: int) -> Iterator[tuple[int, Place]]:
        entry = self._within[self._begins[block, first]] if first else self.entries[block]
        state = entry.copy()
        for step, operation in islice(self._code.counted[block], first, first + self._size):
            if operation is not None:
                yield operation.number, place_of(state)
            state.step(self._code, step, operation)

    def __contains__(self, number: object) -> bool:
        return number in self._stretch_of

    def __iter__(self) -> Iterator[int]:
        return iter(self._stretch_of)

    def __len__(self) -> int:
        return len(self._stretch_of)


_STORE_COUNTERS = ("vmcnt", "vscnt", "storecnt")
_UNORDERED = CounterEventKind.SCALAR | CounterEventKind.FLAT
_NO_READS = (0,) * len(LEVELS)


def _union(sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The union of ``sets``, by cache."""
    if not sets:
        return _NO_READS
    found = [0] * len(LEVELS)
    for each in sets:
        for place, bits in enumerate(each):
            found[place] |= bits
    return tuple(found)


@dataclass(frozen=True)
class LiftedFunction:
    """The operations of a function in the order of its text, and their guarantees.

    ``places``: by the number of an operation; those that control cannot reach have none.
    """

    code: Code
    places: Mapping[int, Place]
    waits: Mapping[int, Mapping[str, int]]
    """By the ``id`` of a wait's step the counts that it waits for; of counters that may be out of
    order, 0 alone."""
    flights: Mapping[int, int]
    """By the number of a barrier, and where there are copies to LDS of a read of LDS, the
    operations that may be in flight there."""
    after_waits: int
    """The operations right after a wait that is for stores alone: for others to see them."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations; the first stands for those before the function."""
        return self.code.operations

    @property
    def mode(self) -> Mode:
        """The machine that the function is judged for."""
        return self.code.mode

    @cached_property
    def barriers(self) -> Barriers:
        """The operations between its barriers."""
        return Barriers(self.code, self.flights)

    def at(self, line: int) -> tuple[Operation, ...]:
        """The operations of a line of the assembly."""
        return self._by_line.get(line, ())

    @cached_property
    def _by_line(self) -> dict[int, tuple[Operation, ...]]:
        found: dict[int, tuple[Operation, ...]] = {}
        for each in self.operations[1:]:
            found[each.line] = (*found.get(each.line, ()), each)
        return found

    def pending(
        self, operation: Operation, scope: Scope, *, hardest: bool = False
    ) -> tuple[Operation, ...]:
        """The accesses before ``operation`` that may not be complete at ``scope`` when it issues.

        In a loop that may be the operation itself, one round earlier. Of calls, and of operations
        before the function: the operation of kind ``OUTSIDE`` stands for all that they access.
        ``hardest``: as the chip's documents can be read (``Mode.reach``), not as far as an error
        goes.
        """
        return self.code.those(self.pending_bits(operation, scope, hardest=hardest))

    def pending_bits(self, operation: Operation, scope: Scope, *, hardest: bool = False) -> int:
        """``pending`` as a set of numbers, a bit each."""
        place = self.places.get(operation.number)
        if place is None:
            return 0
        return pending_bits(self.code, place, operation, scope, hardest=hardest) & self._own

    def is_pending(self, earlier: Operation, operation: Operation, scope: Scope) -> bool:
        """True if ``earlier`` may not be complete at ``scope`` when ``operation`` issues."""
        return bool(self.pending_bits(operation, scope) & earlier.bit)

    def older(self, read: Operation, scope: Scope) -> tuple[Operation, ...]:
        """The reads after ``read`` that may be older than it at ``scope``."""
        return tuple(
            self.operations[number]
            for number, bits in self._older[scope].items()
            if bits & read.bit
        )

    def may_be_older(self, read: Operation, than: Operation, scope: Scope) -> bool:
        """True if ``read`` may see a value older than the one that ``than``, before it, saw."""
        return bool(self._older[scope].get(read.number, 0) & than.bit)

    def releases(self, operation: Operation) -> Scope | None:
        """The widest scope, at most the operation's own, that it provides a release of."""
        fit = [
            scope
            for scope in self._within(operation.scope)
            if not self.pending_bits(operation, scope) & ~operation.bit
        ]
        return fit[-1] if fit else None

    def acquires(self, operation: Operation) -> Scope | None:
        """The widest scope, at most the operation's own, that it provides an acquire of."""
        fit = [
            scope
            for scope in self._within(operation.scope)
            if not self._stale[scope] & operation.bit
        ]
        return fit[-1] if fit else None

    def _within(self, scope: Scope) -> Iterator[Scope]:
        return (each for each in self.mode.scopes if scope.includes(each))

    @property
    def _own(self) -> int:
        return (1 << self.code.others) - 1

    @cached_property
    def _older(self) -> dict[Scope, dict[int, int]]:
        """By scope and the number of a read, the reads that it may be older than."""
        reads = [
            (self.operations[number], place)
            for number, place in self.places.items()
            if self.operations[number].reads
        ]
        return {
            scope: {each.number: stale_bits(self.code, place, each, scope) for each, place in reads}
            for scope in self.mode.scopes
        }

    @cached_property
    def _stale(self) -> dict[Scope, int]:
        """By scope, the reads that some later one may be older than, themselves left out."""
        found: dict[Scope, int] = dict.fromkeys(self.mode.scopes, 0)
        for scope, older in self._older.items():
            for number, bits in older.items():
                found[scope] |= bits & ~(1 << number)
        return found


@dataclass(frozen=True, slots=True)
class Propagated:
    """The operations that waves may propagate to others of their work-group, in all of a function.

    Any wave that writes may propagate what it did before, and any that reads may learn of it: by
    flags in LDS or in memory. By reach: ``at``, the barriers where stores may not have got so far;
    ``by_flag`` and ``in_lds``, whether they may not where a wave writes anything, or LDS. By scope:
    ``unseen``, whether a wave may write anything after a read that may have been an atomic of that
    scope, with nothing invalidated in between. ``stores_at_barrier``: by the number of a barrier,
    the stores in flight there.
    """

    at: tuple[int, ...]
    by_flag: tuple[bool, ...]
    in_lds: tuple[bool, ...]
    unseen: tuple[bool, ...]
    stores_at_barrier: Mapping[int, int]


def propagated(code: Code, places: Mapping[int, Place]) -> Propagated:
    """The operations that waves may propagate to others of their work-group."""
    at, by_flag = [0] * len(Visibility), [False] * len(Visibility)
    in_lds = list(by_flag)
    not_seen = [False] * len(code.mode.scopes)
    stores_at_barrier = kept_sets(code.others)
    own = (1 << code.others) - 1
    for number, place in places.items():
        each = code.operations[number]
        if each.kind is Kind.BARRIER:
            for reach in Visibility:
                at[reach] |= each.bit if place.undone[reach] & own else 0
            stores_at_barrier[number] = place.flight & code.in_memory & code.writes
        elif each.writes:
            for reach in Visibility:
                if place.undone[reach] & own:
                    by_flag[reach] = True
                    in_lds[reach] = in_lds[reach] or each.in_lds
            for rank, scope in enumerate(code.mode.scopes):
                seen = unseen(code, place, scope) & code.coherent[rank]
                not_seen[rank] = not_seen[rank] or bool(seen)
    return Propagated(tuple(at), tuple(by_flag), tuple(in_lds), tuple(not_seen), stores_at_barrier)


def unseen(code: Code, place: Place, scope: Scope) -> int:
    """The reads after which no operation has made their values visible at ``scope``."""
    bits = place.flight & code.reads
    caches = int(code.mode.caches(scope))
    for level, stale in zip(LEVELS, place.stale, strict=True):
        if level & caches:
            bits |= stale
    return bits


def stale_for_peers(code: Code, place: Place, scope: Scope) -> int:
    """The reads whose values others of the work-group may not see at ``scope``.

    What is stale in their own caches they invalidate themselves, as they acquire.
    """
    return _in_others_caches(code, place.stale_for_peers, scope)


def pending_peer_invalidates(code: Code, place: Place, scope: Scope) -> int:
    """Those of ``stale_for_peers`` that an invalidate in flight is about."""
    return _in_others_caches(code, place.pending_peer_invalidates, scope)


def _in_others_caches(code: Code, by_level: Iterable[int], scope: Scope) -> int:
    caches = int(code.mode.others_caches(scope))
    bits = 0
    for level, reads in zip(LEVELS, by_level, strict=True):
        if level & caches:
            bits |= reads
    return bits & code.reads


class Guarantees:
    """The facts that guarantees take from the states of a function, block by block.

    A block may be passed more than once: what it had the last time is true.
    """

    def __init__(self, code: Code):
        self._code = code
        self._places = _Places(code)
        self._waits: dict[int, Mapping[str, int]] = {}
        self._flights, self._has_copies = kept_sets(code.others), Kind.COPY in code.flow.kinds
        self._after_waits: set[int] = set()
        publishes = any(_publishes(form, code.mode) for form in {e.form for e in code.operations})
        self.keeps_states = publishes and is_long(code.others)
        """True of code whose places are sure to be read, and made from states that are kept."""
        self._makes_places = publishes and not self.keeps_states
        self._block = self._place = 0
        self._is_after = False

    def begin(self, block: int) -> None:
        """Begin a block."""
        self._block, self._place, self._is_after = block, -1, False

    def see(self, step: Step, operation: Operation | None, state: State) -> None:
        """See the next step of the block that changes the state, before it does."""
        self._place += 1
        self._places.pass_by(self._block, self._place, state)
        if operation is None:
            if step.effects.kind is Kind.WAIT:
                counts = self._code.waits[step.instruction.line]
                self._waits[id(step)] = _counts_in(state, counts)
                self._is_after = self._is_after or _is_for_stores(self._code, state, counts)
            return
        form, number = operation.form, operation.number
        if self._makes_places:
            self._places.known[number] = place_of(state)
        if self._is_after:
            self._after_waits.add(number)
            self._is_after = False
        else:
            self._after_waits.discard(number)
        if form.kind is Kind.BARRIER or (self._has_copies and form.in_lds and form.reads):
            self._flights[number] = state.flight

    def lifted(self, entries: Mapping[int, State]) -> LiftedFunction:
        """The guarantees of each operation; ``entries``: the states where blocks begin."""
        self._places.entries = entries
        after_waits = mask_of(self._after_waits)
        return LiftedFunction(self._code, self._places, self._waits, self._flights, after_waits)


def _publishes(form: Form, mode: Mode) -> bool:
    """True of a write of which the bits say that other work-groups may learn by it."""
    if not form.writes or form.in_lds or not form.scope.includes(Scope.AGENT):
        return False
    return mode.chip.scope_bits or form.kind is Kind.RMW


def guarantees_of(code: Code, entries: Mapping[int, State]) -> LiftedFunction:
    """The guarantees of each operation; ``entries``: the solution of ``solve`` for ``code``."""
    found, block = Guarantees(code), -1
    for number, step, operation, state in walk(code, entries):
        if number != block:
            block = number
            found.begin(block)
        found.see(step, operation, state)
    return found.lifted(entries)


def _is_for_stores(code: Code, state: State, counts: Mapping[str, int]) -> bool:
    if all(counts.get(name) != 0 for name in _STORE_COUNTERS):
        return False
    flight = state.flight & code.in_memory
    return bool(flight & code.writes) and not flight & code.reads


def _counts_in(state: State, counts: Mapping[str, int]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for counter, tokens in state.counters.items():
        least = counts.get(counter)
        if least is not None and not (least and tokens.bounds.kinds & _UNORDERED):
            found[counter] = least
    return counts if [*found.items()] == [*counts.items()] else found


def pending_bits(
    code: Code, place: Place, operation: Operation, scope: Scope, *, hardest: bool = False
) -> int:
    """The accesses that are pending at ``scope`` for ``operation`` where it issues.

    ``hardest`` as ``LiftedFunction.pending`` has it.
    """
    flight = place.flight & code.accesses
    if operation.in_lds:
        flight &= ~code.in_lds  # LDS serves a wave in order.
    if scope is Scope.WORKGROUP and code.mode.keeps_order:
        # The L1 keeps the order of all waves of the work-group.
        flight &= ~(code.in_memory | place.only_in_memory)
    return flight | place.undone[code.mode.reach(scope) if hardest else code.mode.required(scope)]


def stale_bits(code: Code, place: Place, read: Operation, scope: Scope) -> int:
    """The reads that ``read`` may be older than where it issues, and the bits of other waves'
    reads."""
    within = scope is Scope.WORKGROUP
    flight = place.flight & code.reads
    if read.is_scalar_load:
        # Within a work-group the kernel alone writes, and what it writes no scalar load reads.
        return 0 if within else flight | place.stale[-1]
    if read.in_lds:
        flight &= ~code.in_lds
    elif within and read.in_memory and code.mode.keeps_order:
        flight &= ~(code.in_memory | place.only_in_memory)
    found = int(read.effect.reads & code.mode.caches(scope))
    for level, stale in zip(LEVELS, place.stale, strict=True):
        if level & found:
            flight |= stale
    return flight


def describe(lifted: LiftedFunction, operation: Operation) -> str:
    """The guarantee of an operation, as ``store release agent; pending at system: line 21``."""
    kind = operation.kind
    if kind in (Kind.CACHE, Kind.OPAQUE):
        return _name(operation)
    if operation.number not in lifted.places:
        return f"{_name(operation)}, not reached"
    is_release_point = operation.writes or kind is Kind.BARRIER
    released = lifted.releases(operation) if is_release_point else None
    acquired = lifted.acquires(operation) if operation.reads else None
    ordering = _ordering(_name(operation), operation.scope, released, acquired)
    return "; ".join((ordering, *_lists(lifted, operation)))


_NAMES: Mapping[Kind, str] = {
    Kind.LOAD: "load",
    Kind.STORE: "store",
    Kind.RMW: "atomic",
    Kind.COPY: "load to LDS",
    Kind.BARRIER: "barrier",
    Kind.OPAQUE: "code that is not seen",
}


def _name(operation: Operation) -> str:
    if operation.kind is Kind.CACHE:
        return "write-back" if operation.is_write_back else "invalidate"
    return f"{'scalar ' if operation.is_scalar else ''}{_NAMES[operation.kind]}"


def _ordering(name: str, scope: Scope, released: Scope | None, acquired: Scope | None) -> str:
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
    if operation.writes or operation.kind is Kind.BARRIER:
        for scope in lifted.mode.scopes:
            pending = [each for each in lifted.pending(operation, scope) if each is not operation]
            said = lines(pending)
            if said and said != known:
                yield f"pending at {scope}: {said}"
            known = said
    known = ""
    if operation.reads:
        for scope in lifted.mode.scopes:
            older = [each for each in lifted.older(operation, scope) if each is not operation]
            said = lines(older)
            if said and said != known:
                yield f"may be older at {scope}: {said}"
            known = said


_SHOWN = 4


def lines(operations: Iterable[Operation]) -> str:
    """``line 21`` or ``lines 21, 25``; a few, and how many more. What came before:
    ``the caller``."""
    numbers = sorted({each.line for each in operations})
    caller = ["the caller"] if numbers[:1] == [0] else []
    numbers = [each for each in numbers if each]
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    listed = [f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"] if numbers else []
    return " and ".join(caller + listed)
