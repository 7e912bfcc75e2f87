"""Small programs on scoped operations: as data, drawn at random, and made smaller.

A thread is a list of steps: a scoped operation of ``source_events``, or one with control flow
of its own. Drawn programs mostly hand plain data from thread to thread under flags, locks,
barriers and counters, so that they have no data race and still depend on every cache that is
to be written back or invalidated. Each is made from a number, its seed, and from that alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import combinations, pairwise
from random import Random
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, RmwKind, Scope
from fencewright.simulator.certify.shapes import memory_kinds
from fencewright.simulator.core.program import Location, MemoryKind, Operand, Placement
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedOperation,
    Store,
)


@dataclass(frozen=True, slots=True)
class When:
    """The rest of the thread runs only if ``register`` has ``value``."""

    register: str
    value: int


@dataclass(frozen=True, slots=True)
class Maybe:
    """Steps that run only if ``register`` has ``value``; the values they load are not observed."""

    register: str
    value: int
    steps: "Steps"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Steps that run so many ``times``; the last values that they load are observed."""

    times: int
    steps: "Steps"


@dataclass(frozen=True, slots=True)
class Spin:
    """``load`` again and again until it gives ``value``."""

    load: Load
    value: int


@dataclass(frozen=True, slots=True)
class Retry:
    """``exchange`` again and again until it succeeds; ``busy`` steps between, not observed."""

    exchange: Cmpxchg
    busy: "Steps" = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """``exchange`` once; the thread goes on if it succeeds, else runs ``failed`` and ends.

    ``first`` steps run in either case, before that is decided.
    """

    exchange: Cmpxchg
    failed: "Steps" = ()
    first: "Steps" = ()


Step: TypeAlias = ScopedOperation | When | Maybe | Repeat | Spin | Retry | Attempt
Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SmallThread:
    """A thread's placement and code; it reaches the ``generic`` locations by generic pointers."""

    placement: Placement
    steps: Steps
    generic: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SmallProgram:
    """Threads, and the locations that they access."""

    threads: tuple[SmallThread, ...]
    locations: tuple[Location, ...]

    @property
    def agents(self) -> int:
        """The number of agents of its threads."""
        return len({thread.placement.agent for thread in self.threads})

    def on_one_agent(self) -> "SmallProgram":
        """The same with all its work-groups on one agent."""
        threads = (
            replace(each, placement=replace(each.placement, agent=0)) for each in self.threads
        )
        return replace(self, threads=tuple(threads))

    def in_memory(self, kind: MemoryKind) -> "SmallProgram":
        """The same with all global memory of one kind."""
        placed = (
            each if each.space is AddressSpace.LOCAL else replace(each, kind=kind)
            for each in self.locations
        )
        return replace(self, locations=tuple(placed))

    def in_one_cluster(self) -> "SmallProgram":
        """The same with all work-groups in one cluster, whose scope is that of the former agent."""
        threads = tuple(
            replace(
                each,
                placement=replace(each.placement, cu=each.placement.workgroup, xcd=0, cluster=0),
                steps=tuple(map(_narrowed, each.steps)),
            )
            for each in self.threads
        )
        return replace(self, threads=threads)

    def for_chip(self, chip: str) -> "SmallProgram":
        """The same in memory that agents can share on ``chip`` (``shapes.memory_kinds``)."""
        if self.agents == 1:
            return self
        kinds = memory_kinds(chip)
        atomic = {
            access.location
            for thread in self.threads
            for access in accesses(thread.steps)
            if access.ordering is not Ordering.WEAK
        }
        placed = (replace(each, kind=kinds[each.name in atomic]) for each in self.locations)
        return replace(self, locations=tuple(placed))


def _narrowed(step: Step) -> Step:
    """``step`` with the cluster's scope where it had the agent's."""
    changed: dict[str, object] = {}
    for each in fields(step):
        value = getattr(step, each.name)
        if value is Scope.AGENT:
            changed[each.name] = Scope.CLUSTER
        elif isinstance(value, tuple):
            changed[each.name] = tuple(map(_narrowed, cast("Steps", value)))
        elif is_dataclass(value):
            changed[each.name] = _narrowed(cast("Step", value))
    return replace(step, **changed)


def operations(steps: Steps) -> Iterator[ScopedOperation]:
    """Every scoped operation of the steps, in their order."""
    for step in steps:
        match step:
            case Maybe() | Repeat():
                yield from operations(step.steps)
            case Spin():
                yield step.load
            case Retry():
                yield step.exchange
                yield from operations(step.busy)
            case Attempt():
                yield step.exchange
                yield from operations((*step.first, *step.failed))
            case When():
                pass
            case _:
                yield step


def has_loop(program: SmallProgram) -> bool:
    """True if a thread waits for others in a loop or at a barrier."""
    return any(
        isinstance(step, Spin | Retry | Barrier) for t in program.threads for step in t.steps
    )


Access: TypeAlias = Load | Store | AtomicRmw | Cmpxchg
_Ordered = TypeVar("_Ordered", bound=Load | Store | AtomicRmw | Fence)


def accesses(steps: Steps) -> Iterator[Access]:
    """Every access of the steps, in their order."""
    for operation in operations(steps):
        if isinstance(operation, Load | Store | AtomicRmw | Cmpxchg):
            yield operation


def located(threads: Sequence[SmallThread], spaces: Mapping[str, Placement]) -> SmallProgram:
    """The program of these threads; ``spaces`` has the locations in LDS, by a thread near them."""
    names = sorted({each.location for thread in threads for each in accesses(thread.steps)})
    local, lds = AddressSpace.LOCAL, spaces
    found = (
        Location(name, space=local, workgroup=lds[name].workgroup)
        if name in lds
        else Location(name)
        for name in names
    )
    return SmallProgram(tuple(threads), tuple(found))


# At random

LOADS = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.ACQUIRE, Ordering.SEQ_CST)
STORES = (Ordering.RELAXED, Ordering.RELEASE, Ordering.RELEASE, Ordering.SEQ_CST)
RMWS = (
    Ordering.RELAXED,
    Ordering.ACQUIRE,
    Ordering.RELEASE,
    Ordering.ACQ_REL,
    Ordering.ACQ_REL,
    Ordering.SEQ_CST,
)
FENCES_BEFORE = (Ordering.RELEASE, Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)
FENCES_BEHIND = (Ordering.ACQUIRE, Ordering.ACQUIRE, Ordering.ACQ_REL, Ordering.SEQ_CST)
FENCES = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)
SHARING = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
"""The scopes by which threads that are ever farther apart reach one another."""

_DATA = ("x", "y", "z")
_FLAGS = ("f", "g", "h")


def random_program(
    seed: int, *, lds: bool = True, split: bool = False, mates: bool = True
) -> SmallProgram:
    """The program of a seed: two to four threads.

    ``lds``: some of it in LDS. ``split``: waves of one work-group on several CUs (tgsplit).
    ``mates``: work-groups of several waves.
    """
    return _Maker(Random(seed), lds, split, mates).program()


def electing_program(
    seed: int, *, lds: bool = True, split: bool = False, mates: bool = True
) -> SmallProgram:
    """The program of a seed in which waves that all release meet before some of them publish.

    ``random_program`` has that seldom. The options are those of it.
    """
    if not mates:
        return random_program(seed, lds=lds, split=split, mates=mates)
    return _Maker(Random(f"electing {seed}"), lds, split, mates).of_shape(_Maker.election)


class _Maker:
    """Makes one program; ``spaces`` are the locations that it has put into LDS."""

    def __init__(self, random: Random, lds: bool, split: bool, mates: bool):
        self.random = random
        self.lds = lds
        self.split = split
        self.mates = mates
        self.spaces: dict[str, Placement] = {}
        self.places: list[Placement] = []

    def program(self) -> SmallProgram:
        """A program of one of the shapes."""
        weights = {s: n for s, n in _SHAPES.items() if self.mates or s is not _Maker.meeting}
        (shape,) = self.random.choices(tuple(weights), tuple(weights.values()))
        return self.of_shape(shape)

    def of_shape(self, shape: Callable[["_Maker"], list["_ThreadBody"]]) -> SmallProgram:
        """A program of one shape."""
        bodies = shape(self)
        threads = [_Thread(self, number, place) for number, place in enumerate(self.places)]
        for thread, body in zip(threads, bodies, strict=True):
            body(thread)
        return located([thread.finish() for thread in threads], self.spaces)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # Placement

    def put(self, count: int, together: float = 0.45) -> list[Placement]:
        """Places for so many threads, each in the work-group before with that probability."""
        workgroups: list[Placement] = []
        agents = 2 if self.chance(0.25) else 1
        for number in range(count):
            if number and self.mates and self.chance(together):
                mate = workgroups[-1]
                cu = self.random.randrange(2) if self.split else mate.cu
                workgroups.append(replace(mate, cu=cu))
                continue
            own = len({each.workgroup for each in workgroups})
            workgroups.append(
                Placement(
                    workgroup=own,
                    cu=self.random.choice((own, own, 0)),
                    xcd=self.random.choice((own % 2, 0)),
                    agent=self.random.randrange(agents),
                    cluster=own,
                )
            )
        self.places = workgroups
        return workgroups

    def waves(self, place: Placement) -> int:
        """The number of threads in a work-group."""
        return sum(each.workgroup == place.workgroup for each in self.places)

    def scope(self, *places: Placement) -> Scope:
        """Mostly the scope that spans the places, at times a wider, seldom a narrower one."""
        fitting = max((_distance(a, b) for a, b in combinations(places, 2)), default=0)
        drawn = self.random.random()
        shift = 0 if drawn < 0.78 else 1 if drawn < 0.97 else -1
        if fitting + shift == 0 and self.chance(0.1):
            return Scope.CLUSTER
        return SHARING[min(max(fitting + shift, 0), 2)]

    def name(self, name: str, *places: Placement, likely: float = 0.3) -> str:
        """A location for these places: in LDS perhaps, if all are in one work-group."""
        near = len({each.workgroup for each in places}) == 1
        if name in self.spaces or not (self.lds and near and self.chance(likely)):
            return name
        local = f"{name}_lds"
        self.spaces[local] = places[0]
        return local

    # Shapes: what each thread does

    def chain(self) -> list["_ThreadBody"]:
        """Data goes from thread to thread, under flags or barriers, and everyone adds to it."""
        return self._hand_on(self.put(self.random.choice((2, 2, 2, 2, 2, 3, 3, 4))), using=0.7)

    def relay(self) -> list["_ThreadBody"]:
        """One thread signals a second one, which signals a third, for whom the data is."""
        first, own, other = (
            Placement(0),
            Placement(1, 1, 1, cluster=1),
            Placement(2, 0, 1, cluster=2),
        )
        near = replace(first, cu=int(self.split))
        mate = replace(own, cu=0) if self.split else own
        away = Placement(3, 0, 0, 1, 3)
        across = ([away, first, other], [first, own, away], [first, own, other])
        mates = ([first, own, mate], [first, near, own]) if self.mates else ()
        self.places = self.random.choice((*across, *mates, *mates))
        return self._hand_on(self.places, using=0.15)

    def _hand_on(self, places: list[Placement], using: float) -> list["_ThreadBody"]:
        """A chain of threads; those in the middle use the data themselves so probably."""
        links = [
            self._link(a, b, name) for (a, b), name in zip(pairwise(places), _FLAGS, strict=False)
        ]
        data = [
            self.name(name, *places[: self.random.choice((2, 9))])
            for name in _DATA[: 1 if len(places) > 3 else self.random.choice((1, 2, 2))]
        ]

        def steps(thread: _Thread) -> None:
            number = thread.number
            mine = [each for each in data if thread.reaches(each)]
            if number:
                thread.receive(links[number - 1], self.scope(*places[number - 1 : number + 1]))
                thread.noise(0.15)
                last = number + 1 == len(places)
                if last or self.chance(using):  # Others only propagate what they acquired.
                    thread.use(mine, reads=0.75)
            else:
                thread.noise(0.1)
                thread.use(mine, reads=0.0)
            if number + 1 < len(places):
                thread.noise(0.25)
                thread.publish(links[number], self.scope(*places[number : number + 2]))
            thread.noise(0.15)

        return [steps] * len(places)

    def overwrite(self) -> list["_ThreadBody"]:
        """Data is read, each thread signals the next one, and the last overwrites the data.

        The first thread's loads have nothing before them that a compiler would have to respect.
        """
        places = self.put(self.random.choice((2, 2, 2, 3)))
        links = [
            self._link(a, b, name) for (a, b), name in zip(pairwise(places), _FLAGS, strict=False)
        ]
        data = [
            self.name(name, *places, likely=0.15) for name in _DATA[: self.random.choice((1, 2))]
        ]

        def steps(thread: _Thread) -> None:
            number = thread.number
            last = number + 1 == len(places)
            if number:
                thread.receive(links[number - 1], self.scope(*places[number - 1 : number + 1]))
                thread.noise(0.1)
            thread.use(data, reads=0.0 if last else 1.0)
            thread.noise(0.1)
            if not last:
                thread.publish(links[number], self.scope(*places[number : number + 2]))

        return [steps] * len(places)

    def _link(self, a: Placement, b: Placement, flag: str) -> str | None:
        """A flag, or None for a barrier."""
        if a.workgroup == b.workgroup and self.waves(a) == 2 and self.chance(0.4):
            return None
        return self.name(flag, a, b)

    def lock(self) -> list["_ThreadBody"]:
        """All take a lock, and change the data that it guards."""
        places = self.put(self.random.choice((2,) * 9 + (3,)))
        guard = self.name("f", *places)
        data = [self.name(name, *places) for name in _DATA[: self.random.choice((1, 1, 2))]]

        def steps(thread: _Thread) -> None:
            scope = self.scope(*places)
            thread.noise(0.1)
            thread.take(guard, scope)
            thread.use(data, reads=0.6)
            thread.release(guard, 0, scope)
            thread.noise(0.1)

        return [steps] * len(places)

    def counter(self) -> list["_ThreadBody"]:
        """All write, count themselves, and the last one reads the others' writes."""
        places = self.put(self.random.choice((2, 2, 3)))
        count = self.name("f", *places)
        data = [self.name(name, *places) for name in _DATA[: len(places)]]
        scope = self.scope(*places)

        def steps(thread: _Thread) -> None:
            number = thread.number
            thread.write(data[number])
            thread.noise(0.2)
            old = thread.count(count, scope)
            thread.add(When(old, len(places) - 1))
            thread.noise(0.15)
            for name in data:
                thread.read(name)

        return [steps] * len(places)

    def meeting(self) -> list["_ThreadBody"]:
        """A work-group meets at a barrier, exchanges data, and may signal another."""
        count = self.random.choice((2, 2, 3))
        mates = self.put(count, together=1.0)
        outside = self.chance(0.6)
        if outside:
            far = Placement(9, 1, self.random.randrange(2), int(self.chance(0.2)), 9)
            self.places = [*mates, far]
        data = [self.name(name, *mates) for name in _DATA[:count]]
        seen = [name for name in data if name not in self.spaces]
        scope = self.scope(*self.places)

        def steps(thread: _Thread) -> None:
            number = thread.number
            if outside and number == 0 and self.chance(0.4):
                thread.read_flag("g", scope)
            thread.write(data[number])
            thread.noise(0.15)
            thread.meet()
            thread.noise(0.15)
            thread.use([name for name in data if self.chance(0.7)], reads=1.0)
            if outside and number == count - 1:
                thread.publish("f", scope)

        def observer(thread: _Thread) -> None:
            if self.chance(0.4):
                thread.use(["p"], reads=0.0)
                thread.release("g", 1, scope)
            thread.receive("f", scope)
            thread.noise(0.15)
            thread.use(seen, reads=1.0)

        return [*[steps] * count, *([observer] if outside else [])]

    def election(self) -> list["_ThreadBody"]:
        """The waves of a work-group all release, meet, and one or two of them publish for all."""
        count = self.random.choice((2, 2, 3))
        mates = self.put(count, together=1.0)
        far = Placement(9, 1, self.random.randrange(2), int(self.chance(0.2)), 9)
        self.places = [*mates, far]
        data = _DATA[:count]
        scope = self.scope(mates[0], far)
        publishing = self.random.sample(range(count), self.random.choice((1, 1, 1, 2)))
        meets_again = self.chance(0.3)

        def body(number: int) -> _ThreadBody:
            def steps(thread: _Thread) -> None:
                if self.chance(0.65):
                    thread.write(data[number])
                thread.noise(0.1)
                wide = scope if self.chance(0.85) else Scope.WORKGROUP
                thread.add(Fence(self.random.choice(FENCES_BEFORE[2:]), wide))
                thread.add(Barrier(Scope.WORKGROUP, Ordering.RELAXED))
                thread.add(Fence(self.random.choice(FENCES_BEFORE[2:]), wide))
                if meets_again:
                    thread.meet()
                if number in publishing:
                    thread.noise(0.15)
                    thread.publish("fg"[publishing.index(number)], scope)
                thread.noise(0.1)

            return steps

        def observer(thread: _Thread) -> None:
            thread.receive("f", scope)
            thread.use(data, reads=1.0)

        return [*(body(number) for number in range(count)), observer]

    def grid(self) -> list["_ThreadBody"]:
        """A grid barrier: work-groups meet, their leaders count and wait, and all go on."""
        pair = self.mates and self.chance(0.5)
        self.put(2, together=0.0)
        first, second = self.places
        leaders = [first, second]
        self.places = [first, first, second] if pair else leaders
        scope = self.scope(first, second)

        def leader(name: str) -> _ThreadBody:
            def steps(thread: _Thread) -> None:
                thread.write(name)
                if pair and thread.number < 2:
                    thread.meet()
                thread.count("f", scope)
                thread.wait("f", 2, scope)
                if pair and thread.number < 2:
                    thread.meet()
                thread.use(["x", "y"], reads=1.0)

            return steps

        def mate(thread: _Thread) -> None:
            thread.write("z")
            thread.meet()
            thread.meet()
            thread.use(["x", "y"], reads=1.0)

        return [leader("x"), *([mate] if pair else []), leader("y")]

    def dekker(self) -> list["_ThreadBody"]:
        """Each thread raises a flag, and enters if no other has: in order only if seq_cst."""
        places = self.put(2, together=0.3)
        flags = [self.name(name, *places) for name in ("f", "g")]
        data = self.name("x", *places)
        fences = self.chance(0.5)
        scope = self.scope(*places)
        kind = Ordering.RELAXED if fences else Ordering.SEQ_CST

        def steps(thread: _Thread) -> None:
            number = thread.number
            if self.chance(0.3):
                thread.use(["p" if number else "q"], reads=0.3)
            thread.add(Store(flags[number], 1, kind, scope))
            if fences:
                thread.add(Fence(Ordering.SEQ_CST, scope))
                thread.noise(0.2)
            other = thread.load(flags[1 - number], kind, scope)
            thread.add(When(other, 0))
            thread.use([data], reads=0.5)

        return [steps] * 2

    def atomics(self) -> list["_ThreadBody"]:
        """Atomic accesses of every ordering, with fences between: store buffering, IRIW and so
        on."""
        places = self.put(self.random.choice((2, 2, 3, 3, 4)))
        names = [self.name(name, *places) for name in ("f", "g")]
        scope = self.scope(*places)

        def steps(thread: _Thread) -> None:
            for _ in range(2 if len(places) > 2 else self.random.choice((2, 3))):
                thread.atomic(
                    self.random.choice(names), self.scope(*places) if self.chance(0.2) else scope
                )
                thread.noise(0.2)

        return [steps] * len(places)

    def anything(self) -> list["_ThreadBody"]:
        """Accesses of every kind to the same locations; few of these programs have no race."""
        places = self.put(2)
        names = [self.name(name, *places) for name in ("f", "x")]

        def steps(thread: _Thread) -> None:
            for _ in range(self.random.choice((2, 3))):
                name = self.random.choice(names)
                if self.chance(0.25):
                    thread.use([name], reads=0.5)
                else:
                    thread.atomic(name, self.scope(*places))
                thread.noise(0.3)

        return [steps] * len(places)


_SHAPES: Mapping[Callable[[_Maker], list["_ThreadBody"]], int] = MappingProxyType(
    {
        _Maker.chain: 32,
        _Maker.overwrite: 6,
        _Maker.relay: 10,
        _Maker.lock: 10,
        _Maker.counter: 10,
        _Maker.meeting: 12,
        _Maker.grid: 4,
        _Maker.dekker: 7,
        _Maker.atomics: 6,
        _Maker.anything: 3,
    }
)
"""The shapes, and how often each is drawn of a hundred programs."""


def _distance(a: Placement, b: Placement) -> int:
    """The number of the ``SHARING`` scope that two places need."""
    if a.agent != b.agent:
        return 2
    return int(a.workgroup != b.workgroup)


class _Thread:
    """One thread under construction."""

    def __init__(self, maker: _Maker, number: int, place: Placement):
        self.maker = maker
        self.random = maker.random
        self.chance = maker.chance
        self.number = number
        self.place = place
        self.steps: list[Step] = []
        self.registers = 0
        self.values = 0

    def finish(self) -> SmallThread:
        """The thread; some of its accesses are by generic pointers."""
        names = sorted({each.location for each in accesses(tuple(self.steps))})
        generic = frozenset(name for name in names if self.chance(0.12))
        return SmallThread(self.place, tuple(self.steps), generic)

    def add(self, *steps: Step) -> None:
        self.steps += steps

    def register(self) -> str:
        """A new register."""
        self.registers += 1
        return f"r{self.registers - 1}"

    def value(self) -> int:
        """A value that no other store of plain data has, as far as threads are few."""
        self.values += 1
        return self.number * 3 + self.values

    def reaches(self, name: str) -> bool:
        """True if a location is not in the LDS of another work-group."""
        owner = self.maker.spaces.get(name)
        return owner is None or owner.workgroup == self.place.workgroup

    def load(self, name: str, ordering: Ordering, scope: Scope) -> str:
        register = self.register()
        self.add(Load(register, name, ordering, scope))
        return register

    # Plain data

    def use(self, names: Sequence[str], reads: float) -> None:
        """Read and write data."""
        for name in self.random.sample(names, len(names)):
            if reads == 0.0 or not self.chance(reads):
                self.write(name)
                continue
            register = self.read(name)
            self.noise(0.06)
            drawn = self.random.random()
            if reads < 1.0 and drawn < 0.3:
                self.add(Store(name, self.value()))
            elif drawn > 0.92:
                self.add(Store("o", register) if self.chance(0.5) else self.maybe(register, name))

    def maybe(self, register: str, name: str) -> Step:
        """A plain access on one path only."""
        again = self.register()
        taken = (Load(again, name), Store(f"own{self.number}", again))
        return Maybe(register, self.random.choice((0, 1, self.number)), taken)

    def read(self, name: str) -> str:
        """A load of data, mostly plain."""
        register = self.register()
        if self.chance(0.12):
            scope = self.random.choice(SHARING)
            self.add(Load(register, name, Ordering.RELAXED, scope))
        else:
            self.add(Load(register, name, volatile=self.chance(0.03)))
        return register

    def write(self, name: str) -> None:
        """A store of data, mostly plain."""
        drawn = self.random.random()
        if drawn < 0.8:
            self.add(Store(name, self.value()))
        elif drawn < 0.9:
            self.add(Store(name, self.value(), Ordering.RELAXED, self.random.choice(SHARING)))
        elif drawn < 0.95:
            self.add(Store(name, self.value(), volatile=True))
        else:
            self.add(Repeat(2, (Store(name, self.value()),)))

    # Synchronisation

    def publish(self, flag: str | None, scope: Scope) -> None:
        """Raise a flag: a release access, or a fence and a relaxed one; or meet at a barrier."""
        if flag is None:
            self.meet()
            return
        ordering = self.random.choice(STORES)
        if ordering is Ordering.RELAXED:
            self.add(Fence(self.random.choice(FENCES_BEFORE), scope))
        if self.chance(0.7):
            self.add(Store(flag, 1, ordering, scope))
        else:
            kind = RmwKind.XCHG if self.chance(0.5) else RmwKind.ADD
            strong = ordering is Ordering.RELEASE and self.chance(0.5)
            ordering = Ordering.ACQ_REL if strong else ordering
            old = self.register() if self.chance(0.5) else None
            self.add(AtomicRmw(kind, flag, 1, ordering, scope, old))

    def receive(self, flag: str | None, scope: Scope) -> None:
        """Wait for a flag, or look at it once and go on if it is up; or meet at a barrier."""
        if flag is None:
            self.meet()
            return
        if self.chance(0.35):
            self.wait(flag, 1, scope)
            return
        ordering = self.random.choice(LOADS)
        register = self.register()
        if self.chance(0.2):
            ordering = self.random.choice(RMWS)
            self.add(AtomicRmw(RmwKind.ADD, flag, 0, ordering, scope, register))
        elif self.chance(0.1):
            failure = self.random.choice((Ordering.RELAXED, Ordering.ACQUIRE))
            exchange = Cmpxchg(flag, 1, 2, ordering, failure, scope, register)
            if self.chance(0.6):
                failed = self.busy() if self.chance(0.3) else ()
                first = self.early() if self.chance(0.3) else ()
                self.add(Attempt(exchange, failed, first))
            else:
                self.add(Retry(exchange, self.busy() if self.chance(0.3) else ()))
        else:
            self.add(Load(register, flag, ordering, scope))
        guard = When(register, 1)
        if ordering.acquires:
            self.add(guard)
            return
        fence = Fence(self.random.choice(FENCES_BEHIND), scope)
        self.noise(0.1)
        self.add(*((guard, fence) if self.chance(0.5) else (fence, guard)))

    def read_flag(self, flag: str, scope: Scope) -> None:
        """Read a flag that need not be set, perhaps with acquire ordering."""
        self.add(Load(self.register(), flag, self.random.choice(LOADS), scope))

    def wait(self, flag: str, value: int, scope: Scope) -> None:
        """Spin until a flag has a value."""
        ordering = self.random.choice(LOADS)
        self.add(Spin(Load(self.register(), flag, ordering, scope), value))
        if not ordering.acquires:
            self.add(Fence(self.random.choice(FENCES_BEHIND), scope))

    def meet(self) -> None:
        """A barrier of the work-group, or fences around a relaxed one."""
        if self.chance(0.75):
            self.add(Barrier(Scope.WORKGROUP))
            return
        wide = self.random.choice((Scope.WORKGROUP, Scope.WORKGROUP, Scope.AGENT))
        self.add(Fence(self.random.choice(FENCES_BEFORE[2:]), wide))
        self.add(Barrier(Scope.WORKGROUP, Ordering.RELAXED))
        self.add(Fence(self.random.choice(FENCES_BEHIND), wide))

    def take(self, guard: str, scope: Scope) -> None:
        """Take a lock, once or until it succeeds."""
        ordering = self.random.choice(
            (
                Ordering.ACQUIRE,
                Ordering.ACQUIRE,
                Ordering.ACQ_REL,
                Ordering.SEQ_CST,
                Ordering.RELAXED,
            )
        )
        failure = self.random.choice((Ordering.RELAXED, Ordering.RELAXED, Ordering.ACQUIRE))
        register = self.register()
        exchange = Cmpxchg(guard, 0, 1, ordering, failure, scope, register)
        drawn = self.random.random()
        if drawn < 0.5:
            self.add(Retry(exchange, self.busy() if self.chance(0.15) else ()))
        elif drawn < 0.8:
            self.add(Attempt(exchange, self.busy() if self.chance(0.3) else ()))
        else:
            self.add(exchange, When(register, 0))
        if not ordering.acquires:
            self.add(Fence(self.random.choice(FENCES_BEHIND), scope))

    def early(self) -> Steps:
        """Relaxed loads of data, before it is known whether there is any."""
        data = [name for name in _DATA[:2] if name not in self.maker.spaces]
        scope = self.random.choice(SHARING[1:])
        return (Load(self.register(), self.random.choice(data), Ordering.RELAXED, scope),)

    def busy(self) -> Steps:
        """The steps after a failure of a compare-exchange."""
        own = f"own{self.number}"
        return (Load(self.register(), own),) if self.chance(0.7) else (Store(own, self.value()),)

    def release(self, flag: str, value: int, scope: Scope) -> None:
        """Write a flag so that earlier writes are seen with it."""
        ordering = self.random.choice(STORES)
        if ordering is Ordering.RELAXED:
            self.add(Fence(self.random.choice(FENCES_BEFORE), scope))
        if self.chance(0.8):
            self.add(Store(flag, value, ordering, scope))
        else:
            self.add(AtomicRmw(RmwKind.XCHG, flag, value, ordering, scope))

    def count(self, count: str, scope: Scope) -> str:
        """Add one to a counter, both releasing and acquiring; returns the old value."""
        old = self.register()
        drawn = self.random.random()
        if drawn < 0.5:
            self.add(AtomicRmw(RmwKind.ADD, count, 1, Ordering.ACQ_REL, scope, old))
        elif drawn < 0.65:
            self.add(AtomicRmw(RmwKind.ADD, count, 1, Ordering.SEQ_CST, scope, old))
        else:
            self.add(Fence(self.random.choice(FENCES_BEFORE), scope))
            ordering = self.random.choice((Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE))
            self.add(AtomicRmw(RmwKind.ADD, count, 1, ordering, scope, old))
            self.add(Fence(self.random.choice(FENCES_BEHIND), scope))
        return old

    def atomic(self, name: str, scope: Scope) -> None:
        """Some atomic access."""
        drawn = self.random.random()
        if drawn < 0.35:
            self.load(name, self.random.choice(LOADS), scope)
        elif drawn < 0.7:
            self.add(Store(name, self.random.choice((1, 2)), self.random.choice(STORES), scope))
        elif drawn < 0.9:
            kind = self.random.choice((RmwKind.ADD, RmwKind.XCHG, RmwKind.OR))
            old = self.register() if self.chance(0.8) else None
            self.add(AtomicRmw(kind, name, 1, self.random.choice(RMWS), scope, old))
        else:
            ordering = self.random.choice(RMWS)
            failure = self.random.choice((Ordering.RELAXED, Ordering.ACQUIRE, Ordering.SEQ_CST))
            self.add(Cmpxchg(name, 0, 2, ordering, failure, scope, self.register()))

    def noise(self, probability: float) -> None:
        """Synchronisation and accesses that no thread may need."""
        while self.chance(probability):
            scope = self.random.choice((*Scope, Scope.AGENT))
            self.add(self.random.choice(_NOISE)(self, scope))

    def any_fence(self, scope: Scope) -> Step:
        ordering = self.random.choice(FENCES)
        drawn = self.random.random()
        if drawn < 0.1:
            spaces = frozenset({self.random.choice((AddressSpace.GLOBAL, AddressSpace.LOCAL))})
            return Fence(ordering, scope, spaces=spaces)
        if drawn < 0.15:
            return Fence(ordering, scope, one_as=True)
        if drawn < 0.2 and ordering is not Ordering.SEQ_CST:
            return Fence(ordering, scope, availability=Availability.NONE)
        return Fence(ordering, scope)

    def any_rmw(self, scope: Scope) -> Step:
        old = self.register() if self.chance(0.5) else None
        step = AtomicRmw(RmwKind.ADD, self._nobodys(scope), 0, self.random.choice(RMWS), scope, old)
        return Repeat(2, (step,)) if self.chance(0.1) else step

    def any_load(self, scope: Scope) -> Step:
        return Load(self.register(), self._nobodys(scope), self.random.choice(LOADS), scope)

    def any_store(self, scope: Scope) -> Step:
        return Store(self._nobodys(scope), 0, self.random.choice(STORES), scope)

    def own_store(self, scope: Scope) -> Step:
        return Store(f"own{self.number}", self.value())

    def own_load(self, scope: Scope) -> Step:
        return Load(self.register(), f"own{self.number}")

    def _nobodys(self, scope: Scope) -> str:
        """A flag that no thread waits for: all share it if the scope is wide enough."""
        return "n" if scope is Scope.SYSTEM else f"n{self.number}"


_NOISE: tuple[Callable[[_Thread, Scope], Step], ...] = (
    _Thread.any_fence,
    _Thread.any_fence,
    _Thread.any_fence,
    _Thread.any_rmw,
    _Thread.any_load,
    _Thread.any_store,
    _Thread.own_store,
    _Thread.own_load,
)

_ThreadBody: TypeAlias = Callable[[_Thread], None]


# Varied


def varied_program(
    seed: int, *, lds: bool = True, split: bool = False, mates: bool = True
) -> SmallProgram:
    """The program of a seed with changes that ``random_program`` draws seldom or never.

    Ordered accesses come apart into fences and relaxed ones, fences stand back to back with
    other scopes, orderings are for some address spaces only, compare-exchanges fail and acquire
    only where they succeed, and more is outstanding than a counter can count. With LDS, threads
    also have generic pointers that may, for all the passes know, point to LDS. The options are
    those of
    ``random_program``.
    """
    program = random_program(seed, lds=lds, split=split, mates=mates)
    return vary(program, Random(f"varied {seed}"), lds=lds)


def vary(program: SmallProgram, random: Random, *, lds: bool) -> SmallProgram:
    """A program with such changes, as ``random`` draws them; ``lds``: some of them with LDS."""
    return _Variation(random, program, lds).program()


_RUNS = (1, 2, 3, 62, 63, 64, 66)
"""The numbers of accesses in a row; vmcnt counts to 63."""

_RESTRICTIONS = tuple(
    frozenset(each)
    for each in (
        (AddressSpace.GLOBAL,),
        (AddressSpace.LOCAL,),
        (AddressSpace.GENERIC,),
        (AddressSpace.GLOBAL, AddressSpace.LOCAL),
    )
)


class _Variation:
    """Changes to one program."""

    def __init__(self, random: Random, program: SmallProgram, lds: bool):
        self.random = random
        self.original = program
        self.lds = lds

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def program(self) -> SmallProgram:
        """The changed program."""
        spaces = {
            each.name: Placement(each.workgroup)
            for each in self.original.locations
            if each.space is AddressSpace.LOCAL
        }
        threads = [
            self.thread(number, each, spaces) for number, each in enumerate(self.original.threads)
        ]
        return located(threads, spaces)

    def thread(self, number: int, thread: SmallThread, spaces: dict[str, Placement]) -> SmallThread:
        """A changed thread; it may add a location in LDS to ``spaces``."""
        steps = [each for step in thread.steps for each in self.varied(step)]
        if self.chance(0.4):
            steps = self.on_one_path(steps)
        if self.chance(0.3):
            self.acquire_again(number, steps)
        if self.chance(0.2):
            steps[self.random.randint(0, len(steps)) :] = self.run(number)
        generic = thread.generic
        if self.lds and self.chance(0.25):
            spaces[f"l{number}"] = thread.placement
            steps.insert(0, Store(f"l{number}", 1))
            names = sorted({each.location for each in accesses(tuple(steps))})
            generic |= {name for name in names if self.chance(0.7)}
        return SmallThread(thread.placement, tuple(steps), generic)

    def on_one_path(self, steps: list[Step]) -> list[Step]:
        """Move the stores and fences that end a thread to one path; fences may stay before it."""
        place = next((n for n, step in enumerate(steps) if isinstance(step, When)), len(steps))
        tail = steps[place + 1 :]
        if not tail or not all(isinstance(each, Store | Fence) for each in tail):
            return steps
        guard = steps[place]
        assert isinstance(guard, When)
        fences = next(n for n, each in enumerate((*tail, None)) if not isinstance(each, Fence))
        first = self.random.randint(0, fences)
        taken = Maybe(guard.register, guard.value, tuple(tail[first:]))
        return [*steps[:place], *tail[:first], *([taken] if taken.steps else [])]

    def acquire_again(self, number: int, steps: list[Step]) -> None:
        """Put acquire loads of flags that no thread waits for at the end, or on some path."""
        free = 1 + max((int(name[1:]) for name in _registers(tuple(steps))), default=-1)
        scope = self.random.choice(SHARING)
        again = Load(f"r{free}", f"n{number}", Ordering.ACQUIRE, scope)
        if self.chance(0.7):
            steps.append(again)
        loads = [(n, step.dst) for n, step in enumerate(steps) if isinstance(step, Load)]
        if loads:
            place, register = self.random.choice(loads)
            other = replace(again, dst=f"r{free + 1}")
            value = self.random.choice((0, 1))
            steps.insert(place + 1, Maybe(register, value, (other,)))

    def run(self, number: int) -> list[Step]:
        """Accesses in a row of data that no other thread has."""
        return [Store(f"own{number}", 1)] * self.random.choice(_RUNS)

    def varied(self, step: Step) -> Iterator[Step]:
        """The variants that replace a step."""
        match step:
            case Spin(load):
                first, after = self.apart(load, may_fail=False)
                assert isinstance(first, Load)
                yield from (replace(step, load=first), *after)
            case Load() | Store() | AtomicRmw():
                before, (first, after) = self.released(step)
                yield from (*before, first, *after)
            case Cmpxchg():
                yield from self.exchange(step)
            case Fence():
                yield from self.fences(step)
            case _:
                yield step

    def released(self, step: Load | Store | AtomicRmw) -> tuple[Steps, tuple[Access, Steps]]:
        """The fences before an access, and the remaining access with those after it."""
        ordering = step.ordering
        if ordering not in (Ordering.RELEASE, Ordering.ACQ_REL) or not self.chance(0.4):
            return (), self.apart(step)
        assert step.scope is not None
        left = Ordering.RELAXED if ordering is Ordering.RELEASE else Ordering.ACQUIRE
        fence = Fence(Ordering.RELEASE, step.scope)
        return tuple(self.fences(fence)), self.apart(replace(step, ordering=left))

    def apart(self, step: Load | Store | AtomicRmw, may_fail: bool = True) -> tuple[Access, Steps]:
        """The remaining access, and the fences after it; perhaps an exchange that fails."""
        if step.ordering is not Ordering.ACQUIRE or not self.chance(0.4):
            return self.restricted(step), ()
        assert step.scope is not None
        fence = Fence(Ordering.ACQUIRE, step.scope)
        if isinstance(step, Load) and may_fail and self.chance(0.25):
            # It fails, as no flag has that value.
            how = (Ordering.ACQUIRE, Ordering.RELAXED, step.scope, step.dst)
            return Cmpxchg(step.location, 7, 7, *how), tuple(self.fences(fence))
        return replace(step, ordering=Ordering.RELAXED), tuple(self.fences(fence))

    def exchange(self, step: Cmpxchg) -> Iterator[Step]:
        """A compare-exchange that may acquire only where it succeeds, and a fence after it."""
        if not self.chance(0.5):
            yield step
            return
        yield replace(step, failure_ordering=Ordering.RELAXED)
        if self.chance(0.7):
            yield from self.fences(Fence(Ordering.ACQUIRE, step.scope))

    def fences(self, fence: Fence) -> Iterator[Step]:
        """A fence, and perhaps others beside it."""
        found = [self.restricted(fence)]
        while self.chance(0.3):
            other = Fence(self.random.choice(FENCES), self.random.choice(SHARING))
            found.insert(self.random.randint(0, len(found)), self.restricted(other))
        yield from found

    def restricted(self, step: _Ordered) -> _Ordered:
        """An operation that perhaps orders some address spaces only."""
        if step.ordering in (Ordering.WEAK, Ordering.RELAXED) or not self.chance(0.2):
            return step
        if self.chance(0.3):
            return replace(step, one_as=True)
        return replace(step, spaces=self.random.choice(_RESTRICTIONS))


# Smaller


def shrink(program: SmallProgram, fails: Callable[[SmallProgram], bool]) -> SmallProgram:
    """The smallest program that is found by leaving things out of one that ``fails`` and still
    does."""
    while True:
        smaller = next((each for each in _smaller(program) if fails(each)), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: SmallProgram) -> Iterator[SmallProgram]:
    """The program with one thing left out, in turn, where the rest is still defined."""
    for number, thread in enumerate(program.threads):
        for steps in ((), *_without_one(thread.steps)):
            if steps != thread.steps and is_defined(steps):
                yield _with(program, number, replace(thread, steps=steps))
        if thread.generic:
            yield _with(program, number, replace(thread, generic=frozenset[str]()))


def _with(program: SmallProgram, number: int, thread: SmallThread) -> SmallProgram:
    threads = (*program.threads[:number], thread, *program.threads[number + 1 :])
    used = {each.location for other in threads for each in accesses(other.steps)}
    return SmallProgram(threads, tuple(each for each in program.locations if each.name in used))


def _without_one(steps: Steps) -> Iterator[Steps]:
    for place, step in enumerate(steps):
        before, after = steps[:place], steps[place + 1 :]
        yield before + after
        match step:
            case Maybe() | Repeat():
                yield before + step.steps + after
                for inner in _without_one(step.steps):
                    yield (*before, replace(step, steps=inner), *after)
            case Spin():
                yield (*before, step.load, When(step.load.dst, step.value), *after)
            case Retry():
                yield (*before, Attempt(step.exchange), *after)
                yield (*before, replace(step, busy=()), *after)
            case Attempt():
                yield (*before, replace(step, failed=()), *after)
                yield (*before, replace(step, first=()), *after)
            case _:
                pass


def is_defined(steps: Steps) -> bool:
    """True if every register that the steps read has been set before on every path."""
    return _defined(steps, set())


def _defined(steps: Steps, known: set[str]) -> bool:
    for step in steps:
        if any(each not in known for each in operands_of(step) if isinstance(each, str)):
            return False
        match step:
            case Maybe():
                if not _defined(step.steps, set(known)):
                    return False
            case Repeat():
                if not _defined(step.steps, known):
                    return False
            case Spin():
                known.add(step.load.dst)
            case Retry():
                known.update(_written(step.exchange))
                if not _defined(step.busy, set(known)):
                    return False
            case Attempt():
                known.update(_written(step.exchange))
                if not _defined(step.first, known) or not _defined(step.failed, set(known)):
                    return False
            case Load() | AtomicRmw() | Cmpxchg():
                known.update(_written(step))
            case _:
                pass
    return True


def _registers(steps: Steps) -> Iterator[str]:
    """Every register that the steps set."""
    for operation in operations(steps):
        if isinstance(operation, Load | AtomicRmw | Cmpxchg):
            yield from _written(operation)


def _written(operation: Load | AtomicRmw | Cmpxchg) -> tuple[str, ...]:
    return () if operation.dst is None else (operation.dst,)


def operands_of(step: Step) -> tuple[Operand, ...]:
    """The registers and constants that a step itself reads."""
    match step:
        case When() | Maybe():
            return (step.register,)
        case Store() | AtomicRmw():
            return (step.value,)
        case Cmpxchg() | Retry() | Attempt():
            exchange = step if isinstance(step, Cmpxchg) else step.exchange
            return (exchange.compare, exchange.new)
        case _:
            return ()
