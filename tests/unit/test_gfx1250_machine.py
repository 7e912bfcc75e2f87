"""The machine of gfx1250: engine and definition agree, and each rule shows in a litmus test."""

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
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
