"""Small programs that need a guard of a pass: without it, what the pass makes of them is wrong.

Each is named by what it does; ``test_guards`` says for which guards it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.core.program import Placement
from fencewright.simulator.random.programs import (
    Maybe,
    SmallProgram,
    SmallThread,
    Step,
    When,
    located,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
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
    """A plain store of what is released."""
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
    "a mate reads narrowly what was stored widely, and raises a flag": program(
        thread(HERE, Store("x", 1, RELAXED, AGENT)),
        thread(HERE, Load("r0", "x", RELAXED, WORKGROUP), raised()),
        thread(FAR, looked(), Load("r1", "x", RELAXED, AGENT)),
    ),
    "a release before one of two ways, of which the other ends": program(
        thread(HERE, Load("r2", "h", RELAXED, AGENT), data(), Fence(RELEASE, AGENT),
               When("r2", 0), raised(RELAXED)),
        READER,
    ),
    "release, acquire, release": program(
        WRITER,
        thread(FAR, looked(RELAXED), Fence(RELEASE, AGENT), Fence(ACQUIRE, AGENT),
               Fence(RELEASE, AGENT), UP, raised(RELAXED, flag="g")),
        LAST,
    ),
    "a store between two releases": program(
        thread(HERE, Fence(RELEASE, AGENT), data(), Fence(RELEASE, AGENT), raised(RELAXED)),
        READER,
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
    "an invalidate that a release behind a store waits for": program(
        thread(ABROAD, data(), raised(RELEASE, SYSTEM)),
        thread(HERE, looked(ACQUIRE, SYSTEM),
               Maybe("r0", 1, (OWN, Fence(RELEASE, AGENT),
                               Maybe("r0", 1, (raised(RELAXED, AGENT, "g"),)))),
               Load("r2", "h", ACQUIRE, SYSTEM)),
        LAST,
    ),
    "another kernel's stores taken in behind the back of a write-back": program(
        WRITER,
        thread(THIRD, looked(RELAXED), Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "h"),
               Fence(ACQUIRE, AGENT), Fence(RELEASE, SYSTEM), UP, raised(RELAXED, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
}  # fmt: skip

NOT_GLOBAL = frozenset({LOCAL})
"""What an operation orders that does nothing for locations in global memory."""


def passed_on(*steps: Step) -> SmallProgram:
    """The steps where x may be acquired before them, and is released after them."""
    return program(
        WRITER, thread(FAR, looked(RELAXED), *steps, UP, raised(RELAXED, flag="g")), LAST
    )


def handed_on(*steps: Step) -> SmallProgram:
    """The steps of a thread that has data and raises a flag itself."""
    return program(thread(HERE, data(), *steps), READER)


def taken_in(*steps: Step) -> SmallProgram:
    """The steps of a thread that looks at a flag by itself."""
    return program(WRITER, thread(FAR, *steps, UP, Load("r1", "x")))


_ACQUIRE, _RELEASE, _SEQ_CST = (Fence(each, AGENT) for each in (ACQUIRE, RELEASE, SEQ_CST))
_AT_ONCE = thread(HERE, Store("x", 1, RELAXED, AGENT), raised())
_RESTRICTIONS: dict[str, dict[str, Any]] = {
    "of LDS only": {"spaces": NOT_GLOBAL},
    "that makes nothing available": {"availability": Availability.NONE},
}

PROGRAMS.update({
    # What a restricted operation does proves nothing, before or after.
    **{
        f"a release {how}, then a whole one": handed_on(
            replace(_RELEASE, **how_), _RELEASE, raised(RELAXED))
        for how, how_ in _RESTRICTIONS.items()
    },
    **{
        f"a release, then one {how}": handed_on(
            _RELEASE, replace(_RELEASE, **how_), raised(RELAXED))
        for how, how_ in _RESTRICTIONS.items()
    },
    **{
        f"an acquire {how}, then a whole one": taken_in(
            looked(RELAXED), replace(_ACQUIRE, **how_), _ACQUIRE)
        for how, how_ in _RESTRICTIONS.items()
    },
    **{
        f"an acquire, then one {how}": taken_in(
            looked(RELAXED), _ACQUIRE, replace(_ACQUIRE, **how_))
        for how, how_ in _RESTRICTIONS.items()
    },
    **{
        f"an acquire fence behind a flag's read {how}": taken_in(
            replace(looked(), **how_), _ACQUIRE)
        for how, how_ in _RESTRICTIONS.items()
    },
    **{
        f"a release fence before a flag {how}": handed_on(
            _RELEASE, replace(raised(), **how_))
        for how, how_ in _RESTRICTIONS.items()
    },
    "a release of each space on its own, then a whole one": program(
        thread(HERE, data(), Fence(RELEASE, WORKGROUP, one_as=True), Fence(RELEASE, WORKGROUP),
               raised(RELAXED, WORKGROUP)),
        thread(HERE, looked(ACQUIRE, WORKGROUP), UP, Load("r1", "x")),
        lds=["x"],
    ),
    "a release, then one of each space on its own": program(
        thread(HERE, data(), Fence(RELEASE, WORKGROUP), Fence(RELEASE, WORKGROUP, one_as=True),
               raised(RELAXED, WORKGROUP)),
        thread(HERE, looked(ACQUIRE, WORKGROUP), UP, Load("r1", "x")),
        lds=["x"],
    ),
    "an acquire fence behind a flag's read of its own space": program(
        thread(HERE, data(), raised(RELEASE, WORKGROUP)),
        thread(HERE, replace(looked(ACQUIRE, WORKGROUP), one_as=True), Fence(ACQUIRE, WORKGROUP),
               UP, Load("r1", "x")),
        lds=["x"],
    ),
    "a release fence before a flag of its own space": program(
        thread(HERE, data(), Fence(RELEASE, WORKGROUP),
               replace(raised(RELEASE, WORKGROUP), one_as=True)),
        thread(HERE, looked(ACQUIRE, WORKGROUP), UP, Load("r1", "x")),
        lds=["x"],
    ),
    "fences around a barrier of LDS only": program(
        thread(HERE, data(), Fence(RELEASE, WORKGROUP), Barrier(WORKGROUP, spaces=NOT_GLOBAL)),
        thread(HERE, Barrier(WORKGROUP, spaces=NOT_GLOBAL), Fence(ACQUIRE, WORKGROUP),
               Load("r1", "x")),
    ),
    # What one acquires, the others release.
    "acquire, release, a wider acquire": passed_on(_ACQUIRE, _RELEASE, Fence(ACQUIRE, SYSTEM)),
    "seq_cst, a wider acquire, seq_cst": passed_on(_SEQ_CST, Fence(ACQUIRE, SYSTEM), _SEQ_CST),
    "a wider acquire between seq_cst and a seq_cst store": program(
        thread(ABROAD, data(), raised(RELEASE, SYSTEM)),
        thread(FAR, looked(RELAXED, SYSTEM), _SEQ_CST, Fence(ACQUIRE, SYSTEM), UP,
               raised(SEQ_CST, flag="g")),
        LAST,
    ),
    "a wider release between an acquire and a seq_cst load": program(
        WRITER,
        thread(FAR, Cmpxchg("f", 1, 2, RELAXED, RELAXED, AGENT, "r0"), _ACQUIRE,
               Fence(RELEASE, SYSTEM), Load("r2", "n", SEQ_CST, AGENT), UP,
               raised(RELAXED, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
    "an acquire fence behind an exchange that succeeded": program(
        WRITER,
        thread(FAR, Cmpxchg("f", 1, 2, RELAXED, ACQUIRE, AGENT, "r0"), _ACQUIRE, UP,
               Load("r1", "x")),
    ),
    "an exchange that acquires where it fails": taken_in(
        Cmpxchg("f", 7, 8, RELAXED, ACQUIRE, AGENT, "r0")),
    "fences of LDS around a relaxed barrier": program(
        thread(HERE, data(), Fence(RELEASE, AGENT, spaces=NOT_GLOBAL), Barrier(WORKGROUP, RELAXED)),
        thread(HERE, Barrier(WORKGROUP, RELAXED), Fence(ACQUIRE, AGENT, spaces=NOT_GLOBAL),
               Load("r1", "x")),
        lds=["x"],
    ),
    "a release fence, a flag, and another one that is not released": handed_on(
        _RELEASE, raised(RELAXED, flag="g"), raised(RELAXED)),
    "an acquire fence behind a seq_cst read and another one": taken_in(
        looked(RELAXED), Load("r2", "g", SEQ_CST, AGENT), _ACQUIRE),
    "a release fence before a seq_cst store and another one": handed_on(
        _RELEASE, raised(SEQ_CST, flag="g"), raised(RELAXED)),
    # Where paths part and join.
    "seq_cst at the end of a block, and behind a read in the next": taken_in(
        looked(RELAXED), _SEQ_CST, UP, Load("r2", "x", RELAXED, AGENT), _SEQ_CST),
    "seq_cst before a store in its block, and in the next": program(
        thread(HERE, _SEQ_CST, Load("r0", "z"), Store("h", 1, RELAXED, AGENT), When("r0", 0), _SEQ_CST,
               Load("r1", "i", RELAXED, AGENT)),
        thread(FAR, Store("i", 1, RELAXED, AGENT), _SEQ_CST, Load("r1", "h", RELAXED, AGENT)),
    ),
    "a release before a branch, and another one on one of its paths": program(
        thread(HERE, Load("r0", "z"), data(), _RELEASE,
               Maybe("r0", 1, (OWN, _RELEASE, raised(RELAXED, flag="g"))), raised(RELAXED)),
        READER,
    ),
    "seq_cst before a branch, and wider where its paths join": program(
        thread(HERE, Load("r0", "z"), data(), _SEQ_CST, Maybe("r0", 0, (raised(RELAXED), _SEQ_CST)),
               Load("r1", "i", SEQ_CST, SYSTEM), Fence(SEQ_CST, SYSTEM), Maybe("r0", 1, (OWN,))),
        READER,
    ),
    "seq_cst in two blocks, and a store between": program(
        thread(HERE, Load("r0", "z"), _SEQ_CST, When("r0", 0), data(), _SEQ_CST, raised(RELAXED)),
        READER,
    ),
    "a release fence, then an exchange that acquires": program(
        WRITER,
        thread(FAR, Load("r2", "z", RELAXED, AGENT), _SEQ_CST, AtomicRmw(RmwKind.ADD, "f", 0, ACQUIRE, AGENT, "r0"), UP,
               Load("r1", "x")),
    ),
    "an update that releases, then seq_cst": program(
        thread(HERE, data(), AtomicRmw(RmwKind.ADD, "f", 1, RELEASE, AGENT, "r2"), _SEQ_CST),
        READER,
    ),
    # Updates that nobody uses the result of.
    "an update, then an acquire fence": program(
        _AT_ONCE,
        thread(FAR, AtomicRmw(RmwKind.ADD, "f", 2, RELAXED, AGENT), _ACQUIRE,
               Load("r1", "x", RELAXED, AGENT)),
    ),
    "an update, then a branch to an acquire fence": program(
        _AT_ONCE,
        thread(FAR, Load("r0", "z"), AtomicRmw(RmwKind.ADD, "f", 2, RELAXED, AGENT), When("r0", 0),
               _ACQUIRE, Load("r1", "x", RELAXED, AGENT)),
    ),
    "an update, then an acquire fence two branches on": program(
        _AT_ONCE,
        thread(FAR, Load("r0", "z"), AtomicRmw(RmwKind.ADD, "f", 2, RELAXED, AGENT),
               Maybe("r0", 1, (OWN,)), When("r0", 0), _ACQUIRE, Load("r1", "x", RELAXED, AGENT)),
    ),
    "an update that acquires": program(
        _AT_ONCE,
        thread(FAR, AtomicRmw(RmwKind.ADD, "f", 2, ACQUIRE, AGENT), Load("r1", "x", RELAXED, AGENT)),
    ),
})  # fmt: skip

# Of the caches

PROGRAMS.update({
    "a flag taken in behind one that has been looked at": program(
        WRITER,
        thread(THIRD, Load("r2", "i", RELAXED, AGENT), looked(RELAXED), Store("own", "r2"),
               Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "h"),
               Fence(ACQUIRE, AGENT), Fence(RELEASE, SYSTEM), UP, raised(RELAXED, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
    "a mate's store handed on behind a write-back": program(
        thread(HERE, data(), raised(RELEASE, WORKGROUP)),
        thread(HERE, Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "h"),
               looked(ACQUIRE, WORKGROUP), UP, raised(RELEASE, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
    "a release for the agent, then one for the system": program(
        thread(HERE, data(), Fence(RELEASE, AGENT), raised(RELAXED, SYSTEM, "h"),
               Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
    "received for a mate who invalidates between two barriers": program(
        thread(FAR, data(), raised()),
        thread(HERE, Barrier(WORKGROUP), looked(), Store("m", "r0"), Barrier(WORKGROUP)),
        thread(HERE, Barrier(WORKGROUP), Load("r3", "h", ACQUIRE, AGENT), Barrier(WORKGROUP),
               Load("r4", "m"), When("r4", 1), Load("r1", "x")),
    ),
    "another kernel's stores taken in behind a write-back": program(
        WRITER,
        thread(THIRD, Fence(RELEASE, SYSTEM), raised(RELAXED, SYSTEM, "h"), looked(), UP,
               raised(RELEASE, SYSTEM, "g")),
        thread(ABROAD, looked(ACQUIRE, SYSTEM, "g"), UP, Load("r1", "x")),
    ),
})  # fmt: skip

# Waves of a work-group that meet between two fences.


def met(scope: Scope = AGENT) -> tuple[Step, ...]:
    """A barrier that orders nothing by itself, between fences."""
    return (Fence(ACQ_REL, scope), Barrier(WORKGROUP, RELAXED), Fence(ACQ_REL, scope))


TWO = (Load("r1", "x"), Load("r2", "y"))

PROGRAMS.update({
    "every wave releases before a barrier, one publishes": program(
        thread(HERE, data(), *met()),
        thread(HERE, Store("y", 1), *met(), raised()),
        thread(FAR, looked(), UP, *TWO),
    ),
    "every wave releases to the system before a barrier, one publishes": program(
        thread(HERE, data(), *met(SYSTEM)),
        thread(HERE, Store("y", 1), *met(SYSTEM), raised(RELEASE, SYSTEM)),
        thread(ABROAD, looked(ACQUIRE, SYSTEM), UP, *TWO),
    ),
    "one wave releases before a barrier, another one publishes": program(
        thread(HERE, data(), *met()),
        thread(HERE, *met(WORKGROUP), raised()),
        thread(FAR, looked(), UP, Load("r1", "x")),
    ),
    "every wave releases before a barrier and publishes before it and after": program(
        thread(HERE, data(), Fence(RELEASE, AGENT), raised(RELAXED, flag="g"), *met()),
        thread(HERE, Store("y", 1), *met(), raised()),
        thread(FAR, looked(flag="g"), UP, Load("r1", "x"), Load("r3", "f", RELAXED, AGENT)),
    ),
    "every wave releases before a barrier, each publishes": program(
        thread(HERE, data(), *met(), raised(flag="g")),
        thread(HERE, Store("y", 1), *met(), raised()),
        thread(FAR, looked(), UP, *TWO),
        thread(THIRD, looked(flag="g"), UP, *TWO),
    ),
    "every wave releases before a barrier, one publishes after the next": program(
        thread(HERE, data(), *met(), Barrier(WORKGROUP)),
        thread(HERE, Store("y", 1), *met(), Barrier(WORKGROUP), raised()),
        thread(FAR, looked(), UP, *TWO),
    ),
    "every wave releases before a barrier, one publishes on one of two ways": program(
        thread(HERE, data(), *met()),
        thread(HERE, Load("r3", "h", RELAXED, AGENT), Store("y", 1), *met(),
               Maybe("r3", 0, (raised(),))),
        thread(FAR, looked(), UP, *TWO),
    ),
    "every wave releases before a barrier, one publishes twice": program(
        thread(HERE, data(), *met()),
        thread(HERE, Store("y", 1), *met(), raised(flag="g"), Store("own", 1), raised()),
        thread(FAR, looked(), UP, *TWO),
    ),
    "a wave publishes in its work-group what another one hands on": program(
        thread(HERE, data(), *met(), raised(RELEASE, WORKGROUP, "g")),
        thread(HERE, Store("y", 1), *met(), looked(ACQUIRE, WORKGROUP, "g"), UP, raised()),
        thread(FAR, looked(), UP, *TWO),
    ),
})  # fmt: skip
