"""The machine of gfx1250: engine and definition agree, and each rule shows in a litmus test."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    LdsAtomic,
    LdsLoad,
    LdsStore,
    SplitWait,
    VectorLoad,
    VectorStore,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    RETURNS,
    SCOPES,
    CdnaConfiguration,
    Reading,
)
from fencewright.simulator.certify.certificate import Trial
from fencewright.simulator.certify.shapes import shape_tests
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Branch, Label, Location, Placement, Program, Thread

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
EXAMPLES = 4_000 if THOROUGH else 200
PLAIN_LIMIT = 60_000 if THOROUGH else 3_000

MANY, ONE = L2PerAgent.MANY, L2PerAgent.ONE
CONFIGURATIONS = tuple(
    CdnaConfiguration("gfx1250", l2_per_agent=number, readings=readings)
    for number in (MANY, ONE)
    for readings in (EVERY_READING, DEFAULT_READINGS, frozenset({Reading.ACKNOWLEDGED_EARLY}))
)
SE, DEV, SYS = SCOPES
BITS: tuple[tuple[str, ...], ...] = ((), (), (SE,), (DEV,), (SYS,))
CACHE = tuple(
    CacheInstruction(mnemonic, (scope,))
    for mnemonic in ("global_wb", "global_inv")
    for scope in SCOPES
)
WAITS = (SplitWait(0, 0), SplitWait(loadcnt=0), SplitWait(storecnt=0), SplitWait(0, 0, 0))


@st.composite
def placements(draw: st.DrawFn, waves: int, one: bool) -> list[Placement]:
    """Waves of one or several work-groups, each of which is on one WGP."""
    result: list[Placement] = []
    for wave in range(waves):
        if result and draw(st.integers(0, 2)):
            result.append(result[-1])
            continue
        xcd = 0 if one else draw(st.integers(0, 1))
        agent = draw(st.sampled_from((0, 0, 1)))
        result.append(Placement(wave, draw(st.integers(0, 1)), xcd, agent))
    return result


@st.composite
def instructions(draw: st.DrawFn, dst: str, value: int, lds: bool) -> CdnaInstruction:
    """One instruction that the machine has."""
    x = draw(st.sampled_from("xxy"))
    bits = draw(st.sampled_from(BITS))
    flat = draw(st.integers(0, 5)) == 0
    vector: tuple[CdnaInstruction, ...] = (
        VectorLoad(dst, x, bits, flat),
        VectorStore(x, value, bits, flat),
    )
    rare: tuple[CdnaInstruction, ...] = (
        Atomic(RmwKind.ADD, x, value, None, bits, flat),
        Atomic(RmwKind.XCHG, x, value, dst, (*bits, RETURNS)),
        CompareSwap(x, 0, value, dst, (*bits, RETURNS)),
        BarrierSignal(BarrierUnit.WAVE),
        BarrierWait(BarrierUnit.WAVE),
    )
    local: tuple[CdnaInstruction, ...] = (
        LdsLoad(dst, "s"),
        LdsStore("s", value),
        LdsAtomic(RmwKind.ADD, "s", value, dst),
        VectorLoad(dst, "s", (), True),
    )
    choices = [rare, WAITS, CACHE, CACHE, vector, vector, vector, *[local] * (2 * lds)]
    return draw(st.sampled_from(draw(st.sampled_from(choices))))


@st.composite
def programs(draw: st.DrawFn) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Two or three short waves that load, store, wait and maintain caches at random."""
    configuration = draw(st.sampled_from(CONFIGURATIONS))
    waves = draw(st.sampled_from((2, 2, 3)))
    places = draw(placements(waves, configuration.l2_per_agent is ONE))
    locations = [Location(name) for name in "xy"]
    lds = draw(st.integers(0, 3)) == 0
    if lds:
        locations.append(Location("s", space=AddressSpace.LOCAL, workgroup=0))
    threads: list[Thread[CdnaInstruction]] = []
    for wave, place in enumerate(places):
        code: list[CdnaInstruction] = []
        for i in range(draw(st.integers(1, 5 if waves == 2 else 3))):
            local = lds and place.workgroup == 0
            code.append(draw(instructions(f"r{i}", 10 * wave + i + 1, local)))
        loaded = [dst for each in code if (dst := getattr(each, "dst", None))]
        if loaded:
            code += draw(st.sampled_from(uses(draw(st.sampled_from(loaded)))))
        threads.append(Thread(place, tuple(code)))
    return Program(tuple(locations), tuple(threads)), configuration


def uses(register: str) -> tuple[tuple[CdnaInstruction, ...], ...]:
    """Nothing, a use of a loaded register with and without its wait, and a branch on it."""
    use, every = VectorStore("x", register), SplitWait(0, 0, 0)
    return (
        (),
        (),
        (every, use),
        (use,),
        (every, Branch("end", register), VectorStore("y", 9), Label("end")),
    )


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow,),
)
@given(programs())
def test_engine_equals_the_plain_machine(example: tuple[CdnaProgram, CdnaConfiguration]):
    program, configuration = example
    plain = explore(CdnaMachine(program, configuration), PLAIN_LIMIT)
    engine = explore(CdnaEngine(program, configuration))
    assert engine.complete
    assert plain.outcomes.states <= engine.outcomes.states
    assert plain.errors <= engine.errors
    if plain.complete:
        assert plain.outcomes == engine.outcomes
        assert plain.errors == engine.errors
        assert engine.states <= plain.states


# Message passing to the agent, and what each instruction of it is for.

WRITE_BACK, INVALIDATE = (
    CacheInstruction("global_wb", (DEV,)),
    CacheInstruction("global_inv", (DEV,)),
)
LOADS, STORES = SplitWait(loadcnt=0), SplitWait(storecnt=0)
RELEASE = (STORES, WRITE_BACK, STORES)
ACQUIRE = (LOADS, INVALIDATE, LOADS)
TEXT_ORDER = frozenset({Reading.ACKNOWLEDGED_EARLY})
EVERYWHERE = (EVERY_READING, DEFAULT_READINGS, TEXT_ORDER)
HERE, THERE = Placement(), Placement(workgroup=1, xcd=1)

Code = tuple[CdnaInstruction, ...]


def passes_stale(release: Code, acquire: Code, readings: frozenset[Reading]) -> bool:
    """Whether a reader that sees the flag can miss the data."""
    writer: Code = (VectorStore("x", 1), *release, VectorStore("f", 1, (DEV,)))
    reader: Code = (VectorLoad("r0", "f", (DEV,)), *acquire, VectorLoad("r1", "x"))
    made: CdnaProgram = Program(
        (Location("x"), Location("f")),
        (Thread(HERE, writer), Thread(THERE, reader)),
        (Register(1, "r0"), Register(1, "r1")),
    )
    configuration = CdnaConfiguration("gfx1250", readings=readings)
    engine, plain = (
        explore(machine(made, configuration)).outcomes for machine in (CdnaEngine, CdnaMachine)
    )
    assert engine == plain
    return (1, 0) in engine.states


def without(code: Code, at: int) -> Code:
    return (*code[:at], *code[at + 1 :])


@pytest.mark.parametrize("readings", EVERYWHERE)
def test_message_passing_is_right(readings: frozenset[Reading]) -> None:
    assert not passes_stale(RELEASE, ACQUIRE, readings)


@pytest.mark.parametrize(
    ("at", "stale"),
    [(0, (True, True, False)), (1, (True, True, True)), (2, (True, True, True))],
    ids=["wait before", "write-back", "wait after"],
)
def test_each_instruction_of_the_release(at: int, stale: tuple[bool, ...]) -> None:
    """In the order of the text nothing overtakes, and the wait before the write-back is surplus."""
    found = [passes_stale(without(RELEASE, at), ACQUIRE, each) for each in EVERYWHERE]
    assert found == [*stale]


@pytest.mark.parametrize(
    ("at", "stale"),
    [(0, (True, True, True)), (1, (True, True, True)), (2, (True, True, False))],
    ids=["wait for the flag", "invalidate", "wait after"],
)
def test_each_instruction_of_the_acquire(at: int, stale: tuple[bool, ...]) -> None:
    found = [passes_stale(RELEASE, without(ACQUIRE, at), each) for each in EVERYWHERE]
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
