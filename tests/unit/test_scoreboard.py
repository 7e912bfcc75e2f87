"""The scoreboard against an interpreter of the counters that tries every legal completion order.

The interpreter knows nothing of ages: a state is the set of the events that are outstanding,
and the reachable sets are enumerated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencewright.lowering.cdna.counters.scoreboard import (
    CACHE_EVENTS,
    LIMITS,
    ORDERED,
    SPACE_EVENTS,
    CounterEvent,
    CounterEventKind,
    CounterState,
    Scoreboard,
    Token,
    events_of,
    split_events_of,
)
from fencewright.lowering.cdna.instructions import INSTRUCTIONS, WITH_S_WAITCNT, Counter
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

VECTOR = SPACE_EVENTS[AddressSpace.GLOBAL]
LDS = SPACE_EVENTS[AddressSpace.LOCAL]
SCALAR = SPACE_EVENTS[AddressSpace.CONSTANT]
FLAT = SPACE_EVENTS[AddressSpace.GENERIC]
INVALIDATE = CACHE_EVENTS["buffer_inv"]


@dataclass(frozen=True)
class Issue:
    """An instruction with these events; its position names its result."""

    events: tuple[CounterEvent, ...]


@dataclass(frozen=True)
class Use:
    """A use of the result of the instruction at a position."""

    position: int


@dataclass(frozen=True)
class WaitAll:
    """An ordering wait: everything on a counter."""

    counter: Counter


@dataclass(frozen=True)
class Wait:
    """A wait as emitted."""

    counter: Counter
    count: int
    data: bool


Step = Issue | Use | WaitAll
Emitted = Issue | Use | Wait
Outstanding = tuple[tuple[int, CounterEvent], ...]


# The interpreter.


def retire(state: Outstanding, counter: Counter) -> Iterator[Outstanding]:
    """Every state after one event of ``counter`` has completed."""
    mine = [(at, event) for at, event in state if event.counter is counter]
    counted = [each for each in mine if each[1].kind is not CounterEventKind.INVALIDATE]
    kinds = {event.kind for _, event in counted}
    in_order = len(kinds) == 1 and all(ORDERED[kind] for kind in kinds)
    first = counted[:1] if in_order else counted
    free = [each for each in mine if each[1].kind is CounterEventKind.INVALIDATE]
    for done in (*first, *free):
        yield tuple(each for each in state if each != done)


def closure(states: set[Outstanding]) -> set[Outstanding]:
    """All states that completions lead to."""
    todo, seen = list(states), set(states)
    while todo:
        state = todo.pop()
        for counter in LIMITS:
            for later in retire(state, counter):
                if later not in seen:
                    seen.add(later)
                    todo.append(later)
    return seen


def first_violation(program: list[Emitted]) -> int | None:
    """Where a result can be used before it is there, or None."""
    states: set[Outstanding] = {()}
    for at, step in enumerate(program):
        states = closure(states)
        if isinstance(step, Wait):
            states = {
                s for s in states if sum(e.counter is step.counter for _, e in s) <= step.count
            }
        elif isinstance(step, Use):
            if any(position == step.position for s in states for position, _ in s):
                return at
        else:
            after: set[Outstanding] = set()
            for state in states:
                choices: list[Outstanding] = [state]
                for event in step.events:
                    counted = [(*c, (at, event)) for c in choices]
                    choices = counted if event.certain else choices + counted
                after.update(choices)
            states = after
    return None


def may_be_outstanding(program: list[Emitted], counter: Counter) -> bool:
    """Whether an event that a wait for everything has to cover may be outstanding at the end."""
    states: set[Outstanding] = {()}
    for at, step in enumerate(program):
        states = closure(states)
        if isinstance(step, Wait):
            states = {
                s for s in states if sum(e.counter is step.counter for _, e in s) <= step.count
            }
        elif isinstance(step, Issue):
            states = {(*s, *((at, e) for e in step.events)) for s in states}
    return any(e.counter is counter and e.awaited for s in states for _, e in s)


# What is under test: waits from the scoreboard.


def emit(program: list[Step], board: Callable[[], Scoreboard] = Scoreboard) -> list[Emitted]:
    """The program with its waits; positions of uses are renumbered."""
    state = board()
    counters = {counter: state.counters[counter] for counter in LIMITS}
    out: list[Emitted] = []
    moved: dict[int, int] = {}
    for at, step in enumerate(program):
        if isinstance(step, Use):
            for counter, each in counters.items():
                count = each.need(step.position)
                if count is not None:
                    each.wait(count)
                    out.append(Wait(counter, count, data=True))
            out.append(Use(moved[step.position]))
        elif isinstance(step, WaitAll):
            if not counters[step.counter].satisfied(0):
                counters[step.counter].wait(0)
                out.append(Wait(step.counter, 0, data=False))
        else:
            moved[at] = len(out)
            results = (at,) if all(event.certain for event in step.events) else ()
            state.issue(step.events, results)
            out.append(step)
    return out


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 9))):
        results = [
            at for at, s in enumerate(steps) if isinstance(s, Issue) and s.events != INVALIDATE
        ]
        choices = [
            st.sampled_from((VECTOR, VECTOR, LDS, LDS, SCALAR, FLAT, INVALIDATE)).map(Issue),
            st.sampled_from(list(LIMITS)).map(WaitAll),
        ]
        if results:
            choices += [st.sampled_from(results).map(Use)] * 2
        steps.append(draw(st.one_of(choices)))
    return steps


@settings(max_examples=300, deadline=None)
@given(programs())
def test_waits_are_sufficient(program: list[Step]) -> None:
    assert first_violation(emit(program)) is None


@settings(max_examples=300, deadline=None)
@given(programs())
def test_every_data_wait_is_minimal(program: list[Step]) -> None:
    """One more outstanding operation allowed, and some order of completion breaks a use."""
    emitted = emit(program)
    for at, step in enumerate(emitted):
        if isinstance(step, Wait) and step.data:
            looser = [*emitted[:at], Wait(step.counter, step.count + 1, True), *emitted[at + 1 :]]
            assert first_violation(looser) is not None


@settings(max_examples=200, deadline=None)
@given(programs())
def test_an_ordering_wait_goes_exactly_when_nothing_is_outstanding(program: list[Step]) -> None:
    for counter in LIMITS:
        emitted = emit([*program, WaitAll(counter)])
        kept = bool(emitted) and emitted[-1] == Wait(counter, 0, data=False)
        before = emitted[:-1] if kept else emitted
        assert kept == may_be_outstanding(before, counter)


# Broken on purpose: each of these must be caught.


class _OffByOne(CounterState):
    def need(self, *tokens: Token) -> int | None:
        count = super().need(*tokens)
        return None if count is None else count + 1


class _IgnoresFlat(CounterState):
    def issue(self, event: CounterEvent, results: Iterable[Token] = ()) -> None:
        kind = CounterEventKind.VECTOR if event.counter is Counter.VMCNT else CounterEventKind.LDS
        super().issue(CounterEvent(event.counter, kind, event.certain, event.awaited), results)


class _CountsInvalidates(CounterState):
    def issue(self, event: CounterEvent, results: Iterable[Token] = ()) -> None:
        super().issue(CounterEvent(event.counter, CounterEventKind.VECTOR), results)


def _board(state: type[CounterState]) -> Callable[[], Scoreboard]:
    def make() -> Scoreboard:
        board = Scoreboard()
        board.counters |= {counter: state(limit) for counter, limit in LIMITS.items()}
        return board

    return make


@pytest.mark.parametrize(
    ("broken", "program"),
    [
        pytest.param(_OffByOne, [Issue(VECTOR), Use(0)], id="off by one"),
        pytest.param(_IgnoresFlat, [Issue(FLAT), Issue(VECTOR), Use(0)], id="flat overtaken"),
        pytest.param(_IgnoresFlat, [Issue(VECTOR), Issue(FLAT), Use(0)], id="flat overtakes"),
        pytest.param(_IgnoresFlat, [Issue(SCALAR), Issue(SCALAR), Use(0)], id="scalar loads"),
        pytest.param(_IgnoresFlat, [Issue(LDS), Issue(SCALAR), Use(0)], id="mixed kinds"),
        pytest.param(
            _CountsInvalidates, [Issue(VECTOR), Issue(INVALIDATE), Use(0)], id="may count"
        ),
    ],
)
def test_a_broken_scoreboard_is_caught(broken: type[CounterState], program: list[Step]) -> None:
    assert first_violation(emit(program)) is None
    assert first_violation(emit(program, _board(broken))) is not None


# Single facts.


def test_loads_and_stores_retire_in_order() -> None:
    state = CounterState(63)
    for name in "abc":
        state.issue(VECTOR[0], [name])
    state.issue(VECTOR[0])  # a store
    assert [state.need(name) for name in "abc"] == [3, 2, 1]
    assert state.wait(2) == ["a", "b"]
    assert [state.need(name) for name in "abc"] == [None, None, 1]


@pytest.mark.parametrize("counter", list(LIMITS))
def test_counts_stay_below_the_value_that_means_no_wait(counter: Counter) -> None:
    limit = LIMITS[counter]
    event = CounterEvent(counter, CounterEventKind.VECTOR)
    state = CounterState(limit)
    state.issue(event, ["old"])
    for _ in range(2 * limit):
        state.issue(event)
    assert state.need("old") == limit - 1
    assert state.copy().need("old") == limit - 1
    assert state.wait(limit) == []
    assert state.wait(limit - 1) == ["old"]


def vmcnt(board: Scoreboard) -> CounterState:
    return board.counters[Counter.VMCNT]


def test_flat_counts_in_both_until_each_is_waited_for() -> None:
    board = Scoreboard()
    board.issue(VECTOR, ["v"])
    board.issue(FLAT, ["f"])
    assert (
        vmcnt(board).need("v"),
        vmcnt(board).need("f"),
        board.counters[Counter.LGKMCNT].need("f"),
    ) == (0, 0, 0)
    vmcnt(board).wait(0)
    assert (vmcnt(board).need("f"), board.counters[Counter.LGKMCNT].need("f")) == (None, 0)


def test_write_back_is_waited_for_with_nothing_else_outstanding() -> None:
    """LLVM 22 drops this wait (llvm-project#178316)."""
    board = Scoreboard()
    board.issue(CACHE_EVENTS["buffer_wbl2"])
    assert not vmcnt(board).satisfied(0)
    vmcnt(board).wait(0)
    assert vmcnt(board).satisfied(0)


def test_an_invalidate_alone_is_not_waited_for() -> None:
    board = Scoreboard()
    board.issue(INVALIDATE)
    assert vmcnt(board).satisfied(0)
    board.issue(VECTOR, ["v"])
    board.issue(INVALIDATE)
    assert vmcnt(board).need("v") == 0
    assert not vmcnt(board).satisfied(1)  # two invalidates and the load may be outstanding
    assert vmcnt(board).satisfied(3)


def _states() -> st.SearchStrategy[CounterState]:
    def build(steps: list[tuple[CounterEvent, int] | int]) -> CounterState:
        state = CounterState(15)
        for step in steps:
            if isinstance(step, int):
                state.wait(step)
            else:
                state.issue(step[0], [step[1]] if step[0].certain else [])
        return state.copy()

    events = st.sampled_from((VECTOR[0], FLAT[0], INVALIDATE[0], VECTOR[0]))
    step = st.one_of(st.tuples(events, st.integers(0, 5)), st.integers(0, 3))
    return st.lists(step, max_size=20).map(build)


def _facts(state: CounterState) -> tuple[dict[Token, int], int, int, int]:
    return dict(state.stamps), state.outstanding, state.extra, state.kinds


def _joined(a: CounterState, b: CounterState) -> CounterState:
    made = a.copy()
    made.join(b.copy())
    return made


@settings(max_examples=200, deadline=None)
@given(_states(), _states(), _states())
def test_join_is_a_semilattice(a: CounterState, b: CounterState, c: CounterState) -> None:
    """Idempotent, commutative, associative: the order of the paths does not matter."""
    assert _facts(_joined(a, a)) == _facts(a)
    assert not a.copy().join(a)
    assert _facts(_joined(a, b)) == _facts(_joined(b, a))
    assert _facts(_joined(_joined(a, b), c)) == _facts(_joined(a, _joined(b, c)))
    assert not _joined(a, b).join(b)


@settings(max_examples=200, deadline=None)
@given(_states(), _states())
def test_join_is_conservative(a: CounterState, b: CounterState) -> None:
    joined = _joined(a, b)
    assert list(joined.stamps.values()) == sorted(joined.stamps.values())
    for token in {*a.stamps, *b.stamps}:
        count = joined.need(token)
        assert count is not None
        for path in (a, b):
            alone = path.need(token)
            assert alone is None or count <= alone
    for count in range(4):
        if joined.satisfied(count):
            assert a.satisfied(count)
            assert b.satisfied(count)


def test_every_instruction_has_events_on_the_counters_of_its_row() -> None:
    for row in WITH_S_WAITCNT:
        counters = {event.counter for event in events_of(row)}
        if row.kind is Kind.CACHE:
            assert counters >= set(row.counters)
        else:
            assert counters == set(row.counters) & LIMITS.keys()


def test_every_instruction_has_events_on_its_split_counters() -> None:
    for row in INSTRUCTIONS.values():
        counters = {event.counter for event in split_events_of(row)}
        assert counters == set(row.counters) - LIMITS.keys()
