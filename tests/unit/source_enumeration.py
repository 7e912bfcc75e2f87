"""The behaviour that ``definition`` allows, by plain enumeration of candidate executions.

Every value that a read may return is guessed from a pool, every reads-from and every coherence
order is tried, nothing is pruned: for tiny programs without backward branches only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import (
    ARITHMETIC,
    RMW,
    Arithmetic,
    Branch,
    Label,
    Move,
    Operand,
)
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.source.definition import Candidate
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Event,
    Fence,
    Load,
    ScopedOperation,
    ScopedProgram,
    Store,
)

_Reads = frozenset[int]
_NONE: _Reads = frozenset()


@dataclass(frozen=True)
class _ThreadRun:
    """One run of one thread so far; numbers count its own events.

    ``needs``: the reads that a write depends on. ``registers`` have a value and the reads that it
    depends on; ``control``: the reads that decided the branches.
    """

    events: tuple[Event, ...] = ()
    read: tuple[int | None, ...] = ()
    written: tuple[int | None, ...] = ()
    needs: tuple[_Reads, ...] = ()
    registers: dict[str, tuple[int, _Reads]] = field(default_factory=dict[str, tuple[int, _Reads]])
    control: _Reads = _NONE

    def value(self, operand: Operand) -> int:
        """The value of a register or constant."""
        return operand if isinstance(operand, int) else self.registers.get(operand, (0, _NONE))[0]

    def sources(self, *operands: Operand) -> _Reads:
        """The reads that any of the operands depends on."""
        known = (
            self.registers.get(each, (0, _NONE))[1] for each in operands if isinstance(each, str)
        )
        return _NONE.union(*known)

    def assign(self, name: str | None, value: int, sources: _Reads) -> "_ThreadRun":
        """With a register set, if there is one."""
        if name is None:
            return self
        return replace(self, registers={**self.registers, name: (value, sources)})

    def then(
        self,
        event: Event,
        read: int | None = None,
        written: int | None = None,
        needs: _Reads = _NONE,
    ) -> "_ThreadRun":
        """With one event more."""
        return replace(
            self,
            events=(*self.events, event),
            read=(*self.read, read),
            written=(*self.written, written),
            needs=(*self.needs, needs | self.control),
        )


def _runs(program: ScopedProgram, thread: int, pool: Sequence[int]) -> Iterator[_ThreadRun]:
    """Every run of a thread."""
    code = program.threads[thread].instructions
    labels = {each.name: i for i, each in enumerate(code) if isinstance(each, Label)}

    def go(position: int, run: _ThreadRun) -> Iterator[_ThreadRun]:
        if position == len(code):
            yield run
            return
        each = code[position]
        if isinstance(each, ScopedOperation):
            for after in _performed(each, thread, position, run, pool):
                yield from go(position + 1, after)
            return
        match each:
            case Branch(target, condition, unless):
                assert condition is not None
                run = replace(run, control=run.control | run.sources(condition))
                if bool(run.value(condition)) is not unless:
                    position = labels[target]
            case Arithmetic(kind, dst, a, b):
                value = ARITHMETIC[kind](run.value(a), run.value(b))
                run = run.assign(dst, value, run.sources(a, b))
            case Move(dst, value):
                run = run.assign(dst, run.value(value), run.sources(value))
            case Label():
                pass
        yield from go(position + 1, run)

    return go(0, _ThreadRun())


def _performed(
    each: ScopedOperation, thread: int, position: int, run: _ThreadRun, pool: Sequence[int]
) -> Iterator[_ThreadRun]:
    """Every continuation after an operation."""
    own = frozenset({len(run.events)})
    location = None if isinstance(each, Fence | Barrier) else each.location

    def event(kind: EventKind, ordering: Ordering = each.ordering) -> Event:
        return Event(kind, thread, position, ordering, each.scope, location, each)

    match each:
        case Load():
            for old in pool:
                yield run.then(event(EventKind.READ), old).assign(each.dst, old, own)
        case Store():
            new, needs = run.value(each.value), run.sources(each.value)
            yield run.then(event(EventKind.WRITE), None, new, needs)
        case AtomicRmw():
            needs = run.sources(each.value) | (_NONE if each.kind is RmwKind.XCHG else own)
            for old in pool:
                new = RMW[each.kind](old, run.value(each.value))
                after = run.then(event(EventKind.UPDATE), old, new, needs)
                yield after.assign(each.dst, old, own)
        case Cmpxchg():
            compared, new = run.value(each.compare), run.value(each.new)
            compare = own | run.sources(each.compare)
            for old in pool:
                if old == compared:
                    needs = compare | run.sources(each.new)
                    after = run.then(event(EventKind.UPDATE), old, new, needs)
                    yield after.assign(each.dst, old, own).assign(each.success, 1, compare)
                if old != compared or each.weak:
                    after = run.then(event(EventKind.READ, each.failure_ordering), old)
                    yield after.assign(each.dst, old, own).assign(each.success, 0, compare)
        case Fence():
            yield run.then(event(EventKind.FENCE))
        case Barrier():
            yield run.then(event(EventKind.ARRIVE)).then(event(EventKind.BARRIER))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The final states, and the pairs of (thread, position) that race."""

    states: frozenset[tuple[int | None, ...]]
    races: frozenset[frozenset[tuple[int, int]]]


def allowed(program: ScopedProgram, pool: Iterable[int]) -> Allowed:
    """Every outcome and every race of a program whose values are all in ``pool``."""
    states: set[tuple[int | None, ...]] = set()
    races: set[frozenset[tuple[int, int]]] = set()
    values = tuple(pool)
    for runs in product(*(_runs(program, n, values) for n in range(len(program.threads)))):
        for x, written in _candidates(program, runs):
            is_possible = x.no_thin_air() and x.passes_barriers()
            memories = list(_memories(program, x, written)) if is_possible else []
            for memory in memories:
                states.add(
                    tuple(
                        runs[each.thread].value(each.name)
                        if isinstance(each, Register)
                        else memory[each.location]
                        for each in program.observables()
                    )
                )
            if memories:
                places = [(each.thread, each.position) for each in x.events]
                races |= {frozenset(places[n] for n in race) for race in x.races()}
    return Allowed(frozenset(states), frozenset(races))


def _candidates(
    program: ScopedProgram, runs: Sequence[_ThreadRun]
) -> Iterator[tuple[Candidate, list[int | None]]]:
    """Every reads-from of a run of each thread, with the values that its events write."""
    events = [
        Event(EventKind.WRITE, -1, -1, Ordering.RELAXED, Scope.SYSTEM, each.name, None)
        for each in program.locations
    ]
    read: list[int | None] = [None] * len(events)
    written: list[int | None] = [each.initial for each in program.locations]
    dep: set[tuple[int, int]] = set()
    ends: set[tuple[int, int]] = set()
    for thread, run in enumerate(runs):
        start = len(events)
        dep |= {(start + r, start + w) for w, needs in enumerate(run.needs) for r in needs}
        ends |= {(start + r, thread) for r in run.control}
        events += run.events
        read += run.read
        written += run.written
    reads = [n for n, each in enumerate(events) if each.reads]
    writes = [n for n, each in enumerate(events) if each.writes]
    sources = [
        [
            w
            for w in writes
            if w != r and events[w].location == events[r].location and written[w] == read[r]
        ]
        for r in reads
    ]
    for taken in product(*sources):
        yield Candidate(program, events, {*zip(taken, reads, strict=True)}, dep, ends), written


def _memories(
    program: ScopedProgram, x: Candidate, written: Sequence[int | None]
) -> Iterator[dict[str, int | None]]:
    """The final memory of every coherence order with which ``x`` is consistent."""
    names = [each.name for each in program.locations]
    choices: list[list[tuple[int, ...]]] = []
    for first, name in enumerate(names):
        later = sorted(x.where(lambda e, name=name: e.writes and e.location == name) - {first})
        choices.append([(first, *order) for order in permutations(later)])
    for orders in product(*choices):
        if x.consistent({pair for order in orders for pair in combinations(order, 2)}):
            yield {name: written[order[-1]] for name, order in zip(names, orders, strict=True)}
