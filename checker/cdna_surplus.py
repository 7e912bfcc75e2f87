"""Synchronisation that can go: write-backs, invalidates and waits, each with what it costs.

Greedy, from the end of the text: one instruction is left out, and if the analysis of what is left
finds nothing in flight that was not before, nothing late and no read that may be older, it stays
out. What counts of that relation is what somebody could depend on: for a write what is late at
the scopes of which it may be an atomic, for a read what it may be older than at those of which
that may be one. Any wave of a work-group may propagate to any other what it has done and seen, by
any access of both (``Propagated``); a source that asks for less would let more go.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.checker.cdna_accesses import LEVELS, SCOPES, Operation, OperationKind
from fencewright.checker.cdna_flow import Step
from fencewright.checker.cdna_hazards import hazards_at
from fencewright.checker.cdna_lift import (
    Place,
    Propagated,
    late_bits,
    lines,
    older_bits,
    place_of,
    propagated,
    unseen,
)
from fencewright.checker.cdna_operands import InstructionKind
from fencewright.checker.cdna_state import Code, State
from fencewright.checker.findings import Finding, Rule
from fencewright.lowering.cdna.caches import Reach
from fencewright.lowering.cdna.costs import UNIT, cost_of, read_line, write_back_time
from fencewright.lowering.vocabulary import Scope

_O = OperationKind
_AGENT = SCOPES.index(Scope.AGENT)

LANES = 64
"""Threads of a wave."""


@dataclass(frozen=True, slots=True)
class Surplus:
    """One instruction, or one field of a wait, that can go.

    ``price``: units of ``lowering.cdna.costs`` for each wave that executes it; ``waves``: of a
    work-group, if its size is known.
    """

    rule: Rule
    line: int
    text: str
    price: int
    waves: int | None
    reason: str

    @property
    def finding(self) -> Finding:
        """It as a finding."""
        cost = f"{self.price} units a wave"
        if self.waves is not None:
            cost += f", {self.price * self.waves} for the {self.waves} waves of a work-group"
        message = f"{self.text} can go, which costs {cost}: {self.reason}"
        return Finding(self.line, self.rule, message, cost=self.price * (self.waves or 1))


def find_surplus(
    code: Code, entries: Mapping[int, State], kept: Container[int] = ()
) -> list[Surplus]:
    """What can go, all of it together; in the order of the text.

    ``kept``: lines of write-backs that stay. One that is not waited for does nothing for others
    either, but what is wrong then is the wait.
    """
    return sorted(_Search(code, entries, kept).found(), key=lambda each: each.line)


_Fact = tuple[int, ...]
"""What counts for one operation: late and older by scope, and what other waves have in flight."""

_Hazards = frozenset[tuple[Rule, str]]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What somebody could depend on, of all of a function."""

    hazards: Mapping[int, _Hazards]
    operations: Mapping[int, _Fact]


class _Filter:
    """What counts of a relation, given what waves may propagate to one another."""

    def __init__(self, code: Code, passed: Propagated):
        self.code = code
        self.passed = passed
        own = (1 << code.others) - 1
        every_read = code.reads << code.others
        self.late: list[int] = []
        self.older: list[int] = []
        for rank, scope in enumerate(SCOPES):
            reach = code.mode.reach(scope)
            others = passed.at[reach] << code.others
            if passed.by_flag[reach]:
                others |= every_read
            if scope is Scope.SYSTEM:
                # Others of this agent may have released to the agent alone.
                others |= code.coherent[_AGENT] << code.others
            self.late.append(own | others)
            always = _mask(code, (_O.BARRIER, _O.OUTSIDE))
            self.older.append((code.reads if passed.unseen[rank] else code.coherent[rank]) | always)

    def is_handed_more(self, operation: Operation, place: Place) -> bool:
        """Whether a wave may hand something on here that it might not have anywhere."""
        passed, own = self.passed, (1 << self.code.others) - 1
        if operation.kind is _O.BARRIER:
            return any(
                place.undone[reach] & own and not passed.at[reach] & operation.bit
                for reach in Reach
            )
        if not operation.kind.writes:
            return False
        return any(
            place.undone[reach] & own and not passed.by_flag[reach] for reach in Reach
        ) or any(
            not passed.unseen[rank] and unseen(self.code, place, scope) & self.code.coherent[rank]
            for rank, scope in enumerate(SCOPES)
        )

    def fact(self, operation: Operation, place: Place) -> _Fact:
        """What counts where ``operation`` issues."""
        found: list[int] = []
        for rank, scope in enumerate(SCOPES):
            late = older = 0
            if operation.scope.includes(scope) and operation.kind is not _O.SCALAR_LOAD:
                late = late_bits(self.code, place, operation, scope) & self.late[rank]
            if operation.kind.reads:
                older = older_bits(self.code, place, operation, scope) & self.older[rank]
            found += (late, older)
        publishes = operation.kind.writes and operation.scope.includes(Scope.AGENT)
        found.append(place.crossing if publishes else 0)
        return tuple(found)


def _is_candidate(step: Step, operation: Operation | None) -> bool:
    """Whether a step is a wait, or maintains the caches of vector memory."""
    if operation is None:
        return step.effects.kind is InstructionKind.WAIT
    effect = operation.effect
    return effect.writes_back is not None or bool(effect.invalidates)


def _mask(code: Code, kinds: Sequence[OperationKind]) -> int:
    bits = 0
    for each in code.operations:
        bits |= each.bit if each.kind in kinds else 0
    return bits


_COUNTS = frozenset({_O.WRITE_BACK, _O.INVALIDATE, _O.OUTSIDE})
"""Operations of which nothing is asked."""

_NO_HAZARDS: _Hazards = frozenset()


class _Search:
    def __init__(self, code: Code, entries: Mapping[int, State], kept: Container[int]):
        self.code = code
        self.entries = entries
        self.kept = kept
        places, hazards = _observe(code, entries)
        self.filter = _Filter(code, propagated(code, places))
        self.before = _Facts(hazards, self._facts(self.filter, places))
        self._grows = False
        self._kept: tuple[State | None, dict[int, State]] = (None, {})
        self._changing = {id(step): each for block in code.counted for step, each in block}
        self._position = {
            id(step): place for block in code.flow.blocks for place, step in enumerate(block.steps)
        }

    def found(self) -> Iterator[Surplus]:
        """What can go: first cache maintenance, then waits."""
        for candidates in (self._maintenance, self._waits):
            for number in sorted(self.entries, reverse=True):
                self._kept = (None, {})
                yield from candidates(number)

    def _facts(self, chosen: _Filter, places: Mapping[int, Place]) -> dict[int, _Fact]:
        operations = self.code.operations
        return {
            number: chosen.fact(operations[number], place)
            for number, place in places.items()
            if operations[number].kind not in _COUNTS
        }

    # Candidates

    def _maintenance(self, number: int) -> Iterator[Surplus]:
        for index in reversed(range(len(self.code.counted[number]))):
            step, operation = self.code.counted[number][index]
            if operation is None or not _is_candidate(step, operation):
                continue
            if operation.kind is _O.WRITE_BACK and operation.line in self.kept:
                continue
            state = self._state_at(number, index)
            counted = self.code.counted[number]
            less = replace(
                self.code,
                counted=_replaced(
                    self.code.counted, number, counted[:index] + counted[index + 1 :]
                ),
            )
            if self._accept(less, number, state, step, gone=step):
                yield self._described(step, operation, state)

    def _waits(self, number: int) -> Iterator[Surplus]:
        for index in reversed(range(len(self.code.counted[number]))):
            step, _ = self.code.counted[number][index]
            if step.effects.kind is not InstructionKind.WAIT:
                continue
            line = step.instruction.line
            for field in ("vmcnt", "lgkmcnt"):
                if (count := self.code.waits[line].get(field)) is None:
                    continue
                rest = {name: n for name, n in self.code.waits[line].items() if name != field}
                waits = MappingProxyType({**self.code.waits, line: rest})
                state = self._state_at(number, index)
                if self._accept(replace(self.code, waits=waits), number, state, step):
                    text = f"s_waitcnt {field}({count})"
                    price = self._price(text)
                    yield self._surplus(Rule.SURPLUS_WAIT, line, text, price, _WAIT_REASON)

    def _state_at(self, number: int, index: int) -> State:
        """What holds before a step; kept for a block, as what can go is looked for from its end."""
        entry = self.entries[number]
        if self._kept[0] is not entry:
            state = entry.copy()
            states: dict[int, State] = {}
            for place, (step, operation) in enumerate(self.code.counted[number]):
                if _is_candidate(step, operation):
                    states[place] = state.copy()
                state.step(self.code, step, operation)
            self._kept = (entry, states)
        return self._kept[1][index]

    # Whether something can go

    def _accept(
        self, less: Code, number: int, state: State, at: Step, gone: Step | None = None
    ) -> bool:
        """Whether ``less`` provides what the function did; it then is what is searched further.

        What holds where blocks begin can only grow, as less is done: it is joined with what
        follows from the place of the change on, until nothing grows or something is missing.
        """
        self._grows = False
        leaving = self._leave(less, number, state.copy(), at, gone)
        entries = dict(self.entries)
        work: list[tuple[int, State]] = [] if leaving is None else [(number, leaving)]
        while work:
            source, leaving = work.pop()
            normal = leaving.copy()
            for target in less.flow.blocks[source].successors:
                joined = entries[target].copy()
                if not joined.join(normal):
                    continue
                entries[target] = joined
                after = self._leave(less, target, joined.copy(), None, gone)
                if after is None:
                    return False
                work.append((target, after))
        if leaving is None or (self._grows and not self._provides_all(less, entries)):
            return False
        self.code, self.entries = less, entries
        self._changing.pop(id(gone), None)
        return True

    def _leave(
        self, less: Code, number: int, state: State, at: Step | None, gone: Step | None
    ) -> State | None:
        """The state after a block, or after its rest from ``at`` on; None if something is missing.

        ``gone``: a step that is left out.
        """
        block = self.code.flow.blocks[number].steps
        changing, left_out = self._changing, id(gone)
        for step in block if at is None else block[self._position[id(at)] :]:
            key = id(step)
            if state.loads:
                found = frozenset(hazards_at(state, step))
                if found and not found <= self.before.hazards.get(key, _NO_HAZARDS):
                    return None
            if key not in changing or key == left_out:
                continue
            operation = changing[key]
            if operation is not None and operation.kind not in _COUNTS:
                place = place_of(state)
                if _exceeds(
                    self.filter.fact(operation, place), self.before.operations[operation.number]
                ):
                    return None
                self._grows = self._grows or self.filter.is_handed_more(operation, place)
            state.step(less, step, operation)
        return state

    def _provides_all(self, less: Code, entries: Mapping[int, State]) -> bool:
        """Whether nothing is missing anywhere, where waves may hand more to one another."""
        places, _ = _observe(less, entries)
        facts = self._facts(_Filter(less, propagated(less, places)), places)
        return not any(_exceeds(fact, self.before.operations[at]) for at, fact in facts.items())

    # What is said of it

    def _described(self, step: Step, operation: Operation, state: State) -> Surplus:
        text = step.instruction.text
        if operation.kind is _O.WRITE_BACK:
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

    def _surplus(self, rule: Rule, line: int, text: str, price: int, reason: str) -> Surplus:
        threads = self.code.flow.function.threads
        waves = None if threads is None else -(-threads // LANES)
        return Surplus(rule, line, text, price, waves, reason)

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
            return f"nothing publishes what {stores} stored before it is written back again"
        if state.undone(reach) & own:
            return "another write-back is under way for all that it covers"
        scope = "agent" if reach is Reach.AGENT else "system"
        return f"no path leads here with a store that has yet to be written back to the {scope}"

    def _why_invalidate(self, operation: Operation, state: State) -> str:
        caches = int(operation.effect.invalidates)
        stale = 0
        for level, bits in zip(LEVELS, state.stale, strict=True):
            stale |= bits if level & caches else 0
        acquires = self.code.coherent[_AGENT] | _mask(self.code, (_O.BARRIER,))
        seen = stale & ~state.flight & acquires
        if not seen:
            return "nothing that may be an acquire has been read on the way here, or since the last one"
        return (
            f"nothing reads what a cache may still hold of before {lines(self.code.those(seen))}, or "
            "not until the next one"
        )


_WAIT_REASON = "nothing uses, overwrites or publishes what it waits for, or not until the next one"


def _replaced(
    blocks: Sequence[Sequence[tuple[Step, Operation | None]]],
    number: int,
    block: Iterable[tuple[Step, Operation | None]],
) -> tuple[tuple[tuple[Step, Operation | None], ...], ...]:
    return tuple(tuple(block) if n == number else tuple(each) for n, each in enumerate(blocks))


def _exceeds(fact: _Fact, known: _Fact) -> bool:
    return fact != known and any(mine & ~its for mine, its in zip(fact, known, strict=True))


def _observe(
    code: Code, entries: Mapping[int, State]
) -> tuple[dict[int, Place], dict[int, _Hazards]]:
    """What holds at every operation, and the hazards of every step by its ``id``."""
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
