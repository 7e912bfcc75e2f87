"""Kernels executed lane by lane: control flow, lanes that meet, barriers, copies, and what ends them."""

import ast
from mmap import mmap

import pytest

from fencewright.lowering.ptx.code.text import PtxError, read_ptx
from fencewright.simulator.race.schedules import ORDERS
from fencewright.simulator.threads.launch import (
    LaunchError,
    Module,
    Run,
    execute,
    parse_launch,
    values,
)
from fencewright.simulator.threads.rounds import Rounds
from fencewright.simulator.threads.schedule import IN_ORDER, Delay, Schedule
from fencewright.simulator.threads.state import Thread

_HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
_BEGIN = """
.reg .b16 %h<8>; .reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<8>;
.shared .align 16 .b32 tile[64];
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
"""


def kernel(body: str, parameters: str = ".param .u64 out", before: str = "") -> str:
    """A kernel ``k`` whose lane has its place in ``out`` in ``%rd3``."""
    return f"{_HEAD}{before}\n.visible .entry k({parameters})\n{{{_BEGIN}{body}\n}}\n"


def run(
    text: str,
    launch: str = "k<<<1, 32>>>(i32[64])",
    *,
    schedule: Schedule = IN_ORDER,
    limit: int = 10**6,
) -> Run:
    """The execution of a launch of a text."""
    module = Module(read_ptx(text, "k.ptx"))
    return execute(module, parse_launch(launch), schedule=schedule, limit=limit)


def result(
    text: str, launch: str = "k<<<1, 32>>>(i32[64])", *, schedule: Schedule = IN_ORDER
) -> list[float]:
    """The words of the first argument, after a launch that comes to its end."""
    found = run(text, launch, schedule=schedule)
    assert found.outcome.is_done, (found.outcome.problem, found.outcome.hang)
    assert found.arguments[0] is not None
    return values(found.arguments[0])


def test_loops_and_guards() -> None:
    body = """
    mov.u32 %r3, 0; mov.u32 %r4, 0;
L:  add.u32 %r4, %r4, %r3; add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r1; @%p1 bra L;
    @!%p1 st.global.u32 [%rd3], %r4; ret;"""
    assert result(kernel(body))[:5] == [0, 1, 3, 6, 10]


@pytest.mark.parametrize("schedule", ORDERS)
def test_a_barrier_hands_shared_memory_on(schedule: Schedule) -> None:
    body = """
    mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], %r1;
    bar.sync 0; xor.b32 %r8, %r6, 252; add.u32 %r7, %r5, %r8; ld.shared.u32 %r9, [%r7];
    st.global.u32 [%rd3], %r9; ret;"""
    found = result(kernel(body), "k<<<1, 64>>>(i32[64])", schedule=schedule)
    assert found == [*range(63, -1, -1)]


def test_lanes_exchange_and_vote() -> None:
    body = """
    shfl.sync.bfly.b32 %r3|%p1, %r1, 1, 31, -1; setp.gt.u32 %p2, %r1, 29;
    vote.sync.ballot.b32 %r4, %p2, -1; redux.sync.add.u32 %r5, %r1, -1;
    add.u32 %r6, %r3, %r5; xor.b32 %r6, %r6, %r4; st.global.u32 [%rd3], %r6; ret;"""
    assert result(kernel(body))[:32] == [((lane ^ 1) + 496) ^ 0xC0000000 for lane in range(32)]


def test_a_shuffle_up_is_of_its_segment() -> None:
    body = "shfl.sync.up.b32 %r3, %r1, 1, 0x1800, -1; st.global.u32 [%rd3], %r3; ret;"
    assert result(kernel(body))[:10] == [0, 0, 1, 2, 3, 4, 5, 6, 8, 8]


def test_lanes_of_a_warp_take_a_lock_in_turn() -> None:
    body = """
L:  atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;
    ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;
    atom.release.gpu.global.exch.b32 %r3, [%rd1], 0; ret;"""
    assert result(kernel(body), "k<<<2, 64>>>(i32[64])")[1] == 128


def test_activemask_is_who_is_there() -> None:
    body = """
    and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;
    activemask.b32 %r4; bra END;
EVEN: activemask.b32 %r4; match.any.sync.b32 %r4, %r3, %r4;
END: st.global.u32 [%rd3], %r4; ret;"""
    assert result(kernel(body))[:2] == [0x55555555, 0xAAAAAAAA]


def test_functions_variables_and_local_memory() -> None:
    before = """
.global .align 4 .u32 table[3] = {7, 8, 0x9};
.func (.param .b32 back) twice(.param .b32 value)
{ .reg .b32 %q<3>; ld.param.u32 %q1, [value]; add.u32 %q2, %q1, %q1; st.param.b32 [back], %q2; ret; }
"""
    body = """
    .local .align 4 .b32 mine[2]; ld.global.u32 %r3, [table+8]; mov.u64 %rd4, mine;
    cvta.local.u64 %rd5, %rd4; st.u32 [%rd5+4], %r3; ld.local.u32 %r4, [mine+4];
    { .param .b32 given; .param .b32 got; st.param.b32 [given], %r4;
      call.uni (got), twice, (given); ld.param.b32 %r5, [got]; }
    st.global.u32 [%rd3], %r5; ret;"""
    assert result(kernel(body, before=before))[0] == 18


_FUNCTIONS = "".join(
    f".func (.param .b32 back) {name}(.param .b32 value)\n{{ .reg .b32 %q<3>; "
    f"ld.param.u32 %q1, [value]; mul.lo.u32 %q2, %q1, {factor}; st.param.b32 [back], %q2; ret; }}\n"
    for name, factor in (("twice", 2), ("thrice", 3))
)


@pytest.mark.parametrize(
    ("chosen", "values"),
    [
        ("mov.u64 %rd4, twice; mov.u64 %rd5, thrice; selp.b64 %rd6, %rd5, %rd4, %p1;", [0, 2, 6]),
        ("ld.global.u64 %rd6, [table+8];", [0, 3, 6]),
        ("mov.u64 %rd6, %rd1;", None),
    ],
)
def test_a_register_names_a_function(chosen: str, values: list[int] | None) -> None:
    """By its address, also from a table; another address is of no function."""
    body = f"""
    setp.eq.u32 %p1, %r1, 2; {chosen}
    {{ .param .b32 given; .param .b32 got; st.param.b32 [given], %r1;
      p: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (got), %rd6, (given), p; ld.param.b32 %r5, [got]; }}
    st.global.u32 [%rd3], %r5; ret;"""
    table = ".global .align 8 .u64 table[2] = {twice, thrice};\n"
    text = kernel(body, before=_FUNCTIONS + table)
    if values is None:
        assert "a call of what is no function here" in run(text).outcome.problem
    else:
        assert result(text)[:3] == values


@pytest.mark.parametrize("schedule", ORDERS)
def test_copies_are_complete_when_they_are_waited_for(schedule: Schedule) -> None:
    body = """
    mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; st.global.u32 [%rd3], %r1;
    cp.async.ca.shared.global [%r7], [%rd3], 4; cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.u32 %r9, [%r7]; add.u32 %r9, %r9, 5; st.global.u32 [%rd3], %r9; ret;"""
    assert result(kernel(body), schedule=schedule)[:3] == [5, 6, 7]


@pytest.mark.parametrize("schedule", ORDERS)
def test_a_copy_of_no_bytes_has_no_source(schedule: Schedule) -> None:
    """Triton keeps the address of a load past the end, and copies no bytes: zeros."""
    body = """
    mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], 7;
    add.s64 %rd5, %rd3, 1000000; setp.lt.u32 %p1, %r1, 2; selp.b32 %r8, 4, 0, %p1;
    selp.b64 %rd6, %rd3, %rd5, %p1;
    cp.async.ca.shared.global [%r7], [%rd6], 4, %r8; cp.async.wait_all;
    ld.shared.u32 %r9, [%r7]; add.u32 %r9, %r9, 5; st.global.u32 [%rd3], %r9; ret;"""
    found = result(kernel(body), launch="k<<<1, 32>>>(i32[64]=ones)", schedule=schedule)
    assert found[:4] == [6, 6, 5, 5]


@pytest.mark.parametrize("schedule", ORDERS)
def test_an_mbarrier_counts_bytes(schedule: Schedule) -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 32, [bar];
WAIT: bar.sync 0;
L:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra L;
    ld.shared.u32 %r9, [tile+28]; add.u32 %r9, %r9, 1; bar.sync 0; st.global.u32 [%rd3], %r9; ret;"""
    launch = "k<<<1, 32>>>(i32[64]=iota)"
    assert result(kernel(body), launch, schedule=schedule)[:2] == [8, 8]


def test_a_cluster_reads_its_peer() -> None:
    body = """
    mov.u32 %r3, %cluster_ctarank; add.u32 %r4, %r3, 70; st.shared.u32 [tile], %r4;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r5, tile; xor.b32 %r6, %r3, 1; mapa.shared::cluster.u32 %r7, %r5, %r6;
    ld.shared::cluster.u32 %r8, [%r7]; setp.ne.u32 %p1, %r3, 0;
    @!%p1 st.global.u32 [%rd3], %r8; barrier.cluster.arrive; barrier.cluster.wait; ret;"""
    assert result(kernel(body), "k<<<2, 1, 0, 2>>>(i32[64])")[0] == 71


def test_barriers_have_numbers_counts_and_reductions() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 32; @!%p1 bra LATE; bar.arrive 1, 64; bra END;
LATE: bar.sync 1, 64;
END: setp.lt.u32 %p2, %r1, 5; bar.red.popc.u32 %r3, 0, %p2; st.global.u32 [%rd3], %r3; ret;"""
    assert result(kernel(body), "k<<<1, 64>>>(i32[64])")[63] == 5


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_matrices_come_back_as_they_were_stored(trans: str) -> None:
    """What stmatrix has spread ldmatrix gathers, and an element is where the manual has it."""
    body = f"""
    mul.lo.u32 %r3, %r1, 0x00020002; add.u32 %r3, %r3, 0x00010000; mov.u32 %r5, tile;
    and.b32 %r6, %r1, 7; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r5;
    stmatrix.sync.aligned.m8n8.x1{trans}.shared.b16 [%r6], {{%r3}};
    ldmatrix.sync.aligned.m8n8.x1{trans}.shared.b16 {{%r4}}, [%r6]; shl.b32 %r7, %r1, 2;
    bar.warp.sync -1;
    add.u32 %r8, %r5, %r7; ld.shared.u32 %r9, [%r8]; xor.b32 %r10, %r3, %r4;
    st.global.u32 [%rd3], %r9; st.global.u32 [%rd3+128], %r10; ret;"""
    found = result(kernel(body))
    assert found[32:] == [0] * 32
    # Element (row, column) is 8 * row + column as it was given, or column and row the other way.
    first = [int(found[0]) & 0xFFFF, int(found[0]) >> 16]
    assert first == ([0, 8] if trans else [0, 1])


def test_a_matrix_is_transposed_in_registers() -> None:
    """Element 8 * row + column is its own number; twice transposed it is as before."""
    body = """
    shl.b32 %r4, %r1, 1; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5;
    movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r4; st.global.u32 [%rd3], %r6;
    movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r6; sub.u32 %r6, %r6, %r4;
    st.global.u32 [%rd3+128], %r6;
    """
    found = result(kernel(body))
    columns = [8 * (n % 8) + n // 8 for n in range(64)]
    assert [int(each) >> by & 0xFFFF for each in found[:32] for by in (0, 16)] == columns
    assert not any(found[32:])


@pytest.mark.parametrize("operation", ["ldmatrix", "stmatrix"])
def test_matrices_need_whole_warps(operation: str) -> None:
    operands = "{%r4}, [%r6]" if operation == "ldmatrix" else "[%r6], {%r4}"
    body = f"""
    mov.u32 %r5, tile; and.b32 %r6, %r1, 7; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r5;
    mov.u32 %r4, 0; {operation}.sync.aligned.m8n8.x1.shared.b16 {operands}; ret;"""
    found = run(kernel(body), "k<<<1, 24>>>(i32[64])")
    assert f"{operation} by 24 lanes of a warp: it needs all 32" in str(found.outcome.problem)


def test_sizes_of_shared_memory() -> None:
    """The launch adds 96 bytes to the 256 and 8 of the kernel; what the system has comes after."""
    body = """
    mov.u32 %r4, %dynamic_smem_size; mov.u32 %r5, %total_smem_size; st.global.u32 [%rd3], %r4;
    mov.u32 %r6, %reserved_smem_offset_1; add.u32 %r7, %r6, 1020; st.shared.u32 [%r7], %r5;
    ld.shared.u32 %r5, [%r7]; mov.b32 %r4, tile; mov.b32 %r4, bar; st.global.u32 [%rd3+4], %r5;
    st.global.u32 [%rd3+8], %r6;
    """
    dynamic, whole, reserved = result(kernel(body), "k<<<1, 1, 96>>>(i32[64])")[:3]
    assert (dynamic, whole % 16, whole - 96 >= 264) == (96, 0, True)
    assert whole <= reserved < whole + 16
    found = run(kernel(body.replace("1020", "1024")), "k<<<1, 1, 96>>>(i32[64])")
    assert found.outcome.problem.startswith("out of bounds")


def test_jumps_by_a_table() -> None:
    body = """
    T: .branchtargets A, B, C; min.u32 %r3, %r1, 2; brx.idx %r3, T;
A:  mov.u32 %r4, 5; bra END;
B:  mov.u32 %r4, 6; bra END;
C:  mov.u32 %r4, 7;
END: st.global.u32 [%rd3], %r4; ret;"""
    assert result(kernel(body))[:4] == [5, 6, 7, 7]


def test_tables_of_a_name_are_those_of_their_functions() -> None:
    # LLVM numbers the tables of each function anew, and its labels begin with a dollar.
    def jumps(first: int) -> str:
        return kernel(f"""
   $T0: .branchtargets $A, $B; and.b32 %r3, %r1, 1; brx.idx %r3, $T0;
$A: mov.u32 %r4, {first}; bra $E;
$B: mov.u32 %r4, {first + 1};
$E: st.global.u32 [%rd3], %r4; ret;""")

    other = jumps(7)[jumps(7).index(".visible") :].replace("k(", "other(")
    text = jumps(5) + other
    assert result(text)[:2] == [5, 6]
    assert result(text, "other<<<1, 32>>>(i32[64])")[:2] == [7, 8]


def test_parameters_take_more_than_4096_bytes() -> None:
    body = "ld.param.u32 %r3, [s+16380]; st.global.u32 [%rd3], %r3; ret;"
    text = kernel(body, ".param .u64 out, .param .align 8 .b8 s[16384]")
    assert result(text, "k<<<1, 32>>>(i32[64], u32[4096]=iota)")[0] == 4095


def test_structures_are_parameters() -> None:
    body = "ld.param.u32 %r3, [s+8]; st.global.u32 [%rd3], %r3; ret;"
    text = kernel(body, ".param .u64 out, .param .align 8 .b8 s[16]")
    assert result(text, "k<<<1, 32>>>(i32[64], u32[4]=iota)")[0] == 2


def test_carries_and_wide_products() -> None:
    body = """
    add.cc.u32 %r3, %r1, 0xFFFFFFFF; addc.u32 %r4, %r1, 0; sub.cc.u32 %r5, %r1, 1; subc.u32 %r6, 5, 0;
    mul.hi.u32 %r7, 0x80000000, 6; mad.lo.u32 %r8, %r4, 100, %r6; add.u32 %r8, %r8, %r7;
    st.global.u32 [%rd3], %r8; ret;"""
    assert result(kernel(body))[:3] == [0 + 4 + 3, 200 + 5 + 3, 300 + 5 + 3]


def test_a_register_may_be_named_as_the_carry_is() -> None:
    body = """
    .reg .b32 carry; mov.u32 carry, 9; add.cc.u32 %r4, %r1, -1; addc.u32 carry, carry, 0;
    st.global.u32 [%rd3], carry; ret;"""
    assert result(kernel(body))[:3] == [9, 10, 10]


def test_a_result_may_be_an_operand_of_the_other() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 8; setp.lt.and.u32 %p1|%p2, %r1, 4, %p1;
    selp.b32 %r4, 1, 0, %p1; selp.b32 %r5, 2, 0, %p2; or.b32 %r4, %r4, %r5;
    st.global.u32 [%rd3], %r4; ret;"""
    assert result(kernel(body))[:12] == [1] * 4 + [2] * 4 + [0] * 4


def test_names_of_inner_scopes_are_their_own() -> None:
    """Inline texts declare the same names again, and labels stand alone on a line."""
    body = """
    { .reg .pred p; .reg .b32 x; setp.gt.u32 p, %r1, 3; selp.b32 x, 1, 0, p; mov.u32 %r3, x; }
    { .reg .pred p; .reg .b32 x; setp.gt.u32 p, %r1, 5; @p bra
      OVER; mov.u32 x, 10; add.u32 %r3, %r3, x;
      OVER:
    }
    st.global.u32 [%rd3], %r3; ret;"""
    assert result(kernel(body))[:8] == [10, 10, 10, 10, 11, 11, 1, 1]


def test_one_lane_is_elected() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 4; @%p1 ret; elect.sync %r3|%p2, 0xFFFFFFF0; mov.u32 %r4, 1;
    @%p2 mov.u32 %r4, 9; st.global.u32 [%rd3], %r4; ret;"""
    assert result(kernel(body))[:7] == [0, 0, 0, 0, 9, 1, 1]


# What ends a launch


def test_out_of_bounds_is_said() -> None:
    found = run(kernel("st.global.u32 [%rd3+256], %r1; ret;"))
    assert found.outcome.problem == (
        "out of bounds: 4 bytes at byte 256 of out, which has 256 bytes; give it 260 or more"
    )
    assert str(found.outcome.thread) == "thread 0 of block 0"


def test_what_is_not_aligned_is_said() -> None:
    found = run(kernel("st.global.u32 [%rd3+2], %r1; ret;"))
    assert found.outcome.problem == (
        "unaligned: 4 bytes at byte 2 of out, which is no multiple of 4"
    )


def test_an_unknown_value_is_carried_and_stored() -> None:
    unknown = "shfl.down.b32 %r4, %r1, 1, 31; add.u32 %r5, %r4, 1; st.global.u32 [%rd3], %r5; "
    loaded = "ld.global.u32 %r6, [%rd3]; setp.eq.u32 %p1, %r6, 0; "
    assert run(kernel(unknown + "ret;")).outcome.is_done
    found = run(kernel(f"{unknown}{loaded}@%p1 bra L;\nL: ret;"))
    assert found.outcome.problem == "depends on the result of shfl.down.b32 at k.ptx:12"


def test_an_unknown_address_ends_a_launch() -> None:
    found = run(kernel("shfl.down.b32 %r4, %r1, 1, 31;\nld.shared.u32 %r5, [%r4]; ret;"))
    assert "depends on the result of shfl.down.b32" in found.outcome.problem


@pytest.mark.parametrize("schedule", ORDERS)
def test_a_poll_that_nobody_ends_hangs(schedule: Schedule) -> None:
    body = """
L:  ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; ret;"""
    found = run(kernel(body), "k<<<4, 64>>>(i32[64])", schedule=schedule)
    (group,) = found.outcome.hang
    assert len(group.threads) == 256
    assert group.polls


def test_a_weak_poll_hangs_too() -> None:
    body = "\nL: ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; ret;"
    assert run(kernel(body)).outcome.hang


def test_a_long_phase_of_reads_is_no_hang() -> None:
    """Strong reads of many places, each several times, change nothing and come to an end."""
    body = """
    mov.u32 %r3, 0;
L:  and.b32 %r4, %r3, 63; mul.wide.u32 %rd4, %r4, 4; add.s64 %rd5, %rd1, %rd4;
    ld.relaxed.gpu.global.u32 %r5, [%rd5]; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 2000;
    @%p1 bra L; ret;"""
    assert run(kernel(body)).outcome.is_done


_COUNT = "add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2000;"
_LOOK = "ld.volatile.global.u32 %r6, [%rd1+64];"
_FLAG = "setp.eq.u32 %p1, %r6, 0;"


@pytest.mark.parametrize(
    "loop",
    [
        f"L: {_LOOK} {_COUNT} @%p2 bra L;",
        f"L: {_LOOK} {_FLAG} {_COUNT} and.pred %p2, %p1, %p2; @%p2 bra L;",
        f"L: atom.global.or.b32 %r6, [%rd1+64], 0; {_COUNT} @%p2 bra L;",
        f"L: {_LOOK} st.volatile.global.u32 [%rd1+68], 0; {_COUNT} @%p2 bra L;",
        f"L: {_LOOK} bar.sync 0; {_COUNT} @%p2 bra L;",
        # The count of rounds is in memory, and no register has it at the jump.
        "L: ld.global.u32 %r5, [%rd3+256]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3+256], %r5; "
        "setp.lt.u32 %p2, %r5, 9000; mov.u32 %r5, 0; @%p2 bra L; mov.u32 %r5, 2000;",
    ],
)
def test_a_poll_that_ends_by_a_count_is_no_hang(loop: str) -> None:
    """Nothing else changes in 2,000 rounds, or nothing that a register has."""
    body = f"mov.u32 %r5, 0; {loop} st.global.u32 [%rd3], %r5;"
    assert result(kernel(body), "k<<<1, 16>>>(i32[128])")[0] == 2000


@pytest.mark.parametrize(
    "loop",
    [
        # A count that decides nothing in the loop, and what is written again or to and fro.
        f"L: {_LOOK} {_FLAG} {_COUNT} @%p1 bra L;",
        f"L: {_LOOK} {_FLAG} st.volatile.global.u32 [%rd3+128], 3; @%p1 bra L;",
        f"L: {_LOOK} {_FLAG} xor.b32 %r5, %r5, 1; st.global.u32 [%rd3+128], %r5; @%p1 bra L;",
        # One lane polls for its warp, one for its block.
        f"L: mov.u32 %r6, 0; setp.eq.u32 %p2, %r1, 0; @%p2 {_LOOK} "
        f"shfl.sync.idx.b32 %r6, %r6, 0, 31, 0xffffffff; {_FLAG} @%p1 bra L;",
        f"L: mov.u32 %r6, 0; setp.eq.u32 %p2, %r1, 0; @%p2 {_LOOK} {_FLAG} "
        "bar.red.and.pred %p1, 0, %p1; @%p1 bra L;",
        "L: bar.sync 0; bra L;",
        "L: bra L;",
    ],
)
def test_rounds_that_come_back_to_what_was_hang(loop: str) -> None:
    found = run(kernel(f"mov.u32 %r5, 0; {loop} st.global.u32 [%rd3], %r5;"), limit=10**5)
    assert found.outcome.hang
    assert not found.outcome.problem


def test_only_one_thread_is_noted_in_rounds_that_never_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted: list[Thread] = []
    state = Rounds.state

    def counted(rounds: Rounds, thread: Thread) -> object:
        noted.append(thread)
        return state(rounds, thread)

    monkeypatch.setattr(Rounds, "state", counted)
    body = (
        "mov.u32 %r5, 0; L: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 40; @%p2 bra L;"
    )
    assert run(kernel(body), "k<<<1, 512>>>(i32[128])").outcome.is_done
    assert 0 < len(noted) < 200


def test_a_held_thread_goes_on_when_others_go_round() -> None:
    """A thread that the schedule holds is who sets the flag that lanes at a barrier look for."""
    body = f"""
    setp.eq.u32 %p2, %r1, 31; @%p2 bra S;
L:  mov.u32 %r6, 1; setp.eq.u32 %p3, %r1, 0; @%p3 {_LOOK} {_FLAG}
    shfl.sync.idx.b32 %r6, %r6, 0, 31, 0x7fffffff; {_FLAG} @%p1 bra L; ret;
S:  st.volatile.global.u32 [%rd1+64], 1;
    """
    schedule = Schedule(delay=Delay(31, 1))
    assert result(kernel(body), schedule=schedule)[16] == 1


def test_a_barrier_that_not_all_reach_hangs() -> None:
    body = """
    and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; bar.sync 1, 32; ret;
L:  bar.sync 0; ret;"""
    found = run(kernel(body))
    assert sorted(len(group.threads) for group in found.outcome.hang) == [16, 16]


def test_partial_warps_at_a_barrier_are_said() -> None:
    """Lanes that have ended count as arrived, and the barrier was not of the whole warp."""
    body = "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 ret; bar.sync 0; ret;"
    found = run(kernel(body))
    assert found.outcome.is_done
    assert len(found.outcome.partial) == 1
    assert not run(kernel("bar.sync 0; ret;")).outcome.partial


def test_a_trap_ends_a_launch() -> None:
    assert run(kernel("trap;")).outcome.problem == "a trap"


_CALLED = {"NotExecuted", "globals", "Allocation"} | {f"ld4{space}" for space in "gs"}


@pytest.mark.parametrize(
    "statement",
    [
        "cp.async.wait_group BAD;",
        "cp.async.bulk.wait_group BAD;",
        "cp.async.ca.shared.global [tile], [%rd1], BAD;",
        "st.param.b32 [given+BAD], %r1;",
        "ld.param.u32 %r3, [out+BAD];",
        "ld.global.u32 %r3, [BAD];",
        "mov.u32 BAD, %r1;",
        "add.u32 %r3, %r1, BAD;",
        "bar.sync BAD;",
        "call.uni BAD;",
        "setp.eq.u32 %p1|BAD, %r1, 0;",
        "mbarrier.init.shared::cta.b64 [bar], BAD;",
        "shfl.sync.idx.b32 %r3, %r1, BAD, 31, -1;",
        "atom.global.add.u32 %r3, [%rd1], BAD;",
        "@BAD bra L; L:",
    ],
)
@pytest.mark.parametrize("bad", ["ran.append(1)", "__import__('os')", "M", "T.index", "ran", "(M)"])
def test_text_of_an_input_is_never_run(statement: str, bad: str) -> None:
    """What is no register and no number is refused, or a name that means nothing to Python."""
    text = kernel(".param .b32 given; " + statement.replace("BAD", bad) + " ret;")
    try:
        module = Module(read_ptx(text, "k.ptx"))
    except PtxError:
        return
    found = execute(module, parse_launch("k<<<1, 1>>>(i32[64])"))
    assert bad.strip("()") in found.outcome.problem
    tree = ast.parse(found.program.source)
    called = {node.func.id for node in ast.walk(tree)
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {name for name in called if not name.startswith("f_")} <= _CALLED
    assert not named & {"ran", "__import__", "os"}


def test_what_nobody_touches_takes_no_memory() -> None:
    """Arguments of gibibytes are pages that are mapped when they are written."""
    found = run(
        kernel("st.global.u32 [%rd3+2147483648], %r1; ret;"), "k<<<1, 32>>>(i32[1000000000])"
    )
    assert found.outcome.is_done
    assert found.arguments[0] is not None
    assert isinstance(found.arguments[0].data, mmap)
    assert found.arguments[0].get(2147483648 + 4 * 31, 4) == 31


# Launches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k<<1,2>>()", "is no launch: expected NAME<<<GRID, BLOCK, SHARED>>>"),
        ("all", "; a name alone, or all, is for fence-check of PTX"),
        ("k<<<1, 1, 1, 1, 1>>>()", "has 5 sizes"),
        ("k<<<0, 32>>>(i32[4])", "at least one in each dimension"),
        ("k<<<1, x>>>(i32[4])", "the block is 'x': a number is needed"),
        ("k<<<1, 2048>>>(i32[4])", "a block of 2048 threads: 1024 are the most"),
        ("k<<<1, 32>>>()", r"k takes 1 argument \(out of 64 bits\), not 0: give a value for each"),
        ("k<<<1, 32>>>(@0)", "argument 0 is '@0', which is no array before it"),
        ("k<<<1, 32>>>(q32[4])", "'q32' is no type"),
        ("k<<<1, 32>>>(f33[4])", "'f33' is no type: give i8 to i64"),
        ("k<<<1, 32>>>(f32[99999999999])", "argument 0 has 399999999996 bytes: 4294967295 are"),
        ("k<<<1, 32>>>(f99[4])", "'f99' is no type"),
        ("k<<<1, 32>>>(i99[4])", "'i99' is no type"),
        (
            "k<<<1, 32>>>(i32[4]=soon)",
            "'soon' is neither a number nor one of iota, iota.STEP., ones",
        ),
        ("k<<<1, 32>>>(none.npy)", "none.npy: No such file or directory"),
        ("other<<<1, 32>>>(i32[4])", "there is no kernel 'other': there is k"),
        ("k<<<1, 32, 300000>>>(i32[4])", "bytes of shared memory: 232448 are the most"),
        ("k<<<3, 32, 0, 2>>>(i32[4])", "no whole number of clusters"),
        ("k<<<1, 32>>>(1.5)", "out is an integer: 1.5 is none"),
        (
            "k<<<1, 32>>>(18446744073709551616)",
            "out has 64 bits: 18446744073709551616 does not fit; give a number from -9223372",
        ),
    ],
)
def test_bad_launches(text: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        run(kernel("ret;"), text)


def test_contents_of_arrays() -> None:
    found = run(kernel("ret;", ".param .u64 out, .param .u64 b, .param .f32 c"),
                "k<<<(1, 1), 32>>>(f32[2*2]=iota, @0, 2)")  # fmt: skip
    assert found.arguments[0] is found.arguments[1]
    assert found.arguments[0] is not None
    assert values(found.arguments[0], "f32") == [0.0, 1.0, 2.0, 3.0]
    assert found.machine.params.get(32, 4) == 0x40000000
    rising = run(kernel("ret;"), "k<<<1, 32>>>(u8[4]=iota( 100 ))").arguments[0]
    assert rising is not None
    assert values(rising, "u8") == [0, 100, 200, 44]
    rising = run(kernel("ret;"), "k<<<1, 32>>>(u32[2]=iota(5000000000))").arguments[0]
    assert rising is not None
    assert values(rising) == [0, 705032704]


def test_random_contents_have_a_seed_and_a_bound() -> None:
    def of(text: str, type: str) -> list[float]:
        found = run(kernel("ret;"), f"k<<<1, 32>>>({text})").arguments[0]
        assert found is not None
        return values(found, type)

    bytes_ = of("u8[256]=random(3, 10)", "u8")
    assert set(bytes_) == set(range(10))
    assert bytes_ == of("u8[256]=random( 3 , 10 )", "u8") != of("u8[256]=random(4, 10)", "u8")
    assert max(of("u32[64]=random", "u32")) > 1 << 31
    floats = of("f32[64]=random(1, 8)", "f32")
    assert 0 <= min(floats) < 1 < 7 < max(floats) < 8
    assert max(of("f64[64]=random", "f64")) < 1


def test_an_atomic_of_a_vector_is_one_of_each_element() -> None:
    body = """
    mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; mov.b32 %r5, 0x40003C00;
    atom.global.v2.f32.add {%f3, %f4}, [%rd1], {%f1, %f2};
    red.global.add.noftz.f16x2 [%rd1+8], %r5;
    ret;"""
    before = ".reg .f32 %f<8>;"
    found = run(kernel(before + body), "k<<<1, 32>>>(f32[4])")
    assert found.outcome.is_done, found.outcome.problem
    assert found.arguments[0] is not None
    assert values(found.arguments[0], "f32")[:2] == [32.0, 64.0]
    assert values(found.arguments[0])[2] == 0x54005000


def test_words_of_128_bits_are_exchanged_and_compared() -> None:
    body = """
    .reg .b128 %q<4>; .reg .b64 %w<4>;
    setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    mov.b64 %w0, 5; mov.b64 %w1, 7; mov.b128 %q0, {%w0, %w1}; mov.b128 %q1, {%w1, %w0};
    st.global.b128 [%rd1], %q0; atom.global.exch.b128 %q2, [%rd1+16], %q1;
    atom.global.cas.b128 %q3, [%rd1], %q0, %q1; ld.global.b128 %q2, [%rd1];
    st.global.b128 [%rd1+32], %q2; st.global.b128 [%rd1+48], %q3; ret;"""
    found = result(kernel(body), "k<<<1, 32>>>(i32[64])")
    assert found[:16:2] == [7, 5, 7, 5, 7, 5, 5, 7]


@pytest.mark.parametrize("late", [False, True])
def test_a_bulk_reduction_updates_each_element(late: bool) -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, 3; mul.lo.u32 %r5, %r1, 4;
    mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %r4; bar.sync 0;
    @%p1 ret;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 64;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;"""
    found = result(kernel(body), "k<<<1, 32>>>(i32[64]=iota)", schedule=Schedule(is_late=late))
    assert found[:18] == [*range(3, 19), 16, 17]


def test_a_reduction_at_a_peer_signals_its_mbarrier() -> None:
    body = """
    setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [bar], 1; st.shared.u32 [tile], 40;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;
    mov.u32 %r7, tile; mov.u32 %r8, bar; mov.u32 %r9, 2;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r9, [%r8];
WAIT: bar.sync 0;
L:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra L;
    ld.shared.u32 %r10, [tile]; st.global.u32 [%rd3], %r10; ret;"""
    assert result(kernel(body))[:2] == [42, 42]


def test_tensor_memory_is_not_known_but_its_commits_arrive() -> None:
    body = """
    .reg .b32 %t<8>;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [bar], 1;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
WAIT: bar.sync 0;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 32;
L:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra L;
    ld.shared.b32 %t1, [tile]; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%t2, %t3}, [%t1];
    st.global.b32 [%rd3], %t2; setp.eq.u32 %p3, %t3, 0; @%p3 bra L; ret;"""
    found = run(kernel(body))
    assert not found.outcome.is_done
    assert found.outcome.problem is not None
    assert "depends on the result of tcgen05." in found.outcome.problem


def test_the_workspace_of_a_cooperative_launch_counts() -> None:
    body = """
    mov.u32 %r3, %envreg1; mov.u32 %r4, %envreg2; mov.b64 %rd4, {%r4, %r3};
    atom.global.add.u32 %r5, [%rd4+4], 1; st.global.u32 [%rd3], %r5; ret;"""
    assert sorted(result(kernel(body))[:32]) == [*range(32)]
