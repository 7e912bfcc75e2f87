"""Litmus tests of the source language: what it allows, forbids, and leaves without a meaning.

``x`` and ``y`` are global data, ``f`` and ``g`` global flags, ``l`` and ``k`` are in LDS of
work-group 0. Threads of one work-group are different waves.
"""

from dataclasses import dataclass

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.core.condition import parse_condition
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Location,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedProgram,
    Store,
)

WEAK, RELAXED, ACQUIRE, RELEASE, ACQ_REL, SC = Ordering
WAVE, GROUP, AGENT, SYSTEM = Scope.WAVEFRONT, Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM
LOCAL, GLOBAL = frozenset({AddressSpace.LOCAL}), frozenset({AddressSpace.GLOBAL})
NONE = Availability.NONE

GROUP0, GROUP1, GROUP2, GROUP3 = (Placement(workgroup=i) for i in range(4))
OTHER_AGENT = Placement(workgroup=4, agent=1)
Code = tuple[ScopedInstruction, ...]
Where = tuple[Placement, ...]
APART: Where = (GROUP0, GROUP1, GROUP2, GROUP3)
TOGETHER: Where = (GROUP0, GROUP0, GROUP0, GROUP0)


def load(dst: str, location: str, ordering: Ordering = RELAXED, scope: Scope = AGENT) -> Load:
    """An atomic load, or a weak one."""
    return Load(dst, location, ordering, None if ordering is WEAK else scope)


def store(
    location: str, value: int | str, ordering: Ordering = RELAXED, scope: Scope = AGENT
) -> Store:
    """An atomic store, or a weak one."""
    return Store(location, value, ordering, None if ordering is WEAK else scope)


def add(
    location: str, value: int, ordering: Ordering = RELAXED, scope: Scope = AGENT, dst: str = "u"
) -> AtomicRmw:
    """An atomic addition."""
    return AtomicRmw(RmwKind.ADD, location, value, ordering, scope, dst)


def fence(ordering: Ordering = SC, scope: Scope = AGENT) -> Fence:
    """A fence of every address space."""
    return Fence(ordering, scope)


def guarded(register: str, *code: ScopedInstruction) -> Code:
    """``code``, if ``register`` is not zero."""
    end = f"skip_{register}"
    return (Branch(end, register, unless=True), *code, Label(end))


def program(name: str, where: Where, *threads: Code) -> ScopedProgram:
    """A program over all the locations."""
    code = [instruction for thread in threads for instruction in thread]
    used = {getattr(each, "location", None) for each in code}
    locations = [Location(each) for each in "xyfg"]
    locations += [Location(each, space=AddressSpace.LOCAL) for each in "lk"]
    placed = zip(where, threads, strict=False)
    return Program(
        tuple(each for each in locations if each.name in used),
        tuple(Thread(placement, instructions) for placement, instructions in placed),
        name=name,
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A litmus test; ``race`` is part of the reason why it has no meaning, "" if it has one."""

    test: LitmusTest[ScopedInstruction]
    race: str = ""

    @property
    def name(self) -> str:
        """What tests call it."""
        return self.test.program.name


def case(name: str, condition: str, *threads: Code, where: Where = APART, race: str = "") -> Case:
    """A case from its parts."""
    return Case(LitmusTest(program(name, where, *threads), parse_condition(condition)), race)


def racy(name: str, reason: str, *threads: Code, where: Where = APART) -> Case:
    """A case whose program races, so that its condition says nothing."""
    return case(name, "exists (true)", *threads, where=where, race=reason)


def message(
    publish: Code,
    consume: Code,
    data: str = "x",
    read: Load | None = None,
    write: Store | None = None,
) -> tuple[Code, Code]:
    """Message passing: weak data, a flag ``f`` stored by ``publish``, loaded to a by ``consume``."""
    reading = load("b", data, WEAK) if read is None else read
    writing = store(data, 1, WEAK) if write is None else write
    return (writing, *publish), (*consume, *guarded("a", reading))


SEEN = "forall (1:a == 0 \\/ 1:b == 1)"
PUBLISH, CONSUME = (store("f", 1, RELEASE),), (load("a", "f", ACQUIRE),)
REL, ACQ = fence(RELEASE), fence(ACQUIRE)
FLAG, SEE = store("f", 1), load("a", "f")


def spin(lock: ScopedInstruction, until: str) -> Code:
    """``lock`` again and again until register ``until`` is not zero."""
    return (Label("again"), lock, Branch("again", until, unless=True))


def critical(acquire: Ordering = ACQUIRE, release: Ordering = RELEASE) -> Code:
    """Take the lock f, add one to the weak x by load and store, give the lock back."""
    lock = Cmpxchg("f", 0, 1, acquire, RELAXED, AGENT, success="ok")
    bump = Arithmetic(ArithmeticKind.ADD, "n", "a", 1)
    body = (load("a", "x", WEAK), bump, store("x", "n", WEAK))
    return (*spin(lock, "ok"), *body, store("f", 0, release))


def chain(middle: Code) -> tuple[Code, Code, Code]:
    """A release store of 1, a thread that turns the flag into 2, a reader that waits for 2."""
    is_two = Arithmetic(ArithmeticKind.EQ, "c", "a", 2)
    return (
        (store("x", 1, WEAK), store("f", 1, RELEASE)),
        middle,
        (load("a", "f", ACQUIRE), is_two, *guarded("c", load("b", "x", WEAK))),
    )


BUMP = (Cmpxchg("f", 1, 2, RELAXED, RELAXED, AGENT, dst="u"),)
HANDED_ON = "forall (2:a != 2 \\/ 2:b == 1)"


def relay(first: Scope, second: Scope) -> tuple[Code, Code, Code]:
    """A signals to B at one scope, B signals to C at another; C reads what A wrote."""
    return (
        (store("x", 1, WEAK), store("f", 1, RELEASE, first)),
        (load("a", "f", ACQUIRE, first), *guarded("a", store("g", 1, RELEASE, second))),
        (load("b", "g", ACQUIRE, second), *guarded("b", load("c", "x", WEAK))),
    )


def relay_unseen(tell: Store, learn: Load) -> tuple[Code, Code, Code]:
    """A relay whose middle does not make visible what it acquires."""
    return (
        (store("x", 1, WEAK), *PUBLISH),
        (Load("a", "f", ACQUIRE, AGENT, availability=NONE), *guarded("a", tell)),
        (learn, *guarded("b", load("c", "x", WEAK))),
    )


RELAYED = "forall (2:b == 0 \\/ 2:c == 1)"
CLOSE_THEN_FAR: Where = (GROUP0, GROUP0, GROUP1)
FAR_THEN_CLOSE: Where = (GROUP0, GROUP1, GROUP1)


def exchanged(read: Load, scope: Scope) -> tuple[Code, Code, Code]:
    """A chain in which the middle acquires and releases at once, and the last fences at ``scope``."""
    written = store("x", 1, read.ordering)
    is_two = Arithmetic(ArithmeticKind.EQ, "c", "a", 2)
    return (
        (written, store("f", 1, RELEASE)),
        (Cmpxchg("f", 1, 2, ACQ_REL, ACQUIRE, AGENT, dst="u"),),
        (SEE, fence(ACQUIRE, scope), is_two, *guarded("c", read)),
    )


def limited(
    spaces: frozenset[AddressSpace] | None = None,
    one_as: bool = False,
    availability: Availability = Availability.FULL,
    scope: Scope = GROUP,
) -> tuple[Fence, Fence]:
    """A release and an acquire fence that are limited alike."""
    release = Fence(RELEASE, scope, spaces=spaces, one_as=one_as, availability=availability)
    acquire = Fence(ACQUIRE, scope, spaces=spaces, one_as=one_as, availability=availability)
    return release, acquire


def across(data: str, release: Fence, acquire: Fence) -> tuple[Code, Code]:
    """Weak data handed over through fences around a relaxed barrier."""
    barrier = Barrier(GROUP, RELAXED)
    return (
        (store(data, 1, WEAK), release, barrier),
        (barrier, acquire, load("b", data, WEAK)),
    )


def through(flag: str, data: str, release: Fence, acquire: Fence) -> tuple[Code, Code]:
    """Weak data handed over through fences and a relaxed flag."""
    return (
        (store(data, 1, WEAK), release, store(flag, 1, scope=GROUP)),
        (load("a", flag, scope=GROUP), acquire, *guarded("a", load("b", data, WEAK))),
    )


def quiet(
    publish: Availability = NONE,
    consume: Availability = NONE,
    data: str = "x",
    read: Load | None = None,
    write: Store | None = None,
) -> tuple[Code, Code]:
    """Message passing with operations that may order without availability."""
    release = Store("f", 1, RELEASE, AGENT, availability=publish)
    acquire = Load("a", "f", ACQUIRE, AGENT, availability=consume)
    return message((release,), (acquire,), data, read, write)


def scatter(middle: Code, last: Code) -> tuple[Code, ...]:
    """Two writers, two readers of x and y in opposite orders."""
    return (
        (store("x", 1),),
        (store("y", 1),),
        (load("a", "x"), *middle, load("b", "y")),
        (load("a", "y"), *last, load("b", "x")),
    )


def buffering(between: Code) -> tuple[Code, Code]:
    """Two threads that each write one location and then read the other."""
    return (
        (store("x", 1), *between, load("a", "y")),
        (store("y", 1), *between, load("b", "x")),
    )


SB_WEAK = "(0:a == 0 /\\ 1:b == 0)"
IRIW_WEAK = "(2:a == 1 /\\ 2:b == 0 /\\ 3:a == 1 /\\ 3:b == 0)"
FENCE = (fence(),)

CASES: tuple[Case, ...] = (
    # Message passing
    case("MP+rel+acq", SEEN, *message(PUBLISH, CONSUME)),
    case("MP+fences", SEEN, *message((REL, FLAG), (SEE, ACQ))),
    case("MP+rel+fence", SEEN, *message(PUBLISH, (SEE, ACQ))),
    case("MP+fence+acq", SEEN, *message((REL, FLAG), CONSUME)),
    case("MP+sc", SEEN, *message((store("f", 1, SC),), (load("a", "f", SC),))),
    racy("MP+rlx+acq", "both are weak", *message((FLAG,), CONSUME)),
    racy("MP+rel+rlx", "both are weak", *message(PUBLISH, (SEE,))),
    racy("MP+rlx", "both are weak", *message((FLAG,), (SEE,))),
    racy("MP+acq-fence-first", "both are weak", *message(PUBLISH, (ACQ, SEE))),
    racy("MP+rel-fence-last", "both are weak", *message((FLAG, REL), CONSUME)),
    racy(
        "MP+no-branch",
        "both are weak",
        (store("x", 1, WEAK), *PUBLISH),
        (*CONSUME, load("b", "x", WEAK)),
    ),
    racy("weak-flag", "both are weak", *message((store("f", 1, WEAK),), (load("a", "f", WEAK),))),
    racy("weak+atomic", "P0's access is weak", (store("x", 1, WEAK),), (load("a", "x"),)),
    racy("weak-writes", "both are weak", (store("x", 1, WEAK),), (store("x", 2, WEAK),)),
    case(
        "weak-reads",
        "forall (0:a == 0 /\\ 1:a == 0)",
        (load("a", "x", WEAK),),
        (load("a", "x", WEAK),),
    ),
    case(
        "MP+atomic-data",
        "exists (1:a == 1 /\\ 1:b == 0)",
        (store("x", 1), FLAG),
        (SEE, load("b", "x")),
    ),
    case(
        "MP+spin",
        "forall (1:b == 1)",
        (store("x", 1, WEAK), *PUBLISH),
        (*spin(load("a", "f", ACQUIRE), "a"), load("b", "x", WEAK)),
    ),
    # Store buffering, load buffering, independent reads, write orders
    case("SB", f"exists {SB_WEAK}", *buffering(())),
    case("SB+fences", f"~exists {SB_WEAK}", *buffering(FENCE)),
    case("SB+acq_rel-fences", f"exists {SB_WEAK}", *buffering((fence(ACQ_REL),))),
    case(
        "SB+sc",
        f"~exists {SB_WEAK}",
        (store("x", 1, SC), load("a", "y", SC)),
        (store("y", 1, SC), load("b", "x", SC)),
    ),
    case(
        "SB+rel+acq",
        f"exists {SB_WEAK}",
        (store("x", 1, RELEASE), load("a", "y", ACQUIRE)),
        (store("y", 1, RELEASE), load("b", "x", ACQUIRE)),
    ),
    case(
        "SB+rmw-sc",
        "~exists (0:u == 0 /\\ 1:u == 0)",
        (store("x", 1, SC), add("y", 0, SC)),
        (store("y", 1, SC), add("x", 0, SC)),
    ),
    case(
        "SB+fence+sc",
        f"~exists {SB_WEAK}",
        (store("x", 1), *FENCE, load("a", "y")),
        (store("y", 1, SC), load("b", "x", SC)),
    ),
    case(
        "LB",
        "exists (0:a == 1 /\\ 1:b == 1)",
        (load("a", "x"), store("y", 1)),
        (load("b", "y"), store("x", 1)),
    ),
    case(
        "LB+data",
        "~exists (0:a == 1 \\/ 1:b == 1)",
        (load("a", "x"), store("y", "a")),
        (load("b", "y"), store("x", "b")),
    ),
    case(
        "LB+ctrl",
        "~exists (0:a == 1 /\\ 1:b == 1)",
        (load("a", "x"), *guarded("a", store("y", 1))),
        (load("b", "y"), *guarded("b", store("x", 1))),
    ),
    case(
        "LB+xchg",
        "exists (0:a == 1 /\\ 1:b == 1)",
        (load("a", "x"), store("y", "a")),
        (AtomicRmw(RmwKind.XCHG, "y", 1, RELAXED, AGENT, "u"), load("b", "y"), store("x", "b")),
    ),
    case(
        "LB+rel+acq",
        "~exists (0:a == 1 /\\ 1:b == 1)",
        (load("a", "x", ACQUIRE), store("y", 1, RELEASE)),
        (load("b", "y", ACQUIRE), store("x", 1, RELEASE)),
    ),
    case("IRIW", f"exists {IRIW_WEAK}", *scatter((), ())),
    case("IRIW+acq", f"exists {IRIW_WEAK}", *scatter((ACQ,), (ACQ,))),
    case("IRIW+fences", f"~exists {IRIW_WEAK}", *scatter(FENCE, FENCE)),
    case(
        "IRIW+sc",
        f"~exists {IRIW_WEAK}",
        (store("x", 1, SC),),
        (store("y", 1, SC),),
        (load("a", "x", SC), load("b", "y", SC)),
        (load("a", "y", SC), load("b", "x", SC)),
    ),
    case(
        "2+2W",
        "exists (x == 1 /\\ y == 1)",
        (store("x", 1), store("y", 2)),
        (store("y", 1), store("x", 2)),
    ),
    case(
        "2+2W+fences",
        "~exists (x == 1 /\\ y == 1)",
        (store("x", 1), *FENCE, store("y", 2)),
        (store("y", 1), *FENCE, store("x", 2)),
    ),
    case(
        "S+rel+acq",
        "~exists (1:a == 1 /\\ x == 2)",
        (store("x", 2), store("y", 1, RELEASE)),
        (load("a", "y", ACQUIRE), store("x", 1)),
    ),
    case(
        "S+rlx",
        "exists (1:a == 1 /\\ x == 2)",
        (store("x", 2), store("y", 1)),
        (load("a", "y"), store("x", 1)),
    ),
    case(
        "R+fences",
        "~exists (y == 2 /\\ 1:a == 0)",
        (store("x", 1), *FENCE, store("y", 1)),
        (store("y", 2), *FENCE, load("a", "x")),
    ),
    case(
        "R+rel+acq",
        "exists (y == 2 /\\ 1:a == 0)",
        (store("x", 1), store("y", 1, RELEASE)),
        (store("y", 2), load("a", "x", ACQUIRE)),
    ),
    case(
        "WRC+rel+acq",
        "~exists (1:a == 1 /\\ 2:b == 1 /\\ 2:c == 0)",
        (store("x", 1),),
        (load("a", "x"), store("y", 1, RELEASE)),
        (load("b", "y", ACQUIRE), load("c", "x")),
    ),
    case(
        "WRC+rlx",
        "exists (1:a == 1 /\\ 2:b == 1 /\\ 2:c == 0)",
        (store("x", 1),),
        (load("a", "x"), store("y", 1)),
        (load("b", "y"), load("c", "x")),
    ),
    case(
        "ISA2",
        "~exists (1:a == 1 /\\ 2:b == 1 /\\ 2:c == 0)",
        (store("x", 1), store("y", 1, RELEASE)),
        (load("a", "y", ACQUIRE), store("f", 1, RELEASE)),
        (load("b", "f", ACQUIRE), load("c", "x")),
    ),
    # Coherence of one location
    case(
        "CoRR",
        "~exists (1:a == 1 /\\ 1:b == 0)",
        (store("x", 1),),
        (load("a", "x"), load("b", "x")),
    ),
    case(
        "CoRR2",
        "~exists (2:a == 1 /\\ 2:b == 2 /\\ 3:a == 2 /\\ 3:b == 1)",
        (store("x", 1),),
        (store("x", 2),),
        (load("a", "x"), load("b", "x")),
        (load("a", "x"), load("b", "x")),
    ),
    case("CoWW", "forall (x == 2)", (store("x", 1), store("x", 2))),
    case("CoWR", "~exists (0:a == 0)", (store("x", 1), load("a", "x")), (store("x", 2),)),
    case(
        "CoWR2", "~exists (0:a == 2 /\\ x == 1)", (store("x", 1), load("a", "x")), (store("x", 2),)
    ),
    case("CoRW", "~exists (0:a == 1)", (load("a", "x"), store("x", 1))),
    case(
        "CoRW2", "~exists (0:a == 2 /\\ x == 2)", (load("a", "x"), store("x", 1)), (store("x", 2),)
    ),
    # Read-modify-writes and release sequences
    case("RMW", "forall (x == 3)", (add("x", 1),), (add("x", 1),), (add("x", 1),)),
    case("RMW+store", "~exists (0:u == 0 /\\ x == 1)", (add("x", 1),), (store("x", 2),)),
    case(
        "cas",
        "~exists (0:ok == 1 /\\ 1:ok == 1)",
        *(
            (
                Cmpxchg("x", 0, 1, RELAXED, RELAXED, AGENT, success="ok"),
                Cmpxchg("y", 0, 1, RELAXED, RELAXED, AGENT),
            ),
        )
        * 2,
    ),
    case("chain", HANDED_ON, *chain(BUMP)),
    case("chain+wide", HANDED_ON, *chain((Cmpxchg("f", 1, 2, SC, ACQUIRE, SYSTEM, dst="u"),))),
    racy("chain+store", "both are weak", *chain((load("u", "f"), *guarded("u", store("f", 2))))),
    racy(
        "release-then-store",
        "both are weak",
        (store("x", 1, WEAK), store("f", 1, RELEASE), store("f", 2)),
        (load("a", "f", ACQUIRE), *guarded("a", load("b", "x", WEAK))),
    ),
    case("lock", "forall (x == 2)", critical(), critical()),
    racy("lock+rlx", "both are weak", critical(acquire=RELAXED), critical()),
    racy("unlock+rlx", "both are weak", critical(release=RELAXED), critical(release=RELAXED)),
    case(
        "failed-acquire",
        "forall (1:a == 0 \\/ 1:b == 1)",
        *message(PUBLISH, (Cmpxchg("f", 7, 8, RELAXED, ACQUIRE, AGENT, dst="a"),)),
    ),
    racy(
        "failed-relaxed",
        "both are weak",
        *message(PUBLISH, (Cmpxchg("f", 7, 8, ACQUIRE, RELAXED, AGENT, dst="a"),)),
    ),
    case("weak-cas", "exists (x == 0)", (Cmpxchg("x", 0, 1, RELAXED, RELAXED, AGENT, weak=True),)),
    case("strong-cas", "forall (x == 1)", (Cmpxchg("x", 0, 1, RELAXED, RELAXED, AGENT),)),
    # Barriers
    case(
        "barrier",
        "forall (0:b == 1 /\\ 1:b == 1)",
        (store("x", 1, WEAK), Barrier(GROUP), load("b", "y", WEAK)),
        (store("y", 1, WEAK), Barrier(GROUP), load("b", "x", WEAK)),
        where=TOGETHER,
    ),
    case(
        "barriers",
        "forall (1:b == 1 /\\ x == 2)",
        (store("x", 1, WEAK), Barrier(GROUP), Barrier(GROUP), store("x", 2, WEAK)),
        (Barrier(GROUP), load("b", "x", WEAK), Barrier(GROUP)),
        where=TOGETHER,
    ),
    racy(
        "barrier+late",
        "both are weak",
        (Barrier(GROUP), store("x", 1, WEAK)),
        (Barrier(GROUP), load("b", "x", WEAK)),
        where=TOGETHER,
    ),
    racy(
        "barrier+apart",
        "both are weak",
        (store("x", 1, WEAK), Barrier(GROUP)),
        (Barrier(GROUP), load("b", "x", WEAK)),
    ),
    case(
        "barrier.agent",
        "forall (1:b == 1)",
        (store("x", 1, WEAK), Barrier(AGENT)),
        (Barrier(AGENT), load("b", "x", WEAK)),
    ),
    racy(
        "barrier.relaxed",
        "both are weak",
        (store("x", 1, WEAK), Barrier(GROUP, RELAXED)),
        (Barrier(GROUP, RELAXED), load("b", "x", WEAK)),
        where=TOGETHER,
    ),
    case("barrier.relaxed+fences", "forall (1:b == 1)", *across("x", *limited()), where=TOGETHER),
    case(
        "barrier+leader",
        "forall (2:b == 0 \\/ 2:c == 1)",
        (store("x", 1, WEAK), Barrier(GROUP)),
        (Barrier(GROUP), store("f", 1, RELEASE)),
        (load("b", "f", ACQUIRE), *guarded("b", load("c", "x", WEAK))),
        where=CLOSE_THEN_FAR,
    ),
    # Scopes
    case(
        "MP.group",
        SEEN,
        *message((store("f", 1, RELEASE, GROUP),), (load("a", "f", ACQUIRE, GROUP),)),
        where=TOGETHER,
    ),
    racy(
        "MP.group+apart",
        "scope workgroup of P0 does not reach P1 in another work-group",
        *message((store("f", 1, RELEASE, GROUP),), (load("a", "f", ACQUIRE, GROUP),)),
    ),
    racy(
        "MP.one-side",
        "scope workgroup of P0 does not reach",
        *message((store("f", 1, RELEASE, GROUP),), CONSUME),
    ),
    case("MP.mixed", SEEN, *message((store("f", 1, RELEASE, GROUP),), CONSUME), where=TOGETHER),
    racy(
        "MP.agent+agents",
        "scope agent of P0 does not reach P1 in another agent",
        *message(PUBLISH, CONSUME),
        where=(GROUP0, OTHER_AGENT),
    ),
    case(
        "MP.system+agents",
        SEEN,
        *message((store("f", 1, RELEASE, SYSTEM),), (load("a", "f", ACQUIRE, SYSTEM),)),
        where=(GROUP0, OTHER_AGENT),
    ),
    racy("MP.group-fence", "both are weak", *message((fence(RELEASE, GROUP), FLAG), (SEE, ACQ))),
    racy(
        "wave",
        "scope wavefront of P0 does not reach P1 in another wave",
        (store("x", 1, RELAXED, WAVE),),
        (load("a", "x", RELAXED, WAVE),),
        where=TOGETHER,
    ),
    case("SB+group-fences", f"exists {SB_WEAK}", *buffering((fence(SC, GROUP),))),
    case(
        "SB+group-fences+together",
        f"~exists {SB_WEAK}",
        *buffering((fence(SC, GROUP),)),
        where=TOGETHER,
    ),
    case("U2", RELAYED, *relay(GROUP, AGENT), where=CLOSE_THEN_FAR),
    case("U2.down", RELAYED, *relay(AGENT, GROUP), where=FAR_THEN_CLOSE),
    case("U2.same", RELAYED, *relay(AGENT, AGENT), where=CLOSE_THEN_FAR),
    # The halves of a read-modify-write
    case(
        "exchange",
        "exists (2:a == 2 /\\ 2:b == 0)",
        *exchanged(load("b", "x"), GROUP),
        where=FAR_THEN_CLOSE,
    ),
    racy("exchange+weak", "weak", *exchanged(load("b", "x", WEAK), GROUP), where=FAR_THEN_CLOSE),
    case("exchange+wide", HANDED_ON, *exchanged(load("b", "x", WEAK), AGENT), where=FAR_THEN_CLOSE),
    case(
        "exchange+learned-before",
        RELAYED,
        (store("x", 1, WEAK), *PUBLISH),
        (*CONSUME, *guarded("a", add("g", 1, ACQ_REL))),
        (load("b", "g"), fence(ACQUIRE, GROUP), *guarded("b", load("c", "x", WEAK))),
        where=FAR_THEN_CLOSE,
    ),
    # Address spaces: l and k are in LDS
    case("local", SEEN, *through("k", "l", *limited()), where=TOGETHER),
    case("U3", SEEN, *through("f", "l", *limited()), where=TOGETHER),
    case("across.local", "forall (1:b == 1)", *across("l", *limited(LOCAL)), where=TOGETHER),
    racy(
        "across.local+global-data", "both are weak", *across("x", *limited(LOCAL)), where=TOGETHER
    ),
    racy(
        "across.other-spaces",
        "both are weak",
        *across("l", limited(LOCAL)[0], limited(GLOBAL)[1]),
        where=TOGETHER,
    ),
    case("across.one-as", "forall (1:b == 1)", *across("l", *limited(one_as=True)), where=TOGETHER),
    racy("U3.local", "both are weak", *through("f", "l", *limited(LOCAL)), where=TOGETHER),
    case("through.global", SEEN, *through("f", "x", *limited(GLOBAL)), where=TOGETHER),
    racy("U3.one-as", "both are weak", *through("f", "l", *limited(one_as=True)), where=TOGETHER),
    case("through.one-as", SEEN, *through("f", "x", *limited(one_as=True)), where=TOGETHER),
    racy(
        "MP.one-as",
        "both are weak",
        *message(
            (Store("f", 1, RELEASE, GROUP, one_as=True),), (load("a", "f", ACQUIRE, GROUP),), "l"
        ),
        where=TOGETHER,
    ),
    case(
        "MP.global-one-as",
        SEEN,
        *message((Store("f", 1, RELEASE, GROUP, one_as=True),), (load("a", "f", ACQUIRE, GROUP),)),
        where=TOGETHER,
    ),
    case(
        "SB+local-fences",
        "exists (0:a == 0 /\\ 1:b == 0)",
        *buffering((Fence(SC, AGENT, spaces=LOCAL),)),
    ),
    # One order of seq_cst over address spaces, past what a release of one space orders
    case(
        "SC.one-as-release",
        "exists (1:a == 1 /\\ l == 2)",
        (store("l", 2, SC, GROUP), Store("f", 1, RELEASE, GROUP, one_as=True)),
        (load("a", "f", RELAXED, GROUP), fence(SC, GROUP), store("l", 1, RELAXED, GROUP)),
        where=TOGETHER,
    ),
    case(
        "SC.global-release",
        "exists (1:u == 2 /\\ l == 1)",
        (store("l", 1, SC, GROUP), Store("f", 2, RELEASE, GROUP, spaces=GLOBAL)),
        (AtomicRmw(RmwKind.XCHG, "f", 1, SC, GROUP, "u"), store("l", 2, SC, GROUP)),
        where=TOGETHER,
    ),
    case(
        "SC.whole-release",
        "~exists (1:u == 2 /\\ l == 1)",
        (store("l", 1, SC, GROUP), store("f", 2, RELEASE, GROUP)),
        (AtomicRmw(RmwKind.XCHG, "f", 1, SC, GROUP, "u"), store("l", 2, SC, GROUP)),
        (Store("x", 1, RELEASE, GROUP, spaces=GLOBAL),),
        where=TOGETHER,
    ),
    case(
        "SC.own-space-release",
        "~exists (1:u == 2 /\\ x == 1)",
        (store("x", 1, SC, GROUP), Store("f", 2, RELEASE, GROUP, spaces=GLOBAL)),
        (AtomicRmw(RmwKind.XCHG, "f", 1, SC, GROUP, "u"), store("x", 2, SC, GROUP)),
        (store("l", 1, RELAXED, GROUP),),
        where=TOGETHER,
    ),
    case(
        "SB.two-spaces",
        "~exists (0:a == 0 /\\ 1:b == 0)",
        (store("x", 1, SC, GROUP), load("a", "l", SC, GROUP)),
        (store("l", 1, SC, GROUP), load("b", "x", SC, GROUP)),
        (Store("f", 1, RELEASE, GROUP, one_as=True),),
        where=TOGETHER,
    ),
    case(
        "SB.two-spaces+whole-release",
        "~exists (1:c == 1 /\\ 1:a == 0 /\\ 2:b == 0)",
        (store("l", 1, SC, GROUP), store("f", 1, RELEASE, GROUP)),
        (load("c", "f", ACQUIRE, GROUP), load("a", "x", SC, GROUP)),
        (
            store("x", 1, SC, GROUP),
            load("b", "l", SC, GROUP),
            fence(SC, GROUP),
            Store("f", 2, RELEASE, GROUP, one_as=True),
        ),
        where=TOGETHER,
    ),
    case(
        "SB.two-spaces+one-as-release",
        "exists (1:c == 1 /\\ 1:a == 0 /\\ 2:b == 0)",
        (store("l", 1, SC, GROUP), Store("f", 1, RELEASE, GROUP, one_as=True)),
        (load("c", "f", ACQUIRE, GROUP), load("a", "x", SC, GROUP)),
        (store("x", 1, SC, GROUP), load("b", "l", SC, GROUP)),
        where=TOGETHER,
    ),
    # Availability
    racy(
        "MP.av-none",
        "av(none) leaves",
        *message(
            (Store("f", 1, RELEASE, AGENT, availability=NONE),),
            (Load("a", "f", ACQUIRE, AGENT, availability=NONE),),
        ),
    ),
    racy("MP.av-none+acq", "av(none) leaves", *quiet(consume=Availability.FULL)),
    racy("MP.rel+av-none", "av(none) leaves", *quiet(publish=Availability.FULL)),
    case("MP.av-none+atomic-data", SEEN, *quiet(read=load("b", "x"), write=store("x", 1))),
    case(
        "MP.av-none+volatile-data",
        SEEN,
        *quiet(read=Load("b", "x", volatile=True), write=Store("x", 1, volatile=True)),
    ),
    racy("MP.av-none+volatile-read", "av(none) leaves", *quiet(read=Load("b", "x", volatile=True))),
    case("MP.av-none+local-data", SEEN, *quiet(data="l"), where=TOGETHER),
    racy(
        "MP.av-none+narrow-data",
        "av(none) leaves",
        *quiet(read=load("b", "x", RELAXED, GROUP), write=store("x", 1, RELAXED, GROUP)),
    ),
    case(
        "WAR.av-none",
        "forall (0:b == 0)",
        (load("b", "x", WEAK), Store("f", 1, RELEASE, AGENT, availability=NONE)),
        (Load("a", "f", ACQUIRE, AGENT, availability=NONE), *guarded("a", store("x", 1, WEAK))),
    ),
    racy(
        "relay.av-none",
        "av(none) leaves",
        (store("x", 1, WEAK), Store("f", 1, RELEASE, GROUP, availability=NONE)),
        *relay(GROUP, AGENT)[1:],
        where=CLOSE_THEN_FAR,
    ),
    # An acquire at agent scope makes visible what one without did not, but not an acquire in LDS.
    case(
        "relay.av-none+acq",
        RELAYED,
        *relay_unseen(store("g", 1, RELEASE), load("b", "g", ACQUIRE)),
        where=(GROUP1, GROUP0, GROUP0),
    ),
    racy(
        "relay.av-none+lds",
        "av(none) leaves",
        *relay_unseen(store("l", 1, RELEASE), load("b", "l", ACQUIRE)),
        where=(GROUP1, GROUP0, GROUP0),
    ),
    case(
        "relay.own-available",
        RELAYED,
        (Store("x", 1, volatile=True), Store("f", 1, RELEASE, GROUP, availability=NONE)),
        *relay(GROUP, AGENT)[1:],
        where=CLOSE_THEN_FAR,
    ),
)

BY_NAME = {each.name: each for each in CASES}
