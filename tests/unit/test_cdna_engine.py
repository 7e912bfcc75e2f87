"""The engine computes exactly the outcomes of the plain machine, with far fewer states."""

import os
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import product

import pytest
from campaigns import Share, draws
from cdna_cases import BY_NAME, TwoAtATime
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from machine_programs import RANDOM, compare

from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna.engine import CdnaEngine, SetLine, SetState, Versions, bits_of
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CdnaThread,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.progress import event_process, is_straight
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import LineTopology, MachineEvent, State
from fencewright.simulator.cdna.trace import find_execution
from fencewright.simulator.cdna.wave import CompiledProgram, Op, StepKind, WaveRules
from fencewright.simulator.core.exploration import LimitReached, explore, stuck_components
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    MemoryKind,
    Placement,
    Program,
    Thread,
)

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
EXAMPLES = 20_000 if THOROUGH else 300
PLAIN_LIMIT = 2_500

CONFIGURATIONS = (
    CdnaConfiguration("gfx942"),
    CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE),
    CdnaConfiguration("gfx942", tgsplit=True),
    CdnaConfiguration("gfx90a"),
    CdnaConfiguration("gfx90a", tgsplit=True),
    CdnaConfiguration("gfx908"),
)
SC_BITS: tuple[tuple[str, ...], ...] = ((), ("sc0",), ("sc1",), ("sc0", "sc1"))
CACHE: dict[str, tuple[CacheInstruction, ...]] = {
    "gfx942": tuple(
        CacheInstruction(mnemonic, bits)
        for mnemonic in ("buffer_inv", "buffer_wbl2")
        for bits in SC_BITS[1:]
    ),
    "gfx90a": tuple(map(CacheInstruction, ("buffer_wbl2", "buffer_invl2", "buffer_wbinvl1_vol"))),
    "gfx908": (CacheInstruction("buffer_wbinvl1_vol"),),
}
WAITS = (Wait(0), Wait(0, 0), Wait(1), Wait(lgkmcnt=0))
KINDS = (MemoryKind.NONLOCAL, MemoryKind.NONLOCAL, MemoryKind.LOCAL, MemoryKind.UNCACHED)


@st.composite
def placements(draw: st.DrawFn, waves: int, configuration: CdnaConfiguration) -> list[Placement]:
    """Waves of one or several work-groups, on CUs as the mode allows."""
    result: list[Placement] = []
    for wave in range(waves):
        if result and draw(st.booleans()):
            mate = result[-1]
            cu = draw(st.integers(0, 1)) if configuration.tgsplit else mate.cu
            result.append(Placement(mate.workgroup, cu, mate.xcd, mate.agent))
            continue
        one = configuration.l2_per_agent is L2PerAgent.ONE
        xcd = 0 if one else draw(st.integers(0, 1))
        agent = draw(st.sampled_from((0, 0, 1)))
        result.append(Placement(wave, draw(st.integers(0, 1)), xcd, agent))
    return result


@st.composite
def memory_instructions(
    draw: st.DrawFn, chip: str, dst: str, value: int, lds: bool
) -> CdnaInstruction:
    """One instruction that the chip has."""
    x = draw(st.sampled_from("xy"))
    flat = draw(st.sampled_from((False, False, False, True)))
    old = chip != "gfx942"
    load_bits = draw(st.sampled_from(((), ("glc",)) if old else SC_BITS))
    store_bits = () if old else draw(st.sampled_from(SC_BITS))
    returns: tuple[str, ...] = ("glc",) if old else ("sc0",)
    scope: tuple[str, ...] = () if old else draw(st.sampled_from(((), ("sc1",))))
    vector: tuple[CdnaInstruction, ...] = (
        VectorLoad(dst, x, load_bits, Segment.FLAT if flat else Segment.GLOBAL),
        VectorStore(x, value, store_bits, Segment.FLAT if flat else Segment.GLOBAL),
    )
    rare: tuple[CdnaInstruction, ...] = (
        Atomic(RmwKind.ADD, x, value, None, scope, Segment.FLAT if flat else Segment.GLOBAL),
        Atomic(RmwKind.XCHG, x, value, dst, (*returns, *scope)),
        CompareSwap(x, 0, value, dst, (*returns, *scope)),
        WorkgroupBarrier(),
    )
    local: tuple[CdnaInstruction, ...] = (
        VectorLoad(dst, "s", segment=Segment.LDS),
        VectorStore("s", value, segment=Segment.LDS),
        Atomic(RmwKind.ADD, "s", value, dst, segment=Segment.LDS),
        VectorLoad(dst, "s", (), Segment.FLAT),
        VectorStore("s", value, (), Segment.FLAT),
    )
    choices: list[tuple[CdnaInstruction, ...]] = [rare, WAITS, CACHE[chip]]
    choices += [vector] * 3
    choices += [local] * (2 * lds)
    choices.append((ScalarLoad(dst, x), CacheInstruction("s_dcache_inv")))
    return draw(st.sampled_from(draw(st.sampled_from(choices))))


@st.composite
def programs(draw: st.DrawFn) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Two or three short waves that load, store, wait and maintain caches at random.

    Every write has a value of its own, or all of them have one of two, one of which memory begins with.
    """
    configuration = draw(st.sampled_from(CONFIGURATIONS))
    few_values = draw(st.booleans())
    waves = draw(st.sampled_from((2, 2, 3)))
    places = draw(placements(waves, configuration))
    locations = [Location(name, 0, draw(st.sampled_from(KINDS))) for name in "xy"]
    lds = not configuration.tgsplit and draw(st.integers(0, 3)) == 0
    if lds:
        locations.append(Location("s", space=AddressSpace.LOCAL, workgroup=0))
    threads: list[Thread[CdnaInstruction]] = []
    for wave, place in enumerate(places):
        code: list[CdnaInstruction] = []
        for i in range(draw(st.integers(1, 5 if waves == 2 else 3))):
            value = draw(st.integers(0, 1)) if few_values else 10 * wave + i + 1
            local = lds and place.workgroup == 0
            code.append(draw(memory_instructions(configuration.chip, f"r{i}", value, local)))
        loaded = [dst for each in code if (dst := getattr(each, "dst", None))]
        if loaded:
            code += draw(st.sampled_from(_uses(draw(st.sampled_from(loaded)))))
        threads.append(Thread(place, tuple(code)))
    return Program(tuple(locations), tuple(threads)), configuration


def _uses(register: str) -> tuple[tuple[CdnaInstruction, ...], ...]:
    """Nothing, a use of a loaded register with and without its wait, and a branch on it."""
    use = VectorStore("x", register)
    return (
        (),
        (),
        (Wait(0, 0), use),
        (use,),
        (Wait(0, 0), Branch("end", register), VectorStore("y", 9), Label("end")),
    )


@pytest.mark.parametrize("share", draws(20))
def test_engine_equals_the_plain_machine(share: Share) -> None:
    @seed(share.number)
    @settings(RANDOM, max_examples=EXAMPLES // share.count)
    @given(programs(), st.sampled_from((WaveRules, WaveRules, TwoAtATime)))
    def check(example: tuple[CdnaProgram, CdnaConfiguration], counters: type[WaveRules]) -> None:
        compare(*example, counters, PLAIN_LIMIT)

    check()


@settings(
    max_examples=EXAMPLES // 10,
    derandomize=True,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow,),
)
@given(programs())
def test_plain_machine_follows_the_engine(example: tuple[CdnaProgram, CdnaConfiguration]):
    """The other half where the plain machine is too large to explore: no outcome is made up."""
    program, configuration = example
    for outcome in sorted(explore(CdnaEngine(program, configuration)).outcomes.states)[:4]:
        assert find_execution(program, outcome.__eq__, configuration) is not None


@settings(RANDOM, max_examples=EXAMPLES // 6, derandomize=True)
@given(programs())
def test_straight_line_code_never_stays_anywhere(
    example: tuple[CdnaProgram, CdnaConfiguration],
) -> None:
    """What ``is_straight`` says without a look holds where all states are looked at."""
    machine = CdnaMachine(*example, spontaneous=False)
    assert is_straight(machine.compiled)
    with suppress(LimitReached):
        assert not stuck_components(machine, event_process, PLAIN_LIMIT)


class ForgetsCounters(CdnaEngine):
    """Issues early what a full counter holds up."""

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        position = self.position(state, wave)
        is_early = super().is_early(state, wave, future)
        return is_early or (position.held_up and position.op.code is not StepKind.END)


def test_issuing_early_what_a_counter_holds_up_is_caught():
    program = BY_NAME["mp-agent-cheap-without-wait"].test.program
    plain = explore(CdnaMachine(program, wave_rules=TwoAtATime))
    assert plain.outcomes == explore(CdnaEngine(program, wave_rules=TwoAtATime)).outcomes
    stores = tuple[CdnaInstruction, ...](VectorStore("x", n, ("sc1",)) for n in (1, 2, 3))
    three = Program((Location("x"),), (Thread(Placement(), stores),))
    assert explore(CdnaEngine(three, wave_rules=TwoAtATime)).outcomes.states == {(3,)}
    assert not explore(ForgetsCounters(three, wave_rules=TwoAtATime)).outcomes.states


class ForgetsMates(CdnaEngine):
    """Issues early whatever the other waves of the CU may still do."""

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        return super().is_early(state, wave, [0] * len(future))


class ForgetsQueue(CdnaEngine):
    """Issues a load that may hit early even after a load that holds it up."""

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        op = self.position(state, wave).op
        return super().is_early(state, wave, future) or (op.code is StepKind.LOAD and op.l1)


class ForgetsFuture(CdnaEngine):
    """Performs what is queued for a line though other waves will still access it."""

    def quiet_steps(self, state: State, future: list[int]) -> list[tuple[State, MachineEvent]]:
        return super().quiet_steps(state, [0] * len(future))


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (ForgetsMates, "corr-one-cu"),
        (ForgetsQueue, "corr-narrow-passes-wide"),
        (ForgetsFuture, "mp-agent-cheap-without-wait"),
    ],
)
def test_reduction_that_goes_too_far_is_caught(broken: type[CdnaEngine], name: str):
    case = BY_NAME[name]
    plain = explore(CdnaMachine(case.test.program, case.configuration))
    assert plain.outcomes == explore(CdnaEngine(case.test.program, case.configuration)).outcomes
    assert plain.outcomes != explore(broken(case.test.program, case.configuration)).outcomes


class ForgetsScalarLoads(CdnaEngine):
    """Invalidates a scalar cache early, though a load in flight may find a line there."""

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        op = self.position(state, wave).op
        is_scalar = op.code is StepKind.CACHE and op.effect.scalar
        return super().is_early(state, wave, future) or is_scalar


def test_a_scalar_invalidate_that_comes_early_is_caught() -> None:
    case = BY_NAME["scalar-load-after-invalidate"]
    producer, consumer = case.test.program.threads
    *before, invalidate, load = consumer.instructions
    late = replace(consumer, instructions=(*before, load, invalidate))
    program = replace(case.test.program, threads=(producer, late))
    plain, engine, broken = (
        explore(machine(program, case.configuration)).outcomes
        for machine in (CdnaMachine, CdnaEngine, ForgetsScalarLoads)
    )
    assert plain == engine
    assert plain != broken


class Unread(SetLine):
    """Keeps the last version alone of a line that a wave reads."""

    def __init__(self, topology: LineTopology):
        unread = copy(topology)
        unread.read_l2s = [False] * len(topology.l2s)
        super().__init__(unread)


class Alone(SetLine):
    """Writes back at once, as if no other L2 had the line."""

    def __init__(self, topology: LineTopology):
        super().__init__(topology)
        self.alone = True


class Idle(SetLine):
    """Lets every marker leave its queue at once."""

    def is_idle(self, l2: Versions, op: Op) -> bool:
        return True


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (Unread, "mp-system-gfx90a-without-l2-invalidate"),
        (Alone, "mp-agent-without-write-back"),
        (Idle, "mp-agent"),
    ],
)
def test_a_line_that_keeps_too_little_is_caught(broken: type[SetLine], name: str) -> None:
    case = BY_NAME[name]
    plain = explore(CdnaMachine(case.test.program, case.configuration))
    engines = [
        CdnaEngine(case.test.program, case.configuration, rules) for rules in (SetLine, broken)
    ]
    assert [explore(each).outcomes == plain.outcomes for each in engines] == [True, False]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("mp-agent", 40),
        ("sb-fences", 60),
        ("lock", 90),
        ("wrc-synchronised", 160),
        ("isa2-synchronised", 140),
        ("iriw", 180),
        ("iriw-fences", 300),
    ],
)
def test_states_stay_few(name: str, most: int):
    case = BY_NAME[name]
    assert explore(CdnaEngine(case.test.program, case.configuration)).states <= most


def test_wave_that_loops_without_memory_never_ends():
    forever: tuple[CdnaInstruction, ...] = (Label("top"), Branch("top"))
    thread: CdnaThread = Thread(Placement(), forever)
    found = explore(CdnaEngine(Program((Location("x"),), (thread,))))
    assert found.complete
    assert not found.outcomes.states


def test_bits_of():
    assert bits_of(0) == []
    assert bits_of(0b10110) == [1, 2, 4]


def poll(kind: RmwKind, value: int, leaves_at: int) -> tuple[CdnaInstruction, ...]:
    """A read-modify-write that is repeated until it finds a value."""
    return (
        Label("again"),
        Atomic(kind, "x", value, "r0", ("sc0",)),
        Wait(0),
        Arithmetic(ArithmeticKind.SUB, "r1", "r0", leaves_at),
        Branch("again", "r1"),
    )


@pytest.mark.parametrize(
    ("kind", "value", "leaves_at"),
    [(RmwKind.ADD, 0, 1), (RmwKind.OR, 0, 1), (RmwKind.XCHG, 2, 1), (RmwKind.XOR, 3, 1)],
)
@pytest.mark.parametrize("writer", [VectorStore("x", 1, ("sc1",)), VectorStore("x", 1)])
def test_a_loop_of_read_modify_writes_has_few_states(
    kind: RmwKind, value: int, leaves_at: int, writer: CdnaInstruction
) -> None:
    """Versions are as many as values, not as many as writes; a third wave may hit any of them."""
    threads: tuple[CdnaThread, ...] = (
        Thread(Placement(0), (writer,)),
        Thread(Placement(1, xcd=1), poll(kind, value, leaves_at)),
        Thread(Placement(2, cu=1), (VectorLoad("r0", "x"), VectorLoad("r1", "x"))),
    )
    program = Program((Location("x"),), threads)
    engine, plain = explore(CdnaEngine(program), 1_000), explore(CdnaMachine(program), 100_000)
    assert engine.complete
    assert plain.complete
    assert engine.outcomes == plain.outcomes


def test_stores_that_nobody_reads_have_no_order() -> None:
    """Of n stores there are as many states as sets of them, and the last one: not n!."""
    waves: list[CdnaThread] = [
        Thread(Placement(n, xcd=n), (VectorStore("x", n + 1, ("sc1",)),)) for n in range(6)
    ]
    found = explore(CdnaEngine(Program((Location("x"),), tuple(waves))))
    assert found.states < 6 << 6


class OldestInL2(SetLine):
    """Forgets the newest of the equal versions of an L2, with what goes with it alone."""

    def newest(self, versions: tuple[int, ...], mask: int) -> int:
        return self.oldest(versions, mask)


class NewestBelow(SetLine):
    """Forgets the oldest of the equal versions of an L1, with what goes with it alone."""

    def oldest(self, versions: tuple[int, ...], mask: int) -> int:
        return self.newest(versions, mask)


@pytest.mark.parametrize("broken", [OldestInL2, NewestBelow])
def test_a_wrong_version_kept_shows(broken: type[SetLine]) -> None:
    """x becomes 1 and 0 again; what an L2 or an L1 keeps of the two zeros decides what goes with it."""
    line = broken(LineTopology(CompiledProgram(SEES_ZERO_AGAIN, CdnaConfiguration()), 0))
    right = SetLine(line.topology)
    versions = (0, 1, 0)
    kept = [
        joint(rules.reduced(0, (versions, may, False), [held]))
        for rules in (right, line)
        for may, held in ((0b111, 0b111),)
    ]
    assert kept[0] == joint(((versions, 0b111, False), [0b111]))
    assert kept[1] != kept[0]


class OneOfTwo(SetLine):
    """Makes neighbours of one value one, though an L2 has the older alone and an L1 the newer."""

    def are_apart(self, newer: int, may: int, below: list[int]) -> bool:
        return False


def test_neighbours_made_one_that_were_apart_show() -> None:
    topology = LineTopology(CompiledProgram(SEES_ZERO_AGAIN, CdnaConfiguration()), 0)
    state: tuple[Versions, list[int]] = ((0, 0, 1), 0b101, False), [0b010]
    kept = [joint(rules(topology).reduced(0, *state)) for rules in (SetLine, OneOfTwo)]
    assert [each == joint(state) for each in kept] == [True, False]


class KeepsOlderInL2(SetLine):
    """Takes for possible that an L2 holds an older version than an L1 above it has shown."""

    def hits(self, state: SetState, l1: int) -> list[tuple[SetState, int | None]]:
        return [
            ((after[0], state[1], *after[2:]), value) for after, value in super().hits(state, l1)
        ]


class KeepsNewerBelow(SetLine):
    """Takes for possible that an L1 holds a newer version than its L2 has shown."""

    def read_from(self, state: SetState, l2: int, chosen: int) -> SetState:
        return state


SYSTEM, AGENT = ("sc0", "sc1"), ("sc1",)


def after_both(*readers: tuple[CdnaInstruction, ...]) -> tuple[CdnaProgram, CdnaConfiguration]:
    """Waves of an agent, the first of which has seen that another agent has written x twice."""
    stores = (VectorStore("x", 1, SYSTEM), VectorStore("x", 2, SYSTEM))
    writer: CdnaThread = Thread(Placement(0), (*stores, Wait(0), VectorStore("y", 1, SYSTEM)))
    flag: tuple[CdnaInstruction, ...] = (VectorLoad("f", "y", SYSTEM), Wait(0))
    first, *others = readers
    threads = [
        Thread(Placement(n, cu=n, agent=1), code)
        for n, code in enumerate(((*flag, *first), *others), 1)
    ]
    locations = (Location("x"), Location("y"), Location("z"))
    program = Program(locations, (writer, *threads))
    return program, CdnaConfiguration("gfx942", l2_per_agent=L2PerAgent.ONE)


L1_FIRST = (VectorLoad("r1", "x"), Wait(0), VectorLoad("r0", "x", AGENT))
L2_FIRST = (VectorLoad("r0", "x", AGENT), Wait(0), VectorLoad("r1", "x"))
BY_TWO = (
    (VectorLoad("r0", "x", AGENT), Wait(0), VectorStore("z", 1, AGENT)),
    (VectorLoad("g", "z", AGENT), Wait(0), VectorLoad("r1", "x")),
)


@pytest.mark.parametrize("reads", [L1_FIRST, L2_FIRST])
def test_what_is_fetched_late_is_not_older_than_what_the_l2_has(
    reads: tuple[CdnaInstruction, ...],
) -> None:
    """An L1 that is empty after the last write has what its L2 has, which is the last from then on."""
    example = after_both(reads)
    engine, plain = explore(CdnaEngine(*example)), explore(CdnaMachine(*example))
    assert plain.complete
    assert engine.outcomes == plain.outcomes


class ForgetsWhatIsShown(SetLine):
    """Lets an L2 go on to any version after a cache has fetched an older one."""

    def tidied(self, state: SetState) -> list[SetState]:
        return [self.filled(state)]


@pytest.mark.parametrize(
    ("broken", "readers"),
    [(KeepsOlderInL2, (L1_FIRST,)), (ForgetsWhatIsShown, (L2_FIRST,)), (KeepsNewerBelow, BY_TWO)],
)
def test_a_read_that_contradicts_another_is_caught(
    broken: type[SetLine], readers: tuple[tuple[CdnaInstruction, ...], ...]
) -> None:
    example = after_both(*readers)
    right, wrong = (explore(CdnaEngine(*example, rules)).outcomes for rules in (SetLine, broken))
    assert right.states < wrong.states


SEES_ZERO_AGAIN: CdnaProgram = Program(
    (Location("x"),),
    (Thread(Placement(0), (VectorLoad("r0", "x"), VectorLoad("r1", "x"))),),
)


def joint(state: tuple[Versions, list[int]]) -> set[tuple[int, ...]]:
    """The values that an L2 and the caches below it may hold together, by versions in order."""
    (versions, may, _), below = state
    return {
        (versions[a], *(versions[b] for b in held))
        for a in bits_of(may)
        for held in product(*map(bits_of, below))
        if all(b <= a for b in held)
    }


@settings(RANDOM, max_examples=EXAMPLES, derandomize=True)
@given(st.data())
def test_what_is_dropped_makes_no_difference(data: st.DataObject) -> None:
    """The definition of ``reduced``: the same values together, for any masks of any versions."""
    count = data.draw(st.integers(1, 7))
    versions = tuple(data.draw(st.integers(0, 2)) for _ in range(count))
    last = 1 << (count - 1)
    mask = st.integers(0, (1 << count) - 1)
    may, below = (
        data.draw(mask) | last,
        [data.draw(mask) for _ in range(data.draw(st.integers(0, 3)))],
    )
    rules = SetLine(LineTopology(CompiledProgram(SEES_ZERO_AGAIN, CdnaConfiguration()), 0))
    reduced = rules.reduced(0, (versions, may, False), below)
    assert joint(reduced) == joint(((versions, may, False), below))
    assert len(reduced[0][0]) <= 3 * (1 + len(below)) + 1
    assert reduced[0][0][-1] == versions[-1]
