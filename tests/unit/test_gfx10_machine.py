"""The machine of gfx10 and gfx11: the engine against the definition, LLVM's sequences, the readings."""

from dataclasses import dataclass, replace
from itertools import product

import pytest
from campaigns import Share, draws
from hypothesis import strategies as st
from machine_programs import compare_drawn, programs

from fencewright.lowering.vocabulary import AddressSpace, RmwKind
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    ScalarLoad,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    CdnaConfiguration,
    Interpretation,
    left_open,
)
from fencewright.simulator.cdna.system import State
from fencewright.simulator.cdna.wave import StepKind
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import (
    Location,
    Placement,
    Program,
    ProgramError,
    Thread,
)

Code = tuple[CdnaInstruction, ...]
Readings = frozenset[Interpretation]
CHIPS = ("gfx1030", "gfx1100")
QUEUED = frozenset({Interpretation.QUEUED_INVALIDATE, Interpretation.UNCOUNTED_INVALIDATE})
COUNTED = frozenset({Interpretation.QUEUED_INVALIDATE})
NOW: Readings = frozenset()
STAYS = frozenset({Interpretation.STORE_STAYS})
COMPLETIONS = {"queued": QUEUED, "counted": COUNTED, "now": NOW}
"""When an invalidate of the shader array's L1 is done."""

CONFIGURATIONS = tuple(
    CdnaConfiguration(chip, split, readings=readings)
    for chip, split in product(CHIPS, (False, True))
    for readings in (EVERY_READING, COUNTED, NOW)
)

LOADS, STORES = Wait(0), Wait(vscnt=0)
GL0, GL1 = CacheInstruction("buffer_gl0_inv"), CacheInstruction("buffer_gl1_inv")
BITS: tuple[tuple[str, ...], ...] = ((), (), ("glc",), ("glc", "dlc"))
WAITS = (Wait(0), Wait(vscnt=0), Wait(0, 0), Wait(0, 0, 0), Wait(1))


@st.composite
def placements(draw: st.DrawFn, waves: int, configuration: CdnaConfiguration) -> list[Placement]:
    """Waves of one or several work-groups, each in one shader array, and in CU mode on one CU."""
    result: list[Placement] = []
    for wave in range(waves):
        if result and draw(st.integers(0, 2)):
            mate = result[-1]
            result.append(
                replace(mate, cu=draw(st.integers(0, 1)) if configuration.tgsplit else mate.cu)
            )
            continue
        agent = draw(st.sampled_from((0, 0, 1)))
        xcd, cu = draw(st.integers(0, 1)), draw(st.integers(0, 1))
        result.append(Placement(wave, cu, xcd, agent))
    return result


@st.composite
def instructions(draw: st.DrawFn, dst: str, value: int, lds: bool) -> CdnaInstruction:
    """One instruction that the machine has."""
    x = draw(st.sampled_from("xxy"))
    flat = draw(st.integers(0, 5)) == 0
    vector: Code = (
        VectorLoad(dst, x, draw(st.sampled_from(BITS)), Segment.FLAT if flat else Segment.GLOBAL),
        VectorStore(x, value, (), Segment.FLAT if flat else Segment.GLOBAL),
    )
    rare: Code = (
        Atomic(RmwKind.ADD, x, value, None, (), Segment.FLAT if flat else Segment.GLOBAL),
        Atomic(RmwKind.XCHG, x, value, dst, ("glc",)),
        CompareSwap(x, 0, value, dst, ("glc",)),
        WorkgroupBarrier(),
        ScalarLoad(dst, x),
        CacheInstruction("s_dcache_inv"),
    )
    local: Code = (
        VectorLoad(dst, "s", segment=Segment.LDS),
        VectorStore("s", value, segment=Segment.LDS),
        Atomic(RmwKind.ADD, "s", value, dst, segment=Segment.LDS),
        VectorLoad(dst, "s", (), Segment.FLAT),
        VectorStore("s", value, (), Segment.FLAT),
    )
    choices = [rare, WAITS, (GL0, GL1), (GL1, GL1), vector, vector, vector, *[local] * (2 * lds)]
    return draw(st.sampled_from(draw(st.sampled_from(choices))))


@pytest.mark.parametrize("share", draws(12))
def test_engine_equals_the_plain_machine(share: Share) -> None:
    compare_drawn(share, programs(CONFIGURATIONS, placements, instructions, Wait(0, 0, 0)))


class TooEarly(CdnaEngine):
    """Broken on purpose: takes an invalidate that drops lines for other CUs as soon as it can."""

    def is_early(self, state: State, wave: int, future: list[int]) -> bool:
        op = self.position(state, wave).op
        return (op.code is StepKind.CACHE and op.effect.is_at_once) or super().is_early(
            state, wave, future
        )


def test_an_engine_that_invalidates_too_early_is_caught() -> None:
    past = ("glc", "dlc")
    program: CdnaProgram = Program(
        (Location("x"), Location("y"), Location("z")),
        (
            Thread(Placement(), (VectorLoad("a", "y", past), LOADS, VectorStore("z", 1), GL1)),
            Thread(
                Placement(1, 1),
                (VectorLoad("b", "z", past), LOADS, VectorLoad("c", "x", ("glc",)), LOADS),
            ),
            Thread(Placement(2, 0, 1), (VectorStore("x", 1), STORES, VectorStore("y", 1))),
        ),
        (Register(0, "a"), Register(1, "b"), Register(1, "c")),
    )
    now = CdnaConfiguration("gfx1030", readings=NOW)
    engine, broken = (explore(each(program, now)).outcomes for each in (CdnaEngine, TooEarly))
    assert engine.states - broken.states == {(1, 1, 0)}


# LLVM 24's sequences (LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11; as llc-24 has them at -O0)

DONE: Code = (Wait(0, 0), STORES)
WIDE = {"gfx1030": ("glc", "dlc"), "gfx1100": ("glc",)}
"""The bits of a load at agent scope."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A chip in WGP mode (``split``) or CU mode, with LLVM's code for it."""

    chip: str
    split: bool

    def __str__(self) -> str:
        return f"{self.chip} {'WGP' if self.split else 'CU'} mode"

    def load(self, dst: str, location: str, wide: bool) -> VectorLoad:
        """An atomic load at agent scope, or (not ``wide``) at that of the work-group."""
        narrow = ("glc",) if self.split else ()
        return VectorLoad(dst, location, WIDE[self.chip] if wide else narrow)

    def acquire(self, wide: bool) -> Code:
        """What comes after a load that acquires: in CU mode the L0 keeps the work-group's order."""
        if wide:
            return LOADS, GL1, GL0
        return (LOADS, GL0) if self.split else ()

    def machine(self, readings: Readings) -> CdnaConfiguration:
        """The machine in this mode."""
        return CdnaConfiguration(self.chip, self.split, readings=readings)

    def mate(self) -> Placement:
        """As far from the first wave as another of its work-group can be."""
        return Placement(cu=int(self.split))


MODES = tuple(Mode(chip, split) for chip, split in product(CHIPS, (True, False)))
HERE, FAR = Placement(), Placement(workgroup=1, cu=1, xcd=1)


def may_read(
    configuration: CdnaConfiguration,
    state: tuple[int, ...],
    observed: tuple[Register, ...],
    *waves: tuple[Placement, Code],
) -> bool:
    """Whether the registers may end so, by the engine; the definition is held to it above."""
    program: CdnaProgram = Program(
        (Location("x"), Location("f"), Location("g")),
        tuple(Thread(place, (*code, Wait(0, 0, 0))) for place, code in waves),
        observed,
    )
    found = explore(CdnaEngine(program, configuration))
    assert found.complete
    assert not found.errors
    return state in found.outcomes.states


def without(code: Code, at: int | None) -> Code:
    return code if at is None else (*code[:at], *code[at + 1 :])


def passes_stale(mode: Mode, wide: bool, readings: Readings, release: Code, acquire: Code) -> bool:
    """Whether a reader that sees the flag can miss the data."""
    there = FAR if wide else mode.mate()
    return may_read(
        mode.machine(readings),
        (1, 0),
        (Register(1, "r0"), Register(1, "r1")),
        (HERE, (VectorStore("x", 1), *release, VectorStore("f", 1))),
        (there, (mode.load("r0", "f", wide), *acquire, VectorLoad("r1", "x"))),
    )


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize("wide", [True, False], ids=["agent", "work-group"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_message_passing_is_right(mode: Mode, wide: bool, completion: str) -> None:
    for stays in (NOW, STAYS):
        readings = COMPLETIONS[completion] | stays
        assert not passes_stale(mode, wide, readings, DONE, mode.acquire(wide))


NEEDED: dict[str, tuple[bool, int | None, int | None, tuple[bool, bool]]] = {
    "agent, release: vscnt": (True, 1, None, (True, True)),
    "agent, release: vmcnt and lgkmcnt": (True, 0, None, (False, False)),
    "agent, acquire: wait of the access": (True, None, 0, (True, True)),
    "agent, acquire: gl1_inv": (True, None, 1, (True, True)),
    "agent, acquire: gl0_inv": (True, None, 2, (True, True)),
    "work-group, release: vscnt": (False, 1, None, (True, False)),
    "work-group, acquire: wait of the access": (False, None, 0, (True, False)),
    "work-group, acquire: gl0_inv": (False, None, 1, (True, False)),
}
"""(at agent scope, what is left out of the release, of the acquire, whether message passing shows it in
WGP and in CU mode); where it does not, only longer shapes do, below."""


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (mode, name)
        for mode, (name, (wide, _, at, _)) in product(MODES, NEEDED.items())
        if at is None or at < len(mode.acquire(wide))
    ],
    ids=str,
)
def test_each_instruction_is_necessary(mode: Mode, name: str, completion: str) -> None:
    wide, release, acquire, shown = NEEDED[name]
    after = mode.acquire(wide)
    stale = passes_stale(
        mode, wide, COMPLETIONS[completion], without(DONE, release), without(after, acquire)
    )
    assert stale is shown[not mode.split]


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_shader_arrays_l1_is_invalidated_before_the_l0(mode: Mode, completion: str) -> None:
    """Else the L0 fetches again what the L1 still has."""
    assert passes_stale(mode, True, COMPLETIONS[completion], DONE, (LOADS, GL0, GL1))


def handed_up(mode: Mode, readings: Readings, release: Code, *, is_load: bool) -> bool:
    """A work-group's release, propagated to the agent by a mate, then seen there.

    Whether a store before the release is missed by who acquires at the agent; or (``is_load``) a load
    before it finds what that one stores.
    """
    first: Code = (VectorLoad("r", "x"),) if is_load else (VectorStore("x", 1),)
    last: Code = (VectorStore("x", 1),) if is_load else (VectorLoad("r", "x"),)
    observed = (Register(1, "a"), Register(2, "b"), Register(0 if is_load else 2, "r"))
    return may_read(
        mode.machine(readings),
        (1, 1, int(is_load)),
        observed,
        (HERE, (*first, *release, VectorStore("f", 1))),
        (
            mode.mate(),
            (mode.load("a", "f", False), *mode.acquire(False), *DONE, VectorStore("g", 1)),
        ),
        (FAR, (mode.load("b", "g", True), *mode.acquire(True), *last)),
    )


@pytest.mark.parametrize("is_load", [False, True], ids=["vscnt", "vmcnt"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_release_to_the_work_group_waits_for_the_agents_sake(mode: Mode, is_load: bool) -> None:
    """In CU mode as well: llvm/llvm-project#161638. Longer shapes alone show the wait for loads."""
    for readings in COMPLETIONS.values():
        assert not handed_up(mode, readings, DONE, is_load=is_load)
        missing = without(DONE, 0 if is_load else 1)
        assert handed_up(mode, readings, missing, is_load=is_load)


# An acquire of the agent that is propagated inside the work-group

WRITER: Code = (VectorStore("x", 1), *DONE, VectorStore("f", 1))
MEET: Code = (WorkgroupBarrier(),)
HANDED_ON = {"queued": (True, True), "counted": (True, False), "now": (False, False)}
"""Whether it is stale without the wait of the work-group's release, and with it."""


def handed_on(mode: Mode, readings: Readings, release: Code, *, barrier: bool) -> bool:
    """Whether a mate may read something older than what the first wave has acquired at the agent."""
    told: Code = MEET if barrier else (VectorStore("g", 1),)
    hears: Code = MEET if barrier else (mode.load("b", "g", False),)
    observed = (Register(1, "r"), Register(0, "a"), Register(1, "b"))
    return may_read(
        mode.machine(readings),
        (0, 1) if barrier else (0, 1, 1),
        observed[:2] if barrier else observed,
        (HERE, (mode.load("a", "f", True), *mode.acquire(True), *release, *told)),
        (mode.mate(), (*hears, *mode.acquire(False), VectorLoad("r", "x"))),
        (FAR, WRITER),
    )


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize("barrier", [False, True], ids=["flag", "s_barrier"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_acquire_is_handed_on(mode: Mode, barrier: bool, completion: str) -> None:
    """The wait that LLVM 24 deletes at -O2 is what makes it right, where the invalidate counts.

    In CU mode a mate's loads come after the invalidate in the queues of the one L0.
    """
    readings = COMPLETIONS[completion]
    found = tuple(handed_on(mode, readings, each, barrier=barrier) for each in ((), DONE))
    assert found == (HANDED_ON[completion] if mode.split else (False, False))


def test_by_default_the_wait_is_what_makes_it_right() -> None:
    for chip in CHIPS:
        assert CdnaConfiguration(chip).readings == COUNTED == DEFAULT_READINGS & left_open(chip)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_store_that_stays_in_the_l0(mode: Mode) -> None:
    """A mate in CU mode finds it there and releases it, which waits for the mate's own stores alone."""
    code = (
        (HERE, (VectorStore("x", 1),)),
        (mode.mate(), (mode.load("a", "x", False), *DONE, VectorStore("f", 1))),
        (FAR, (mode.load("b", "f", True), *mode.acquire(True), VectorLoad("r", "x"))),
    )
    observed = (Register(1, "a"), Register(2, "b"), Register(2, "r"))
    for readings, stale in ((COUNTED | STAYS, not mode.split), (COUNTED, False)):
        assert may_read(mode.machine(readings), (1, 1, 0), observed, *code) is stale


# What there is and what not


def test_wgp_mode_has_lds_and_a_work_group_on_two_cus() -> None:
    program: CdnaProgram = Program(
        (Location("s", space=AddressSpace.LOCAL, workgroup=0),),
        (
            Thread(
                HERE,
                (VectorStore("s", 1, segment=Segment.LDS), Wait(lgkmcnt=0), WorkgroupBarrier()),
            ),
            Thread(
                Placement(cu=1),
                (WorkgroupBarrier(), VectorLoad("r", "s", segment=Segment.LDS), Wait(lgkmcnt=0)),
            ),
        ),
        (Register(1, "r"),),
    )
    for chip in CHIPS:
        found = explore(CdnaEngine(program, CdnaConfiguration(chip, tgsplit=True)))
        assert found.outcomes.states == {(1,)}
        with pytest.raises(ProgramError, match="spread over CUs, which needs WGP mode"):
            CdnaEngine(program, CdnaConfiguration(chip))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ((CacheInstruction("buffer_wbl2"),), "gfx1030: buffer_wbl2: not on this chip"),
        ((CacheInstruction("buffer_gl1_inv", ("glc",)),), "it takes no bits"),
        ((VectorLoad("r", "x", ("sc1",)),), "no sc0 and sc1 bits; accepted: glc, dlc"),
        (
            (VectorLoad("r", "x", ("scope:SCOPE_DEV",)),),
            "no scope and th fields; accepted: glc, dlc",
        ),
    ],
)
def test_what_the_chip_does_not_have(code: Code, message: str) -> None:
    program: CdnaProgram = Program((Location("x"),), (Thread(HERE, code),), ())
    with pytest.raises(ProgramError, match=message):
        CdnaEngine(program, CdnaConfiguration("gfx1030"))


def test_other_chips_have_no_count_of_stores() -> None:
    program: CdnaProgram = Program((Location("x"),), (Thread(HERE, (STORES,)),), ())
    with pytest.raises(ProgramError, match="gfx942 has no vscnt; it has vmcnt, lgkmcnt"):
        CdnaEngine(program, CdnaConfiguration("gfx942"))
