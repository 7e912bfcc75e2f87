"""The machine of gfx12: the engine against the definition, LLVM's sequences, what each of them is for."""

from dataclasses import dataclass, replace
from itertools import product

import pytest
from campaigns import Share, draws
from hypothesis import strategies as st
from machine_programs import compare_drawn, programs
from test_gfx1250_machine import instructions

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    SCOPES,
    CdnaConfiguration,
    Interpretation,
    left_open,
)
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Placement, Program, ProgramError, Thread

Code = tuple[CdnaInstruction, ...]
Readings = frozenset[Interpretation]
NOW: Readings = frozenset()
STAYS = frozenset({Interpretation.STORE_STAYS})
SE, DEV, SYS = SCOPES

CONFIGURATIONS = tuple(
    CdnaConfiguration("gfx1200", split, readings=readings)
    for split, readings in product((False, True), (EVERY_READING, NOW))
)


@st.composite
def placements(draw: st.DrawFn, waves: int, configuration: CdnaConfiguration) -> list[Placement]:
    """Waves of one or several work-groups, each on one CU, or in WGP mode on two."""
    result: list[Placement] = []
    for wave in range(waves):
        if result and draw(st.integers(0, 2)):
            mate = result[-1]
            result.append(
                replace(mate, cu=draw(st.integers(0, 1)) if configuration.tgsplit else mate.cu)
            )
            continue
        agent = draw(st.sampled_from((0, 0, 1)))
        result.append(Placement(wave, draw(st.integers(0, 1)), 0, agent))
    return result


@pytest.mark.parametrize("share", draws(12))
def test_engine_equals_the_plain_machine(share: Share) -> None:
    compare_drawn(
        share,
        programs(CONFIGURATIONS, placements, instructions, Wait(loadcnt=0, storecnt=0, dscnt=0)),
    )


# LLVM's sequences (LLVM 24 AMDGPUUsage, Memory Model GFX12; as llc-22 has them at -O0)

STORED, LOADED = Wait(storecnt=0), Wait(loadcnt=0, dscnt=0)
DONE: Code = (STORED, LOADED)
HERE = Placement()


@dataclass(frozen=True, slots=True)
class Case:
    """A scope in WGP mode (``split``) or CU mode, with LLVM's code for it, and where the reader is."""

    name: str
    split: bool
    bits: tuple[str, ...]
    release: Code
    acquire: Code
    there: Placement

    def __str__(self) -> str:
        return f"{self.name}, {'WGP' if self.split else 'CU'} mode"


def cases() -> list[Case]:
    found: list[Case] = []
    for split in (True, False):
        mate = Placement(cu=int(split))
        near = (LOADED, CacheInstruction("global_inv", (SE,))) if split else ()
        found.append(Case("work-group", split, (SE,) if split else (), DONE, near, mate))
        for name, scope, agent in (("agent", DEV, 0), ("system", SYS, 1)):
            back = (CacheInstruction("global_wb", (SYS,)),) if agent else ()
            after = LOADED, CacheInstruction("global_inv", (scope,))
            far = Placement(workgroup=1, cu=1, agent=agent)
            found.append(Case(name, split, (scope,), (*back, *DONE), after, far))
    return found


def passes_stale(case: Case, readings: Readings, release: Code, acquire: Code) -> bool:
    """Whether a reader that sees the flag can miss the data, which its caches had before."""
    waves: tuple[tuple[Placement, Code], ...] = (
        (HERE, (VectorStore("x", 1), *release, VectorStore("f", 1, case.bits))),
        (case.there, (VectorLoad("r0", "f", case.bits), *acquire, VectorLoad("r1", "x"))),
    )
    program: CdnaProgram = Program(
        (Location("x"), Location("f")),
        tuple(
            Thread(place, (*code, Wait(loadcnt=0, storecnt=0, dscnt=0))) for place, code in waves
        ),
        (Register(1, "r0"), Register(1, "r1")),
    )
    machine = CdnaConfiguration("gfx1200", case.split, readings=readings)
    found = explore(CdnaEngine(program, machine))
    assert found.complete
    assert not found.errors
    return (1, 0) in found.outcomes.states


@pytest.mark.parametrize("readings", [NOW, STAYS], ids=["dropped", "stays"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_message_passing_is_right(case: Case, readings: Readings) -> None:
    assert not passes_stale(case, readings, case.release, case.acquire)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_each_instruction_is_for_something(case: Case) -> None:
    """In CU mode the one L0 keeps a work-group's order; a wait for loads shows in longer shapes."""
    for at, each in enumerate(case.release):
        less = (*case.release[:at], *case.release[at + 1 :])
        shown = each is not LOADED and (case.name != "work-group" or case.split)
        assert passes_stale(case, NOW, less, case.acquire) is shown, each
    for at, each in enumerate(case.acquire):
        less = (*case.acquire[:at], *case.acquire[at + 1 :])
        assert passes_stale(case, NOW, case.release, less), each


@pytest.mark.parametrize("scope", [(), (SE,), (DEV,)], ids=str)
def test_less_than_the_system_is_written_back_nowhere(scope: tuple[str, ...]) -> None:
    (case,) = (each for each in cases() if each.name == "system" and each.split)
    less = (CacheInstruction("global_wb", scope), *DONE)
    assert passes_stale(case, NOW, less, case.acquire)
    inv = CacheInstruction("global_inv", scope)
    assert passes_stale(case, NOW, case.release, (LOADED, inv))


def test_only_what_stays_in_an_l0_is_left_open() -> None:
    assert left_open("gfx1200") == STAYS
    assert CdnaConfiguration("gfx1201").readings == DEFAULT_READINGS & STAYS == NOW
    assert CdnaConfiguration("gfx12-generic").l2_per_agent is L2PerAgent.ONE


def test_wgp_mode_has_lds_and_a_work_group_on_two_cus() -> None:
    meet = (BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE))
    program: CdnaProgram = Program(
        (Location("s", space=AddressSpace.LOCAL, workgroup=0),),
        (
            Thread(HERE, (VectorStore("s", 1, segment=Segment.LDS), Wait(dscnt=0), *meet)),
            Thread(
                Placement(cu=1),
                (*meet, VectorLoad("r", "s", segment=Segment.LDS), Wait(dscnt=0)),
            ),
        ),
        (Register(1, "r"),),
    )
    found = explore(CdnaEngine(program, CdnaConfiguration("gfx1200", tgsplit=True)))
    assert found.outcomes.states == {(1,)}
    with pytest.raises(ProgramError, match="spread over CUs, which needs WGP mode"):
        CdnaEngine(program, CdnaConfiguration("gfx1200"))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ((CacheInstruction("buffer_gl0_inv"),), "gfx1200: buffer_gl0_inv: not on this chip"),
        ((VectorLoad("r", "x", ("glc",)),), "a scope field in place of bits"),
        ((Wait(0),), "gfx1200 has no vmcnt"),
    ],
)
def test_what_the_chip_does_not_have(code: Code, message: str) -> None:
    program: CdnaProgram = Program((Location("x"),), (Thread(HERE, code),), ())
    with pytest.raises(ProgramError, match=message):
        CdnaEngine(program, CdnaConfiguration("gfx1200"))


def test_an_agent_has_one_l2() -> None:
    with pytest.raises(ProgramError, match="one L2 per agent"):
        CdnaConfiguration("gfx1200", l2_per_agent=L2PerAgent.MANY).access_effect(Kind.LOAD, ())
