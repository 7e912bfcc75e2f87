"""Synchronisation that is redundant: write-backs, invalidates and waits, each with its cost.

Greedy, from the end of the text: one instruction is left out, and if the analysis of the rest
finds nothing in flight that was not before, nothing pending and no read that may be older, it stays
out. What counts of that relation is what somebody could depend on: for a write what is pending at
the scopes of which it may be an atomic, for a read what it may be older than at those of which
that may be one. Any wave of a work-group may propagate to any other what it has done and seen, by
any access of both (``Propagated``); a source that asks for less would let more go. Nothing that an
instruction that is not known can run before or after is said to be surplus: it may do anything.
"""

from collections import ChainMap
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fencewright.checker.amd.accesses import LEVELS, Operation, wave_size_of
from fencewright.checker.amd.barriers import met_by_peers, needed_by_peers
from fencewright.checker.amd.guarantees import (
    Place,
    Propagated,
    lines,
    pending_bits,
    place_of,
    propagated,
    stale_bits,
    stale_for_peers,
    unseen,
)
from fencewright.checker.amd.hazards import hazards_at, is_unknown
from fencewright.checker.amd.state import Code, State
from fencewright.checker.findings.finding import Finding, Rule
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.cdna.performance.costs import UNIT, cost_of, read_line, write_back_time
from fencewright.lowering.code.dataflow import visit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.unknown import beside
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import Scope


@dataclass(frozen=True, slots=True)
class Surplus:
    """One instruction, or one counter of a wait, its ``part``, that can go.

    ``price``: units of ``lowering.cdna.performance.costs`` for each wave that executes it;
    ``waves``: of a work-group, if its size is known.
    """

    rule: Rule
    line: int
    text: str
    price: int
    waves: int | None
    reason: str
    part: str = ""

    @property
    def finding(self) -> Finding:
        """It as a finding."""
        cost = f"{self.price} units a wave"
        if self.waves is not None:
            cost += f", {self.price * self.waves} for the {self.waves} waves of a work-group"
        message = f"{self.text} is redundant and costs {cost}: {self.reason}"
        cost_of_all = self.price * (self.waves or 1)
        return Finding(self.line, self.rule, message, cost=cost_of_all, part=self.part)


def find_surplus(
    code: Code, entries: Mapping[int, State], kept: Container[int] = ()
) -> list[Surplus]:
    """The surplus of a function, all of it together; in the order of the text.

    ``kept``: lines of write-backs that stay. One that is not waited for does nothing for others
    either, but what is wrong then is the wait.
    """
    return sorted(_Search(code, entries, kept).found(), key=lambda each: each.line)


def beside_unknown(flow: Flow) -> frozenset[int]:
    """The lines that one with an instruction that is not known can run before or after."""
    steps = [block.steps for block in flow.blocks]
    return frozenset(each.instruction.line for each in beside(flow.blocks, steps, is_unknown))


def surplus_barrier(code: Code, barrier: Operation) -> Surplus:
    """A barrier that can go, as far as memory is concerned; its cost is without the waiting."""
    price = cost_of(code.mode.target, read_line(barrier.text)).amount
    waves = _waves(code)
    return Surplus(Rule.SURPLUS_BARRIER, barrier.line, barrier.text, price, waves, _BARRIER_REASON)


def _waves(code: Code) -> int | None:
    """The waves of a work-group, if the metadata say how many."""
    threads = code.flow.function.threads
    return (
        None if threads is None else -(-threads // wave_size_of(code.flow.function, code.mode.chip))
    )


_Fact = tuple[int, ...]
"""The relevant sets for one operation: pending and older by scope, and other waves' operations in
flight."""

_Hazards = frozenset[tuple[Rule, str]]

_Met = Mapping[Operation, frozenset[Operation]]
"""For each barrier those at which other waves may be meanwhile."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of a whole function that other code could depend on."""

    hazards: Mapping[int, _Hazards]
    operations: Mapping[int, _Fact]


class _Filter:
    """The relevant part of a relation, given the operations that waves propagate to one another.

    ``met`` and ``needed``: the barriers that waves are at together, and the caches that
    ``needed_by_peers`` finds of the function as it was.
    """

    def __init__(
        self, code: Code, passed: Propagated, met: _Met, needed: Mapping[int, int] | None = None
    ):
        self.code = code
        self.passed = passed
        self.scopes = code.mode.scopes
        self.met = met
        self.needed = needed_by_peers(code, met) if needed is None else needed
        own = (1 << code.others) - 1
        every_read = code.reads << code.others
        self.pending: list[int] = []
        self.older: list[int] = []
        always = code.of_kinds(Kind.BARRIER, Kind.OPAQUE)
        for rank, scope in enumerate(self.scopes):
            reach = code.mode.reach(scope)
            others = self._with_met(passed.at[reach]) << code.others
            if passed.by_flag[reach]:
                others |= every_read
            if scope is Scope.SYSTEM:
                # Others of this agent may have released to the agent alone.
                others |= code.at_agent << code.others
            self.pending.append(own | others)
            self.older.append((code.reads if passed.unseen[rank] else code.coherent[rank]) | always)

    def is_handed_more(self, operation: Operation, place: Place) -> bool:
        """True if a wave may pass on an operation here that it passes on nowhere else."""
        passed, own = self.passed, (1 << self.code.others) - 1
        if operation.kind is Kind.BARRIER:
            return any(
                place.undone[reach] & own and not passed.at[reach] & operation.bit
                for reach in Visibility
            )
        if not operation.writes:
            return False
        return any(
            place.undone[reach] & own and not passed.by_flag[reach] for reach in Visibility
        ) or any(
            not passed.unseen[rank] and unseen(self.code, place, scope) & self.code.coherent[rank]
            for rank, scope in enumerate(self.scopes)
        )

    def fact(self, operation: Operation, place: Place) -> _Fact:
        """The relevant sets where ``operation`` issues."""
        found: list[int] = []
        for rank, scope in enumerate(self.scopes):
            pending = older = undone = 0
            if operation.kind in _LEAVES:
                # A callee, or a caller of this, may publish anything, and read it.
                pending, undone = self._pending(operation, place, rank)
                older = unseen(self.code, place, scope) & self.older[rank]
            elif operation.scope.includes(scope) and not operation.is_scalar_load:
                pending, undone = self._pending(operation, place, rank)
            if operation.reads:
                older = stale_bits(self.code, place, operation, scope) & self.older[rank]
            elif operation.kind is Kind.BARRIER:
                older = self._stale_for_others(operation, place, scope) & self.older[rank]
            found += (pending, undone, older)
        if self.code.mode.peers_await_invalidates and (
            operation.writes or operation.kind is Kind.BARRIER
        ):
            found += (
                stale_for_peers(self.code, place, scope) & self.code.coherent[rank]
                for rank, scope in enumerate(self.code.mode.scopes)
            )
        publishes = operation.writes and operation.scope.includes(Scope.AGENT)
        found.append(place.stores_at_barrier if publishes else 0)
        # A write-back is queued after other waves' stores even where it has nothing to write back.
        found.append(place.unflushed_since_barrier if publishes or operation.kind in _LEAVES else 0)
        return tuple(found)

    def _with_met(self, barriers: int) -> int:
        """Barriers, and those at which other waves may be meanwhile."""
        for barrier in self.code.those(barriers):
            for other in self.met[barrier]:
                barriers |= other.bit
        return barriers

    def _stale_for_others(self, barrier: Operation, place: Place, scope: Scope) -> int:
        """The reads that a wave at another barrier may be older than, once both have met."""
        caches = self.needed[barrier.number] & int(self.code.mode.caches(scope))
        older = place.flight & self.code.reads if caches else 0
        for level, stale in zip(LEVELS, place.stale, strict=True):
            if level & caches:
                older |= stale
        return older

    def _pending(self, operation: Operation, place: Place, rank: int) -> tuple[int, int]:
        """The pending operations, and those of too little reach, in flight or not.

        A flat access is in flight for LDS where it may be done in memory.
        """
        scope = self.scopes[rank]
        pending = pending_bits(self.code, place, operation, scope, hardest=True)
        undone = place.undone[self.code.mode.reach(scope)]
        return pending & self.pending[rank], undone & self.pending[rank]


def _is_candidate(step: Step, operation: Operation | None) -> bool:
    """True if a step is a wait, or maintains the caches of vector memory."""
    if operation is None:
        return step.effects.kind is Kind.WAIT
    effect = operation.effect
    return effect.writes_back is not None or bool(effect.invalidates)


_LEAVES = frozenset({Kind.OPAQUE, Kind.END})
"""Operations of which nothing is asked."""

_NO_HAZARDS: _Hazards = frozenset()


class _End(Enum):
    """The early end of a walk through a block: no more holds than held, or something is missing."""

    SAME = "same"
    MISSING = "missing"


class _Search:
    """The remainder of a function, from which one thing after another is removed.

    ``counted``, ``waits`` and ``changing`` are what ``code`` has of it, and change with it. A
    change is followed only as far as it makes a difference, which bounds the time of the search.
    """

    def __init__(self, code: Code, entries: Mapping[int, State], kept: Container[int]):
        self.counted = [list(block) for block in code.counted]
        self.waits = dict(code.waits)
        self.code = code = replace(code, counted=self.counted, waits=self.waits)
        self.entries = dict(entries)
        self._graph = code.flow.graph
        places, hazards = _observe(code, entries)
        self.kept = kept
        self.beside_unknown = beside_unknown(code.flow)
        self.pending = _passed_on_pending(code, places)
        self.filter = _Filter(code, propagated(code, places), met_by_peers(code))
        self.before = _Facts(hazards, self._facts(self.filter, places))
        self._grows = False
        self._acquires = code.at_agent | code.of_kinds(Kind.BARRIER)
        self._known: tuple[State | None, dict[int, State]] = (None, {})
        self._changing = {id(step): each for block in code.counted for step, each in block}
        self._position = {
            id(step): place for block in code.flow.blocks for place, step in enumerate(block.steps)
        }

    def found(self) -> Iterator[Surplus]:
        """The surplus: first cache maintenance, then waits."""
        for candidates in (self._maintenance, self._waits):
            for number in sorted(self.entries, reverse=True):
                self._known = (None, {})
                yield from candidates(number)

    def _facts(self, chosen: _Filter, places: Mapping[int, Place]) -> dict[int, _Fact]:
        operations = self.code.operations
        return {
            number: chosen.fact(operations[number], place)
            for number, place in places.items()
            if operations[number].kind is not Kind.CACHE
        }

    # Candidates

    def _maintenance(self, number: int) -> Iterator[Surplus]:
        counted = self.counted[number]
        for index in reversed(range(len(counted))):
            step, operation = counted[index]
            if operation is None or not _is_candidate(step, operation):
                continue
            if operation.line in self.beside_unknown:
                continue
            if operation.is_write_back and operation.line in self.kept:
                continue
            if operation.bit & self.pending:
                continue
            state = self._state_at(number, step)
            del counted[index], self._changing[id(step)]
            if self._accept(number, state, step):
                yield self._described(step, operation, state)
            else:
                counted.insert(index, (step, operation))
                self._changing[id(step)] = operation

    def _waits(self, number: int) -> Iterator[Surplus]:
        for step, _ in reversed(self.counted[number]):
            if step.effects.kind is not Kind.WAIT:
                continue
            line = step.instruction.line
            if line in self.beside_unknown:
                continue
            for field in self.entries[number].counters:
                before = self.waits[line]
                if (count := before.get(field)) is None:
                    continue
                state = self._state_at(number, step)
                self.waits[line] = {name: n for name, n in before.items() if name != field}
                if self._accept(number, state, step):
                    text = wait_text(self.code.mode.chip, WaitCounts(**{field: count}))
                    price = self._price(text)
                    yield self._surplus(
                        Rule.SURPLUS_WAIT, line, text, price, _WAIT_REASON, part=field
                    )
                else:
                    self.waits[line] = before

    def _state_at(self, number: int, at: Step) -> State:
        """The state before a step; known for a block, as the search goes from its end."""
        entry = self.entries[number]
        if self._known[0] is not entry:
            state = entry.copy()
            states: dict[int, State] = {}
            for step, operation in self.counted[number]:
                if _is_candidate(step, operation):
                    states[id(step)] = state.copy()
                state.step(self.code, step, operation)
            self._known = (entry, states)
        return self._known[1][id(at)]

    # The test of a removal

    def _accept(self, number: int, state: State, at: Step) -> bool:
        """True if the remaining code provides all that the function did; then the search goes on.

        What holds where blocks begin can only grow, as less is done: it is joined with what
        follows from the place of the change on, until nothing grows or something is missing.
        """
        self._grows = False
        news: dict[int, State] = {}
        known = ChainMap(news, self.entries)
        fresh: dict[int, State] = {}
        changed = self._leave_changed(number, state.copy(), at, fresh)
        is_missing = changed is _End.MISSING
        blocks = self.code.flow.blocks

        def grown_after(source: int) -> Iterator[int]:
            nonlocal changed, is_missing
            # The changed block is left from the place of the change on, but where a loop leads back
            # to it.
            leaving, changed = changed, None
            if not isinstance(leaving, State):
                leaving = known[source].copy()
                is_missing = is_missing or not self._walk(blocks[source].steps, leaving)
            if is_missing:
                return
            leaving = leaving.copy()
            for target in blocks[source].successors:
                joined = known[target].copy()
                if joined.join(leaving):
                    news[target] = joined
                    yield target

        if isinstance(changed, State):
            visit(self._graph, [number], grown_after)
        if is_missing or (self._grows and not self._provides_all(known)):
            return False
        self._known[1].update(fresh)
        self.entries.update(news)
        return True

    def _leave_changed(
        self, number: int, state: State, at: Step, fresh: dict[int, State]
    ) -> State | _End:
        """The state after a block that was changed at a step, if more holds than did.

        ``fresh`` gets the states in which more holds than is known now.
        """
        steps, known = self.code.flow.blocks[number].steps, self._known[1]
        start = self._position[id(at)]
        for place in range(start, len(steps)):
            key = id(steps[place])
            if place > start and key in known:
                if not self._walk(steps[start:place], state):
                    return _End.MISSING
                if not known[key].copy().join(state.copy()):
                    return _End.SAME
                fresh[key] = state.copy()
                start = place
        return state if self._walk(steps[start:], state) else _End.MISSING

    def _walk(self, steps: Sequence[Step], state: State) -> bool:
        """Execute steps; whether nothing is missing."""
        changing = self._changing
        for step in steps:
            key = id(step)
            if state.loads:
                found = frozenset(hazards_at(state, step))
                if found and not found <= self.before.hazards.get(key, _NO_HAZARDS):
                    return False
            if key not in changing:
                continue
            operation = changing[key]
            if operation is not None and operation.kind is not Kind.CACHE:
                place = place_of(state)
                if _exceeds(
                    self.filter.fact(operation, place), self.before.operations[operation.number]
                ):
                    return False
                self._grows = self._grows or self.filter.is_handed_more(operation, place)
            state.step(self.code, step, operation)
        return True

    def _provides_all(self, entries: Mapping[int, State]) -> bool:
        """True if nothing is missing anywhere, given that waves may pass more on to one another.

        If so, that is what they may hand from now on.
        """
        places, _ = _observe(self.code, entries)
        passed, before = propagated(self.code, places), self.filter
        chosen = _Filter(self.code, passed, before.met, before.needed)
        facts = self._facts(chosen, places)
        if any(_exceeds(fact, self.before.operations[at]) for at, fact in facts.items()):
            return False
        self.filter = chosen
        return True

    # The words of a surplus

    def _described(self, step: Step, operation: Operation, state: State) -> Surplus:
        text = step.instruction.text
        if operation.is_write_back:
            return self._surplus(
                Rule.SURPLUS_WRITE_BACK,
                operation.line,
                text,
                self._write_back_price(text),
                self._why_write_back(operation, state),
            )
        return self._surplus(
            Rule.SURPLUS_INVALIDATE,
            operation.line,
            text,
            self._price(text),
            self._why_invalidate(operation, state),
        )

    def _surplus(
        self, rule: Rule, line: int, text: str, price: int, reason: str, part: str = ""
    ) -> Surplus:
        return Surplus(rule, line, text, price, _waves(self.code), reason, part)

    def _price(self, text: str) -> int:
        return cost_of(self.code.mode.target, read_line(text)).amount

    def _write_back_price(self, text: str) -> int:
        time = write_back_time(self.code.mode.target)
        return self._price(text) if time is None else round(time.high / UNIT)

    def _why_write_back(self, operation: Operation, state: State) -> str:
        own = (1 << self.code.others) - 1
        reach = operation.effect.writes_back
        assert reach is not None
        dirty = state.dirty[reach] & own
        if dirty:
            stores = lines(self.code.those(dirty))
            return f"nothing publishes the stores of {stores} before the next write-back"
        if state.undone(reach) & own:
            return "another write-back of the same stores is under way"
        scope = reach.name.lower()
        return f"on every path all stores are already written back to the {scope}"

    def _why_invalidate(self, operation: Operation, state: State) -> str:
        caches = int(operation.effect.invalidates)
        stale = 0
        for level, bits in zip(LEVELS, state.stale, strict=True):
            stale |= bits if level & caches else 0
        seen = stale & ~state.flight & self._acquires
        if not seen:
            return "no read that may be an acquire comes before it, or none since the last one"
        before = lines(self.code.those(seen))
        return f"before the next one nothing reads data that may be older than {before}"


_BARRIER_REASON = (
    "no accesses before it conflict with those after it, or other synchronisation orders them"
)


def _passed_on_pending(code: Code, places: Mapping[int, Place]) -> int:
    """The invalidates that others of the work-group rely on and that nothing waits for.

    They do nothing for those as it is, but what is wrong then is the wait.
    """
    pending = 0
    for number, place in places.items():
        operation = code.operations[number]
        publishes = operation.writes or operation.kind is Kind.BARRIER
        pending |= place.awaited if publishes else 0
    return pending


_WAIT_REASON = "before the next wait nothing uses, overwrites or publishes the results"


def _exceeds(fact: _Fact, known: _Fact) -> bool:
    return fact != known and any(mine & ~its for mine, its in zip(fact, known, strict=True))


def _observe(
    code: Code, entries: Mapping[int, State]
) -> tuple[dict[int, Place], dict[int, _Hazards]]:
    """The state at every operation, and the hazards of every step by its ``id``."""
    places: dict[int, Place] = {}
    hazards: dict[int, _Hazards] = {}
    for number, entry in entries.items():
        state = entry.copy()
        changing = {id(step): operation for step, operation in code.counted[number]}
        for step in code.flow.blocks[number].steps:
            key = id(step)
            if state.loads and (found := frozenset(hazards_at(state, step))):
                hazards[key] = found
            if key in changing:
                operation = changing[key]
                if operation is not None:
                    places[operation.number] = place_of(state)
                state.step(code, step, operation)
    return places, hazards
