"""The machine of gfx1250: engine and definition agree, and each rule shows in a litmus test."""

import pytest
from campaigns import Share, draws, shares
from hypothesis import strategies as st
from machine_programs import compare_drawn, programs

from fencewright.lowering.sequence import Request, Target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    RETURNS,
    SCOPES,
    CdnaConfiguration,
    Interpretation,
)
from fencewright.simulator.certify.certificate import Trial
from fencewright.simulator.certify.shapes import shape_tests
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, Placement, Program, Thread

MANY, ONE = L2PerAgent.MANY, L2PerAgent.ONE
CONFIGURATIONS = tuple(
    CdnaConfiguration("gfx1250", l2_per_agent=number, readings=readings)
    for number in (MANY, ONE)
    for readings in (
        EVERY_READING,
        DEFAULT_READINGS,
        frozenset({Interpretation.ACKNOWLEDGED_EARLY}),
    )
)
SE, DEV, SYS = SCOPES
BITS: tuple[tuple[str, ...], ...] = ((), (), (SE,), (DEV,), (SYS,))
CACHE = tuple(
    CacheInstruction(mnemonic, (scope,))
    for mnemonic in ("global_wb", "global_inv")
    for scope in SCOPES
)
WAITS = (
    Wait(loadcnt=0, storecnt=0),
    Wait(loadcnt=0),
    Wait(storecnt=0),
    Wait(loadcnt=0, storecnt=0, dscnt=0),
)


@st.composite
def placements(draw: st.DrawFn, waves: int, configuration: CdnaConfiguration) -> list[Placement]:
    """Waves of one or several work-groups, each of which is on one WGP."""
    result: list[Placement] = []
    for wave in range(waves):
        if result and draw(st.integers(0, 2)):
            result.append(result[-1])
            continue
        one = configuration.l2_per_agent is ONE
        xcd = 0 if one else draw(st.integers(0, 1))
        agent = draw(st.sampled_from((0, 0, 1)))
        result.append(Placement(wave, draw(st.integers(0, 1)), xcd, agent, cluster=wave))
    return result


@st.composite
def instructions(draw: st.DrawFn, dst: str, value: int, lds: bool) -> CdnaInstruction:
    """One instruction that the machine has."""
    x = draw(st.sampled_from("xxy"))
    bits = draw(st.sampled_from(BITS))
    flat = draw(st.integers(0, 5)) == 0
    vector: tuple[CdnaInstruction, ...] = (
        VectorLoad(dst, x, bits, Segment.FLAT if flat else Segment.GLOBAL),
        VectorStore(x, value, bits, Segment.FLAT if flat else Segment.GLOBAL),
    )
    rare: tuple[CdnaInstruction, ...] = (
        Atomic(RmwKind.ADD, x, value, None, bits, Segment.FLAT if flat else Segment.GLOBAL),
        Atomic(RmwKind.XCHG, x, value, dst, (*bits, RETURNS)),
        CompareSwap(x, 0, value, dst, (*bits, RETURNS)),
        BarrierSignal(BarrierUnit.WAVE),
        BarrierWait(BarrierUnit.WAVE),
    )
    local: tuple[CdnaInstruction, ...] = (
        VectorLoad(dst, "s", segment=Segment.LDS),
        VectorStore("s", value, segment=Segment.LDS),
        Atomic(RmwKind.ADD, "s", value, dst, segment=Segment.LDS),
        VectorLoad(dst, "s", (), Segment.FLAT),
    )
    choices = [rare, WAITS, CACHE, CACHE, vector, vector, vector, *[local] * (2 * lds)]
    return draw(st.sampled_from(draw(st.sampled_from(choices))))


@pytest.mark.parametrize("share", draws(12))
def test_engine_equals_the_plain_machine(share: Share) -> None:
    compare_drawn(
        share,
        programs(CONFIGURATIONS, placements, instructions, Wait(loadcnt=0, storecnt=0, dscnt=0)),
    )


# Message passing to the agent, and what each instruction of it is for.

WRITE_BACK, INVALIDATE = (
    CacheInstruction("global_wb", (DEV,)),
    CacheInstruction("global_inv", (DEV,)),
)
LOADS, STORES = Wait(loadcnt=0), Wait(storecnt=0)
RELEASE = (STORES, WRITE_BACK, STORES)
ACQUIRE = (LOADS, INVALIDATE, LOADS)
TEXT_ORDER = frozenset({Interpretation.ACKNOWLEDGED_EARLY})
EVERYWHERE = (EVERY_READING, DEFAULT_READINGS, TEXT_ORDER)
HERE, THERE = Placement(), Placement(workgroup=1, xcd=1, cluster=1)

Code = tuple[CdnaInstruction, ...]


def passes_stale(
    release: Code, acquire: Code, readings: frozenset[Interpretation], *, on_both: bool = True
) -> bool:
    """Whether a reader that sees the flag can miss the data; ``on_both`` machines alike."""
    writer: Code = (VectorStore("x", 1), *release, VectorStore("f", 1, (DEV,)))
    reader: Code = (VectorLoad("r0", "f", (DEV,)), *acquire, VectorLoad("r1", "x"))
    made: CdnaProgram = Program(
        (Location("x"), Location("f")),
        (Thread(HERE, writer), Thread(THERE, reader)),
        (Register(1, "r0"), Register(1, "r1")),
    )
    configuration = CdnaConfiguration("gfx1250", readings=readings)
    engine = explore(CdnaEngine(made, configuration)).outcomes
    assert not on_both or engine == explore(CdnaMachine(made, configuration)).outcomes
    return (1, 0) in engine.states


def without(code: Code, at: int) -> Code:
    return (*code[:at], *code[at + 1 :])


@pytest.mark.parametrize("readings", EVERYWHERE)
def test_message_passing_is_right(readings: frozenset[Interpretation]) -> None:
    assert not passes_stale(RELEASE, ACQUIRE, readings)


@pytest.mark.parametrize(
    ("at", "stale"),
    [(0, (True, True, False)), (1, (True, True, True)), (2, (True, True, True))],
    ids=["wait before", "write-back", "wait after"],
)
@pytest.mark.parametrize("share", shares(3))
def test_each_instruction_of_the_release(at: int, stale: tuple[bool, ...], share: Share) -> None:
    """In the order of the text nothing overtakes, and the wait before the write-back is surplus."""
    code, both = without(RELEASE, at), share.of(EVERYWHERE, at)
    found = [passes_stale(code, ACQUIRE, each, on_both=each in both) for each in EVERYWHERE]
    assert found == [*stale]


@pytest.mark.parametrize(
    ("at", "stale"),
    [(0, (True, True, True)), (1, (True, True, True)), (2, (True, True, False))],
    ids=["wait for the flag", "invalidate", "wait after"],
)
@pytest.mark.parametrize("share", shares(3))
def test_each_instruction_of_the_acquire(at: int, stale: tuple[bool, ...], share: Share) -> None:
    code, both = without(ACQUIRE, at), share.of(EVERYWHERE, at)
    found = [passes_stale(RELEASE, code, each, on_both=each in both) for each in EVERYWHERE]
    assert found == [*stale]


# What the rows emit, on the machine: the differences from LLVM.


def judged(scope: Scope, compat: Compat | None) -> str:
    """What a release store does though it should not, over message passing between two WGPs."""
    mode = Target("gfx1250", compat=compat)
    request = Request(Operation.STORE, Ordering.RELEASE, scope, AddressSpace.GLOBAL, target=mode)
    trial = Trial(mode)
    tests = [each for each in shape_tests(request, mode) if each.name.startswith("MP release")]
    found = [trial.judge(each) for each in tests if each.name.endswith(("two CUs", "XCDs"))]
    assert found
    return next((each.machine for each in found if each is not None), "")


@pytest.mark.parametrize("scope", [Scope.CLUSTER, Scope.AGENT])
def test_releases_are_sufficient_on_every_reading(scope: Scope) -> None:
    assert not judged(scope, None)


def test_llvm_releases_to_a_cluster_only_without_early_acknowledgement() -> None:
    """``cluster-write-back``: a store that the WGP$ reports done may not have reached the others."""
    assert "every reading" in judged(Scope.CLUSTER, Compat.LLVM)


# Split barriers.


def meets(*codes: tuple[Placement, Code]) -> frozenset[tuple[int | None, ...]]:
    """What the last wave may read of what the first one stores."""
    threads = tuple(Thread(place, code) for place, code in codes)
    observed = (Register(len(codes) - 1, "r"),)
    made: CdnaProgram = Program((Location("x"),), threads, observed)
    outcomes = [
        explore(machine(made, CdnaConfiguration("gfx1250"))).outcomes
        for machine in (CdnaEngine, CdnaMachine)
    ]
    assert outcomes[0] == outcomes[1]
    return outcomes[0].states


SIGNAL, WAIT = BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE)
STORE: Code = (VectorStore("x", 1), STORES)
LOAD: Code = (VectorLoad("r", "x"), LOADS)


def test_a_barrier_is_a_signal_and_a_wait() -> None:
    store: Code = (*STORE, SIGNAL, WAIT)
    assert meets((HERE, store), (HERE, (SIGNAL, WAIT, *LOAD))) == {(1,)}
    assert meets((HERE, store), (HERE, (SIGNAL, *LOAD, WAIT))) == {(0,), (1,)}
    assert not meets((HERE, store), (HERE, (WAIT, *LOAD)))


def test_who_has_ended_is_awaited_at_no_barrier() -> None:
    assert meets((HERE, STORE), (HERE, (SIGNAL, WAIT, *LOAD))) == {(1,)}


def test_one_wave_of_each_work_group_signals_the_cluster() -> None:
    first, cluster = BarrierSignal(BarrierUnit.WAVE, "scc"), BarrierUnit.WORKGROUP
    skip: Code = (
        Branch("not first", "scc", unless=True),
        BarrierSignal(cluster),
        Label("not first"),
    )
    meet: Code = (first, WAIT, *skip, BarrierWait(cluster))
    far, wide = Placement(workgroup=1, cu=1), (VectorLoad("r", "x", (SE,)), LOADS)
    push: Code = (VectorStore("x", 1, (SE,)), STORES)
    assert meets((far, (*push, *meet)), (HERE, meet), (HERE, (*meet, *wide))) == {(1,)}
    every: Code = (first, WAIT, BarrierSignal(cluster), BarrierWait(cluster))
    assert (0,) in meets((far, (*push, *every)), (HERE, every), (HERE, (*every, *wide)))


# The rules of docs/cdna-machine.md that are gfx1250's own, each by what it allows and what it forbids.

NEAR, AWAY = Placement(), Placement(workgroup=1, xcd=1, cluster=1)
LDS_DONE = Wait(dscnt=0)


def may_end(
    state: tuple[int, ...], *codes: tuple[Placement, Code], readings: frozenset[Interpretation]
) -> bool:
    """Whether registers r0 and r1 of the last wave may end so; by the engine and the definition."""
    last = len(codes) - 1
    made: CdnaProgram = Program(
        (Location("x"), Location("f"), Location("s", space=AddressSpace.LOCAL, workgroup=0)),
        tuple(Thread(place, code) for place, code in codes),
        (Register(last, "r0"), Register(last, "r1")),
    )
    configuration = CdnaConfiguration("gfx1250", readings=readings)
    engine, plain = (
        explore(machine(made, configuration)).outcomes for machine in (CdnaEngine, CdnaMachine)
    )
    assert engine == plain
    return state in engine.states


def reads(*places: tuple[str, tuple[str, ...]]) -> Code:
    """Loads of r0 and r1, each waited for before the next."""
    code: list[CdnaInstruction] = []
    for number, (location, bits) in enumerate(places):
        code += [VectorLoad(f"r{number}", location, bits), LOADS]
    return tuple(code)


FLAG_THEN_DATA = reads(("f", (DEV,)), ("x", (DEV,)))
FLAG = VectorStore("f", 1, (DEV,))
RULES: dict[str, tuple[Code, Placement, Code, bool]] = {
    "1: a wait for loads is none for stores": (
        (VectorStore("x", 1, (DEV,)), LOADS, FLAG), AWAY, FLAG_THEN_DATA, True,
    ),
    "1: a wait for stores is one": (
        (VectorStore("x", 1, (DEV,)), STORES, FLAG), AWAY, FLAG_THEN_DATA, False,
    ),
    "1: an atomic that returns counts as a load": (
        (Atomic(RmwKind.ADD, "x", 1, "r9", (DEV, RETURNS)), STORES, FLAG), AWAY, FLAG_THEN_DATA, True,
    ),
    "2: a store of a lesser scope stays below": (
        (VectorStore("x", 1, (SE,)), STORES, FLAG), AWAY, FLAG_THEN_DATA, True,
    ),
    "2: a load of the cluster's scope misses the WGP$, not the L2": (
        (VectorStore("x", 1, (DEV,)), STORES, FLAG), AWAY,
        (*reads(("x", (SE,)))[:2], *reads(("f", (DEV,)), ("x", (SE,)))), True,
    ),
    "4: a load past the L2 writes back what is dirty there": (
        (VectorStore("x", 1), STORES, VectorLoad("r9", "x", (DEV,)), LOADS, FLAG), AWAY,
        FLAG_THEN_DATA, False,
    ),
    "7: requests to two lines come in any order": (
        (VectorStore("x", 1, (DEV,)), FLAG), AWAY, FLAG_THEN_DATA, True,
    ),
    "7: an invalidate of the cluster's scope is passed by nothing": (
        (VectorStore("x", 1, (SE,)), STORES, VectorStore("f", 1, (SE,))), Placement(workgroup=1, cu=1),
        (VectorLoad("r0", "f", (SE,)), LOADS, CacheInstruction("global_inv", (SE,)),
         VectorLoad("r1", "x"), LOADS), False,
    ),
    "7: LDS is in no order with memory": (
        (VectorStore("s", 1, segment=Segment.LDS), VectorStore("f", 1)), NEAR,
        (VectorLoad("r0", "f"), LOADS, VectorLoad("r1", "s", segment=Segment.LDS), LDS_DONE), True,
    ),
    "7: but after a wait": (
        (VectorStore("s", 1, segment=Segment.LDS), LDS_DONE, VectorStore("f", 1)), NEAR,
        (VectorLoad("r0", "f"), LOADS, VectorLoad("r1", "s", segment=Segment.LDS), LDS_DONE), False,
    ),
    "1: a flat store to LDS is none that storecnt counts": (
        (VectorStore("s", 1, (), Segment.FLAT), STORES, VectorStore("f", 1)), NEAR,
        (VectorLoad("r0", "f"), LOADS, VectorLoad("r1", "s", segment=Segment.LDS), LDS_DONE), True,
    ),
}  # fmt: skip
"""(the writer, where the reader is, the reader, whether it may see the flag and not the data)."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "readings", [EVERY_READING, frozenset[Interpretation]()], ids=["every", "none"]
)
def test_each_rule(rule: str, readings: frozenset[Interpretation]) -> None:
    """The readings change nothing of these."""
    writer, there, reader, stale = RULES[rule]
    assert may_end((1, 0), (NEAR, writer), (there, reader), readings=readings) is stale
