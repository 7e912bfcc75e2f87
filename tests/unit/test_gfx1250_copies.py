"""Asynchronous copies on the machine of gfx1250: agents that only a wait of their own orders."""

import pytest

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    AsyncCopy,
    AsyncWait,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CdnaInstruction,
    LdsLoad,
    LdsStore,
    SplitWait,
    VectorLoad,
    VectorStore,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import (
    Branch,
    Label,
    Location,
    Placement,
    Program,
    ProgramError,
    Thread,
)

GFX1250 = CdnaConfiguration("gfx1250")
MEET = (BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE))
ALL = SplitWait(loadcnt=0, storecnt=0, dscnt=0)
LOCATIONS = (
    Location("data", 42),
    Location("more", 43),
    Location("tile", space=AddressSpace.LOCAL),
    Location("other", space=AddressSpace.LOCAL),
)


def values(*threads: tuple[CdnaInstruction, ...], of: str = "P1:r0") -> set[int]:
    """What a register ends with; engine and definition agree on it."""
    wave, _, name = of.partition(":")
    observed = (Register(int(wave[1:]), name),)
    waves = tuple(Thread(Placement(), each) for each in threads)
    program = Program(LOCATIONS, waves, observed, "copies")
    by_engine, by_definition = (
        explore(machine(program, GFX1250)) for machine in (CdnaEngine, CdnaMachine)
    )
    assert not by_engine.errors
    assert by_engine.outcomes == by_definition.outcomes
    return {value for state in by_engine.outcomes.states for value in state if value is not None}


TO_LDS = AsyncCopy("tile", "data")
READ = (*MEET, LdsLoad("r0", "tile"), ALL)


def test_a_barrier_does_not_wait_for_a_copy() -> None:
    assert values((TO_LDS, AsyncWait(0), *MEET), READ) == {42}
    assert values((TO_LDS, *MEET), READ) == {0, 42}


def test_no_other_counter_sees_a_copy() -> None:
    assert values((TO_LDS, ALL, *MEET), READ) == {0, 42}


def test_a_wait_leaves_the_newest_copies_alone() -> None:
    second = AsyncCopy("other", "more")
    assert values((TO_LDS, second, AsyncWait(1), *MEET), READ) == {42}
    assert values((second, TO_LDS, AsyncWait(1), *MEET), READ) == {0, 42}


def test_a_copy_is_not_in_order_with_the_waves_own_accesses_to_lds() -> None:
    own = LdsStore("tile", 7)
    assert values((own, TO_LDS, AsyncWait(0), ALL, *MEET), READ) == {7, 42}
    assert values((own, ALL, TO_LDS, AsyncWait(0), *MEET), READ) == {42}


def test_a_copy_back_is_in_memory_once_it_has_been_waited_for() -> None:
    back = AsyncCopy("data", "tile")
    reader = (*MEET, VectorLoad("r0", "data"), ALL)
    assert values((LdsStore("tile", 7), ALL, back, AsyncWait(0), *MEET), reader) == {7}
    assert values((LdsStore("tile", 7), ALL, back, *MEET), reader) == {7, 42}


def test_a_copy_begins_when_it_is_issued() -> None:
    late = (VectorStore("data", 1), ALL, TO_LDS, AsyncWait(0), *MEET)
    assert values(late, READ) == {1}


def test_waiting_twice_or_for_nothing_is_no_end_of_the_wave() -> None:
    assert values((AsyncWait(0), TO_LDS, AsyncWait(0), AsyncWait(0), *MEET), READ) == {42}
    assert values((AsyncWait(0), *MEET), READ) == {0}


def test_a_copy_in_a_loop_is_refused() -> None:
    loop = (Label("again"), TO_LDS, Branch("again", "r1"), AsyncWait(0))
    with pytest.raises(ProgramError, match="not in a loop or branch"):
        values(loop, READ)
