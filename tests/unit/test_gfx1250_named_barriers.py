"""Named barriers of gfx1250: what is emitted, what the machine makes of it, and what breaks it."""

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.cdna.engine import CdnaEngine
from fencewright.simulator.cdna.instructions import (
    BarrierCode,
    BarrierInit,
    BarrierJoin,
    BarrierLeave,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CdnaInstruction,
    NamedBarrier,
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
from fencewright.simulator.core.program import Location, Placement, Program, ProgramError, Thread
from fencewright.tools import fence_check, fence_opt, fence_sim
from fencewright.tools.llvm_tools import find_llvm_tool

GFX1250 = CdnaConfiguration("gfx1250")
LLVM_MC = find_llvm_tool("llvm-mc")
EXAMPLE = Path(__file__).parents[2] / "examples" / "named_barrier.mlir"


# Emitted code


def assembly(tmp_path: Path, body: str, chip: str = "gfx1250") -> tuple[int, str, str]:
    """The status of ``fence-opt -t asm`` on a kernel, what it prints, and its errors."""
    file = tmp_path / "kernel.mlir"
    kernel = f"func.func @k() attributes {{gpu.kernel}} {{\n{body}\n  func.return\n}}\n"
    file.write_text(kernel, encoding="utf-8")
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        status = fence_opt.main([str(file), "--mcpu", chip, "-t", "asm"])
    if status == 0 and LLVM_MC is not None:
        command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=null"]
        subprocess.run(command, input=printed.getvalue(), text=True, check=True)
    return status, printed.getvalue(), errors.getvalue()


def code_of(printed: str) -> list[str]:
    code = printed.partition("\nk:\n")[2].partition("\n.Lk_end")[0]
    return [line.strip() for line in code.splitlines()][1:-1]


SET_UP = ["s_barrier_signal -1", "s_barrier_wait -1"]


def test_a_barrier_is_set_up_by_all_waves_before_any_uses_it(tmp_path: Path) -> None:
    """As LLVM 22 does what a program says by hand: number and count in m0, then join by number."""
    status, printed, _ = assembly(tmp_path, "scoped.named_barrier sync 5 threads 64")
    assert status == 0
    assert code_of(printed) == [
        "s_mov_b32 m0, 0x20005", "s_barrier_init m0", *SET_UP,
        "s_barrier_join 5", "s_barrier_signal 5", "s_barrier_wait 5",
    ]  # fmt: skip
    assert ".amdhsa_named_barrier_count 2\n" in printed


def test_who_arrives_alone_need_not_join(tmp_path: Path) -> None:
    _, printed, _ = assembly(tmp_path, "scoped.named_barrier arrive 1 threads 96")
    assert code_of(printed) == [
        "s_mov_b32 m0, 0x30001", "s_barrier_init m0", *SET_UP, "s_barrier_signal 1",
    ]  # fmt: skip
    assert ".amdhsa_named_barrier_count 1\n" in printed


def test_counts_that_differ_are_said_with_each_signal(tmp_path: Path) -> None:
    body = "scoped.named_barrier sync 2 threads 64\nscoped.named_barrier sync 2 threads 128"
    _, printed, _ = assembly(tmp_path, body)
    assert code_of(printed) == [
        "s_mov_b32 m0, 0x20002", "s_barrier_init m0", *SET_UP,
        "s_barrier_join 2", "s_mov_b32 m0, 0x20002", "s_barrier_signal m0", "s_barrier_wait 2",
        "s_barrier_join 2", "s_mov_b32 m0, 0x40002", "s_barrier_signal m0", "s_barrier_wait 2",
    ]  # fmt: skip


def test_a_kernel_without_one_reserves_none(tmp_path: Path) -> None:
    _, printed, _ = assembly(tmp_path, "scoped.barrier workgroup")
    assert code_of(printed) == SET_UP
    assert "named_barrier" not in printed


@pytest.mark.parametrize(
    ("number", "chip", "said"),
    [(0, "gfx1250", "barrier 0 is the work-group's"), (1, "gfx942", "has no named barriers")],
)
def test_what_the_chip_does_not_have_is_refused(
    tmp_path: Path, number: int, chip: str, said: str
) -> None:
    status, _, errors = assembly(tmp_path, f"scoped.named_barrier sync {number} threads 64", chip)
    assert status == 2
    assert said in errors


@pytest.mark.parametrize(
    ("chip", "highest", "said"),
    [
        ("gfx1250", 17, "named barriers of gfx1250 are 1 to 16, not 17"),
        ("gfx942", 1, "gfx942 has no named barriers"),
    ],
)
def test_a_kernel_has_the_barriers_of_its_chip(
    tmp_path: Path, chip: str, highest: int, said: str
) -> None:
    file = tmp_path / "kernel.mlir"
    sizes = ("group_segment_size", "private_segment_size", "workgroup_ids", "workitem_ids")
    zeros = ", ".join(f"{name} = 0 : i64" for name in sizes)
    file.write_text(
        f'cdna.kernel @k attributes {{chip = "{chip}", arguments = [], {zeros}, max_workgroup_size '
        f"= 64 : i64, named_barriers = {highest} : i64}} {{\n^bb0(%0 : !cdna.sgpr<2, 0>):\n"
        "  cdna.end s_endpgm\n}\n",
        encoding="utf-8",
    )
    errors = io.StringIO()
    with redirect_stderr(errors), redirect_stdout(io.StringIO()):
        assert fence_opt.main([str(file)]) == 2
    assert said in errors.getvalue()


ROLES = """
func.func @k(%tile: !llvm.ptr<1>) attributes {{gpu.known_block_size = array<i32: 64, 1, 1>}} {{
  %x = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %shift = arith.constant {shift} : index
  %wave = arith.shrui %x, %shift : index
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %wave, %zero : index
  cf.cond_br %first, ^fills, ^reads
^fills:
  scoped.named_barrier arrive 1 threads 64
  cf.br ^end
^reads:
  scoped.named_barrier sync 1 threads 64
  cf.br ^end
^end:
  func.return
}}
"""


@pytest.mark.parametrize(("chip", "shift", "status"), [("gfx1250", 5, 0), ("gfx1250", 4, 2)])
def test_waves_of_32_lanes_take_different_parts(
    tmp_path: Path, chip: str, shift: int, status: int
) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(ROLES.format(shift=shift), encoding="utf-8")
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        assert fence_opt.main([str(file), "--mcpu", chip, "-t", "asm"]) == status
    if status:
        assert "the thread id shifted right by 5" in errors.getvalue()
    else:
        code = code_of(printed.getvalue())
        assert code.count("s_barrier_signal 1") == 2
        assert code.count("s_barrier_wait 1") == 1


def test_fence_check_misses_the_wait_before_the_signal(tmp_path: Path) -> None:
    """It reads what is printed, and knows nothing of the passes."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert fence_opt.main([str(EXAMPLE), "--mcpu", "gfx1250", "-t", "asm"]) == 0
    whole, file = printed.getvalue(), tmp_path / "kernel.s"
    for text, found in ((whole, 0), (whole.replace("\ts_wait_dscnt 0x0\n", "", 1), 1)):
        file.write_text(text, encoding="utf-8")
        with redirect_stdout(io.StringIO()):
            assert fence_check.main([str(file), "--fail-on", "warning"]) == found


# From scoped to the verdict, and broken on purpose

PRODUCE_AND_CONSUME = r"""
litmus.test @named {{
  litmus.location @tile = 0 : i32 in local {{workgroup = 0 : i64}}
  litmus.location @data = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @produces(@tile, @data)
  litmus.thread @P1 at <workgroup = 0> runs @consumes(@tile, @data, "r0", "r1")
  litmus.condition "forall (P1:r0 = 1 /\\ P1:r1 = 2)"
}}
func.func @produces(%tile: !llvm.ptr<3>, %data: !llvm.ptr<1>) attributes {{gpu.kernel}} {{
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  scoped.store weak %one, %tile : i32, !llvm.ptr<3>
  scoped.store weak %two, %data : i32, !llvm.ptr<1>
  scoped.named_barrier arrive 3 threads {threads}
  func.return
}}
func.func @consumes(%tile: !llvm.ptr<3>, %data: !llvm.ptr<1>, %0: !llvm.ptr<1>, %1: !llvm.ptr<1>)
    attributes {{gpu.kernel}} {{
  scoped.named_barrier sync 3 threads {threads}
  %r0 = scoped.load weak %tile : !llvm.ptr<3> -> i32
  %r1 = scoped.load weak %data : !llvm.ptr<1> -> i32
  scoped.store weak %r0, %0 : i32, !llvm.ptr<1>
  scoped.store weak %r1, %1 : i32, !llvm.ptr<1>
  func.return
}}
"""


def verdict(tmp_path: Path, *arguments: str, threads: int = 64) -> str:
    """What ``fence-sim run`` says of a tile and data that one wave hands to another."""
    file = tmp_path / "named.mlir"
    file.write_text(PRODUCE_AND_CONSUME.format(threads=threads), encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        fence_sim.main(["run", str(file), "--mcpu", "gfx1250", *arguments])
    return printed.getvalue()


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("readings", ["every", "none"])
def test_a_named_barrier_hands_over_lds_and_memory(
    tmp_path: Path, level: str, readings: str
) -> None:
    said = verdict(tmp_path, level, "--readings", readings)
    assert "\nOk\n" in said
    assert "Ends always" in said


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("s_wait_dscnt", ":> P1:r0=0; P1:r1=2;"),
        ("s_wait_storecnt", ":> P1:r0=1; P1:r1=0;"),
        ("s_barrier_wait", ":> P1:r0=0; P1:r1=0;"),
        ("s_barrier_init", "Error: P1: s_barrier_signal 3: barrier 3 is not initialised"),
        ("s_barrier_join", "Error: P1: s_barrier_wait 3: barrier 3 is not what P1 has joined last"),
        ("s_barrier_signal", "Never ends: "),
    ],
)
def test_what_a_named_barrier_cannot_do_without(tmp_path: Path, left_out: str, said: str) -> None:
    assert said in verdict(tmp_path, "--without", left_out)


def test_a_count_too_high_waits_for_ever_and_one_too_low_for_nobody(tmp_path: Path) -> None:
    assert "Never ends: P1 waits for ever at " in verdict(tmp_path, threads=96)
    assert ":> P1:r0=0; P1:r1=0;" in verdict(tmp_path, threads=32)


def test_the_story_of_a_missing_wait_names_the_barrier() -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        fence_sim.main(["run", str(EXAMPLE), "--mcpu", "gfx1250", "--without", "s_wait_dscnt"])
    assert "P1 reads tile = 0" in printed.getvalue()
    assert "P0 passes s_barrier without waiting for it." in printed.getvalue()


# The machine by itself

ONE, TWO = NamedBarrier(1), NamedBarrier(2)
MEET = (BarrierSignal(BarrierUnit.WAVE), BarrierWait(BarrierUnit.WAVE))
READ = (VectorLoad("r0", "tile", segment=Segment.LDS), Wait(dscnt=0))
WRITE = (VectorStore("tile", 1, segment=Segment.LDS), Wait(dscnt=0))
LOCATIONS = (Location("tile", space=AddressSpace.LOCAL),)


def program_of(*threads: tuple[CdnaInstruction, ...]) -> Program[CdnaInstruction]:
    waves = tuple(Thread(Placement(), each) for each in threads)
    last = len(threads) - 1
    return Program(LOCATIONS, waves, (Register(last, "r0"),), "named")


def outcome(*threads: tuple[CdnaInstruction, ...]) -> tuple[set[int], tuple[str, ...]]:
    """What the last wave's r0 ends with, and the errors; engine and definition agree."""
    program = program_of(*threads)
    engine, definition = (
        explore(machine(program, GFX1250)) for machine in (CdnaEngine, CdnaMachine)
    )
    assert engine.outcomes == definition.outcomes
    assert set(engine.errors) == set(definition.errors)
    values = {v for state in engine.outcomes.states for v in state if v is not None}
    return values, tuple(sorted(engine.errors))


INIT = (BarrierInit(ONE, 2), *MEET)
SYNC = (BarrierJoin(ONE), BarrierSignal(ONE), BarrierWait(ONE))


def test_a_barrier_completes_with_the_signals_that_it_counts() -> None:
    arrive = (*INIT, *WRITE, BarrierSignal(ONE))
    assert outcome(arrive, (*INIT, *SYNC, *READ)) == ({1}, ())


def test_without_the_meeting_a_signal_may_come_before_the_barrier_is_set_up() -> None:
    init = (BarrierInit(ONE, 2),)
    _, errors = outcome((*init, BarrierSignal(ONE)), (BarrierSignal(ONE), *READ))
    assert errors == ("P1: s_barrier_signal 1: barrier 1 is not initialised",)


def test_setting_up_anew_forgets_who_has_come() -> None:
    """Why the prologue meets: an initialisation after the first signal loses it."""
    first = (BarrierInit(ONE, 2), *MEET, BarrierSignal(ONE))
    again = (*MEET, BarrierInit(ONE, 2), *SYNC, *READ)
    assert stuck(program_of(first, again), GFX1250)
    assert not stuck(program_of(first, (*MEET, *SYNC, *READ)), GFX1250)


def test_a_wave_that_joins_after_its_phase_waits_for_the_next() -> None:
    late = (*INIT, *MEET, BarrierJoin(ONE), BarrierWait(ONE), *READ)
    both = (*INIT, BarrierSignal(ONE), BarrierSignal(ONE), *MEET)
    assert stuck(program_of(both, late), GFX1250)
    joined = (*INIT, BarrierJoin(ONE), *MEET, BarrierWait(ONE), *READ)
    assert not stuck(program_of((*INIT, *MEET, *both[-4:-2]), joined), GFX1250)


def test_a_wait_is_for_the_barrier_joined_last() -> None:
    two = (BarrierInit(ONE, 1), BarrierInit(TWO, 1), BarrierJoin(ONE), BarrierJoin(TWO))
    _, errors = outcome((*two, BarrierSignal(ONE), BarrierWait(ONE), *READ))
    assert errors == ("P0: s_barrier_wait 1: barrier 1 is not what P0 has joined last",)


def test_who_leaves_is_counted_no_more() -> None:
    leaves = (*INIT, BarrierJoin(ONE), BarrierLeave())
    assert outcome(leaves, (*INIT, *SYNC, *READ)) == ({0}, ())
    _, errors = outcome((BarrierInit(ONE, 2), BarrierLeave(), *READ))
    assert errors == ("P0: s_barrier_leave: it has joined no barrier",)
    signals = (BarrierInit(ONE, 2), BarrierJoin(ONE), BarrierSignal(ONE), BarrierLeave(), *READ)
    _, errors = outcome(signals)
    assert errors == (
        "P0: s_barrier_leave: P0 leaves barrier 1, where it has signalled, before that is complete",
    )


def test_a_signal_may_say_a_new_count() -> None:
    other = (*INIT, *WRITE, BarrierSignal(ONE, count=1))
    assert outcome(other, (*INIT, BarrierJoin(ONE), *READ)) == ({0, 1}, ())
    _, errors = outcome(
        (BarrierInit(ONE, 3), BarrierSignal(ONE), BarrierSignal(ONE, count=1), *READ)
    )
    assert errors == (
        "P0: s_barrier_signal 1 of 1: barrier 1 has 1 signals already, and is to count 1",
    )


def test_the_first_is_told() -> None:
    first = BarrierSignal(ONE, "r0")
    assert outcome((*INIT, BarrierSignal(ONE)), (*INIT, first)) == ({0, 1}, ())


def test_a_chip_without_named_barriers_executes_none() -> None:
    with pytest.raises(ProgramError, match="gfx942 has no named barriers"):
        CdnaEngine(program_of((BarrierInit(ONE, 1), *READ)), CdnaConfiguration("gfx942"))
    with pytest.raises(ProgramError, match="1 to 16"):
        CdnaEngine(program_of((BarrierInit(NamedBarrier(17), 1), *READ)), GFX1250)


def test_operands_are_read_as_they_are_assembled() -> None:
    read: list[CdnaInstruction] = []
    code = BarrierCode(read.append)
    for mnemonic, operands, m0 in (
        ("s_barrier_init", ("m0",), 0x20001),
        ("s_barrier_init", ("3",), 0x40000),
        ("s_barrier_join", ("m0",), 5),
        ("s_barrier_signal", ("m0",), 5),
        ("s_barrier_signal", ("m0",), 0x70005),
        ("s_barrier_signal_isfirst", ("2",), None),
        ("s_barrier_leave", (), None),
    ):
        assert code.instruction(mnemonic, operands, m0)
    assert read == [
        BarrierInit(ONE, 2), BarrierInit(NamedBarrier(3), 4), BarrierJoin(NamedBarrier(5)),
        BarrierSignal(NamedBarrier(5)), BarrierSignal(NamedBarrier(5), count=7),
        BarrierSignal(TWO, "scc"), BarrierLeave(),
    ]  # fmt: skip
    assert not code.instruction("s_barrier_signal", ("0",))
    assert not code.instruction("s_barrier_join", ("m0",))


STEPS: tuple[tuple[CdnaInstruction, ...], ...] = (
    (BarrierSignal(ONE),), (BarrierSignal(TWO),), (BarrierJoin(ONE),), SYNC, (BarrierJoin(TWO),),
    (BarrierWait(ONE),), (BarrierWait(TWO),), (BarrierLeave(),), (BarrierInit(TWO, 2),),
    (BarrierSignal(ONE, count=3),), (BarrierSignal(TWO, "r1"),), WRITE, READ, MEET,
)  # fmt: skip


def threads() -> "st.SearchStrategy[tuple[CdnaInstruction, ...]]":
    def flattened(steps: list[tuple[CdnaInstruction, ...]]) -> tuple[CdnaInstruction, ...]:
        return (BarrierInit(ONE, 2), *MEET, *(op for step in steps for op in step), *READ)

    return st.lists(st.sampled_from(STEPS), max_size=4).map(flattened)


@given(st.lists(threads(), min_size=1, max_size=3))
def test_engine_and_definition_agree(each_of: list[tuple[CdnaInstruction, ...]]) -> None:
    outcome(*each_of)
