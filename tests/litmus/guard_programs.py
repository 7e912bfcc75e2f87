"""Small programs that need a guard of a pass: without it, what the pass makes of them is wrong.

Each is named by what it does; ``test_guards`` says for which guards it is.
"""

from collections.abc import Sequence

from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.simulator.program import Placement
from fencewright.simulator.random_programs import (
    Maybe,
    SmallProgram,
    SmallThread,
    Step,
    When,
    located,
)
from fencewright.simulator.source_events import (
    Cmpxchg,
    Fence,
    Load,
    Store,
)

RELAXED, ACQUIRE, RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
ACQ_REL, SEQ_CST = Ordering.ACQ_REL, Ordering.SEQ_CST
WORKGROUP, AGENT, SYSTEM = Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM
GLOBAL, LOCAL, GENERIC = AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC

HERE, FAR = Placement(), Placement(1, 1, 1, cluster=1)
THIRD = Placement(2, 2, 0, cluster=2)
ABROAD = Placement(3, 0, 0, 1, 3)


def thread(place: Placement, *steps: Step, generic: Sequence[str] = ()) -> SmallThread:
    """A thread; it reaches ``generic`` locations by generic pointers."""
    return SmallThread(place, steps, frozenset(generic))


def program(*threads: SmallThread, lds: Sequence[str] = ()) -> SmallProgram:
    """The program of these threads; the locations in ``lds`` are in LDS of the first one."""
    return located(threads, dict.fromkeys(lds, threads[0].placement))


def data(value: int = 1) -> Store:
    """A plain store of what is handed on."""
    return Store("x", value)


def raised(ordering: Ordering = RELEASE, scope: Scope = AGENT, flag: str = "f") -> Store:
    """A flag that goes up."""
    return Store(flag, 1, ordering, scope)


def looked(ordering: Ordering = ACQUIRE, scope: Scope = AGENT, flag: str = "f") -> Load:
    """A look at a flag."""
    return Load("r0", flag, ordering, scope)


UP = When("r0", 1)
WRITER = thread(HERE, data(), raised())
READER = thread(FAR, looked(), UP, Load("r1", "x"))
LAST = thread(THIRD, looked(flag="g"), UP, Load("r1", "x"))
OWN = Store("own", 1)

PROGRAMS: dict[str, SmallProgram] = {
    "more accesses behind a flag's read than can be counted": program(
        thread(HERE, Store("x", 1, RELAXED, AGENT), raised()),
        thread(FAR, looked(RELAXED), *[OWN] * 66, Fence(ACQUIRE, AGENT),
               Load("r1", "x", RELAXED, AGENT)),
    ),
    "a flat store to LDS before a flag in LDS": program(
        thread(HERE, data(), Fence(RELEASE, WORKGROUP, spaces=frozenset({LOCAL})),
               raised(RELAXED, WORKGROUP), generic=["x"]),
        thread(HERE, looked(ACQUIRE, WORKGROUP), UP, Load("r1", "x")),
        lds=["x", "f"],
    ),
    "an invalidate that a release before one of two ways waits for": program(
        thread(ABROAD, data(), raised(RELEASE, SYSTEM)),
        thread(HERE, Load("r1", "h", RELAXED, AGENT), looked(ACQUIRE, SYSTEM), UP,
               Fence(RELEASE, AGENT), Maybe("r1", 0, (raised(RELAXED, AGENT, "g"),)),
               Load("r2", "h", ACQUIRE, SYSTEM)),
        LAST,
    ),
    "release, acquire, release": program(
        WRITER,
        thread(FAR, looked(RELAXED), Fence(RELEASE, AGENT), Fence(ACQUIRE, AGENT),
               Fence(RELEASE, AGENT), UP, raised(RELAXED, flag="g")),
        LAST,
    ),
    "a fence of both halves before a wider acquire": program(
        WRITER,
        thread(FAR, looked(RELAXED), Fence(ACQ_REL, AGENT), Fence(ACQUIRE, SYSTEM), UP,
               raised(RELAXED, flag="g")),
        LAST,
    ),
    "a fence of both halves behind a wider release": program(
        WRITER,
        thread(FAR, looked(RELAXED), Fence(RELEASE, SYSTEM), Fence(ACQ_REL, AGENT), UP,
               raised(RELAXED, flag="g")),
        LAST,
    ),
    "an acquire fence behind an exchange that failed": program(
        WRITER,
        thread(FAR, Cmpxchg("f", 2, 3, ACQUIRE, RELAXED, AGENT, "r0"), Fence(ACQUIRE, AGENT), UP,
               Load("r1", "x")),
    ),
    "a fence of generic memory orders LDS": program(
        thread(HERE, data(), Fence(ACQ_REL, AGENT, spaces=frozenset({GENERIC})), raised(RELAXED)),
        thread(HERE, looked(), UP, Load("r1", "x")),
        lds=["x"],
    ),
    "an invalidate that one of two ways to the same place needs": program(
        WRITER,
        thread(FAR, looked(), Maybe("r0", 0, (Load("r2", "g", ACQUIRE, AGENT),)), UP,
               Load("r1", "x")),
    ),
    "an invalidate that a release in its block waits for": program(
        thread(ABROAD, data(), raised(RELEASE, SYSTEM)),
        thread(HERE, looked(ACQUIRE, SYSTEM), Fence(RELEASE, AGENT),
               Maybe("r0", 1, (raised(RELAXED, AGENT, "g"),)), Load("r2", "h", ACQUIRE, SYSTEM)),
        LAST,
    ),
    "another kernel's stores taken in behind the back of a write-back": program(
        WRITER,
        thread(THIRD, looked(RELAXED), Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "h"),
               Fence(ACQUIRE, AGENT), Fence(RELEASE, SYSTEM), UP, raised(RELAXED, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
}  # fmt: skip
