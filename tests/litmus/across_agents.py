"""Random programs in which data goes over two agents or three, at another scope on each leg.

What a thread in the middle acquired at one scope it releases at another, with branches,
fences and accesses of its own between: the caches between the agents and those within one are
kept coherent by different instructions, and a pass may move each of them for itself.
"""

from dataclasses import replace
from random import Random

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.program import Placement
from fencewright.simulator.random.programs import (
    FENCES,
    FENCES_BEFORE,
    FENCES_BEHIND,
    LOADS,
    SHARING,
    Attempt,
    Maybe,
    Repeat,
    SmallProgram,
    SmallThread,
    Spin,
    Step,
    Steps,
    When,
    located,
    vary,
)
from fencewright.simulator.source.events import AtomicRmw, Cmpxchg, Fence, Load, Store

_HERE = Placement()
_MATE = _HERE
_NEAR = Placement(1, 1, 1, cluster=1)
_ABROAD = Placement(2, 0, 0, 1, 2)
_BEYOND = Placement(3, 1, 1, 2, 3)

_PLACES: tuple[tuple[Placement, Placement, Placement], ...] = (
    (_ABROAD, _HERE, _NEAR),
    (_ABROAD, _HERE, _NEAR),
    (_ABROAD, _HERE, _NEAR),
    (_ABROAD, _HERE, _NEAR),
    (_HERE, _NEAR, _ABROAD),
    (_HERE, _NEAR, _ABROAD),
    (_ABROAD, _HERE, _BEYOND),
    (_ABROAD, _HERE, _MATE),
    (_HERE, _MATE, _ABROAD),
    (_HERE, _ABROAD, _NEAR),
)
"""The places of the writer, of the thread in the middle, and of the reader."""


def across_program(
    seed: int, *, lds: bool = True, split: bool = False, mates: bool = True
) -> SmallProgram:
    """The program of a seed: three threads over two agents or three.

    ``lds``: some of it in LDS. ``split``: waves of one work-group on several CUs (tgsplit).
    ``mates``: work-groups of several waves. A third of the programs are varied too
    (``programs.vary``).
    """
    random = Random(f"across {seed}")
    program = _Across(random, split, mates).program()
    return vary(program, random, lds=lds) if random.random() < 0.33 else program


class _Across:
    """Makes one program."""

    def __init__(self, random: Random, split: bool, mates: bool):
        self.random = random
        self.registers = 0
        fitting = [each for each in _PLACES if mates or len({p.workgroup for p in each}) == 3]
        writer, middle, reader = random.choice(fitting)
        if split and reader.workgroup == middle.workgroup:
            reader = replace(reader, cu=reader.cu + 1)
        if split and writer.workgroup == middle.workgroup:
            middle = replace(middle, cu=middle.cu + 1)
        self.places = (writer, middle, reader)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def program(self) -> SmallProgram:
        """The writer raises f, the thread in the middle g, after which the reader uses the data."""
        writer, middle, reader = self.places
        first, second = _scope(writer, middle), _scope(middle, reader)
        data = ("x", "y")[: self.random.choice((1, 1, 2))]
        threads: list[SmallThread] = []
        for place, steps in (
            (writer, self.writing(data, first)),
            (middle, self.between(first, second)),
            (reader, self.reading(data, second)),
        ):
            threads.append(SmallThread(place, steps))
            self.registers = 0
        return located(threads, {})

    def register(self) -> str:
        self.registers += 1
        return f"r{self.registers - 1}"

    # Threads

    def writing(self, data: tuple[str, ...], scope: Scope) -> Steps:
        """Store the data and raise f."""
        return (
            *(Store(name, 1) for name in data),
            *self.noise(0.1, "own0"),
            *self.raised("f", scope),
        )

    def reading(self, data: tuple[str, ...], scope: Scope) -> Steps:
        """Look at g, and read the data or overwrite it if it is up."""
        used: list[Step] = [
            Store(name, 2) if self.chance(0.25) else Load(self.register(), name) for name in data
        ]
        return (*self.waited("g", scope), *self.noise(0.1, "own2"), *used)

    def between(self, first: Scope, second: Scope) -> Steps:
        """Look at f, and raise g if it is up, either there or on one of several ways."""
        if self.chance(0.25):
            return (*self.waited("f", first), *self.noise(0.4, "own1"), *self.passed_on(second))
        register, looks = self.look("f", first)
        steps = [*self.noise(0.4, "own1"), *self.passed_on(second)]
        # Each way is inside the one before, and begins later.
        ways = self.random.sample(range(len(steps)), min(len(steps), self.ways()))
        for place in sorted(ways, reverse=True):
            steps[place:] = [Maybe(register, 1, tuple(steps[place:])), *self.noise(0.1, "own1")]
        return (*looks, *steps, *self.afterwards())

    def ways(self) -> int:
        return self.random.choice((1, 2, 2))

    def afterwards(self) -> Steps:
        """An acquire or a fence at the end of all ways, which makes earlier ones unneeded there."""
        if self.chance(0.3):
            return ()
        if self.chance(0.3):
            return (Fence(self.random.choice(FENCES), self.any_scope()),)
        scope = self.random.choice((Scope.AGENT, Scope.SYSTEM, Scope.SYSTEM))
        return (Load(self.register(), "h", Ordering.ACQUIRE, scope),)

    # Parts

    def passed_on(self, scope: Scope) -> Steps:
        """Raise g, after a fence that may have something between."""
        if self.chance(0.3):
            return (Store("g", 1, Ordering.RELEASE, scope),)
        fence = Fence(self.random.choice(FENCES_BEFORE), scope)
        return (fence, *self.noise(0.15, "own1"), Store("g", 1, Ordering.RELAXED, scope))

    def raised(self, flag: str, scope: Scope) -> Steps:
        """A release store, or a fence and a relaxed one; at times a read-modify-write."""
        if self.chance(0.4):
            fence = Fence(self.random.choice(FENCES_BEFORE), scope)
            return (fence, Store(flag, 1, Ordering.RELAXED, scope))
        if self.chance(0.2):
            return (AtomicRmw(RmwKind.XCHG, flag, 1, Ordering.RELEASE, scope),)
        return (Store(flag, 1, Ordering.RELEASE, scope),)

    def look(self, flag: str, scope: Scope) -> tuple[str, Steps]:
        """The register that a flag is read into, and the read, which acquires."""
        register = self.register()
        acquires = self.chance(0.65)
        ordering = Ordering.ACQUIRE if acquires else Ordering.RELAXED
        after = () if acquires else (Fence(self.random.choice(FENCES_BEHIND), scope),)
        if self.chance(0.12):
            return register, (AtomicRmw(RmwKind.ADD, flag, 0, ordering, scope, register), *after)
        return register, (Load(register, flag, ordering, scope), *after)

    def waited(self, flag: str, scope: Scope) -> Steps:
        """A look at a flag, a loop or an exchange, after which the thread goes on only if it is
        up."""
        drawn = self.random.random()
        register, (look, *after) = self.look(flag, scope)
        if drawn < 0.12 and isinstance(look, Load):
            return (Spin(look, 1), *after)
        if drawn < 0.22 and isinstance(look, Load):
            exchange = Cmpxchg(flag, 1, 2, look.ordering, Ordering.RELAXED, scope, register)
            return (Attempt(exchange), *after)
        guard = When(register, 1)
        return (look, *((guard, *after) if self.chance(0.5) else (*after, guard)))

    def noise(self, probability: float, own: str) -> Steps:
        """Accesses and fences between that the data does not need."""
        steps: list[Step] = []
        while self.chance(probability):
            steps.append(self.any_step(own))
        return tuple(steps)

    def any_step(self, own: str) -> Step:
        """A fence, or an access that no other thread's result depends on."""
        drawn = self.random.random()
        scope = self.any_scope()
        if drawn < 0.4:
            return Fence(self.random.choice(FENCES), scope)
        if drawn < 0.7:
            store = Store(own, 1)
            return Repeat(2, (store,)) if self.chance(0.1) else store
        if drawn < 0.85:
            return Load(self.register(), own)
        if drawn < 0.95:
            return Store(
                f"n{own}", 1, self.random.choice((Ordering.RELAXED, Ordering.RELEASE)), scope
            )
        return Load(self.register(), "h", self.random.choice(LOADS), scope)

    def any_scope(self) -> Scope:
        return self.random.choice((*SHARING, Scope.AGENT))


def _scope(a: Placement, b: Placement) -> Scope:
    """The narrowest scope that has both places."""
    if a.agent != b.agent:
        return Scope.SYSTEM
    return Scope.WORKGROUP if a.workgroup == b.workgroup else Scope.AGENT
