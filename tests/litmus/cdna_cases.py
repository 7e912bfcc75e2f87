"""Litmus tests on the CDNA machine: the classic shapes, the chips' own rules, and real bugs.

Each case says what must be reachable (``exists``) or must not be (``~exists``), on one
configuration. ``x`` and ``y`` are data, ``f`` is a flag.
"""

from dataclasses import dataclass

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.machine import ABSENT, PlainLine, PlainState
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.wave import CompiledProgram, WaveRules
from fencewright.simulator.core.condition import parse_condition
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Location,
    MemoryKind,
    Placement,
    Program,
    Thread,
)

Code = tuple[CdnaInstruction, ...]

GFX908 = CdnaConfiguration("gfx908")
GFX90A = CdnaConfiguration("gfx90a")
GFX942 = CdnaConfiguration("gfx942")
GFX942_ONE = CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE)
GFX942_SPLIT = CdnaConfiguration("gfx942", tgsplit=True)
GFX950 = CdnaConfiguration("gfx950")

XCD0, XCD1, XCD2, XCD3 = (Placement(workgroup=i, xcd=i) for i in range(4))
CU0, CU1 = Placement(workgroup=0, cu=0), Placement(workgroup=1, cu=1)
SPLIT0, SPLIT1 = Placement(workgroup=0, cu=0), Placement(workgroup=0, cu=1)
AGENT0, AGENT1 = Placement(workgroup=0, agent=0), Placement(workgroup=1, agent=1)

VM, LGKM = Wait(vmcnt=0), Wait(lgkmcnt=0)
WB, INV = CacheInstruction("buffer_wbl2", ("sc1",)), CacheInstruction("buffer_inv", ("sc1",))
WB_SYSTEM = CacheInstruction("buffer_wbl2", ("sc0", "sc1"))
INV_SYSTEM = CacheInstruction("buffer_inv", ("sc0", "sc1"))
INV_GROUP = CacheInstruction("buffer_inv", ("sc0",))
OLD_WB = CacheInstruction("buffer_wbl2")
OLD_INV_L1 = CacheInstruction("buffer_wbinvl1_vol")
OLD_INV_L2 = CacheInstruction("buffer_invl2")

RELEASE: Code = (WB, VM)
ACQUIRE: Code = (VM, INV)
FENCE: Code = (WB, VM, INV)


def load(dst: str, location: str, *bits: str) -> VectorLoad:
    """A global load with cache policy ``bits``."""
    return VectorLoad(dst, location, bits)


def store(location: str, value: int | str, *bits: str) -> VectorStore:
    """A global store with cache policy ``bits``."""
    return VectorStore(location, value, bits)


class TwoAtATime(WaveRules):
    """Small counters: two operations are outstanding in each at most."""

    def __init__(self, compiled: CompiledProgram):
        super().__init__(compiled)
        self.most = (2,) * len(self.most)


@dataclass(frozen=True, slots=True)
class Case:
    """A litmus test on a configuration."""

    test: LitmusTest[CdnaInstruction]
    configuration: CdnaConfiguration

    @property
    def name(self) -> str:
        """The test's name."""
        return self.test.program.name


def case(
    name: str,
    condition: str,
    *threads: tuple[Placement, Code],
    on: CdnaConfiguration = GFX942,
    locations: str | tuple[Location, ...] = "xf",
) -> Case:
    """A case; ``locations`` as letters are nonlocal memory, initially 0."""
    places = tuple(Location(each) if isinstance(each, str) else each for each in locations)
    program = Program(places, tuple(Thread(p, code) for p, code in threads), None, name)
    return Case(LitmusTest(program, parse_condition(condition)), on)


def without(code: Code, at: int) -> Code:
    """``code`` without one instruction."""
    return (*code[:at], *code[at + 1 :])


STALE = r"(P1:r0 == 1 /\ P1:r1 == 0)"
SEEN, UNSEEN = f"exists {STALE}", f"~exists {STALE}"

PRODUCER: Code = (store("x", 1), *RELEASE, store("f", 1, "sc1"))
CONSUMER: Code = (load("r0", "f", "sc1"), *ACQUIRE, load("r1", "x"))


def message_passing() -> list[Case]:
    """MP at agent and work-group scope, and what each instruction of it is needed for."""
    remote, near = (XCD0, XCD1), (CU0, CU1)
    split_producer: Code = (store("x", 1), VM, store("f", 1, "sc0"))
    split_consumer: Code = (load("r0", "f", "sc0"), VM, INV_GROUP, load("r1", "x"))
    plain_producer: Code = (store("x", 1), store("f", 1, "sc0"))
    plain_consumer: Code = (load("r0", "f", "sc0"), load("r1", "x"))
    cheap: Code = (store("x", 1, "sc1"), VM, store("f", 1, "sc1"))

    def mp(
        name: str,
        condition: str,
        producer: Code,
        consumer: Code,
        places: tuple[Placement, Placement] = remote,
        on: CdnaConfiguration = GFX942,
        locations: str | tuple[Location, ...] = "xf",
    ) -> Case:
        threads = (places[0], producer), (places[1], consumer)
        return case(name, condition, *threads, on=on, locations=locations)

    local = (Location("x", kind=MemoryKind.LOCAL), Location("f"))
    return [
        mp("mp-agent", UNSEEN, PRODUCER, CONSUMER),
        mp("mp-agent-gfx950", UNSEEN, PRODUCER, CONSUMER, on=GFX950),
        mp("mp-agent-local-memory", UNSEEN, PRODUCER, CONSUMER, locations=local),
        mp("mp-agent-without-write-back", SEEN, without(PRODUCER, 1), CONSUMER),
        mp("mp-agent-without-release-wait", SEEN, without(PRODUCER, 2), CONSUMER),
        mp("mp-agent-without-acquire-wait", SEEN, PRODUCER, without(CONSUMER, 1)),
        mp("mp-agent-without-invalidate", SEEN, PRODUCER, without(CONSUMER, 2)),
        mp("mp-agent-narrow-write-back", SEEN, (store("x", 1), OLD_WB, *PRODUCER[2:]), CONSUMER),
        mp("mp-agent-narrow-invalidate", SEEN, PRODUCER, (*CONSUMER[:2], INV_GROUP, CONSUMER[3])),
        mp("mp-agent-cheap", UNSEEN, cheap, CONSUMER),
        mp("mp-agent-cheap-without-wait", SEEN, without(cheap, 1), CONSUMER),
        mp("mp-agent-one-xcd", UNSEEN, PRODUCER, CONSUMER, near),
        mp("mp-agent-one-xcd-without-write-back", UNSEEN, without(PRODUCER, 1), CONSUMER, near),
        mp("mp-agent-one-xcd-without-invalidate", SEEN, PRODUCER, without(CONSUMER, 2), near),
        mp("mp-agent-one-l2", UNSEEN, PRODUCER, CONSUMER, near, GFX942_ONE),
        mp("mp-workgroup", UNSEEN, plain_producer, plain_consumer, (CU0, CU0)),
        mp("mp-workgroup-as-agent", SEEN, plain_producer, plain_consumer, near),
        mp("mp-tgsplit", UNSEEN, split_producer, split_consumer, (SPLIT0, SPLIT1), GFX942_SPLIT),
        *(
            mp(
                f"mp-tgsplit-without-{what}",
                SEEN,
                split_producer if at else without(split_producer, 1),
                without(split_consumer, at) if at else split_consumer,
                (SPLIT0, SPLIT1),
                GFX942_SPLIT,
            )
            for what, at in (("release-wait", 0), ("acquire-wait", 1), ("invalidate", 2))
        ),
    ]


def old_chips() -> list[Case]:
    """gfx90a and gfx908: one L2, L1 maintenance at agent scope, L2 maintenance at system scope."""
    producer: Code = (store("x", 1), VM, store("f", 1))
    consumer: Code = (load("r0", "f", "glc"), VM, OLD_INV_L1, load("r1", "x"))
    producer_system: Code = (store("x", 1), OLD_WB, VM, store("f", 1))
    consumer_system: Code = (
        load("r0", "f", "glc"),
        VM,
        OLD_INV_L2,
        OLD_INV_L1,
        load("r1", "x"),
    )
    fine_grained = (Location("x"), Location("f", kind=MemoryKind.UNCACHED))

    def system(name: str, condition: str, p: Code, c: Code) -> Case:
        return case(name, condition, (AGENT0, p), (AGENT1, c), on=GFX90A, locations=fine_grained)

    return [
        case("mp-agent-gfx90a", UNSEEN, (CU0, producer), (CU1, consumer), on=GFX90A),
        case("mp-agent-gfx908", UNSEEN, (CU0, producer), (CU1, consumer), on=GFX908),
        case(
            "mp-agent-gfx90a-without-invalidate",
            SEEN,
            (CU0, producer),
            (CU1, without(consumer, 2)),
            on=GFX90A,
        ),
        case(
            "mp-agent-gfx90a-without-release-wait",
            SEEN,
            (CU0, without(producer, 1)),
            (CU1, consumer),
            on=GFX90A,
        ),
        system("mp-system-gfx90a", UNSEEN, producer_system, consumer_system),
        system(
            "mp-system-gfx90a-without-write-back",
            SEEN,
            without(producer_system, 1),
            consumer_system,
        ),
        system(
            "mp-system-gfx90a-without-release-wait",
            SEEN,
            without(producer_system, 2),
            consumer_system,
        ),
        *(
            system(
                f"mp-system-gfx90a-without-{what}",
                SEEN,
                producer_system,
                without(consumer_system, at),
            )
            for at, what in ((1, "acquire-wait"), (2, "l2-invalidate"), (3, "l1-invalidate"))
        ),
    ]


def system_scope() -> list[Case]:
    """Two agents: sc0 sc1 is enough, sc1 is not when each agent has one L2."""
    producer: Code = (store("x", 1), WB_SYSTEM, VM, store("f", 1, "sc0", "sc1"))
    consumer: Code = (load("r0", "f", "sc0", "sc1"), VM, INV_SYSTEM, load("r1", "x"))
    agent_producer: Code = (store("x", 1), WB, VM, store("f", 1, "sc0", "sc1"))
    agent_consumer: Code = (load("r0", "f", "sc0", "sc1"), VM, INV, load("r1", "x"))

    def mp(name: str, condition: str, p: Code, c: Code) -> Case:
        return case(name, condition, (AGENT0, p), (AGENT1, c), on=GFX942_ONE)

    return [
        mp("mp-system", UNSEEN, producer, consumer),
        mp("mp-system-agent-write-back", SEEN, agent_producer, consumer),
        mp("mp-system-agent-invalidate", SEEN, producer, agent_consumer),
        case("mp-system-many-l2s", UNSEEN, (AGENT0, producer), (AGENT1, consumer)),
    ]


def shapes() -> list[Case]:
    """The classic shapes across XCDs, with and without synchronisation."""
    r01 = r"P0:r0 == {} /\ P1:r0 == {}"

    def two(name: str, condition: str, first: Code, second: Code) -> Case:
        return case(name, condition, (XCD0, first), (XCD1, second), locations="xy")

    def sb(between: Code) -> tuple[Code, Code]:
        return (
            (store("x", 1), *between, load("r0", "y")),
            (store("y", 1), *between, load("r0", "x")),
        )

    def lb(*between: CdnaInstruction) -> tuple[Code, Code]:
        return (
            (load("r0", "x", "sc1"), *between, store("y", 1, "sc1")),
            (load("r0", "y", "sc1"), *between, store("x", 1, "sc1")),
        )

    def two_writes(between: Code) -> tuple[Code, Code]:
        return (
            (store("x", 1), *between, store("y", 2)),
            (store("y", 1), *between, store("x", 2)),
        )

    def s(between: Code, acquire: Code) -> tuple[Code, Code]:
        return (
            (store("x", 2), *between, store("y", 1, "sc1")),
            (load("r0", "y", "sc1"), *acquire, store("x", 1, "sc1")),
        )

    def r(between: Code) -> tuple[Code, Code]:
        return (
            (store("x", 1), *between, store("y", 1, "sc1")),
            (store("y", 2, "sc1"), *between, load("r0", "x")),
        )

    both_zero, both_one = r01.format(0, 0), r01.format(1, 1)
    overtaken = r"(x == 1 /\ y == 1)"
    late = r"(P1:r0 == 1 /\ x == 2)"
    unordered = r"(P1:r0 == 0 /\ y == 2)"
    reader, first_reader = (load("r0", "x", "sc1"), *ACQUIRE), load("r0", "x")
    split_readers = r"(P2:r0 == 1 /\ P2:r1 == 0 /\ P3:r0 == 1 /\ P3:r1 == 0)"

    def iriw(name: str, condition: str, bits: tuple[str, ...], between: Code) -> Case:
        return case(
            name,
            condition,
            (XCD0, (store("x", 1, *bits),)),
            (XCD1, (store("y", 1, *bits),)),
            (XCD2, (load("r0", "x", *bits), *between, load("r1", "y", *bits))),
            (XCD3, (load("r0", "y", *bits), *between, load("r1", "x", *bits))),
            locations="xy",
        )

    def wrc(name: str, condition: str, middle: Code) -> Case:
        return case(
            name,
            condition,
            (XCD0, (store("x", 1, "sc1"),)),
            (XCD1, (first_reader, *middle[:2], *middle[2:], store("f", 1, "sc1"))),
            (XCD2, CONSUMER),
        )

    def isa2(name: str, condition: str, middle: Code) -> Case:
        return case(
            name,
            condition,
            (XCD0, (store("x", 1), *RELEASE, store("y", 1, "sc1"))),
            (XCD1, (load("r0", "y", "sc1"), *middle, store("f", 1, "sc1"))),
            (XCD2, CONSUMER),
            locations="xyf",
        )

    last_stale = r"(P1:r0 == 1 /\ P2:r0 == 1 /\ P2:r1 == 0)"
    return [
        two("sb", f"exists ({both_zero})", *sb(())),
        two("sb-release-only", f"exists ({both_zero})", *sb(RELEASE)),
        two("sb-fences", f"~exists ({both_zero})", *sb(FENCE)),
        two("lb", f"exists ({both_one})", *lb()),
        two("lb-waits", f"~exists ({both_one})", *lb(VM)),
        two("2+2w", f"exists {overtaken}", *two_writes(())),
        two("2+2w-waits-only", f"exists {overtaken}", *two_writes((VM,))),
        two("2+2w-releases", f"~exists {overtaken}", *two_writes(RELEASE)),
        two("s", f"exists {late}", *s((), ())),
        two("s-synchronised", f"~exists {late}", *s(RELEASE, ACQUIRE)),
        two("r", f"exists {unordered}", *r(())),
        two("r-fences", f"~exists {unordered}", *r(FENCE)),
        wrc("wrc", f"exists {last_stale}", ()),
        wrc("wrc-synchronised", f"~exists {last_stale}", (*ACQUIRE, *RELEASE)),
        isa2("isa2", f"exists {last_stale}", ()),
        isa2("isa2-synchronised", f"~exists {last_stale}", (*ACQUIRE, *RELEASE)),
        iriw("iriw", f"exists {split_readers}", (), ()),
        iriw("iriw-invalidates-only", f"exists {split_readers}", (), (INV,)),
        iriw("iriw-acquires", f"~exists {split_readers}", ("sc1",), ACQUIRE),
        iriw("iriw-fences", f"~exists {split_readers}", ("sc1",), (*reader[1:], *RELEASE)),
    ]


def coherence() -> list[Case]:
    """One location: what a CU sees of its own, and agent scope of all."""

    def corr(name: str, condition: str, places: tuple[Placement, Placement], *bits: str) -> Case:
        readers: Code = (load("r0", "x", *bits), load("r1", "x", *bits))
        return case(
            name,
            condition,
            (places[0], (store("x", 1, *bits),)),
            (places[1], readers),
            locations="x",
        )

    own = r"~exists (P0:r0 != 1)"
    return [
        corr("corr-agent", UNSEEN, (XCD0, XCD1), "sc1"),
        corr("corr-one-cu", UNSEEN, (CU0, CU0)),
        corr("corr-too-narrow", SEEN, (XCD0, XCD1)),
        # A load that may hit passes the wider load before it, and finds what came in meanwhile.
        case(
            "corr-narrow-passes-wide",
            r"exists (P1:r0 == 2 /\ P1:r1 == 1)",
            (XCD0, (store("x", 1, "sc1"), store("x", 2, "sc1"))),
            (XCD1, (load("r0", "x", "sc1"), load("r1", "x"))),
            locations="x",
        ),
        case("cowr", own, (CU0, (store("x", 1), load("r0", "x"))), locations="x"),
        case("cowr-agent", own, (CU0, (store("x", 1), load("r0", "x", "sc1"))), locations="x"),
        case("coww", "~exists (x != 2)", (CU0, (store("x", 1), store("x", 2))), locations="x"),
        case(
            "invalidate-keeps-dirty-lines",
            r"~exists (P0:r0 != 1 \/ x != 1)",
            (CU0, (store("x", 1), VM, INV, load("r0", "x"))),
            (XCD1, (load("r0", "x"),)),
            locations="x",
        ),
    ]


def atomics() -> list[Case]:
    """Read-modify-writes are atomic wherever they are performed; a lock built from them."""
    add: Code = (Atomic(RmwKind.ADD, "x", 1, "r0", ("sc0",)),)
    local = CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE)
    unlock: Code = (*RELEASE, store("l", 0, "sc1"))

    def locked(invalidate: Code) -> Code:
        return (
            Label("spin"),
            CompareSwap("l", 0, 1, "taken", ("sc0",)),
            VM,
            Branch("spin", "taken"),
            *invalidate,
            load("old", "x"),
            VM,
            Arithmetic(ArithmeticKind.ADD, "new", "old", 1),
            store("x", "new"),
            *unlock,
        )

    lost = "(x != 2)"
    return [
        case("rmw-agent", f"~exists {lost}", (XCD0, add), (XCD1, add), locations="x"),
        case("rmw-one-l2", f"~exists {lost}", (CU0, add), (CU1, add), on=local, locations="x"),
        case(
            "rmw-agent-scope-between-agents",
            f"exists {lost}",
            (AGENT0, add),
            (AGENT1, add),
            on=local,
            locations="x",
        ),
        case(
            "lock",
            f"~exists {lost}",
            (XCD0, locked((INV,))),
            (XCD1, locked((INV,))),
            locations="xl",
        ),
        case(
            "lock-without-invalidate",
            f"exists {lost}",
            (XCD0, locked(())),
            (XCD1, locked(())),
            locations="xl",
        ),
    ]


def cumulativity() -> list[Case]:
    """A wave publishes what another wave of its work-group wrote."""

    def published(
        name: str,
        condition: str,
        writer: Code,
        leader: Code,
        reader_place: Placement = XCD1,
        reader: Code = CONSUMER,
        on: CdnaConfiguration = GFX942,
    ) -> Case:
        return case(
            name,
            condition,
            (CU0, (*writer, WorkgroupBarrier())),
            (CU0, (WorkgroupBarrier(), *leader)),
            (reader_place, reader),
            on=on,
        )

    stale = r"(P2:r0 == 1 /\ P2:r1 == 0)"
    flag, old_flag = store("f", 1, "sc1"), store("f", 1)
    plain, through = store("x", 1), store("x", 1, "sc1")
    old_reader: Code = (load("r0", "f", "glc"), VM, OLD_INV_L1, load("r1", "x"))
    return [
        # A wave's own wait does not cover the other wave's stores (llvm#161638, U2).
        published(
            "wait-by-leader-gfx90a",
            f"exists {stale}",
            (plain,),
            (VM, old_flag),
            CU1,
            old_reader,
            GFX90A,
        ),
        published(
            "wait-by-writer-gfx90a",
            f"~exists {stale}",
            (plain, VM),
            (VM, old_flag),
            CU1,
            old_reader,
            GFX90A,
        ),
        published(
            "wait-by-leader-one-l2", f"exists {stale}", (plain,), (VM, flag), CU1, on=GFX942_ONE
        ),
        published("write-back-by-leader", f"~exists {stale}", (plain,), (*RELEASE, flag)),
        # Primus-Turbo#251: the release was replaced by the publishing wave's own wait.
        published("payload-by-another-wave", f"exists {stale}", (through,), (VM, flag)),
        published("payload-waited-for", f"~exists {stale}", (through, VM), (flag,)),
        # HeCBench#292: a relaxed publish after a wait, right on gfx90a and wrong on gfx942.
        case(
            "relaxed-publish-gfx90a",
            UNSEEN,
            (CU0, (plain, VM, old_flag)),
            (CU1, old_reader),
            on=GFX90A,
        ),
        case("relaxed-publish-gfx942", SEEN, (XCD0, (plain, VM, flag)), (XCD1, CONSUMER)),
    ]


def other_memories() -> list[Case]:
    """LDS, flat and scalar accesses, and barriers."""
    s = Location("s", space=AddressSpace.LOCAL, workgroup=0)
    g = Location("g", space=AddressSpace.LOCAL, workgroup=0)
    f, x = Location("f"), Location("x")

    def group(
        name: str,
        condition: str,
        first: Code,
        second: Code,
        locations: tuple[Location, ...],
        on: CdnaConfiguration = GFX942,
        places: tuple[Placement, Placement] = (CU0, CU0),
    ) -> Case:
        return case(
            name, condition, (places[0], first), (places[1], second), on=on, locations=locations
        )

    lds_reader: Code = (
        VectorLoad("r0", "g", segment=Segment.LDS),
        VectorLoad("r1", "s", segment=Segment.LDS),
    )
    flat_s = VectorStore("s", 1, segment=Segment.FLAT)
    ready: Code = (VectorStore("s", 1, segment=Segment.LDS), LGKM, store("f", 1, "sc0"))

    def split(name: str, condition: str, first: Code, second: Code) -> Case:
        return group(name, condition, first, second, (x,), GFX942_SPLIT, (SPLIT0, SPLIT1))

    zero, no_zero = "exists (P1:r1 == 0)", "~exists (P1:r1 == 0)"
    barrier_reader: Code = (WorkgroupBarrier(), load("r1", "x"))
    return [
        group(
            "lds-mp",
            UNSEEN,
            (VectorStore("s", 1, segment=Segment.LDS), VectorStore("g", 1, segment=Segment.LDS)),
            lds_reader,
            (s, g),
        ),
        group(
            "lds-mp-flat",
            SEEN,
            (flat_s, VectorStore("g", 1, segment=Segment.LDS)),
            lds_reader,
            (s, g),
        ),
        group(
            "lds-mp-flat-waited",
            UNSEEN,
            (flat_s, LGKM, VectorStore("g", 1, segment=Segment.LDS)),
            lds_reader,
            (s, g),
        ),
        group(
            "lds-flag-guards-global",
            UNSEEN,
            (store("x", 1), VectorStore("g", 1, segment=Segment.LDS)),
            (VectorLoad("r0", "g", segment=Segment.LDS), LGKM, load("r1", "x")),
            (x, g),
        ),
        # The machine's L1 stage is passed at issue, in order over the waves of a CU, so that a
        # flag load after the flag store is also after the LDS write that was waited for.
        group(
            "global-flag-guards-lds",
            UNSEEN,
            ready,
            (load("r0", "f", "sc0"), VectorLoad("r1", "s", segment=Segment.LDS)),
            (f, s),
        ),
        group(
            "global-flag-guards-lds-waited",
            UNSEEN,
            ready,
            (load("r0", "f", "sc0"), VM, VectorLoad("r1", "s", segment=Segment.LDS)),
            (f, s),
        ),
        group(
            "global-flag-guards-lds-without-release-wait",
            SEEN,
            without(ready, 1),
            (load("r0", "f", "sc0"), VM, VectorLoad("r1", "s", segment=Segment.LDS)),
            (f, s),
        ),
        group(
            "lds-rmw",
            "~exists (s != 2)",
            (Atomic(RmwKind.ADD, "s", 1, "r0", segment=Segment.LDS),),
            (Atomic(RmwKind.ADD, "s", 1, segment=Segment.LDS),),
            (s,),
        ),
        case(
            "scalar-load-is-not-coherent",
            SEEN,
            (XCD0, PRODUCER),
            (XCD1, (*CONSUMER[:3], ScalarLoad("r1", "x"))),
        ),
        case(
            "scalar-load-after-invalidate",
            UNSEEN,
            (CU0, PRODUCER),
            (CU1, (*CONSUMER[:3], CacheInstruction("s_dcache_inv"), ScalarLoad("r1", "x"))),
        ),
        group("barrier", no_zero, (store("x", 1), WorkgroupBarrier()), barrier_reader, (x,)),
        split("barrier-tgsplit", zero, (store("x", 1), WorkgroupBarrier()), barrier_reader),
        split(
            "barrier-tgsplit-synchronised",
            no_zero,
            (store("x", 1), VM, WorkgroupBarrier()),
            (WorkgroupBarrier(), INV_GROUP, load("r1", "x")),
        ),
    ]


CASES: tuple[Case, ...] = (
    *message_passing(),
    *old_chips(),
    *system_scope(),
    *shapes(),
    *coherence(),
    *atomics(),
    *cumulativity(),
    *other_memories(),
)
BY_NAME = {each.name: each for each in CASES}


class EmptyCaches(PlainLine):
    """Caches that hold nothing when a kernel starts."""

    def initial(self) -> PlainState:
        memory, l2s, l1s, *rest = super().initial()
        return memory, (ABSENT,) * len(l2s), (ABSENT,) * len(l1s), *rest  # pyright: ignore[reportReturnType]  # a tuple of six
