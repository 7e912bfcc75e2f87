"""Asynchronous copies on the machine of gfx1250: agents that only a wait of their own orders."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    AsyncCopy,
    AsyncWait,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CdnaInstruction,
    CdnaProgram,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.progress import stuck
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Move,
    Placement,
    Program,
    ProgramError,
    Thread,
)
from fencewright.tools import fence_sim

GFX1250 = CdnaConfiguration("gfx1250")
MEET = (BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE))
ALL = Wait(loadcnt=0, storecnt=0, dscnt=0)
LOCATIONS = (
    Location("data", 42),
    Location("more", 43),
    Location("tile", space=AddressSpace.LOCAL),
    Location("other", space=AddressSpace.LOCAL),
    Location("flag"),
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
READ = (*MEET, VectorLoad("r0", "tile", segment=Segment.LDS), ALL)


def test_a_barrier_does_not_wait_for_a_copy() -> None:
    assert values((TO_LDS, AsyncWait(0), *MEET), READ) == {42}
    assert values((TO_LDS, *MEET), READ) == {0, 42}


def test_no_other_counter_sees_a_copy() -> None:
    assert values((TO_LDS, ALL, *MEET), READ) == {0, 42}


def test_a_wait_leaves_the_newest_copies_alone() -> None:
    second = AsyncCopy("other", "more")
    assert values((TO_LDS, second, AsyncWait(1), *MEET), READ) == {42}
    assert values((second, TO_LDS, AsyncWait(1), *MEET), READ) == {0, 42}


def test_copies_of_both_directions_are_not_in_order() -> None:
    back, second = AsyncCopy("more", "other"), AsyncCopy("other", "more")
    assert values((TO_LDS, back, AsyncWait(1), *MEET), READ) == {0, 42}
    assert values((back, TO_LDS, AsyncWait(1), *MEET), READ) == {0, 42}
    assert values((back, TO_LDS, second, AsyncWait(1), *MEET), READ) == {42}


def test_a_copy_is_not_in_order_with_the_waves_own_accesses_to_lds() -> None:
    own = VectorStore("tile", 7, segment=Segment.LDS)
    assert values((own, TO_LDS, AsyncWait(0), ALL, *MEET), READ) == {7, 42}
    assert values((own, ALL, TO_LDS, AsyncWait(0), *MEET), READ) == {42}


def test_a_copy_back_is_in_memory_once_it_has_been_waited_for() -> None:
    back = AsyncCopy("data", "tile")
    reader = (*MEET, VectorLoad("r0", "data"), ALL)
    assert values(
        (VectorStore("tile", 7, segment=Segment.LDS), ALL, back, AsyncWait(0), *MEET), reader
    ) == {7}
    assert values((VectorStore("tile", 7, segment=Segment.LDS), ALL, back, *MEET), reader) == {
        7,
        42,
    }


def test_a_copy_begins_when_it_is_issued() -> None:
    late = (VectorStore("data", 1), ALL, TO_LDS, AsyncWait(0), *MEET)
    assert values(late, READ) == {1}


def test_waiting_twice_or_for_nothing_is_no_end_of_the_wave() -> None:
    assert values((AsyncWait(0), TO_LDS, AsyncWait(0), AsyncWait(0), *MEET), READ) == {42}
    assert values((AsyncWait(0), *MEET), READ) == {0}


TENSOR = AsyncCopy("tile", "data", counter=Counter.TENSORCNT)


def test_a_tensor_is_waited_for_in_its_own_counter() -> None:
    assert values((TENSOR, AsyncWait(0, Counter.TENSORCNT), *MEET), READ) == {42}
    assert values((TENSOR, AsyncWait(0), *MEET), READ) == {0, 42}
    assert values((TO_LDS, AsyncWait(0, Counter.TENSORCNT), *MEET), READ) == {0, 42}
    other = AsyncCopy("other", "more")
    assert values((TENSOR, other, AsyncWait(0, Counter.TENSORCNT), *MEET), READ) == {42}


# In loops and branches


def twice(*body: CdnaInstruction) -> tuple[CdnaInstruction, ...]:
    """A loop that runs two times."""
    less = Arithmetic(ArithmeticKind.SUB, "left", "left", 1)
    return (Move("left", 2), Label("again"), *body, less, Branch("again", "left"))


BOTH_TIMES = twice(*MEET, VectorLoad("r0", "tile", segment=Segment.LDS), ALL, *MEET)


def test_a_copy_in_a_loop_is_one_each_time() -> None:
    """The second may be under way while what the first has left is read."""
    clears = (VectorStore("tile", 7, segment=Segment.LDS), ALL)
    loop = twice(*clears, TO_LDS, AsyncWait(0), *MEET, *MEET)
    assert values(loop, BOTH_TIMES) == {42}
    loop = twice(*clears, TO_LDS, *MEET, AsyncWait(0), *MEET)
    assert values(loop, BOTH_TIMES) == {7, 42}


def test_copies_of_two_times_may_be_outstanding() -> None:
    """A pipeline: the time before is waited for, the one just issued is not."""
    loop = (*twice(TO_LDS, AsyncWait(1)), *MEET)
    assert values((*loop[:-2], AsyncWait(0), *MEET), READ) == {42}
    assert values((AsyncCopy("other", "more"), AsyncWait(1), *MEET), READ) == {0}
    back = (
        VectorStore("tile", 7, segment=Segment.LDS),
        ALL,
        *twice(AsyncCopy("data", "tile"), AsyncWait(1)),
    )
    reader = (*MEET, VectorLoad("r0", "data"), ALL)
    assert values((*back, *MEET), reader) == {7}
    assert values((*back[:-4], AsyncCopy("data", "tile"), *MEET), reader) == {7, 42}


def test_on_each_path_the_copies_of_that_path_are_waited_for() -> None:
    maybe = (
        VectorLoad("r1", "flag"), ALL, Branch("skip", "r1", unless=True), TO_LDS, Label("skip"),
    )  # fmt: skip
    sets = (VectorStore("flag", 1), *READ)
    assert values((*maybe, AsyncWait(0), *MEET), sets) == {0, 42}
    copied = values(
        (*maybe, AsyncWait(0), *MEET, VectorLoad("r2", "tile", segment=Segment.LDS), ALL),
        sets,
        of="P0:r2",
    )
    assert copied == {0, 42}
    always = (Branch("on", "r1", unless=True), Label("on"), TO_LDS, AsyncWait(0), *MEET)
    assert values(always, READ) == {42}


def alone(*code: CdnaInstruction, places: tuple[SourceLocation, ...] = ()) -> CdnaProgram:
    """One wave, of which nothing is observed."""
    return Program(LOCATIONS, (Thread(Placement(), code, places),), (), "copies")


def test_a_loop_with_a_copy_ends() -> None:
    assert not stuck(alone(*twice(TO_LDS, AsyncWait(0))), GFX1250)
    polls = (VectorLoad("r1", "flag"), ALL, TO_LDS, AsyncWait(0))
    assert stuck(alone(Label("on"), *polls, Branch("on", "r1", unless=True)), GFX1250)


def test_copies_that_nothing_ever_waits_for_are_refused_in_a_loop() -> None:
    loop = (Label("again"), TO_LDS, Branch("again", "r1"), AsyncWait(0))
    with pytest.raises(ProgramError, match="more than 8 copies may be outstanding"):
        values(loop, READ)


def test_places_stay_with_their_instructions() -> None:
    places = tuple(SourceLocation("k.mlir", line) for line in range(1, 6))
    wave = (Move("r1", 0), TO_LDS, AsyncWait(0), VectorLoad("r0", "tile", segment=Segment.LDS), ALL)
    compiled = CdnaEngine(alone(*wave, places=places), GFX1250).compiled
    found = {str(op.instruction): compiled.place(op) for op in compiled.ops[0]}
    assert found["ds_read r0, tile"] == SourceLocation("k.mlir", 4)
    assert found["s_barrier_signal start of copy P1"] == SourceLocation("k.mlir", 2)


TENSORS = """
litmus.test @tensor {
  litmus.location @data = 42 : i32
  litmus.location @tile = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !cdna.sgpr<2>
    %tile = litmus.address @tile : !cdna.sgpr
    %count = cdna.const 1 : !cdna.sgpr
    %ends = cdna.pack %count, TILE, DATA : (!cdna.sgpr, !cdna.sgpr, !cdna.sgpr<2>) -> !cdna.sgpr<4>
    %shape = cdna.pack %ends, %ends : (!cdna.sgpr<4>, !cdna.sgpr<4>) -> !cdna.sgpr<8>
    cdna.tensor tensor_load_to_lds %ends, %shape : (!cdna.sgpr<4>, !cdna.sgpr<8>) -> ()
    cdna.s_waitcnt tensorcnt(0) {phase = #cdna<phase wait>}
    cdna.barrier s_barrier_signal {modifiers = ["-1"]}
    cdna.barrier s_barrier_wait {modifiers = ["-1"]}
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !cdna.vgpr
    cdna.barrier s_barrier_signal {modifiers = ["-1"]}
    cdna.barrier s_barrier_wait {modifiers = ["-1"]}
    %r = cdna.load ds_load_b32 %tile : (!cdna.vgpr) -> !cdna.vgpr
    cdna.s_waitcnt dscnt(0)
    litmus.observe "r0", %r : !cdna.vgpr
  }
  litmus.condition "forall (P1:r0 = 42)"
}
"""


def run_tensors(tmp_path: Path, *arguments: str, tile: str = "%tile") -> tuple[int, str, str]:
    file = tmp_path / "tensors.mlir"
    file.write_text(TENSORS.replace("TILE", tile).replace("DATA", "%data"), encoding="utf-8")
    said, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(errors):
        status = fence_sim.main(["run", str(file), "--mcpu", "gfx1250", *arguments])
    return status, said.getvalue(), errors.getvalue()


def test_a_tensor_by_its_descriptor_and_without_its_wait(tmp_path: Path) -> None:
    status, said, _ = run_tensors(tmp_path)
    assert (status, "\nOk\n" in said) == (0, True)
    status, said, _ = run_tensors(tmp_path, "--without", "s_wait_tensorcnt")
    assert status == 1
    assert ":> P1:r0=0;" in said
    assert "P1 reads tile = 0 (line 20) before the copy to it that P0 has issued is done" in said


def test_a_descriptor_of_something_else_is_refused(tmp_path: Path) -> None:
    status, _, errors = run_tensors(tmp_path, tile="%count")
    assert status != 0
    assert "the second register of the descriptor has the address in LDS" in errors
