"""Exploring a transition system: every outcome, a shortest trace, random walks, progress.

A system is anything with an initial state, successors with the event that leads there, and
final outcomes. States are hashable; every exploration is bounded by a number of states, and by the
memory that its process may hold (``memory_limit``).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, Protocol, TypeVar

from fencewright.simulator.core.condition import Observable, Outcomes
from fencewright.simulator.core.processes.memory_limit import MemoryWatch

State = TypeVar("State", bound=Hashable)
Event = TypeVar("Event")
EventCo = TypeVar("EventCo", covariant=True)

DEFAULT_LIMIT = 1_000_000
"""The number of states after which an exploration gives up."""


class System(Protocol[State, EventCo]):
    """A transition system.

    ``final`` gives the outcomes of a state in which all is over, else nothing; ``errors`` what
    the program has done wrong before a state.
    """

    @property
    def observables(self) -> tuple[Observable, ...]: ...
    def initial(self) -> State: ...
    def successors(self, state: State) -> Sequence[tuple[State, EventCo]]: ...
    def final(self, state: State) -> Sequence[tuple[int, ...]]: ...
    def errors(self, state: State) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of an exploration. ``outcomes.complete`` is False unless it saw every state.

    ``errors`` are mistakes of the program, such as a use of a register that was not waited for.
    """

    outcomes: Outcomes
    errors: frozenset[str]
    states: int
    note: str = ""

    @property
    def complete(self) -> bool:
        """True if every state was seen."""
        return self.outcomes.complete

    def __str__(self) -> str:
        errors = "".join(f"\nerror: {each}" for each in sorted(self.errors))
        note = f" (incomplete: {self.note})" if self.note else ""
        found = f"{len(self.outcomes.states)} outcomes, {self.states} states{note}"
        return f"{found}\n{self.outcomes}{errors}"


@dataclass(frozen=True, slots=True)
class Trace(Generic[State, Event]):
    """A path to an outcome: the events, and the states from before the first to after the last."""

    events: tuple[Event, ...]
    states: tuple[State, ...]
    outcome: tuple[int, ...]


class LimitReached(Exception):
    """An exploration gave up before it could answer; says after how many states (or ``what``).

    ``why`` is what else there is to say: that memory was full.
    """

    def __init__(self, states: int, what: str = "states", why: str = ""):
        self.states = states
        super().__init__(why or f"limit reached after {states} {what}")


class Meter:
    """The progress of a search, for a watcher in another thread; the search itself pays nothing."""

    def __init__(self) -> None:
        self._count: Callable[[], int] = int

    def measure(self, count: Callable[[], int]) -> None:
        """From now on ``count`` says how far."""
        self._count = count

    @property
    def done(self) -> int:
        """States or steps until now."""
        return self._count()


class WorkBudget:
    """The steps of an enumeration, of which ``limit`` may be taken; None: as many as it needs.

    A step is about as much as a machine state: an event of a thread's run, a combination of
    runs, a reads-from relation, an order. All parts of a budget share one ``memory``, which ends it
    too.
    """

    def __init__(self, limit: int | None = None, memory: MemoryWatch | None = None):
        self.limit = limit
        self.done = 0
        self.memory = MemoryWatch() if memory is None else memory
        self._before = 0
        self._parts: list[WorkBudget] = []

    @property
    def progress(self) -> int:
        """The steps taken, those of parts that are not counted, or not yet, included."""
        return max(self.done, self._before + sum(part.progress for part in self._parts))

    def take(self, steps: int = 1) -> bool:
        """Count ``steps`` more; False if they are too many, and from then on."""
        if self.is_spent:
            return False
        self.done += steps
        self.memory.count(steps)
        return not self.is_spent

    def part(self, most: int | None = None) -> "WorkBudget":
        """The remaining work, as a budget of its own of at most ``most`` steps."""
        if self.limit is not None:
            left = max(self.limit - self.done, 0)
            most = left if most is None else min(left, most)
        part = WorkBudget(most, self.memory)
        self._before = self._before if self._parts else self.done
        self._parts.append(part)
        return part

    @property
    def is_spent(self) -> bool:
        """True if the enumeration had to stop."""
        return self.memory.is_full or (self.limit is not None and self.done > self.limit)

    def note(self) -> str:
        """The reason that it had to stop; empty if it did not."""
        if self.memory.is_full:
            return self.memory.note(self.done, "steps")
        return str(LimitReached(self.limit or 0, "steps")) if self.is_spent else ""


def explore(
    system: System[State, Event], limit: int = DEFAULT_LIMIT, meter: Meter | None = None
) -> Exploration:
    """Every outcome of ``system``; incomplete, with a note, when ``limit`` states are not enough.

    Or when memory is full.
    """
    initial = system.initial()
    memory = MemoryWatch()
    seen = {initial}
    if meter is not None:
        meter.measure(seen.__len__)
    outcomes: set[tuple[int, ...]] = set()
    errors: set[str] = set()
    open_states = [initial]
    while open_states:
        state = open_states.pop()
        errors.update(system.errors(state))
        final = system.final(state)
        if final:
            outcomes.update(final)
            continue
        for after, _ in system.successors(state):
            if after not in seen:
                seen.add(after)
                open_states.append(after)
        if len(seen) > limit or memory.count():
            break
    complete = not open_states
    note = "" if complete else str(_given_up(len(seen), memory))
    found = Outcomes(system.observables, frozenset(outcomes), complete)
    return Exploration(found, frozenset(errors), len(seen), note)


def _given_up(states: int, memory: MemoryWatch) -> LimitReached:
    return LimitReached(states, why=memory.note(states) if memory.is_full else "")


def shortest_trace(
    system: System[State, Event],
    wanted: Callable[[tuple[int, ...]], bool],
    limit: int = DEFAULT_LIMIT,
) -> Trace[State, Event] | None:
    """The fewest steps to an outcome that is ``wanted``; None if there is none.

    Raises ``LimitReached`` when ``limit`` states, or memory, were not enough to know.
    """
    initial = system.initial()
    memory = MemoryWatch()
    parent: dict[State, tuple[State, Event] | None] = {initial: None}
    level = [initial]
    while level:
        following: list[State] = []
        for state in level:
            final = system.final(state)
            for outcome in final:
                if wanted(outcome):
                    return _trace_to(parent, state, outcome)
            if final:
                continue
            for after, event in system.successors(state):
                if after not in parent:
                    parent[after] = (state, event)
                    following.append(after)
            if memory.count():
                break
        if len(parent) > limit or memory.is_full:
            raise _given_up(len(parent), memory)
        level = following
    return None


def _trace_to(
    parent: dict[State, tuple[State, Event] | None], last: State, outcome: tuple[int, ...]
) -> Trace[State, Event]:
    states = [last]
    events: list[Event] = []
    step = parent[last]
    while step is not None:
        states.append(step[0])
        events.append(step[1])
        step = parent[step[0]]
    return Trace(tuple(reversed(events)), tuple(reversed(states)), outcome)


def random_walks(
    system: System[State, Event], walks: int, steps: int = 10_000, seed: int = 0
) -> Exploration:
    """The outcomes that ``walks`` random executions of at most ``steps`` steps reach.

    Never complete: what it did not find may still be there.
    """
    random = Random(seed)
    outcomes: set[tuple[int, ...]] = set()
    errors: set[str] = set()
    visited = 0
    for _ in range(walks):
        state = system.initial()
        for _ in range(steps):
            visited += 1
            errors.update(system.errors(state))
            final = system.final(state)
            outcomes.update(final)
            successors = () if final else system.successors(state)
            if not successors:
                break
            state, _ = random.choice(successors)
    found = Outcomes(system.observables, frozenset(outcomes), complete=False)
    return Exploration(found, frozenset(errors), visited, f"{walks} random walks")


@dataclass(frozen=True, slots=True)
class Component(Generic[State, Event]):
    """States that a fair execution can stay in for ever, and the events that it repeats there.

    No event: the one state has no successors though not all is over.
    """

    states: tuple[State, ...]
    events: tuple[Event, ...]


Edges = dict[State, Sequence[tuple[State, Event]]]
"""The steps out of each state."""


def stuck_components(
    system: System[State, Event],
    process: Callable[[Event], Hashable],
    limit: int = DEFAULT_LIMIT,
    starts: Iterable[State] | None = None,
) -> tuple[Component[State, Event], ...]:
    """Components in which fair executions do not end; () if every one does.

    ``process`` says whose step an event is. An execution is fair if no process can always
    step from some time on, but never does (weak fairness). ``starts`` are the states that
    executions begin with, by default the first one. Raises ``LimitReached``.
    """
    edges = reachable(system, [system.initial()] if starts is None else starts, limit)
    result: list[Component[State, Event]] = []
    for component in strongly_connected(edges):
        found = _fair(system, component, edges, process)
        if found is not None:
            result.append(found)
    return tuple(result)


def reachable(
    system: System[State, Event], starts: Iterable[State], limit: int = DEFAULT_LIMIT
) -> Edges[State, Event]:
    """Every state that can be reached from ``starts``, with its steps; none where all is over.

    Raises ``LimitReached``.
    """
    memory = MemoryWatch()
    edges: Edges[State, Event] = {}
    open_states = list(starts)
    while open_states:
        state = open_states.pop()
        if state in edges:
            continue
        edges[state] = () if system.final(state) else system.successors(state)
        open_states += [after for after, _ in edges[state] if after not in edges]
        if len(edges) > limit or memory.count():
            raise _given_up(len(edges), memory)
    return edges


def _fair(
    system: System[State, Event],
    component: list[State],
    edges: Edges[State, Event],
    process: Callable[[Event], Hashable],
) -> Component[State, Event] | None:
    members = set(component)
    first = component[0]
    if not edges[first]:
        over = system.final(first) or system.errors(first)
        return None if over else Component((first,), ())
    inside = [event for state in component for after, event in edges[state] if after in members]
    if not inside:
        return None
    taken = {process(event) for event in inside}
    for waiting in {process(event) for _, event in edges[first]} - taken:
        if all(any(process(event) == waiting for _, event in edges[s]) for s in component):
            return None
    return Component(tuple(component), tuple(dict.fromkeys(inside)))


def strongly_connected(edges: Edges[State, Event]) -> list[list[State]]:
    """Tarjan's algorithm, without recursion."""
    index: dict[State, int] = {}
    low: dict[State, int] = {}
    on_stack: set[State] = set()
    stack: list[State] = []
    result: list[list[State]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            state, position = work.pop()
            if position == 0:
                index[state] = low[state] = len(index)
                stack.append(state)
                on_stack.add(state)
            else:
                low[state] = min(low[state], low[edges[state][position - 1][0]])
            for at in range(position, len(edges[state])):
                after = edges[state][at][0]
                if after not in index:
                    work += [(state, at + 1), (after, 0)]
                    break
                if after in on_stack:
                    low[state] = min(low[state], index[after])
            else:
                if low[state] == index[state]:
                    result.append(_popped(stack, on_stack, state))
    return result


def _popped(stack: list[State], on_stack: set[State], last: State) -> list[State]:
    component: list[State] = []
    while True:
        state = stack.pop()
        on_stack.discard(state)
        component.append(state)
        if state == last:
            return component
