"""PTX text as its lanes run it: what it computes, what is counted, and what is refused."""

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lane_kernels import executions, run
from numpy.typing import NDArray

import fencewright
from fencewright.lowering.ptx.code.pointers import Pointers
from fencewright.lowering.ptx.code.text import PtxError, read_ptx
from fencewright.simulator.execution.launch import LaunchError
from fencewright.simulator.execution.program import (
    FenceStep,
    Jump,
    LaneBranch,
    LaneProgram,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.kernels.ptx.kernel import program_of

HEAD = """.version 8.0
.target sm_90
.address_size 64
"""
REGISTERS = """
  .reg .pred %p<8>;
  .reg .b16 %rs<8>;
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<16>;
"""
OWN = """
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
"""
"""The addresses of a thread's word of both buffers."""
PARAMETERS = ".param .u64 out, .param .u64 in"
THREADS = 32


def read(body: str, parameters: str = PARAMETERS, before: str = "", after: str = "") -> LaneProgram:
    text = (
        f"{HEAD}{before}.visible .entry k({parameters}) {after}\n{{{REGISTERS}{body}\n  ret;\n}}\n"
    )
    file = read_ptx(text, "k.ptx")
    return program_of(file, file.functions["k"])


def words(body: str, data: Sequence[int] | NDArray[Any] = range(THREADS), **more: str) -> list[int]:
    """What threads leave in a word each, of the words ``data``, after ``OWN``."""
    given = np.array(data, dtype=np.uint32)
    memory, _ = run(read(OWN + body, **more), 1, THREADS, [np.zeros(256, np.uint32), given])
    return memory.contents("argument 0", np.uint32)[:THREADS].tolist()


# Control flow


def test_any_instruction_may_have_a_guard() -> None:
    """Computations, moves, loads, stores; of one run under a guard, what changes it is the last."""
    body = """
  setp.lt.u32 %p1, %r1, 8;
  mov.u32 %r2, 100;
  @%p1 mov.u32 %r2, 1;
  @!%p1 add.u32 %r2, %r2, %r1;
  @%p1 ld.global.u32 %r3, [%rd2];
  @%p1 add.u32 %r2, %r2, %r3;
  @%p1 setp.lt.u32 %p1, %r1, 4;
  @%p1 add.u32 %r2, %r2, 1000;
  @!%p1 st.global.u32 [%rd1], %r2;
"""
    found = words(body, range(10, 10 + THREADS))
    assert found == [0] * 4 + [1 + 10 + n for n in range(4, 8)] + [100 + n for n in range(8, 32)]


def test_instructions_under_one_guard_are_one_block() -> None:
    body = OWN + "setp.lt.u32 %p1, %r1, 8;" + "@%p1 st.global.u32 [%rd1], %r1;" * 3
    program = read(body)
    assert sum(isinstance(each.end, LaneBranch) for each in program.blocks) == 1
    _, found = run(program, 1, 64, [np.zeros(64, np.uint32), np.zeros(64, np.uint32)])
    # The second warp does not come to them.
    assert executions(program, found) == {"st.global.u32": 3}


def test_a_guarded_return_ends_some_lanes() -> None:
    body = """
  setp.ge.u32 %p1, %r1, 5;
  @%p1 exit;
  st.global.u32 [%rd1], 7;
"""
    assert words(body) == [7] * 5 + [0] * 27


def test_a_loop_that_exchanges_registers() -> None:
    """Copies before a branch are moves of the edge: in their order, and then all at once."""
    body = """
  mov.u32 %r2, 1;
  mov.u32 %r3, 2;
  mov.u32 %r4, 0;
$again:
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 bra $done;
  add.u32 %r4, %r4, 1;
  bra $swap;
$swap:
  mov.u32 %r5, %r2;
  mov.u32 %r2, %r3;
  mov.u32 %r3, %r5;
  bra $again;
$done:
  st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [1 + n % 2 for n in range(THREADS)]
    ends = [each.end for each in read(OWN + body).blocks]
    assert [each for each in ends if isinstance(each, Jump) and each.moves]


def test_an_empty_loop_is_kept() -> None:
    program = read("$on:\n  bra $on;")
    with pytest.raises(LaunchError, match="a loop does not end"):
        run(program, 1, 32, [np.zeros(1, np.uint32), np.zeros(1, np.uint32)], limit=100)


def test_a_barrier_counts_the_threads_that_the_kernel_fixes() -> None:
    def barriers(program: LaneProgram) -> list[FenceStep]:
        steps = (step for block in program.blocks for step in block.steps)
        return [each for each in steps if isinstance(each, FenceStep)]

    (of_all,) = barriers(read("bar.sync 0, 64;", after=".reqntid 64"))
    assert of_all.threads is None
    (of_some,) = barriers(read("bar.sync 0, 32;", after=".reqntid 64"))
    assert of_some.threads is not None


def test_a_barrier_folds_the_predicates_of_its_threads() -> None:
    """Three warps, of which the last has threads that ended; then the first two at barrier 1."""
    body = """
  setp.ge.u32 %p1, %r1, 90; @%p1 exit;
  setp.lt.u32 %p2, %r1, 40; bar.red.popc.u32 %r2, 0, %p2;
  setp.lt.u32 %p3, %r1, 90; barrier.red.and.pred %p4, 0, %p3; selp.u32 %r3, 100, 0, %p4;
  bar.red.or.pred %p5, 0, !%p3; selp.u32 %r4, 1000, 0, %p5;
  add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
  setp.ge.u32 %p6, %r1, 64; @%p6 bra S;
  and.b32 %r5, %r1, 7; setp.eq.u32 %p7, %r5, 0; bar.red.popc.u32 %r6, 1, 64, %p7;
  mad.lo.u32 %r2, %r6, 10000, %r2;
S: st.global.u32 [%rd1], %r2;
"""
    zeros = np.zeros(96, np.uint32)
    memory, _ = run(read(OWN + body), 1, 96, [zeros, zeros])
    found = memory.contents("argument 0", np.uint32).tolist()
    assert found == [80140] * 64 + [140] * 26 + [0] * 6
    text = f"{HEAD}.visible .entry k({PARAMETERS})\n{{{REGISTERS}{OWN}{body}\n  ret;\n}}\n"
    assert fencewright.execute(text, block=96, args=(zeros, zeros))[0].tolist() == found


def test_halves_of_a_work_group_meet_at_barriers_of_their_own() -> None:
    """Producers arrive at barrier 1 and go on, consumers wait there."""
    body = """
  .shared .align 4 .b8 room[128];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  and.b32 %r2, %r1, 31;
  mov.u32 %r5, room;
  mad.lo.u32 %r3, %r2, 4, %r5;
  @!%p1 bra L;
  st.shared.u32 [%r3], %r1;
  bar.arrive 1, 64;
  ret;
L:
  bar.sync 1, 64;
  ld.shared.u32 %r4, [%r3];
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r4;"""
    memory, _ = run(read(body), 2, 64, [np.zeros(32, np.uint32), np.zeros(1, np.uint32)])
    assert memory.contents("argument 0", np.uint32).tolist() == list(range(32))


# Registers and operands


def test_special_registers_and_literals() -> None:
    body = """
  mov.u32 %r2, %laneid;
  mov.u32 %r3, WARP_SZ;
  mad.lo.u32 %r2, %r2, 1000, %r3;
  mov.u32 %r4, %cluster_nctarank;
  add.u32 %r2, %r2, %r4;
  mov.f32 %f1, 0f3F800000;
  add.f32 %f1, %f1, 1.5;
  cvt.rzi.u32.f32 %r5, %f1;
  add.u32 %r2, %r2, %r5;
  st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [1000 * n + 32 + 1 + 2 for n in range(THREADS)]


def test_special_registers_of_waves_and_of_shared_memory() -> None:
    """The system's part of shared memory comes after the kernel's, which has none."""
    body = """
  mov.u32 %r2, %warpid; mov.u32 %r3, %nwarpid; mov.u32 %r4, %nsmid;
  shl.b32 %r3, %r3, 4; shl.b32 %r4, %r4, 8; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4;
  mov.u32 %r3, %reserved_smem_offset_1; st.shared.u32 [%r3+1020], %r2; ld.shared.u32 %r2, [%r3+1020];
  mov.u32 %r4, %total_smem_size; add.u32 %r2, %r2, %r4; mov.u32 %r4, %dynamic_smem_size;
  add.u32 %r2, %r2, %r4; st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [0x110] * THREADS
    with pytest.raises(LaunchError, match="of shared memory, which has 1024 bytes"):
        words(body.replace("1020", "1024"))


@pytest.mark.parametrize("clock", ["clock", "clock64", "globaltimer"])
def test_a_clock_goes_on(clock: str) -> None:
    wide = "64" in clock or "global" in clock
    last = "cvt.u32.u64 %r4, %rd5;" if wide else "mov.u32 %r4, %r5;"
    first, name, bits = ("%rd4", "%rd5", "u64") if wide else ("%r6", "%r5", "u32")
    body = f"""
  mov.{bits} {first}, %{clock};
  bar.sync 0;
  mov.{bits} {name}, %{clock}; sub.{bits} {name}, {name}, {first}; {last}
  setp.gt.u32 %p1, %r4, 0; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%rd1], %r4;
"""
    program = read(OWN + body)
    memory, _ = run(program, 1, THREADS, [np.zeros(256, np.uint32), np.zeros(256, np.uint32)])
    assert memory.contents("argument 0", np.uint32)[:THREADS].all()


def test_a_copy_of_all_its_bytes_may_say_so() -> None:
    body = """
  .shared .align 4 .b8 tile[1024];
  mov.u32 %r4, tile; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5;
  cp.async.ca.shared.global [%r4], [%rd2], 4, 4; cp.async.wait_all;
  ld.shared.u32 %r6, [%r4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;
"""
    assert words(body) == [n + 1 for n in range(THREADS)]


def test_carries_second_results_and_hints() -> None:
    body = """
    .reg .b64 %policy;
    createpolicy.fractional.L2::evict_first.b64 %policy, 1.0; prefetch.global.L2 [%rd1];
    add.cc.u32 %r2, %r1, -1; addc.u32 %r3, 0, 0;
    setp.eq.u32 %p1|%p2, %r1, 5; selp.b32 %r4, 2, 0, %p1; selp.b32 %r5, 4, 0, %p2;
    mov.u32 %r6, %lanemask_lt; popc.b32 %r6, %r6; shl.b32 %r6, %r6, 4;
    or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5; or.b32 %r1, %r3, %r6; st.global.u32 [%rd1], %r1;
    """
    wanted = [(lane > 0) | (2 if lane == 5 else 4) | lane << 4 for lane in range(THREADS)]
    assert words(body) == wanted


def test_a_number_of_f64_beside_registers() -> None:
    body = """
  .reg .f64 %d<3>;
  cvt.rn.f64.u32 %d1, %r1;
  add.f64 %d1, %d1, 0d3FF8000000000000;
  cvt.rzi.u32.f64 %r2, %d1;
  st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [n + 1 for n in range(THREADS)]


def test_a_jump_to_a_label_further_down_in_a_scope() -> None:
    body = """
  mov.u32 %r2, 1;
  {
    .reg .pred p;
    setp.lt.u32 p, %r1, 4;
    @p bra on;
    mov.u32 %r2, 2;
  on:
    add.u32 %r2, %r2, 10;
  }
  st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [11] * 4 + [12] * 28


def test_several_registers_as_one() -> None:
    body = """
  mov.b64 %rd5, {%r1, 5};
  mov.b64 {_, %r3}, %rd5;
  cvt.u32.u64 %r4, %rd5;
  mad.lo.u32 %r4, %r4, 10, %r3;
  st.global.b32 [%rd1], { %r4 };
"""
    assert words(body) == [10 * n + 5 for n in range(THREADS)]


def test_results_of_a_pair() -> None:
    body = """
  setp.lt.u32 %p1|%p2, %r1, 3;
  shfl.sync.down.b32 %r2|%p3, %r1, 4, 31, -1;
  mov.u32 %r3, 0;
  @%p1 add.u32 %r3, %r3, 1;
  @%p2 add.u32 %r3, %r3, 2;
  @%p3 add.u32 %r3, %r3, 4;
  and.pred %p4, %p1, !%p3;
  @!%p4 mad.lo.u32 %r3, %r2, 10, %r3;
  st.global.u32 [%rd1], %r3;
"""
    lanes = range(THREADS)
    expected = [(1 if n < 3 else 2) + 4 * (n < 28) + 10 * (n + 4 if n < 28 else n) for n in lanes]
    assert words(body) == expected


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("ld.global.u8 %r2, [%rd2];", 0x80),
        ("ld.global.s8 %r2, [%rd2];", 0xFFFFFF80),
        ("ld.global.s16 %r2, [%rd2+2];", 0xFFFFFFFE),
        ("ld.global.s32 %rd5, [%rd2]; cvt.u32.u64 %r2, %rd5;", 0xFFFEFF80),
        ("ld.global.s32 %rd5, [%rd2]; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r2, %rd5;", 0xFFFFFFFF),
        ("ld.global.v2.s8 {_, %r2}, [%rd2];", 0xFFFFFFFF),
        ("ld.global.v2.u16 {%rs1, %rs2}, [%rd2]; cvt.u32.u16 %r2, %rs2;", 0xFFFE),
    ],
)
def test_a_load_fills_its_register(load: str, expected: int) -> None:
    body = f"{load} st.global.u32 [%rd1], %r2;"
    assert words(body, [0xFFFEFF80] * THREADS) == [expected] * THREADS


def test_vectors_at_offsets() -> None:
    body = """
  ld.param.u64 %rd5, [in];
  mul.wide.u32 %rd6, %r1, 16;
  add.s64 %rd5, %rd5, %rd6;
  ld.global.nc.v2.u32 {%r2, %r3}, [%rd5+8];
  ld.global.u32 %r4, [%rd5 + -0];
  sub.u32 %r2, %r2, %r3;
  add.u32 %r2, %r2, %r4;
  st.global.u32 [%rd1], %r2;
"""
    assert words(body, np.arange(4 * THREADS)) == [4 * n - 1 & 0xFFFFFFFF for n in range(THREADS)]


def test_parts_of_a_parameter() -> None:
    body = """
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r2, [pair+4];
  ld.param.v2.u16 {%rs1, %rs2}, [pair];
  ld.param.s8 %r3, [pair+8];
  cvt.u32.u16 %r4, %rs2;
  st.global.v4.u32 [%rd1], {%r2, %r4, %r3, 9};
"""
    parameters = ".param .u64 out, .param .align 4 .b8 pair[12]"
    given = np.array([1, 0, 2, 0, 3, 0, 0, 0, 0xFE, 0, 0, 0], np.uint8)
    memory, _ = run(read(body, parameters), 1, 1, [np.zeros(4, np.uint32), given])
    assert memory.contents("argument 0", np.uint32).tolist() == [3, 2, 0xFFFFFFFE, 9]


# Variables and state spaces


def test_shared_variables_lie_one_after_another() -> None:
    """Aligned, without those that nobody names, those as large as the launch says at the end."""
    before = """
.extern .shared .align 16 .b8 rest[];
.shared .align 4 .b8 first[5];
.shared .align 8 .b8 unused[512];
.shared .align 8 .u64 second[3];
"""
    body = """
  mov.u32 %r2, second;
  mov.u32 %r3, rest;
  mad.lo.u32 %r2, %r2, 1000, %r3;
  st.shared.u8 [first+4], 3;
  st.shared.u32 [rest], %r1;
  st.global.u32 [%rd1], %r2;
"""
    program = read(OWN + body, before=before)
    assert program.resources.shared_bytes == 32
    memory, _ = run(
        program, 1, THREADS, [np.zeros(256, np.uint32), np.zeros(256, np.uint32)], shared=4
    )
    assert memory.contents("argument 0", np.uint32)[0] == 8 * 1000 + 32


GENERIC = """
  mov.u32 %r2, room;
  cvt.u64.u32 %rd5, %r2;
  cvta.shared.u64 %rd6, %rd5;
  add.s64 %rd6, %rd6, %rd3;
  st.u32 [%rd6], %r1;
  bar.warp.sync -1;
  ld.u32 %r3, [%rd6];
  add.u32 %r3, %r3, 1;
  cvta.to.global.u64 %rd7, %rd1;
  st.u32 [%rd7], %r3;
"""


def test_generic_addresses_are_where_their_variables_are() -> None:
    before = ".shared .align 4 .b8 room[128];"
    assert words(GENERIC, before=before) == [n + 1 for n in range(THREADS)]
    program = read(OWN + GENERIC, before=before)
    found = [each for each in program.instructions if isinstance(each, MemoryInstruction)]
    assert [(each.space, each.model) for each in found] == [
        (MemorySpace.SHARED, "st.shared.u32"),
        (MemorySpace.SHARED, "ld.shared.u32"),
        (MemorySpace.GLOBAL, "st.u32"),
    ]


def test_a_generic_address_of_one_of_two_shared_variables() -> None:
    body = """
  setp.lt.u32 %p1, %r1, 8;
  mov.u64 %rd5, low;
  mov.u64 %rd6, high;
  selp.b64 %rd7, %rd5, %rd6, %p1;
  st.u32 [%rd7], %r1;
  ld.shared.u32 %r2, [high];
  ld.shared.u32 %r3, [low];
  mad.lo.u32 %r2, %r2, 100, %r3;
  st.global.u32 [%rd1], %r2;
"""
    before = ".shared .align 4 .u32 low;\n.shared .align 4 .u32 high;"
    assert words(body, before=before) == [31 * 100 + 7] * THREADS


def test_local_memory() -> None:
    body = """
  .local .align 8 .b8 depot[16];
  mov.u64 %rd5, depot;
  cvta.local.u64 %rd6, %rd5;
  st.local.u32 [depot+4], %r1;
  ld.u32 %r2, [%rd6+4];
  st.global.u32 [%rd1], %r2;
"""
    assert words(body) == [*range(THREADS)]
    assert read(OWN + body).resources.private_bytes == 16


def test_a_pointer_to_local_memory_out_of_memory_is_refused() -> None:
    body = """
  .local .align 8 .b8 depot[16];
  mov.u64 %rd5, depot;
  cvta.local.u64 %rd6, %rd5;
  cvta.to.local.u64 %rd7, %rd6;
  st.local.u32 [%rd7+4], %r1;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd1, %rd1, %rd5;
  st.global.u64 [%rd1], %rd6;
  ld.global.u64 %rd8, [%rd1];
  ld.u32 %r2, [%rd8+4];
"""
    with pytest.raises(LaunchError, match="byte 4 of local memory, of which only the pointer"):
        words(body)


def test_variables_of_the_module() -> None:
    before = """
.global .align 4 .u32 counter = 40;
.const .align 4 .u32 table[4] = {5, 6, 0x7};
.global .align 4 .f32 scale[] = {0f40000000, 1.0};
"""
    body = """
  and.b32 %r2, %r1, 3;
  mul.wide.u32 %rd5, %r2, 4;
  mov.u64 %rd6, table;
  add.s64 %rd6, %rd6, %rd5;
  ld.const.u32 %r3, [%rd6];
  atom.global.add.u32 %r4, [counter], 1;
  ld.global.f32 %f1, [scale+4];
  ld.global.f32 %f2, [scale];
  add.f32 %f1, %f1, %f2;
  cvt.rni.u32.f32 %r5, %f1;
  mad.lo.u32 %r3, %r3, 1000, %r5;
  mad.lo.u32 %r3, %r4, 10, %r3;
  st.global.u32 [%rd1], %r3;
"""
    expected = [1000 * (5, 6, 7, 0)[n % 4] + 3 + 10 * (40 + n) for n in range(THREADS)]
    assert words(body, before=before) == expected


@pytest.mark.parametrize("there", [".shared .align 8 .u64 there;", ".extern .global .u64 there[];"])
def test_a_variable_that_holds_an_address_of_other_memory_is_refused(there: str) -> None:
    before = f"{there}\n.global .align 8 .u64 where = there;"
    with pytest.raises(LaunchError, match="the operand 'there' is not executed"):
        read("ld.global.u64 %rd1, [where];", before=before)


# Which parameters are buffers


def buffers(body: str, parameters: str) -> list[bool]:
    return [each.is_buffer for each in read(body, parameters).parameters]


def test_a_parameter_is_a_buffer_where_an_address_is_made_of_it() -> None:
    parameters = ".param .u64 a, .param .u64 b, .param .u64 n, .param .u64 c"
    body = """
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [n];
  ld.param.u64 %rd6, [c];
  add.s64 %rd4, %rd1, %rd3;
  mov.u32 %r1, 0;
$on:
  ld.global.u32 %r2, [%rd4];
  add.s64 %rd4, %rd4, 4;
  shl.b64 %rd5, %rd3, 2;
  add.s64 %rd5, %rd5, %rd2;
  st.global.u32 [%rd5], %r2;
  setp.lt.u64 %p1, %rd6, %rd4;
  @%p1 bra $on;
"""
    assert buffers(body, parameters) == [True, True, False, False]


def test_pointers_follow_every_path() -> None:
    body = """
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  selp.b64 %rd3, %rd1, %rd2, %p1;
  mov.b64 %rd4, %rd3;
  mul.lo.s64 %rd5, %rd1, 2;
"""
    text = f"{HEAD}.visible .entry k({PARAMETERS})\n{{{REGISTERS}{body}\n  ret;\n}}\n"
    pointers = Pointers(read_ptx(text).functions["k"], {"room"})
    assert pointers.of("[%rd4+8]") == {"out", "in"}
    assert pointers.of("[room+4]") == {"room"}
    assert pointers.of("[%rd5]") == frozenset()


# What is refused


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("frob.approx.f32 %f1, %f1;", "'frob.approx.f32': it is not executed: it is not known"),
        ("ld.global.u32 _, [%rd1];", "the operand '_' is not executed"),
        ("popc.b32 %r1;", "'popc.b32' is not executed: it has 1 operands"),
        ("add.u32 %r1, %r1, 1, 2;", "'add.u32' is not executed: it has 4 operands"),
        ("atom.global.cas.b32 %r1, [%rd1], 1;", "'atom.global.cas.b32' is not executed: it has"),
        ("st.global.b128 [%rd1], %rd2;", "the operand '%rd2' is not executed"),
        ("cvt.b128.u32 %r1, %r1;", "it is no form of cvt"),
        ("call f, ();", "'call' is not executed: f has no body here"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2}, [%rd1], 16;",
            "is not executed: which lane accesses what",
        ),
        ("add.u32 %r1, %unknown, 1;", "the operand '%unknown' is not executed"),
        ("ld.global.u32 %r1, [%rd1+%r1];", "the operand '[%rd1+%r1]' is not executed"),
        ("ld.global.v2.u32 %r1, [%rd1];", "a vector has a register for each element"),
        ("st.bulk.weak.shared::cta [%rd1], 64, 0;", "stores without a type"),
        ("ld.param.u32 %r1, [other];", "this part of a parameter is not read as it is written"),
        ("div.f32 %f1, %f1, %f2;", "'div.f32': it is not executed: it has no formula"),
        ("setp.eq.and.u32 %p1|%p2, %r1, 1;", "'setp.eq.and.u32' is not executed: it has 3"),
    ],
)
def test_what_is_not_executed_is_refused_at_its_line(line: str, reason: str) -> None:
    with pytest.raises(LaunchError) as raised:
        read(f"\n  mov.u32 %r1, 1;\n   {line}")
    assert str(raised.value).startswith("k.ptx:13:4: ")
    assert reason in str(raised.value)


CALLEES = """
.func (.param .align 8 .b8 back[16]) twice(.param .align 8 .b8 pair[16], .param .b32 by) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [pair]; ld.param.s16 %r1, [pair+8]; ld.param.s8 %r2, [by];
  setp.lt.s32 %p1, %r1, 4; @%p1 bra $less;
  add.s32 %r1, %r1, 1000;
$less:
  add.s32 %r1, %r1, %r2; add.s64 %rd1, %rd1, 1;
  st.param.b64 [back+0], %rd1; st.param.b32 [back+8], %r1; ret;
}
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func __assertfail(.param .b64 a);
"""
CALL = """
  {{ .param .align 8 .b8 p[16]; .param .b32 q; .param .align 8 .b8 back[16];
  cvt.u64.u32 %rd5, %r1; st.param.b64 [p+0], %rd5; cvt.u16.u32 %rs1, %r1; st.param.b16 [p+8], %rs1;
  st.param.b32 [q+0], {by};
  call.uni (back), twice, (p, q);
  ld.param.b64 %rd5, [back+0]; ld.param.b32 %r{to}, [back+8]; }}
"""


def test_a_call_passes_structs_and_narrow_numbers() -> None:
    body = CALL.format(by=-1, to=4) + CALL.format(by=513, to=5)
    end = "add.u32 %r4, %r4, %r5; cvt.u32.u64 %r5, %rd5; mad.lo.u32 %r4, %r5, 10000, %r4;"
    found = words(body + end + "st.global.u32 [%rd1], %r4;", before=CALLEES)
    both = [2 * n + (0 if n < 4 else 2000) - 1 + 1 for n in range(THREADS)]
    assert found == [10000 * (n + 1) + each for n, each in enumerate(both)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("trap;", "the kernel is given up: a trap"),
        ("{ .param .b64 p; st.param.b64 [p], 1; call __assertfail, (p); }", "an assertion fails"),
        ("T: .branchtargets E, E; brx.idx %r1, T;", "a jump beyond its table"),
    ],
)
def test_a_launch_ends_where_lanes_come_to_its_end(line: str, problem: str) -> None:
    skip = "setp.lt.u32 %p1, %r1, {}; @%p1 bra E;"
    assert words(skip.format(THREADS) + line + "E:", before=CALLEES) == [0] * THREADS
    with pytest.raises(LaunchError, match=problem):
        words(skip.format(THREADS - 1) + line + "E:", before=CALLEES)


def test_what_prints_gives_nothing() -> None:
    line = """{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 1; st.param.b64 [b], 2;
  call.uni (r), vprintf, (a, b); ld.param.b32 %r4, [r]; } st.global.u32 [%rd1], %r4;"""
    assert words(line, before=CALLEES) == [0] * THREADS


def test_recursion_is_refused() -> None:
    itself = ".func f() { call f, (); ret; }\n"
    with pytest.raises(
        LaunchError, match="'call' is not executed: f, which it calls, calls itself"
    ):
        read("call f, ();", before=itself)


def test_a_table_of_targets() -> None:
    body = """
  and.b32 %r2, %r1, 3; T: .branchtargets A, B, A, C; brx.idx %r2, T;
A: mov.u32 %r3, 1; bra E;
B: mov.u32 %r3, 2; bra E;
C: mov.u32 %r3, 3;
E: st.global.u32 [%rd1], %r3;
"""
    assert words(body) == [1, 2, 1, 3] * 8


def test_a_parameter_at_a_computed_address() -> None:
    body = """
  and.b32 %r2, %r1, 1; mul.wide.u32 %rd5, %r2, 8; mov.u64 %rd6, out; add.s64 %rd6, %rd6, %rd5;
  ld.param.u64 %rd7, [%rd6]; ld.param.u64 %rd8, [in]; setp.eq.u64 %p1, %rd7, %rd8;
  selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd1], %r3;
"""
    assert words(body) == [0, 1] * 16


def test_an_address_in_several_state_spaces_is_refused() -> None:
    body = """
  mov.u64 %rd1, room;
  ld.param.u64 %rd2, [out];
  selp.b64 %rd3, %rd1, %rd2, %p1;
  ld.u32 %r1, [%rd3];
"""
    with pytest.raises(LaunchError, match="may be in several state spaces"):
        read(body, before=".shared .align 4 .b8 room[128];")


MATRICES = """
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r4, tile; shl.b32 %r5, %r1, 4; add.u32 %r4, %r4, %r5;
  st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1}; bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r4];
  mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    {%f1, %f2, %f3, %f4}, {%r6, %r7}, {%r6}, {%f1, %f2, %f1, %f2};
  add.f32 %f5, %f1, 0f3F800000; st.shared.f32 [%r4], %f5; ld.shared.u32 %r8, [%r4];
"""


def test_a_matrix_product_is_carried_and_stored() -> None:
    program = read(OWN + MATRICES + "st.global.u32 [%rd1], %r8;")
    counted = [each for each in program.instructions if isinstance(each, MemoryInstruction)]
    assert [each.text.partition(".")[0] for each in counted] == ["st", "ldmatrix", "st", "ld", "st"]
    assert counted[1].width == 16
    _, executed = run(program, 1, THREADS, [np.zeros(256, np.uint32), np.zeros(256, np.uint32)])
    (rows,) = [
        each for each in executed if each.instruction == program.instructions.index(counted[1])
    ]
    assert rows.active.sum() == 16


@pytest.mark.parametrize(
    "use",
    [
        "setp.eq.u32 %p1, %r8, 0; @%p1 st.global.u32 [%rd1], %r1;",
        "setp.eq.f32 %p1, %f1, 0f00000000; @%p1 bra L; L:",
        "cvt.u64.u32 %rd5, %r7; add.s64 %rd5, %rd5, %rd1; ld.global.u32 %r9, [%rd5];",
        "st.local.f32 [own], %f5; ld.local.u32 %r9, [own]; brx.idx %r9, T;",
    ],
)
def test_what_depends_on_a_matrix_product_is_refused(use: str) -> None:
    with pytest.raises(LaunchError, match=r"it depends on the result of (mma|ldmatrix)\.sync"):
        read(OWN + ".local .b32 own; T: .branchtargets E;" + MATRICES + use + " E:")


def test_tensor_memory_is_carried_and_its_commits_arrive() -> None:
    body = """
  .shared .align 8 .b64 bar; .shared .b32 where;
  setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
  mbarrier.init.shared::cta.b64 [bar], 1;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
L: bar.sync 0;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 32; ld.shared.b32 %r2, [where];
  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r4}, [%r2]; tcgen05.wait::ld.sync.aligned;
  mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0; selp.b32 %r5, 7, 0, %p2;
  st.global.b32 [%rd1], %r5; st.global.b32 [%rd2], %r3;
"""
    assert words(body) == [7] * THREADS
    with pytest.raises(LaunchError, match=r"it depends on the result of tcgen05\.alloc"):
        read(OWN + body + "setp.eq.u32 %p3, %r2, 0; @%p3 bra E; E:")


def test_memory_beside_a_matrix_product_is_known() -> None:
    body = """
  .shared .align 16 .b8 other[64];
  st.shared.u32 [other], %r1; ld.shared.u32 %r9, [other];
  setp.eq.u32 %p1, %r9, 0; @%p1 st.global.u32 [%rd1], %r9;
"""
    assert read(OWN + MATRICES + body).blocks


def test_what_no_path_leads_to_is_not_read() -> None:
    assert read("ret;\n  tanh.approx.f32 %f1, %f1;").blocks


MUSEUM = sorted((Path(__file__).parents[1] / "museum").glob("*/*.ptx"))
OTHERS = ["%r1", "5", "[%rd1+4]", "{%r1, %r2}", "%p1", "_", "%ctaid.y", "[5]", "-1", "%p1|%p2"]


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_kernel_runs_or_is_refused(seed: int) -> None:
    """Operands that are missing, superfluous, of another kind: an error with a place, no other."""
    generator = random.Random(seed)
    for _ in range(60):
        lines = generator.choice(MUSEUM).read_text().splitlines()
        code = [n for n, line in enumerate(lines) if line.endswith(";") and "." in line]
        at = generator.choice(code)
        parts = lines[at].removesuffix(";").split(",")
        parts[generator.randrange(len(parts))] = " " + generator.choice(OTHERS)
        parts = generator.choice((parts, parts[:-1], [*parts, generator.choice(OTHERS)]))
        lines[at] = f"{','.join(parts)};"
        with suppress(LaunchError, PtxError):
            file = read_ptx("\n".join(lines), "k.ptx")
            for each in file.functions.values():
                program = program_of(file, each)
                given = [np.zeros(512) if at.is_buffer else 1 for at in program.parameters]
                run(program, 1, 32, given, limit=200)


@pytest.mark.parametrize("order", ["sync.{}", "{}.sync"])
def test_votes_have_both_orders_of_their_words(order: str) -> None:
    name = "vote." + order
    body = f"""
  and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; {name.format("ballot")}.b32 %r3, %p1, 0xffffffff;
  {name.format("all")}.pred %p2, %p1, 0xffffffff; {name.format("any")}.pred %p3, %p1, 0xffffffff;
  selp.u32 %r4, 2, 0, %p2; selp.u32 %r5, 1, 0, %p3; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
  st.global.u32 [%rd1], %r3;
"""
    assert words(body) == [0x55555556] * THREADS
    text = f"{HEAD}.visible .entry k({PARAMETERS})\n{{{REGISTERS}{OWN}{body}\n  ret;\n}}\n"
    zeros = np.zeros(THREADS, np.uint32)
    assert fencewright.execute(text, block=32, args=(zeros, zeros))[0].tolist() == [0x55555556] * 32
