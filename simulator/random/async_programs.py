"""Random programs with asynchronous operations that are free of data races by construction.

A program is a list of actions in an order in which they can be carried out one by one. Each is of
one thread or synchronises several; per thread they stand in its code in that order. An action
that conflicts with an earlier one comes only after a synchronisation has ordered the two, whatever
the proxies of their accesses. So every execution ends as carrying the actions out one by
one does, which ``expected`` computes, if what the proxies take has been inserted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.core.program import Placement


@dataclass(frozen=True, slots=True)
class Cell:
    """A location: in the LDS of work-group ``home``, or in global memory if that is None."""

    name: str
    home: int | None
    initial: int


class ActionKind(FastStrEnum):
    """The effect of an action on memory; ``target`` and ``source`` as in ``Action``.

    Reductions add. Those that begin with ``multi`` are of ``EVERYWHERE``.
    """

    STORE = "store"
    LOAD = "load"
    BULK_STORE = "bulk_store"
    BULK_LOAD = "bulk_load"
    BULK_PUSH = "bulk_push"
    STORE_ASYNC = "store_async"
    ASYNC_COPY = "async_copy"
    TRACKED_COPY = "tracked_copy"
    MULTIPLY = "multiply"
    BULK_REDUCE = "bulk_reduce"
    REDUCE_PUSH = "reduce_push"
    REDUCE_ASYNC = "reduce_async"
    ZERO = "zero"
    MULTI_STORE = "multi_store"
    MULTI_LOAD = "multi_load"
    MULTI_REDUCE = "multi_reduce"
    PREFETCH = "prefetch"


class Link(FastStrEnum):
    """The kind of synchronisation of threads."""

    BARRIER = "barrier"
    CLUSTER_BARRIER = "cluster_barrier"
    NAMED_BARRIER = "named_barrier"
    MBARRIER = "mbarrier"
    TRANSACTION = "transaction"
    """An mbarrier whose phase ends with bytes that the first thread says are there."""
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Action:
    """An access of ``thread``, or an asynchronous one that it starts.

    Copies read ``source`` and write ``target``; a multiplication reads both. ``waiter`` is the
    thread that waits for the end on mbarrier ``mbarrier``, where it completes on one. ``generic``:
    through a generic address. ``guard``: done if this thread's register has the value that it
    is expected to have. ``elected``: done by the thread that its wavefront elects, which it is.
    """

    kind: ActionKind
    thread: int
    target: str = ""
    source: str = ""
    value: int = 0
    register: str = ""
    waiter: int | None = None
    mbarrier: str = ""
    generic: bool = False
    guard: tuple[str, int] | None = None
    elected: bool = False


EVERYWHERE = "everywhere"
"""The multicast address of all locations in global memory."""
PLACES = ("g0", "g1")
"""The locations in global memory."""


def places(name: str) -> tuple[str, ...]:
    """The locations that a name stands for."""
    return PLACES if name == EVERYWHERE else (name,)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A synchronisation of ``threads``; by a name, from the first to the second of them."""

    link: Link
    threads: tuple[int, ...]
    name: str = ""


Step = Action | Meeting


@dataclass(frozen=True, slots=True)
class AsyncProgram:
    """Threads by their places, their memory, and their actions, in an order.

    ``rounds``: how often each thread does it all, with a meeting of all at the end of each.
    """

    places: tuple[Placement, ...]
    cells: tuple[Cell, ...]
    steps: tuple[Step, ...]
    rounds: int = 1

    @property
    def mbarriers(self) -> Mapping[str, int]:
        """The work-group that each mbarrier is of."""
        found: dict[str, int] = {}
        for step in self.steps:
            if isinstance(step, Action) and step.mbarrier:
                assert step.waiter is not None
                found[step.mbarrier] = self.places[step.waiter].workgroup
            elif isinstance(step, Meeting) and step.link in (Link.MBARRIER, Link.TRANSACTION):
                found[step.name] = self.places[step.threads[1]].workgroup
        return found

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags by which threads are signalled."""
        return tuple(
            each.name for each in self.steps if isinstance(each, Meeting) and each.link is Link.FLAG
        )

    @property
    def needs(self) -> frozenset[ActionKind]:
        """The kinds of actions that occur."""
        return frozenset(each.kind for each in self.steps if isinstance(each, Action))


# The meaning of a program


ROUND = 16
"""The growth of stored values from round to round."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a program: registers of threads, and memory."""

    registers: Mapping[tuple[int, str], int]
    memory: Mapping[str, int]


def expected(program: AsyncProgram) -> Outcome:
    """The outcome of the actions one by one."""
    memory = {each.name: each.initial for each in program.cells}
    registers: dict[tuple[int, str], int] = {}
    for number in range(program.rounds):
        for step in program.steps:
            if isinstance(step, Action):
                _carry_out(step, memory, registers, number)
    return Outcome(registers, memory)


def _carry_out(
    step: Action, memory: dict[str, int], registers: dict[tuple[int, str], int], number: int
) -> None:
    match step.kind:
        case ActionKind.STORE | ActionKind.STORE_ASYNC | ActionKind.MULTI_STORE | ActionKind.ZERO:
            grown = 0 if step.kind is ActionKind.ZERO else number * ROUND
            memory.update(dict.fromkeys(places(step.target), step.value + grown))
        case ActionKind.REDUCE_ASYNC | ActionKind.MULTI_REDUCE:
            for each in places(step.target):
                memory[each] += step.value + number * ROUND
        case ActionKind.BULK_REDUCE | ActionKind.REDUCE_PUSH:
            memory[step.target] += memory[step.source]
        case ActionKind.LOAD | ActionKind.MULTI_LOAD:
            read = sum(memory[each] for each in places(step.source))
            registers[step.thread, step.register] = read
        case ActionKind.PREFETCH:
            pass
        case ActionKind.MULTIPLY:
            name = step.thread, step.register
            registers[name] = registers.get(name, 0) + memory[step.source] * memory[step.target]
        case _:
            memory[step.target] = memory[step.source]


# The order of accesses


@dataclass(frozen=True, slots=True)
class _Access:
    number: int
    cell: str
    writes: bool


class _Order:
    """The knowledge of each thread: the numbers of accesses that happen before its next one."""

    def __init__(self, program: AsyncProgram):
        self.program = program
        self.known: list[set[int]] = [set() for _ in program.places]
        self.accesses: list[_Access] = []

    def conflicts(self, step: Action) -> set[int]:
        """The accesses that ``step`` conflicts with."""
        found: set[int] = set()
        for cell, writes in accesses(step):
            found |= {
                each.number
                for each in self.accesses
                if each.cell == cell and (writes or each.writes)
            }
        return found

    def lacks(self, step: Action) -> set[int]:
        """The accesses that ``step`` would race with."""
        return self.conflicts(step) - self.known[step.thread]

    def add(self, step: Step) -> None:
        """Note the effects of a step."""
        if isinstance(step, Meeting):
            self._meet(step)
            return
        new: set[int] = set()
        for cell, writes in accesses(step):
            number = len(self.accesses)
            self.accesses.append(_Access(number, cell, writes))
            new.add(number)
        # A completion on an mbarrier signals the waiter of itself alone, and no other thread.
        self.known[step.thread if step.waiter is None else step.waiter] |= new

    def _meet(self, meeting: Meeting) -> None:
        if meeting.link in (Link.BARRIER, Link.CLUSTER_BARRIER):
            together = set[int]().union(*(self.known[each] for each in meeting.threads))
            for each in meeting.threads:
                self.known[each] = set(together)
            return
        sender, receiver = meeting.threads
        self.known[receiver] |= self.known[sender]


def accesses(step: Action) -> Iterator[tuple[str, bool]]:
    """The locations that an action accesses, and whether it writes."""
    if step.kind is ActionKind.PREFETCH:
        return
    if step.source:
        yield from ((each, False) for each in places(step.source))
    if step.target:
        yield from ((each, step.kind is not ActionKind.MULTIPLY) for each in places(step.target))


def is_race_free(program: AsyncProgram) -> bool:
    """True if every two accesses that conflict are ordered, and a round begins as the first did."""
    order = _Order(program)
    for step in program.steps:
        if isinstance(step, Action):
            if order.lacks(step):
                return False
            if step.guard is not None and step.guard not in _reads(program, step):
                return False
        order.add(step)
    return True


def _reads(program: AsyncProgram, before: Action) -> set[tuple[str, int]]:
    """The registers that a thread has read before an action, with their expected values."""
    memory = {each.name: each.initial for each in program.cells}
    registers: dict[tuple[int, str], int] = {}
    for step in program.steps:
        if step is before:
            break
        if isinstance(step, Action):
            _carry_out(step, memory, registers, 0)
    return {(name, value) for (thread, name), value in registers.items() if thread == before.thread}


# Drawing programs


def draw(seed: int) -> AsyncProgram:
    """The program that a seed stands for."""
    return _Drawing(Random(seed)).program()


_PLACES = (
    ((0, 0), (0, 0)),
    ((0, 0), (0, 0)),
    ((0, 0), (0, 0), (0, 0)),
    ((0, 0), (1, 0)),
    ((0, 0), (1, 0)),
    ((0, 0), (0, 0), (1, 0)),
    ((0, 0), (0, 1)),
)
"""Work-group and cluster of each thread."""

_KINDS = (
    *(ActionKind.STORE,) * 5,
    *(ActionKind.LOAD,) * 3,
    *(ActionKind.BULK_STORE,) * 3,
    *(ActionKind.BULK_LOAD,) * 3,
    ActionKind.BULK_PUSH,
    ActionKind.BULK_PUSH,
    ActionKind.STORE_ASYNC,
    ActionKind.ASYNC_COPY,
    ActionKind.TRACKED_COPY,
    ActionKind.MULTIPLY,
    ActionKind.BULK_REDUCE,
    ActionKind.BULK_REDUCE,
    ActionKind.REDUCE_PUSH,
    ActionKind.REDUCE_ASYNC,
    ActionKind.ZERO,
    ActionKind.MULTI_STORE,
    ActionKind.MULTI_LOAD,
    ActionKind.MULTI_REDUCE,
    ActionKind.PREFETCH,
)

_LOADS = (ActionKind.LOAD, ActionKind.MULTI_LOAD, ActionKind.MULTIPLY)
"""The actions that give a register its value."""
_WITH_VALUE = (
    *(ActionKind.STORE, ActionKind.STORE_ASYNC, ActionKind.REDUCE_ASYNC),
    *(ActionKind.MULTI_STORE, ActionKind.MULTI_REDUCE),
)
"""The actions with a value of their own."""
_COMPLETING = (
    *(ActionKind.BULK_LOAD, ActionKind.BULK_PUSH, ActionKind.STORE_ASYNC, ActionKind.TRACKED_COPY),
    *(ActionKind.REDUCE_PUSH, ActionKind.REDUCE_ASYNC),
)
"""The actions that complete on an mbarrier."""
_ELECTED = (ActionKind.STORE, ActionKind.BULK_STORE, ActionKind.BULK_REDUCE, ActionKind.PREFETCH)
"""The actions that the thread elected by a wavefront may do."""
_APART = (frozenset({ActionKind.MULTIPLY, ActionKind.ZERO}),)
"""Kinds that no chip has together: ``wgmma`` is of sm_90a alone, ``st.bulk`` of newer ones."""


_BARRIERS = 15
"""The number of named barriers of a work-group."""


class _Drawing:
    """One program that is being drawn."""

    def __init__(self, random: Random):
        self.random = random
        self.places = tuple(
            Placement(workgroup, cluster=cluster) for workgroup, cluster in random.choice(_PLACES)
        )
        homes = sorted({(each.workgroup, each.cluster) for each in self.places})
        self.is_cluster = len({cluster for _, cluster in homes}) == 1
        # Two clusters have a work-group 0 each: nothing of theirs is in LDS but by one of them.
        workgroups = sorted({workgroup for workgroup, _ in homes}) if self.is_cluster else [0]
        self.cells = (
            *(Cell(name, None, n + 1) for n, name in enumerate(PLACES)),
            *(Cell(f"s{w}{n}", w, 3 + 2 * w + n) for w in workgroups for n in range(2)),
        )
        self.steps: list[Step] = []
        self.names = 0
        self.values = 5

    def program(self) -> AsyncProgram:
        empty = AsyncProgram(self.places, self.cells, ())
        order = _Order(empty)
        for _ in range(self.random.randint(3, 6)):
            step = self._action()
            if step is None:
                continue
            lacking = order.lacks(step)
            if lacking:
                for meeting in self._meetings(order, step.thread, lacking):
                    self.steps.append(meeting)
                    order.add(meeting)
            self.steps.append(step)
            order.add(step)
        steps = tuple(self.steps)
        program = replace(empty, steps=steps)
        steps = tuple(self._guarded(program, each) for each in steps)
        # To the model a thread that waits at an mbarrier is not missed at a barrier of the cluster.
        can_loop = len({*self.places}) == 1 and not program.flags
        rounds = 2 if can_loop and self.random.random() < 0.2 else 1
        if rounds > 1:
            steps = tuple(
                replace(each, guard=None) if isinstance(each, Action) else each for each in steps
            )
        return replace(program, steps=steps, rounds=rounds)

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _value(self) -> int:
        self.values += 1
        return self.values

    def _pick(self, cells: Sequence[Cell]) -> str:
        return self.random.choice(cells).name if cells else ""

    def _has(self, thread: int, cell: Cell) -> bool:
        """True if a thread reaches a location of LDS as its own."""
        place = self.places[thread]
        return cell.home == place.workgroup and (self.is_cluster or place.cluster == 0)

    def _action(self) -> Action | None:
        """An action that its thread can do; None if this kind does not fit."""
        random = self.random
        thread, kind = random.randrange(len(self.places)), random.choice(_KINDS)
        own = [each for each in self.cells if self._has(thread, each)]
        peers = [
            each
            for each in self.cells
            if each.home is not None and self.is_cluster and not self._has(thread, each)
        ]
        outside = [each for each in self.cells if each.home is None]
        everywhere = [Cell(EVERYWHERE, None, 0)]
        drawn = {each.kind for each in self.steps if isinstance(each, Action)}
        if any(kind in each and drawn & (each - {kind}) for each in _APART):
            return None
        register = self._name("r") if kind in _LOADS else ""
        reached = [*own, *outside, *peers]
        targets, sources = {
            ActionKind.STORE: (reached, None),
            ActionKind.LOAD: (None, reached),
            ActionKind.BULK_STORE: (outside, own),
            ActionKind.BULK_LOAD: (own + peers, outside),
            ActionKind.BULK_PUSH: (peers, own),
            ActionKind.STORE_ASYNC: (peers, None),
            ActionKind.ASYNC_COPY: (own, outside),
            ActionKind.TRACKED_COPY: (own, outside),
            ActionKind.MULTIPLY: (own, own),
            ActionKind.BULK_REDUCE: (outside, own),
            ActionKind.REDUCE_PUSH: (peers, own),
            ActionKind.REDUCE_ASYNC: (peers, None),
            ActionKind.ZERO: (own, None),
            ActionKind.MULTI_STORE: (everywhere, None),
            ActionKind.MULTI_LOAD: (None, everywhere),
            ActionKind.MULTI_REDUCE: (everywhere, None),
            ActionKind.PREFETCH: (None, outside),
        }[kind]
        target, source = (self._pick(each or ()) for each in (targets, sources))
        if (targets is not None and not target) or (sources is not None and not source):
            return None
        if kind is ActionKind.MULTIPLY and target == source:
            return None
        # An mbarrier tracks all of a thread's copies.
        others = {
            ActionKind.ASYNC_COPY: ActionKind.TRACKED_COPY,
            ActionKind.TRACKED_COPY: ActionKind.ASYNC_COPY,
        }
        if any(
            isinstance(each, Action) and (each.thread, each.kind) == (thread, others.get(kind))
            for each in self.steps
        ):
            return None
        step = Action(kind, thread, target, source, register=register)
        if kind in _WITH_VALUE:
            step = replace(step, value=self._value())
        if kind in (ActionKind.STORE, ActionKind.LOAD) and random.random() < 0.15:
            # A generic address of a peer's LDS is one that the program has mapped.
            peer = {each.name for each in peers}
            step = replace(step, generic=not peer & {target, source})
        if kind in _ELECTED and random.random() < 0.15:
            step = replace(step, elected=True)
        if kind in _COMPLETING:
            home = next(each.home for each in self.cells if each.name == target)
            waiters = [
                n
                for n, place in enumerate(self.places)
                if place.workgroup == home and (self.is_cluster or place.cluster == 0)
            ]
            step = replace(step, waiter=random.choice(waiters), mbarrier=self._name("m"))
        return step

    def _meetings(self, order: _Order, thread: int, lacking: set[int]) -> Iterator[Meeting]:
        """Synchronisation after which ``thread`` knows of the accesses that it lacks."""
        while lacking:
            number = min(lacking)
            senders = [n for n, known in enumerate(order.known) if number in known]
            sender = self.random.choice(senders)
            meeting = self._meeting(sender, thread)
            yield meeting
            lacking -= order.known[thread] | order.known[sender]

    def _meeting(self, sender: int, receiver: int) -> Meeting:
        here, there = self.places[sender], self.places[receiver]
        choices = [Link.FLAG]
        if here == there:
            choices = [Link.BARRIER, Link.BARRIER, Link.MBARRIER, Link.TRANSACTION, Link.FLAG]
            choices += [Link.NAMED_BARRIER] * (self.names < _BARRIERS)
        elif self.is_cluster:
            choices = [Link.CLUSTER_BARRIER, Link.MBARRIER, Link.TRANSACTION, Link.FLAG]
        link = self.random.choice(choices)
        if link is Link.BARRIER:
            return Meeting(link, tuple(n for n, p in enumerate(self.places) if p == here))
        if link is Link.CLUSTER_BARRIER:
            return Meeting(link, tuple(range(len(self.places))))
        prefixes = {Link.FLAG: "f", Link.NAMED_BARRIER: ""}
        prefix = prefixes.get(link, "m")
        return Meeting(link, (sender, receiver), self._name(prefix))

    def _guarded(self, program: AsyncProgram, step: Step) -> Step:
        if not isinstance(step, Action) or step.kind not in (
            ActionKind.STORE,
            ActionKind.BULK_STORE,
        ):
            return step
        known = sorted(_reads(program, step))
        if not known or self.random.random() < 0.5:
            return step
        return replace(step, guard=self.random.choice(known))


# Smaller programs


def smaller(program: AsyncProgram) -> Iterator[AsyncProgram]:
    """The programs with one thing less that are still free of data races."""
    if program.rounds > 1:
        yield replace(program, rounds=1)
    for number, step in enumerate(program.steps):
        rest = (*program.steps[:number], *program.steps[number + 1 :])
        candidates = [replace(program, steps=rest)]
        if isinstance(step, Action):
            plainer = ({"guard": None}, {"generic": False}, {"elected": False})
            for plain in (replace(step, **each) for each in plainer):
                if plain != step:
                    changed = (*program.steps[:number], plain, *program.steps[number + 1 :])
                    candidates.append(replace(program, steps=changed))
        yield from filter(is_race_free, candidates)
